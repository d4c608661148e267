"""Where tours are found, and what they are called."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from atlas.errors import AtlasError
from atlas.ui.talk.library import ENVIRONMENT, SHIPPED, Tours, find_tours, load_tour, tour_name
from atlas.ui.talk.tour import TourError

ONE = "title: {}\nstops:\n- page: heads\n"


def write(path: Path, title: str = "x") -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(ONE.format(title))
    return path


def test_one_tour_ships() -> None:
    tours = find_tours({})
    assert tours.names == ["story"]
    assert tours.files["story"].parent == SHIPPED
    assert 12 <= len(tours.load("story").stops) <= 15
    assert all(stop.note for stop in tours.load("story").stops)


def test_files_and_folders_of_a_speaker_come_first_and_hide_others(tmp_path: Path) -> None:
    write(tmp_path / "folder" / "story.yaml", "mine")
    write(tmp_path / "folder" / "b.yml")
    (tmp_path / "folder" / "notes.txt").write_text("no tour")
    single = write(tmp_path / "alone.yaml")
    places = os.pathsep.join(map(str, (tmp_path / "folder", single)))
    tours = find_tours({ENVIRONMENT: places})
    assert tours.names == ["b", "story", "alone"]
    assert tours.load("story").title == "mine"
    assert tours.troubles == ()


def test_a_place_or_a_name_that_is_wrong_is_said(tmp_path: Path) -> None:
    write(tmp_path / "two words.yaml")
    tours = find_tours({ENVIRONMENT: f"{tmp_path}{os.pathsep}{tmp_path / 'gone'}"})
    assert tours.names == ["story"]
    [name, place] = tours.troubles
    assert name.startswith("two words.yaml: the file of a tour is named with letters")
    assert place.endswith("gone, and there is no such file or folder")


@pytest.mark.parametrize("name", ["a.yaml", "My-tour_2.yml"])
def test_a_name_for_the_address(name: str) -> None:
    assert tour_name(Path(name)) == Path(name).stem


@pytest.mark.parametrize("name", ["a.txt", ".yaml", "a b.yaml", "é.yaml", "-x.yaml", "a" * 61 + ".yaml"])
def test_a_name_that_cannot_stand_there(name: str) -> None:
    with pytest.raises(AtlasError, match="is named with letters"):
        tour_name(Path(name))


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = write(tmp_path / "a.yaml", "first")
    assert load_tour(path).title == "first"
    path.write_text(ONE.format("second, longer"))
    assert load_tour(path).title == "second, longer"
    path.write_text("stops: [")
    with pytest.raises(TourError, match="line 1"):
        load_tour(path)


def test_what_was_uploaded_comes_first(tmp_path: Path) -> None:
    path = write(tmp_path / "a.yaml", "a file")
    mine = load_tour(write(tmp_path / "b.yaml", "uploaded"))
    tours = Tours({"a": path}, uploaded={"a": mine})
    assert tours.names == ["a"]
    assert tours.load("a").title == "uploaded"
