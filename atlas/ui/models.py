"""The one engine of each trained bundle that all sessions share."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import streamlit as st

from atlas.decoding import SearchOptions
from atlas.engine import Engine, Translation
from atlas.memory import keep_freed_memory
from atlas.trace import Trace
from atlas.ui.gate import Gate
from atlas.ui.results import BoundedCache, held_bytes

CACHE_BYTES = 256 * 2**20
MODELS_IN_MEMORY = 6
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class TimedTrace:
    """A trace and how long the model took for it, in seconds."""

    trace: Trace
    seconds: float


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
        self._gate = Gate()

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
    ) -> list[Translation]:
        """:meth:`Engine.translate`, one caller at a time."""
        with self._gate:
            return self._engine.translate(
                sentences, options, prefix=prefix, progress=progress, source_positions=source_positions
            )

    def trace(self, sentence: str, options: SearchOptions = SearchOptions(), **forced: Any) -> Trace:
        """:meth:`Engine.trace`, one caller at a time."""
        with self._gate:
            return self._engine.trace(sentence, options, **forced)

    def ask(self, question: Callable[[Engine], Answer]) -> Answer:
        """What ``question`` finds out about the engine, one caller at a time."""
        with self._gate:
            return question(self._engine)

    def encode(self, sentence: Any, source_positions: np.ndarray | None = None) -> np.ndarray:
        """:meth:`Engine.encode`, one caller at a time."""
        with self._gate:
            return self._engine.encode(sentence, source_positions=source_positions)


def load_engine(path: Path) -> SharedEngine:
    """The engine of the bundle at ``path``: loaded once a server, and again when the bundle was rewritten.

    Raises:
        BundleError: the bundle is damaged or foreign.
    """
    return _load(str(path), (path / "config.json").stat().st_mtime_ns)


@st.cache_resource(show_spinner="Loading the model...", max_entries=MODELS_IN_MEMORY)
def _load(path: str, written: int) -> SharedEngine:
    keep_freed_memory()
    return SharedEngine(Engine.load(path))


@st.cache_resource(show_spinner=False)
def _traces() -> BoundedCache[TimedTrace]:
    return BoundedCache(CACHE_BYTES, lambda timed: timed.trace.nbytes)


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

    def compute() -> TimedTrace:
        start = time.perf_counter()
        trace = engine.trace(sentence, options, record=("scores",), **forced)
        return TimedTrace(trace, time.perf_counter() - start)

    asked = {name: tuple(value) if isinstance(value, list) else value for name, value in forced.items()}
    key = (engine.hash, sentence, options, tuple(sorted(asked.items())))
    return _traces().get(key, compute)


@st.cache_resource(show_spinner=False)
def _answers() -> BoundedCache[Any]:
    return BoundedCache(CACHE_BYTES, held_bytes)


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
