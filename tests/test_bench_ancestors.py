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
def test_one_object_with_every_round_and_the_machine() -> None:
    done = CliRunner().invoke(app, [*FAST, "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["lengths"] == [8, 16]
    assert told["tokens"] == [16, 16]
    assert {"torch", "python", "device", "cores", "threads", "load"} <= set(told["machine"])
    assert tuple(told["seconds"]) == NAMES
    assert told["ratio"][REFERENCE] == [1.0, 1.0]
    for name in NAMES:
        for place, rounds in enumerate(told["seconds"][name]):
            assert len(rounds) == 2
            assert told["tokens_a_second"][name][place] == pytest.approx(16 / (sum(rounds) / 2))


@pytest.mark.usefixtures("four")
def test_a_table_for_people() -> None:
    done = CliRunner().invoke(app, list(FAST))
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[-4:]] == list(NAMES)
    assert lines[-1].count("(1.00)") == 2


def test_a_missing_model_is_one_line(four: Path) -> None:
    shutil.rmtree(four / "ancestors-dot")
    done = CliRunner().invoke(app, list(FAST))
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert "ancestors-dot" in done.stderr
