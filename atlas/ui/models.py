"""The one engine of each trained bundle that all sessions share."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from atlas import limits
from atlas.decoding import SearchOptions
from atlas.decoding.options import default_limit
from atlas.engine import Engine, Translation
from atlas.errors import AtlasError
from atlas.memory import keep_freed_memory
from atlas.trace import Trace
from atlas.ui.gate import Gate
from atlas.ui.results import BoundedCache, held_bytes

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class TimedTrace:
    """A trace and how long the model took for it, in seconds."""

    trace: Trace
    seconds: float


def visitor() -> str | None:
    """The session whose script runs in this thread; None outside of one."""
    context = get_script_run_ctx(suppress_warning=True)
    return context.session_id if context else None


def is_present(session: Hashable) -> bool:
    """Whether a visitor's tab is still connected."""
    return not runtime.exists() or runtime.get_instance().is_active_session(str(session))


class SharedEngine:
    """An engine behind a gate: one pass over the model at a time, whoever asks.

    The methods here run the model and hold the gate. What describes the model (``config``, ``tokenizer``,
    ``hash`` and so on) is read from the engine itself; nothing else of it can be reached.
    """

    _DESCRIPTION = frozenset(
        ["name", "hash", "config", "tokenizer", "source_language", "target_language", "device", "card"]
        + ["history", "parameters", "positions", "folder"]
    )

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._gate = Gate(is_present)

    def __getattr__(self, name: str) -> Any:
        if name not in self._DESCRIPTION:
            raise AttributeError(f"a shared engine has no {name!r}")
        return getattr(self._engine, name)

    def translate(
        self,
        sentences: list[str],
        options: SearchOptions = SearchOptions(),
        prefix: str | None = None,
        progress: Callable[[int, int], None] | None = None,
        source_positions: np.ndarray | None = None,
        background: str | None = None,
    ) -> list[Translation]:
        """:meth:`Engine.translate`, one caller at a time; a sentence over a limit is answered with a note.

        Args:
            background: the session for which a thread in the background asks; it waits as long as it takes.
        """
        over = {place: note for place, text in enumerate(sentences) if (note := self._over(text))}
        with self._gate.turn(visitor() if background is None else background, patient=background is not None):
            found = iter(
                self._engine.translate(
                    [text for place, text in enumerate(sentences) if place not in over],
                    options,
                    prefix=prefix,
                    progress=progress,
                    source_positions=source_positions,
                )
            )
        return [
            Translation(text, (), over[place]) if place in over else next(found)
            for place, text in enumerate(sentences)
        ]

    def trace(self, sentence: str, options: SearchOptions = SearchOptions(), **forced: Any) -> Trace:
        """:meth:`Engine.trace`, one caller at a time.

        Raises:
            LimitExceeded: see :meth:`bounded`.
            NoTurn: too many wait, or for too long.
        """
        options = self.bounded(sentence, options, forced.get("target"))
        with self._gate.turn(visitor()):
            return self._engine.trace(sentence, options, **forced)

    def bounded(self, sentence: str, options: SearchOptions, target: str | None = None) -> SearchOptions:
        """The search as it is made here. What it may cost is bounded before it begins: a trace keeps
        beam x length passes.

        Where the length is the model's to choose, it is at most what the limits allow for this beam, and a
        translation that this cuts is marked as cut.

        Raises:
            LimitExceeded: the sentence, a forced translation, or the search is over a limit.
        """
        limits.SENTENCE.check(len(sentence), "the sentence")
        tokens = len(self._engine.tokenizer.source(sentence))
        limits.TOKENS.check(tokens, "the sentence")
        if target is not None:
            limits.SENTENCE.check(len(target), "the forced translation")
            limits.TOKENS.check(len(self._engine.tokenizer.source(target)), "the forced translation")
        limits.BEAM.check(options.width, "the search")
        longest = min(limits.TOKENS.value, limits.SEARCH.value // options.width)
        if options.max_length is None:
            return options if default_limit(tokens) <= longest else replace(options, max_length=longest)
        limits.TOKENS.check(options.max_length, "the translation's length limit")
        limits.SEARCH.check(
            options.width * options.max_length, f"a beam of {options.width} up to {options.max_length} tokens"
        )
        return options

    def _over(self, sentence: str) -> str:
        """Which limit a sentence of a list is over, in one line; empty where it is over none."""
        try:
            limits.SENTENCE.check(len(sentence), "the sentence")
            limits.TOKENS.check(len(self._engine.tokenizer.source(sentence)), "the sentence")
        except AtlasError as error:
            return str(error)
        return ""

    def ask(self, question: Callable[[Engine], Answer]) -> Answer:
        """What ``question`` finds out about the engine, one caller at a time."""
        with self._gate.turn(visitor()):
            return question(self._engine)

    def encode(self, sentence: Any, source_positions: np.ndarray | None = None) -> np.ndarray:
        """:meth:`Engine.encode`, one caller at a time."""
        with self._gate.turn(visitor()):
            return self._engine.encode(sentence, source_positions=source_positions)


def load_engine(path: Path) -> SharedEngine:
    """The engine of the bundle at ``path``: loaded once a server, and again when the bundle was rewritten.

    Raises:
        BundleError: the bundle is damaged or foreign.
    """
    return _load(str(path), (path / "config.json").stat().st_mtime_ns)


@st.cache_resource(show_spinner="Loading the model...", max_entries=limits.MODELS.value)
def _load(path: str, written: int) -> SharedEngine:
    keep_freed_memory()
    return SharedEngine(Engine.load(path))


@st.cache_resource(show_spinner=False)
def _traces() -> BoundedCache[TimedTrace]:
    return BoundedCache(limits.CACHE.value, lambda timed: timed.trace.nbytes)


def cached_trace(engine: SharedEngine, sentence: str, options: SearchOptions, **forced: Any) -> TimedTrace:
    """A trace with scores, from the cache that all sessions share, keyed by model hash, text and options.

    Args:
        engine: that runs the model when the cache does not know the answer.
        sentence: the source text.
        options: of the search.
        **forced: ``target``, ``prefix`` or ``prefix_ids`` as in :meth:`Engine.trace`.

    Raises:
        AtlasError: the engine cannot trace this (empty or too long, for example).
    """

    options = engine.bounded(sentence, options, forced.get("target"))

    def compute() -> TimedTrace:
        start = time.perf_counter()
        trace = engine.trace(sentence, options, record=("scores",), **forced)
        return TimedTrace(trace, time.perf_counter() - start)

    asked = {name: tuple(value) if isinstance(value, list) else value for name, value in forced.items()}
    key = (engine.hash, sentence, options, tuple(sorted(asked.items())))
    return _traces().get(key, compute)


@st.cache_resource(show_spinner=False)
def _answers() -> BoundedCache[Any]:
    return BoundedCache(limits.CACHE.value, held_bytes)


def cached_answer(
    engine: SharedEngine, asked: tuple[Hashable, ...], find: Callable[[Engine], Answer]
) -> Answer:
    """What an analysis finds out about a model, from the cache that all sessions share.

    Args:
        asked: name of the analysis and everything besides the model that its answer depends on.
        find: computes the answer, while it alone uses the model.
    """
    answer: Answer = _answers().get((engine.hash, *asked), lambda: engine.ask(find))
    return answer
