"""``atlas bench ancestors``: training speed of recurrent models beside the Transformer, by length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from atlas.commands import options
from atlas.commands.options import load_engine
from atlas.commands.output import progress, say, say_json

if TYPE_CHECKING:
    from atlas.analysis.training_speed import Speeds

NAMES = ("ancestors-none", "ancestors-additive", "ancestors-dot", "ancestors-transformer")
REFERENCE = NAMES[-1]


def _table(machine: dict[str, Any], speeds: Speeds, rounds: int) -> None:
    say(", ".join(f"{name} {value}" for name, value in machine.items()))
    say(f"target tokens a second, median of {rounds} rounds (time of an update / the Transformer's)")
    say(f"{'tokens':24}" + "".join(f"{length:>18}" for length in speeds.lengths))
    for name, rates, ratios in zip(speeds.names, speeds.rate, speeds.ratio(REFERENCE), strict=True):
        cells = (f"{rate:,.0f} ({ratio:.2f})" for rate, ratio in zip(rates, ratios, strict=True))
        say(f"{name:24}" + "".join(f"{cell:>18}" for cell in cells))


def run(
    device: Annotated[
        str | None, typer.Option(help="cuda, mps or cpu.", show_default="the best there is")
    ] = None,
    rounds: Annotated[int, typer.Option(help="How often each is timed.", min=1)] = 7,
    tokens: Annotated[int, typer.Option(help="Target tokens of a batch.", min=1)] = 2048,
    longest: Annotated[int, typer.Option(help="Longest sentences, in tokens.", min=8)] = 128,
    as_json: options.Json = False,
) -> None:
    """Time updates of training of the four models on sentences of 8 to 128 tokens, in batches of equal size.

    Float32, random words, no padding; the bundles stay as they are.
    """
    from atlas.analysis.training_speed import LENGTHS, training_speeds
    from atlas.bench.machine import machine as machine_of
    from atlas.model import pick_device

    where = pick_device(device)
    machine = machine_of(where)
    models = {name: load_engine(name).network for name in NAMES}
    lengths = [length for length in LENGTHS if length <= longest]
    with progress("timing", "rounds") as report:
        speeds = training_speeds(
            models, lengths=lengths, tokens=tokens, rounds=rounds, device=where, progress=report
        )
    if not as_json:
        _table(machine, speeds, rounds)
        return
    say_json(
        {
            "machine": machine,
            "rounds": rounds,
            "reference": REFERENCE,
            "parameters": {
                name: sum(p.numel() for p in model.parameters()) for name, model in models.items()
            },
            "lengths": list(speeds.lengths),
            "tokens": list(speeds.tokens),
            "seconds": dict(zip(speeds.names, speeds.seconds.tolist(), strict=True)),
            "tokens_a_second": dict(zip(speeds.names, speeds.rate.tolist(), strict=True)),
            "ratio": dict(zip(speeds.names, speeds.ratio(REFERENCE).tolist(), strict=True)),
        }
    )
