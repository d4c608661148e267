"""Typed keys of the address: how one value is read from a query parameter, checked, and written back.

A key is declared by the page that uses it. Two pages that declare the same name mean the same thing: the
layer that was chosen on one page is the layer shown on the other. Nothing here knows Streamlit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from atlas import limits

T = TypeVar("T")


@dataclass(frozen=True)
class Key(Generic[T]):
    """One named value that lives in the address.

    Attributes:
        name: of the query parameter.
        default: the value when the address says nothing, or nothing usable.
        read: text of the query parameter -> value; raises ``ValueError`` for a text it cannot use.
        write: value -> text, so that ``read(write(value)) == value`` for every value allowed.
        expected: what a good value looks like, for the notice ("a whole number from 1 to 10").
        quiet: left out of the address while it has its default, so that an address that says anything at all
            and not this means the default.
    """

    name: str
    default: T
    read: Callable[[str], T]
    write: Callable[[T], str]
    expected: str
    quiet: bool = False

    def accepts(self, value: Any) -> bool:
        """Whether ``value`` is one that this key allows."""
        try:
            return bool(self.read(self.write(value)) == value)
        except (ValueError, TypeError, AttributeError):
            return False


def _require(condition: bool) -> None:
    if not condition:
        raise ValueError


def text(name: str, default: str = "", limit: int = limits.SENTENCE.value) -> Key[str]:
    """Free text of at most ``limit`` characters."""

    def read(raw: str) -> str:
        _require(len(raw) <= limit)
        raw.encode()  # half a character (a lone surrogate) can stand in no address
        return raw

    return Key(name, default, read, str, f"a text of at most {limit:,} characters")


def choice(name: str, options: Sequence[str], default: str) -> Key[str]:
    """One of ``options``."""
    allowed = tuple(options)

    def read(raw: str) -> str:
        _require(raw in allowed)
        return raw

    return Key(name, default, read, str, "one of " + ", ".join(allowed))


def integer(name: str, default: int, low: int, high: int) -> Key[int]:
    """A whole number from ``low`` to ``high``, both allowed."""

    def read(raw: str) -> int:
        _require(raw.isascii() and raw.lstrip("-").isdigit() and len(raw) < 12)
        value = int(raw)
        _require(low <= value <= high)
        return value

    return Key(name, default, read, str, f"a whole number from {low} to {high}")


def decimal(name: str, default: float, low: float, high: float) -> Key[float]:
    """A finite number from ``low`` to ``high``, both allowed."""

    def read(raw: str) -> float:
        value = float(f"{float(raw):.10g}")  # as it is written back
        _require(math.isfinite(value) and low <= value <= high)
        return value

    return Key(name, default, read, lambda value: f"{value:.10g}", f"a number from {low:g} to {high:g}")


def quiet(key: Key[T]) -> Key[T]:
    """The same key, left out of the address while it has its default."""
    return replace(key, quiet=True)


def flag(name: str, default: bool = False) -> Key[bool]:
    """Yes or no, written as 1 or 0."""

    def read(raw: str) -> bool:
        _require(raw in ("0", "1"))
        return raw == "1"

    return Key(name, default, read, lambda value: "1" if value else "0", "0 or 1")


def integers(
    name: str, default: tuple[int, ...] = (), *, separator: str = ".", limit: int = 600
) -> Key[tuple[int, ...]]:
    """A sequence of at most ``limit`` whole numbers from 0, such as a token path ``12.55.7``."""

    def read(raw: str) -> tuple[int, ...]:
        parts = raw.split(separator) if raw else []
        _require(len(parts) <= limit and all(p.isascii() and p.isdigit() and len(p) < 10 for p in parts))
        return tuple(int(part) for part in parts)

    def write(value: tuple[int, ...]) -> str:
        return separator.join(str(number) for number in value)

    return Key(name, tuple(default), read, write, f"whole numbers with '{separator}' between them")


def read_address(
    params: Mapping[str, str], keys: Sequence[Key[Any]]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Read and check an address.

    Args:
        params: the query parameters, one text a name.
        keys: those of the page; other parameters are left alone.

    Returns:
        The values found, a bad one replaced by its default, and for each bad one a sentence that says so.
    """
    values: dict[str, Any] = {}
    notices: dict[str, str] = {}
    for key in keys:
        raw = params.get(key.name)
        if raw is None:
            if key.quiet and params:
                values[key.name] = key.default
            continue
        try:
            values[key.name] = key.read(raw)
        except ValueError:
            values[key.name] = key.default
            notices[key.name] = _complaint(key, raw)
    return values, notices


def _complaint(key: Key[Any], raw: str) -> str:
    shown = raw if len(raw) <= 60 else raw[:57] + "..."
    shown = shown.encode("utf-8", "backslashreplace").decode()
    default = key.write(key.default)
    instead = f'Shown instead: "{default}".' if default else "The default is shown instead."
    return f'The address says {key.name}="{shown}", which should be {key.expected}. {instead}'


def write_address(values: Mapping[str, Any], keys: Sequence[Key[Any]]) -> dict[str, str]:
    """The query parameters of a view, defaults included but those of quiet keys."""
    said = (key for key in keys if not key.quiet or values[key.name] != key.default)
    return {key.name: key.write(values[key.name]) for key in said}
