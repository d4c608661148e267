"""What the README promises: its notebook code runs, its commands exist, its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import plotly.graph_objects as go
import pytest
from typer.testing import CliRunner

from atlas.cli import app
from atlas.trace import Trace

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_notebook_code_runs(tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [code] = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    shown: list[go.Figure] = []
    monkeypatch.setattr(go.Figure, "show", lambda figure: shown.append(figure))
    monkeypatch.chdir(tmp_path)
    code = code.replace("checkpoints/en-fr", str(tiny_bundle)).replace("layer=3", "layer=0")
    exec(compile(code, "README.md", "exec"), {})
    assert [type(figure) for figure in shown] == [go.Figure] * 3
    assert all(figure.data for figure in shown)
    assert Trace.load(tmp_path / "cat.npz").source == "The cat is sleeping."


def test_the_commands_exist() -> None:
    commands = {line.split()[1] for line in README.splitlines() if re.match(r" {4}atlas ", line)}
    assert {"translate", "trace", "train", "evaluate", "data", "info"} <= commands
    for command in commands:
        assert CliRunner().invoke(app, [command, "--help"]).exit_code == 0, command


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_links_and_paths_lead_somewhere(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    linked = set(re.findall(r"\]\((?!https?://)([^)#]+)\)", text))
    named = set(re.findall(r"`((?:atlas|tests|configs|pages)/[\w./-]*\w\.?(?:py|toml)?/?)`", text))
    missing = [path for path in linked | named if "NAME" not in path and not (ROOT / path).exists()]
    assert missing == []
    assert linked | named


def test_the_scores_are_those_of_the_card() -> None:
    [row] = [line for line in README.splitlines() if line.startswith("| `en-fr`")]
    bleu, chrf = re.findall(r"\d\d\.\d\d", row)
    card = (ROOT / "checkpoints" / "en-fr" / "card.md").read_text(encoding="utf-8")
    assert f"BLEU {bleu}, chrF {chrf}" in card
