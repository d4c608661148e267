"""What a person waits for on the screen, and what BertViz takes to show the same attention.

A round, for each length of sentence: a visitor of the Attention page does each of
:data:`atlas.bench.screen_app.ACTIONS`, then BertViz shows the encoder's attention of the known sentence in
its model view (all heads) and its head view (one layer). Times are of the browser: from the moment it
received the event to the first frame after the one that painted what was wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any, Final

import numpy as np

from atlas.bench.machine import machine
from atlas.bench.report import Column, Report
from atlas.bench.screen_app import ACTIONS, Visitor, served
from atlas.bench.screen_bertviz import INSTALL, VIEWS, Shown, libraries, show, views
from atlas.bench.screen_browser import Watched, browser
from atlas.engine import Engine
from atlas.text.tokenizer import Tokenizer

LENGTHS: Final = (10, 40, 128, 512)
PACKAGES: Final = ("torch", "streamlit", "plotly", "playwright", "bertviz")

_TEXT: Final = (
    "the old man who lived in the house by the river told me that he had never seen the cat there before and "
    "that it did not cross the street because it was too tired"
)


def sentence_of(tokenizer: Tokenizer, tokens: int, turn: int = 0) -> str:
    """A sentence that is so many tokens long, its end mark counted; another one for each turn.

    Args:
        tokenizer: of the model.
        tokens: at least 4.
        turn: words begin at another place of the same text.
    """
    words = _TEXT.split()
    start = turn % len(words)
    chosen: list[str] = []
    missed = 0
    for word in cycle(words[start:] + words[:start]):
        length = len(tokenizer.source(" ".join([*chosen, word]) + "."))
        if length <= tokens:
            chosen.append(word)
        missed = 0 if length <= tokens else missed + 1
        if length == tokens or missed > len(words):
            return " ".join(chosen) + "."
    raise AssertionError("a cycle has no end")


@dataclass
class _Found:
    """Numbers of one length, a value a round."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in ACTIONS})
    received: dict[str, list[int]] = field(default_factory=lambda: {name: [] for name in ACTIONS})
    peers: dict[str, list[Shown]] = field(default_factory=lambda: {name: [] for name in VIEWS})

    def ours(self, action: str, scale: float = 1e3) -> float:
        """Median milliseconds."""
        return float(np.median(self.seconds[action])) * scale

    def kilobytes(self, action: str) -> float:
        return float(np.median(self.received[action])) / 1e3

    def peer(self, view: str, value: Callable[[Shown], float | None]) -> float | None:
        """The median over the rounds in which there was one."""
        values = [told for shown in self.peers[view] if (told := value(shown)) is not None]
        return float(np.median(values)) if values else None

    def times(self, view: str, value: Callable[[Shown], float | None], action: str) -> float | None:
        """How many times as long as an action of ours: the median over the rounds of the ratio within one."""
        pairs = zip(self.peers[view], self.seconds[action], strict=False)
        ratios = [told / ours for shown, ours in pairs if (told := value(shown)) is not None]
        return float(np.median(ratios)) if ratios else None


def _whole(shown: Shown) -> float | None:
    """Seconds from having the attention to seeing it: Python and browser."""
    return None if shown.painted is None else shown.made + shown.painted


def screen_times(
    engine: Engine,
    bundle: Path,
    *,
    lengths: Sequence[int] = LENGTHS,
    rounds: int = 3,
    folder: Path | None = None,
    patience: float = 120.0,
    command: str,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Measure the application and BertViz in turns.

    Args:
        engine: of the bundle, for the attention that BertViz shows.
        bundle: its folder, for the server.
        lengths: of sentences, in tokens.
        rounds: how often each is measured, after one that is not counted.
        folder: where npm installed what BertViz loads; without it only its bytes and Python time are told.
        patience: seconds that one page may take.
        command: that prints the report again.
        progress: called with rounds done and rounds in all.

    Raises:
        ScreenError: no browser, no BertViz, a library that is not in ``folder``, or a page of ours failed.
    """
    scripts = None if folder is None else libraries(folder)
    views()
    found = {length: _Found() for length in lengths}
    with served(bundle.resolve()) as address, browser() as opened:
        for place, (length, numbers) in enumerate(found.items()):
            known = sentence_of(engine.tokenizer, length)
            trace = engine.trace(known)
            tokens = [token.label for token in trace.source_tokens]
            tab = Watched(opened, patience)
            visitor = Visitor(tab, address, known)
            for turn in range(rounds + 1):
                result = visitor.round(sentence_of(engine.tokenizer, length, turn + 1))
                if turn:
                    for name, (seconds, received) in result.items():
                        numbers.seconds[name].append(seconds)
                        numbers.received[name].append(received)
                    for name, shown in numbers.peers.items():
                        if not any(earlier.trouble for earlier in shown):
                            shown.append(
                                show(opened, name, trace.encoder, tokens, scripts=scripts, patience=patience)
                            )
                if progress is not None:
                    progress(place * rounds + turn, len(lengths) * rounds)
            tab.close()
    settings: dict[str, Any] = {"rounds": rounds, "window": "1366 × 900", "browser": "headless Chromium"}
    return Report(
        "screen",
        command,
        machine(packages=PACKAGES),
        settings,
        tuple(Column(f"{length} tokens", 1) for length in lengths),
        _rows(list(found.values())),
        _notes(found, scripts is not None, engine.config),
        _seconds(found),
    )


def _rows(found: Sequence[_Found]) -> tuple[tuple[str, tuple[float | None, ...]], ...]:
    def row(name: str, value: Callable[[_Found], float | None]) -> tuple[str, tuple[float | None, ...]]:
        return name, tuple(value(numbers) for numbers in found)

    def thousand(value: float | None) -> float | None:
        return None if value is None else value * 1e3

    rows = [row(f"{words}, ms", lambda n, a=name: n.ours(a)) for name, words in ACTIONS.items()]  # type: ignore[misc]
    rows += [
        row("bytes received: all heads and one, kB", lambda n: n.kilobytes("translate")),
        row("bytes received: another head, kB", lambda n: n.kilobytes("head")),
        row("bytes received: another page, kB", lambda n: n.kilobytes("page")),
    ]
    for name in VIEWS:
        told = f"BertViz {name} view"
        rows += [
            row(f"{told}: HTML, kB", lambda n, v=name: n.peer(v, lambda shown: shown.bytes / 1e3)),  # type: ignore[misc]
            row(f"{told}: Python, ms", lambda n, v=name: thousand(n.peer(v, lambda shown: shown.made))),  # type: ignore[misc]
            row(f"{told}: Python and browser, ms", lambda n, v=name: thousand(n.peer(v, _whole))),  # type: ignore[misc]
        ]
    rows += [
        row(
            "BertViz head view: a word pointed at, ms",
            lambda n: thousand(n.peer("head", lambda shown: shown.hover)),
        ),
        row("all heads painted: model view / ours, times", lambda n: n.times("model", _whole, "again")),
        row("one head painted: head view / ours, times", lambda n: n.times("head", _whole, "head")),
        row("hover: head view / ours, times", lambda n: n.times("head", lambda shown: shown.hover, "hover")),
        row("bytes of all heads: model view / ours, times", _bytes),
    ]
    return tuple(rows)


def _bytes(numbers: _Found) -> float | None:
    html = numbers.peer("model", lambda shown: shown.bytes / 1e3)
    return None if html is None else html / numbers.kilobytes("translate")


def _notes(found: Mapping[int, _Found], painted: bool, config: Any) -> tuple[str, ...]:
    notes = [
        "Medians over the rounds, ratios within a round. Ours: from the event in the browser to the frame "
        "after the change; bytes are those of the web socket, for the whole page. BertViz: Python writes the "
        "HTML, the browser opens it until every line is there; ours at “translated before” has the same "
        "attention at hand, in an application that is open already.",
        f"{config.encoder_layers} layers of {config.heads} heads; the encoder's attention, the search with "
        "the settings that the application begins with.",
    ]
    if painted:
        notes.append("BertViz's libraries came from this machine; jQuery 2.1.4 stands for 2.0.0.")
    else:
        notes.append(f"BertViz was not opened: no --libraries ({INSTALL}).")
    for length, numbers in found.items():
        for view, shown in numbers.peers.items():
            notes += [
                f"BertViz {view} view of {length} tokens: {one.trouble}." for one in shown if one.trouble
            ]
    return tuple(notes)


def _seconds(found: Mapping[int, _Found]) -> dict[str, list[float]]:
    told: dict[str, list[float]] = {}
    for length, numbers in found.items():
        for action, seconds in numbers.seconds.items():
            told[f"{action}, {length} tokens"] = seconds
        for view, shown in numbers.peers.items():
            told[f"BertViz {view} view, {length} tokens"] = [
                value for one in shown if (value := _whole(one)) is not None
            ]
    return told
