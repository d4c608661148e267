"""What the Training page shows, as the address holds it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import streamlit as st

from atlas.figures.mosaic import SCALES
from atlas.ui import keys
from atlas.ui.attention.choice import HEAD, LAYER, TARGET
from atlas.ui.keys import Key
from atlas.ui.state import ViewState

PARTS: Final = {
    "codes": "Code lengths",
    "curves": "Learning curves",
    "pair": "Your sentence pair",
    "smoothing": "Label smoothing",
    "dropout": "Dropout",
    "forming": "Heads forming",
}
"""The parts of the page, by their name in the address."""
OUTCOMES: Final = 5
FULL: Final = 100
"""The most that one slider of a distribution can say."""
MOST_CLASSES: Final = 100_000


def weights(name: str, default: tuple[int, ...]) -> Key[tuple[int, ...]]:
    """Five whole numbers from 0 to 100, in proportion to which a distribution is made."""

    def read(raw: str) -> tuple[int, ...]:
        parts = raw.split(".")
        good = len(parts) == OUTCOMES and all(part.isascii() and part.isdigit() for part in parts)
        if not good or any(len(part) > 3 or int(part) > FULL for part in parts):
            raise ValueError(raw)
        return tuple(int(part) for part in parts)

    expected = f"{OUTCOMES} whole numbers from 0 to {FULL} with '.' between them"
    return Key(name, default, read, lambda value: ".".join(map(str, value)), expected)


P: Final = weights("p", (48, 24, 16, 8, 4))
Q: Final = weights("q", (10, 20, 40, 20, 10))
KEYS: Final[tuple[Key[Any], ...]] = (
    keys.choice("part", list(PARTS), "codes"),
    P,
    Q,
    keys.choice("measure", ["bits", "nats"], "bits"),
    keys.choice("across", ["step", "epoch", "target_tokens", "minutes"], "step"),
    keys.flag("trainloss", False),
    TARGET,
    keys.integer("pads", 8, 0, 40),
    keys.decimal("smoothing", 0.1, 0.0, 1.0),
    keys.integer("classes", 10, 2, MOST_CLASSES),
    keys.decimal("drop", 0.3, 0.0, 0.9),
    keys.integer("passes", 20, 2, 60),
    keys.integer("dropseed", 1, 0, 9999),
    keys.choice("kind", ["encoder", "decoder", "cross"], "cross"),
    LAYER,
    HEAD,
    keys.choice("scale", list(SCALES), "head"),
    keys.integer("update", 0, 0, 10**9),
)
"""Everything that the Training page adds to the address."""


def slot(state: ViewState, name: str, place: int) -> dict[str, Any]:
    """Arguments that tie a slider to one number of a distribution, as :meth:`ViewState.widget` does for a
    value.

    Args:
        state: of the page.
        name: of a key made by :func:`weights`.
        place: which of its numbers.
    """
    key = f"atlas.training.{name}.{place}"
    st.session_state[key] = state[name][place]

    def changed() -> None:
        values = list(state[name])
        values[place] = st.session_state[key]
        state[name] = tuple(values)

    return {"key": key, "on_change": changed}


def setter(state: ViewState, **values: Any) -> Callable[[], None]:
    """A callback that stores values of the address."""

    def store() -> None:
        for name, value in values.items():
            state[name] = value

    return store
