"""What if: heads switched off, scaled or made blind, and one row of attention written by hand.

Every change is an edit of a point of the recorder (:mod:`atlas.model.recorder`): the weights of the model
stay as they are. The same edits hold in a pass over a whole translation and in every step of a search:

==========  =====================================  =========================  ==========================
change      point                                  in a whole pass            in one step of a search
==========  =====================================  =========================  ==========================
scale       ``.heads``, one head times a factor    ``(B, H, T, K)``           ``(rows, H, 1, K)`` (self),
                                                                              ``(B, H, rows, K)`` (cross)
uniform     ``.scores``, finite ones become 0      ``(B, H, T, S)``           ``(.., H, .., keys)``
row         ``.weights``, one row of one head      row ``r``                  the step that reads token r
==========  =====================================  =========================  ==========================

A factor of 0 is the mask variable of Michel, Levy and Neubig (2019, "Are Sixteen Heads Really Better than
One?", equation 2 with xi = 0); a sub-layer with every head at 0 adds the bias of its output projection only.
A uniform head takes the mean of the values that its query may see (the "uniform" control of Jain and Wallace
2019, section 4.1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Final, get_args

from torch import Tensor

from atlas.errors import AtlasError
from atlas.model.recorder import Edit, point
from atlas.trace.views import Kind

LARGEST_FACTOR: Final = 2.0


class AblationError(AtlasError):
    """A change that cannot be made to this model."""


@dataclass(frozen=True, order=True)
class HeadChange:
    """What is done to one head.

    Attributes:
        kind: encoder, decoder or cross.
        layer: counted from 0.
        head: counted from 0.
        factor: what its output is multiplied by, 0 (off) to 2; None makes it uniform over its visible keys.
    """

    kind: Kind
    layer: int
    head: int
    factor: float | None

    def __post_init__(self) -> None:
        """Check what can be checked without a model.

        Raises:
            AblationError: no such kind, a number below 0, or a factor outside 0..2.
        """
        _check_place(self.kind, self.layer, self.head)
        if self.factor is not None and not 0 <= self.factor <= LARGEST_FACTOR:
            raise AblationError(f"a factor lies in 0..{LARGEST_FACTOR:g}, not {self.factor:g}")


@dataclass(frozen=True)
class RowEdit:
    """One row of one head, written by hand: some keys get a weight, the others share what is left.

    Attributes:
        kind: encoder, decoder or cross.
        layer: counted from 0.
        head: counted from 0.
        row: of the query, counted from 0: a source token, or the target token that is read (0 is the start
            token).
        weights: key (counted from 0) -> its weight, each in 0..1, together at most 1.
    """

    kind: Kind
    layer: int
    head: int
    row: int
    weights: Mapping[int, float]

    def __post_init__(self) -> None:
        """Check what can be checked without a model.

        Raises:
            AblationError: no such place, a key that the query cannot see, or weights that are none.
        """
        _check_place(self.kind, self.layer, self.head)
        if self.row < 0 or any(key < 0 for key in self.weights):
            raise AblationError("rows and keys count from 0")
        if self.kind == "decoder" and any(key > self.row for key in self.weights):
            raise AblationError(f"row {self.row} of the decoder sees no later token")
        if any(not 0 <= weight <= 1 for weight in self.weights.values()):
            raise AblationError("a weight lies in 0..1")
        if sum(self.weights.values()) > 1 + 1e-6:
            raise AblationError(f"the weights of a row sum to at most 1, not {sum(self.weights.values()):g}")


def _check_place(kind: str, layer: int, head: int) -> None:
    if kind not in get_args(Kind):
        raise AblationError(f"the kind of a head is one of {', '.join(get_args(Kind))}, not {kind!r}")
    if layer < 0 or head < 0:
        raise AblationError("layers and heads count from 0")


def scale_head(head: int, factor: float) -> Edit:
    """An edit of ``.heads`` that multiplies the output of one head."""

    def edit(heads: Tensor) -> Tensor:
        changed = heads.clone()
        changed[:, head] *= factor
        return changed

    return edit


def make_uniform(head: int) -> Edit:
    """An edit of ``.scores`` that gives every key that a query may see the same score."""

    def edit(scores: Tensor) -> Tensor:
        changed = scores.clone()
        changed[:, head] = changed[:, head].masked_fill(changed[:, head].isfinite(), 0.0)
        return changed

    return edit


def rewrite_row(row: Tensor, weights: Mapping[int, float], visible: int) -> Tensor:
    """One row with some weights fixed; the others are scaled so that the row sums to 1.

    Args:
        row: ``(..., keys)``, a distribution over the first ``visible`` keys.
        weights: key -> fixed weight; keys that are not among the visible ones are left out.
        visible: how many keys the query may see.

    Returns:
        ``(..., keys)``. Where the others had no weight at all, they share the rest evenly; where there are no
        others, the fixed weights are scaled to sum to 1 (or are even, if all are 0).
    """
    fixed = {key: weight for key, weight in weights.items() if key < visible}
    if not fixed:
        return row
    others = row.clone()
    others[..., list(fixed)] = 0.0
    total = others.sum(-1, keepdim=True)
    free = [key for key in range(visible) if key not in fixed]
    spread = others.new_zeros(row.shape[-1])
    written = others.new_zeros(row.shape[-1])
    for key, weight in fixed.items():
        written[key] = weight
    if not free:
        if not written.sum():
            written[:visible] = 1.0
        return (written / written.sum()).expand_as(row)
    spread[free] = 1.0 / len(free)
    share = (others / total.clamp_min(1e-30)).where(total > 0, spread)
    return written + share * (1.0 - written.sum()).clamp_min(0.0)


class _Clock:
    """Which target tokens the pass that is now running reads; told by the decoder's self-attention."""

    def __init__(self) -> None:
        self.past = 0
        self.length = 1

    def see(self, weights: Tensor) -> Tensor:
        """An edit that changes nothing: ``(.., H, T, past + T)`` tells where the queries stand."""
        self.length = weights.shape[-2]
        self.past = weights.shape[-1] - self.length
        return weights


def _row_edits(change: RowEdit) -> dict[str, Edit]:
    clock = _Clock()

    def write(weights: Tensor, rows: slice, visible: int) -> Tensor:
        changed = weights.clone()
        rewritten = rewrite_row(weights[:, change.head, rows], change.weights, visible)
        changed[:, change.head, rows] = rewritten
        return changed

    def own(weights: Tensor) -> Tensor:
        """Self-attention: the last of T queries stands at the last key."""
        at = change.row - (weights.shape[-1] - weights.shape[-2])
        if not 0 <= at < weights.shape[-2]:
            return weights
        visible = weights.shape[-1] if change.kind == "encoder" else change.row + 1
        return write(weights, slice(at, at + 1), visible)

    def cross(weights: Tensor) -> Tensor:
        """``(B, H, beams * T, S)``: the beams of a sentence stand one after the other."""
        at = change.row - clock.past
        if not 0 <= at < clock.length:
            return weights
        return write(weights, slice(at, None, clock.length), weights.shape[-1])

    name = point(change.kind, change.layer, "weights")
    if change.kind == "cross":
        return {point("decoder", change.layer, "weights"): clock.see, name: cross}
    return {name: own}


def _after(first: Edit, second: Edit) -> Edit:
    return lambda tensor: second(first(tensor))


def make_edits(changes: Iterable[HeadChange], row: RowEdit | None = None) -> dict[str, Edit]:
    """All changes as edits of the recorder, made anew for each run (one run at a time may use them).

    A row that is written by hand is written last, so a uniform head keeps it.

    Args:
        changes: what is done to heads; a factor of 1 changes nothing and makes no edit.
        row: one row written by hand.

    Raises:
        AblationError: a head is changed twice.
    """
    steps: dict[str, list[Edit]] = {}
    seen: set[tuple[str, int, int]] = set()
    for change in changes:
        place = (change.kind, change.layer, change.head)
        if place in seen:
            raise AblationError(f"{change.kind} {change.layer + 1}.{change.head + 1} is changed twice")
        seen.add(place)
        if change.factor is None:
            name, edit = point(change.kind, change.layer, "scores"), make_uniform(change.head)
        elif change.factor == 1:
            continue
        else:
            name, edit = point(change.kind, change.layer, "heads"), scale_head(change.head, change.factor)
        steps.setdefault(name, []).append(edit)
    if row is not None and row.weights:
        for name, edit in _row_edits(row).items():
            steps.setdefault(name, []).append(edit)
    joined: Callable[[Edit, Edit], Edit] = _after
    return {name: reduce(joined, edits) for name, edits in steps.items()}


def check_heads(changes: Iterable[HeadChange], layers: Mapping[str, int], heads: int) -> None:
    """See that every changed head is one that a model has.

    Args:
        changes: what is done to heads.
        layers: number of layers by kind.
        heads: H, heads a layer.

    Raises:
        AblationError: naming the first that is not.
    """
    for change in changes:
        if change.layer >= layers[change.kind] or change.head >= heads:
            raise AblationError(
                f"{change.kind} {change.layer + 1}.{change.head + 1} is not here: this model has "
                f"{layers[change.kind]} {change.kind} layers of {heads} heads"
            )
