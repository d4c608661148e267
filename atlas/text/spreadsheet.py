"""XLSX in and out, with bounds: a workbook is a ZIP archive of XML, and either layer can be a bomb."""

from __future__ import annotations

import io
import re
import warnings
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from atlas import limits
from atlas.text.decode import FileProblem
from atlas.text.records import Cell, NotText, Record, Records, is_blank, without_trailing_blanks

if TYPE_CHECKING:
    from openpyxl.cell.read_only import ReadOnlyCell

MAX_CELL_CHARACTERS = 32_767
_LAST_ROW = 1_048_576
_CHUNK = 1_000_000
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_UNENCODABLE = re.compile("[\ud800-\udfff\ufffe\uffff]")
_ESCAPED = re.compile("_x00(5F|0D)_")
_ESCAPE_LIKE = re.compile("_(?=x[0-9A-Fa-f]{4}_)")

Value = str | int | float | bool | None


def read_xlsx(name: str, data: bytes, max_rows: int) -> Records:
    """The first worksheet of a workbook.

    Args:
        name: the file's name, for messages.
        data: its bytes.
        max_rows: how many rows with content are accepted, a header row included.

    Raises:
        FileProblem: no workbook, a damaged one, a bomb, or too many rows or columns.
    """
    _check_archive(name, data)
    import openpyxl

    most = limits.COLUMNS.value
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
            sheets = book.worksheets
            if not sheets:
                raise FileProblem(f"{name} has no worksheet.")
            rows: list[Record] = []
            before: object = None
            for cells in sheets[0].iter_rows(max_row=_LAST_ROW, max_col=most + 1):
                if cells is before and len(rows) >= max_rows:
                    continue  # a gap: the same empty row again, perhaps a million times
                before = cells
                row = [_cell(cell) for cell in cells]
                if len(row) > most and row[most] is not None:
                    raise FileProblem(f"{name} has more than {most:,} columns; the limit is {most:,}.")
                blank = is_blank(row)
                if len(rows) < max_rows:
                    rows.append([] if blank else row[:most])
                elif not blank:
                    raise FileProblem(f"{name} has more than {max_rows:,} rows; the limit is {max_rows:,}.")
            names = [sheet.title for sheet in sheets]
            book.close()
    except FileProblem:
        raise
    except Exception as error:
        raise FileProblem(
            f"{name} is damaged: the workbook cannot be read ({type(error).__name__})."
        ) from error
    notes = (f"Sheet read: {names[0]!r}, the first of {len(names)}.",) if len(names) > 1 else ()
    return Records(without_trailing_blanks(rows), notes)


def write_xlsx(columns: Mapping[str, Sequence[Value]]) -> bytes:
    """One sheet with a header row. Text is stored as text, whatever it begins with.

    Characters that XML cannot hold are made visible: control characters as their pictures (U+2400 and
    following), others as `\\uNNNN`. Text over Excel's limit of 32,767 characters is cut, with a "…" in the
    last place.
    """
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell

    book = Workbook(write_only=True)
    sheet = book.create_sheet("translations")

    def cell(value: Value) -> WriteOnlyCell | Value:
        if isinstance(value, str):
            written = WriteOnlyCell(sheet, _storable(value))
            written.data_type = "s"
            written.quotePrefix = value.startswith(("=", "+", "-", "@", "\t", "\r"))
            return written
        return value

    sheet.append([cell(name) for name in columns])
    for row in zip(*columns.values(), strict=True):
        sheet.append([cell(value) for value in row])
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def _check_archive(name: str, data: bytes) -> None:
    """Refuse what is no workbook or unpacks past the bounds (`zipfile` yields no more than declared)."""
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise FileProblem(
            f"{name} is an old or password-protected Excel file; save it as .xlsx without a password."
        )
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = archive.infolist()
            unpacked = sum(part.file_size for part in parts)
            if len(parts) > limits.PARTS.value or unpacked > limits.UNPACKED.value:
                raise FileProblem(
                    f"{name} unpacks to {len(parts):,} parts with {unpacked / 1e6:,.1f} MB; the limit is"
                    f" {limits.PARTS.shown} with {limits.UNPACKED.shown}."
                )
            if "[Content_Types].xml" not in archive.namelist():
                raise FileProblem(f"{name} is a ZIP archive, but no Excel workbook.")
            for part in parts:
                if part.filename.endswith((".xml", ".rels")) and _declares_entities(archive, part):
                    raise FileProblem(
                        f"{name} declares XML entities, which no spreadsheet needs; it is not read."
                    )
    except (
        zipfile.BadZipFile,
        NotImplementedError,
        RuntimeError,
        EOFError,
        OSError,
        zlib.error,
    ) as error:
        raise FileProblem(f"{name} is not an Excel workbook, or is damaged ({error}).") from error


def _declares_entities(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> bool:
    tail = b""
    with archive.open(part) as stream:
        while chunk := stream.read(_CHUNK):
            if b"<!DOCTYPE" in tail + chunk:
                return True
            tail = chunk[-16:]
    return False


def _cell(cell: ReadOnlyCell) -> Cell:
    value = cell.value
    if value is None:
        return None
    if isinstance(value, str):
        if cell.data_type == "e":
            return NotText(value, "a formula's error, not text")
        return _ESCAPED.sub(lambda match: "_" if match[1] == "5F" else "\r", value)
    if isinstance(value, bool):
        return NotText(str(value).upper(), "true or false, not text")
    if isinstance(value, int | float):
        return NotText(str(value), "a number, not text")
    return NotText(str(value), "a date or time, not text")


def _storable(text: str) -> str:
    """The text as an XLSX cell can hold it, nothing lost silently."""
    text = _FORBIDDEN.sub(lambda match: "\u2421" if match[0] == "\x7f" else chr(0x2400 + ord(match[0])), text)
    text = _UNENCODABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    text = _ESCAPE_LIKE.sub("_x005F_", text)
    return text if len(text) <= MAX_CELL_CHARACTERS else text[: MAX_CELL_CHARACTERS - 1] + "…"
