"""``atlas tour``: check, list, new; and the tours of ``atlas app``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from atlas import bundles
from atlas.cli import app
from atlas.ui.talk.library import ENVIRONMENT, load_tour


@pytest.fixture(autouse=True)
def nothing_around(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty folder, no model and no tours of one's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(bundles.ENVIRONMENT, str(tmp_path))
    monkeypatch.delenv(ENVIRONMENT, raising=False)


def atlas(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def test_a_new_tour_is_right_and_is_not_written_over() -> None:
    made = atlas("tour", "new", "mine.yaml")
    assert (made.exit_code, made.stdout) == (0, "mine.yaml: play it with: atlas app --tour mine.yaml\n")
    assert "atlas app --tour mine.yaml" in Path("mine.yaml").read_text(encoding="utf-8")
    checked = atlas("tour", "check", "mine.yaml")
    assert (checked.exit_code, checked.stdout) == (0, "mine.yaml: My tour: 2 stops, nothing wrong\n")
    Path("mine.yaml").write_text("precious")
    again = atlas("tour", "new", "mine.yaml")
    assert again.exit_code == 2
    assert again.stderr == "atlas: mine.yaml exists already; choose another name\n"
    assert Path("mine.yaml").read_text() == "precious"


def test_every_problem_is_a_line() -> None:
    Path("bad.yaml").write_text("stops:\n- page: attention\n  state: {layer: 0}\n- page: nowhere\n")
    Path("good.yaml").write_text("stops:\n- page: heads\n")
    checked = atlas("tour", "check", "bad.yaml", "good.yaml")
    assert checked.exit_code == 2
    first, second = checked.stderr.splitlines()
    assert first == 'bad.yaml, line 3: layer="0" should be a whole number from 1 to 64'
    assert second.startswith('bad.yaml, line 4: there is no page "nowhere"; pages are translate')
    assert checked.stdout == "good.yaml: good.yaml: 1 stop, nothing wrong\n"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("tour", "check", "gone.yaml"), "atlas: gone.yaml: No such file or directory\n"),
        (("app", "--tour", "gone.yaml"), "atlas: gone.yaml: No such file or directory\n"),
        (("tour", "check", "tour.txt"), "is named with letters, digits, - and _, and ends with .yaml\n"),
        (("tour", "new", "no/where.yaml"), "atlas: no/where.yaml: No such file or directory\n"),
    ],
)
def test_what_cannot_be_done_is_one_line(arguments: tuple[str, ...], line: str) -> None:
    done = atlas(*arguments)
    assert done.exit_code == 2
    assert done.stderr.endswith(line)
    assert done.stderr.count("\n") == 1


def test_the_list_names_what_can_be_played_and_what_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("own").mkdir()
    Path("own/mine.yaml").write_text("title: Mine\nstops:\n- page: heads\n")
    Path("own/bad.yaml").write_text("stops: [")
    monkeypatch.setenv(ENVIRONMENT, "own")
    listed = atlas("tour", "list", "--json")
    assert listed.exit_code == 0
    tours = json.loads(listed.stdout)["tours"]
    assert [(tour["name"], tour["title"]) for tour in tours] == [
        ("mine", "Mine"),
        ("story", "From one vector to beam search"),
    ]
    assert listed.stderr.startswith("bad.yaml, line 1: this is not YAML")
    assert tours[1]["stops"] == len(load_tour(Path(tours[1]["file"])).stops)
    assert f"mine: Mine (1 stop), {Path('own/mine.yaml').resolve()}" in atlas("tour", "list").stdout
