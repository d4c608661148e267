"""``atlas measure``: what pages show about a trained model, computed once and kept in its bundle."""

from __future__ import annotations

import typer

from atlas.commands.group import OneLineErrors

app = typer.Typer(
    cls=OneLineErrors,
    help="Measure a trained model on held-out sentences and keep the numbers in its bundle.",
    no_args_is_help=True,
)
