"""Text in the cells of a table that a spreadsheet will open."""

from __future__ import annotations

import re

_FORMULA = re.compile("[\t\r\n]|\\s*[=+\\-@\uff1d\uff0b\uff0d\uff20]")
"""What a spreadsheet takes for a formula: a sign, full-width or not, behind white space or not."""


def neutral(text: str) -> str:
    """The text with a leading apostrophe where a spreadsheet would otherwise run it as a formula."""
    return "'" + text if _FORMULA.match(text) else text
