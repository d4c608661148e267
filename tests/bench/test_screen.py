"""What the screen is measured with: sentences of a stated length, the report, a small run in a browser."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from atlas.bench import screen
from atlas.bench.report import Report
from atlas.bench.screen import sentence_of
from atlas.bench.screen_app import ACTIONS
from atlas.bench.screen_bertviz import LIBRARIES, Shown, libraries, views, written
from atlas.bench.screen_browser import CHROMIUM, ScreenError
from atlas.engine import Engine

needs_bertviz = pytest.mark.skipif(
    importlib.util.find_spec("bertviz") is None,
    reason="BertViz is not installed: pip install 'attention-atlas[bench]'",
)
needs_browser = pytest.mark.skipif(not Path(CHROMIUM).is_file(), reason=f"no browser at {CHROMIUM}")


def test_sentences_are_as_long_as_asked_and_differ_by_turn(tiny_bundle: Path) -> None:
    tokenizer = Engine.load(tiny_bundle).tokenizer
    for tokens in (12, 60):
        sentences = [sentence_of(tokenizer, tokens, turn) for turn in range(3)]
        assert len(set(sentences)) == 3
        for sentence in sentences:
            assert abs(len(tokenizer.source(sentence)) - tokens) <= 2
        assert sentences[0] == sentence_of(tokenizer, tokens)


def numbers(ours: list[float], peers: list[Shown]) -> screen._Found:
    found = screen._Found()
    for action in ACTIONS:
        found.seconds[action] = ours
        found.received[action] = [2000] * len(ours)
    found.peers = {"model": peers, "head": peers}
    return found


def test_ratios_are_taken_within_a_round() -> None:
    peers = [Shown(8000, 0.5, 0.5, 0.01), Shown(8000, 1.0, 3.0, 0.04)]
    found = numbers([0.5, 1.0], peers)
    assert found.ours("head") == 750 and found.kilobytes("head") == 2.0
    assert found.times("model", screen._whole, "again") == 3.0, "between 1.0 / 0.5 and 4.0 / 1.0"
    rows = dict(screen._rows([found]))
    assert rows["all heads painted: model view / ours, times"] == (3.0,)
    assert rows["bytes of all heads: model view / ours, times"] == (4.0,)
    assert rows["BertViz head view: a word pointed at, ms"] == (25.0,)


def test_a_view_that_was_given_up_has_bytes_and_no_time_and_is_told() -> None:
    found = numbers([0.5], [Shown(8000, 0.5, trouble="gave up after 60 s")])
    rows = dict(screen._rows([found]))
    assert rows["BertViz model view: HTML, kB"] == (8.0,)
    assert rows["BertViz model view: Python and browser, ms"] == (None,)
    assert rows["all heads painted: model view / ours, times"] == (None,)
    config = type("Config", (), {"encoder_layers": 4, "heads": 8})
    assert "BertViz model view of 512 tokens: gave up after 60 s." in screen._notes(
        {512: found}, True, config
    )


def test_a_missing_library_is_named_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ScreenError, match=r"require\.js is not there; npm install --prefix"):
        libraries(tmp_path)
    for place in LIBRARIES.values():
        path = tmp_path / "node_modules" / place
        path.parent.mkdir(parents=True)
        path.write_text("")
    assert set(libraries(tmp_path)) == set(LIBRARIES)


@needs_bertviz
def test_bertviz_writes_the_attention_that_it_is_given() -> None:
    weights = np.full((2, 3, 4, 4), 0.25, np.float32)
    weights[1, 2, 3] = [0.125, 0.5, 0.25, 0.125]
    for view in views().values():
        html = written(view, weights, ["a", "</b>", "c", "d"])
        assert "[0.125, 0.5, 0.25, 0.125]" in html and html.count("0.25") >= 2 * 3 * 16 - 4


@needs_bertviz
@needs_browser
@pytest.mark.browser
@pytest.mark.slow
def test_a_small_run(tiny_bundle: Path, tmp_path: Path) -> None:
    kept = tmp_path / "screen.json"
    given = ["--checkpoint", str(tiny_bundle), "--length", "12", "--rounds", "1", "-o", str(kept)]
    # A process of its own: other tests of the browser leave a loop running in theirs.
    command = [sys.executable, "-m", "atlas.cli", "bench", "screen", *given]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = Report.load(kept)
    assert report.name == "screen" and [column.title for column in report.columns] == ["12 tokens"]
    assert "--length 12" in report.command and "--rounds 1" in report.command
    rows = {name: value[0] for name, value in report.rows}
    for name in ACTIONS.values():
        assert (rows[f"{name}, ms"] or 0) > 0, name
    assert (rows["bytes received: another head, kB"] or 0) > 1
    assert (rows["BertViz model view: HTML, kB"] or 0) > 1
    assert rows["BertViz model view: Python and browser, ms"] is None
    assert any("BertViz was not opened" in note for note in report.notes)
