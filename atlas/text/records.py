"""The records of an uploaded file: lines, fields, JSON values or spreadsheet cells, nothing judged yet.

Each parser gives one record per line or spreadsheet row, blank ones included, so that a record's position
is the number that a person sees beside it. A cell is text, `None` where there is none, or `NotText`:
something else, shown and named.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from atlas import limits
from atlas.text.decode import FileProblem

# In the order of preference between even divisions: a comma is the likeliest to be part of a sentence.
_DELIMITERS = {"\t": "tab", ";": "semicolon", "|": "vertical bar", ",": "comma"}
_SNIFFED_RECORDS = 200
_SNIFFED_CHARACTERS = 500_000
_CONSISTENT = 0.7

# A cell longer than the csv module's limit is one bad row, marked later, and no reason to refuse the file.
csv.field_size_limit(max(csv.field_size_limit(), 10**8))


@dataclass(frozen=True)
class NotText:
    """A cell that holds something else than text: how it is shown, and what is wrong."""

    shown: str
    problem: str


Cell = str | NotText | None
Record = list[Cell]


@dataclass(frozen=True)
class Records:
    """Every record of a file in order, and what was found out while reading.

    Attributes:
        rows: the records; trailing blank ones are gone.
        notes: findings in words for the person who uploaded it.
        keys: the column names where the format itself carries them (JSON objects), else None.
    """

    rows: list[Record]
    notes: tuple[str, ...] = ()
    keys: tuple[str, ...] | None = None


def read_lines(name: str, text: str) -> Records:
    """Lines of a text file, each one sentence; fields where every line has the same number of tabs.

    Raises:
        FileProblem: more lines than `limits.ROWS` and a header.
    """
    lines = _lines(name, text)
    filled = [line for line in lines if line.strip()]
    tabs = Counter(line.count("\t") for line in filled)
    if len(filled) > 1 and len(tabs) == 1 and next(iter(tabs)):
        rows: list[Record] = [list(line.split("\t")) if line.strip() else [] for line in lines]
        return Records(rows, ("Every line has the same number of tabs: read as columns.",))
    return Records([[line] for line in lines])


def read_delimited(name: str, text: str, delimiter: str | None) -> Records:
    """Fields of a CSV or TSV file.

    Args:
        name: the file's name, for messages.
        text: its content.
        delimiter: the character between two fields; None to find it out.

    Raises:
        FileProblem: the csv module cannot read it at all.
    """
    notes = []
    if delimiter is None:
        delimiter = _sniff_delimiter(text)
        if delimiter is None:
            return Records(
                [[line] for line in _lines(name, text)],
                ("No delimiter divides the lines evenly: each line is one column.",),
            )
        if delimiter in text:
            notes.append(f"Delimiter: {_DELIMITERS[delimiter]}.")
    try:
        rows = _bounded(name, csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error:
        notes.append("The quotation marks do not pair up around fields: they are read as text.")
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quoting=csv.QUOTE_NONE)
        try:
            rows = _bounded(name, reader)
        except csv.Error as error:
            raise FileProblem(f"{name}, line {reader.line_num}: {error}.") from error
    return Records(without_trailing_blanks(rows), tuple(notes))


def read_jsonl(name: str, text: str) -> Records:
    """One JSON value a line: strings (a column `text`) or objects (a column for each key).

    Raises:
        FileProblem: more lines than `limits.ROWS`, or more different keys than `limits.COLUMNS`.
    """
    values = [_json_value(line) for line in _lines(name, text)]
    keys: dict[str, None] = {}
    for value in values:
        if isinstance(value, dict):
            keys.update(dict.fromkeys(value))
        elif isinstance(value, str):
            keys["text"] = None
        if len(keys) > (most := limits.COLUMNS.value):
            raise FileProblem(f"{name} has more than {most:,} different keys; the limit is {most:,}.")
    names = tuple(keys) or ("text",)
    rows: list[Record] = []
    for value in values:
        if isinstance(value, dict):
            rows.append([json_cell(value.get(key)) for key in names])
        elif isinstance(value, NotText) or value is None:
            rows.append([value for _ in names])
        else:
            rows.append([value if key == "text" else None for key in names])
    return Records(rows, (), names)


def json_cell(value: object) -> Cell:
    """A JSON value as a cell: text stays, null is nothing, anything else is named."""
    if value is None or isinstance(value, str):
        return value
    kinds = ((bool, "true or false"), (int | float, "a number"), (list, "a list"), (dict, "an object"))
    kind = next(words for types, words in kinds if isinstance(value, types))
    return NotText(json.dumps(value, ensure_ascii=False), f"{kind}, not text")


def _json_value(line: str) -> dict[str, object] | str | NotText | None:
    if not line.strip():
        return None
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        return NotText(line, f"not JSON: {error.msg.lower()} at character {error.pos + 1}")
    except (ValueError, RecursionError):
        return NotText(line, "not JSON that can be read: nested too deeply or a number too long")
    if isinstance(value, dict | str):
        return value
    cell = json_cell(value)
    return NotText(line, "null, neither a string nor an object") if cell is None else cell


def _lines(name: str, text: str) -> list[str]:
    """Lines at LF, CRLF or CR only (U+2028 is part of a sentence), trailing blank ones left out.

    Raises:
        FileProblem: more of them than `limits.ROWS` and a header; they are counted before they are cut.
    """
    filled = text.rstrip()
    count = filled.count("\n") + filled.count("\r") - filled.count("\r\n") + 1
    if count > limits.ROWS.value + 1:
        raise FileProblem(f"{name} has {count:,} rows; the limit is {limits.ROWS.value:,}.")
    end = re.compile(r"[\r\n]").search(text, len(filled))  # what stands behind the last word is kept
    lines = re.split(r"\r\n|\n|\r", text[: end.start()] if end else text)
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


def _bounded(name: str, rows: Iterable[list[str]]) -> list[Record]:
    """The records, a header row and as many as `limits.ROWS`; blank ones after those are left out."""
    most = limits.ROWS.value
    kept: list[Record] = []
    for row in rows:
        record: Record = list(row)
        if len(kept) <= most:
            kept.append(record)
        elif not is_blank(record):
            raise FileProblem(f"{name} has more than {most:,} rows; the limit is {most:,}.")
    return kept


def without_trailing_blanks(rows: list[Record]) -> list[Record]:
    """The same list, with the blank records at its end taken off."""
    while rows and is_blank(rows[-1]):
        rows.pop()
    return rows


def is_blank(row: Record) -> bool:
    """Whether no cell of a record holds anything but white space."""
    return all(cell is None or (isinstance(cell, str) and not cell.strip()) for cell in row)


def _sniff_delimiter(text: str) -> str | None:
    """The delimiter that divides the first records most evenly, or None where all of them divide unevenly."""
    best, best_share, undivided = None, 0.0, True
    sample = text[:_SNIFFED_CHARACTERS]
    for delimiter in _DELIMITERS:
        reader = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
        widths = Counter(len(row) for row in itertools.islice(filter(None, reader), _SNIFFED_RECORDS))
        divided = [count for width, count in widths.items() if width > 1]
        undivided = undivided and not divided
        share = max(divided, default=0) / max(1, widths.total())
        if share > best_share:
            best, best_share = delimiter, share
    if undivided:
        return ","
    return best if best_share >= _CONSISTENT else None
