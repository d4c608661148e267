"""The cost of heads: counts against PyTorch's own counter of operations and against the layer's weights."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from atlas.analysis.head_cost import HEADS, HeadCostError, operations, time_heads
from atlas.model.attention import SelfAttention


@pytest.mark.parametrize("heads", HEADS)
@pytest.mark.parametrize(("length", "width"), [(5, 32), (17, 64)])
def test_operations_are_those_that_pytorch_counts(length: int, width: int, heads: int) -> None:
    layer = SelfAttention(width, heads)
    with FlopCounterMode(display=False) as counter:
        layer(torch.randn(1, length, width), None, explicit=True)
    found = operations(length, width, heads)
    assert 2 * found.multiply_adds == counter.get_total_flops()
    assert found.parameters == sum(weight.numel() for weight in layer.parameters())


def test_only_the_softmax_sees_the_heads() -> None:
    counted = [operations(128, 512, heads) for heads in HEADS]
    assert {one.multiply_adds for one in counted} == {4 * 128 * 512**2 + 2 * 128**2 * 512}
    assert {one.parameters for one in counted} == {4 * 512**2 + 4 * 512}
    assert [one.weights for one in counted] == [heads * 128**2 for heads in HEADS]


def test_times_are_medians_of_what_was_measured() -> None:
    told: list[tuple[int, int]] = []
    before = torch.get_rng_state()
    found = time_heads(6, 32, (1, 4), repeats=3, progress=lambda done, of: told.append((done, of)))
    assert torch.equal(before, torch.get_rng_state())
    assert [one.heads for one in found] == [1, 4]
    for one in found:
        assert 0 < one.low <= one.milliseconds <= one.high
        assert one.softmax > 0
        assert one.operations == operations(6, 32, one.heads)
    assert told[-1] == (3, 3)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [((4, 30, 4), "width 30 cannot be cut into 4 heads"), ((0, 32, 4), "must be at least 1")],
)
def test_what_cannot_be_cut(arguments: tuple[int, int, int], words: str) -> None:
    with pytest.raises(HeadCostError, match=words):
        operations(*arguments)


def test_nothing_is_measured_by_no_repeat() -> None:
    with pytest.raises(HeadCostError, match="at least 1 repeat"):
        time_heads(4, 32, (1,), repeats=0)
