"""What the counts and times of the Time part say: a table, numbers with their names, and a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from atlas.analysis.generation_timing import StepTimes, achieved
from atlas.analysis.operations import Operations, exponent, overtaking_length, steps
from atlas.model.config import TransformerConfig

Counts = Mapping[bool, Sequence[Operations]]
"""With a cache (True) and without: the multiply-adds of a whole text, one entry for each length."""
_WAYS = ((False, "no cache"), (True, "cache"))


@dataclass(frozen=True)
class Finding:
    """A number with its name and what it means, all of it our own words."""

    name: str
    value: str
    meaning: str


def part(counts: Sequence[Operations], name: str) -> NDArray[np.float64]:
    """One part of each count, float64 ``(N,)``."""
    return np.array([getattr(one, name) for one in counts], dtype=np.float64)


def amount(value: float) -> str:
    """A large number for people: ``1.23 G``."""
    for size, sign in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.2f} {sign}"
    return f"{value:.0f}"


def power(lengths: Sequence[int], values: Sequence[float] | NDArray[np.float64]) -> str:
    """``N^1.87``."""
    return f"N^{exponent(lengths, values):.2f}"


def cost_table(lengths: Sequence[int], counts: Counts, times: StepTimes | None) -> dict[str, dict[str, str]]:
    """Counts and times by length, with the exponent of each column in the last row: column -> row -> text.

    A length that the timing did not reach says so.
    """
    rows = [f"{length:,} tokens" for length in lengths] + ["grows as"] * (len(lengths) > 1)
    columns: dict[str, list[str]] = {}
    for cached, words in _WAYS:
        for name, title in (("attention", "attention"), ("rest", "all else")):
            values = part(counts[cached], name)
            columns[f"{title}, {words}"] = [amount(value) for value in values] + _last(lengths, values)
    if times is not None:
        for cached, words in _WAYS:
            reached = _reached(lengths, times)
            seconds = [times.total(length, cached=cached) for length in reached]
            column = [f"{value:.3f} s" for value in seconds] + ["not reached"] * (len(lengths) - len(reached))
            grows = _last(reached, seconds) or ["too few"]
            columns[f"time, {words}"] = column + (grows if len(lengths) > 1 else [])
    return {title: dict(zip(rows, column, strict=True)) for title, column in columns.items()}


def _last(lengths: Sequence[int], values: Sequence[float] | NDArray[np.float64]) -> list[str]:
    return [power(lengths, values)] if len(lengths) > 1 else []


def _reached(lengths: Sequence[int], times: StepTimes) -> list[int]:
    return [length for length in lengths if length <= len(times)]


def counted(config: TransformerConfig, lengths: Sequence[int], counts: Counts, source: int) -> list[Finding]:
    """What the multiply-adds alone say. ``source``: tokens of the source."""
    without = counts[False][-1]
    return [
        Finding(
            "Attention's share without a cache",
            f"{without.attention / without.total:.1%}",
            f"Scores and weighted sums of self-attention, of all multiply-adds for {lengths[-1]:,} tokens.",
        ),
        Finding(
            "A cache saves",
            f"{1 - counts[True][-1].total / without.total:.1%}",
            f"Of the multiply-adds for {lengths[-1]:,} tokens.",
        ),
        Finding(
            "Attention costs most from",
            f"{overtaking_length(config, source):,.0f} tokens",
            "Context at which one step with a cache spends as much on self-attention as on everything else. "
            "In shorter texts the length hardly matters.",
        ),
    ]


def measured(config: TransformerConfig, times: StepTimes, source: int, weights: int) -> list[Finding]:
    """What the times say of the last step. ``weights``: bytes of weights that one decoding step reads."""
    last = len(times)
    tail = max(1, last // 8)
    seconds = {cached: _typical(times, tail, cached=cached) for cached in (True, False)}
    work = {cached: steps(config, last, source, cached=cached)[-1].total for cached in (True, False)}
    speed = {cached: achieved(work[cached], seconds[cached]) / 1e9 for cached in (True, False)}
    return [
        Finding(
            "Last step without a cache: work",
            f"× {work[False] / work[True]:,.0f}",
            f"Multiply-adds, against the last step with a cache, after {last - 1:,} tokens.",
        ),
        Finding(
            "and time",
            f"× {seconds[False] / seconds[True]:,.1f}",
            f"{seconds[False] * 1000:.1f} ms against {seconds[True] * 1000:.1f} ms: last {tail}, median.",
        ),
        Finding(
            "Speed: one token a pass, whole text",
            f"{speed[True]:.2f}, {speed[False]:.1f} G/s",
            f"Billion multiply-adds a second, with a cache and without. A pass over one token reads "
            f"{weights / 2**20:.1f} MiB of weights and starts every product for a single row: a small model "
            "is bound by that and not by arithmetic.",
        ),
    ]


def _typical(times: StepTimes, tail: int, *, cached: bool) -> float:
    return float(np.median((times.cached if cached else times.uncached)[-tail:]))


def verdict(lengths: Sequence[int], counts: Counts, times: StepTimes | None) -> str:
    """What becomes of the claim of LLM Atlas, part 4: cubic without a cache, square with one."""
    grows = {
        (cached, name): exponent(lengths, part(counts[cached], name))
        for cached in (True, False)
        for name in ("attention", "rest")
    }
    said = (
        "LLM Atlas, part 4 calls it O(N³) without a cache and O(N²) with one. Counted, that holds for "
        f"attention alone (N^{grows[False, 'attention']:.2f} and N^{grows[True, 'attention']:.2f} here); "
        f"keys, values and all else are N² and N (N^{grows[False, 'rest']:.2f} and "
        f"N^{grows[True, 'rest']:.2f})."
    )
    if times is None or len(_reached(lengths, times)) < 2:
        return said
    reached = _reached(lengths, times)
    seen = {
        cached: power(reached, [times.total(length, cached=cached) for length in reached])
        for cached in (True, False)
    }
    return f"{said} Measured here, the time grows as {seen[False]} without a cache and {seen[True]} with one."
