"""What the What if page keeps in the address: which heads are changed, a row written by hand, what is shown.

Layers, heads, rows and keys count from 1 here and on the screen, from 0 in :mod:`atlas.analysis.ablation`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from atlas.analysis.ablation import HeadChange, Kind, RowEdit
from atlas.ui import keys
from atlas.ui.attention.choice import HEAD, KIND, LAYER
from atlas.ui.keys import Key
from atlas.ui.search_state import ALL

PARTS: Final = {"lab": "Laboratory", "prune": "Prune", "explanation": "Is attention an explanation?"}
BRUSHES: Final = {"off": "off", "uniform": "uniform", "scaled": "scaled", "trained": "as trained"}
LETTERS: Final[dict[Kind, str]] = {"encoder": "e", "decoder": "d", "cross": "c"}
_KINDS: Final[dict[str, Kind]] = {letter: kind for kind, letter in LETTERS.items()}
_MOST: Final = 600
_CHANGE: Final = re.compile(r"([edc])([1-9]\d{0,2})\.([1-9]\d{0,2}):(u|\d(?:\.\d{1,3})?)")
_ROW: Final = re.compile(r"([edc])([1-9]\d{0,2})\.([1-9]\d{0,2})@([1-9]\d{0,3}):(.*)")
_WEIGHT: Final = re.compile(r"([1-9]\d{0,3})=([01](?:\.\d{1,3})?)")

Changes = tuple[HeadChange, ...]


def write_changes(changes: Iterable[HeadChange]) -> str:
    """Such as ``e1.3:0,c2.5:u,d1.1:1.5``: kind, layer, head, and a factor or u for uniform."""
    return ",".join(
        f"{LETTERS[change.kind]}{change.layer + 1}.{change.head + 1}:"
        + ("u" if change.factor is None else f"{change.factor:.4g}")
        for change in changes
    )


def read_changes(raw: str) -> Changes:
    """The way back; sorted by kind, layer and head, and without the heads that stay as trained.

    Raises:
        ValueError: a part that does not read so, a head named twice, or a factor above 2.
    """
    parts = raw.split(",") if raw else []
    found: dict[tuple[Kind, int, int], HeadChange] = {}
    if len(parts) > _MOST:
        raise ValueError(f"more than {_MOST} heads")
    for part in parts:
        match = _CHANGE.fullmatch(part)
        if match is None:
            raise ValueError(f"not a head: {part[:40]!r}")
        kind, layer, head = _KINDS[match[1]], int(match[2]) - 1, int(match[3]) - 1
        if (kind, layer, head) in found:
            raise ValueError(f"named twice: {part[:40]!r}")
        factor = None if match[4] == "u" else float(match[4])
        found[kind, layer, head] = HeadChange(kind, layer, head, factor)
    return tidy(found.values())


def tidy(changes: Iterable[HeadChange]) -> Changes:
    """Sorted (encoder, decoder, cross; layers; heads), without the heads that stay as trained."""
    order = list(LETTERS)
    kept = [change for change in changes if change.factor != 1]
    return tuple(sorted(kept, key=lambda change: (order.index(change.kind), change.layer, change.head)))


def write_row(row: RowEdit | None) -> str:
    """Such as ``c2.3@5:2=0.9,4=0.1``: kind, layer, head, row, and the weights of some keys; "" for none."""
    if row is None:
        return ""
    weights = ",".join(f"{key + 1}={weight:.3g}" for key, weight in sorted(row.weights.items()))
    return f"{LETTERS[row.kind]}{row.layer + 1}.{row.head + 1}@{row.row + 1}:{weights}"


def read_row(raw: str) -> RowEdit | None:
    """The way back.

    Raises:
        ValueError: it does not read so, names a key twice, or its weights are none.
    """
    if not raw:
        return None
    match = _ROW.fullmatch(raw)
    if match is None:
        raise ValueError(f"not a row: {raw[:40]!r}")
    weights: dict[int, float] = {}
    for part in match[5].split(",") if match[5] else []:
        pair = _WEIGHT.fullmatch(part)
        if pair is None or int(pair[1]) - 1 in weights:
            raise ValueError(f"not a weight of its own: {part[:40]!r}")
        weights[int(pair[1]) - 1] = float(pair[2])
    return RowEdit(_KINDS[match[1]], int(match[2]) - 1, int(match[3]) - 1, int(match[4]) - 1, weights)


def tidy_row(raw: str) -> str:
    """The one way to write a row; raises ``ValueError`` as :func:`read_row`."""
    return write_row(read_row(raw))


def _read_step(raw: str) -> int:
    return ALL if raw == "all" else _STEP.read(raw)


_STEP: Final = keys.integer("tree_step", 0, 0, 1000)
KEYS: Final[tuple[Key[Any], ...]] = (
    keys.choice("whatif", tuple(PARTS), "lab"),
    Key("heads", (), read_changes, write_changes, "changed heads such as e1.3:0,c2.5:u,d1.1:1.5"),
    Key("row", "", tidy_row, str, "a row such as c2.3@5:2=0.9, its weights at most 1 together"),
    keys.choice("brush", tuple(BRUSHES), "off"),
    keys.decimal("factor", 0.5, 0.0, 2.0),
    keys.integer("row_key", 1, 1, 5000),
    keys.integers("tree_node"),
    Key("tree_step", ALL, _read_step, lambda value: "all" if value == ALL else str(value), "a step or 'all'"),
    KIND,
    LAYER,
    HEAD,
    keys.integer("word", 1, 1, 5000),
    keys.choice("prune", ("all", "encoder", "cross"), "all"),
    keys.choice("order", ("cost", "gradient"), "cost"),
    keys.integer("remain", _MOST, 0, _MOST),
)
"""``tree_node`` and ``tree_step`` are a place in the changed search; ``word`` is the target token that is
explained."""
