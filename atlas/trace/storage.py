"""One file on disk for a trace: a ``.npz`` (a zip of ``.npy`` arrays) that never needs pickle.

Member ``header`` is UTF-8 JSON kept as uint8; the others are the arrays, named ``encoder``, ``hypotheses``,
``search.FIELD`` and ``extras.POINT``. Reading trusts nothing: member names, sizes, types and versions are
checked before an array is allocated, and the result is validated, so a file from a stranger can do no more
than be refused.
"""

from __future__ import annotations

import json
import os
import tempfile
import tokenize
import zipfile
import zlib
from dataclasses import asdict, fields
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from atlas import limits
from atlas.trace.errors import TraceError
from atlas.trace.pieces import Token
from atlas.trace.schema import READABLE, Header, Search
from atlas.trace.trace import Trace

FORMAT = "attention-atlas-trace"
#: What the zip reader lets through from a damaged archive (a ValueError for a negative place in the file).
_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError, RuntimeError)
#: What NumPy lets through from the header of a damaged ``.npy``, which it reads as a Python literal.
_HEADER_ERRORS = (ValueError, SyntaxError, TypeError, RecursionError, MemoryError, tokenize.TokenError)
SEARCH_FIELDS = tuple(field.name for field in fields(Search))


def save(trace: Trace, target: str | PathLike[str] | BinaryIO) -> None:
    """Validate ``trace`` and write it; a path is written beside and moved into place: never half a file.

    Raises:
        TraceError: the trace is not valid, or its settings are not JSON.
    """
    trace.validate()
    arrays: dict[str, Any] = {
        "header": _header_bytes(trace),
        "encoder": trace.encoder,
        "hypotheses": trace.hypotheses,
    }
    arrays |= {f"search.{name}": getattr(trace.search, name) for name in SEARCH_FIELDS}
    arrays |= {f"extras.{name}": points for name, points in trace.extras.items()}
    if not isinstance(target, str | PathLike):
        np.savez_compressed(target, allow_pickle=False, **arrays)
        return
    path = Path(target)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def load(source: str | PathLike[str] | BinaryIO) -> Trace:
    """Read a trace and validate it.

    Raises:
        TraceError: one line saying what is wrong with the file.
        OSError: the path cannot be opened.
    """
    try:
        with zipfile.ZipFile(source) as archive:
            arrays = _read_arrays(archive)
    except TraceError:
        raise
    except _ZIP_ERRORS as error:
        raise TraceError(f"not a trace file, or a damaged one: {error}") from error
    trace = _build(arrays)
    trace.validate()
    return trace


def _header_bytes(trace: Trace) -> NDArray[np.uint8]:
    content = {
        "format": FORMAT,
        "schema_version": trace.header.schema_version,
        "header": asdict(trace.header),
        "source": trace.source,
        "source_tokens": [asdict(token) for token in trace.source_tokens],
        "vocabulary": {str(number): piece for number, piece in trace.vocabulary.items()},
        "special_ids": sorted(trace.special_ids),
        "end_id": trace.end_id,
        "rows_kept": trace.rows_kept,
    }
    try:
        text = json.dumps(content, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise TraceError(f"header.settings is not JSON: {error}") from error
    return np.frombuffer(text.encode(), np.uint8)


def _read_arrays(archive: zipfile.ZipFile) -> dict[str, NDArray[Any]]:
    """All members by name, their declared sizes checked before anything is unpacked."""
    members = archive.infolist()
    if (total := sum(member.file_size for member in members)) > limits.TRACE_UNPACKED.value:
        most = limits.TRACE_UNPACKED.value
        raise TraceError(f"the file unpacks to {total:,} bytes; a trace has at most {most:,}")
    arrays: dict[str, NDArray[Any]] = {}
    for member in members:
        name = member.filename.removesuffix(".npy")
        if name in arrays or name == member.filename:
            raise TraceError(f"{member.filename!r} is not an array of a trace, or is there twice")
        arrays[name] = _read_array(archive, member, name)
    return arrays


def _read_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> NDArray[Any]:
    """One ``.npy`` member whose header agrees with its size."""
    with archive.open(member) as file:
        try:
            major, _ = np.lib.format.read_magic(file)
            if major != 1:
                raise TraceError(f"{name}: npy version {major} is not used by traces")
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
        except TraceError:
            raise
        except _HEADER_ERRORS as error:
            raise TraceError(f"{name} is not a NumPy array: {error}") from error
        if dtype.hasobject or dtype.kind not in "bifu":
            raise TraceError(f"{name} has type {dtype}; a trace holds numbers only")
        if not all(type(size) is int for size in shape):
            raise TraceError(f"{name} claims shape {shape}, which is no shape")
        count = 1
        for size in shape:
            count *= size
        size = count * dtype.itemsize
        if min(shape, default=0) < 0 or size > member.file_size:
            raise TraceError(f"{name} claims shape {shape}, more than the file holds")
        data = file.read(size)
        if len(data) != size or file.read(1):
            raise TraceError(f"{name} holds another number of bytes than its shape {shape} needs")
    points = np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C")
    return points.astype(dtype.newbyteorder("="), order="C")


def _build(arrays: dict[str, NDArray[Any]]) -> Trace:
    """A trace from named arrays; types and shapes of the arrays are left to the validator."""
    content = _parse_header(arrays.pop("header", None))
    for name in ("encoder", "hypotheses", *(f"search.{field}" for field in SEARCH_FIELDS)):
        if name not in arrays:
            raise TraceError(f"{name} is missing from the file")
    encoder, hypotheses = arrays.pop("encoder"), arrays.pop("hypotheses")
    search = Search(**{field: arrays.pop(f"search.{field}") for field in SEARCH_FIELDS})
    foreign = [name for name in arrays if not name.startswith("extras.")]
    if foreign:
        raise TraceError(f"{foreign[0]!r} is not an array of a trace")
    try:
        return Trace(
            header=Header(**content["header"]),
            source=content["source"],
            source_tokens=tuple(Token(**token) for token in content["source_tokens"]),
            encoder=encoder,
            search=search,
            hypotheses=hypotheses,
            vocabulary={int(number): piece for number, piece in content["vocabulary"].items()},
            special_ids=frozenset(content["special_ids"]),
            end_id=content["end_id"],
            extras={name.removeprefix("extras."): points for name, points in arrays.items()},
            rows_kept=content["rows_kept"],
        )
    except KeyError as error:
        raise TraceError(f"header: {error.args[0]!r} is missing") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise TraceError(f"header: {error}") from error


def _parse_header(raw: NDArray[Any] | None) -> dict[str, Any]:
    if raw is None or raw.dtype != np.uint8 or raw.ndim != 1:
        raise TraceError("not a trace file: it has no header")
    if raw.size > (most := limits.TRACE_HEADER.value):
        raise TraceError(f"header has {raw.size:,} bytes; a trace's has at most {most:,}")
    try:
        content = json.loads(raw.tobytes().decode())
    except (ValueError, RecursionError) as error:
        raise TraceError(f"header is not JSON: {error}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise TraceError("not a trace file: its header does not say so")
    if content.get("schema_version") not in READABLE:
        raise TraceError(
            f"schema_version is {content.get('schema_version')!r}; "
            f"this version of Attention Atlas reads {' and '.join(map(str, READABLE))}"
        )
    return content
