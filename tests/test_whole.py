"""Files and folders that are the old ones or the new ones, never something between."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from atlas import whole
from atlas.whole import restore, whole_file, whole_folder


def fill(folder: Path, text: str) -> None:
    (folder / "inner").mkdir()
    (folder / "inner" / "text").write_text(text)


def written(path: Path, text: str) -> None:
    with whole_folder(path) as folder:
        fill(folder, text)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(params=["swap", "rename"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How a folder takes the place of another: in one step, or where the file system cannot, in two."""
    if request.param == "rename":
        monkeypatch.setattr(whole, "_exchanged", lambda one, other: False)
    return request.param


def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "numbers.csv"
    path.write_text("old")
    with whole_file(path) as partial:
        partial.write_text("new")
        assert path.read_text() == "old" and partial.parent == tmp_path
    assert path.read_text() == "new" and names(tmp_path) == ["numbers.csv"]
    with pytest.raises(KeyboardInterrupt), whole_file(path) as partial:
        partial.write_text("half")
        raise KeyboardInterrupt
    assert path.read_text() == "new" and names(tmp_path) == ["numbers.csv"]


def test_a_folder_takes_the_place_of_another(way: str, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "bundle"
    for text in ("first", "second"):
        written(path, text)
        assert (path / "inner" / "text").read_text() == text
        assert names(path.parent) == ["bundle"]


def test_this_file_system_swaps_in_one_step(tmp_path: Path) -> None:
    """A reader that watches never finds the place empty: the step between is looked at here."""
    path, seen = tmp_path / "bundle", []
    written(path, "old")
    exchange = whole._exchanged

    def watched(one: Path, other: Path) -> bool:
        seen.append((other / "inner" / "text").read_text())
        done = exchange(one, other)
        seen.extend((folder / "inner" / "text").read_text() for folder in (other, one))
        return done

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(whole, "_exchanged", watched)
        written(path, "new")
    assert seen == ["old", "new", "old"]


def test_a_failure_leaves_the_old_folder(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bundle"
    written(path, "old")
    with pytest.raises(KeyboardInterrupt), whole_folder(path) as folder:
        fill(folder, "half")
        raise KeyboardInterrupt
    assert (path / "inner" / "text").read_text() == "old" and names(tmp_path) == ["bundle"]
    if way == "swap":
        return
    rename = Path.rename

    def broken(self: Path, target: Path) -> Path:
        if self.name.startswith(".bundle.new-"):
            raise OSError(errno.ENOSPC, "the disk is full")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", broken)
    with pytest.raises(OSError, match="the disk is full"):
        written(path, "new")
    assert (path / "inner" / "text").read_text() == "old" and names(tmp_path) == ["bundle"]


def test_a_swap_that_fails_for_another_reason_is_said(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    with pytest.raises(FileNotFoundError, match="nothing"):
        whole._exchanged(tmp_path / "one", tmp_path / "nothing")


def test_what_is_being_written_is_not_swept(tmp_path: Path) -> None:
    """Two at once: the later one to end wins, both are whole; what a dead process left is cleared."""
    path = tmp_path / "bundle"
    dead = tmp_path / ".bundle.new-dead"
    dead.mkdir()
    other = tmp_path / ".bundle-two.new-dead"
    other.mkdir()
    with whole_folder(path) as folder:
        assert not dead.exists() and other.exists()
        fill(folder, "slow")
        written(path, "quick")
        assert (path / "inner" / "text").read_text() == "quick"
    assert (path / "inner" / "text").read_text() == "slow"
    assert names(tmp_path) == [".bundle-two.new-dead", "bundle"]


def test_the_old_folder_comes_back(tmp_path: Path) -> None:
    """Killed between the two renames, where there is no swap."""
    path = tmp_path / "bundle"
    written(path, "old")
    os.rename(path, tmp_path / ".bundle.old")
    restore(path)
    assert (path / "inner" / "text").read_text() == "old" and names(tmp_path) == ["bundle"]
    restore(path)
    (tmp_path / ".bundle.old").mkdir()
    restore(path)
    assert (path / "inner" / "text").read_text() == "old"
    written(path, "new")
    assert names(tmp_path) == ["bundle"]
