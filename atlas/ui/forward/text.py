"""Characters, pieces and ids as boxes."""

from __future__ import annotations

import html
from collections.abc import Sequence

import streamlit as st

from atlas.figures.style import COLOURS
from atlas.trace import visible
from atlas.trace.pieces import Token
from atlas.ui.forward.state import Shown
from atlas.ui.markup import show_facts

_MOST = 400


def _box(top: str, below: str, hover: str, colour: str, strong: bool = False) -> str:
    tint = 34 if strong else 16
    style = (
        f"display:inline-flex;flex-direction:column;align-items:center;padding:.3rem .55rem;min-width:1.7rem;"
        f"border-radius:.4rem;background:color-mix(in srgb,{colour} {tint}%,transparent);"
        f"border-bottom:3px solid {colour}"
    )
    small = f'<span style="font-size:.8rem;opacity:.75">{html.escape(below)}</span>' if below else ""
    return (
        f'<span style="{style}" title="{html.escape(hover, quote=True)}">'
        f'<span style="font-size:1.35rem;white-space:pre">{html.escape(top)}</span>{small}</span>'
    )


def _show(boxes: Sequence[str], label: str) -> None:
    more = len(boxes) - _MOST
    rest = f"<span>and {more:,} more</span>" if more > 0 else ""
    style = "display:flex;flex-wrap:wrap;gap:.35rem;padding:.6rem 0;line-height:1.35"
    st.html(
        f'<div role="group" aria-label="{html.escape(label, quote=True)}" style="{style}">'
        f"{''.join(boxes[:_MOST])}{rest}</div>"
    )


def show_characters(shown: Shown) -> None:
    """Every character of the sentence, with its code point."""
    text = shown.page.trace.source
    boxes = [_box(visible(one), f"U+{ord(one):04X}", f"U+{ord(one):04X}", COLOURS["encoder"]) for one in text]
    _show(boxes, "characters")
    show_facts([f"{len(text):,} characters (Unicode, NFC)", f"{len(text.encode()):,} bytes (UTF-8)"])


def show_pieces(tokens: Sequence[Token], shown: Shown, *, ids: bool, strong: int | None = None) -> None:
    """The pieces that one side reads.

    Args:
        tokens: of that side.
        shown: the page.
        ids: whether each shows its id.
        strong: the piece to be marked.
    """
    colour = COLOURS["encoder" if tokens is shown.source else "decoder"]
    boxes = [
        _box(
            token.label,
            str(token.id) if ids else "",
            f"stored as {token.piece}, id {token.id}",
            colour,
            place == strong,
        )
        for place, token in enumerate(tokens)
    ]
    _show(boxes, "pieces")
    facts = [f"{len(tokens)} tokens", f"vocabulary of {shown.config.vocabulary:,}"]
    if ids:
        facts.append(f"array ({len(tokens)},) of whole numbers")
    show_facts(facts)
