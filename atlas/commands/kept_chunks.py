"""A long translation that is kept as it goes: one that was killed goes on where it was.

Beside ``OUT`` lies ``OUT.partial`` until the table is whole: JSON lines, the first of which says what is
being translated (model, settings, a digest of the input), each other one a chunk that is done. A last line
without its line end was cut by the kill and does not count.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlas.commands.inputs import Line
from atlas.commands.output import Report, tell
from atlas.errors import AtlasError

if TYPE_CHECKING:
    from atlas.decoding import SearchOptions
    from atlas.engine import Engine, Translation

CHUNK = 512
"""Sentences between two saves. Chunks hold sentences of similar length and have fixed borders, so a run that
was killed translates the same batches as one that was not, and ends with the same numbers to the bit.
"""
_FORMAT = 1


def partial_file(out: Path) -> Path:
    """Where a translation into ``out`` keeps what is done."""
    return out.with_name(f"{out.name}.partial")


def translate_in_chunks(
    engine: Engine,
    lines: Sequence[Line],
    partial: Path,
    *,
    options: SearchOptions,
    prefix: str | None,
    report: Report,
) -> list[Translation]:
    """The translations of all lines, in order; those that ``partial`` holds are not made again.

    Args:
        report: told of the sentences that are done, and of all that can be translated.

    Raises:
        AtlasError: ``partial`` is of another translation, damaged, or cannot be written.
    """
    from atlas.engine import Translation

    places = [place for place, line in enumerate(lines) if line.problem is None]
    places.sort(key=lambda place: len(lines[place].text))
    chunks = [places[first : first + CHUNK] for first in range(0, len(places), CHUNK)]
    about = _about(engine, lines, options, prefix)
    results = [Translation(line.text, (), line.problem) for line in lines]
    try:
        kept = _read(partial, about, chunks)
        if kept:
            tell(f"going on: {sum(map(len, kept)):,} of {len(places):,} sentences were translated before")
        done = 0
        for number, chunk in enumerate(chunks):
            if number < len(kept):
                found = kept[number]
            else:
                texts = [lines[place].text for place in chunk]
                found = engine.translate(texts, options, prefix, _further(report, done, len(places)))
                _append(partial, about if number == 0 else None, number, found)
            for place, translation in zip(chunk, found, strict=True):
                results[place] = translation
            done += len(chunk)
            report(done, len(places))
    except OSError as error:
        raise AtlasError(f"{partial}: {error.strerror or error}") from error
    return results


def _further(report: Report, before: int, total: int) -> Report:
    """Tells ``report`` of a chunk that begins when ``before`` sentences of ``total`` are done."""
    return lambda done, _: report(before + done, total)


def _about(
    engine: Engine, lines: Sequence[Line], options: SearchOptions, prefix: str | None
) -> dict[str, Any]:
    """What makes a translation the one that it is."""
    text = json.dumps([[line.number, line.text, line.problem] for line in lines])
    return {
        "format": _FORMAT,
        "chunk": CHUNK,
        "model": engine.hash,
        "input": hashlib.sha256(text.encode()).hexdigest(),
        "prefix": prefix,
        **asdict(options),
    }


def _append(
    partial: Path, about: Mapping[str, Any] | None, number: int, found: Sequence[Translation]
) -> None:
    """Add a chunk; ``about`` begins a new file."""
    chunk = {"number": number, "translations": [asdict(translation) for translation in found]}
    with partial.open("wb" if about else "ab") as file:
        for line in (about, chunk) if about else (chunk,):
            file.write(json.dumps(line).encode() + b"\n")


def _read(
    partial: Path, about: Mapping[str, Any], chunks: Sequence[Sequence[int]]
) -> list[list[Translation]]:
    """The chunks that are kept. A line that was cut is taken off the file."""
    if not partial.is_file():
        return []
    data = partial.read_bytes()
    whole = data.rfind(b"\n") + 1
    try:
        header, *kept = [json.loads(row) for row in data[:whole].splitlines()] or [dict(about)]
        other = [name for name in about if header[name] != about[name]]
        found = [] if other else [_chunk(row, chunks, number) for number, row in enumerate(kept)]
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise AtlasError(f"{partial}: damaged ({error}); begin again with --restart, or delete it") from error
    if other:
        raise AtlasError(
            f"{partial}: an unfinished translation with another {', '.join(other)}; go on with the same "
            f"command as before, or begin again with --restart"
        )
    with partial.open("r+b") as file:
        file.truncate(whole if found else 0)
    return found


def _chunk(row: Mapping[str, Any], chunks: Sequence[Sequence[int]], number: int) -> list[Translation]:
    """The translations in a line of the file, the ``number``-th of ``chunks``."""
    from atlas.engine import Translation
    from atlas.translation import Hypothesis

    if row["number"] != number or len(row["translations"]) != len(chunks[number]):
        raise ValueError(f"line {number + 2} is not the chunk that belongs there")
    return [
        Translation(
            item["source"],
            tuple(
                Hypothesis(**{**one, "ids": tuple(one["ids"]), "logprobs": tuple(one["logprobs"])})
                for one in item["hypotheses"]
            ),
            item["note"],
        )
        for item in row["translations"]
    ]
