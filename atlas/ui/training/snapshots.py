"""The moments of a training that a bundle has kept: which there are, and their models."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from atlas.bundles import find_bundles
from atlas.checkpoint import CONFIG, WEIGHTS, identity, load_bundle, read_description, snapshots
from atlas.engine import Engine
from atlas.errors import AtlasError
from atlas.model import pick_device
from atlas.ui.models import SharedEngine
from atlas.ui.page import Page

IN_MEMORY = 12
"""Models of snapshots that stay loaded, over all sessions."""


class NoSnapshots(AtlasError):
    """A bundle that kept no moment of its training, or does not say how long it was."""


@dataclass(frozen=True)
class Moments:
    """A bundle and the updates at which its weights are known, rising; the last are the final weights."""

    name: str
    path: Path
    steps: tuple[int, ...]

    def engine(self, place: int) -> SharedEngine:
        """The model at ``steps[place]``, from a cache that all sessions share.

        Raises:
            BundleError: the bundle is damaged.
        """
        written = (self.path / CONFIG).stat().st_mtime_ns
        step = None if place == len(self.steps) - 1 else self.steps[place]
        return _load(str(self.path), step, written)


@st.cache_resource(show_spinner="Loading a moment of the training...", max_entries=IN_MEMORY)
def _load(path: str, step: int | None, written: int) -> SharedEngine:
    device = pick_device(None)
    return SharedEngine(Engine(load_bundle(Path(path), device, step=step), device))


def find_moments(page: Page) -> Moments:
    """The moments of the loaded bundle, or else of the first one found that has any.

    Raises:
        NoSnapshots: none has, or the one found does not say how long it was trained.
        BundleError: its description is damaged.
    """
    loaded = page.model.folder
    paths = [*([loaded] if loaded else []), *find_bundles().values()]
    for path in dict.fromkeys(paths):
        kept = sorted(snapshots(path))
        if kept:
            return Moments(path.name, path, _steps(path, kept))
    raise NoSnapshots(
        "None of the models found here carries snapshots of its training. A line such as "
        "snapshots = [8, 80, 750] in a training configuration keeps some."
    )


def _steps(path: Path, kept: list[int]) -> tuple[int, ...]:
    last = read_description(path)["training"].get("steps")
    if not isinstance(last, int):
        raise NoSnapshots(f"{path.name}: its {CONFIG} does not say how many updates it was trained for")
    return (*(step for step in kept if step < last), last)


def snapshot_hashes(path: Path) -> set[str]:
    """The identities of all weights that a bundle carries, final and earlier, as :attr:`Bundle.hash`
    counts them.

    Raises:
        BundleError: its description is damaged.
    """
    description = read_description(path)
    files = [WEIGHTS, *(f"snapshots/{file.name}" for file in snapshots(path).values())]
    return {identity(description, name) for name in files if name in description["hashes"]}
