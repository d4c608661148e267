"""What the model showed in the passes of a search: kept as it came, put together once, at the end."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from atlas.decoding.candidates import Best

ALTERNATIVES = 10
"""Likeliest next tokens that are kept of each pass."""
_SOURCE = ("cross.weights", "cross.scores")  # their last axis ends in the padding of the batch


@dataclass(frozen=True)
class Step:
    """What one step of the model showed of a whole batch, on the model's device.

    ``points``: of the decoder's self-attention ``(L, rows, H, 1, X)``, of cross-attention ``(L, B, H, width,
    X)``, others ``(rows, X)``; X is the number of keys, or whatever the point has. ``top``: at least
    :data:`ALTERNATIVES` of the likeliest next tokens of every row (all there are, in a smaller vocabulary).
    """

    points: dict[str, Tensor]
    top: Best


@dataclass(frozen=True)
class _Share:
    """The part of one sentence in a step: sentence ``place`` of the batch, and those of its ``width`` rows
    that read a node, the first of which is pass number ``first``.
    """

    step: Step
    place: int
    width: int
    rows: tuple[int, ...]
    first: int


@dataclass
class Passes:
    """The passes of one sentence in the order of the search; ``nodes`` are those that they read.

    ``source``: its real tokens; what lies beyond is padding and is cut off.
    """

    source: int = 0
    nodes: list[int] = field(default_factory=list)
    _shares: list[_Share] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.nodes)

    def add(self, step: Step, place: int, nodes: Sequence[int]) -> None:
        """Take this sentence's share of a step.

        Args:
            place: of the sentence in the batch.
            nodes: what each of its rows read; -1 for a row that is not in use.
        """
        rows = tuple(row for row, node in enumerate(nodes) if node >= 0)
        if rows:
            self._shares.append(_Share(step, place, len(nodes), rows, len(self.nodes)))
            self.nodes += [nodes[row] for row in rows]

    @property
    def points(self) -> Collection[str]:
        """The names of what was kept."""
        return self._shares[0].step.points.keys()

    def shape(self, point: str) -> tuple[int, ...]:
        """Of what :meth:`gather` gives of every pass, such as ``(L, H, T)``."""
        return self._block(self._shares[-1], point).shape[1:]

    def gather(
        self, point: str, passes: NDArray[np.bool_] | None = None, filler: float = 0.0
    ) -> NDArray[np.float32]:
        """``(E, L, H, X)`` (``(E, X)`` where a point has no layers and heads), first pass first.

        Args:
            point: one of :attr:`points`.
            passes: ``(E,)``, which passes are wanted; None for all.
            filler: stands beyond the keys that a pass had.
        """
        count = len(self) if passes is None else int(passes.sum())
        out = np.full((count, *self.shape(point)), filler, np.float32)
        at = 0
        for share, chosen in self._chosen(passes):
            block = self._block(share, point)
            block = block if chosen is None else block[chosen]
            out[at : at + len(block), ..., : block.shape[-1]] = block
            at += len(block)
        return out

    def top(self, passes: NDArray[np.bool_] | None = None) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The likeliest next tokens of the passes and their log-probabilities (nats), ``(E, 10)`` each."""
        ids, logprobs = [], []
        for share, chosen in self._chosen(passes):
            rows = np.array(share.rows) + share.place * share.width
            rows = rows if chosen is None else rows[chosen]
            ids.append(share.step.top.tokens[rows, :ALTERNATIVES])
            logprobs.append(share.step.top.logprobs[rows, :ALTERNATIVES])
        return np.concatenate(ids).astype(np.int32), np.concatenate(logprobs).astype(np.float32)

    def _chosen(self, passes: NDArray[np.bool_] | None) -> Iterator[tuple[_Share, NDArray[np.bool_] | None]]:
        """Every share with a wanted pass; and which of its passes are, None for all of them."""
        for share in self._shares:
            chosen = None if passes is None else passes[share.first : share.first + len(share.rows)]
            if chosen is None or chosen.all():
                yield share, None
            elif chosen.any():
                yield share, chosen

    def _block(self, share: _Share, point: str) -> NDArray[np.float32]:
        """``(rows, L, H, X)`` or ``(rows, X)``, on the CPU."""
        whole, first = share.step.points[point], share.place * share.width
        if point.startswith("cross."):
            block = whole[:, share.place].permute(2, 0, 1, 3)
            block = block[..., : self.source] if point in _SOURCE else block
        elif whole.dim() > 2:
            block = whole[:, first : first + share.width, :, -1].transpose(0, 1)
        else:
            block = whole[first : first + share.width]
        found: NDArray[np.float32] = block.float().cpu().numpy()
        return found if len(share.rows) == share.width else found[list(share.rows)]
