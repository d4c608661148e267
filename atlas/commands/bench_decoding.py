"""``atlas bench decoding``: translating beside CTranslate2 and Hugging Face's Marian."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from atlas.commands import options
from atlas.commands.bench_shared import Device, Output, Rounds, Threads, command_line, finish
from atlas.commands.output import progress


class Precision(StrEnum):
    """Numbers that the model computes with."""

    float32 = "float32"
    bfloat16 = "bfloat16"


def run(
    checkpoint: options.Checkpoint = None,
    device: Device = "cpu",
    threads: Threads = None,
    precision: Annotated[Precision, typer.Option(help="Of our weights and products.")] = Precision.float32,
    rounds: Rounds = 15,
    source: Annotated[int, typer.Option(help="Tokens of every source.", min=2)] = 14,
    target: Annotated[int, typer.Option(help="Tokens of every translation.", min=1)] = 20,
    output: Output = None,
    as_json: options.Json = False,
) -> None:
    """Time greedy search and a beam of 5, at batch 1 and 32, in turns with the peers on the same machine."""
    from atlas.bench.decoding import decoding
    from atlas.bench.machine import use_threads
    from atlas.bundles import choose_bundle
    from atlas.engine import Engine

    use_threads(threads)
    engine = Engine.load(choose_bundle(checkpoint), device)
    command = command_line(
        "decoding",
        checkpoint=checkpoint,
        device=device,
        threads=threads,
        precision=None if precision is Precision.float32 else precision.value,
        rounds=rounds,
        source=source,
        target=target,
    )
    with progress("timing", "rounds") as report:
        result = decoding(
            engine,
            command=command,
            precision=precision.value,
            rounds=rounds,
            source=source,
            target=target,
            progress=report,
        )
    finish(result, output, as_json)
