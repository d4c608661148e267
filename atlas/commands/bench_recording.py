"""``atlas bench recording``: what recording every head costs, and how a trace grows with the sentence."""

from __future__ import annotations

from typing import Annotated

import typer

from atlas.commands import options
from atlas.commands.bench_shared import Device, Output, Rounds, Threads, command_line, finish
from atlas.commands.output import progress


def run(
    checkpoint: options.Checkpoint = None,
    beam: options.Beam = 5,
    length: Annotated[
        list[int] | None,
        typer.Option(
            help="Source length in tokens; may be given several times.",
            min=2,
            show_default="10, 20, 40, 128, 256 and 512",
        ),
    ] = None,
    rounds: Rounds = 7,
    device: Device = "cpu",
    threads: Threads = None,
    output: Output = None,
    as_json: options.Json = False,
) -> None:
    """Time a search, a pass and a trace with and without a record of every head.

    The sentence of 20 words stands first; longer texts are cut at as many target tokens as they have source
    tokens.
    """
    from atlas.bench.machine import use_threads
    from atlas.bench.recording import LENGTHS, recording_cost

    use_threads(threads)
    command = command_line(
        "recording",
        checkpoint=checkpoint,
        beam=beam,
        length=length,
        rounds=rounds,
        device=device,
        threads=threads,
    )
    engine = options.load_engine(checkpoint, device)
    with progress("timing", "rounds") as report:
        found = recording_cost(
            engine,
            lengths=length or LENGTHS,
            beam=beam,
            rounds=rounds,
            command=command,
            progress=report,
        )
    finish(found, output, as_json)
