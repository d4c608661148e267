"""Two sentences side by side, the words marked that the other does not have."""

from __future__ import annotations

import html

import streamlit as st

from atlas.analysis.differences import MarkedWords, word_differences
from atlas.figures.style import COLOURS

_MARK = (
    f"background:color-mix(in srgb,{COLOURS['query']} 24%,transparent);"
    f"border-bottom:2px solid {COLOURS['query']};border-radius:.2rem;padding:0 .15em;color:inherit"
)


def _line(words: MarkedWords) -> str:
    if not words:
        return '<span style="opacity:.6">(nothing)</span>'
    return " ".join(
        f'<mark style="{_MARK}">{html.escape(word)}</mark>' if marked else html.escape(word)
        for word, marked in words
    )


def _block(title: str, words: MarkedWords) -> str:
    return (
        f'<div style="margin-bottom:.6rem"><div style="font-size:.85rem;opacity:.75">'
        f"{html.escape(title)}</div>"
        f'<div style="font-size:1.1rem;overflow-wrap:anywhere">{_line(words)}</div></div>'
    )


def show_difference(
    first: tuple[str, str], second: tuple[str, str], *, side_by_side: bool = True, mark: bool = True
) -> None:
    """Two titled sentences, shown literally; words that the other lacks in that place are marked.

    Args:
        first: title and sentence.
        second: title and sentence.
        side_by_side: in two columns, otherwise one under the other.
        mark: False leaves every word plain.
    """
    left, right = word_differences(first[1], second[1])
    if not mark:
        left, right = [(word, False) for word, _ in left], [(word, False) for word, _ in right]
    blocks = _block(first[0], left), _block(second[0], right)
    places = st.columns(2) if side_by_side else (st.container(), st.container())
    for place, block in zip(places, blocks, strict=True):
        place.html(block)
