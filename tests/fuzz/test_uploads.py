"""Any bytes under any name: rows that can be shown and written again, or one clear line. No bomb goes off."""

from __future__ import annotations

import csv
import io
import json
import resource
import zipfile
from collections.abc import Callable

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas import limits
from atlas.text.files import FORMATS, FileProblem, Upload, read_upload
from atlas.text.tables import TABLE_FORMATS, write_table
from tests.fuzz.conftest import FUZZ
from tests.fuzz.strategies import NAMES, file_bytes, sentences

FORMULAS = (
    "=1+1",
    "+1",
    "-1+cmd|' /C calc'!A0",
    "@SUM(1)",
    "\t=1",
    "\r=1",
    "\n=1",
    " =1",
    "＝1",
    "＠a",
    "'=1",
    "=",
    "-",
)


def sound(upload: Upload) -> None:
    """Whatever column is chosen, every row is there, can be shown, and has one line of trouble at most."""
    assert 0 < len(upload) <= limits.ROWS.value
    assert 0 < len(upload.columns) <= limits.COLUMNS.value
    assert len(set(upload.columns)) == len(upload.columns)
    for column in {upload.suggested, 0, len(upload.columns) - 1}:
        rows = upload.sentences(column)
        assert len(rows) == len(upload)
        for row in rows:
            row.text.encode()
            assert row.problem is None or "\n" not in row.problem
            assert row.problem or (row.text.strip() and len(row.text) <= limits.SENTENCE.value)
    "".join([*upload.columns, *upload.notes]).encode()


def read(name: str, data: bytes) -> None:
    """Read an upload, with its header and without."""
    try:
        upload = read_upload(name, data)
    except FileProblem as problem:
        message = str(problem)
        assert len(message.splitlines()) == 1 and len(message) < 2_001
        return
    sound(upload)
    if upload.can_have_header:
        try:
            sound(upload.with_header(not upload.header))
        except FileProblem as problem:
            assert "no row under them" in str(problem) or "the limit is" in str(problem)


@given(name=st.sampled_from(NAMES), data=file_bytes)
@FUZZ
def test_any_bytes_under_any_name(name: str, data: bytes) -> None:
    read(name, data)


def workbook() -> bytes:
    book = openpyxl.Workbook()
    for row in (["text", "id"], ["Hello.", 1], ["=1+1", None], ["café", True]):
        book.active.append(row)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


WORKBOOK = workbook()


def with_part(name: str, content: bytes, data: bytes = WORKBOOK, **more: bytes) -> bytes:
    """The workbook with one part replaced, and others added."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.namelist():
            new.writestr(part, content if part == name else old.read(part))
        for part, extra in more.items():
            new.writestr(part, extra)
    return buffer.getvalue()


@given(st.data())
@FUZZ
def test_damaged_workbooks(data: st.DataObject) -> None:
    whole = bytearray(WORKBOOK)
    for _ in range(data.draw(st.integers(1, 6))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    read("a.xlsx", bytes(whole[: data.draw(st.integers(1, len(whole)))]))
    read("a.xlsx", bytes(whole))


@given(st.sampled_from(zipfile.ZipFile(io.BytesIO(WORKBOOK)).namelist()), st.data())
@FUZZ
def test_workbooks_with_one_odd_part(part: str, data: st.DataObject) -> None:
    content = bytearray(zipfile.ZipFile(io.BytesIO(WORKBOOK)).read(part))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content)))
        odd = [
            b"<",
            b"&#0;",
            b"&x;",
            b'"',
            b"99999999999",
            b"-1",
            b"NaN",
            b"\xff",
            b"</row>",
            b"<c r='ZZZ9'/>",
        ]
        content[place:place] = data.draw(st.sampled_from(odd))
    read("a.xlsx", with_part(part, bytes(content)))


SHEET = (
    b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
    b"%s<sheetData>%s</sheetData></worksheet>"
)


def cell(place: bytes, text: bytes = b"a") -> bytes:
    return b'<c r="%s" t="inlineStr"><is><t>%s</t></is></c>' % (place, text)


def sheet(rows: bytes, dimension: bytes = b"") -> bytes:
    return with_part("xl/worksheets/sheet1.xml", SHEET % (dimension, rows))


def entity_bomb() -> bytes:
    names = [f'<!ENTITY a{n} "{f"&a{n - 1};" * 10 if n else "ha"}">' for n in range(12)]
    text = f'<?xml version="1.0"?><!DOCTYPE x [{"".join(names)}]><sst><si><t>&a11;</t></si></sst>'
    return with_part("xl/sharedStrings.xml", text.encode())


BOMBS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "a part of a gigabyte": ("b.xlsx", lambda: with_part("xl/worksheets/sheet1.xml", b"\0" * 10**8)),
    "a thousand parts": ("b.xlsx", lambda: with_part("", b"", **{f"p{n}.xml": b"" for n in range(1_001)})),
    "a ZIP in a ZIP": ("b.xlsx", lambda: with_part("xl/worksheets/sheet1.xml", WORKBOOK)),
    "entities": ("b.xlsx", entity_bomb),
    "a billion declared rows": (
        "b.xlsx",
        lambda: sheet(b'<row r="1">%s</row>' % cell(b"A1"), b'<dimension ref="A1:XFD1000000000"/>'),
    ),
    "a row that says it is the billionth": (
        "b.xlsx",
        lambda: sheet(b'<row r="1000000000">%s</row>' % cell(b"A1000000000")),
    ),
    "the last row there is": ("b.xlsx", lambda: sheet(b'<row r="1048576">%s</row>' % cell(b"A1048576"))),
    "the last column there is": ("b.xlsx", lambda: sheet(b'<row r="1">%s</row>' % cell(b"XFD1"))),
    "a column that does not exist": ("b.xlsx", lambda: sheet(b'<row r="1">%s</row>' % cell(b"ZZZZZZZ1"))),
    "a shared string that is not there": (
        "b.xlsx",
        lambda: sheet(b'<row r="1"><c r="A1" t="s"><v>999999999</v></c></row>'),
    ),
    "a million columns": ("b.csv", lambda: b"a," * 10**6 + b"\n" + b"b," * 10**6),
    "a million columns of tabs": ("b.tsv", lambda: b"\t" * 10**6 + b"a"),
    "one huge line": ("b.txt", lambda: b"a" * 9_999_999),
    "one huge cell": ("b.csv", lambda: b'text,id\n"' + b"a" * 9_000_000 + b'",1\n'),
    "only quotes": ("b.csv", lambda: b'"' * 5_000_000),
    "only line ends": ("b.csv", lambda: b"\n" * 4_000_000 + b"a"),
    "lone carriage returns": ("b.txt", lambda: b"a\r" * 10_001),
    "NUL": ("b.txt", lambda: b"\0" * 9_000_000),
    "deep lists": ("b.jsonl", lambda: b"[" * 4_000_000),
    "deep objects": ("b.jsonl", lambda: b'{"a":' * 1_000_000 + b"1" + b"}" * 1_000_000),
    "a number of a million digits": ("b.jsonl", lambda: b"9" * 10**6),
    "more keys than columns": (
        "b.jsonl",
        lambda: json.dumps({f"k{n}": "a" for n in range(200_000)}).encode(),
    ),
    "UTF-16 without a mark, half a pair": (
        "b.txt",
        lambda: "a\ud83eb ".encode("utf-16-le", "surrogatepass") * 9,
    ),
    "UTF-32 without a mark": ("b.txt", lambda: "Hello there.".encode("utf-32-le")),
}


@pytest.mark.parametrize("what", BOMBS)
def test_bombs(what: str) -> None:
    name, make = BOMBS[what]
    data = make()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    read(name, data)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert grown < 600 * 2**20


def test_what_is_over_the_limit_is_not_even_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atlas.text.files.decode", lambda *_: pytest.fail("it was decoded"))
    monkeypatch.setattr("atlas.text.files.read_xlsx", lambda *_: pytest.fail("it was unpacked"))
    for kind in FORMATS:
        with pytest.raises(FileProblem, match="the limit is 10 MB"):
            read_upload(f"a.{kind}", b"a" * (limits.UPLOAD.value + 1))


# --- what we write back


def in_spreadsheet(data: bytes, kind: str) -> list[list[object]]:
    """The cells as a spreadsheet gets them; a formula would have the data type "f"."""
    if kind == "xlsx":
        book = openpyxl.load_workbook(io.BytesIO(data))
        assert all(one.data_type != "f" for row in book.active.iter_rows() for one in row)
        return [[one.value for one in row] for row in book.active.iter_rows()]
    text = io.StringIO(data.decode("utf-8-sig"), newline="")
    return [list(row) for row in csv.reader(text, delimiter="," if kind == "csv" else "\t")]


@pytest.mark.parametrize("kind", ["csv", "tsv", "xlsx"])
@pytest.mark.parametrize("text", FORMULAS)
def test_no_cell_of_ours_runs_in_a_spreadsheet(kind: str, text: str) -> None:
    table = in_spreadsheet(write_table({text: [text], "translation": [text], "score": [-1.5]}, kind), kind)
    for found in (table[0][0], table[1][0], table[1][1]):
        assert isinstance(found, str)
        if kind != "xlsx":
            assert not found.lstrip(" \n").startswith(("=", "+", "-", "@", "\t", "\r", "＝", "＠"))
    assert float(str(table[1][2])) == -1.5, "a number stays a number"


@given(text=st.one_of(st.sampled_from(FORMULAS), sentences), kind=st.sampled_from(TABLE_FORMATS))
@FUZZ
def test_what_we_write_can_be_read_back(text: str, kind: str) -> None:
    data = write_table({"text": [text, "Hello there."], "id": [1, 2]}, kind)
    rows = read_upload(f"a.{kind}", data).sentences("text")
    assert len(rows) == 2 and rows[1].text == "Hello there."
    if rows[0].problem is None and kind == "jsonl":
        assert rows[0].text == text
    elif rows[0].problem is None and text.isprintable():
        assert rows[0].text in (text, "'" + text)


@given(st.lists(st.lists(sentences, min_size=1, max_size=4), min_size=1, max_size=4))
@FUZZ
def test_any_table_of_anyone_s(table: list[list[str]]) -> None:
    for delimiter, name in ((",", "a.csv"), ("\t", "a.tsv"), (";", "a.csv")):
        buffer = io.StringIO(newline="")
        csv.writer(buffer, delimiter=delimiter).writerows(table)
        read(name, buffer.getvalue().encode("utf-8", "surrogatepass"))
