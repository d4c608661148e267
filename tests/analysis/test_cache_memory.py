"""The formula of a cache's size against the bytes of real ones and against published numbers."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas.analysis.cache_memory import (
    KNOWN,
    CacheShape,
    CacheSizeError,
    held_bytes,
    readable,
    shape_of,
)
from atlas.model import Transformer, TransformerConfig


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 3), st.sampled_from([1, 2, 4]), st.integers(1, 9), st.integers(1, 4), st.integers(1, 3),
    st.integers(1, 3), st.sampled_from([torch.float32, torch.float64, torch.bfloat16]),
)  # fmt: skip
def test_the_formula_is_the_size_of_a_real_cache(layers, heads, length, source, sentences, beams, dtype):
    config = TransformerConfig(
        vocabulary=12, encoder_layers=1, decoder_layers=layers, heads=heads, width=8, ffn=8
    )
    model = Transformer(config).to(dtype).eval().requires_grad_(False)
    ids = torch.full((sentences, source), 5)
    cache = model.begin(ids, ids > 0)
    cache.expand(beams)
    model.step(torch.full((sentences * beams, length), 4), cache)
    shape = CacheShape(
        layers, heads, 8 // heads, length, source, sentences, beams, torch.finfo(dtype).bits // 8
    )
    held = held_bytes(cache)
    assert (held.used, held.source) == (shape.own_bytes, shape.source_bytes)
    assert held.allocated == shape.token_bytes * sentences * beams * cache.capacity >= held.used


def test_the_shape_of_a_model_of_ours() -> None:
    config = TransformerConfig(vocabulary=12)
    assert shape_of(config, 20, 7) == CacheShape(4, 8, 32, 20, 7)
    assert shape_of(config, 20, 7, number=2).total == 2 * 4 * 256 * (20 + 7) * 2


def test_gpt_3_by_hand() -> None:
    """Two tensors, 96 layers, 12,288 numbers, 2 bytes: 4.5 MiB a token, 9 GiB for its 2,048 tokens."""
    shape = KNOWN["GPT-3"].shape
    assert shape.heads * shape.head_width == 12_288
    assert shape.token_bytes == 2 * 96 * 12_288 * 2 == 4.5 * 2**20
    assert shape.total == 9 * 2**30


def test_presets_grow() -> None:
    sizes = [preset.shape.total for preset in KNOWN.values()]
    assert sizes == sorted(sizes)
    assert [name for name, preset in KNOWN.items() if preset.parameters is None] == ["tiny"]


@pytest.mark.parametrize("name", ["layers", "heads", "head_width", "length", "sentences", "beams", "number"])
def test_sizes_that_cannot_be(name: str) -> None:
    good = {"layers": 1, "heads": 1, "head_width": 1, "length": 1}
    with pytest.raises(CacheSizeError, match=f"{name} must be at least 1, not 0"):
        CacheShape(**good | {name: 0})
    with pytest.raises(CacheSizeError, match="source must be at least 0, not -1"):
        CacheShape(**good, source=-1)


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (9 * 2**30, "9.00 GiB"),
        (5000 * 2**40, "5,000.00 TiB"),
    ],
)
def test_bytes_for_people(count: int, words: str) -> None:
    assert readable(count) == words
