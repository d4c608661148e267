"""The engine that sessions share."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import streamlit as st

from atlas import limits
from atlas.decoding import SearchOptions
from atlas.errors import AtlasError
from atlas.limits import LimitExceeded
from atlas.ui import models
from atlas.ui.models import SharedEngine, cached_answer, cached_trace, load_engine
from tests.ui.fakes import FakeEngine


@pytest.fixture(autouse=True)
def fresh_caches() -> Iterator[None]:
    st.cache_resource.clear()
    yield
    st.cache_resource.clear()


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "config.json").write_text("{}")
    monkeypatch.setattr(models, "Engine", FakeEngine)
    monkeypatch.setattr(FakeEngine, "loads", 0)
    return tmp_path


@pytest.mark.case("U3")
def test_twenty_visitors_on_a_cold_server_load_the_model_once(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = FakeEngine.load.__func__  # type: ignore[attr-defined]

    def slow(cls: type[FakeEngine], path: Any) -> FakeEngine:
        time.sleep(0.2)
        return load(cls, path)

    monkeypatch.setattr(FakeEngine, "load", classmethod(slow))
    with ThreadPoolExecutor(20) as pool:
        engines = list(pool.map(lambda _: load_engine(bundle), range(20)))
    assert FakeEngine.loads == 1
    assert all(engine is engines[0] for engine in engines)


def test_a_rewritten_bundle_is_loaded_again(bundle: Path) -> None:
    first = load_engine(bundle)
    config = bundle / "config.json"
    written = config.stat().st_mtime_ns + 10**9
    os.utime(config, ns=(written, written))
    assert load_engine(bundle) is not first


@pytest.mark.case("A7")
def test_passes_take_turns_and_answers_are_not_mixed(bundle: Path) -> None:
    engine = load_engine(bundle)
    sentences = [f"Sentence number {number}." for number in range(12)]
    with ThreadPoolExecutor(12) as pool:
        traces = list(pool.map(lambda text: cached_trace(engine, text, SearchOptions()).trace, sentences))
    assert engine._engine.most_at_once == 1  # type: ignore[attr-defined]
    for sentence, trace in zip(sentences, traces, strict=True):
        assert trace.source == sentence
        alone = FakeEngine().trace(sentence)
        assert (trace.encoder == alone.encoder).all()
        assert (trace.search.cross == alone.search.cross).all()


def test_a_trace_is_computed_once_for_the_same_question(bundle: Path) -> None:
    engine = load_engine(bundle)
    first = cached_trace(engine, "A cat.", SearchOptions())
    assert cached_trace(engine, "A cat.", SearchOptions()) is first
    assert engine._engine.passes == 1
    cached_trace(engine, "A cat.", SearchOptions(beam=2))
    cached_trace(engine, "A cat.", SearchOptions(), target="Un chat.")
    cached_trace(engine, "A cat.", SearchOptions(), prefix_ids=[5, 6])
    assert engine._engine.passes == 4


def test_another_model_has_its_own_answers(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = FakeEngine()
    other.hash = "0" * 64
    first = cached_trace(load_engine(bundle), "A cat.", SearchOptions())
    assert cached_trace(SharedEngine(other), "A cat.", SearchOptions()) is not first  # type: ignore[arg-type]


def test_nothing_runs_the_model_past_the_gate(bundle: Path) -> None:
    engine = load_engine(bundle)
    assert engine.name == bundle.name
    assert engine.config.positions == "sinusoidal"
    with pytest.raises(AttributeError, match="'model'"):
        _ = engine.model


def test_errors_are_not_cached(bundle: Path) -> None:
    engine = load_engine(bundle)
    for _ in range(2):
        with pytest.raises(AtlasError, match="empty"):
            cached_trace(engine, " ", SearchOptions())


def test_an_answer_is_found_once_a_model_and_a_question() -> None:
    asked: list[object] = []

    def find(engine: Any) -> int:
        asked.append(engine)
        return len(asked)

    fake = FakeEngine()
    engine = SharedEngine(fake)
    assert [cached_answer(engine, ("norms", 3), find) for _ in range(2)] == [1, 1]
    assert cached_answer(engine, ("norms", 4), find) == 2
    assert asked == [fake, fake]


def test_a_question_waits_for_its_turn() -> None:
    engine = SharedEngine(FakeEngine())
    together: list[int] = []
    inside = 0

    def find(_: Any) -> None:
        nonlocal inside
        inside += 1
        together.append(inside)
        time.sleep(0.02)
        inside -= 1

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: engine.ask(find), range(4)))
    assert together == [1, 1, 1, 1]


@pytest.fixture
def counted() -> SharedEngine:
    """A fake engine whose tokenizer has a token a character."""
    fake = FakeEngine()
    fake.tokenizer = SimpleNamespace(source=lambda text: [0] * (len(text) + 1))  # type: ignore[assignment]
    return SharedEngine(fake)  # type: ignore[arg-type]


def test_a_search_is_bounded_before_it_begins(counted: SharedEngine) -> None:
    five = SearchOptions(beam=5, n_best=5)
    assert counted.bounded("x" * 30, five) == five
    assert counted.bounded("x" * 300, five).max_length == limits.SEARCH.value // 5 == limits.TOKENS.value
    wide = SearchOptions(beam=10, n_best=10)
    assert counted.bounded("x" * 300, wide).max_length == 256
    assert counted.bounded("x" * 30, replace(wide, max_length=256)).max_length == 256
    with pytest.raises(LimitExceeded, match=r"a beam of 10 up to 257 tokens has 2,570 tokens; the limit"):
        counted.bounded("x", replace(wide, max_length=257))
    with pytest.raises(LimitExceeded, match=r"length limit has 513 tokens; the limit is 512 tokens"):
        counted.bounded("x", SearchOptions(beam=1, max_length=513))
    with pytest.raises(LimitExceeded, match=r"the search has 11 hypotheses; the limit is 10 hypotheses"):
        counted.bounded("x", SearchOptions(beam=11))


def test_what_is_too_long_is_said_and_never_reaches_the_model(counted: SharedEngine) -> None:
    for ask in (counted.trace, lambda text: cached_trace(counted, text, SearchOptions())):
        with pytest.raises(LimitExceeded, match=r"the sentence has 513 tokens; the limit is 512 tokens"):
            ask("x" * 512)
        with pytest.raises(LimitExceeded, match=r"the sentence has 4,001 characters; the limit is 4,000"):
            ask("x" * 4001)
    with pytest.raises(LimitExceeded, match=r"the forced translation has 601 tokens; the limit is 512"):
        counted.trace("x", target="y" * 600)
    assert counted._engine.passes == 0  # type: ignore[attr-defined]


def test_in_a_list_only_the_sentence_over_a_limit_is_left_out(counted: SharedEngine) -> None:
    found = counted.translate(["a cat", "x" * 600, "a dog"])
    assert [one.text for one in found] == ["A CAT", "", "A DOG"]
    assert found[1].note == "the sentence has 601 tokens; the limit is 512 tokens"
    assert found[1].source == "x" * 600
