"""What the page Architecture adds to the address."""

from __future__ import annotations

from typing import Any, Final

from atlas.ui import keys
from atlas.ui.architecture import depth, heads, model, sizes
from atlas.ui.keys import Key

PARTS: Final = {
    "model": "The loaded model",
    "sizes": "Any size",
    "experts": "Experts",
    "heads": "Heads",
    "depth": "Deep stacks",
}
"""The parts of the page, and what they are called there."""

KEYS: Final[tuple[Key[Any], ...]] = (
    keys.choice("built", list(PARTS), "model"),
    *model.KEYS,
    *sizes.KEYS,
    *heads.KEYS,
    *depth.KEYS,
)
