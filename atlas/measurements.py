"""What was measured about a bundle, kept in it: small files that a page opens without computing again."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atlas.errors import AtlasError
from atlas.whole import whole_file

FOLDER = "measurements"
FORMAT_VERSION = 1
LARGEST = 32 * 2**20
"""Bytes that one file may hold when unpacked."""
_HEADER = "header"


class MeasurementError(AtlasError):
    """A file of measurements that is damaged, foreign, or belongs to other weights."""


@dataclass(frozen=True)
class Measurement:
    """Numbers about one model.

    Attributes:
        name: what was measured, such as ``units``; the file is ``measurements/NAME.npz``.
        model_hash: of the model that was measured.
        command: what prints it again.
        facts: plain values that JSON can hold: counts, names, texts.
        arrays: by name.
    """

    name: str
    model_hash: str
    command: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)


def save_measurement(bundle: Path | None, measurement: Measurement) -> Path:
    """Write a measurement into a bundle, whole or not at all; returns the file.

    Raises:
        MeasurementError: an array holds Python objects, or the name is taken by the header; the model came
            from no folder.
    """
    if bundle is None:
        raise MeasurementError(f"{measurement.name}: a model that was never stored has no place for it")
    for name, array in measurement.arrays.items():
        if array.dtype.hasobject or name == _HEADER:
            raise MeasurementError(f"{measurement.name}: the array {name!r} cannot be stored")
    header = {
        "format": FORMAT_VERSION,
        "name": measurement.name,
        "model_hash": measurement.model_hash,
        "command": measurement.command,
        "facts": dict(measurement.facts),
    }
    folder = bundle / FOLDER
    folder.mkdir(exist_ok=True)
    file = folder / f"{measurement.name}.npz"
    text = np.frombuffer(json.dumps(header, ensure_ascii=False).encode(), np.uint8)
    with whole_file(file) as partial, partial.open("wb") as out:
        np.savez_compressed(out, **{_HEADER: text}, **dict(measurement.arrays))  # type: ignore[arg-type]
    return file


def load_measurement(bundle: Path | None, name: str, model_hash: str | None = None) -> Measurement | None:
    """A measurement that a bundle carries; None where it carries none of that name.

    Args:
        bundle: the folder; None (a model that came from no folder) has none.
        model_hash: of the model that is shown; a measurement of other weights is refused. None takes any.

    Raises:
        MeasurementError: the file is damaged, too large, or of other weights.
    """
    file = None if bundle is None else bundle / FOLDER / f"{name}.npz"
    if file is None or not file.is_file():
        return None
    try:
        with zipfile.ZipFile(file) as archive:
            size = sum(item.file_size for item in archive.infolist())
        if size > LARGEST:
            raise MeasurementError(f"{file}: {size:,} bytes when unpacked; at most {LARGEST:,} are read")
        with np.load(file, allow_pickle=False) as stored:
            header = json.loads(stored[_HEADER].tobytes())
            arrays = {key: stored[key] for key in stored.files if key != _HEADER}
        if not isinstance(header, dict) or header["format"] != FORMAT_VERSION or header["name"] != name:
            raise MeasurementError(f"{file}: not a measurement {name!r} of format {FORMAT_VERSION}")
        found = Measurement(name, str(header["model_hash"]), str(header["command"]), header["facts"], arrays)
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile, EOFError) as error:
        raise MeasurementError(f"{file}: cannot be read: {error}") from error
    if model_hash is not None and found.model_hash != model_hash:
        raise MeasurementError(
            f"{file}: measured on other weights than those of this bundle; measure again: {found.command}"
        )
    return found
