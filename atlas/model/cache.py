"""What a decoder remembers between steps: keys and values, passed in and handed back, never kept on a
module.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass
class LayerCache:
    """Keys and values of one decoder layer.

    ``keys``, ``values``: ``(rows, H, capacity, K)``, filled up to the cache's length.
    ``memory_keys``, ``memory_values``: ``(B, H, S, K)``, computed once for each sentence.
    """

    keys: Tensor
    values: Tensor
    memory_keys: Tensor
    memory_values: Tensor


@dataclass
class Cache:
    """Everything that one more decoding step needs.

    Rows are hypotheses: ``beams`` of them for each of B sentences, a sentence's rows side by side.
    Cross-attention keys
    are not copied for each beam. Self-attention keys live in pre-allocated memory that doubles when it is
    full.

    ``memory_mask``: ``(B, S)``, True at real source tokens. ``length``: tokens read so far.
    """

    layers: list[LayerCache]
    memory_mask: Tensor
    beams: int
    length: int = 0

    @property
    def capacity(self) -> int:
        """Tokens that fit before the memory has to grow."""
        return self.layers[0].keys.shape[2]

    def ensure(self, length: int) -> None:
        """Make room for ``length`` tokens."""
        if length <= self.capacity:
            return
        grown = max(length, 2 * self.capacity)
        for layer in self.layers:
            for name in ("keys", "values"):
                old: Tensor = getattr(layer, name)
                new = old.new_empty((*old.shape[:2], grown, old.shape[3]))
                new[:, :, : self.length] = old[:, :, : self.length]
                setattr(layer, name, new)

    def expand(self, beams: int) -> None:
        """Turn one row for each sentence into ``beams`` equal rows."""
        rows = torch.arange(self.memory_mask.shape[0], device=self.memory_mask.device).repeat_interleave(
            beams
        )
        self._take_rows(rows)
        self.beams = beams

    def reorder(self, rows: Tensor) -> None:
        """Make row ``i`` continue what row ``rows[i]`` was; ``rows``: ``(B * beams,)`` within the same
        sentence.
        """
        self._take_rows(rows)

    def keep(self, sentences: Tensor) -> None:
        """Drop every sentence but ``sentences`` (``(B',)``, positions in the batch), with all of its rows."""
        offsets = torch.arange(self.beams, device=sentences.device)
        self._take_rows((sentences.unsqueeze(1) * self.beams + offsets).flatten())
        self.memory_mask = self.memory_mask[sentences]
        for layer in self.layers:
            layer.memory_keys = layer.memory_keys[sentences]
            layer.memory_values = layer.memory_values[sentences]

    def _take_rows(self, rows: Tensor) -> None:
        for layer in self.layers:
            for name in ("keys", "values"):
                old: Tensor = getattr(layer, name)
                new = old.new_empty((rows.shape[0], *old.shape[1:]))
                new[:, :, : self.length] = old[:, :, : self.length].index_select(0, rows)
                setattr(layer, name, new)
