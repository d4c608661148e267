"""Building without drawing: random numbers stay where they were, and what is no weight is made as ever."""

from __future__ import annotations

import threading
from pathlib import Path

import torch
from torch import nn

from atlas.checkpoint import load_bundle
from atlas.model.unfilled import Unfilled


def test_nothing_is_drawn_inside_and_everything_outside() -> None:
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    with Unfilled():
        layer = nn.Linear(4, 4)
        nn.init.xavier_uniform_(layer.weight)
        nn.init.normal_(layer.weight)
        nn.init.zeros_(layer.bias)
        nn.init.ones_(layer.weight)
    assert torch.equal(torch.rand(3), expected)
    assert (layer.weight == 1).all() and (layer.bias == 0).all()


def test_another_thread_draws_as_ever() -> None:
    drawn: list[bool] = []
    with Unfilled():
        other = threading.Thread(target=lambda: drawn.append(bool(torch.zeros(64).uniform_(1, 2).min() >= 1)))
        other.start()
        other.join()
        assert not torch.zeros(64).uniform_(1, 2).any()
    assert drawn == [True]


def test_a_bundle_takes_no_random_numbers_and_is_whole(tiny_bundle: Path) -> None:
    before = torch.random.get_rng_state()
    first, second = load_bundle(tiny_bundle).transformer, load_bundle(tiny_bundle).transformer
    assert torch.equal(torch.random.get_rng_state(), before)
    buffers = dict(second.named_buffers())
    assert "position_table" in buffers
    for name, buffer in first.named_buffers():
        assert torch.equal(buffer, buffers[name]) and buffer.abs().sum() > 0
    for name, weight in first.named_parameters():
        assert torch.equal(weight, dict(second.named_parameters())[name]), name
