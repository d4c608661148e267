"""Operation counts against PyTorch's own counter, against sums written out, and exponents of known powers."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from atlas.analysis.operations import (
    Operations,
    OperationsError,
    decoder_pass,
    doubling_lengths,
    exponent,
    generation,
    overtaking_length,
    steps,
)
from atlas.model import PRESETS, Recorder, Transformer, TransformerConfig

SIZES = [
    {"decoder_layers": 1, "heads": 2, "width": 8, "ffn": 24, "vocabulary": 17},
    {"decoder_layers": 3, "heads": 4, "width": 32, "ffn": 40, "vocabulary": 50, "norm": "post"},
]


def model(sizes: dict) -> Transformer:
    torch.manual_seed(0)
    return Transformer(TransformerConfig(encoder_layers=1, **sizes)).eval().requires_grad_(False)


def counted(work) -> int:
    """Multiply-adds of every matrix product, by PyTorch's counter (which counts two operations each).

    It does not know the fused attention of the CPU; a recorder makes the model use plain products.
    """
    with FlopCounterMode(display=False) as counter:
        work()
    return counter.get_total_flops() // 2


@pytest.mark.parametrize("sizes", SIZES)
def test_every_cached_step_is_counted_exactly(sizes: dict) -> None:
    ours = model(sizes)
    source = torch.tensor([[4, 5, 6, 7, 2]])
    mask = torch.ones_like(source, dtype=torch.bool)
    memory = ours.encode(source, mask)
    start = counted(lambda: ours.start(memory, mask))
    cache = ours.start(memory, mask)
    for place, one in enumerate(steps(ours.config, 6, 5, cached=True)):
        found = counted(lambda: ours.step(torch.tensor([[3]]), cache, Recorder(())))
        assert found + (start if place == 0 else 0) == one.total


@pytest.mark.parametrize("sizes", SIZES)
def test_every_uncached_step_is_counted_exactly(sizes: dict) -> None:
    ours = model(sizes)
    source = torch.tensor([[4, 5, 2]])
    mask = torch.ones_like(source, dtype=torch.bool)
    memory = ours.encode(source, mask)
    for place, one in enumerate(steps(ours.config, 5, 3, cached=False), 1):

        def work(place: int = place) -> None:
            read = torch.full((1, place), 3)
            stream = ours.decode(read, memory, mask, Recorder(()))
            ours.logits(stream[:, -1])

        assert counted(work) == one.total


@pytest.mark.parametrize("sizes", SIZES)
def test_the_part_of_attention_is_what_its_products_cost(sizes: dict) -> None:
    """Scores and weighted sums of a layer, counted by themselves on tensors of the same shape."""
    config = TransformerConfig(encoder_layers=1, **sizes)
    heads, width = config.heads, config.head_width
    query, key = torch.zeros(1, heads, 3, width), torch.zeros(1, heads, 7, width)
    alone = counted(lambda: (query @ key.transpose(-1, -2)) @ key)
    found = decoder_pass(config, 3, 7, 5, read_source=True)
    assert found.attention == config.decoder_layers * alone
    other = torch.zeros(1, heads, 5, width)
    assert found.cross == config.decoder_layers * counted(lambda: (query @ other.transpose(-1, -2)) @ other)


@given(st.integers(1, 40), st.integers(1, 30))
def test_sums_have_their_closed_forms(length: int, source: int) -> None:
    config = TransformerConfig(vocabulary=100, **PRESETS["tiny"])
    layers, width = config.decoder_layers, config.width
    with_cache = generation(config, length, source, cached=True)
    without = generation(config, length, source, cached=False)
    squares = length * (length + 1) * (2 * length + 1) // 6
    whole = length * (length + 1) // 2
    assert without.attention == 2 * layers * width * squares
    assert with_cache.attention == 2 * layers * width * whole
    assert without.projections == 6 * layers * width**2 * whole
    assert with_cache.projections == 6 * layers * width**2 * length
    assert without.feed_forward * length == with_cache.feed_forward * whole
    assert without.source == length * with_cache.source
    assert without.vocabulary == with_cache.vocabulary == 100 * width * length


def test_the_parts_add_up() -> None:
    one = Operations(1, 2, 4, 8, 16, 32)
    assert (one.total, one.rest) == (63, 62)
    assert one + one == Operations(2, 4, 8, 16, 32, 64)
    assert [name for name, _ in one][0] == "attention"


def test_a_length_below_one() -> None:
    with pytest.raises(OperationsError, match="at least 1 token, not 0"):
        generation(TransformerConfig(vocabulary=9), 0, 3, cached=True)


def test_attention_overtakes_where_it_costs_as_much_as_the_rest() -> None:
    config = TransformerConfig(vocabulary=8000)
    length = overtaking_length(config, 12)
    before = decoder_pass(config, 1, int(length), 12, read_source=False)
    after = decoder_pass(config, 1, int(length) + 1, 12, read_source=False)
    assert before.attention <= before.rest < after.attention


@given(st.floats(0.2, 4), st.floats(1e-6, 1e6))
def test_the_exponent_of_a_power(power: float, scale: float) -> None:
    lengths = np.array([8, 16, 40, 256])
    assert exponent(lengths, scale * lengths**power) == pytest.approx(power, abs=1e-9)


def test_exponents_of_generation_go_to_three_two_and_one() -> None:
    config = TransformerConfig(vocabulary=100)
    lengths = [2**power for power in range(6, 13)]
    for cached, attention, rest in ((False, 3, 2), (True, 2, 1)):
        found = [generation(config, length, 10, cached=cached) for length in lengths]
        assert exponent(lengths, [one.attention for one in found]) == pytest.approx(attention, abs=0.02)
        assert exponent(lengths, [one.projections for one in found]) == pytest.approx(rest, abs=0.02)


@pytest.mark.parametrize(
    ("lengths", "values"), [([4], [1]), ([4, 4], [1, 2]), ([1, 2], [0, 1]), ([0, 2], [1, 1]), ([1, 2], [1])]
)
def test_nothing_to_fit(lengths: list, values: list) -> None:
    with pytest.raises(OperationsError, match="exponent needs"):
        exponent(lengths, values)


def test_lengths_double() -> None:
    assert doubling_lengths(256) == [8, 16, 32, 64, 128, 256]
    assert doubling_lengths(100) == [8, 16, 32, 64, 100]
    assert doubling_lengths(8) == [8]
    assert doubling_lengths(5) == [5]
