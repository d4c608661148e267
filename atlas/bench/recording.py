"""What looking costs: the same work with and without a record of every head, and how a trace grows.

Two pairs are timed in turns. A *search* (beam search of one sentence) without and with a recording: the same
steps find the same hypotheses. A *pass* (a given translation read at once, teacher forcing) without and with
a recorder. A trace is a recorded search put together in the schema's arrays (:mod:`atlas.build_trace`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch

from atlas.bench.machine import machine, wait
from atlas.bench.report import Column, Report
from atlas.bench.rounds import in_turns, ratio
from atlas.build_trace import build_trace
from atlas.decoding import Recording, SearchOptions
from atlas.decoding.bulk import search
from atlas.engine import Engine
from atlas.errors import AtlasError
from atlas.model.recorder import Recorder
from atlas.text.tokenizer import START_ID

LENGTHS = (10, 20, 40, 128, 256, 512)
RECORDED = ("scores",)
"""Beside the weights of every head: what the application asks for."""
SENTENCE = "The old man who lives in the small house near the river told me a story about his first journey."
"""Of 20 words."""
_PARAGRAPH = (
    "The old man who lives near the river told me a long story. He had left his village when he was young. "
    "His mother cried and his father gave him a small knife and some bread. He walked for three days and "
    "slept under the trees. In the city he found work in a bakery. Every morning he got up at four and made "
    "bread for the whole street. The baker had a daughter who read books all day. She taught him to write "
    "letters, and he wrote one to his mother every week. After five years they married and came back to the "
    "village. Now he sits in front of his house and talks to everyone who passes by. "
)


class RecordingBenchError(AtlasError):
    """A measurement of recording that cannot be made."""


def text_of(engine: Engine, tokens: int) -> str:
    """A text of at most ``tokens`` source tokens, end mark included, and as close to it as whole words come.

    Raises:
        RecordingBenchError: not even one word fits, or the model has fewer positions.
    """
    if tokens > engine.config.max_length:
        raise RecordingBenchError(
            f"a length of {tokens} tokens; the model {engine.name} reads at most {engine.config.max_length}"
        )
    words, count = (_PARAGRAPH * (1 + tokens // 100)).split(), 1
    while count <= len(words) and len(engine.tokenizer.source(" ".join(words[:count]))) <= tokens:
        count += 1
    if count == 1:
        raise RecordingBenchError(f"a length of {tokens} tokens; the first word alone has more")
    return " ".join(words[: count - 1])


class _Case:
    """The jobs of one sentence."""

    def __init__(self, engine: Engine, name: str, text: str, options: SearchOptions) -> None:
        self.engine, self.text, self.options, self.name = engine, text, options, name
        self.ids = engine.tokenizer.source(text)
        self.plain = self.search(None)
        self.recorded = self.search(self.recording())
        self.same = [found.ids for found in self.plain.hypotheses[0]] == [
            found.ids for found in self.recorded.hypotheses[0]
        ]
        self.trace = engine.trace(text, options, record=RECORDED)
        source = torch.tensor([self.ids], device=engine.device)
        target = torch.tensor(
            [[START_ID, *self.plain.hypotheses[0][0].ids[: engine.config.max_length - 1]]],
            device=engine.device,
        )
        self.whole = (source, torch.ones_like(source, dtype=torch.bool), target)

    def recording(self) -> Recording:
        return Recording(self.engine.config.attention_layers, RECORDED)

    def search(self, recording: Recording | None) -> Any:
        return search(self.engine.network, [self.ids], self.options, recording=recording)

    def once(self, record: bool) -> None:
        with torch.inference_mode():
            self.engine.network(*self.whole, Recorder(("weights", *RECORDED)) if record else None)

    def build(self) -> None:
        """Put the recorded search together in the arrays of a trace."""
        encoder = self.recorded.encoder
        assert encoder is not None
        build_trace(
            record=self.recorded.records[0],
            hypotheses=self.recorded.hypotheses[0],
            encoder=encoder,
            row=0,
            layers=self.engine.config.attention_layers,
            source=self.trace.source,
            source_ids=self.ids,
            tokenizer=self.engine.tokenizer,
            header={
                "model_name": self.engine.name,
                "model_hash": self.engine.hash,
                "source_language": self.engine.source_language,
                "target_language": self.engine.target_language,
                "settings": {},
            },
            extras=RECORDED,
        )

    def jobs(self) -> dict[str, Callable[[], None]]:
        """Everything that is timed, by the name of the case and of the job."""

        def trace() -> None:
            self.engine.trace(self.text, self.options, record=RECORDED)

        jobs: dict[str, Callable[[], Any]] = {
            "search": partial(self.search, None),
            "recorded search": lambda: self.search(self.recording()),
            "build": self.build,
            "trace": trace,
            "pass": partial(self.once, False),
            "recorded pass": partial(self.once, True),
        }
        return {f"{self.name}: {job}": self.waiting(work) for job, work in jobs.items()}

    def waiting(self, work: Callable[[], Any]) -> Callable[[], None]:
        """The work, ended when the device is done."""

        def job() -> None:
            work()
            wait(self.engine.device)

        return job


COLUMNS = (
    Column("source tokens"),
    Column("steps"),
    Column("passes kept"),
    Column("search (ms)", 1),
    Column("recorded / search", 3),
    Column("recorded pass / pass", 3),
    Column("trace (ms)", 1),
    Column("of it model (%)"),
    Column("record (%)"),
    Column("build (%)"),
    Column("trace (MB)", 2),
)


def recording_cost(
    engine: Engine,
    *,
    lengths: Sequence[int] = LENGTHS,
    beam: int = 5,
    rounds: int = 7,
    command: str,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Time searches, passes and traces of a sentence of 20 words and of texts of given lengths.

    Args:
        engine: on the device to be timed.
        lengths: of sources, in tokens; their searches are cut at as many target tokens.
        beam: width of the search.
        rounds: how often each is timed.
        command: that prints the report again.
        progress: called with rounds done and rounds in all, over all texts.

    Raises:
        RecordingBenchError: a length that the model cannot read.
    """
    options = SearchOptions(beam=beam)
    texts = [("20 words", SENTENCE, options)] + [
        (f"{length} tokens", text_of(engine, length), replace(options, max_length=length))
        for length in lengths
    ]
    rows: list[tuple[str, tuple[float, ...]]] = []
    notes: list[str] = []
    kept: dict[str, list[float]] = {}
    for place, (name, text, wanted) in enumerate(texts):
        case = _Case(engine, name, text, wanted)

        def report(done: int, total: int, before: int = place * rounds) -> None:
            if progress is not None and total:
                progress(before + done, rounds * len(texts))

        seconds = in_turns(case.jobs(), rounds, progress=report)
        rows.append((name, _numbers(case, seconds)))
        kept |= {job: times.tolist() for job, times in seconds.items()}
        if not case.same:
            notes.append(f"{name}: rounding led the recorded search to other hypotheses.")
        if case.trace.rows_kept != "all":
            notes.append(
                f"{name}: the trace keeps the attention of its n-best paths alone, past the bound of a trace."
            )
    return Report(
        "recording",
        command,
        machine(engine.device),
        {"model": engine.name, "beam": beam, "recorded": "weights and scores", "rounds": rounds},
        COLUMNS,
        tuple(rows),
        (
            "Recorded / search: the same beam search with and without a record of every head; pass: a "
            "translation read at once. Both are medians over the rounds of the ratio within a round. Shares "
            "of a trace: the plain search, what recording adds to it, and putting the arrays together.",
            *notes,
        ),
        kept,
    )


def _numbers(case: _Case, seconds: dict[str, np.ndarray]) -> tuple[float, ...]:
    plain, recorded, build, trace, once, looked = (
        seconds[f"{case.name}: {job}"]
        for job in ("search", "recorded search", "build", "trace", "pass", "recorded pass")
    )
    search_ms, recorded_ms, build_ms, trace_ms = (
        1000 * float(np.median(times)) for times in (plain, recorded, build, trace)
    )
    parts = np.array([search_ms, max(recorded_ms - search_ms, 0.0), build_ms])
    return (
        float(len(case.ids)),
        float(case.trace.search.step.max()),
        float(len(case.trace.search.cross)),
        search_ms,
        ratio(recorded, plain),
        ratio(looked, once),
        trace_ms,
        *(100 * parts / parts.sum()).tolist(),
        case.trace.nbytes / 1e6,
    )
