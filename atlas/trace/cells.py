"""Text in the cells of a table that a spreadsheet will open."""

from __future__ import annotations

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What makes a spreadsheet take a cell for a formula, the full-width forms included."""


def neutral(text: str) -> str:
    """The text with a leading apostrophe where a spreadsheet would otherwise run it as a formula."""
    return "'" + text if text.startswith(FORMULA_STARTS) else text
