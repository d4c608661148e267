"""``atlas bench start``: imports, the help, a loaded model, the first translation and the first page."""

from __future__ import annotations

from atlas.commands import options
from atlas.commands.bench_shared import Device, Output, Rounds, command_line, finish
from atlas.commands.output import progress


def run(
    checkpoint: options.Checkpoint = None,
    rounds: Rounds = 7,
    device: Device = "cpu",
    output: Output = None,
    as_json: options.Json = False,
) -> None:
    """Time what a person waits for before anything happens, each in a fresh process."""
    from atlas.bench.start import start_times
    from atlas.bundles import choose_bundle
    from atlas.model import pick_device

    bundle = choose_bundle(checkpoint)
    where = str(pick_device(device))
    command = command_line("start", checkpoint=checkpoint, rounds=rounds, device=device)
    with progress("timing", "rounds") as report:
        found = start_times(bundle.resolve(), device=where, rounds=rounds, command=command, progress=report)
    finish(found, output, as_json)
