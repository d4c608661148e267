"""What every page keeps in the address, known without opening it: for the page itself, links and tours.

A page's own keys are declared beside the parts that use them. Only their place is written here, and they are
imported when they are asked for, because the parts bring all that the page computes with.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any, Final

from atlas import limits
from atlas.bundles import DEFAULT
from atlas.ui import keys
from atlas.ui.examples import FIRST
from atlas.ui.keys import Key
from atlas.ui.talk.mode import TALK
from atlas.ui.talk.tour import MOST_STOPS

MAX_BEAM: Final = limits.BEAM.value

_OWN: Final[dict[str, str]] = {
    "translate": "atlas.ui.translate_address:KEYS",
    "attention": "atlas.ui.attention.choice:KEYS",
    "beam_search": "atlas.ui.search_state:SEARCH_KEYS",
    "heads": "atlas.ui.heads.address:KEYS",
    "what_if": "atlas.ui.what_if.address:KEYS",
    "ancestors": "",
    "query_key_value": "atlas.ui.qkv.scene:KEYS",
    "positions": "atlas.ui.position_address:KEYS",
    "forward_pass": "atlas.ui.forward.state:FORWARD_KEYS",
    "masks_cost": "atlas.ui.cost.view:KEYS",
    "architecture": "atlas.ui.architecture.address:KEYS",
    "training": "atlas.ui.training.choice:KEYS",
}


@cache
def own_keys(page: str) -> tuple[Key[Any], ...]:
    """What a page adds to the shared part of the address.

    Raises:
        KeyError: there is no such page.
    """
    module, _, name = _OWN[page].partition(":")
    declared: tuple[Key[Any], ...] = getattr(import_module(module), name) if module else ()
    return declared


def view_keys(models: Sequence[str]) -> tuple[Key[Any], ...]:
    """The part of a view that all pages share: the sentence, the model and the search.

    Args:
        models: the names of the models that can be chosen.
    """
    return (
        keys.text("text", FIRST, limit=limits.SENTENCE.value),
        keys.choice("model", models or [""], DEFAULT if DEFAULT in models else (*models, "")[0]),
        keys.integer("beam", 5, 1, MAX_BEAM),
        keys.choice("penalty", ["gnmt", "average", "none"], "gnmt"),
        keys.decimal("alpha", 0.6, 0.0, 2.0),
        keys.integer("limit", 0, 0, 256),
    )


def shared_keys(models: Sequence[str], tours: Sequence[str] = ()) -> tuple[Key[Any], ...]:
    """The part of the address that all pages share: :func:`view_keys`, talk mode and the place in a tour.

    Args:
        models: the names of the models that can be chosen.
        tours: the names of the tours that can be played.
    """
    return (*view_keys(models), TALK, *tour_keys(tours))


def tour_keys(tours: Sequence[str]) -> tuple[Key[Any], ...]:
    """Which tour is played, and the stop, counted from 1; 0 where none is named."""
    return (
        keys.quiet(keys.choice("tour", ["", *tours], "")),
        keys.quiet(keys.integer("stop", 0, 0, MOST_STOPS)),
    )
