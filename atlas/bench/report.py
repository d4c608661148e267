"""The result of a measurement: a table with the machine, kept as JSON and printed as Markdown."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from atlas.errors import AtlasError
from atlas.whole import whole_file


class ReportError(AtlasError):
    """A file that is no result of a measurement."""


@dataclass(frozen=True)
class Column:
    """One column of numbers: its title with the unit, and decimals shown."""

    title: str
    decimals: int = 0


@dataclass(frozen=True)
class Report:
    """What ``atlas bench NAME`` found.

    Attributes:
        name: of the measurement.
        command: prints it again.
        machine: see :func:`atlas.bench.machine.machine`.
        settings: what the numbers were measured with.
        columns: of numbers; the first column of the table names the row.
        rows: a name and as many numbers as columns; None where there is nothing to tell.
        notes: sentences to be read with the table.
        seconds: every measured time, by job.
    """

    name: str
    command: str
    machine: Mapping[str, Any]
    settings: Mapping[str, Any]
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, tuple[float | None, ...]], ...]
    notes: tuple[str, ...] = ()
    seconds: Mapping[str, Sequence[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, numbers in self.rows:
            if len(numbers) != len(self.columns):
                raise ReportError(
                    f"row {name!r} has {len(numbers)} numbers, and the table {len(self.columns)} columns"
                )

    def markdown(self) -> str:
        """The command, the machine, the table and the notes."""
        header = ["", *(column.title for column in self.columns)]
        lines = [
            f"`{self.command}`",
            "",
            ", ".join(f"{key} {value}" for key, value in {**self.machine, **self.settings}.items()),
            "",
            f"| {' | '.join(header)} |",
            "|---" + "|---:" * len(self.columns) + "|",
        ]
        for name, numbers in self.rows:
            cells = [
                "" if number is None else f"{number:,.{column.decimals}f}"
                for number, column in zip(numbers, self.columns, strict=True)
            ]
            lines.append(f"| {' | '.join([name, *cells])} |")
        return "\n".join([*lines, *(f"\n{note}" for note in self.notes)]) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "name": self.name,
            "command": self.command,
            "machine": dict(self.machine),
            "settings": dict(self.settings),
            "columns": [{"title": column.title, "decimals": column.decimals} for column in self.columns],
            "rows": [[name, *numbers] for name, numbers in self.rows],
            "notes": list(self.notes),
            "seconds": {name: [float(value) for value in times] for name, times in self.seconds.items()},
        }

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Report:
        """The way back from :meth:`to_dict`.

        Raises:
            ReportError: something is missing or of the wrong kind.
        """
        try:
            return cls(
                told["name"],
                told["command"],
                told["machine"],
                told["settings"],
                tuple(Column(column["title"], column["decimals"]) for column in told["columns"]),
                tuple((name, tuple(numbers)) for name, *numbers in told["rows"]),
                tuple(told["notes"]),
                told["seconds"],
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ReportError(f"this is no result of atlas bench: {error!r}") from error

    def save(self, path: Path) -> None:
        """Write it as JSON; a file that is there is replaced at once or not at all."""
        with whole_file(path) as draft:
            text = json.dumps(self.to_dict(), ensure_ascii=False, indent=1) + "\n"
            draft.write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Report:
        """Read what :meth:`save` wrote.

        Raises:
            ReportError: there is no such file, or it holds something else.
        """
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ReportError(f"{path} cannot be read as a result of atlas bench: {error}") from error
        if not isinstance(told, dict):
            raise ReportError(f"{path} is no result of atlas bench: expected a JSON object")
        return cls.from_dict(told)


def refresh(document: str, reports: Mapping[str, Report]) -> str:
    """A document with the tables of some reports put in, between ``<!-- NAME -->`` and ``<!-- end -->``.

    Args:
        document: with a pair of marks for every report.
        reports: by the name in the mark.

    Raises:
        ReportError: the document has no place for one of them.
    """
    for name, report in reports.items():
        before, mark, rest = document.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition("<!-- end -->\n")
        if not mark or not end:
            raise ReportError(
                f"the document has no place for {name}: expected <!-- {name} --> and <!-- end -->"
            )
        document = f"{before}{mark}\n{report.markdown()}\n{end}{after}"
    return document
