"""What the parts of the Training page share: charts, token labels, the model's own translation."""

from __future__ import annotations

import html
from collections.abc import Sequence

import streamlit as st

from atlas.figures.style import COLOURS
from atlas.text.tokenizer import END_ID, SPECIAL_IDS, Tokenizer
from atlas.trace.pieces import label_tokens
from atlas.ui.page import Page


def labels_of(tokenizer: Tokenizer, ids: Sequence[int]) -> list[str]:
    """What pictures call these target tokens, control tokens included."""
    return [token.label for token in label_tokens(None, tokenizer.pieces(ids), ids, SPECIAL_IDS)]


def best_translation(page: Page) -> tuple[str, tuple[int, ...]]:
    """The model's best translation of the sentence: its text, and its ids with the end mark if it came.

    Where there is none (no sentence, a length limit too short for any), the page ends with a hint.
    """
    trace = page.trace
    if not len(trace.hypotheses):
        page.stop(
            "The search found no translation, so there is nothing to measure. Try a longer length limit."
        )
    node = int(trace.hypotheses[0])
    return trace.text(node), trace.token_path(node)


def without_end(ids: Sequence[int]) -> tuple[int, ...]:
    """Ids without the end mark."""
    return tuple(token for token in ids if token != END_ID)


def rows_of_text(rows: Sequence[tuple[str, str]], *, chosen: int | None = None, wrap: bool = False) -> None:
    """Short facts with a sentence each.

    Args:
        rows: a fact and a sentence; both are shown literally, the whole sentence on hover.
        chosen: a row that is set off.
        wrap: whether a long sentence takes more lines; otherwise it is cut with an ellipsis.
    """
    fits = "overflow-wrap:anywhere" if wrap else "overflow:hidden;text-overflow:ellipsis;white-space:nowrap"
    widest = max((len(fact) for fact, _ in rows), default=0)
    lines = []
    for place, (fact, sentence) in enumerate(rows):
        text = html.escape(sentence) if sentence else "<i>(nothing)</i>"
        mark = (
            f"color-mix(in srgb,{COLOURS['encoder']} 16%,transparent)" if place == chosen else "transparent"
        )
        lines.append(
            f'<div style="display:flex;gap:.8rem;padding:.18rem .5rem;border-radius:.3rem;background:{mark}"'
            f' title="{html.escape(sentence, quote=True)}">'
            f'<span style="flex:none;min-width:{widest / 2:g}em;opacity:.7">{html.escape(fact)}</span>'
            f'<span style="min-width:0;{fits}">{text}</span></div>'
        )
    st.html(f'<div style="font-size:.95rem">{"".join(lines)}</div>')
