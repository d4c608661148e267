"""Tables out: CSV, TSV, XLSX, JSONL, written so that a spreadsheet opens them right and runs nothing.

CSV and TSV are UTF-8 with a byte-order mark and CRLF: Excel reads "é" wrong without the mark, and every
reader that knows UTF-8 accepts it. A text cell that a spreadsheet would take for a formula (it begins with
`=`, `+`, `-`, `@`, behind white space or not, or with a tab or line end) gets a leading apostrophe there.
XLSX cells say themselves that they are text, so nothing is added. JSONL is UTF-8 without a mark, one object a
line, every text as it is.
"""

from __future__ import annotations

import csv
import io
import json
import math
import numbers
from collections.abc import Mapping, Sequence

from atlas.text.decode import FileProblem
from atlas.text.spreadsheet import Value, write_xlsx
from atlas.trace.cells import neutral

TABLE_FORMATS = ("csv", "tsv", "xlsx", "jsonl")
MIME_TYPES = {
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "jsonl": "application/jsonl",
}


def write_table(columns: Mapping[str, Sequence[object]], format: str) -> bytes:
    """Write columns of equal length as a file.

    Args:
        columns: values by column name, in order: text, numbers (NumPy's too), booleans, None. A number that
            is not finite is written as nothing.
        format: one of `TABLE_FORMATS`.

    Raises:
        FileProblem: an unknown format, columns of different lengths, no column, or a value of another type.
    """
    if format not in TABLE_FORMATS:
        raise FileProblem(f"A table can be written as {', '.join(TABLE_FORMATS)}, not as {format!r}.")
    if not columns:
        raise FileProblem("A table needs at least one column.")
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise FileProblem(f"The columns of a table must have one length, not {lengths}.")
    plain = {name: [_plain(name, value) for value in values] for name, values in columns.items()}
    if format == "xlsx":
        return write_xlsx(plain)
    if format == "jsonl":
        return _write_jsonl(plain)
    return _write_delimited(plain, "," if format == "csv" else "\t")


def _plain(name: str, value: object) -> Value:
    """A value as a plain Python one; NumPy's numbers are registered with `numbers`."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        number = float(value)
        return number if math.isfinite(number) else None
    raise FileProblem(
        f"Column {name!r} holds a value of type {type(value).__name__}, which no table cell can hold."
    )


def _write_jsonl(columns: Mapping[str, Sequence[Value]]) -> bytes:
    rows = zip(*columns.values(), strict=True)
    lines = (
        json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False, allow_nan=False) for row in rows
    )
    # A lone surrogate becomes \\udNNN, which is JSON's own way to write it.
    return "".join(line + "\n" for line in lines).encode("utf-8", "backslashreplace")


def _write_delimited(columns: Mapping[str, Sequence[Value]], delimiter: str) -> bytes:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator="\r\n")
    writer.writerow([_neutral(name) for name in columns])
    writer.writerows([_neutral(value) for value in row] for row in zip(*columns.values(), strict=True))
    return b"\xef\xbb\xbf" + buffer.getvalue().encode("utf-8", "backslashreplace")


def _neutral(value: Value) -> Value:
    """Text that a spreadsheet would run as a formula, made text by an apostrophe. Numbers stay numbers."""
    return neutral(value) if isinstance(value, str) else value
