import os
from pathlib import Path

import pytest

from atlas.bundles import NoBundle, choose_bundle, find_bundles


def _bundle(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    return folder.resolve()


def test_folders_are_searched_in_order_and_the_first_name_wins(tmp_path):
    first = _bundle(tmp_path / "a" / "en-fr")
    other = _bundle(tmp_path / "b" / "en-de")
    _bundle(tmp_path / "b" / "en-fr")
    (tmp_path / "b" / "notes").mkdir()
    folders = [tmp_path / "a", tmp_path / "b", tmp_path / "missing"]
    assert find_bundles({}, folders) == {"en-fr": first, "en-de": other}


def test_the_environment_names_bundles_or_folders_of_them(tmp_path):
    one = _bundle(tmp_path / "one")
    two = _bundle(tmp_path / "more" / "two")
    environment = {"ATLAS_CHECKPOINTS": os.pathsep.join([str(one), str(tmp_path / "more")])}
    assert find_bundles(environment, [tmp_path]) == {"one": one, "two": two}


def test_choice_by_folder_by_name_and_by_default(tmp_path):
    folder = _bundle(tmp_path / "x")
    known = {"small": Path("/s"), "en-fr": Path("/e")}
    assert choose_bundle(str(folder), known) == folder
    assert choose_bundle("small", known) == Path("/s")
    assert choose_bundle(None, known) == Path("/e")
    assert choose_bundle(None, {"small": Path("/s")}) == Path("/s")


def test_nothing_to_choose_says_how_to_get_one():
    with pytest.raises(NoBundle, match="name one with --checkpoint, or train one with atlas train"):
        choose_bundle(None, {})
    with pytest.raises(NoBundle, match=r"^fr-en: no such folder, .* known are en-fr$"):
        choose_bundle("fr-en", {"en-fr": Path("/e")})
