"""What one head does, as numbers about its attention weights.

Every number is a mean over the queries of a sample that it is defined for; padding is never a query nor a
key, and control tokens (start and end mark) are never a query. Weights are those before dropout.

A query stands at a place of its own among the keys: in self-attention its own index; in cross-attention the
query at step t of T looks from the place ``t (S - 1) / (T - 1)`` of the S source tokens, rounded: the
diagonal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

OFFSETS: Final = (-2, -1, 0, 1, 2)


@dataclass(frozen=True)
class Definition:
    """What a metric is.

    Attributes:
        title: as a page calls it.
        text: the definition in one line.
        source: where it comes from.
        unit: of its values: ``share`` lies in 0..1, ``tokens`` counts places.
        cross_only: whether only cross-attention has it.
    """

    title: str
    text: str
    source: str
    unit: str = "share"
    cross_only: bool = False


_KOVALEVA = "Kovaleva et al. 2019; Clark et al. 2019"
DEFINITIONS: Final[Mapping[str, Definition]] = {
    "confidence": Definition(
        "Confidence",
        "largest weight that a query gives to a key other than a control token",
        "Voita et al. 2019",
    ),
    "entropy": Definition(
        "Entropy",
        "entropy of a query's weights over the logarithm of the number of keys that it sees; 1 is uniform",
        "Ghader and Monz 2017; Clark et al. 2019",
    ),
    "distance": Definition(
        "Distance",
        "tokens between a query and the keys, weighted by attention",
        "Vig and Belinkov 2019",
        "tokens",
    ),
    "signed_distance": Definition(
        "Signed distance",
        "place of the keys minus place of the query, weighted by attention; negative looks back",
        "Vig and Belinkov 2019",
        "tokens",
    ),
    **{
        f"offset_{offset}": Definition(
            f"Offset {offset:+d}".replace("-", "−").replace("+0", "0"),
            "weight on the query's own place"
            if not offset
            else f"weight on the key {abs(offset)} {'after' if offset > 0 else 'before'} the query's place",
            "Raganato and Tiedemann 2018; Voita et al. 2019 (positional heads)",
        )
        for offset in OFFSETS
    },
    "first": Definition("First token", "weight on the first token that is no control token", _KOVALEVA),
    "last": Definition("Last token", "weight on the last visible token that is no control token", _KOVALEVA),
    "punctuation": Definition("Punctuation", "weight on tokens that are only punctuation", _KOVALEVA),
    "special": Definition("Control tokens", "weight on the start and the end mark", _KOVALEVA),
    "rare": Definition(
        "Rare word",
        "share of queries whose strongest key, control tokens apart, is the one that training saw least",
        "Voita et al. 2019 (rare tokens)",
    ),
    "coverage": Definition(
        "Coverage",
        "mean over source tokens of min(1, what all target steps together give to it)",
        "Wu et al. 2016, eq. 14; Tu et al. 2016",
        cross_only=True,
    ),
}


@dataclass(frozen=True)
class View:
    """What the metrics need to know of a padded batch of one kind of attention.

    Attributes:
        queries: ``(B, Q)``, True where a query counts: no padding, no control token.
        visible: ``(B, Q, K)``, True where the query sees the key.
        place: ``(B, Q)`` long, the query's place among the keys.
        special: ``(B, K)``, True at start and end marks.
        punctuation: ``(B, K)``, True at tokens that are only punctuation.
        counts: ``(B, K)`` float, how often training saw the key's token.
        cross: whether it is cross-attention.
    """

    queries: Tensor
    visible: Tensor
    place: Tensor
    special: Tensor
    punctuation: Tensor
    counts: Tensor
    cross: bool = False


def measure(weights: Tensor, view: View) -> dict[str, tuple[Tensor, Tensor]]:
    """Every metric of the heads of one layer, sentence by sentence.

    Args:
        weights: ``(B, H, Q, K)``, rows sum to 1 over the visible keys.

    Returns:
        by metric the sum over queries (of ``coverage``: over source tokens) ``(B, H)`` and how many there
        were ``(B,)``; the mean is their quotient.
    """
    weights = weights.float()
    seen = view.visible.float()
    places = torch.arange(weights.shape[-1], device=weights.device)
    gap = (places - view.place[..., None]).float()  # (B, Q, K)
    plain = view.visible & ~view.special[:, None]  # (B, Q, K): visible and no control token
    found: dict[str, tuple[Tensor, Tensor]] = {}

    def keep(name: str, values: Tensor, defined: Tensor) -> None:
        """``(B, H, Q)`` values, summed where ``(B, Q)`` says that they are defined."""
        rows = defined & view.queries
        found[name] = (values.masked_fill(~rows[:, None], 0.0).sum(-1), rows.sum(-1))

    def share(name: str, keys: Tensor) -> None:
        """Weight on the keys ``(B, Q, K)``, for queries that have one."""
        keep(name, (weights * keys[:, None]).sum(-1), keys.any(-1))

    anything = view.queries
    masked = weights.masked_fill(~plain[:, None], 0.0)
    keep("confidence", masked.amax(-1), plain.any(-1))
    entropy = -(weights * weights.clamp_min(1e-30).log()).sum(-1)
    number = seen.sum(-1)
    keep("entropy", entropy / number.clamp_min(2).log()[:, None], number > 1)
    keep("distance", (weights * gap.abs()[:, None]).sum(-1), anything)
    keep("signed_distance", (weights * gap[:, None]).sum(-1), anything)
    for offset in OFFSETS:
        share(f"offset_{offset}", (gap == offset) & view.visible)
    order = plain.float() * (places + 1)
    share("first", plain & (plain.cumsum(-1) == 1))
    share("last", plain & (order == order.amax(-1, keepdim=True)))
    share("punctuation", view.visible & view.punctuation[:, None])
    share("special", view.visible & view.special[:, None])
    counts = view.counts[:, None].masked_fill(~plain, math.inf)  # (B, Q, K)
    rarest = counts == counts.amin(-1, keepdim=True)
    strongest = masked.argmax(-1, keepdim=True)
    hit = rarest[:, None].expand_as(weights).gather(-1, strongest)[..., 0].float()
    keep("rare", hit, plain.sum(-1) > 1)
    if view.cross:
        real = view.visible.any(1) & ~view.special  # (B, K)
        received = (weights * view.queries[:, None, :, None]).sum(-2).clamp_max(1.0)  # (B, H, K)
        found["coverage"] = ((received * real[:, None]).sum(-1), real.sum(-1))
    return found
