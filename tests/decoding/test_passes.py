"""Shares of steps, put together: which row, which sentence, which passes."""

from __future__ import annotations

import numpy as np
import torch

from atlas.decoding.candidates import Best
from atlas.decoding.passes import ALTERNATIVES, Passes, Step

LAYERS, HEADS, SENTENCES, WIDTH, SOURCE = 2, 3, 2, 3, 5


def step(keys: int) -> Step:
    """Every number says where it stands: layer, row, head and key as decimal digits."""

    def numbered(*shape: int) -> torch.Tensor:
        places = torch.cartesian_prod(*(torch.arange(size) for size in shape))
        weights = torch.tensor([10**power for power in reversed(range(len(shape)))])
        return (places * weights).sum(-1).reshape(shape).float()

    rows = SENTENCES * WIDTH
    order = np.arange(rows)[:, None] * 100 + np.arange(12)
    return Step(
        {
            "decoder.weights": numbered(LAYERS, rows, HEADS, 1, keys),
            "cross.weights": numbered(LAYERS, SENTENCES, HEADS, WIDTH, SOURCE),
            "logits": numbered(rows, 4),
        },
        Best(order, -order.astype(np.float64)),
    )


def second_sentence() -> Passes:
    """Of a batch of two the second: its first and third row read a node, then its second alone."""
    passes = Passes(source=4)
    passes.add(step(1), 1, [0, -1, 7])
    passes.add(step(2), 1, [-1, 9, -1])
    passes.add(step(3), 1, [-1, -1, -1])
    return passes


def test_rows_that_read_nothing_are_left_out_wherever_they_stand() -> None:
    passes = second_sentence()
    assert passes.nodes == [0, 7, 9] and len(passes) == 3
    own = passes.gather("decoder.weights", filler=-1)
    assert own.shape == (3, LAYERS, HEADS, 2) and own.dtype == np.float32
    # layer 1, head 2; rows 3 and 5 of the first step, which had one key, and row 4 of the second
    assert own[:, 1, 2].tolist() == [[13200, -1], [15200, -1], [14200, 14201]]
    assert passes.gather("logits")[:, 1].tolist() == [31, 51, 41]
    ids, logprobs = passes.top()
    assert ids.shape == (3, ALTERNATIVES) and ids[:, 0].tolist() == [300, 500, 400]
    assert (logprobs == -ids).all()


def test_padding_of_the_batch_is_cut_off() -> None:
    cross = second_sentence().gather("cross.weights")
    assert cross.shape == (3, LAYERS, HEADS, 4)
    assert cross[:, 1, 2, 3].tolist() == [11203, 11223, 11213]


def test_only_the_wanted_passes_are_put_together() -> None:
    passes = second_sentence()
    for wanted in ([True, False, True], [False, True, False], [False, False, True]):
        chosen = np.array(wanted)
        for point in passes.points:
            assert np.array_equal(passes.gather(point, chosen), passes.gather(point)[chosen])
        assert np.array_equal(passes.top(chosen)[0], passes.top()[0][chosen])
