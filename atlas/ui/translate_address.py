"""What the page Translate adds to the address."""

from __future__ import annotations

from typing import Any, Final

from atlas import limits
from atlas.ui import keys
from atlas.ui.keys import Key

SENTENCES: Final = "sentences"
FILE: Final = "file"

KEYS: Final[tuple[Key[Any], ...]] = (
    keys.choice("input", [SENTENCES, FILE], SENTENCES),
    keys.text("lines", limit=limits.SENTENCE.value),
)
