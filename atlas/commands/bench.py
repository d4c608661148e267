"""``atlas bench``: speed, measured on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from atlas.commands import (
    bench_ancestors,
    bench_decoding,
    bench_recording,
    bench_screen,
    bench_start,
    bench_training,
)
from atlas.commands.group import OneLineErrors
from atlas.commands.output import say

app = typer.Typer(cls=OneLineErrors, help="Measure speed on this machine.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """Measure speed on this machine."""


@app.command("show")
def show(
    files: Annotated[list[Path], typer.Argument(help="What --output kept.")],
    into: Annotated[
        Path | None,
        typer.Option(
            help="A Markdown file that has <!-- FILE's name --> and <!-- end --> where each belongs."
        ),
    ] = None,
) -> None:
    """Print kept results again, as Markdown, or put them into a document."""
    from atlas.bench.report import Report, ReportError, refresh

    reports = {path.stem: Report.load(path) for path in files}
    if into is None:
        say("\n".join(report.markdown() for report in reports.values()).rstrip("\n"))
        return
    try:
        document = into.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ReportError(f"{into} cannot be read: {error}") from error
    into.write_text(refresh(document, reports), encoding="utf-8")


app.command("decoding")(bench_decoding.run)
app.command("ancestors")(bench_ancestors.run)
app.command("recording")(bench_recording.run)
app.command("start")(bench_start.run)
app.command("training")(bench_training.run)
app.command("screen")(bench_screen.run)
