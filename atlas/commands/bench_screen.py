"""``atlas bench screen``: what a person waits for in a real browser, beside BertViz."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from atlas.commands import options
from atlas.commands.bench_shared import Output, Rounds, command_line, finish
from atlas.commands.output import progress


def run(
    checkpoint: options.Checkpoint = None,
    length: Annotated[
        list[int] | None,
        typer.Option(
            help="Sentence length in tokens; may be given several times.",
            min=4,
            show_default="10, 40, 128 and 512",
        ),
    ] = None,
    rounds: Rounds = 3,
    libraries: Annotated[
        Path | None,
        typer.Option(
            help="Where npm installed require.js, d3 and jQuery, which BertViz loads from the network: npm "
            "install --prefix FOLDER requirejs@2.3.6 d3@5.7.0 jquery@2.1.4. Without it BertViz is not opened."
        ),
    ] = None,
    patience: Annotated[float, typer.Option(help="Seconds after which a page is given up.", min=1.0)] = 120.0,
    output: Output = None,
    as_json: options.Json = False,
) -> None:
    """Time the Attention page in Chromium, and BertViz with the same attention; count the bytes of both.

    Needs the extra bench, and Chromium at /usr/bin/chromium or where CHROMIUM says.
    """
    from atlas.bench.screen import LENGTHS, screen_times
    from atlas.bundles import choose_bundle

    command = command_line(
        "screen",
        checkpoint=checkpoint,
        length=length,
        rounds=rounds,
        libraries=libraries,
        patience=patience,
    )
    engine = options.load_engine(checkpoint, "cpu")
    with progress("measuring", "rounds") as report:
        found = screen_times(
            engine,
            choose_bundle(checkpoint),
            lengths=length or LENGTHS,
            rounds=rounds,
            folder=libraries,
            patience=patience,
            command=command,
            progress=report,
        )
    finish(found, output, as_json)
