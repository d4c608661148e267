"""What every way of searching shares: how it begins, what it records, what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from atlas.decoding.candidates import NEVER
from atlas.decoding.options import OptionsError, SearchOptions, default_limit
from atlas.decoding.protocol import StepModel
from atlas.decoding.record import SearchRecord
from atlas.model.recorder import Edit, Recorder
from atlas.text.batches import pad
from atlas.text.tokenizer import END_ID, PAD_ID


@dataclass(frozen=True)
class Found:
    """One hypothesis: ``ids`` with the end mark if ``finished``, their log-probabilities (nats), and the
    normalised score.

    ``node`` is its last node in the record, -1 when nothing was recorded.
    """

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    score: float
    finished: bool
    node: int = -1

    @property
    def logprob(self) -> float:
        """Log-probability of the whole hypothesis, in nats."""
        return float(sum(self.logprobs))


@dataclass(frozen=True)
class Recording:
    """Ask for a record of the search: extra points of every pass, and the model's layers of attention by
    kind (``encoder``, ``decoder``, ``cross``); ``edits`` change points on the way, and
    ``made`` gathers the names of those that did (see :class:`~atlas.model.recorder.Recorder`).
    """

    layers: Mapping[str, int]
    extras: tuple[str, ...] = ()
    edits: Mapping[str, Edit] = field(default_factory=dict)
    made: set[str] = field(default_factory=set)

    def recorder(self, *more: str) -> Recorder:
        """A recorder for one pass of the model, which keeps ``more`` kinds of point besides."""
        begins = ("embedded",) if "residual" in self.extras else ()  # where the residual stream does
        return Recorder(("weights", *begins, *more, *self.extras), self.edits, self.made)


@dataclass
class SearchResult:
    """For each sentence its hypotheses, best first, and the record when one was asked for; ``encoder``
    holds what the encoder showed.
    """

    hypotheses: list[list[Found]]
    records: list[SearchRecord]
    encoder: Recorder | None


def check_forced(ids: Sequence[int], what: str) -> None:
    """Refuse forced target ids (``what`` they are is for the message) with a control token among them.

    Raises:
        OptionsError: there is one.
    """
    if any(token in (*NEVER, END_ID) for token in ids):
        raise OptionsError(f"a forced {what} cannot contain control tokens")


def length_limits(
    sources: Sequence[Sequence[int]], options: SearchOptions, prefix: Sequence[int], longest: int | None
) -> list[int]:
    """Most tokens that may be generated for each sentence, the forced beginning not counted.

    Args:
        longest: positions that the model has for the target; the limits are cut to fit.

    Raises:
        OptionsError: the forced beginning leaves no room.
    """
    limits = [options.max_length or default_limit(len(ids)) for ids in sources]
    if longest is None:
        return limits
    room = longest - len(prefix)
    if room < 1:
        raise OptionsError(
            f"the forced beginning has {len(prefix)} tokens; this model takes at most {longest - 1}"
        )
    return [min(limit, room) for limit in limits]


def read_sources(
    model: StepModel,
    sources: Sequence[Sequence[int]],
    recording: Recording | None,
    positions: Tensor | None = None,
    device: torch.device | None = None,
) -> tuple[Any, Recorder | None]:
    """Let the model read a padded batch: its state, and what the encoder showed if a record is wanted."""
    source = pad(sources).to(device)
    encoder = recording.recorder("memory") if recording else None
    return model.begin(source, source != PAD_ID, encoder, positions=positions), encoder


def step_recorder(recording: Recording | None) -> Recorder | None:
    """A recorder for one step of the decoder, if a record is wanted."""
    return recording.recorder() if recording else None
