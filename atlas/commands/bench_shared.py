"""What every ``atlas bench`` ends with, and the options that they share."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from atlas.commands.output import say, say_json, tell

if TYPE_CHECKING:
    from atlas.bench.report import Report

Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="Also keep the result in this file, as JSON.")
]
Rounds = Annotated[int, typer.Option(help="How often each is timed; medians are shown.", min=1)]
Device = Annotated[str, typer.Option(help="Where the model runs: cpu, cuda or mps.")]
Threads = Annotated[
    int | None, typer.Option(help="Threads of PyTorch on the CPU.", min=1, show_default="one a core")
]


def command_line(name: str, **given: object) -> str:
    """The command that measures the same again: ``given`` are options by name, lists repeat theirs, and what
    is None or False was not given.
    """
    words = ["atlas bench", name]
    for option, value in given.items():
        flag = f"--{option.replace('_', '-')}"
        for one in value if isinstance(value, list | tuple) else [value]:
            if one is True:
                words.append(flag)
            elif one is not None and one is not False:
                words.append(f"{flag} {shlex.quote(str(one))}")
    return " ".join(words)


def finish(report: Report, output: Path | None, as_json: bool) -> None:
    """The table or JSON, and the file if one was asked for."""
    if output is not None:
        report.save(output)
        tell(f"kept in {output}")
    if as_json:
        say_json(report.to_dict())
    else:
        say(report.markdown().rstrip("\n"))
