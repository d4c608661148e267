"""Trace files from strangers: a valid trace, or one clear line; never a pickle, a bomb, or a loop."""

from __future__ import annotations

import dataclasses
import io
import pickle
import resource
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas import limits
from atlas.errors import AtlasError
from atlas.trace import Trace
from atlas.ui.saved import read_saved
from tests.fuzz.conftest import FUZZ
from tests.trace.test_storage import FILE, TRACE, members, npy, packed, saved, with_header
from tests.traces import make_trace, same

SMALL = saved(make_trace(source="a b", target="c d", extras=True))
PARTS = members(SMALL)


class Bomb:
    """A pickle that would write a file."""

    def __reduce__(self) -> Any:
        return (open, ("/tmp/atlas-was-here", "w"))


def read(data: bytes) -> Trace | None:
    """A trace that keeps every promise, or None after one clear line."""
    try:
        trace = read_saved("a.npz", data).trace
    except AtlasError as error:
        assert len(str(error).splitlines()) == 1 and len(str(error)) < 2_001
        return None
    trace.validate()
    for node in range(len(trace.search)):
        assert len(trace.ancestors(node)) <= len(trace.search)
    return trace


def test_what_we_wrote_is_read() -> None:
    whole = read(FILE)
    assert whole is not None and same(whole, TRACE)


@given(data=st.binary(max_size=400))
@FUZZ
def test_any_bytes(data: bytes) -> None:
    assert read(data) is None


@given(st.data())
@FUZZ
def test_flipped_and_missing_bytes(data: st.DataObject) -> None:
    damaged = bytearray(SMALL)
    for _ in range(data.draw(st.integers(1, 8))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= data.draw(st.integers(1, 255))
    read(bytes(damaged))
    assert read(SMALL[: data.draw(st.integers(0, len(SMALL) - 1))]) is None


KINDS = (
    "<f8",
    "<f4",
    "<f2",
    "<i8",
    "<i4",
    "|i1",
    "|u1",
    "|b1",
    "<U4",
    "|S3",
    "<c8",
    "<M8[s]",
    "|O",
    ">f4",
    "|V7",
)
SHAPES = [(), (0,), (1,), (2, 0, 3), (-1, -1), (2**62, 2**62, 2**62), (1,) * 33, (10**9,), (True,), (3, 2)]


@given(
    name=st.sampled_from(sorted(PARTS)),
    kind=st.sampled_from(KINDS),
    shape=st.sampled_from(SHAPES),
    data=st.data(),
)
@FUZZ
def test_arrays_of_any_type_that_claim_any_shape(
    name: str, kind: str, shape: tuple, data: st.DataObject
) -> None:
    text = f"{{'descr': '{kind}', 'fortran_order': {data.draw(st.booleans())}, 'shape': {shape}, }}"
    header = (text + " " * (-(len(text) + 11) % 64) + "\n").encode()
    content = (
        b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data.draw(st.binary(max_size=64))
    )
    read(packed(PARTS | {name: content}))


@given(name=st.sampled_from(sorted(PARTS)), data=st.data())
@FUZZ
def test_arrays_of_the_right_type_that_hold_anything(name: str, data: st.DataObject) -> None:
    array = np.load(io.BytesIO(PARTS[name])).copy()
    flat = array.reshape(-1)
    odd = [0, -1, 1, 2, 127] if array.dtype.kind in "iub" else [np.nan, np.inf, -np.inf, -1.0, 1e30, 0.0]
    if array.dtype == np.int32:
        odd += [2**31 - 1, -(2**31)]
    for _ in range(data.draw(st.integers(1, 3)) if len(flat) else 0):
        flat[data.draw(st.integers(0, len(flat) - 1))] = np.array(data.draw(st.sampled_from(odd))).astype(
            array.dtype
        )
    read(packed(PARTS | {name: npy(array)}))


@given(
    name=st.sampled_from(
        [field.name for field in dataclasses.fields(TRACE.header)] + ["schema_version", "source"]
    )
    | st.sampled_from(
        ["source_tokens", "vocabulary", "special_ids", "end_id", "rows_kept", "header", "format"]
    ),
    value=st.recursive(
        st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=8),
        lambda inside: (
            st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=4), inside, max_size=3)
        ),
        max_leaves=6,
    ),
)
@FUZZ
def test_any_header(name: str, value: object) -> None:
    read(with_header(**{name: value}))
    read(with_header(header={**dataclasses.asdict(TRACE.header), name: value}))


def header_of(text: bytes) -> bytes:
    return packed(PARTS | {"header.npy": npy(np.frombuffer(text, np.uint8))})


def parents_in_a_ring() -> bytes:
    parents = np.load(io.BytesIO(PARTS["search.parent.npy"])).copy()
    parents[1], parents[2] = 2, 1
    return packed(PARTS | {"search.parent.npy": npy(parents)})


def zeros(size: int) -> bytes:
    """A file of a megabyte at most that unpacks to ``size`` bytes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in PARTS.keys() - {"extras.logits.npy"}:
            archive.writestr(name, PARTS[name])
        with archive.open("extras.logits.npy", "w", force_zip64=True) as member:
            text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({size // 4},), }}".ljust(117) + "\n"
            member.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode())
            for _ in range(size // 2**20):
                member.write(bytes(2**20))
    return file.getvalue()


BOMBS: dict[str, Callable[[], bytes]] = {
    "unpacks to too much": lambda: zeros(limits.TRACE_UNPACKED.value + 2**20),
    "unpacks to much": lambda: zeros(32 * 2**20),
    "a pickle for a file": lambda: pickle.dumps(Bomb()),
    "a pickle for an array": lambda: packed(PARTS | {"encoder.npy": pickle.dumps(Bomb())}),
    "an array of objects": lambda: packed(
        PARTS | {"encoder.npy": npy(np.array([Bomb()], object), allow_pickle=True)}
    ),
    "deep JSON": lambda: header_of(b"[" * 2_000_000),
    "a number of a million digits": lambda: header_of(b'{"format": ' + b"9" * 10**6 + b"}"),
    "half a character": lambda: with_header(source="\ud83e"),
    "a long source": lambda: with_header(source="a" * 10**6),
    "parents in a ring": parents_in_a_ring,
    "a name that leads out": lambda: packed(PARTS | {"../../tmp/atlas-was-here.npy": npy(np.zeros(1))}),
    "two thousand arrays": lambda: packed(
        PARTS | {f"extras.{n}.npy": npy(np.zeros(1)) for n in range(2_000)}
    ),
    "a workbook": lambda: packed({"[Content_Types].xml": b"<Types/>"}),
    "more than the limit": lambda: FILE + bytes(limits.TRACE.value),
}


@pytest.mark.parametrize("what", BOMBS)
def test_bombs(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.ENVIRONMENT, "trace-unpacked=100MiB")
    data = BOMBS[what]()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert read(data) is None
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert grown < 400 * 2**20
