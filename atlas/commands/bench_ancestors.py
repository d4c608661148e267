"""``atlas bench ancestors``: training speed of recurrent models beside the Transformer, by length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from atlas.commands import options
from atlas.commands.bench_shared import Device, Output, Rounds, Threads, command_line, finish
from atlas.commands.options import load_engine
from atlas.commands.output import progress

if TYPE_CHECKING:
    from atlas.analysis.training_speed import Speeds
    from atlas.bench.report import Report

NAMES = ("ancestors-none", "ancestors-additive", "ancestors-dot", "ancestors-transformer")
REFERENCE = NAMES[-1]


def _report(speeds: Speeds, command: str, machine: dict[str, Any], settings: dict[str, Any]) -> Report:
    """A row for each model: target tokens a second by length, then the time of an update beside the
    Transformer's.
    """
    from atlas.bench.report import Column, Report

    rates = tuple(Column(f"tokens/s at {length}") for length in speeds.lengths)
    ratios = tuple(Column(f"time at {length}", 2) for length in speeds.lengths)
    return Report(
        "ancestors",
        command,
        machine,
        settings,
        rates + ratios,
        tuple(
            (name, (*rate.tolist(), *ratio.tolist()))
            for name, rate, ratio in zip(speeds.names, speeds.rate, speeds.ratio(REFERENCE), strict=True)
        ),
        (
            "Target tokens a second of an update of training, by the tokens of every sentence, and how "
            f"many times as long an update takes as that of {REFERENCE}.",
        ),
        {
            f"{name}, {length} tokens": rounds.tolist()
            for name, by_length in zip(speeds.names, speeds.seconds, strict=True)
            for length, rounds in zip(speeds.lengths, by_length, strict=True)
        },
    )


def run(
    device: Device = "cpu",
    threads: Threads = None,
    rounds: Rounds = 7,
    tokens: Annotated[int, typer.Option(help="Target tokens of a batch.", min=1)] = 2048,
    longest: Annotated[int, typer.Option(help="Longest sentences, in tokens.", min=8)] = 128,
    output: Output = None,
    as_json: options.Json = False,
) -> None:
    """Time updates of training of the four models on sentences of 8 to 128 tokens, in batches of equal size.

    Float32, random words, no padding; the bundles stay as they are.
    """
    from atlas.analysis.training_speed import LENGTHS, training_speeds
    from atlas.bench.machine import machine, use_threads
    from atlas.model import pick_device

    use_threads(threads)
    where = pick_device(device)
    models = {name: load_engine(name).network for name in NAMES}
    lengths = [length for length in LENGTHS if length <= longest]
    with progress("timing", "rounds") as report:
        speeds = training_speeds(
            models, lengths=lengths, tokens=tokens, rounds=rounds, device=where, progress=report
        )
    command = command_line(
        "ancestors", device=device, threads=threads, rounds=rounds, tokens=tokens, longest=longest
    )
    settings = {"rounds": rounds, "tokens a batch": tokens, "precision": "float32"}
    finish(_report(speeds, command, machine(where), settings), output, as_json)
