"""Drawn translations: the distribution that they are drawn from, and that they are drawn from it."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from atlas.decoding import OptionsError, SearchOptions, sample, sampling_distribution
from atlas.decoding.record import CUT, FINISHED, KEPT
from atlas.text.tokenizer import END_ID, PAD_ID, START_ID
from tests.decoding.models import SOURCE, A, PathModel, log_probabilities, random_logits, recording

PROBABILITIES = np.array([0.0, 0.0, 0.4, 0.3, 0.2, 0.06, 0.04])
OTHER = (9, 8, 7, 6, END_ID)
logits_rows = st.lists(st.floats(-8, 8), min_size=1, max_size=12)


def from_probabilities(probabilities: np.ndarray, **options: object) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return sampling_distribution(np.log(probabilities), SearchOptions(method="sample", **options))


class TestDistribution:
    def test_temperature(self):
        assert from_probabilities(PROBABILITIES) == pytest.approx(PROBABILITIES)
        squared = PROBABILITIES**2 / (PROBABILITIES**2).sum()
        assert from_probabilities(PROBABILITIES, temperature=0.5) == pytest.approx(squared)
        assert from_probabilities(PROBABILITIES, temperature=1e-3)[2] == pytest.approx(1.0)
        flat = from_probabilities(PROBABILITIES, temperature=1e6)
        assert flat == pytest.approx([0, 0, 0.2, 0.2, 0.2, 0.2, 0.2], abs=1e-5)

    def test_top_k_keeps_the_likeliest(self):
        assert from_probabilities(PROBABILITIES, top_k=2) == pytest.approx([0, 0, 4 / 7, 3 / 7, 0, 0, 0])
        assert from_probabilities(PROBABILITIES, top_k=1) == pytest.approx([0, 0, 1, 0, 0, 0, 0])
        assert from_probabilities(PROBABILITIES, top_k=99) == pytest.approx(PROBABILITIES)

    def test_top_p_keeps_the_token_that_crosses(self):
        assert from_probabilities(PROBABILITIES, top_p=0.5) == pytest.approx([0, 0, 4 / 7, 3 / 7, 0, 0, 0])
        assert from_probabilities(PROBABILITIES, top_p=0.75) == pytest.approx(
            [0, 0, 4 / 9, 3 / 9, 2 / 9, 0, 0]
        )
        assert from_probabilities(PROBABILITIES, top_p=1e-9) == pytest.approx([0, 0, 1, 0, 0, 0, 0])

    def test_top_p_looks_at_what_temperature_and_top_k_have_left(self):
        # Of the three that top_k leaves, 4/9 and 3/9 reach .75 together; of all, .4 + .3 would not.
        assert from_probabilities(PROBABILITIES, top_k=3, top_p=0.75) == pytest.approx(
            [0, 0, 4 / 7, 3 / 7, 0, 0, 0]
        )
        # At temperature .5 the first has .16 of .30 and crosses a half alone.
        assert from_probabilities(PROBABILITIES, temperature=0.5, top_p=0.5)[2] == 1.0

    def test_equal_tokens_are_kept_in_order_of_their_id(self):
        uniform = np.full(8, 1 / 8)
        assert np.flatnonzero(from_probabilities(uniform, top_k=3)).tolist() == [0, 1, 2]
        assert np.flatnonzero(from_probabilities(uniform, top_p=0.3)).tolist() == [0, 1, 2]

    @given(
        row=logits_rows, temperature=st.floats(0.05, 20), top_k=st.integers(0, 14), top_p=st.floats(1e-6, 1.0)
    )
    @settings(max_examples=150, deadline=None)
    def test_never_empty_sums_to_one_and_keeps_the_fewest(
        self, row: list[float], temperature: float, top_k: int, top_p: float
    ):
        logprobs = np.array(row) - np.log(np.exp(row).sum())
        found = sampling_distribution(
            logprobs, SearchOptions(method="sample", temperature=temperature, top_k=top_k, top_p=top_p)
        )
        kept = np.flatnonzero(found)
        assert len(kept) >= 1 and (found >= 0).all()
        assert found.sum() == pytest.approx(1.0)
        assert found[logprobs.argmax()] > 0
        if top_k:
            assert len(kept) <= top_k
        assert logprobs[kept].min() >= np.delete(logprobs, kept).max(initial=-math.inf)
        ratios = found[kept] / np.exp(logprobs[kept] / temperature)
        assert ratios == pytest.approx(ratios[0])
        pool = np.exp(np.sort(logprobs)[::-1][: top_k or None] / temperature)
        shares = np.cumsum(pool / pool.sum())
        assume(abs(shares - top_p).min() > 1e-9)
        assert len(kept) == (int((shares < top_p).sum()) + 1 if top_p < 1 else len(pool))

    def test_what_may_not_be_drawn_stays_out(self):
        row = np.log([0.5, 0.25, 0.25])
        row[0] = -np.inf
        found = sampling_distribution(row, SearchOptions(method="sample", temperature=50.0))
        assert found == pytest.approx([0, 0.5, 0.5])


def draw(logits, options: SearchOptions, **more):
    return sample(PathModel(logits), [SOURCE], options, **more).hypotheses[0]


class TestDraws:
    @pytest.mark.parametrize(
        "options",
        [{}, {"temperature": 0.7}, {"top_k": 3}, {"top_p": 0.65}, {"temperature": 2.0, "top_p": 0.9}],
    )
    def test_follow_the_distribution(self, options: dict[str, float]):
        """Pearson's statistic of 2,000 draws stays under the 99.99% quantile of chi-square."""
        row = [-1e9 if p == 0 else math.log(p) for p in PROBABILITIES]
        counts = Counter(
            draw(lambda *_: row, SearchOptions(method="sample", max_length=1, seed=seed, **options))[0].ids[0]
            for seed in range(2000)
        )
        expected = 2000 * from_probabilities(PROBABILITIES, **options)
        possible = np.flatnonzero(expected)
        assert set(counts) <= set(possible.tolist())
        statistic = sum(
            (counts[token] - expected[token]) ** 2 / expected[token] for token in possible.tolist()
        )
        assert statistic < {2: 15.1, 3: 18.4, 4: 21.1, 5: 23.5}[len(possible)]

    @pytest.mark.parametrize("draws", [1, 4])
    def test_are_a_function_of_the_seed(self, draws: int):
        logits = random_logits(5, 9)
        first, again, other = (
            draw(logits, SearchOptions(method="sample", n_best=draws, max_length=12, seed=seed))
            for seed in (3, 3, 4)
        )
        assert first == again != other

    def test_do_not_depend_on_the_batch(self):
        logits = random_logits(5, 9)
        options = SearchOptions(method="sample", n_best=3, max_length=8)
        sources = [OTHER, SOURCE, (5, END_ID)]
        together = sample(PathModel(logits), sources, options).hypotheses
        alone = [sample(PathModel(logits), [source], options).hypotheses[0] for source in sources]
        assert together == alone

    def test_the_first_draw_does_not_depend_on_how_many_are_asked_for(self):
        logits = random_logits(8, 30)
        one = draw(logits, SearchOptions(method="sample", n_best=1, max_length=6))[0]
        assert one in draw(logits, SearchOptions(method="sample", n_best=6, max_length=6))

    @pytest.mark.case("B7")
    def test_alike_ones_are_given_once(self):
        found = draw(
            random_logits(6, 6), SearchOptions(method="sample", n_best=20, temperature=0.3, max_length=6)
        )
        assert 1 <= len(found) < 20
        assert len({item.ids for item in found}) == len(found)
        assert [item.score for item in found] == sorted((item.score for item in found), reverse=True)

    @pytest.mark.case("B6")
    def test_end_marks_and_the_limit(self):
        logits = random_logits(7, 7)
        found = draw(logits, SearchOptions(method="sample", n_best=40, max_length=3))
        assert {item.finished for item in found} == {True, False}
        for item in found:
            assert item.ids.count(END_ID) == item.finished
            assert not {PAD_ID, START_ID} & set(item.ids)
            assert item.ids[-1] == END_ID if item.finished else len(item.ids) == 3

    @pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
    def test_log_probabilities_are_the_models_own_whatever_the_temperature(self, temperature: float):
        logits = random_logits(9, 8)
        options = SearchOptions(method="sample", n_best=5, temperature=temperature, top_k=4, max_length=6)
        for item in draw(logits, options):
            own = [
                log_probabilities(logits, SOURCE, item.ids[:place])[token]
                for place, token in enumerate(item.ids)
            ]
            assert item.logprobs == pytest.approx(own, abs=1e-12)
            assert item.score == pytest.approx(options.normalise(sum(own), len(own)))

    def test_a_forced_beginning_is_not_counted(self):
        logits = random_logits(10, 8)
        options = SearchOptions(method="sample", n_best=5, penalty="average", max_length=4)
        for item in draw(logits, options, prefix=(A, A)):
            assert item.ids[:2] == (A, A) and len(item.ids) <= 6
            assert item.score == pytest.approx(np.mean(item.logprobs[2:]))

    def test_control_tokens_and_too_long_beginnings_are_refused(self):
        for prefix, line in (((END_ID,), "control tokens"), ((A,) * 6, "takes at most 5")):
            with pytest.raises(OptionsError, match=line):
                draw(random_logits(1, 8), SearchOptions(method="sample"), prefix=prefix, longest=6)


def test_draws_that_begin_alike_share_their_nodes():
    logits = random_logits(12, 6)
    options = SearchOptions(method="sample", n_best=12, max_length=4)
    result = sample(PathModel(logits), [SOURCE, OTHER], options, recording=recording(), prefix=(A,))
    for found, nodes in zip(result.hypotheses, result.records, strict=True):
        edges = list(zip(nodes.parent, nodes.token, strict=True))
        assert len(set(edges)) == len(edges)
        read = nodes.passes.nodes
        assert sorted(read) == sorted({nodes.parent[node] for node in range(1, len(edges))})
        assert {nodes.fate[node] for node in read} == {KEPT}
        for item in found:
            assert tuple(nodes.tokens(item.node)) == item.ids
            assert nodes.fate[item.node] == (FINISHED if item.finished else CUT)
            assert nodes.cumulative[item.node] == pytest.approx(item.logprob, abs=1e-12)
            assert nodes.score[item.node] == pytest.approx(item.score, abs=1e-12)
