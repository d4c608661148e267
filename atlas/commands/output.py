"""What commands print: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from rich.console import Console


class Report(Protocol):
    """Takes how much is done, and of how much."""

    def __call__(self, done: int, total: int, /) -> None:
        """Say it again; ``done`` never falls."""


def messages() -> Console:
    """Where a person is spoken to: standard error, so that results can be piped. Text is never markup."""
    from rich.console import Console

    return Console(stderr=True, markup=False, highlight=False)


def tell(words: object) -> None:
    """One line for a person, on standard error."""
    messages().print(str(words), soft_wrap=True)


def say(line: str) -> None:
    """One line of result on standard output."""
    sys.stdout.write(f"{line}\n")


def say_json(result: dict[str, Any]) -> None:
    """One JSON object on standard output; numbers that JSON lacks (infinite, not a number) are ``null``."""
    say(json.dumps(_plain(result), ensure_ascii=False, allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


@contextmanager
def progress(words: str, unit: str) -> Iterator[Report]:
    """A bar on standard error while the block runs, if standard error is a terminal.

    Yields:
        a function to be called with the work done and the whole.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeRemainingColumn(),
    )
    console = messages()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(words, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
