"""The few places where a page shows text of its visitor with a colour or a box: escaped once, here."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Literal

import streamlit as st

from atlas.figures.style import COLOURS
from atlas.trace import Trace, visible
from atlas.ui.words import WordSpan, target_words

_STRONGEST = 55
_LEAST = 6


def notice(message: str) -> None:
    """A visible remark that may hold text of the visitor; shown literally, never as Markdown or HTML."""
    amber = COLOURS["cross"]
    style = (
        f"border-left:4px solid {amber};padding:.5rem .75rem;border-radius:.25rem;overflow-wrap:anywhere;"
        f"background:color-mix(in srgb,{amber} 14%,transparent)"
    )
    st.html(f'<div role="alert" style="{style}">{html.escape(message)}</div>')


def show_sentence(text: str, *, size: str = "1rem") -> None:
    """A sentence of the visitor as it is, in type of one size."""
    style = f"font-size:{size};opacity:.75;white-space:pre-wrap;overflow-wrap:anywhere"
    st.html(f'<div style="{style}">{html.escape(text)}</div>')


def _tint(probability: float) -> str:
    share = _LEAST + (_STRONGEST - _LEAST) * probability
    return f"color-mix(in srgb,{COLOURS['decoder']} {share:.0f}%,transparent)"


def _span(word: WordSpan) -> str:
    pieces = "1 piece" if word.pieces == 1 else f"{word.pieces} pieces"
    title = html.escape(f"{visible(word.text)}: probability {word.probability:.3f} ({pieces})", quote=True)
    style = f"background:{_tint(word.probability)};border-radius:.25rem;padding:.05em .15em"
    return f'<span title="{title}" style="{style}">{html.escape(word.text)}</span>'


def tinted(words: Sequence[WordSpan], text: str) -> str:
    """HTML of a translation whose words are tinted by their probability; what lies between them is kept."""
    parts, place = [], 0
    for word in words:
        parts += [html.escape(text[place : word.start]), _span(word)]
        place = word.end
    parts.append(html.escape(text[place:]))
    return "".join(parts)


def show_translation(trace: Trace, node: int, *, size: str = "1.25rem") -> None:
    """One hypothesis of a trace, its words tinted by probability; the exact number is shown on hover."""
    text = trace.text(node)
    body = tinted(target_words(trace, node), text) if text else "(an empty translation)"
    style = f"font-size:{size};line-height:1.7;white-space:pre-wrap;overflow-wrap:anywhere"
    st.html(f'<div class="atlas-translation" style="{style}">{body}</div>')


def show_tint_legend() -> None:
    """What the tint of a word means."""
    shares = (0.0, 0.25, 0.5, 0.75, 1.0)
    steps = "".join(
        f'<span style="background:{_tint(share)};padding:0 .45rem">{share:g}</span>' for share in shares
    )
    words = "Tint: probability of the word, the product over its pieces"
    st.html(f'<div style="font-size:.875rem;opacity:.85">{words} {steps}</div>')


def show_facts(facts: Iterable[str], *, width: Literal["stretch", "content"] = "stretch") -> None:
    """Short facts in one small line, shown literally; ``"content"`` leaves the rest of a row to others."""
    st.html(f'<div style="font-size:.875rem;opacity:.75">{html.escape(" · ".join(facts))}</div>', width=width)
