"""The best tokens of a row: whole-vocabulary probabilities, control tokens never, ties by id."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas.decoding.candidates import NEVER, best_tokens


@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 12), size=st.integers(4, 12), grain=st.booleans())
@settings(max_examples=80, deadline=None)
def test_the_same_as_sorting_everything(seed: int, count: int, size: int, grain: bool):
    """Ties that lie across the cut too: a plain top-k may take any of the equals."""
    random = np.random.default_rng(seed)
    logits = random.normal(size=(5, size)) * 3
    if grain:
        logits = logits.round() % 2
    best = best_tokens(torch.tensor(logits), count)
    offered = [token for token in range(size) if token not in NEVER]
    assert best.tokens.shape == best.logprobs.shape == (5, min(count, len(offered)))
    for row, tokens, logprobs in zip(logits, best.tokens, best.logprobs, strict=True):
        everything = row - np.log(np.exp(row).sum())
        wanted = sorted(offered, key=lambda token: (-row[token], token))[: len(tokens)]
        assert tokens.tolist() == wanted
        assert logprobs == pytest.approx(everything[wanted], abs=1e-12)


def test_a_tie_across_the_cut_in_a_large_vocabulary():
    """Where ``topk`` alone would pick by accident."""
    logits = torch.zeros(3, 8000)
    logits[1, 4000:] = 1.0
    logits[2, 77] = 2.0
    tokens = best_tokens(logits, 4).tokens.tolist()
    assert tokens == [[2, 3, 4, 5], [4000, 4001, 4002, 4003], [77, 2, 3, 4]]


@pytest.mark.parametrize("size", [64 * 60, 64 * 60 + 17])
@pytest.mark.parametrize("grain", [0.0, 0.5])
def test_many_rows_of_a_large_vocabulary(size: int, grain: float):
    """Where only some groups of neighbours are sorted; the largest of all in the rest that fills no group."""
    logits = torch.randn(40, size, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    if grain:
        logits = (logits / grain).round() * grain
    logits[0, -1] = logits[1, 0] = logits[2, 1] = 99.0
    best = best_tokens(logits, 7, (0, 1, 2))
    for row, tokens in zip(logits.numpy(), best.tokens, strict=True):
        order = sorted(range(3, size), key=lambda token: (-row[token], token))
        assert tokens.tolist() == order[:7]
    wanted = logits.log_softmax(-1).gather(-1, torch.from_numpy(best.tokens)).numpy()
    np.testing.assert_allclose(best.logprobs, wanted, atol=1e-12)


def test_half_precision_is_widened_before_the_softmax():
    logits = torch.randn(2, 50, generator=torch.Generator().manual_seed(1)).bfloat16()
    best = best_tokens(logits, 5)
    wanted = logits.double().log_softmax(-1)
    for row in range(2):
        assert best.logprobs[row] == pytest.approx(wanted[row, best.tokens[row]].numpy(), abs=1e-5)
