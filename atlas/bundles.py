"""Where the trained bundles are on this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from atlas.errors import AtlasError

ENVIRONMENT = "ATLAS_CHECKPOINTS"
DEFAULT = "en-fr"


class NoBundle(AtlasError):
    """No trained bundle was found, or none of the name asked for."""


def find_bundles(
    environment: Mapping[str, str] = os.environ, folders: Sequence[Path] | None = None
) -> dict[str, Path]:
    """Where the bundles are, by name.

    Args:
        environment: ``ATLAS_CHECKPOINTS`` in it names folders (separated as in ``PATH``), each a bundle or a
            folder of bundles, and is then the only place that is looked at.
        folders: places to look at otherwise; ``checkpoints`` here and next to the package when not given.

    Returns:
        Name (that of the folder) -> path, sorted by name within each place. Where two places hold the same
        name the first one wins.
    """
    named = environment.get(ENVIRONMENT, "")
    if named:
        folders = [Path(part) for part in named.split(os.pathsep) if part]
    elif folders is None:
        folders = [Path("checkpoints"), Path(__file__).resolve().parents[1] / "checkpoints"]
    found: dict[str, Path] = {}
    for folder in folders:
        inside = sorted(folder.iterdir()) if folder.is_dir() else []
        shown = (path for path in inside if not path.name.startswith("."))  # others are half written
        for path in [folder, *shown]:
            if (path / "config.json").is_file():
                found.setdefault(path.resolve().name, path.resolve())
    return found


def choose_bundle(wanted: str | None, bundles: Mapping[str, Path] | None = None) -> Path:
    """The bundle to work with.

    Args:
        wanted: a folder, or the name of a bundle that :func:`find_bundles` knows; none takes ``en-fr``, or
            else the first.
        bundles: what to choose from; :func:`find_bundles` when not given.

    Raises:
        NoBundle: nothing there; the line says how to get one.
    """
    if wanted is not None and Path(wanted).is_dir():
        return Path(wanted)
    known = find_bundles() if bundles is None else bundles
    if wanted is not None:
        if wanted in known:
            return known[wanted]
        raise NoBundle(
            f"{wanted}: no such folder, and no bundle of that name; known are {', '.join(known) or 'none'}"
        )
    if not known:
        raise NoBundle(
            f"no trained model found: looked in ./checkpoints and ${ENVIRONMENT}; "
            "name one with --checkpoint, or train one with atlas train"
        )
    return known.get(DEFAULT) or next(iter(known.values()))
