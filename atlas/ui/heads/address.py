"""What the page Heads adds to the address."""

from __future__ import annotations

from typing import Any, Final

from atlas.ui import keys
from atlas.ui.attention.choice import HEAD, KIND, LAYER
from atlas.ui.heads.measured import EVERY
from atlas.ui.keys import Key

KEYS: Final[tuple[Key[Any], ...]] = (
    KIND,
    LAYER,
    HEAD,
    keys.choice("metric", list(EVERY), "confidence"),
    keys.flag("minus"),
    keys.text("from", limit=200),
    keys.text("to", limit=200),
    keys.integer("far", 0, 0, 60),
    keys.decimal("weight", 0.0, 0.0, 1.0),
)
