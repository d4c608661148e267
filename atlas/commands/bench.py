"""``atlas bench``: speed, measured on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from atlas.commands import bench_ancestors
from atlas.commands.group import OneLineErrors
from atlas.commands.output import say, say_json, tell

if TYPE_CHECKING:
    from atlas.bench.report import Report

app = typer.Typer(cls=OneLineErrors, help="Measure speed on this machine.", no_args_is_help=True)

Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="Also keep the result in this file, as JSON.")
]
Rounds = Annotated[int, typer.Option(help="How often each is timed; medians are shown.", min=1)]


@app.callback()
def group() -> None:
    """Measure speed on this machine."""


def finish(report: Report, output: Path | None, as_json: bool) -> None:
    """What every measurement ends with: the table or JSON, and the file if one was asked for."""
    if output is not None:
        report.save(output)
        tell(f"kept in {output}")
    if as_json:
        say_json(report.to_dict())
    else:
        say(report.markdown().rstrip("\n"))


@app.command("show")
def show(files: Annotated[list[Path], typer.Argument(help="What --output kept.")]) -> None:
    """Print kept results again, as Markdown."""
    from atlas.bench.report import Report

    for place, path in enumerate(files):
        say(("\n" if place else "") + Report.load(path).markdown().rstrip("\n"))


app.command("ancestors")(bench_ancestors.run)
