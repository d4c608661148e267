"""``atlas heads``: what every head of a model does, over held-out sentences."""

from __future__ import annotations

import shutil
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from atlas.commands import options
from atlas.commands.options import load_engine
from atlas.commands.output import progress, say, say_json, tell
from atlas.errors import AtlasError

if TYPE_CHECKING:
    from atlas.measurements import Measurement

STAGES = {
    "metrics": "record",
    "costs": "costs",
    "links": "links",
    "pruning": "pruning",
    "alignments": "alignments",
}
"""Stage -> module of :mod:`atlas.analysis.heads` that measures it, in the order in which they run."""
_UNITS = {
    "metrics": "sentences",
    "links": "sentences",
    "alignments": "sentences",
    "costs": "heads",
    "pruning": "points",
}


def _chosen(only: str) -> list[str]:
    names = [name.strip() for name in only.split(",") if name.strip()]
    for name in names:
        if name not in STAGES:
            raise AtlasError(f"--only knows {', '.join(STAGES)}, not {name!r}")
    return [name for name in STAGES if not names or name in names]


def run(
    checkpoint: Annotated[str, typer.Argument(help="A folder, or the name of a bundle.")],
    source: options.Source = None,
    sentences: Annotated[int, typer.Option(help="Held-out sentences to read, at most.", min=2)] = 1000,
    only: Annotated[
        str, typer.Option(help=f"Stages, with commas: {', '.join(STAGES)}.", show_default="all")
    ] = "",
    work: Annotated[Path, typer.Option(help="Where an unfinished run keeps what it has.")] = Path(
        "runs/heads"
    ),
    restart: Annotated[
        bool, typer.Option("--restart", help="Measure again what the bundle already has.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Measure every head over held-out sentences and keep the numbers in the bundle.

    Each stage is kept as it ends; a run that was stopped goes on where it was. Stages: metrics (what heads
    look at, beside random weights), costs (gradient importance, and loss and BLEU without the head), links
    (for the search on the page), pruning (loss and BLEU with ever fewer heads), alignments (error rates of
    cross heads; left out where eflomal is not installed, unless --only asks for it).
    """
    from atlas.analysis.heads.sample import held_out
    from atlas.analysis.heads.silver import NoAligner
    from atlas.measurements import load_measurement, save_measurement

    engine = load_engine(checkpoint)
    engine.model  # noqa: B018 - a recurrent model ends here with one line
    sample = held_out(engine.bundle, source, sentences)
    found: dict[str, Measurement] = {}
    for stage in _chosen(only):
        module: Any = import_module(f"atlas.analysis.heads.{STAGES[stage]}")
        folder = work / f"{engine.name}-{engine.hash[:12]}-{sample.digest[:12]}" / stage
        kept = None if restart else load_measurement(engine.folder, module.NAME, engine.hash)
        if kept is not None and kept.command == sample.command(engine.name):
            tell(f"{stage}: already measured")
            found[stage] = kept
            shutil.rmtree(folder, ignore_errors=True)  # of a run that was killed right after it was kept
            continue
        if restart:
            shutil.rmtree(folder, ignore_errors=True)
        try:
            with progress(stage, _UNITS[stage]) as report:
                measured = module.measure(engine, sample, work=folder, report=report)
        except NoAligner as error:
            if only:
                raise
            tell(f"{stage} left out: {error}")
            continue
        save_measurement(engine.folder, measured)
        shutil.rmtree(folder, ignore_errors=True)
        found[stage] = measured
    if as_json:
        say_json(
            {"model": engine.name, "sentences": len(sample)}
            | {
                stage: {
                    "facts": dict(one.facts),
                    **{name: array.tolist() for name, array in one.arrays.items()},
                }
                for stage, one in found.items()
            }
        )
        return
    say(f"{engine.name}: {len(sample):,} held-out sentences of {sample.corpus}")
    for stage, one in found.items():
        say(f"{stage}:")
        for line in import_module(f"atlas.analysis.heads.{STAGES[stage]}").summary(one):
            say(f"  {line}")
