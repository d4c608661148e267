"""``atlas bench ancestors`` on the four models with random weights."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from atlas import bundles
from atlas.cli import app
from atlas.commands.bench_ancestors import NAMES, REFERENCE

FAST = ("bench", "ancestors", "--device", "cpu", "--rounds", "2", "--tokens", "16", "--longest", "16")


@pytest.fixture
def four(
    recurrent_bundles: dict[str, Path], tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    for kind, path in {**recurrent_bundles, "transformer": tiny_bundle}.items():
        shutil.copytree(path, tmp_path / f"ancestors-{kind}")
    monkeypatch.setenv(bundles.ENVIRONMENT, str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("four")
def test_every_round_and_the_machine() -> None:
    done = CliRunner().invoke(app, [*FAST, "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert [column["title"] for column in told["columns"]] == [
        "tokens/s at 8", "tokens/s at 16", "time at 8", "time at 16",
    ]  # fmt: skip
    assert {"torch", "python", "device", "cores", "threads", "load"} <= set(told["machine"])
    assert tuple(row[0] for row in told["rows"]) == NAMES
    assert told["rows"][-1][0] == REFERENCE and told["rows"][-1][3:] == [1.0, 1.0]
    for name, *numbers in told["rows"]:
        for place, length in enumerate((8, 16)):
            rounds = told["seconds"][f"{name}, {length} tokens"]
            reference = told["seconds"][f"{REFERENCE}, {length} tokens"]
            assert len(rounds) == 2
            assert numbers[place] == pytest.approx(16 / (sum(rounds) / 2))
            ratios = [ours / theirs for ours, theirs in zip(rounds, reference, strict=True)]
            assert numbers[2 + place] == pytest.approx(sum(ratios) / 2)


@pytest.mark.usefixtures("four")
def test_a_table_for_people() -> None:
    done = CliRunner().invoke(app, list(FAST))
    assert done.exit_code == 0, done.output
    rows = [line for line in done.stdout.splitlines() if line.startswith("| ancestors-")]
    assert [line.split()[1] for line in rows] == list(NAMES)
    assert rows[-1].endswith("| 1.00 | 1.00 |")


def test_a_missing_model_is_one_line(four: Path) -> None:
    shutil.rmtree(four / "ancestors-dot")
    done = CliRunner().invoke(app, list(FAST))
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert "ancestors-dot" in done.stderr
