"""What a search needs of a model: token ids in, logits out, and a memory that follows the hypotheses."""

from __future__ import annotations

from typing import Any, Protocol

from torch import Tensor

from atlas.model.recorder import Recorder


class State(Protocol):
    """The memory of a running search; rows are hypotheses, a sentence's rows side by side."""

    def expand(self, beams: int) -> None:
        """Turn one row for each sentence into ``beams``."""

    def reorder(self, rows: Tensor) -> None:
        """Make row ``i`` continue what row ``rows[i]`` was."""

    def keep(self, sentences: Tensor) -> None:
        """Drop all other sentences."""


class StepModel(Protocol):
    """A model that reads one token more of every row at a time."""

    def begin(
        self,
        source: Tensor,
        mask: Tensor,
        recorder: Recorder | None = None,
        *,
        positions: Tensor | None = None,
    ) -> Any:
        """Read ``(B, S)`` source ids; hand back a :class:`State` with one row for each sentence."""

    def step(self, tokens: Tensor, cache: Any, recorder: Recorder | None = None) -> Tensor:
        """Read ``(rows, 1)`` ids; return ``(rows, V)`` logits."""
