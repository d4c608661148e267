"""Sentence pairs as padded tensors of about equal size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from atlas.text.corpora import Pair
from atlas.text.tokenizer import END_ID, PAD_ID, START_ID, Tokenizer


@dataclass(frozen=True)
class Batch:
    """``source`` ``(B, S)`` and ``target`` ``(B, T + 1)`` ids, padded at the end with ``<pad>``.

    A target row is start, pieces, end: all but its last column is read, all but its first is predicted.
    """

    source: Tensor
    target: Tensor

    @property
    def tokens(self) -> int:
        """Target tokens to predict, padding not counted."""
        return int((self.target[:, 1:] != PAD_ID).sum())

    def rows(self, rank: int, world: int) -> Batch:
        """The part of one of ``world`` processes: every ``world``-th row."""
        return Batch(self.source[rank::world], self.target[rank::world])

    def to(self, device: torch.device) -> Batch:
        """The same batch on another device."""
        return Batch(self.source.to(device), self.target.to(device))


def pad(rows: Sequence[Sequence[int]]) -> Tensor:
    """``(B, longest)`` int64, filled up with ``<pad>``."""
    out = torch.full((len(rows), max((len(row) for row in rows), default=0)), PAD_ID)
    for index, row in enumerate(rows):
        out[index, : len(row)] = torch.tensor(row, dtype=torch.int64)
    return out


class EncodedPairs:
    """Pairs as ids, cut into batches of similar length.

    Args:
        longest: pairs with more tokens on either side are left out; ``dropped`` counts them.
    """

    def __init__(self, pairs: Sequence[Pair], tokenizer: Tokenizer, longest: int = 128) -> None:
        sources = tokenizer.encode_batch([pair.source for pair in pairs])
        targets = tokenizer.encode_batch([pair.target for pair in pairs])
        self._take(sources, targets, longest)

    @classmethod
    def of_ids(
        cls, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], longest: int = 128
    ) -> EncodedPairs:
        """Pairs that are ids already, without control tokens."""
        pairs = cls.__new__(cls)
        pairs._take(sources, targets, longest)
        return pairs

    def _take(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], longest: int) -> None:
        self.source = [[*ids, END_ID] for ids in sources]
        self.target = [[START_ID, *ids, END_ID] for ids in targets]
        fits = [
            len(s) <= longest and len(t) <= longest + 1 for s, t in zip(self.source, self.target, strict=True)
        ]
        self.dropped = fits.count(False)
        self.source = [row for row, ok in zip(self.source, fits, strict=True) if ok]
        self.target = [row for row, ok in zip(self.target, fits, strict=True) if ok]
        self._lengths = np.array(
            [(len(t), len(s)) for s, t in zip(self.source, self.target, strict=True)]
        ).reshape(-1, 2)

    def __len__(self) -> int:
        return len(self.source)

    def order(self, tokens: int, seed: int, epoch: int) -> list[np.ndarray]:
        """The batches of one epoch as arrays of pair numbers; the same for the same arguments.

        Pairs are sorted by target, then source length, equal ones in random order; a batch is filled until
        its longest side times its
        rows would pass ``tokens``; then the batches are shuffled.
        """
        random = np.random.default_rng([seed, epoch])
        noise = random.random(len(self))
        ranking = np.lexsort((noise, self._lengths[:, 1], self._lengths[:, 0]))
        batches, first, longest = [], 0, 0
        widths = self._lengths.max(axis=1)
        for place, pair in enumerate(ranking):
            longest_now = max(longest, int(widths[pair]))
            if place > first and longest_now * (place - first + 1) > tokens:
                batches.append(ranking[first:place])
                first, longest_now = place, int(widths[pair])
            longest = longest_now
        if first < len(ranking):
            batches.append(ranking[first:])
        return [batches[i] for i in random.permutation(len(batches))]

    def batch(self, pairs: np.ndarray) -> Batch:
        """The pairs with these numbers, padded."""
        return Batch(pad([self.source[i] for i in pairs]), pad([self.target[i] for i in pairs]))
