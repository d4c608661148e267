"""Options that several commands share, with the same words and the same defaults."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from atlas.bundles import choose_bundle
from atlas.memory import keep_freed_memory

if TYPE_CHECKING:
    from atlas.decoding import SearchOptions
    from atlas.engine import Engine


class Method(StrEnum):
    """How the next token is chosen."""

    beam = "beam"
    greedy = "greedy"
    sample = "sample"


class Penalty(StrEnum):
    """What a hypothesis' log-probability is divided by."""

    gnmt = "gnmt"
    average = "average"
    none = "none"


class Stop(StrEnum):
    """When a beam search ends."""

    exact = "exact"
    first = "first"


_SEARCH = "Search"
_SAMPLING = "Sampling"

Checkpoint = Annotated[
    str | None,
    typer.Option(
        help="Bundle: a folder, or the name of one that is found in $ATLAS_CHECKPOINTS or ./checkpoints.",
        show_default="en-fr",
    ),
]
Source = Annotated[
    Path | None,
    typer.Option("--from", help="Folder with the corpora. Otherwise $ATLAS_DATA, then the cache."),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object and nothing else on standard output.")
]
MethodOption = Annotated[Method, typer.Option(help="How the next token is chosen.", rich_help_panel=_SEARCH)]
Beam = Annotated[int, typer.Option(help="Beam width.", min=1, rich_help_panel=_SEARCH)]
PenaltyOption = Annotated[Penalty, typer.Option(help="Length penalty.", rich_help_panel=_SEARCH)]
Alpha = Annotated[float, typer.Option(help="Strength of the gnmt penalty.", min=0.0, rich_help_panel=_SEARCH)]
StopOption = Annotated[
    Stop,
    typer.Option(help="End when nothing better can come, or at the first finished.", rich_help_panel=_SEARCH),
]
MaxLength = Annotated[
    int | None,
    typer.Option(
        help="Most tokens of a translation.",
        min=1,
        show_default="grows with the text",
        rich_help_panel=_SEARCH,
    ),
]
NBest = Annotated[
    int,
    typer.Option(
        "--nbest", "--n-best", help="Translations to keep of each sentence.", min=1, rich_help_panel=_SEARCH
    ),
]
Temperature = Annotated[
    float, typer.Option(help="Below 1 sharpens, above 1 flattens.", min=0.0, rich_help_panel=_SAMPLING)
]
TopK = Annotated[
    int, typer.Option(help="Choose among the k likeliest; 0 for all.", min=0, rich_help_panel=_SAMPLING)
]
TopP = Annotated[
    float,
    typer.Option(
        help="Choose among the likeliest that reach p together.", min=0.0, max=1.0, rich_help_panel=_SAMPLING
    ),
]
Seed = Annotated[int, typer.Option(help="Same seed, same translation.", min=0, rich_help_panel=_SAMPLING)]


def search_options(**values: Any) -> SearchOptions:
    """The engine's options from the command line's."""
    from atlas.decoding import SearchOptions

    plain: dict[str, Any] = {
        name: value.value if isinstance(value, StrEnum) else value for name, value in values.items()
    }
    return SearchOptions(**plain)


def load_engine(checkpoint: str | None, device: str | None = None) -> Engine:
    """The engine of the bundle asked for, on a device (by default the best there is).

    Raises:
        AtlasError: there is none, or it is damaged, or there is no such device.
    """
    path = choose_bundle(checkpoint)

    from atlas.engine import Engine

    keep_freed_memory()
    return Engine.load(path, device)
