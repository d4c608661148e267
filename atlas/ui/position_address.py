"""What the page Positions adds to the address."""

from __future__ import annotations

from typing import Any, Final

from atlas.ui import keys
from atlas.ui.keys import Key
from atlas.ui.position_distinct import LENGTHS, WIDTHS
from atlas.ui.position_lab import LARGEST_SEED
from atlas.ui.position_orders import OWN, PAIRS
from atlas.ui.position_pictures import FIRST_DIMENSIONS, FIRST_PAIR, MOST_SHOWN
from atlas.ui.position_twins import SCORES

PARTS: Final = {
    "encoding": "The encoding",
    "distinct": "Every position distinct",
    "lab": "Lab: shuffle and change",
    "trained": "Three models",
}
"""The parts of the page, and what they are called there."""

KEYS: Final[tuple[Key[Any], ...]] = (
    keys.choice("part", tuple(PARTS), "encoding"),
    keys.integers("dims", FIRST_DIMENSIONS, limit=6),
    keys.integer("length", 100, 10, MOST_SHOWN),
    keys.integer("shift", 7, 1, MOST_SHOWN - 1),
    keys.integer("pos", 3, 0, MOST_SHOWN - 1),
    keys.integer("pair", FIRST_PAIR, 0, 4096),
    keys.integer("shuffle", 1, 1, LARGEST_SEED),
    keys.choice("encoding", ["zero", "shift"], "zero"),
    keys.integer("offset", 100, 1, MOST_SHOWN),
    keys.integer("upto", 1000, LENGTHS[0], LENGTHS[-1]),
    keys.integer("cells", 128, WIDTHS[0], WIDTHS[-1]),
    keys.choice("score", SCORES, "BLEU"),
    keys.choice("pairs", (OWN, *PAIRS), "bites"),
)
