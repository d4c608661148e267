"""``atlas train``: from a configuration to a bundle."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import atlas
from atlas.commands import options
from atlas.commands.output import say_json
from atlas.errors import AtlasError
from atlas.memory import keep_freed_memory

if TYPE_CHECKING:
    from atlas.training.config import TrainingConfig

# An installed wheel has the shipped configurations inside the package, a checkout next to it.
_PACKAGE = Path(atlas.__file__).resolve().parent
_SHIPPED = (_PACKAGE / "configs", _PACKAGE.parent / "configs")


def _configuration(wanted: str) -> TrainingConfig:
    """A TOML file, or one of the shipped ones by name.

    Raises:
        AtlasError: there is none, or it cannot be followed.
    """
    path = Path(wanted)
    shipped = {file.stem: file for folder in _SHIPPED for file in sorted(folder.glob("*.toml"))}
    if not path.is_file() and wanted not in shipped:
        raise AtlasError(f"{wanted}: no such file; shipped configurations are {', '.join(shipped) or 'none'}")

    from atlas.training.config import TrainingConfig

    return TrainingConfig.load(path if path.is_file() else shipped[wanted])


def run(
    config: Annotated[str, typer.Argument(help="TOML file, or the name of a shipped configuration.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder of the bundle.", show_default="checkpoints/NAME")
    ] = None,
    runs: Annotated[
        Path | None,
        typer.Option(
            "--run", help="Folder of the run's states, resumed if it is there.", show_default="runs/NAME"
        ),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from", help="Folder with a local copy of the corpus. Otherwise $ATLAS_DATA, then downloads."
        ),
    ] = None,
    init: Annotated[Path | None, typer.Option(help="Bundle to go on from, with a fresh optimiser.")] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume/--restart", help="Go on with an unfinished run, or throw it away and begin again."
        ),
    ] = True,
    max_minutes: Annotated[
        float | None,
        typer.Option(
            help="Stop after this much training, all sittings together, and write the bundle.", min=0.0
        ),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(help="cpu, cuda or mps.", show_default="$ATLAS_DEVICE, then the best there is"),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Train a model, or go on training one, and write its bundle.

    Several processes or graphics cards: torchrun --nproc-per-node 2 -m atlas.cli train CONFIG
    """
    settings = _configuration(config)
    folder = out or Path("checkpoints") / settings.name
    states = runs or Path("runs") / settings.name

    from atlas.training.run import train_from_config

    keep_freed_memory()
    written = train_from_config(
        settings,
        out=folder,
        run=states,
        source=source,
        init=init,
        device=device,
        max_minutes=max_minutes,
        restart=not resume,
    )
    if as_json and written is not None:  # of several processes one writes, and speaks
        from atlas.checkpoint import read_description

        say_json({"bundle": str(written), **read_description(written)["training"]})
