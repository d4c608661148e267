"""How to search: one frozen, checked description for the app, the command line and notebooks."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from atlas import limits
from atlas.errors import AtlasError

Method = Literal["beam", "greedy", "sample"]
Penalty = Literal["gnmt", "average", "none"]
Stop = Literal["exact", "first"]


def default_limit(source_tokens: int) -> int:
    """How many tokens a translation may have, end mark included, when nobody says otherwise."""
    return 2 * source_tokens + 10


class OptionsError(AtlasError):
    """A search that cannot be made."""


@dataclass(frozen=True)
class SearchOptions:
    """What to look for and when to stop.

    ``method`` "greedy" is beam search of width 1. ``penalty`` normalises a hypothesis of ``n`` generated
    tokens (end mark included) by
    ``((5 + n) / 6) ** alpha`` ("gnmt", Wu et al. 2016, equation 14), by ``n`` ("average") or not at all
    ("none"). ``stop`` "exact" goes on until no live
    hypothesis can still beat the worst finished one; "first" ends when ``beam`` hypotheses have finished.
    ``max_length`` counts generated tokens;
    None means ``2 S + 10`` for a source of S tokens. ``min_length`` tokens come before an end mark may.
    ``temperature``, ``top_k`` (0: off), ``top_p`` and
    ``seed`` serve "sample" only.

    Raises:
        OptionsError: a value out of range.
    """

    method: Method = "beam"
    beam: int = 5
    penalty: Penalty = "gnmt"
    alpha: float = 0.6
    stop: Stop = "exact"
    max_length: int | None = None
    min_length: int = 0
    n_best: int = 1
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name, choices in (("method", Method), ("penalty", Penalty), ("stop", Stop)):
            if getattr(self, name) not in get_args(choices):
                raise OptionsError(
                    f"{name} must be one of {', '.join(get_args(choices))}, not {getattr(self, name)!r}"
                )
        widest = limits.WIDTH.value
        whole: dict[str, tuple[int, int | None]] = {"beam": (1, widest), "n_best": (1, widest)}
        whole |= {"min_length": (0, None), "top_k": (0, None), "seed": (0, None)}
        if self.max_length is not None:
            whole["max_length"] = (1, None)
        for name, (low, high) in whole.items():
            value = getattr(self, name)
            if (
                not isinstance(value, int)
                or isinstance(value, bool)
                or value < low
                or (high is not None and value > high)
            ):
                limit = f"from {low} to {high}" if high is not None else f"of at least {low}"
                raise OptionsError(f"{name} must be a whole number {limit}, not {value!r}")
        for name, low_open, high_closed in (("temperature", 0.0, math.inf), ("top_p", 0.0, 1.0)):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not low_open < value <= high_closed or math.isinf(value):
                limit = "above 0 and at most 1" if high_closed == 1 else "a number above 0"
                raise OptionsError(f"{name} must be {limit}, not {value!r}")
        if not isinstance(self.alpha, int | float) or not 0 <= self.alpha <= 10:
            raise OptionsError(f"alpha must lie between 0 and 10, not {self.alpha!r}")
        if self.max_length is not None and self.min_length > self.max_length:
            raise OptionsError(
                f"min_length is {self.min_length}, above max_length, which is {self.max_length}"
            )
        if self.method == "beam" and self.n_best > self.beam:
            raise OptionsError(
                f"n_best is {self.n_best}, but a beam of {self.beam} finds at most {self.beam} "
                f"translations; widen the beam"
            )
        if self.method == "greedy" and self.n_best != 1:
            raise OptionsError(f"greedy search finds one translation; n_best must be 1, not {self.n_best}")

    @property
    def width(self) -> int:
        """Hypotheses that are alive at once for each sentence."""
        return {"beam": self.beam, "greedy": 1, "sample": self.n_best}[self.method]

    def normalise(self, logprob: float, length: int) -> float:
        """The score by which hypotheses of different length are compared: ``logprob`` over the length
        penalty.
        """
        if self.penalty == "none" or length == 0:
            return logprob
        return logprob / (float(length) if self.penalty == "average" else ((5 + length) / 6) ** self.alpha)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as stored in a trace's header."""
        return asdict(self)
