"""Beam search against hand-made tables, against all texts there are, and against a plain rewriting of it."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas import limits
from atlas.decoding import OptionsError, SearchOptions, beam_search, sample
from atlas.decoding.record import CUT, FINISHED, KEPT, PRUNED
from atlas.decoding.search import Found, SearchResult
from atlas.text.tokenizer import END_ID, PAD_ID, START_ID
from tests.decoding.models import (
    NEVER,
    SOURCE,
    A,
    B,
    C,
    ForgetfulModel,
    Logits,
    PathModel,
    exhaustive,
    log_probabilities,
    plain_search,
    random_logits,
    recording,
    table,
)

PENALTIES = ("gnmt", "average", "none")
FATES = {KEPT: "kept", FINISHED: "finished", PRUNED: "pruned", CUT: "cut"}
OTHER = (9, 8, 7, 6, END_ID)
seeds = st.integers(0, 2**32 - 1)


@pytest.fixture
def any_width(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Lift the bound on the beam, for searches that must look at everything."""
    monkeypatch.setenv(limits.ENVIRONMENT, "width=10000")
    yield


def search(logits: Logits, settings: SearchOptions, source: tuple[int, ...] = SOURCE) -> list[Found]:
    return beam_search(PathModel(logits), [source], settings).hypotheses[0]


def record(logits: Logits, settings: SearchOptions, **more: object) -> SearchResult:
    return beam_search(PathModel(logits), [SOURCE], settings, recording=recording(), **more)


def greedy(logits: Logits, limit: int) -> tuple[int, ...]:
    ids: tuple[int, ...] = ()
    while len(ids) < limit and (not ids or ids[-1] != END_ID):
        row = np.array(log_probabilities(logits, SOURCE, ids))
        row[[PAD_ID, START_ID]] = -np.inf
        ids = (*ids, int(row.argmax()))
    return ids


@pytest.mark.case("B1")
@given(
    seed=seeds,
    penalty=st.sampled_from(PENALTIES),
    alpha=st.floats(0, 5),
    stop=st.sampled_from(("exact", "first")),
)
@settings(max_examples=40, deadline=None)
def test_width_one_is_greedy_whatever_the_penalty(seed: int, penalty: str, alpha: float, stop: str):
    logits = random_logits(seed, 7)
    wanted = greedy(logits, 12)
    common = {"penalty": penalty, "alpha": alpha, "stop": stop, "max_length": 12}
    for settings_ in (SearchOptions(beam=1, **common), SearchOptions(method="greedy", beam=7, **common)):
        assert search(logits, settings_)[0].ids == wanted


@pytest.mark.case("B2")
def test_the_first_step_grows_different_hypotheses():
    result = record(random_logits(1, 9), SearchOptions(beam=4, n_best=4, max_length=5))
    nodes = result.records[0]
    first = [node for node in range(1, len(nodes.parent)) if nodes.step[node] == 1]
    assert {nodes.parent[node] for node in first} == {0}
    assert len({nodes.token[node] for node in first}) == len(first)
    assert len([node for node in first if nodes.fate[node] == KEPT]) == 4


@pytest.mark.case("B3")
def test_a_cache_that_is_not_reordered_is_seen():
    """The stored log-probabilities, one by one, are the model's own for that path; sums would hide a swap."""

    def differences(model: type[PathModel]) -> list[float]:
        logits = random_logits(4, 8)
        found = beam_search(
            model(logits), [SOURCE], SearchOptions(beam=4, n_best=4, max_length=7)
        ).hypotheses[0]
        return [
            abs(logprob - log_probabilities(logits, SOURCE, item.ids[:place])[token])
            for item in found
            for place, (token, logprob) in enumerate(zip(item.ids, item.logprobs, strict=True))
        ]

    assert max(differences(PathModel)) < 1e-12
    assert max(differences(ForgetfulModel)) > 0.1


@pytest.mark.case("B4")
@given(seed=seeds, width=st.integers(2, 5), stop=st.sampled_from(("exact", "first")))
@settings(max_examples=30, deadline=None)
def test_sentences_of_a_batch_are_searched_each_on_its_own(seed: int, width: int, stop: str):
    logits = random_logits(seed, 8)
    settings_ = SearchOptions(beam=width, n_best=width, max_length=6, stop=stop)
    sources = [SOURCE, OTHER, (5, END_ID), (6, 6, END_ID)]
    together = beam_search(PathModel(logits), sources, settings_, recording=recording())
    for source, found, nodes in zip(sources, together.hypotheses, together.records, strict=True):
        assert (
            found == beam_search(PathModel(logits), [source], settings_, recording=recording()).hypotheses[0]
        )
        for node in range(1, len(nodes.parent)):
            path = tuple(nodes.tokens(node))
            assert nodes.logprob[node] == pytest.approx(
                log_probabilities(logits, source, path[:-1])[path[-1]], abs=1e-12
            )
            assert nodes.cumulative[node] == nodes.cumulative[nodes.parent[node]] + nodes.logprob[node]
            assert nodes.score[node] == pytest.approx(
                settings_.normalise(nodes.cumulative[node], len(path)), abs=1e-12
            )
        for item in found:
            assert tuple(nodes.tokens(item.node)) == item.ids
            assert nodes.cumulative[item.node] == pytest.approx(item.logprob, abs=1e-12)
            assert nodes.score[item.node] == item.score


@pytest.mark.case("B5")
@pytest.mark.parametrize("width", [2, 3, 5])
def test_exact_stopping_finds_what_scores_better_later(width: int):
    """The end at once (.4) scores log .4 = -0.92; "a" (.35), then the end (.99), scores -0.53 a token."""
    logits = table(
        {
            (): {END_ID: 0.4, A: 0.35, B: 0.25},
            (A,): {END_ID: 0.99, A: 0.005, B: 0.005},
            (B,): {END_ID: 0.01, A: 0.5, B: 0.49},
            **{(x, y): {END_ID: 0.01, A: 0.5, B: 0.49} for x in (A, B) for y in (A, B)},
        },
        5,
    )
    best = search(logits, SearchOptions(beam=width, penalty="average", max_length=3))[0]
    assert best.ids == (A, END_ID)
    assert best.score == pytest.approx((math.log(0.35) + math.log(0.99)) / 2)


def test_stopping_at_the_first_finished_ones_misses_what_exact_stopping_finds():
    """Two have finished after two steps; the third step would have brought a better one."""
    logits = table(
        {
            (): {END_ID: 0.5, A: 0.5},
            (A,): {END_ID: 0.45, A: 0.55},
            (A, A): {END_ID: 0.99, A: 0.01},
            (A, A, A): {END_ID: 0.99, A: 0.01},
        },
        4,
    )
    common = {"beam": 2, "penalty": "average", "max_length": 4}
    assert search(logits, SearchOptions(stop="first", **common))[0].ids == (END_ID,)
    assert search(logits, SearchOptions(stop="exact", **common))[0].ids == (A, A, END_ID)


@given(seed=seeds, width=st.integers(2, 6), penalty=st.sampled_from(PENALTIES), limit=st.integers(1, 8))
@settings(max_examples=60, deadline=None)
def test_exact_stopping_is_never_worse_than_first(seed: int, width: int, penalty: str, limit: int):
    logits = random_logits(seed, 7)
    common = {"beam": width, "penalty": penalty, "max_length": limit}
    exact, first = (search(logits, SearchOptions(stop=stop, **common))[0] for stop in ("exact", "first"))
    assert (exact.finished, exact.score) >= (first.finished, first.score)


@pytest.mark.case("B6")
@given(seed=seeds, width=st.integers(1, 5), limit=st.integers(1, 6), stop=st.sampled_from(("exact", "first")))
@settings(max_examples=60, deadline=None)
def test_one_final_end_mark_or_none_and_said_so(seed: int, width: int, limit: int, stop: str):
    settings_ = SearchOptions(beam=width, n_best=width, max_length=limit, stop=stop)
    result = record(random_logits(seed, 6), settings_)
    nodes = result.records[0]
    for found in result.hypotheses[0]:
        assert found.ids.count(END_ID) == found.finished
        assert not {PAD_ID, START_ID} & set(found.ids)
        assert len(found.ids) == len(found.logprobs) <= limit
        assert nodes.fate[found.node] == (FINISHED if found.finished else CUT)
        if found.finished:
            assert found.ids[-1] == END_ID
        else:
            assert len(found.ids) == limit
    for node in range(1, len(nodes.parent)):
        assert nodes.token[nodes.parent[node]] != END_ID, "something was generated after the end mark"


@pytest.mark.case("B6")
def test_at_the_length_limit():
    """With the end unlikely everything is cut; where one has finished in time, it alone counts."""
    unlikely = random_logits(3, 6, scale=0.1)

    def never_ends(source: tuple[int, ...], path: tuple[int, ...]) -> list[float]:
        row = list(unlikely(source, path))
        row[END_ID] = NEVER
        return row

    cut = search(never_ends, SearchOptions(beam=3, n_best=3, max_length=4))
    assert [(len(item.ids), item.finished) for item in cut] == [(4, False)] * 3
    assert cut[0].score == pytest.approx(cut[0].logprob / 1.5**0.6)

    def ends_or_goes_on(source: tuple[int, ...], path: tuple[int, ...]) -> list[float]:
        return [NEVER, NEVER, math.log(0.3), math.log(0.7)]

    found = search(ends_or_goes_on, SearchOptions(beam=2, n_best=2, max_length=1))
    assert [(item.ids, item.finished) for item in found] == [((END_ID,), True)]


@pytest.mark.parametrize("method", ["greedy", "beam", "sample"])
@pytest.mark.parametrize("prefix", [(), (B,)])
def test_no_end_mark_before_the_least_length(method: str, prefix: tuple[int, ...]):
    """However likely the end; afterwards it comes at once. What is forced does not count."""
    logits = table({(*prefix, *(A,) * n): {A: 1e-3, END_ID: 1 - 1e-3} for n in range(9)}, 5)
    if prefix:
        rows = logits
        logits = lambda source, path: rows(source, path) if path else [0.0] * 5  # noqa: E731
    find = sample if method == "sample" else beam_search
    options = SearchOptions(method=method, beam=1, min_length=3, max_length=8)
    found = find(PathModel(logits), [SOURCE], options, prefix=prefix).hypotheses[0][0]
    assert found.ids == (*prefix, A, A, A, END_ID)
    assert found.logprobs[len(prefix) :] == pytest.approx([math.log(1e-3)] * 3 + [math.log(1 - 1e-3)])
    options = SearchOptions(method=method, beam=1, min_length=3, max_length=3)
    cut = find(PathModel(logits), [SOURCE], options, prefix=prefix).hypotheses[0][0]
    assert (cut.ids, cut.finished) == ((*prefix, A, A, A), False)


def test_sentences_that_end_leave_and_the_last_take_their_places():
    """Every sentence of a batch ends at another step, the first and the last among them."""
    lengths = {5: 2, 6: 6, 7: 1, 8: 4, 9: 3}

    def logits(source: tuple[int, ...], path: tuple[int, ...]) -> list[float]:
        row = list(random_logits(source[0], 10)(source, path))
        row[END_ID] = 50.0 if len(path) == lengths[source[0]] else NEVER
        return row

    sources = [(first, END_ID) for first in lengths]
    settings_ = SearchOptions(beam=3, n_best=3, stop="first")
    together = beam_search(PathModel(logits), sources, settings_, recording=recording())
    for source, found in zip(sources, together.hypotheses, strict=True):
        alone = beam_search(PathModel(logits), [source], settings_, recording=recording())
        assert found == alone.hypotheses[0]
        assert len(found[0].ids) == lengths[source[0]] + 1


def test_a_limit_of_its_own_follows_from_the_source():
    logits = table({(A,) * n: {A: 0.9, END_ID: 0.1} for n in range(40)}, 4)
    assert len(search(logits, SearchOptions(method="greedy"))[0].ids) == 2 * len(SOURCE) + 10
    result = beam_search(PathModel(logits), [SOURCE], SearchOptions(method="greedy"), longest=6)
    assert len(result.hypotheses[0][0].ids) == 6


@pytest.mark.case("B7")
@given(seed=seeds, width=st.integers(2, 6), grain=st.sampled_from((0.0, 1.0)))
@settings(max_examples=40, deadline=None)
def test_no_duplicates_in_the_n_best_list(seed: int, width: int, grain: float):
    found = search(random_logits(seed, 6, grain=grain), SearchOptions(beam=width, n_best=width, max_length=5))
    assert len({item.ids for item in found}) == len(found)
    scores = [item.score for item in found]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.case("B9")
@pytest.mark.parametrize("beginning", [(), (A,), (A, B, C)])
@pytest.mark.parametrize(("penalty", "power"), [("average", 1.0), ("gnmt", 0.6)])
def test_equal_tokens_give_equal_scores_and_the_prompt_is_not_counted(
    beginning: tuple[int, ...], penalty: str, power: float
):
    """Every token at 1/8. By average every text scores log 1/8, whatever stands before it."""
    settings_ = SearchOptions(beam=6, n_best=6, penalty=penalty, max_length=6)
    uniform = beam_search(PathModel(lambda *_: [0.0] * 8), [SOURCE], settings_, prefix=beginning).hypotheses[
        0
    ]
    assert len(uniform) == 6 and all(item.finished for item in uniform)
    for item in uniform:
        assert item.ids[: len(beginning)] == beginning
        length = len(item.ids) - len(beginning)
        divisor = length if penalty == "average" else ((5 + length) / 6) ** power
        assert item.score == pytest.approx(-math.log(8) * length / divisor)
    if penalty == "average":
        assert {round(item.score, 9) for item in uniform} == {round(-math.log(8), 9)}


@pytest.mark.case("B11")
@pytest.mark.usefixtures("any_width")
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_wide_enough_it_finds_the_best_of_all_texts(penalty: str, seed: int):
    """Four words and the end mark, length 4: 320 candidates in the last step, so a beam of 320 sees all."""
    logits = random_logits(seed, 7, scale=2.0)
    settings_ = SearchOptions(beam=320, n_best=20, penalty=penalty, max_length=4)
    wanted = exhaustive(logits, SOURCE, settings_, 4)
    found = search(logits, settings_)
    assert len(wanted) == 1 + 4 + 16 + 64
    assert [item.ids for item in found] == [item.ids for item in wanted[:20]]
    assert [item.score for item in found] == pytest.approx([item.score for item in wanted[:20]], abs=1e-12)


@pytest.mark.case("B11")
@given(
    seed=seeds,
    penalty=st.sampled_from(PENALTIES),
    alpha=st.floats(0, 3),
    scale=st.floats(0.1, 4),
    sizes=st.sampled_from(((2, 4, 24), (3, 3, 36), (4, 3, 80), (1, 6, 12))),
)
@settings(max_examples=60, deadline=None)
def test_wide_enough_it_finds_the_best_of_all_texts_whatever_the_table(
    seed: int, penalty: str, alpha: float, scale: float, sizes: tuple[int, int, int]
):
    words, limit, width = sizes
    logits = random_logits(seed, words + 3, scale=scale)
    settings_ = SearchOptions(beam=width, penalty=penalty, alpha=alpha, max_length=limit)
    wanted = exhaustive(logits, SOURCE, settings_, limit)[0]
    best = search(logits, settings_)[0]
    assert best.score == pytest.approx(wanted.score, abs=1e-12)
    assert best.ids == wanted.ids


@given(
    seed=seeds,
    width=st.integers(1, 5),
    words=st.integers(1, 6),
    limit=st.integers(1, 6),
    penalty=st.sampled_from(PENALTIES),
    stop=st.sampled_from(("exact", "first")),
    grain=st.sampled_from((0.0, 0.5, 2.0)),
)
@settings(max_examples=120, deadline=None)
def test_every_candidate_has_the_rank_and_the_fate_of_the_plain_search(
    seed: int, width: int, words: int, limit: int, penalty: str, stop: str, grain: float
):
    """Also with ties (``grain``): the higher score first, then the earlier parent, then the lower token."""
    logits = random_logits(seed, words + 3, grain=grain)
    settings_ = SearchOptions(beam=width, n_best=width, penalty=penalty, stop=stop, max_length=limit)
    plain = plain_search(logits, SOURCE, settings_, limit)
    result = record(logits, settings_)
    nodes = result.records[0]
    seen = [
        (nodes.step[node], nodes.rank[node], tuple(nodes.tokens(node)), FATES[nodes.fate[node]])
        for node in range(1, len(nodes.parent))
    ]
    assert seen == plain.candidates
    found = result.hypotheses[0]
    assert [item.ids for item in found] == [item.ids for item in plain.hypotheses]
    assert [item.score for item in found] == pytest.approx(
        [item.score for item in plain.hypotheses], abs=1e-12
    )
    assert all(item.finished == plain.finished for item in found)


def test_ties_go_to_the_earlier_parent_then_to_the_lower_token():
    result = record(lambda *_: [0.0] * 9, SearchOptions(beam=3, n_best=3, max_length=3, penalty="none"))
    nodes = result.records[0]
    paths = [tuple(nodes.tokens(node)) for node in range(1, len(nodes.parent)) if nodes.step[node] == 2]
    # The end mark has id 2 and is the first of the equals; A, B, C live on. All six of step 2 come from A.
    assert paths == [(A, token) for token in (END_ID, A, B, C, 6, 7)]
    assert [item.ids for item in result.hypotheses[0]] == [(END_ID,), (A, END_ID), (A, A, END_ID)]


def test_equal_scores_stand_in_the_order_in_which_they_finished():
    logits = table({(): {B: 0.5, A: 0.5}, (A,): {END_ID: 1.0}, (B,): {END_ID: 1.0}}, 5)
    found = search(logits, SearchOptions(beam=2, n_best=2, max_length=2))
    assert [item.ids for item in found] == [(A, END_ID), (B, END_ID)]
    assert found[0].score == found[1].score


@pytest.mark.parametrize("width", [1, 2, 4])
def test_fates_and_passes_fit_together(width: int):
    settings_ = SearchOptions(beam=width, n_best=width, max_length=6)
    nodes = record(random_logits(11, 9), settings_).records[0]
    read = nodes.passes.nodes
    assert len(set(read)) == len(read) and read[0] == 0
    assert {nodes.parent[node] for node in range(1, len(nodes.parent))} <= set(read)
    assert {nodes.fate[node] for node in read} == {KEPT}
    for step in range(1, max(nodes.step) + 1):
        here = [node for node in range(1, len(nodes.parent)) if nodes.step[node] == step]
        assert [nodes.rank[node] for node in here] == list(range(len(here)))
        assert len(here) <= 2 * width
        totals = [nodes.cumulative[node] for node in here]
        assert totals == sorted(totals, reverse=True)
        assert sum(nodes.fate[node] in (KEPT, CUT) for node in here) <= width


def test_sentences_that_have_ended_leave_the_batch():
    def ends_at(source: tuple[int, ...], path: tuple[int, ...]) -> list[float]:
        return [NEVER, NEVER, 0.0 if len(path) >= source[0] else NEVER, 0.0]

    model = PathModel(ends_at)
    sources = [(length, END_ID) for length in (1, 4, 2, 9)]
    found = beam_search(model, sources, SearchOptions(method="greedy", max_length=20)).hypotheses
    assert [len(items[0].ids) for items in found] == [2, 5, 3, 10]
    assert model.rows == sum(len(items[0].ids) for items in found)


class TestForcedBeginning:
    def test_every_hypothesis_begins_with_it_and_goes_on_as_the_model_would(self):
        logits = random_logits(21, 8)
        beginning = (C, A)

        def after(source: tuple[int, ...], path: tuple[int, ...]) -> tuple[float, ...]:
            return logits(source, (*beginning, *path))

        settings_ = SearchOptions(beam=3, n_best=3, max_length=5)
        forced = record(logits, settings_, prefix=beginning)
        free = search(after, settings_)
        assert [item.ids[2:] for item in forced.hypotheses[0]] == [item.ids for item in free]
        assert [item.score for item in forced.hypotheses[0]] == [item.score for item in free]
        for item in forced.hypotheses[0]:
            assert item.ids[:2] == beginning
            assert item.logprobs[:2] == pytest.approx(
                (log_probabilities(logits, SOURCE, ())[C], log_probabilities(logits, SOURCE, (C,))[A])
            )
        nodes = forced.records[0]
        assert [node for node in range(len(nodes.forced)) if nodes.forced[node]] == [1, 2]
        assert nodes.tokens(2) == [C, A] and nodes.fate[1] == nodes.fate[2] == KEPT

    @pytest.mark.parametrize("token", [PAD_ID, START_ID, END_ID])
    def test_control_tokens_are_refused(self, token: int):
        with pytest.raises(OptionsError, match="^a forced beginning cannot contain control tokens$"):
            beam_search(PathModel(random_logits(1, 8)), [SOURCE], SearchOptions(), prefix=(A, token))

    def test_one_that_fills_the_model_is_refused(self):
        model = PathModel(random_logits(1, 8))
        with pytest.raises(OptionsError, match="has 6 tokens; this model takes at most 5"):
            beam_search(model, [SOURCE], SearchOptions(), prefix=(A,) * 6, longest=6)
