"""The cost of recording: the table agrees with the times that it keeps, and with the traces themselves."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from atlas import build_trace
from atlas.bench.recording import SENTENCE, RecordingBenchError, recording_cost, text_of
from atlas.bench.report import Report
from atlas.cli import app
from atlas.decoding import SearchOptions
from atlas.engine import Engine

JOBS = {"search", "recorded search", "build", "trace", "pass", "recorded pass"}


@pytest.fixture(scope="module")
def engine(tiny_bundle: Path) -> Engine:
    return Engine.load(tiny_bundle, "cpu")


@pytest.fixture(scope="module")
def report(engine: Engine) -> Report:
    return recording_cost(engine, lengths=(8, 24), beam=2, rounds=3, command="atlas bench recording")


def test_every_number_follows_from_the_times_that_are_kept(report: Report) -> None:
    names = [name for name, _ in report.rows]
    assert names == ["20 words", "8 tokens", "24 tokens"]
    assert set(report.seconds) == {f"{name}: {job}" for name in names for job in JOBS}
    titles = [column.title for column in report.columns]
    for name, numbers in report.rows:
        told = dict(zip(titles, numbers, strict=True))
        times = {job: np.array(report.seconds[f"{name}: {job}"]) for job in JOBS}
        assert all(len(seconds) == 3 for seconds in times.values())
        assert told["recorded / search"] == np.median(times["recorded search"] / times["search"])
        assert told["recorded pass / pass"] == np.median(times["recorded pass"] / times["pass"])
        assert told["search (ms)"] == 1000 * np.median(times["search"])
        assert told["trace (ms)"] == 1000 * np.median(times["trace"])
        assert told["of it model (%)"] + told["record (%)"] + told["build (%)"] == pytest.approx(100)


def test_sizes_are_those_of_the_trace(report: Report, engine: Engine) -> None:
    trace = engine.trace(SENTENCE, SearchOptions(beam=2))
    told = dict(zip([column.title for column in report.columns], report.rows[0][1], strict=True))
    assert len(SENTENCE.split()) == 20
    assert told["source tokens"] == len(trace.source_tokens)
    assert told["steps"] == trace.search.step.max()
    assert told["passes kept"] == len(trace.search.cross)
    assert told["trace (MB)"] == trace.nbytes / 1e6


def test_a_text_has_as_many_tokens_as_whole_words_allow(engine: Engine) -> None:
    for tokens in (20, 200):
        text = text_of(engine, tokens)
        assert len(engine.tokenizer.source(text)) <= tokens
        assert len(text_of(engine, tokens + 15)) > len(text)
    assert text_of(engine, 200).startswith(text_of(engine, 20))


@pytest.mark.parametrize(("tokens", "line"), [(1, "the first word"), (5000, "reads at most")])
def test_lengths_that_cannot_be_read_are_refused(engine: Engine, tokens: int, line: str) -> None:
    with pytest.raises(RecordingBenchError, match=line):
        text_of(engine, tokens)


def test_a_trace_past_its_bound_is_said(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_trace, "MAX_BYTES", 1)
    report = recording_cost(engine, lengths=(), beam=2, rounds=1, command="")
    assert any("n-best paths alone" in note for note in report.notes)


def test_the_command_prints_and_keeps_the_same(tiny_bundle: Path, tmp_path: Path) -> None:
    kept = tmp_path / "recording.json"
    words = ["bench", "recording", "--checkpoint", str(tiny_bundle), "--beam", "2", "--length", "8"]
    done = CliRunner().invoke(app, [*words, "--rounds", "1", "-o", str(kept), "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told == json.loads(kept.read_text(encoding="utf-8"))
    assert told["command"] == (
        f"atlas bench recording --checkpoint {tiny_bundle} --beam 2 --length 8 --rounds 1 --device cpu"
    )
    assert told["machine"]["device"] == "cpu"


def test_a_device_that_is_not_here_is_one_line(tiny_bundle: Path) -> None:
    done = CliRunner().invoke(
        app, ["bench", "recording", "--checkpoint", str(tiny_bundle), "--device", "cuda:7"]
    )
    assert done.exit_code == 2
    assert "the device 'cuda:7' is not available on this machine" in done.stderr
    assert done.stderr.count("\n") == 1
