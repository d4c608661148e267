"""A training run that is killed goes on to the same numbers, to the bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.kill.killing import kill, moments, some
from tests.kill.works import training
from tests.training.small import outcome, settings, write_pairs


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Six updates with states, averages and a snapshot between them."""
    corpus = write_pairs(tmp_path_factory.mktemp("corpus") / "pairs.tsv")
    changes = {"steps": 6, "save_every": 2, "average_every": 1, "average": 2, "snapshots": [3]}
    return settings(corpus, evaluate_every=3, **changes).to_dict()


@pytest.fixture(scope="module")
def whole(config: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing disturbed."""
    folder = tmp_path_factory.mktemp("whole")
    training(config, folder)
    return folder


@pytest.fixture(scope="module")
def count(config: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> int:
    folder = tmp_path_factory.mktemp("counted")
    return moments(training, config, folder, inside=folder)


def test_at_any_change_of_the_folder(config: dict[str, Any], whole: Path, count: int, tmp_path: Path) -> None:
    assert count > 40
    expected = outcome(whole)
    for change in some(count, 12):
        folder = tmp_path / str(change)
        folder.mkdir()
        assert kill(training, config, folder, inside=folder, change=change)
        training(config, folder)
        assert outcome(folder).same(expected), change
        assert sorted(path.name for path in folder.iterdir()) == ["bundle", "run"]


def test_killed_again_and_again(config: dict[str, Any], whole: Path, tmp_path: Path) -> None:
    """Each sitting gets a little further, whatever the others left; in the end nothing shows."""
    sittings = 0
    while kill(training, config, tmp_path, inside=tmp_path, change=25):
        sittings += 1
        assert sittings < 20
    assert sittings >= 2
    assert outcome(tmp_path).same(outcome(whole))


@pytest.mark.parametrize("size", [3_000, 60_000])
def test_in_the_middle_of_writing_a_file(
    size: int, config: dict[str, Any], whole: Path, tmp_path: Path
) -> None:
    """The tokenizer, or the first weights."""
    assert kill(training, config, tmp_path, inside=tmp_path, size=size)
    training(config, tmp_path)
    assert outcome(tmp_path).same(outcome(whole))


def test_while_an_older_run_is_thrown_away(config: dict[str, Any], whole: Path, tmp_path: Path) -> None:
    """Killed in the middle of --restart: what is left of the older run never gets into the new one."""
    older = {**config, "seed": 9, "average_every": 2}
    seen = set()
    for change in (1, 2, 5, 9, 13, 14, 15):
        folder = tmp_path / str(change)
        training(older, folder)
        before = {file: file.read_bytes() for file in (folder / "run").rglob("*.*") if file.is_file()}
        assert kill(training, config, folder, True, inside=folder / "run", change=change)
        untouched = (folder / "run" / "latest").exists()
        if untouched:  # then there is a run to go on with, and nothing of it may be missing
            assert all(file.read_bytes() == data for file, data in before.items())
        training(config, folder, untouched)
        assert outcome(folder).same(outcome(whole)), change
        seen.add(untouched)
    assert seen == {True, False}
