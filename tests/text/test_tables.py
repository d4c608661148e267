"""Tables out: what a spreadsheet opens right and does not run."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas.text.files import FileProblem, read_upload
from atlas.text.tables import MIME_TYPES, TABLE_FORMATS, write_table

FORMULAS = ["=1+1", "+1", "-1+2", "@SUM(A1)", "\tx", "\rx", '=HYPERLINK("http://x")', "＝1"]


@pytest.mark.parametrize("format", TABLE_FORMATS)
def test_a_table_comes_back(format: str) -> None:
    columns = {
        "original": ['The café, "Zoë";\tis open.', "Two\nlines 🦊", "Bye."],
        "translation": ["Le café est ouvert.", "œuvre", "<s> & </s>"],
        "note": ["a", None, "c"],
    }
    upload = read_upload(f"out.{format}", write_table(columns, format))
    assert upload.columns == tuple(columns)
    for name, values in columns.items():
        assert [row.text for row in upload.sentences(name)] == [value or "" for value in values]
    assert format in MIME_TYPES


@pytest.mark.parametrize(("format", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_delimited_text_begins_with_a_mark_and_runs_nothing(format: str, delimiter: str) -> None:
    data = write_table({"=head": FORMULAS, "score": [-0.5] * len(FORMULAS)}, format)
    assert data.startswith(b"\xef\xbb\xbf")
    rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), delimiter=delimiter))
    assert rows[0] == ["'=head", "score"]
    assert rows[1:] == [["'" + formula, "-0.5"] for formula in FORMULAS]


def test_xlsx_stores_formulas_and_errors_as_text() -> None:
    values = [*FORMULAS[:5], "#REF!", "2019", "TRUE"]
    book = openpyxl.load_workbook(io.BytesIO(write_table({"text": values}, "xlsx")))
    cells = [row[0] for row in book.active.iter_rows(min_row=2)]
    assert [cell.value for cell in cells] == values
    assert {cell.data_type for cell in cells} == {"s"}
    assert [cell.quotePrefix for cell in cells] == [True] * 5 + [False] * 3


def test_xlsx_makes_control_characters_visible_and_a_cut_too() -> None:
    values = ["a\x00b\x0bc\x7f", "\ud800x\uffff", "x" * 40_000, "_x0041_"]
    book = openpyxl.load_workbook(io.BytesIO(write_table({"text": values}, "xlsx")))
    stored = [row[0].value for row in book.active.iter_rows(min_row=2)]
    assert stored[:2] == ["a␀b␋c␡", "\\ud800x\\uffff"]
    assert len(stored[2]) == 32_767
    assert stored[2].endswith("x…")
    assert stored[3] == "_x005F_x0041_"
    upload = read_upload("out.xlsx", write_table({"text": values}, "xlsx"))
    assert upload.sentences("text")[3].text == "_x0041_"


@pytest.mark.parametrize("format", TABLE_FORMATS)
def test_numbers_stay_numbers(format: str) -> None:
    columns = {"n": [np.int64(3), 4, True], "x": [np.float32(0.5), float("nan"), -1.25]}
    data = write_table(columns, format)
    if format == "jsonl":
        assert [json.loads(line) for line in data.splitlines()] == [
            {"n": 3, "x": 0.5},
            {"n": 4, "x": None},
            {"n": True, "x": -1.25},
        ]
    elif format == "xlsx":
        rows = list(openpyxl.load_workbook(io.BytesIO(data)).active.iter_rows(min_row=2, values_only=True))
        assert rows == [(3, 0.5), (4, None), (True, -1.25)]
    else:
        assert data.decode("utf-8-sig").split("\r\n")[1:4] == [
            line.replace(",", "," if format == "csv" else "\t") for line in ("3,0.5", "4,", "True,-1.25")
        ]


@given(st.lists(st.text(max_size=30), min_size=1, max_size=5), st.sampled_from(TABLE_FORMATS))
@settings(max_examples=150, deadline=None)
def test_any_text_can_be_written(values: list[str], format: str) -> None:
    data = write_table({"text": values, "n": list(range(len(values)))}, format)
    upload = read_upload(f"out.{format}", data)
    assert len(upload) == len(values)


@given(st.text(max_size=50))
@settings(max_examples=150, deadline=None)
def test_json_lines_lose_nothing(text: str) -> None:
    [line] = write_table({"text": [text]}, "jsonl").splitlines()
    assert json.loads(line) == {"text": text}


def test_wrong_tables_are_refused() -> None:
    with pytest.raises(FileProblem, match="not as 'doc'"):
        write_table({"a": [1]}, "doc")
    with pytest.raises(FileProblem, match="at least one column"):
        write_table({}, "csv")
    with pytest.raises(FileProblem, match="one length"):
        write_table({"a": [1], "b": []}, "csv")
    with pytest.raises(FileProblem, match="type list"):
        write_table({"a": [[1]]}, "csv")
