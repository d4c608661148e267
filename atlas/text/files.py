"""Uploaded files in, sentences out: `.txt`, `.csv`, `.tsv`, `.xlsx`, `.jsonl`.

    upload = read_upload("mine.csv", data)
    upload.notes                              # what was detected, in words
    upload.columns                            # ("id", "English")
    upload.sentences(upload.suggested)        # every row, bad ones marked and kept

Writing a table is in `atlas.text.tables`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from atlas import limits
from atlas.text.decode import FileProblem, decode, problem_in, shown
from atlas.text.records import (
    Cell,
    NotText,
    Record,
    Records,
    is_blank,
    read_delimited,
    read_jsonl,
    read_lines,
)
from atlas.text.spreadsheet import read_xlsx

__all__ = [
    "FORMATS",
    "FileProblem",
    "Row",
    "Upload",
    "read_upload",
]

FORMATS = ("txt", "csv", "tsv", "xlsx", "jsonl")

_TEXT_NAMES = (
    *(
        "english",
        "en",
        "eng",
        "source",
        "src",
        "text",
        "sentence",
        "sentences",
        "original",
        "input",
        "content",
    ),
    *("message", "phrase", "segment"),
)
_OTHER_NAMES = (
    *("id", "nr", "no", "number", "index", "line", "row", "key", "name", "lang", "language", "target", "tgt"),
    *(
        "translation",
        "french",
        "fr",
        "fra",
        "german",
        "de",
        "deu",
        "reference",
        "score",
        "date",
        "label",
        "note",
        "comment",
    ),
)


@dataclass(frozen=True)
class Row:
    """One row of an upload.

    Attributes:
        number: its row in the file from 1, counted as an editor or spreadsheet does (a header row is row 1).
        text: the sentence, or the best that can be shown of a bad row.
        problem: why it cannot be translated, in words; None when it can.
    """

    number: int
    text: str
    problem: str | None = None


@dataclass(frozen=True)
class Upload:
    """A file that was read.

    Attributes:
        name: the file's name.
        format: one of `FORMATS`.
        encoding: the name of the text encoding; None for a workbook.
        columns: column names, all different.
        header: whether the first row was read as column names.
        can_have_header: whether `with_header` applies (not to plain lines and JSON).
        notes: what was detected and decided, in words.
    """

    name: str
    format: str
    encoding: str | None
    columns: tuple[str, ...]
    header: bool
    can_have_header: bool
    notes: tuple[str, ...]
    _rows: list[Record] = field(repr=False)
    _detected: tuple[str, ...] = field(repr=False)

    def __len__(self) -> int:
        """The number of rows, a header row not counted."""
        return len(self._rows) - self.header

    @property
    def suggested(self) -> int:
        """The column that most likely holds the sentences: by its name, else by the longest texts."""
        names = [name.strip().lower() for name in self.columns]
        for wanted in _TEXT_NAMES:
            if wanted in names:
                return names.index(wanted)
        lengths = [0] * len(self.columns)
        for row in self._rows[self.header :]:
            for column, cell in enumerate(row[: len(lengths)]):
                lengths[column] += len(cell) if isinstance(cell, str) else 0
        return lengths.index(max(lengths))

    def sentences(self, column: int | str) -> list[Row]:
        """Every row's text in one column. Bad rows keep their place, with a problem.

        Args:
            column: its name, or its index from 0.

        Raises:
            FileProblem: there is no such column.
        """
        index = self._column_index(column)
        first = self.header + 1
        return [self._row(first + offset, row, index) for offset, row in enumerate(self._rows[self.header :])]

    def with_header(self, header: bool) -> Upload:
        """The same file with its first row read as column names, or as data.

        Raises:
            FileProblem: this format has no header row.
        """
        if not self.can_have_header:
            raise FileProblem(f"{self.name}: a .{self.format} file has no header row.")
        return _arrange(replace(self, header=header, notes=self._detected), "as you chose")

    def _column_index(self, column: int | str) -> int:
        if isinstance(column, str) and column in self.columns:
            return self.columns.index(column)
        if isinstance(column, int) and 0 <= column < len(self.columns):
            return column
        raise FileProblem(f"{self.name} has no column {column!r}; it has: {', '.join(self.columns)}.")

    def _row(self, number: int, row: Record, index: int) -> Row:
        width = len(self.columns)
        cell: Cell = row[index] if index < len(row) else None
        text = cell.shown if isinstance(cell, NotText) else cell or ""
        if is_blank(row):
            return Row(number, "", "empty")
        damage = problem_in(text)
        if damage:
            return Row(number, shown(text), damage)
        if isinstance(cell, NotText):
            return Row(number, text, cell.problem)
        if not is_blank(row[width:]):
            return Row(number, text, f"{len(row)} fields where {width} were expected")
        if not text.strip():
            return Row(number, text, "empty")
        if len(text) > limits.SENTENCE.value:
            problem = f"too long: {len(text):,} characters; the limit is {limits.SENTENCE.value:,}"
            return Row(number, text, problem)
        return Row(number, text)


def read_upload(name: str, data: bytes) -> Upload:
    """Read an uploaded file; its kind is told by the ending of its name.

    Args:
        name: the file's name.
        data: its bytes, at most `limits.UPLOAD`.

    Raises:
        FileProblem: another kind of file, an empty or unreadable one, or one over a limit (of bytes, rows or
            columns, see `atlas.limits`); the message names the file and the limit.
    """
    kind = PurePath(name).suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise FileProblem(
            f"{name}: files ending in {', '.join('.' + known for known in FORMATS)} can be read."
        )
    if len(data) > limits.UPLOAD.value:
        raise FileProblem(f"{name} has {len(data) / 1e6:.1f} MB; the limit is {limits.UPLOAD.shown}.")
    encoding: str | None = None
    notes: tuple[str, ...] = ()
    if kind == "xlsx":
        records = read_xlsx(name, data, limits.ROWS.value + 1) if data else Records([])
    else:
        decoded = decode(name, data)
        encoding, notes = decoded.encoding, (decoded.note,)
        parse: dict[str, Callable[[str], Records]] = {
            "txt": lambda text: read_lines(name, text),
            "csv": lambda text: read_delimited(name, text, None),
            "tsv": lambda text: read_delimited(name, text, "\t"),
            "jsonl": lambda text: read_jsonl(name, text),
        }
        records = parse[kind](decoded.text)
    if not records.rows:
        raise FileProblem(f"{name} is empty.")
    plain = kind == "txt" and all(len(row) < 2 for row in records.rows)
    upload = Upload(
        name=name,
        format=kind,
        encoding=encoding,
        columns=records.keys or (),
        header=False,
        can_have_header=not plain and records.keys is None,
        notes=notes + records.notes,
        _rows=records.rows,
        _detected=notes + records.notes,
    )
    if upload.can_have_header:
        return _arrange(replace(upload, header=_looks_like_header(records.rows)), "by its looks")
    return _checked(replace(upload, columns=records.keys or ("line",)))


def _arrange(upload: Upload, reason: str) -> Upload:
    """Columns and notes of a file whose first row is, or is not, its header."""
    rows = upload._rows
    body = rows[upload.header :]
    widths = Counter(_width(row) for row in body if not is_blank(row))
    usual = max(widths.items(), key=lambda item: (item[1], item[0]))[0] if widths else 0
    if upload.header:
        width = max(_width(rows[0]), 1)
        names = [_shown_cell(cell) for cell in rows[0][:width]]
        note = f"Row 1 read as column names ({reason})."
    else:
        width, names = max(usual, 1), []
        note = f"Row 1 read as data, not as column names ({reason})."
    if max(width, usual) > limits.COLUMNS.value:
        raise FileProblem(
            f"{upload.name} has {max(width, usual):,} columns; the limit is {limits.COLUMNS.value:,}."
        )
    names += [""] * (width - len(names))
    return _checked(replace(upload, columns=_distinct(names), notes=(*upload.notes, note)))


def _checked(upload: Upload) -> Upload:
    if len(upload) == 0:
        raise FileProblem(f"{upload.name} has column names, but no row under them.")
    if len(upload) > limits.ROWS.value:
        raise FileProblem(f"{upload.name} has {len(upload):,} rows; the limit is {limits.ROWS.value:,}.")
    return upload


def _looks_like_header(rows: list[Record]) -> bool:
    """Whether the first row names the columns: a known name, or a name above a column of numbers."""
    first = rows[0][: _width(rows[0])]
    names = [_shown_cell(cell).strip() for cell in first]
    if len(rows) < 2 or not all(names) or len(set(names)) < len(names) or any(map(_is_number, names)):
        return False
    if any(name.lower() in _TEXT_NAMES + _OTHER_NAMES for name in names):
        return True
    for column in range(len(names)):
        below = [row[column] for row in rows[1:] if column < len(row)]
        if below and all(_is_number(_shown_cell(cell)) for cell in below):
            return True
    return False


def _width(row: Record) -> int:
    """The number of fields up to the last one with content."""
    return max((index + 1 for index, cell in enumerate(row) if not is_blank([cell])), default=0)


def _shown_cell(cell: Cell) -> str:
    return shown(cell.shown if isinstance(cell, NotText) else cell or "")


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\s*[-+]?\d+([.,]\d+)?\s*", text) is not None


def _distinct(names: list[str]) -> tuple[str, ...]:
    """Column names, all different and none empty: "text", "text (2)", "column 3"."""
    taken: dict[str, None] = {}
    for number, name in enumerate(names, 1):
        base = name.strip() or f"column {number}"
        candidate, count = base, 2
        while candidate in taken:
            candidate, count = f"{base} ({count})", count + 1
        taken[candidate] = None
    return tuple(taken)
