"""A model that is changed on the way, for any search."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from atlas.model.cache import Cache
from atlas.model.recorder import Edit, Recorder
from atlas.model.transformer import Transformer, TransformerConfig


class Edited:
    """A Transformer in which some points become something else; nothing is recorded.

    Args:
        edits: by name of a point, what it becomes (see :class:`~atlas.model.recorder.Recorder`).
    """

    def __init__(self, model: Transformer, edits: Mapping[str, Edit]) -> None:
        self._model = model
        self._edits = dict(edits)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self._model.device

    @property
    def config(self) -> TransformerConfig:
        """That of the model."""
        return self._model.config

    def begin(
        self,
        source: Tensor,
        mask: Tensor,
        recorder: Recorder | None = None,
        *,
        positions: Tensor | None = None,
    ) -> Cache:
        """As the model's own, with the edits; ``recorder`` must be None."""
        return self._model.begin(source, mask, self._changed(recorder), positions=positions)

    def step(self, tokens: Tensor, cache: Cache, recorder: Recorder | None = None) -> Tensor:
        """As the model's own, with the edits; ``recorder`` must be None."""
        return self._model.step(tokens, cache, self._changed(recorder))

    def _changed(self, recorder: Recorder | None) -> Recorder:
        if recorder is not None:
            raise ValueError("an edited model records nothing; give the edits to the recorder instead")
        return Recorder((), self._edits)
