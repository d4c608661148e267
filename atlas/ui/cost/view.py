"""What the parts of the Masks & cost page share: their address, the translation they show, charts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from atlas.analysis.cache_memory import BYTES, KNOWN
from atlas.text.tokenizer import END_ID
from atlas.ui import keys
from atlas.ui.keys import Key
from atlas.ui.page import Page

PARTS: Final = {
    "mask": "The mask",
    "without": "Trained without it",
    "cache": "The cache",
    "time": "Time",
    "memory": "Memory",
}
"""The parts of the page, by their name in the address."""
OWN: Final = "custom"
"""The preset of a visitor who chose sizes of their own."""
LENGTHS: Final = ("32", "64", "128", "256", "512")
ROUNDS: Final = ("1", "3", "5")
NUMBERS: Final = tuple(map(str, BYTES.values()))

KEYS: Final[tuple[Key[Any], ...]] = (
    keys.choice("cost", tuple(PARTS), "mask"),
    keys.integer("mask_layer", 1, 1, 64),
    keys.integer("mask_head", 1, 1, 64),
    keys.integer("mask_place", 4, 1, 2000),
    keys.text("mask_word", "chat", limit=40),
    keys.choice("leak_search", ["greedy", "beam"], "greedy"),
    keys.integer("cache_prompt", 4, 1, 2000),
    keys.integer("cache_step", 0, 0, 2000),
    keys.choice("time_length", LENGTHS, "256"),
    keys.choice("time_rounds", ROUNDS, "3"),
    keys.choice("kv_preset", [*KNOWN, "this", OWN], "this"),
    keys.integer("kv_layers", 4, 1, 200),
    keys.integer("kv_heads", 8, 1, 256),
    keys.integer("kv_width", 32, 1, 1024),
    keys.integer("kv_length", 256, 1, 1_000_000),
    keys.integer("kv_source", 0, 0, 1_000_000),
    keys.integer("kv_texts", 1, 1, 10_000),
    keys.integer("kv_beams", 1, 1, 100),
    keys.choice("kv_bytes", NUMBERS, "4"),
)
"""What the page keeps in the address. Layers, heads and places count from 1; place 0 is the start mark."""


@dataclass(frozen=True)
class Shown:
    """The translation that the page works on.

    Attributes:
        source: ids that the encoder reads, end mark included.
        target: ids of the translation, without start and end mark; at least one.
        labels: of what the decoder reads: the start mark and the translation, ``(1 + len(target),)``.
    """

    source: tuple[int, ...]
    target: tuple[int, ...]
    labels: tuple[str, ...]


def shown_translation(page: Page) -> Shown:
    """The best translation of the page's sentence. Where there is none, the page ends with a hint."""
    trace = page.trace
    read = trace.target_tokens(int(trace.hypotheses[0])) if len(trace.hypotheses) else ()
    kept = [token for token in read if token.id != END_ID]
    if len(kept) < 2:
        page.stop("This model translates the sentence with nothing at all; choose another one above.")
    return Shown(
        source=tuple(token.id for token in trace.source_tokens),
        target=tuple(token.id for token in kept[1:]),
        labels=tuple(token.label for token in kept),
    )


def small(value: float) -> str:
    """A difference for people: an exact zero is written as such."""
    return "exactly 0" if value == 0 else f"{value:.1e}"
