"""Translating a file in the background: a thread that can be watched and stopped, and keeps what is done."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from atlas import limits
from atlas.errors import AtlasError
from atlas.text.files import Row
from atlas.text.tables import write_table

FIRST_CHUNK, LARGEST_CHUNK = 4, 512
CHUNK_SECONDS = 1.0
GRACE_SECONDS = 120.0


class _Places:
    """How many jobs are at work on this server, bounded by ``limits.JOBS``."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken = 0

    def take(self) -> None:
        """Take a place.

        Raises:
            LimitExceeded: all are taken.
        """
        with self._lock:
            if self._taken >= limits.JOBS.value:
                raise limits.LimitExceeded(
                    f"{limits.JOBS.shown} are being translated here, the limit; try again when one is done"
                )
            self._taken += 1

    def give_back(self) -> None:
        """Give a place back."""
        with self._lock:
            self._taken -= 1


_PLACES = _Places()


class Translated(Protocol):
    """What the job needs of a translation."""

    @property
    def text(self) -> str:
        """The best translation, empty when there is none."""

    @property
    def score(self) -> float:
        """Its normalised log-probability."""

    @property
    def note(self) -> str | None:
        """Why there is none, or why it is incomplete."""


@dataclass(frozen=True)
class Result:
    """One row of the table.

    Attributes:
        row: its number in the file, from 1.
        original: the sentence.
        translation: empty where there is none.
        score: normalised log-probability (nats); None where there is no translation.
        problem: what is wrong with the row or its translation, empty when nothing is.
    """

    row: int
    original: str
    translation: str
    score: float | None
    problem: str


@dataclass(frozen=True)
class Progress:
    """How far a job is.

    Attributes:
        done: rows finished.
        total: rows of the file.
        seconds_left: an estimate from the characters that remain; None before there is anything to go by.
        running: whether it is still at work.
        stopped: whether the visitor stopped it.
        error: one line when it ended by an error, else None.
    """

    done: int
    total: int
    seconds_left: float | None
    running: bool
    stopped: bool
    error: str | None


class FileJob:
    """Translates rows in their order, a chunk of about a second at a time, in a thread of its own.

    Args:
        rows: of the file; those with a problem are passed on with it, untranslated.
        translate: sentences -> translations, one each; called from the thread.
        wanted: whether anyone is still there; after two minutes without, the job stops by itself.
    """

    def __init__(
        self,
        rows: Sequence[Row],
        translate: Callable[[list[str]], Sequence[Translated]],
        wanted: Callable[[], bool] = lambda: True,
    ) -> None:
        self._rows = tuple(rows)
        self._translate = translate
        self._wanted = wanted
        self._results: list[Result] = []
        self._stop = threading.Event()
        self._error: str | None = None
        self._started = time.monotonic()
        self._last_wanted = self._started
        self._tables: dict[str, bytes] = {}
        self._thread = threading.Thread(target=self._run, name="atlas-file", daemon=True)

    def start(self) -> None:
        """Begin.

        Raises:
            LimitExceeded: as many files as ``limits.JOBS`` are being translated.
        """
        _PLACES.take()
        self._started = self._last_wanted = time.monotonic()
        self._thread.start()

    def stop(self) -> None:
        """End after the chunk that is being translated; what is done stays."""
        self._stop.set()

    def join(self, timeout: float | None = None) -> None:
        """Wait for the end, at most ``timeout`` seconds."""
        self._thread.join(timeout)

    @property
    def results(self) -> list[Result]:
        """The rows finished so far, in the order of the file."""
        return self._results[:]

    @property
    def progress(self) -> Progress:
        """How far it is now."""
        done = len(self._results)
        finished = sum(len(row.text) for row in self._rows[:done] if not row.problem)
        ahead = sum(len(row.text) for row in self._rows[done:] if not row.problem)
        left = (time.monotonic() - self._started) * ahead / finished if finished else None
        running = self._thread.is_alive()
        return Progress(done, len(self._rows), left, running, self._stop.is_set(), self._error)

    def table(self, format: str) -> bytes:
        """What is done, as a file: ``csv``, ``tsv``, ``xlsx`` or ``jsonl``. Kept once the job has ended."""
        if format in self._tables:
            return self._tables[format]
        ended = not self._thread.is_alive()
        columns = result_columns(self.results)
        data = write_table(columns, format)
        if ended:
            self._tables[format] = data
        return data

    def _run(self) -> None:
        try:
            self._translate_all()
        finally:
            _PLACES.give_back()

    def _translate_all(self) -> None:
        size, place = FIRST_CHUNK, 0
        while place < len(self._rows) and not self._stop.is_set() and self._still_wanted():
            chunk = self._rows[place : place + size]
            start = time.monotonic()
            try:
                self._results += self._translate_rows(chunk)
            except Exception as error:  # noqa: BLE001  # a thread has no caller: the page shows it
                self._error = f"{type(error).__name__}: {error}"
                raise
            place += len(chunk)
            if time.monotonic() - start < CHUNK_SECONDS / 2:
                size = min(2 * size, LARGEST_CHUNK)
            elif time.monotonic() - start > 2 * CHUNK_SECONDS:
                size = max(1, size // 2)

    def _still_wanted(self) -> bool:
        now = time.monotonic()
        if self._wanted():
            self._last_wanted = now
        return now - self._last_wanted < GRACE_SECONDS

    def _translate_rows(self, rows: Sequence[Row]) -> list[Result]:
        good = [row for row in rows if not row.problem]
        try:
            translations = self._translate([row.text for row in good]) if good else []
            answers = {row.number: _result(row, one) for row, one in zip(good, translations, strict=True)}
        except AtlasError:
            answers = {row.number: self._alone(row) for row in good}
        return [answers.get(row.number) or _bad(row, row.problem or "") for row in rows]

    def _alone(self, row: Row) -> Result:
        """One row by itself, after its chunk was refused: only the row at fault is marked."""
        try:
            return _result(row, self._translate([row.text])[0])
        except AtlasError as error:
            return _bad(row, str(error))


def _result(row: Row, translation: Translated) -> Result:
    text = translation.text
    return Result(row.number, row.text, text, translation.score if text else None, translation.note or "")


def _bad(row: Row, problem: str) -> Result:
    return Result(row.number, row.text, "", None, problem)


def result_columns(results: Sequence[Result]) -> dict[str, list[object]]:
    """The table as columns: row, original, translation, score, problem."""
    names = ("row", "original", "translation", "score", "problem")
    return {name: [getattr(result, name) for result in results] for name in names}
