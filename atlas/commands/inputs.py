"""Where the sentences of a command come from: its argument, a file, or standard input."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from atlas.commands.output import tell
from atlas.errors import AtlasError

TABLES = (".csv", ".tsv", ".xlsx", ".jsonl")
_READ_BY_NAME = (".txt", *TABLES)


@dataclass(frozen=True)
class Line:
    """One sentence to translate: its number in the input, from 1, and why it cannot be translated, if so."""

    number: int
    text: str
    problem: str | None = None


def input_lines(text: str | None, file: Path | None, column: str | None) -> list[Line]:
    """The sentences of exactly one of the argument, the file, and standard input.

    An argument that names an existing ``.txt`` file, or a table's, means that file.

    Args:
        text: the argument.
        file: the file; ``-`` is standard input.
        column: of a table, by its name.

    Raises:
        AtlasError: there is nothing to read, or it cannot be read.
    """
    if text is not None and file is not None:
        raise AtlasError("give the text or --file, not both")
    if text is not None and text.endswith(_READ_BY_NAME) and Path(text).is_file():
        file = Path(text)
    elif text is not None:
        return _marked(split_lines(text))
    if file is None or str(file) == "-":
        if file is None and sys.stdin.isatty():
            raise AtlasError('nothing to translate: give a text, as in: atlas translate "It is raining."')
        return _text_lines("standard input", sys.stdin.buffer.read())
    try:
        data = file.read_bytes()
    except OSError as error:
        raise AtlasError(f"{file}: {error.strerror or error}") from error
    if file.suffix.lower() in TABLES:
        return _table_lines(file.name, data, column)
    if column is not None:
        raise AtlasError(f"{file}: --column is for {', '.join(TABLES)} files")
    return _text_lines(str(file), data)


def split_lines(text: str) -> list[str]:
    """Lines at LF, CRLF or CR; a line end at the very end begins no new line."""
    lines = re.split(r"\r\n|\n|\r", text)
    return lines[:-1] if len(lines) > 1 and not lines[-1] else lines


def _marked(texts: list[str]) -> list[Line]:
    """Lines with their numbers, and what is damaged in them."""
    from atlas.text.decode import problem_in, shown

    return [Line(number, shown(text), problem_in(text)) for number, text in enumerate(texts, 1)]


def _text_lines(name: str, data: bytes) -> list[Line]:
    """Lines of text in whatever encoding, which is said if it is not UTF-8; damaged lines are marked."""
    from atlas.text.decode import decode

    decoded = decode(name, data)
    if decoded.encoding != "UTF-8":
        tell(decoded.note)
    return _marked(split_lines(decoded.text))


def _table_lines(name: str, data: bytes, column: str | None) -> list[Line]:
    from atlas.text.files import read_upload

    upload = read_upload(name, data)
    chosen = upload.columns[upload.suggested] if column is None else column
    rows = upload.sentences(chosen)
    for note in (*upload.notes, f"Column: {chosen}."):
        tell(note)
    return [Line(row.number, row.text, row.problem) for row in rows]
