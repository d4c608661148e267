"""The ``atlas`` command. Sub-commands are modules of :mod:`atlas.commands`; help imports nothing heavy."""

from __future__ import annotations

import typer

from atlas.commands import app as app_command
from atlas.commands import (
    bench,
    data,
    evaluate,
    export,
    heads,
    info,
    limits,
    measure,
    tour,
    trace,
    train,
    translate,
)
from atlas.commands.group import OneLineErrors

app = typer.Typer(
    name="atlas",
    cls=OneLineErrors,
    help="Attention Atlas: a small Transformer that you can look inside while it translates.",
    epilog="Wrong input ends with exit code 2 and one line that says what is wrong.",
    add_completion=False,
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.command("app")(app_command.run)
app.command("translate")(translate.run)
app.command("trace")(trace.run)
app.command("export")(export.run)
app.command("train")(train.run)
app.command("evaluate")(evaluate.run)
app.command("data")(data.run)
app.command("heads")(heads.run)
app.command("info")(info.run)
app.command("limits")(limits.run)
app.add_typer(measure.app, name="measure")
app.add_typer(bench.app, name="bench")
app.add_typer(tour.app, name="tour")

if __name__ == "__main__":
    app()
