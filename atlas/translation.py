"""What the engine answers with, and what it refuses."""

from __future__ import annotations

from dataclasses import dataclass

from atlas.errors import AtlasError


class EmptySentence(AtlasError):
    """There is nothing to translate."""


class SentenceTooLong(AtlasError):
    """A sentence with more tokens than the model has positions."""


@dataclass(frozen=True)
class Hypothesis:
    """One translation.

    ``ids`` and ``logprobs`` (nats) hold one entry for each token, the end mark included if it is
    ``finished``; ``logprob`` is their sum and ``score`` that sum after the length penalty.
    """

    text: str
    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    logprob: float
    score: float
    finished: bool


@dataclass(frozen=True)
class Translation:
    """What became of one sentence: its hypotheses, best first; ``note`` says why there is none, or a cut."""

    source: str
    hypotheses: tuple[Hypothesis, ...]
    note: str | None = None

    @property
    def text(self) -> str:
        """The best translation, empty if there is none."""
        return self.hypotheses[0].text if self.hypotheses else ""

    @property
    def score(self) -> float:
        """The best translation's score; not a number if there is none."""
        return self.hypotheses[0].score if self.hypotheses else float("nan")
