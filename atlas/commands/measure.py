"""``atlas measure``: what pages show about a trained model, computed once and kept in its bundle."""

from __future__ import annotations

import typer

from atlas.commands import measure_calibration, measure_leak, measure_lengths, measure_pronouns, measure_units
from atlas.commands.group import OneLineErrors

app = typer.Typer(
    cls=OneLineErrors,
    help="Measure a trained model on held-out sentences and keep the numbers in its bundle.",
    no_args_is_help=True,
)

app.command("pronouns")(measure_pronouns.run)
app.command("calibration")(measure_calibration.run)
app.command("leak")(measure_leak.run)
app.command("lengths")(measure_lengths.run)
app.command("units")(measure_units.run)
