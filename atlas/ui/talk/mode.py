"""Whether someone talks in front of the screen, and what follows from it for a page."""

from __future__ import annotations

from typing import Final

from atlas.figures.mosaic import FIXED
from atlas.ui import keys
from atlas.ui.state import ViewState, remembered

TALK: Final = keys.quiet(keys.flag("talk"))
"""The switch, a key that all pages share."""

SCALE_NAMES: Final[dict[str, str]] = {"head": "per head", "shared": "shared", FIXED: "0 to 1"}
"""What a control calls the colour scales of a grid of heads."""

SCALE_NOTE: Final = "Colours of attention run from 0 to 1 on every page."
"""Said on every page that is shown in talk mode."""


def talking() -> bool:
    """Whether the page that is being drawn is shown in talk mode."""
    return bool(remembered(TALK.name, TALK.default))


def shown_scale(state: ViewState) -> str:
    """The colour scale of a grid of heads: the visitor's choice; while someone talks, the one that never
    changes."""
    return FIXED if talking() else str(state["scale"])
