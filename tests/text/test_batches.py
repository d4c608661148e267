"""Batches for training: every pair once an epoch, within the budget, the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas.text.batches import Batch, EncodedPairs, pad
from atlas.text.corpora import Pair
from atlas.text.tokenizer import END_ID, PAD_ID, START_ID, Tokenizer
from tests.conftest import ENGLISH, FRENCH

TOKENIZER = Tokenizer.train([*ENGLISH, *FRENCH] * 3, 400)
sentences = st.sampled_from([*ENGLISH, *FRENCH]) | st.text(alphabet="ab é", min_size=1, max_size=60)
corpora = st.lists(st.builds(Pair, sentences, sentences), max_size=25)


@settings(deadline=None)
@given(corpora, st.integers(1, 400), st.integers(0, 99), st.integers(0, 9))
def test_every_pair_stands_in_one_batch_of_an_epoch(pairs, tokens, seed, epoch):
    encoded = EncodedPairs(pairs, TOKENIZER)
    order = encoded.order(tokens, seed, epoch)
    assert sorted(np.concatenate([*order, []]).tolist()) == list(range(len(encoded)))
    for numbers in order:
        batch = encoded.batch(numbers)
        widest = max(batch.source.shape[1], batch.target.shape[1])
        assert len(numbers) * widest <= tokens or len(numbers) == 1
    again = EncodedPairs(pairs, TOKENIZER).order(tokens, seed, epoch)
    assert [a.tolist() for a in again] == [a.tolist() for a in order]


@settings(deadline=None)
@given(corpora, st.integers(2, 40))
def test_long_pairs_are_left_out_and_counted(pairs, longest):
    encoded = EncodedPairs(pairs, TOKENIZER, longest)
    fits = [
        pair
        for pair in pairs
        if len(TOKENIZER.encode(pair.source)) < longest and len(TOKENIZER.encode(pair.target)) < longest
    ]
    assert len(encoded) == len(fits) and encoded.dropped == len(pairs) - len(fits)
    for number, pair in enumerate(fits):
        assert encoded.source[number] == TOKENIZER.source(pair.source)
        assert encoded.target[number] == [START_ID, *TOKENIZER.source(pair.target)]


def test_a_wide_pair_makes_only_its_own_batch_small():
    wide = Pair("the cat saw the dog " * 8, "a")
    narrow = [Pair("a", "Le chat")] * 10
    encoded = EncodedPairs([wide, *narrow], TOKENIZER)
    width = max(len(encoded.source[0]), 10 * len(encoded.target[1]))
    order = encoded.order(width, 0, 0)
    assert sorted(len(numbers) for numbers in order) == [1, 10], "the next batch has its whole budget"


def test_epochs_and_seeds_differ_and_lengths_stay_together():
    pairs = [Pair(a, b) for a in ENGLISH for b in FRENCH]
    encoded = EncodedPairs(pairs, TOKENIZER)
    orders = [
        [numbers.tolist() for numbers in encoded.order(200, seed, epoch)]
        for seed, epoch in ((1, 0), (1, 1), (2, 0))
    ]
    assert orders[0] != orders[1] != orders[2] != orders[0]
    padded = real = 0
    for numbers in orders[0]:
        batch = encoded.batch(np.array(numbers))
        padded += batch.target.numel()
        real += int((batch.target != PAD_ID).sum())
    assert real / padded > 0.9, "sorting by length wastes little"


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(1, 99), max_size=6), max_size=6))
def test_padding_fills_up_at_the_end(rows):
    padded = pad(rows)
    assert padded.dtype == torch.int64
    assert padded.shape == (len(rows), max((len(row) for row in rows), default=0))
    for row, out in zip(rows, padded.tolist(), strict=True):
        assert out == row + [PAD_ID] * (len(out) - len(row))


@settings(deadline=None)
@given(st.integers(1, 12), st.integers(1, 5))
def test_processes_share_a_batch_without_gap_or_overlap(count, world):
    batch = EncodedPairs([Pair("I love you.", "Je t'aime.")] * count, TOKENIZER).batch(np.arange(count))
    batch = Batch(batch.source, batch.target.clone())
    batch.target[:, 1] = torch.arange(10, 10 + count)
    shares = [batch.rows(rank, world) for rank in range(world)]
    assert sorted(torch.cat([share.target[:, 1] for share in shares]).tolist()) == list(range(10, 10 + count))
    assert sum(share.tokens for share in shares) == batch.tokens
    assert max(len(share.source) for share in shares) - min(len(share.source) for share in shares) <= 1


def test_tokens_are_what_is_predicted():
    encoded = EncodedPairs([Pair("It rains.", "Il pleut."), Pair("I love you.", "Je t'aime.")], TOKENIZER)
    batch = encoded.batch(np.array([0, 1]))
    assert batch.tokens == sum(len(TOKENIZER.encode(text)) + 1 for text in ("Il pleut.", "Je t'aime."))
    assert (batch.target[:, 0] == START_ID).all()
    assert all(END_ID in row for row in batch.target.tolist())
    moved = batch.to(torch.device("cpu"))
    assert torch.equal(moved.source, batch.source) and torch.equal(moved.target, batch.target)


@pytest.mark.parametrize("world", [1, 2])
def test_no_pairs_make_no_batches(world):
    encoded = EncodedPairs([], TOKENIZER)
    assert len(encoded) == 0 and encoded.order(100, 0, 0) == []
