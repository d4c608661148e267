"""A cache in which nothing moves: hypotheses share the keys of their common beginning.

A beam search gives every row a new past at every step. Instead of copying keys and values behind the rows,
each step appends what its rows read to memory that the whole sentence shares, and a mask remembers which of
it every row may see. All rows of a sentence then ask the same keys, so attention is one product of matrices
for a sentence and head. What no living row descends from is dropped when it has piled up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from atlas.model.softmax import in_lanes

PILE = 128
"""Slots that may pile up before those that no row descends from are looked for."""


@dataclass
class TreeCache:
    """What a running search remembers: B sentences of ``beams`` rows, a sentence's rows side by side.

    Attributes:
        memory: keys and values of self-attention, ``(2, B, H, capacity, K)`` for each layer, filled up to
            ``used`` slots, a slot for each token that a row read, and finite in the rest of the last lane.
            The capacity is a multiple of :data:`~atlas.model.softmax.LANES`.
        source: keys and values of cross-attention for each layer, ``(2, B, H, S, K)``, S too.
        source_bias: ``(B, 1, 1, S)``, 0 at source tokens and ``-inf`` at padding.
        paths: ``(B, beams, length)``, the slot of every token that a row has read, in order.
        source_length: source tokens of the longest sentence.
        beams: rows for each sentence.
        length: tokens that every row has read.
        used: slots in use.
    """

    memory: list[Tensor]
    source: list[Tensor]
    source_bias: Tensor
    paths: Tensor
    source_length: int
    beams: int = 1
    length: int = 0
    used: int = 0
    _bias: Tensor | None = field(default=None, repr=False)
    _looked: int = field(default=0, repr=False)

    @property
    def sentences(self) -> int:
        """B."""
        return self.paths.shape[0]

    @property
    def capacity(self) -> int:
        """Slots that fit before the memory has to grow."""
        return self.memory[0].shape[3]

    def append(self) -> Tensor:
        """Make room for what every row reads next, and let it see itself.

        Returns:
            ``(B, beams, n)`` with all slots in use: 0 where a row may look and ``-inf`` elsewhere.
        """
        if self.used + self.beams > self.capacity:
            self._grow(2 * self.capacity)
        begun, needed = in_lanes(self.used), in_lanes(self.used + self.beams)
        if needed > begun:
            for memory in self.memory:
                memory[:, :, :, begun:needed] = 0.0
        slots = torch.arange(self.used, self.used + self.beams, device=self.paths.device)
        own = slots.expand(self.sentences, -1).unsqueeze(-1)
        self.paths = torch.cat((self.paths, own), -1)
        self.used += self.beams
        self.length += 1
        if self._bias is None:
            bias = self.memory[0].new_full((self.sentences, self.beams, self.capacity), -math.inf)
            self._bias = bias.scatter_(-1, self.paths, 0.0)
        else:
            self._bias.scatter_(-1, own, 0.0)
        return self._bias[:, :, : in_lanes(self.used)]

    def expand(self, beams: int) -> None:
        """Turn one row for each sentence into ``beams`` equal rows."""
        self.paths = self.paths.expand(-1, beams, -1).clone()
        self.beams = beams
        self._bias = None
        self._grow(beams * self.capacity)

    def reorder(self, rows: Tensor) -> None:
        """Make row ``i`` continue what row ``rows[i]`` was; ``rows``: ``(B * beams,)`` within the same
        sentence.
        """
        self.paths = self.paths.flatten(0, 1)[rows].unflatten(0, (-1, self.beams))
        if self._bias is not None:
            self._bias = self._bias.flatten(0, 1)[rows].unflatten(0, (-1, self.beams))
        if self.used - self._looked > max(PILE, self._looked):
            self._drop_dead()

    def keep(self, sentences: Tensor) -> None:
        """Keep ``sentences`` (``(B',)``, positions in the batch, in their new order), with all of their rows.

        Sentences that stay at their place are not copied.
        """
        places = sentences.tolist()
        moved = [(new, old) for new, old in enumerate(places) if new != old]
        new_places, old_places = ([pair[side] for pair in moved] for side in (0, 1))
        for tensors, filled in ((self.memory, in_lanes(self.used)), (self.source, None)):
            for index, tensor in enumerate(tensors):
                if moved:
                    tensor[:, new_places, :, :filled] = tensor[:, old_places, :, :filled]
                tensors[index] = tensor[:, : len(places)]
        self.paths = self.paths[sentences]
        if self._bias is not None:
            self._bias = self._bias[sentences]
        self.source_bias = self.source_bias[sentences]

    def along_paths(self, over_slots: Tensor) -> Tensor:
        """What every row sees of its own past: ``(B, H, beams, n)`` -> ``(B, H, beams, length)``."""
        return over_slots.gather(-1, self.paths.unsqueeze(1).expand(-1, over_slots.shape[1], -1, -1))

    def _grow(self, capacity: int) -> None:
        """Memory for ``capacity`` slots."""
        for index, old in enumerate(self.memory):
            new = old.new_empty((*old.shape[:3], capacity, old.shape[4]))
            filled = in_lanes(self.used)
            new[:, :, :, :filled] = old[:, :, :, :filled]
            self.memory[index] = new
        self._bias = None

    def _drop_dead(self) -> None:
        """Close the gaps that slots leave from which no row descends."""
        alive = torch.zeros((self.sentences, self.used), dtype=torch.bool, device=self.paths.device)
        alive.scatter_(-1, self.paths.flatten(1), True)
        kept = int(alive.sum(-1).max())
        if kept < self.used:
            # Living slots first, in their order; a sentence with fewer of them is filled up with dead ones.
            order = torch.sort(~alive, dim=-1, stable=True).indices[:, :kept]
            place = torch.empty((self.sentences, self.used), dtype=torch.long, device=self.paths.device)
            place.scatter_(-1, order, torch.arange(kept, device=order.device).expand_as(order))
            self.paths = place.gather(-1, self.paths.flatten(1)).view_as(self.paths)
            rows = torch.arange(self.sentences, device=order.device).unsqueeze(-1)
            for old in self.memory:
                living = old.transpose(2, 3)[:, rows, order]
                old[:, :, :, :kept] = living.transpose(2, 3)
            self.used = kept
            self._bias = None
        self._looked = self.used
