"""Small tables of numbers, and how large numbers are written."""

from __future__ import annotations

import html
from collections.abc import Sequence

import streamlit as st

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def millions(number: float) -> str:
    """A count with its unit: thousands, millions (M) or billions (B), three or four figures."""
    for size, unit in ((1e12, " T"), (1e9, " B"), (1e6, " M"), (1e3, " k")):
        if number >= size:
            value = number / size
            return f"{value:.{1 if value >= 100 else 2}f}{unit}"
    return f"{number:.0f}"


def printed(number: float) -> str:
    """A count as authors print it: no more figures than they gave."""
    return f"{number / 1e9:g} B" if number >= 1e9 else f"{number / 1e6:g} M"


def short(number: float) -> str:
    """A number of any size in three figures: ``0.0214``, ``1,230``, ``5.5·10⁻¹⁵``."""
    if number == 0 or 1e-3 <= abs(number) < 1e4:
        return f"{number:.3g}" if abs(number) < 1000 else f"{number:,.0f}"
    figures, _, power = f"{number:.1e}".partition("e")
    return f"{figures}·10{str(int(power)).translate(_SUPERSCRIPT)}"


def show_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, strong: Sequence[int] = ()) -> None:
    """A table of our own words and numbers, the first column left, the others right.

    Args:
        header: of each column.
        rows: as long as the header each; shown literally.
        strong: rows in bold, such as the sum.
    """
    line = "1px solid color-mix(in srgb,currentColor 18%,transparent)"
    cell = f"padding:.25rem .6rem;border:0;border-bottom:{line}"
    body = ""
    for place, row in enumerate(rows):
        weight = ";font-weight:600" if place in strong else ""
        body += "<tr>" + "".join(_cell("td", text, column, cell + weight) for column, text in enumerate(row))
        body += "</tr>"
    head = "".join(_cell("th", text, column, f"{cell};font-weight:600") for column, text in enumerate(header))
    st.html(
        '<table style="border-collapse:collapse;width:100%;font-size:.875rem;'
        'font-variant-numeric:tabular-nums">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _cell(tag: str, text: str, column: int, look: str) -> str:
    align = "left" if column == 0 else "right"
    scope = ' scope="col"' if tag == "th" else ""
    wrap = "" if column == 0 or tag == "th" else ";white-space:nowrap"
    return f'<{tag}{scope} style="{look};text-align:{align}{wrap}">{html.escape(text)}</{tag}>'
