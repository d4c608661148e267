"""Fresh processes: what is timed, what is said when one does not come up. No clock is judged."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from atlas.bench.start import SENTENCE, StartError, programs, run_program, serve_first_page
from atlas.bundles import ENVIRONMENT
from atlas.cli import app


def test_one_round_fills_the_table(tiny_bundle: Path, tmp_path: Path) -> None:
    """The whole command once: every process, the page included."""
    kept = tmp_path / "start.json"
    words = ["bench", "start", "--checkpoint", str(tiny_bundle), "--rounds", "1", "-o", str(kept), "--json"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told == json.loads(kept.read_text(encoding="utf-8"))
    assert told["command"] == f"atlas bench start --checkpoint {tiny_bundle} --rounds 1 --device cpu"
    rows = {name: numbers for name, *numbers in told["rows"]}
    assert list(rows) == [*programs(tiny_bundle, "cpu"), "first page"]
    for name, (seconds, of_torch, of_streamlit, modules) in rows.items():
        times = np.array(told["seconds"][name])
        assert seconds == np.median(times)
        assert of_torch == np.median(times / told["seconds"]["import torch"])
        assert of_streamlit == np.median(times / told["seconds"]["import streamlit"])
        assert modules is None if name == "first page" else modules > 0
    assert rows["import atlas"][-1] < rows["import atlas.trace"][-1] < rows["import torch"][-1]
    assert rows["Engine.load"][-1] >= rows["import atlas.engine"][-1] > rows["import torch"][-1]


def test_the_programs_do_what_their_names_say(tiny_bundle: Path) -> None:
    named = programs(tiny_bundle, "cpu")
    assert named["first translation"].endswith(f"engine.translate([{SENTENCE!r}])")
    shown = run_program(named["atlas --help"], os.environ)
    assert "Usage:" in shown and "translate" in shown
    kind = run_program(f"{named['Engine.load']}print(engine.name, engine.device)", os.environ)
    assert kind.split() == ["tiny", "cpu"]


def test_a_program_that_fails_is_one_line() -> None:
    with pytest.raises(StartError, match="ended with 1: ZeroDivisionError: division by zero"):
        run_program("1 / 0", os.environ)


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("streamlit", "the application ended with 1; the server said: .*no streamlit here"),
        ("pandas", "the page 'translate' failed: .*no pandas here"),
    ],
)
def test_an_application_or_a_page_that_fails_is_one_line(
    tiny_bundle: Path, tmp_path: Path, module: str, line: str
) -> None:
    """A module of this name that cannot be imported stands in the way: the server's, then the page's."""
    (tmp_path / f"{module}.py").write_text(f"raise ImportError('no {module} here')\n")
    environment = {**os.environ, ENVIRONMENT: str(tiny_bundle), "PYTHONPATH": str(tmp_path)}
    with pytest.raises(StartError, match=line):
        serve_first_page(environment)
