"""The validator names what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from atlas.trace import Fate, Trace, TraceError
from tests.trace.test_trace import traces
from tests.traces import EMOJI, END, HTML_LIKE, make_trace

TRACE = make_trace(beam=5, extras=True)
BEST = int(TRACE.hypotheses[0])


@settings(max_examples=40, deadline=None)
@given(traces())
def test_synthetic_traces_are_valid(trace: Trace):
    trace.validate()
    trace.with_n_best_rows_only().validate()


@pytest.mark.parametrize(
    "options",
    [
        {"extras": True},
        {"duplicate_heads": True},
        {"forced": 3},
        {"scores": False},
        {"beam": 1},
        {"target": ""},
        {"source": HTML_LIKE, "target": HTML_LIKE},
        {"source": EMOJI, "target": EMOJI},
    ],
)
def test_options_of_the_builder_are_valid(options: dict[str, Any]):
    make_trace(**options).validate()


def edited(points: np.ndarray, place: Any, value: Any) -> np.ndarray:
    """A copy with one value changed."""
    copy = points.copy()
    copy[place] = value
    return copy


def search(**changes: Any) -> Trace:
    return replace(TRACE, search=replace(TRACE.search, **changes))


def changed(field: str, place: Any, value: Any) -> Trace:
    return search(**{field: edited(getattr(TRACE.search, field), place, value)})


def extra(name: str, points: np.ndarray) -> Trace:
    return replace(TRACE, extras={**TRACE.extras, name: points})


def token(index: int, **changes: Any) -> Trace:
    tokens = list(TRACE.source_tokens)
    tokens[index] = replace(tokens[index], **changes)
    return replace(TRACE, source_tokens=tuple(tokens))


def swapped() -> Trace:
    """Two rows of attention exchanged between queries and keys."""
    return replace(TRACE, encoder=np.ascontiguousarray(TRACE.encoder.swapaxes(-1, -2)))


FINISHED = int(np.flatnonzero(TRACE.search.fate == Fate.FINISHED)[0])
PRUNED = int(np.flatnonzero(TRACE.search.fate == Fate.PRUNED)[0])
WRONG: dict[str, tuple[Callable[[], Trace], str]] = {
    "version": (
        lambda: replace(TRACE, header=replace(TRACE.header, schema_version=3)),
        "header.schema_version is 3",
    ),
    "settings": (lambda: replace(TRACE, header=replace(TRACE.header, settings=None)), "header.settings"),
    "model name": (lambda: replace(TRACE, header=replace(TRACE.header, model_name=7)), "header.model_name"),
    "source": (lambda: replace(TRACE, source=b"x"), "source is not text"),
    "no source tokens": (lambda: replace(TRACE, source_tokens=()), "source_tokens is empty"),
    "token text": (lambda: token(1, text="dog"), r"source_tokens\[1\].text"),
    "token span": (lambda: token(1, end=999), r"source_tokens\[1\] spans"),
    "token type": (lambda: token(1, id="5"), r"source_tokens\[1\].id is not of type int"),
    "token label": (lambda: token(1, label=None), r"source_tokens\[1\].label is not text"),
    "token word": (lambda: token(1, word=-1), r"source_tokens\[1\].word"),
    "special token": (lambda: token(-1, word=3), "is special but"),
    "token order": (
        lambda: replace(TRACE, source_tokens=TRACE.source_tokens[1::-1] + TRACE.source_tokens[2:]),
        "not in reading order",
    ),
    "word order": (lambda: token(1, word=7), "their words are not in reading order"),
    "encoder type": (
        lambda: replace(TRACE, encoder=TRACE.encoder.astype(np.float64)),
        "encoder has type float64",
    ),
    "encoder shape": (lambda: replace(TRACE, encoder=TRACE.encoder[..., 1:]), "encoder has shape"),
    "encoder list": (lambda: replace(TRACE, encoder=TRACE.encoder.tolist()), "encoder is not an array"),
    "swapped axes": (swapped, "encoder has a row that sums to 1 only within"),
    "NaN": (lambda: replace(TRACE, encoder=edited(TRACE.encoder, (0, 0, 0, 0), np.nan)), "encoder holds NaN"),
    "negative": (
        lambda: replace(TRACE, encoder=edited(TRACE.encoder, (0, 0, 0, slice(0, 2)), [-0.5, 1.5])),
        "encoder holds negative",
    ),
    "cross row": (lambda: changed("cross", (3, 0, 0), 0.5), "search.cross has a row that sums"),
    "decoder row": (lambda: changed("decoder", (3, 0, 0, 0), 0.0), "search.decoder has a row that sums"),
    "decoder future": (lambda: changed("decoder", (0, 0, 0), [0, 1, *[0] * 15]), "not on its path"),
    "cross heads": (
        lambda: search(cross=TRACE.search.cross[:, :, :2]),
        "search.decoder has \\(2, 4\\) layers and heads",
    ),
    "cross source": (lambda: search(cross=TRACE.search.cross[..., :3]), "search.cross has shape"),
    "field length": (lambda: search(rank=TRACE.search.rank[:-1]), "search.rank has shape"),
    "field type": (lambda: search(fate=TRACE.search.fate.astype(np.int64)), "search.fate has type int64"),
    "no nodes": (lambda: search(parent=TRACE.search.parent[:0]), "there is no root"),
    "not an array": (lambda: search(parent=None), "search.parent is not an array"),
    "root": (lambda: changed("parent", 0, 0), "node 0 is not the root"),
    "root score": (lambda: changed("cumulative", 0, -1.0), "the root's is not 0"),
    "root fate": (lambda: changed("fate", 0, Fate.PRUNED), r"search.fate\[0\]"),
    "parent order": (lambda: changed("parent", 5, 90), "search.parent: node 5 does not precede"),
    "parent none": (lambda: changed("parent", 5, -1), "search.parent: node 5"),
    "step": (lambda: changed("step", 5, 7), "search.step: node 5"),
    "infinite": (lambda: changed("score", 5, np.nan), "search.score: node 5 is not finite"),
    "positive": (lambda: changed("logprob", 5, 0.5), "search.logprob: node 5 is above 0"),
    "sum": (
        lambda: changed("cumulative", BEST, -99.0),
        f"search.cumulative: node {BEST} is not its parent's",
    ),
    "rank": (lambda: changed("rank", 5, -1), "search.rank: node 5 is negative"),
    "twins": (lambda: changed("token", 2, TRACE.search.token[1]), "two children of one node"),
    "vocabulary": (lambda: replace(TRACE, vocabulary={}), "vocabulary has no piece for id 1"),
    "bad piece": (
        lambda: replace(TRACE, vocabulary=dict.fromkeys(TRACE.vocabulary, "▁x")),
        "is not byte-level",
    ),
    "end id": (lambda: replace(TRACE, end_id=77), "end_id is not one of special_ids"),
    "special ids": (
        lambda: replace(TRACE, special_ids=frozenset(["a"])),
        "special_ids are not whole numbers",
    ),
    "fate": (lambda: changed("fate", 5, 9), "search.fate: node 5 is not one of 0..3"),
    "finished early": (lambda: changed("fate", PRUNED, Fate.FINISHED), "is finished without the end mark"),
    "end mark kept": (lambda: changed("fate", FINISHED, Fate.KEPT), "has the end mark but is neither"),
    "dead parent": (
        lambda: changed("fate", int(TRACE.search.parent[BEST]), Fate.PRUNED),
        "has a parent that was not kept",
    ),
    "rows kept": (lambda: replace(TRACE, rows_kept="some"), "rows_kept is 'some'"),
    "expanded twice": (lambda: changed("expanded", 0, 1), "does not name each pass exactly once"),
    "expanded below": (lambda: changed("expanded", BEST, -2), "search.expanded is below -1"),
    "few keys": (lambda: search(decoder=TRACE.search.decoder[..., :4]), "search.decoder has only 4 keys"),
    "top order": (
        lambda: search(top_logprobs=np.ascontiguousarray(TRACE.search.top_logprobs[:, ::-1])),
        "search.top_logprobs are not falling",
    ),
    "top shape": (lambda: search(top_ids=TRACE.search.top_ids[:, :4]), "differ in shape"),
    "no hypotheses": (lambda: replace(TRACE, hypotheses=TRACE.hypotheses[:0]), "hypotheses is empty"),
    "hypothesis twice": (lambda: replace(TRACE, hypotheses=TRACE.hypotheses[[0, 0]]), "names a node twice"),
    "hypothesis range": (lambda: replace(TRACE, hypotheses=np.array([999], np.int32)), "not in the search"),
    "hypothesis open": (
        lambda: replace(TRACE, hypotheses=np.array([PRUNED], np.int32)),
        "neither finished nor cut",
    ),
    "extra name": (lambda: extra("attention", TRACE.encoder), "'attention', which is no named point"),
    "extra shape": (lambda: extra("cross.q", TRACE.encoder), "extras.cross.q has shape"),
    "extra NaN": (
        lambda: extra("logits", np.full_like(TRACE.extras["logits"], np.nan)),
        "extras.logits holds NaN",
    ),
    "scores": (
        lambda: extra("encoder.scores", TRACE.extras["encoder.scores"][::-1].copy()),
        "extras.encoder.scores: their softmax differs",
    ),
    "masked scores": (
        lambda: extra("cross.scores", np.full_like(TRACE.extras["cross.scores"], -np.inf)),
        "extras.cross.scores has a row without a finite score",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_one_line_names_the_wrong_field(name: str):
    make, message = WRONG[name]
    with pytest.raises(TraceError, match=message) as caught:
        make().validate()
    assert "\n" not in str(caught.value)


def test_rows_are_checked_where_they_are_missing():
    small = TRACE.with_n_best_rows_only()
    with pytest.raises(TraceError, match="has a parent that no pass read"):
        replace(small, rows_kept="all").validate()
    kept = small.search.expanded[small.search.parent] >= 0
    other = int(np.flatnonzero((small.search.fate == Fate.CUT) & ~kept)[0])
    with pytest.raises(TraceError, match=f"the rows of hypothesis {other} are missing"):
        replace(small, hypotheses=np.array([BEST, other], np.int32)).validate()


def test_an_end_mark_that_fell_out_of_the_beam_is_fine():
    trace = make_trace(beam=5, n_best=1)
    ends = np.flatnonzero((trace.search.token == END) & (np.arange(len(trace.search)) != trace.hypotheses[0]))
    fate = edited(trace.search.fate, ends[0], Fate.PRUNED)
    replace(trace, search=replace(trace.search, fate=fate)).validate()
