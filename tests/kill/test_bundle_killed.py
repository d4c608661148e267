"""A bundle that is being saved when the process is killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from atlas.bundles import find_bundles
from atlas.checkpoint import BundleError, load_bundle
from tests.kill.killing import kill, moments
from tests.kill.works import copied, save_copy


def contents(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def offered(path: Path) -> list[str]:
    return list(find_bundles({"ATLAS_CHECKPOINTS": str(path)}))


def test_a_new_bundle_is_there_whole_or_not_at_all(tiny_bundle: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole" / "made"
    save_copy(tiny_bundle, "made", whole)
    count = moments(save_copy, tiny_bundle, "made", tmp_path / "counted" / "made", inside=tmp_path)
    assert count >= 8  # the folder, five files, a folder of snapshots and what is in it, the place
    seen = set()
    for change in range(1, count + 1):
        place = tmp_path / str(change)
        assert kill(save_copy, tiny_bundle, "made", place / "made", inside=tmp_path, change=change)
        there = place.is_dir() and offered(place) == ["made"]
        seen.add(there)
        if there:
            assert contents(place / "made") == contents(whole)
        else:
            with pytest.raises(BundleError, match="there is no such folder"):
                load_bundle(place / "made")
        save_copy(tiny_bundle, "made", place / "made")
        assert contents(place / "made") == contents(whole)
        assert [path.name for path in place.iterdir()] == ["made"], "what was left is swept"
    assert False in seen


@pytest.mark.parametrize("size", [1, 50_000])
def test_cut_in_the_middle_of_a_file(size: int, tiny_bundle: Path, tmp_path: Path) -> None:
    made = tmp_path / "made"
    assert kill(save_copy, tiny_bundle, "made", made, inside=tmp_path, size=size)
    assert not made.exists() and offered(tmp_path) == []
    old = contents(copied(tiny_bundle, made))
    assert kill(save_copy, tiny_bundle, "made", made, inside=tmp_path, size=size)
    assert contents(made) == old
    save_copy(tiny_bundle, "made", made)
    assert load_bundle(made).name == "made" and [path.name for path in tmp_path.iterdir()] == ["made"]


@pytest.mark.parametrize("can_swap", [True, False])
def test_an_overwritten_bundle_is_the_old_one_or_the_new_one(
    can_swap: bool, tiny_bundle: Path, tmp_path: Path
) -> None:
    arguments = (tiny_bundle, "new", tmp_path / "made", can_swap)
    old = contents(copied(tiny_bundle, tmp_path / "made"))
    count = moments(save_copy, *arguments, inside=tmp_path)
    new = contents(tmp_path / "made")
    assert old != new and load_bundle(tmp_path / "made").name == "new"
    seen = []
    for change in range(1, count + 1):
        copied(tiny_bundle, tmp_path / "made")
        assert kill(save_copy, *arguments, inside=tmp_path, change=change)
        if can_swap:  # no moment without a bundle, for somebody who opens it meanwhile
            assert offered(tmp_path) == ["made"]
        name = load_bundle(tmp_path / "made").name  # which brings the old one back if need be
        seen.append(name)
        assert contents(tmp_path / "made") == {"tiny": old, "new": new}[name]
        save_copy(*arguments[:3])
        assert contents(tmp_path / "made") == new
        assert [path.name for path in tmp_path.iterdir()] == ["made"]
    assert set(seen) == {"tiny", "new"} and seen == sorted(seen, reverse=True)
