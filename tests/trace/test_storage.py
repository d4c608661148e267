"""One file on disk: what is written comes back, and nothing in a file can do harm."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas import limits
from atlas.trace import Trace, TraceError, storage
from tests.trace.test_trace import traces
from tests.traces import EMOJI, HTML_LIKE, make_trace, same

TRACE = make_trace(source=EMOJI, target="J'aime 🦊 !", extras=True)


def saved(trace: Trace = TRACE) -> bytes:
    file = io.BytesIO()
    trace.save(file)
    return file.getvalue()


FILE = saved()


def load(data: bytes) -> Trace:
    return Trace.load(io.BytesIO(data))


def members(data: bytes = FILE) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(content: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return file.getvalue()


def npy(points: Any, *, allow_pickle: bool = False) -> bytes:
    file = io.BytesIO()
    np.save(file, points, allow_pickle=allow_pickle)
    return file.getvalue()


def with_header(**changes: Any) -> bytes:
    content = members()
    header = json.loads(bytes(np.load(io.BytesIO(content["header.npy"]))))
    header = {name: value for name, value in (header | changes).items() if value is not ...}
    content["header.npy"] = npy(np.frombuffer(json.dumps(header).encode(), np.uint8))
    return packed(content)


def refused(data: bytes, message: str) -> None:
    with pytest.raises(TraceError, match=message) as caught:
        load(data)
    assert "\n" not in str(caught.value)


@settings(max_examples=25, deadline=None)
@given(traces(), st.booleans())
def test_what_is_saved_is_what_is_loaded(trace: Trace, n_best_only: bool):
    trace = trace.with_n_best_rows_only() if n_best_only else trace
    assert same(load(saved(trace)), trace)


@pytest.mark.parametrize("source", [EMOJI, HTML_LIKE, "a\u0301 \u200b\n\t  b"])
def test_texts_and_extras_come_back(source: str):
    trace = make_trace(source=source, target=source, extras=True)
    again = load(saved(trace))
    assert same(again, trace) and again.path().text == trace.path().text


def test_a_path_is_replaced_in_one_move_and_the_same_trace_gives_the_same_bytes(tmp_path: Path):
    path = tmp_path / "run.trace"
    path.write_text("old")
    TRACE.save(path)
    assert path.read_bytes() == FILE and [child.name for child in tmp_path.iterdir()] == ["run.trace"]
    assert same(Trace.load(str(path)), TRACE)


def test_a_trace_that_is_not_valid_is_not_written(tmp_path: Path):
    wrong = make_trace()
    wrong.search.step[3] = 9
    with pytest.raises(TraceError, match="search.step: node 3"):
        wrong.save(tmp_path / "x")
    unwritable = make_trace()
    unwritable.header.settings["alpha"] = float("nan")  # type: ignore[index]
    with pytest.raises(TraceError, match="header.settings is not JSON"):
        unwritable.save(tmp_path / "x")
    assert not list(tmp_path.iterdir())


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "run.trace"
    path.write_text("old")

    def full(*_: object, **__: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(storage.np, "savez_compressed", full)
    with pytest.raises(OSError, match="No space left"):
        TRACE.save(path)
    assert path.read_text() == "old" and len(list(tmp_path.iterdir())) == 1


@pytest.mark.case("M5")
def test_a_pickle_in_the_file_is_never_run(tmp_path: Path):
    canary = tmp_path / "ran"

    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (canary,))

    evil = npy(np.array([Evil()], object), allow_pickle=True)
    for name in ("encoder.npy", "header.npy", "extras.logits.npy"):
        refused(packed(members() | {name: evil}), "a trace holds numbers only")
    refused(pickle.dumps(Evil()), "not a trace file")
    refused(packed(members() | {"encoder.npy": pickle.dumps(Evil())}), "encoder is not a NumPy array")
    assert not canary.exists()


def test_a_file_that_unpacks_to_too_much_is_refused_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(limits.ENVIRONMENT, "trace-unpacked=1000")
    monkeypatch.setattr(storage, "_read_array", lambda *_: pytest.fail("it was unpacked"))
    refused(FILE, "unpacks to [0-9,]+ bytes; a trace has at most 1,000")


def test_an_array_that_claims_a_giant_shape_is_refused_before_it_is_allocated():
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 1000000, 1000000), }"
    header += b" " * (117 - len(header)) + b"\n"
    giant = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    refused(packed(members() | {"encoder.npy": giant}), "encoder claims shape .* more than the file holds")


@pytest.mark.case("M6")
def test_what_is_missing_foreign_or_newer_is_named():
    without = {name: data for name, data in members().items() if name != "search.rank.npy"}
    refused(packed(without), "search.rank is missing")
    refused(packed({}), "it has no header")
    refused(packed(members() | {"notes.npy": npy(np.zeros(1))}), "'notes' is not an array of a trace")
    refused(packed(members() | {"readme.txt": b"hello"}), "'readme.txt' is not an array of a trace")
    refused(packed(members() | {"extras.what.npy": npy(np.zeros(1))}), "'what', which is no named point")
    refused(packed(members() | {"header.npy": npy(np.zeros(3, np.uint8))}), "header is not JSON")
    refused(
        with_header(schema_version=3), "schema_version is 3; this version of Attention Atlas reads 1 and 2"
    )
    refused(with_header(format="other"), "its header does not say so")
    refused(with_header(source=...), "'source' is missing")
    refused(with_header(header={"a": 1}), "header: .*unexpected keyword")
    refused(with_header(vocabulary={"x": "y"}), "header: invalid literal")
    refused(with_header(special_ids=[[0]]), "header: unhashable")
    refused(with_header(source_tokens=[5]), "header: ")
    refused(with_header(rows_kept=["all"]), "rows_kept is ")
    refused(b"", "not a trace file")
    refused(b"PK\x03\x04", "not a trace file")


def test_other_byte_orders_and_layouts_of_the_same_numbers_are_read():
    content = members()
    encoder = np.load(io.BytesIO(content["encoder.npy"]))
    content["encoder.npy"] = npy(np.asfortranarray(encoder.astype(">f4")))
    assert same(load(packed(content)), TRACE)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_damaged_file_is_refused_or_reads_the_same(data: st.DataObject):
    """Flip bytes, or cut the end off: one clear error, or (in unused bytes of the zip) no effect."""
    damaged = bytearray(FILE)
    for place in data.draw(st.lists(st.integers(0, len(damaged) - 1), min_size=1, max_size=4)):
        damaged[place] ^= data.draw(st.integers(1, 255))
    damaged = damaged[: data.draw(st.integers(0, len(damaged)) | st.just(len(damaged)))]
    try:
        trace = load(bytes(damaged))
    except TraceError as error:
        assert str(error)
    else:
        assert same(trace, TRACE)


def test_a_file_that_is_not_there_is_the_systems_error(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        Trace.load(tmp_path / "none")


def test_a_trace_of_the_first_schema_still_opens():
    old = load(with_header(schema_version=1))
    assert old.header.schema_version == TRACE.header.schema_version  # read as one of today
    assert old.source == TRACE.source
