"""A cache filled in one call, token by token, and by a full pass holds the same."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from atlas.analysis.cache_memory import shape_of
from atlas.analysis.prefill import check_prefill
from atlas.model import Recorder, Transformer, TransformerConfig
from atlas.model.transformer import TooLongError

SOURCE, TARGET = [5, 9, 14, 2], [7, 7, 21, 4, 30, 8]


def model(norm: str = "pre", dtype: torch.dtype = torch.float64, **options: object) -> Transformer:
    torch.manual_seed(3)
    sizes = {"encoder_layers": 1, "decoder_layers": 3, "heads": 2, "width": 16, "ffn": 32}
    config = TransformerConfig(vocabulary=40, norm=norm, **{**sizes, **options})
    return Transformer(config).to(dtype).eval().requires_grad_(False)


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_three_ways_to_one_cache(norm: str, dtype: torch.dtype, tolerance: float) -> None:
    found = check_prefill(model(norm, dtype), SOURCE, TARGET)
    assert found.tokens == 7
    assert len(found.largest) == len(found.full) == len(found.alone) == 3
    assert max(found.largest) < tolerance
    assert max(found.full) < tolerance
    assert found.logits < tolerance


def test_an_embedding_alone_is_enough_for_the_first_layer_only() -> None:
    found = check_prefill(model(), SOURCE, TARGET)
    assert found.alone[0] < 1e-12
    assert min(found.alone[1:]) > 1e-2


def test_the_scale_and_the_bytes_are_those_of_a_full_pass() -> None:
    ours = model()
    recorder = Recorder(("k", "v"))
    source = torch.tensor([SOURCE])
    ours(source, source > 0, torch.tensor([[1, *TARGET]]), recorder)
    kept = [recorder[f"decoder.{layer}.self.{what}"] for layer in range(3) for what in "kv"]
    found = check_prefill(ours, SOURCE, TARGET)
    assert found.scale == pytest.approx(max(float(tensor.abs().max()) for tensor in kept))
    assert found.held.used == sum(tensor.numel() * 8 for tensor in kept)
    assert found.held.used == shape_of(ours.config, 7, 4, number=8).own_bytes


def test_a_model_that_forgets_positions_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check is not blind: a step that always reads position 0 fills the cache with other numbers."""
    ours = model()
    right = Transformer._embed

    def wrong(self, side, ids, positions, recorder, past=0):
        return right(self, side, ids, positions, recorder, 0)

    monkeypatch.setattr(Transformer, "_embed", wrong)
    assert np.max(check_prefill(ours, SOURCE, TARGET).largest) > 1e-3


def test_too_long() -> None:
    with pytest.raises(TooLongError, match="at most 6"):
        check_prefill(model(max_length=6), SOURCE, TARGET)
