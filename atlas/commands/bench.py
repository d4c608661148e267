"""``atlas bench``: speed, measured on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from atlas.commands import bench_ancestors, bench_decoding, bench_recording, bench_start, bench_training
from atlas.commands.group import OneLineErrors
from atlas.commands.output import say

app = typer.Typer(cls=OneLineErrors, help="Measure speed on this machine.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """Measure speed on this machine."""


@app.command("show")
def show(files: Annotated[list[Path], typer.Argument(help="What --output kept.")]) -> None:
    """Print kept results again, as Markdown."""
    from atlas.bench.report import Report

    for place, path in enumerate(files):
        say(("\n" if place else "") + Report.load(path).markdown().rstrip("\n"))


app.command("decoding")(bench_decoding.run)
app.command("ancestors")(bench_ancestors.run)
app.command("recording")(bench_recording.run)
app.command("start")(bench_start.run)
app.command("training")(bench_training.run)
