"""``atlas bench``: speed, measured on this machine."""

from __future__ import annotations

import typer

from atlas.commands import bench_ancestors
from atlas.commands.group import OneLineErrors

app = typer.Typer(cls=OneLineErrors, help="Measure speed on this machine.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """Measure speed on this machine."""


app.command("ancestors")(bench_ancestors.run)
