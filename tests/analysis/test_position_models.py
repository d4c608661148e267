"""Scores by length against sacreBLEU itself; rows and orders where the answer is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF

from atlas.analysis import length_scores, position_models
from atlas.analysis.length_scores import LengthsError

REFERENCES = [
    "Un homme mord un chien .",
    "Une femme lit un livre dans le jardin .",
    "Deux enfants jouent au ballon sur la plage avec leur chien noir .",
    "Le chat dort .",
    "Il pleut beaucoup aujourd'hui , dit-elle .",
]
HYPOTHESES = [
    "Un homme mord un chien .",
    "Une femme lit dans le jardin .",
    "Deux enfants jouent sur la plage .",
    "Un chien dort .",
    "",
]
TOKENS = [7, 12, 25, 5, 40]
#: Group -> the sentences in it, by hand.
MEMBERS = {0: [0, 3], 1: [1], 5: [2], 6: [4], 7: [0, 1, 3], 8: [2, 4], 9: [0, 1, 2, 3, 4]}


def test_sums_of_counts_give_corpus_bleu() -> None:
    counts = length_scores.sentence_counts(HYPOTHESES, REFERENCES)
    assert counts.shape == (5, 10)
    for chosen in ([0], [1, 2], [3], [0, 1, 2, 3, 4]):
        texts = [HYPOTHESES[i] for i in chosen]
        right = BLEU().corpus_score(texts, [[REFERENCES[i] for i in chosen]]).score
        assert length_scores.bleu_of(counts[chosen].sum(axis=0)) == pytest.approx(right, abs=1e-9)


def test_scores_of_each_group_are_those_of_sacrebleu() -> None:
    facts, arrays = length_scores.scores_by_length(TOKENS, HYPOTHESES, REFERENCES, 20)
    assert facts["counts"] == [2, 1, 0, 0, 0, 1, 1, 3, 2, 5]
    assert facts["groups"][:2] == ["up to 8", "9–12"]
    assert facts["groups"][-3:] == list(length_scores.SUMS)
    assert facts["longest"] == 20
    for group, chosen in MEMBERS.items():
        texts, right = [HYPOTHESES[i] for i in chosen], [[REFERENCES[i] for i in chosen]]
        bleu = BLEU().corpus_score(texts, right)
        assert arrays["bleu"][group] == pytest.approx(bleu.score, rel=1e-5)
        assert arrays["chrf"][group] == pytest.approx(CHRF().corpus_score(texts, right).score, rel=1e-5)
        assert arrays["ratio"][group] == pytest.approx(bleu.sys_len / bleu.ref_len)
    assert np.isnan(arrays["bleu"][[2, 3, 4]]).all()
    assert np.isnan(arrays["bleu_draws"][[2, 3, 4]]).all()
    assert {array.dtype.name for array in arrays.values()} == {"float32"}
    assert arrays["bleu_draws"].shape == (10, length_scores.DRAWS)


def test_draws_are_resamples_of_the_sentences() -> None:
    """A group of two sentences has four outcomes; each draw is one of three scores, with the right shares."""
    _, arrays = length_scores.scores_by_length(TOKENS, HYPOTHESES, REFERENCES, 20)
    counts = length_scores.sentence_counts(HYPOTHESES, REFERENCES)
    both = counts[[0, 3]]
    outcomes = [length_scores.bleu_of(row) for row in (2 * both[0], both.sum(axis=0), 2 * both[1])]
    draws = arrays["bleu_draws"][0]
    shares = [np.isclose(draws, outcome, rtol=1e-5).mean() for outcome in outcomes]
    assert sum(shares) == pytest.approx(1.0)
    np.testing.assert_allclose(shares, [0.25, 0.5, 0.25], atol=0.06)


def test_the_same_draws_for_every_model() -> None:
    """Paired: where one model's translations are the other's, no draw tells them apart."""
    _, first = length_scores.scores_by_length(TOKENS, HYPOTHESES, REFERENCES, 20)
    _, again = length_scores.scores_by_length(TOKENS, list(HYPOTHESES), REFERENCES, 20)
    np.testing.assert_array_equal(first["bleu_draws"], again["bleu_draws"])
    gap = length_scores.difference(30.0, first["bleu_draws"][9], 30.0, again["bleu_draws"][9])
    assert (gap.value, gap.low, gap.high) == (0.0, 0.0, 0.0)
    assert not gap.excludes_zero


def test_differences_and_intervals() -> None:
    draws = np.arange(1001, dtype=np.float32) / 10
    whole = length_scores.interval(50.0, draws)
    assert (whole.value, whole.low, whole.high) == (50.0, pytest.approx(2.5), pytest.approx(97.5))
    gap = length_scores.difference(50.0, draws, 48.0, draws - 2)
    assert (gap.value, gap.low, gap.high) == (2.0, pytest.approx(2.0), pytest.approx(2.0))
    assert gap.excludes_zero


@given(st.lists(st.integers(1, 60), min_size=1, max_size=30), st.integers(1, 40))
def test_every_sentence_is_in_one_bin_and_on_one_side(tokens: list[int], longest: int) -> None:
    members = length_scores.group_members(tokens, longest)
    bins = np.array(members[: len(length_scores.BINS)])
    assert (bins.sum(axis=0) == 1).all()
    within, beyond, everything = members[len(length_scores.BINS) :]
    assert within.tolist() == [count <= longest for count in tokens]
    assert beyond.tolist() == [count > longest for count in tokens]
    assert everything.all()
    for (_, low, high), inside in zip(length_scores.BINS, bins, strict=True):
        assert [low <= count <= high for count in tokens] == inside.tolist()


def test_what_does_not_pair_up_is_refused() -> None:
    with pytest.raises(LengthsError, match="2 sentences, 1 translations and 1 references"):
        length_scores.scores_by_length([3, 4], ["a"], ["b"], 20)
    with pytest.raises(LengthsError, match="must be one"):
        length_scores.scores_by_length([], [], [], 20)


def test_similarities_are_cosines() -> None:
    table = np.random.default_rng(2).normal(size=(6, 5)).astype(np.float32)
    found = position_models.row_similarities(table)
    for i in range(6):
        for j in range(6):
            a, b = table[i].astype(float), table[j].astype(float)
            right = sum(a * b) / math.sqrt(sum(a * a) * sum(b * b))
            assert found[i, j] == pytest.approx(right, abs=1e-9)
    with pytest.raises(LengthsError, match="row of zeros"):
        position_models.row_similarities(np.zeros((2, 3)))


def test_trained_rows_are_told_from_the_others() -> None:
    table = np.array([[3.0, 0.0], [0.0, 3.0], [0.0, 1.0], [0.0, -1.0], [0.0, -1.0]])
    rows = position_models.compare_rows(table, 2)
    assert (rows.norm_trained, rows.norm_rest) == (3.0, 1.0)
    assert rows.neighbours_trained == pytest.approx(0.0)
    assert rows.neighbours_rest == pytest.approx((-1 + 1) / 2)
    for trained in (1, 4):
        with pytest.raises(LengthsError, match="two of each kind"):
            position_models.compare_rows(table, trained)


@given(st.lists(st.integers(0, 4), max_size=12), st.randoms())
def test_an_order_turns_the_first_into_the_second(tokens: list[int], random) -> None:
    moved = list(tokens)
    random.shuffle(moved)
    order = position_models.order_between(tokens, moved)
    assert order is not None
    assert sorted(order) == list(range(len(tokens)))
    assert [tokens[place] for place in order] == moved


def test_equal_tokens_keep_their_order_and_other_tokens_have_none() -> None:
    assert position_models.order_between([7, 5, 7, 2], [5, 7, 7, 2]) == [1, 0, 2, 3]
    assert position_models.order_between([1, 2], [1, 3]) is None
    assert position_models.order_between([1, 1, 2], [1, 2, 2]) is None
