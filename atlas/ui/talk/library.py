"""Where tours are: those that ship with the package, a speaker's own, and those of a session."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Final

import atlas
from atlas.errors import AtlasError
from atlas.ui.talk.tour import Tour

ENVIRONMENT: Final = "ATLAS_TOURS"
"""Environment variable: files and folders of tours, separated as in ``PATH``."""

SHIPPED: Final = Path(atlas.__file__).resolve().parent / "tours"
_ENDINGS: Final = (".yaml", ".yml")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}")


@dataclass(frozen=True)
class Tours:
    """What can be played.

    Attributes:
        files: name -> file.
        uploaded: name -> tour, of this session alone; they come first.
        troubles: what was wrong with the places that were looked at, a line each.
    """

    files: Mapping[str, Path] = field(default_factory=dict)
    uploaded: Mapping[str, Tour] = field(default_factory=dict)
    troubles: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """All names, each once."""
        return list(dict.fromkeys((*self.uploaded, *self.files)))

    def load(self, name: str) -> Tour:
        """The tour of that name.

        Raises:
            KeyError: there is none.
            AtlasError: its file cannot be read; one line with the number of the line.
        """
        return self.uploaded[name] if name in self.uploaded else load_tour(self.files[name])


def find_tours(environment: Mapping[str, str] = os.environ, shipped: Path = SHIPPED) -> Tours:
    """The tours by name (that of the file without its ending); a speaker's own come first and hide others of
    the same name.

    Args:
        environment: ``ATLAS_TOURS`` in it names files and folders.
        shipped: the folder of the package's own tours.
    """
    files: dict[str, Path] = {}
    troubles: list[str] = []
    own = [Path(part) for part in environment.get(ENVIRONMENT, "").split(os.pathsep) if part]
    for place in (*own, shipped):
        if place.is_dir():
            inside = sorted(path for path in place.iterdir() if path.suffix in _ENDINGS)
        elif place.is_file():
            inside = [place]
        else:
            troubles.append(f"{ENVIRONMENT} names {place}, and there is no such file or folder")
            continue
        for path in inside:
            try:
                files.setdefault(tour_name(path), path.resolve())
            except AtlasError as error:
                troubles.append(str(error))
    return Tours(files, troubles=tuple(troubles))


def tour_name(path: PurePath) -> str:
    """What a tour is called in the address.

    Raises:
        AtlasError: the file has a name that cannot stand there.
    """
    if path.suffix not in _ENDINGS or not _NAME.fullmatch(path.stem):
        raise AtlasError(
            f"{path.name}: the file of a tour is named with letters, digits, - and _, and ends with .yaml"
        )
    return path.stem


def load_tour(path: Path, models: Sequence[str] = ()) -> Tour:
    """Read a file, or what was read of it before while it has not changed.

    Args:
        path: of the file.
        models: names that stops may use; any, where none is given.

    Raises:
        AtlasError: it is not there or is no tour; a :class:`~atlas.ui.talk.tour.TourError` names the line.
    """
    try:
        state = path.stat()
    except OSError as error:
        raise AtlasError(f"{path}: {error.strerror or error}") from None
    return _read(path, state.st_mtime_ns, state.st_size, tuple(models))


@lru_cache(maxsize=64)
def _read(path: Path, modified: int, size: int, models: tuple[str, ...]) -> Tour:
    from atlas.ui.talk.reading import LARGEST, read_tour

    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise AtlasError(f"{path}: {error.strerror or error}") from None
    return read_tour(path.name, data, models)
