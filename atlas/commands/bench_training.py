"""``atlas bench training``: our training loop beside the same model made of ``nn.Transformer``."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from atlas.commands import options
from atlas.commands.bench_shared import Device, Output, Rounds, Threads, command_line, finish
from atlas.commands.output import progress
from atlas.memory import keep_freed_memory


class Preset(StrEnum):
    """Sizes of the model."""

    tiny = "tiny"
    small = "small"
    base = "base"


class Precision(StrEnum):
    """What is computed with."""

    float32 = "float32"
    bfloat16 = "bfloat16"


def run(
    preset: Annotated[
        list[Preset] | None,
        typer.Option(
            help="Size of the model; may be given several times.",
            show_default="small, and base on CUDA",
        ),
    ] = None,
    precision: Annotated[
        list[Precision] | None,
        typer.Option(help="May be given several times.", show_default="both"),
    ] = None,
    tokens: Annotated[int, typer.Option(help="Padded size of a batch on its longer side.", min=64)] = 4000,
    batches: Annotated[int, typer.Option(help="Updates in a round.", min=1)] = 4,
    rounds: Rounds = 7,
    device: Device = "cpu",
    threads: Threads = None,
    output: Output = None,
    as_json: options.Json = False,
) -> None:
    """Time updates of training in float32 and bfloat16, ours and PyTorch's own model in turns."""
    from atlas.bench.machine import use_threads
    from atlas.bench.training import training_speed
    from atlas.model import pick_device

    use_threads(threads)
    keep_freed_memory()
    where = pick_device(device)
    command = command_line(
        "training",
        preset=[one.value for one in preset or ()],
        precision=[one.value for one in precision or ()],
        tokens=tokens if tokens != 4000 else None,
        batches=batches if batches != 4 else None,
        rounds=rounds,
        device=device,
        threads=threads,
    )
    sizes = ["small", "base"] if where.type == "cuda" else ["small"]
    with progress("timing", "rounds") as report:
        found = training_speed(
            presets=[one.value for one in preset] if preset else sizes,
            precisions=[one.value for one in precision] if precision else ["float32", "bfloat16"],
            tokens=tokens,
            batches=batches,
            rounds=rounds,
            device=where,
            command=command,
            progress=report,
        )
    finish(found, output, as_json)
