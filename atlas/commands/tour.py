"""``atlas tour``: check a tour, list those that can be played, write one to start from."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from atlas.bundles import find_bundles
from atlas.commands.app import application
from atlas.commands.group import WRONG_INPUT, OneLineErrors
from atlas.commands.output import say, say_json, tell
from atlas.errors import AtlasError

app = typer.Typer(
    cls=OneLineErrors, help="Tours: views of the pages that the app plays in order.", no_args_is_help=True
)


@app.command("check")
def check(
    files: Annotated[list[Path], typer.Argument(help="Tours, YAML files.")],
    open_stops: Annotated[
        bool, typer.Option("--open", help="Also open every stop with the models that are here.")
    ] = False,
) -> None:
    """Check tours; every problem is one line with the number of its line in the file."""
    from atlas.ui.talk.library import load_tour, tour_name
    from atlas.ui.talk.rehearsal import rehearse
    from atlas.ui.talk.tour import TourError

    models, problems = list(find_bundles()), 0
    for path in files:
        tour_name(path)
        try:
            tour = load_tour(path, models)
        except TourError as error:
            for line in error.lines():
                tell(line)
            problems += len(error.problems)
            continue
        before = problems
        if open_stops:
            for number, (stop, complaints) in enumerate(rehearse(path, application()), 1):
                problems += len(complaints)
                for complaint in complaints:
                    tell(f"{path.name}, line {stop.line}: stop {number}, {stop.page}: {complaint}")
        if problems == before:
            say(f"{path.name}: {tour.title}: {_stops(len(tour.stops))}, nothing wrong")
    if problems:
        raise typer.Exit(WRONG_INPUT)


@app.command("list")
def list_tours(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """List the tours that the app offers: those of $ATLAS_TOURS, and the one that ships."""
    from atlas.ui.talk.library import find_tours

    tours = find_tours()
    for trouble in tours.troubles:
        tell(trouble)
    found: list[dict[str, object]] = []
    lines: list[str] = []
    for name, path in tours.files.items():
        try:
            tour = tours.load(name)
        except AtlasError as error:
            tell(error)
            continue
        stops = len(tour.stops)
        found.append({"name": name, "title": tour.title, "stops": stops, "file": str(path)})
        lines.append(f"{name}: {tour.title} ({_stops(stops)}), {path}")
    if as_json:
        say_json({"tours": found})
        return
    for line in lines:
        say(line)


@app.command("new")
def new(file: Annotated[Path, typer.Argument(help="Where to write it, such as my-tour.yaml.")]) -> None:
    """Write a tour to start from, with the rules in it."""
    from atlas.ui.talk.library import tour_name

    tour_name(file)
    template = resources.files("atlas.ui.talk").joinpath("new_tour.yaml").read_text(encoding="utf-8")
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(template.replace("THIS_FILE", file.name))
    except FileExistsError:
        raise AtlasError(f"{file} exists already; choose another name") from None
    except OSError as error:
        raise AtlasError(f"{file}: {error.strerror or error}") from None
    say(f"{file}: play it with: atlas app --tour {file}")


def _stops(count: int) -> str:
    return f"{count} stop{'' if count == 1 else 's'}"
