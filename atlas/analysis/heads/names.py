"""Names for what heads do, with the thresholds that they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from atlas.trace.views import Kind


@dataclass(frozen=True)
class Rule:
    """A head is called ``name`` where its ``metric`` is at least ``least``."""

    name: str
    metric: str
    least: float
    kinds: tuple[Kind, ...] = ("encoder", "decoder", "cross")


_OWN: Final[tuple[Kind, ...]] = ("encoder", "decoder")
RULES: Final = (
    Rule("previous token", "offset_-1", 0.5, _OWN),
    Rule("next token", "offset_1", 0.5, ("encoder",)),
    Rule("own token", "offset_0", 0.5, _OWN),
    Rule("two back", "offset_-2", 0.5, _OWN),
    Rule("two ahead", "offset_2", 0.5, ("encoder",)),
    Rule("diagonal", "offset_0", 0.5, ("cross",)),
    Rule("end-mark sink", "special", 0.5, ("encoder", "cross")),
    Rule("start-mark sink", "special", 0.5, ("decoder",)),
    Rule("punctuation", "punctuation", 0.4, ("encoder", "cross")),
    Rule("first token", "first", 0.5),
    Rule("last token", "last", 0.5, ("encoder", "cross")),
    Rule("rare word", "rare", 0.6),
    Rule("focused", "confidence", 0.7, ("cross",)),
    Rule("spread evenly", "entropy", 0.8),
)
"""In no order: of several that hold, the one that is furthest above its threshold gives the name."""


def applicable(kind: Kind, values: Mapping[str, float]) -> Rule | None:
    """The rule that names a head best; None where no threshold is reached.

    Args:
        values: metric -> value; NaN reaches no threshold.
    """
    held = [rule for rule in RULES if kind in rule.kinds and values.get(rule.metric, 0.0) >= rule.least]
    return max(held, key=lambda rule: (values[rule.metric] - rule.least) / (1 - rule.least), default=None)
