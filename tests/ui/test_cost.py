"""What the Masks & cost page says: findings from counts and times, verdicts, the timing job."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from atlas.analysis.cache_memory import CacheShape
from atlas.analysis.generation_timing import StepTimes
from atlas.analysis.leak import LeakStudy, NextToken, Side
from atlas.analysis.operations import generation, overtaking_length
from atlas.errors import AtlasError
from atlas.model import TransformerConfig
from atlas.ui.cost.findings import amount, cost_table, counted, measured, verdict
from atlas.ui.cost.leak_part import verdict as leak_verdict
from atlas.ui.cost.memory_part import formula, shape_from
from atlas.ui.cost.timing_job import TimingJob
from atlas.ui.cost.view import small

CONFIG = TransformerConfig(vocabulary=100)
LENGTHS = [8, 16, 32]
COUNTS = {
    cached: [generation(CONFIG, length, 5, cached=cached) for length in LENGTHS] for cached in (True, False)
}


def times(count: int = 32) -> StepTimes:
    """A step takes 2 ms with a cache, and 10 ms a token without."""
    return StepTimes(np.full(count, 0.002), 0.01 * np.arange(1, count + 1), 1, 1e-6, 1)


def test_the_table_holds_counts_and_exponents() -> None:
    table = cost_table(LENGTHS, COUNTS, None)
    assert list(table) == ["attention, no cache", "all else, no cache", "attention, cache", "all else, cache"]
    column = table["attention, no cache"]
    squares = 2 * 4 * 256 * sum(place**2 for place in range(1, 9))
    assert column["8 tokens"] == amount(squares) == "417.79 k"
    assert column["grows as"].startswith("N^2.9")
    assert table["all else, cache"]["grows as"].startswith("N^0.9")


def test_the_table_holds_times_as_far_as_they_go() -> None:
    table = cost_table(LENGTHS, COUNTS, times(20))
    column = table["time, cache"]
    assert column == {
        "8 tokens": "0.016 s",
        "16 tokens": "0.032 s",
        "32 tokens": "not reached",
        "grows as": "N^1.00",
    }
    assert cost_table(LENGTHS, COUNTS, times(10))["time, cache"]["grows as"] == "too few"
    assert table["time, no cache"]["8 tokens"] == "0.360 s"


def test_counted_findings_are_those_of_the_counts() -> None:
    share, saves, context = counted(CONFIG, LENGTHS, COUNTS, 5)
    whole = COUNTS[False][-1]
    assert share.value == f"{whole.attention / whole.total:.1%}"
    assert saves.value == f"{1 - COUNTS[True][-1].total / whole.total:.1%}"
    assert context.value == f"{overtaking_length(CONFIG, 5):,.0f} tokens"


def test_measured_findings_compare_the_last_steps() -> None:
    work, time, speed = measured(CONFIG, times(), 5, 2**20)
    steps = [
        COUNTS[cached][-1].total - generation(CONFIG, 31, 5, cached=cached).total for cached in (False, True)
    ]
    assert work.value == f"× {steps[0] / steps[1]:,.0f}"
    assert time.value == "× 152.5"  # 305 ms, the median of the last four, against 2 ms
    assert speed.value == f"{steps[1] / 0.002 / 1e9:.2f}, {steps[0] / 0.305 / 1e9:.1f} G/s"
    assert "1.0 MiB" in speed.meaning


def test_the_verdict_names_the_measured_exponents_once_there_are_some() -> None:
    said = verdict(LENGTHS, COUNTS, None)
    assert "Measured" not in said and "N^2.90" in said
    totals = [0.01 * length * (length + 1) / 2 for length in LENGTHS]
    slope = np.polyfit(np.log(LENGTHS), np.log(totals), 1)[0]
    said = verdict(LENGTHS, COUNTS, times())
    assert f"the time grows as N^{slope:.2f} without a cache and N^1.00 with one" in said
    assert "Measured" not in verdict(LENGTHS, COUNTS, times(10))


@pytest.mark.parametrize(
    ("value", "words"), [(3, "3"), (1234, "1.23 k"), (5e6, "5.00 M"), (7.5e9, "7.50 G"), (2e12, "2.00 T")]
)
def test_large_numbers(value: float, words: str) -> None:
    assert amount(value) == words


def test_an_exact_zero_is_called_so() -> None:
    assert (small(0.0), small(1.5e-7)) == ("exactly 0", "1.5e-07")


def study(loss: float, bleu: float) -> LeakStudy:
    found = NextToken(loss, 9.0, 0.99, 0.02, 0.98, 100, 10)
    without = {"step": [200, 340], "train_loss": [1, loss], "development_loss": [1, loss], "bleu": [0, bleu]}
    baseline = {"step": [300, 1200], "train_loss": [5, 2], "development_loss": [4.75, 1.75], "bleu": [2, 38]}
    sides = [
        Side(
            "x", "h", 340, found, {name: np.array(column, float) for name, column in history.items()}, (), ()
        )
        for history in (without, baseline)
    ]
    return LeakStudy(sides[0], sides[1], (), "corpus")


@pytest.mark.parametrize(
    ("loss", "bleu", "words"),
    [
        (0.1, 0.03, "cannot write."),
        (3.0, 0.03, "cannot write. It has not fallen to nothing in so few updates."),
        (0.1, 20.0, "The translations are not worthless: the claim does not hold here."),
        (4.9, 0.03, "The loss is not the lower one: the claim does not hold here."),
    ],
)
def test_the_verdict_on_the_mask_follows_the_numbers(loss: float, bleu: float, words: str) -> None:
    said = leak_verdict(study(loss, bleu))
    assert said.endswith(words)
    assert f"{loss:.3f} nats a token after 340 updates, BLEU {bleu:.2f}" in said
    assert "4.750 after 300 (BLEU 2.00) and 1.750 after 1,200 (BLEU 38.00)" in said


def test_controls_become_a_shape_and_a_formula() -> None:
    values = {"kv_layers": 3, "kv_heads": 2, "kv_width": 16, "kv_length": 9, "kv_source": 4, "kv_texts": 5}
    shape = shape_from(values | {"kv_beams": 6, "kv_bytes": "2"})
    assert shape == CacheShape(3, 2, 16, 9, 4, 5, 6, 2)
    written = formula(shape)
    for numbers in (r"{2\cdot 16}", r"{9\cdot 5\cdot 6}", r"{4\cdot 5}", r"\cdot 2\,"):
        assert numbers in written


class Work:
    """Ten steps, and something that happens at each."""

    def __init__(self, act=lambda done: None) -> None:
        self.done, self.total, self._act = 0, 10, act

    @property
    def finished(self) -> bool:
        return self.done == self.total

    def advance(self) -> None:
        self._act(self.done)
        self.done += 1


def run(work: Work, **more) -> TimingJob:
    job = TimingJob(work, work.advance, **more)
    job.start()
    job.join(60)
    assert not job.running
    return job


def test_a_job_runs_to_its_end() -> None:
    job = run(Work())
    assert (job.done, job.share, job.stopped, job.error) == (10, 1.0, False, None)


def test_a_stopped_job_keeps_what_was_done() -> None:
    started, go = threading.Event(), threading.Event()

    def wait(done: int) -> None:
        started.set()
        assert go.wait(60)

    work = Work(wait)
    job = TimingJob(work, work.advance)
    job.start()
    assert started.wait(60) and job.running
    job.stop()
    go.set()
    job.join(60)
    assert (job.done, job.stopped, job.running) == (1, True, False)


def test_a_job_ends_when_nobody_is_there() -> None:
    work = Work()
    assert run(work, wanted=lambda: work.done < 4).done == 4


def test_a_refusal_is_kept_in_one_line() -> None:
    def refuse(done: int) -> None:
        raise AtlasError("a text of 12 tokens; this model takes at most 6")

    job = run(Work(refuse))
    assert job.error == "a text of 12 tokens; this model takes at most 6"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_unforeseen_error_is_told_with_its_kind() -> None:
    def fail(done: int) -> None:
        raise ZeroDivisionError("by zero")

    assert run(Work(fail)).error == "ZeroDivisionError: by zero"
