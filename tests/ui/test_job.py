"""Files in the background."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from atlas import limits
from atlas.errors import AtlasError
from atlas.limits import LimitExceeded
from atlas.text.files import Row
from atlas.ui import job as jobs
from atlas.ui.file_panel import time_left
from atlas.ui.job import FileJob


@dataclass(frozen=True)
class Answer:
    text: str
    score: float = -0.5
    note: str | None = None


def upper(sentences: list[str]) -> list[Answer]:
    return [Answer(sentence.upper()) for sentence in sentences]


def rows(*texts: str) -> list[Row]:
    return [Row(number, text) for number, text in enumerate(texts, start=1)]


def run(job: FileJob) -> FileJob:
    job.start()
    job.join(20)
    assert not job.progress.running
    return job


def test_rows_keep_their_order_and_numbers() -> None:
    job = run(FileJob(rows(*(f"sentence {number}" for number in range(100))), upper))
    assert [result.row for result in job.results] == list(range(1, 101))
    assert [result.translation for result in job.results] == [f"SENTENCE {number}" for number in range(100)]
    assert job.progress.done == job.progress.total == 100


def test_a_bad_row_is_passed_on() -> None:
    job = run(FileJob([Row(1, "a"), Row(2, "", "empty"), Row(3, "b")], upper))
    assert [(result.translation, result.score, result.problem) for result in job.results] == [
        ("A", -0.5, ""),
        ("", None, "empty"),
        ("B", -0.5, ""),
    ]


def test_only_the_row_at_fault_is_marked() -> None:
    def picky(sentences: list[str]) -> list[Answer]:
        if "bad" in sentences:
            raise AtlasError("too long")
        return upper(sentences)

    job = run(FileJob(rows("a", "bad", "b"), picky))
    assert [result.translation for result in job.results] == ["A", "", "B"]
    assert job.results[1].problem == "too long"


def test_a_note_is_kept_with_its_translation() -> None:
    job = run(
        FileJob(
            rows("a", "b"), lambda sentences: [Answer("A", -1.0, "cut"), Answer("", float("nan"), "empty")]
        )
    )
    assert [(result.score, result.problem) for result in job.results] == [(-1.0, "cut"), (None, "empty")]


def test_stop_keeps_what_is_done() -> None:
    first = threading.Event()

    def slow(sentences: list[str]) -> list[Answer]:
        first.set()
        time.sleep(0.05)
        return upper(sentences)

    job = FileJob(rows(*("x" * 1000)), slow)
    job.start()
    first.wait()
    job.stop()
    job.join(20)
    assert 0 < job.progress.done < 1000
    assert job.progress.stopped
    assert all(result.translation == "X" for result in job.results)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_unforeseen_error_is_said_and_keeps_what_was_done() -> None:
    def broken(sentences: list[str]) -> list[Answer]:
        if any(sentence == "17" for sentence in sentences):
            raise RuntimeError("out of memory")
        return upper(sentences)

    job = run(FileJob(rows(*map(str, range(100))), broken))
    assert job.progress.error == "RuntimeError: out of memory"
    done = job.progress.done
    assert jobs.FIRST_CHUNK <= done <= 17, "whole chunks before the one at fault; how many, the clock decides"
    assert [result.translation for result in job.results] == [str(number) for number in range(done)]
    assert job.table("csv")


def test_it_ends_when_nobody_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "GRACE_SECONDS", 0.05)

    def slow(sentences: list[str]) -> list[Answer]:
        time.sleep(0.1)
        return upper(sentences)

    job = run(FileJob(rows(*("x" * 1000)), slow, lambda: False))
    assert job.progress.done < 1000


def test_chunks_grow_while_they_are_quick() -> None:
    sizes: list[int] = []

    def translate(sentences: list[str]) -> Sequence[Answer]:
        sizes.append(len(sentences))
        return upper(sentences)

    run(FileJob(rows(*("x" * 5000)), translate))
    assert sizes[0] == jobs.FIRST_CHUNK
    assert max(sizes) == jobs.LARGEST_CHUNK


def test_the_time_left_follows_the_characters() -> None:
    job = FileJob(rows("ab", "cd", "ef"), upper)
    assert job.progress.seconds_left is None
    assert run(job).progress.seconds_left == 0


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, "estimating the time left"),
        (0.2, "about 1 s left"),
        (59, "about 59 s left"),
        (61, "about 1 min left"),
        (7200, "about 2.0 h left"),
    ],
)
def test_time_left_in_words(seconds: float | None, words: str) -> None:
    assert time_left(seconds) == words


@pytest.mark.parametrize("format", ["csv", "tsv", "xlsx", "jsonl"])
def test_tables(format: str) -> None:
    job = run(FileJob(rows("one", "two"), upper))
    assert job.table(format) is job.table(format)
    assert len(job.table(format)) > 20


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_only_so_many_files_are_translated_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.ENVIRONMENT, "jobs=2")
    go = threading.Event()

    def slow(sentences: list[str]) -> list[Answer]:
        go.wait(20)
        return upper(sentences)

    working = [FileJob(rows("a"), slow) for _ in range(2)]
    for job in working:
        job.start()
    third = FileJob(rows("a"), upper)
    with pytest.raises(LimitExceeded, match="2 files are being translated here, the limit"):
        third.start()
    go.set()
    for job in working:
        job.join(20)
    assert run(third).results[0].translation == "A"
    for _ in range(3):  # a job that fails gives its place back
        failed = FileJob(rows("a"), lambda sentences: 1 / 0)  # type: ignore[arg-type,return-value]
        run(failed)
        assert "ZeroDivisionError" in (failed.progress.error or "")
