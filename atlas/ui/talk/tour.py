"""A tour: views of the pages in an order, each with a line that the speaker may say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from atlas.errors import AtlasError

MOST_STOPS: Final = 200


@dataclass(frozen=True)
class Stop:
    """One view.

    Attributes:
        page: the name of the page.
        values: parameters of its address, as they are written there; what is not named has its default.
        note: what may be said about it; "" for nothing.
        line: where it begins in its file, from 1.
    """

    page: str
    values: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    line: int = 1


@dataclass(frozen=True)
class Tour:
    """Stops in the order in which they are shown.

    Attributes:
        title: what the tour is called on the screen.
        stops: at least one.
    """

    title: str
    stops: tuple[Stop, ...]


@dataclass(frozen=True)
class Problem:
    """Something that is wrong with a tour.

    Attributes:
        line: in the file, from 1.
        text: what is wrong and what would be right, in one line.
    """

    line: int
    text: str


class TourError(AtlasError):
    """A file that is no tour, with everything that is wrong with it.

    Attributes:
        name: of the file.
        problems: at least one, in the order of the lines.
    """

    def __init__(self, name: str, *problems: Problem) -> None:
        self.name = name
        self.problems = problems
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        super().__init__(self.lines()[0] + more)

    def lines(self) -> list[str]:
        """One line for each problem, with the name of the file and the number of the line."""
        return [f"{self.name}, line {problem.line}: {problem.text}" for problem in self.problems]
