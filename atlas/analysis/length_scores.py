"""Scores of a model by sentence length, with bootstrap intervals.

The measurement ``lengths`` of a bundle holds the scores of one model on held-out sentences, grouped by the
number of source tokens, end mark included. ``facts``: ``groups`` (their names: :data:`BINS`, then
:data:`SUMS`), ``counts`` sentences ``(G,)``, ``longest`` (tokens of the longest training sentence),
``tests``, ``search``, ``signature``. Arrays, float32: ``bleu``, ``chrf``, ``ratio`` (words of the
translations over words of the references) ``(G,)``; ``bleu_draws`` ``(G, N)``, BLEU of N resamples of the
sentences (Koehn 2004). Draw n has the same sentences for every model with the same groups, so the difference
of two models' draws is the paired bootstrap. A group without a sentence is NaN. No text of the corpus is in
it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atlas.errors import AtlasError

Floats = NDArray[np.floating]
DRAWS = 1000
BINS: tuple[tuple[str, int, int], ...] = (
    ("up to 8", 1, 8),
    ("9–12", 9, 12),
    ("13–16", 13, 16),
    ("17–20", 17, 20),
    ("21–24", 21, 24),
    ("25–28", 25, 28),
    ("29 and more", 29, 10**9),
)
"""Name, shortest and longest source of a group, in tokens with the end mark."""
SUMS = ("in training range", "longer", "all")
"""Groups over all bins: up to the longest training sentence, beyond it, everything."""
_ORDERS = 4


class LengthsError(AtlasError):
    """Sentences, translations and references that do not belong together."""


@dataclass(frozen=True)
class Interval:
    """A number with its 95% bootstrap interval."""

    value: float
    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        """Whether the whole interval lies on one side of 0."""
        return self.low > 0 or self.high < 0


def sentence_counts(hypotheses: Sequence[str], references: Sequence[str]) -> NDArray[np.int64]:
    """What BLEU needs of each sentence: ``(N, 10)``: n-grams found (4), n-grams (4), lengths of both (2).

    Sums over sentences give corpus BLEU by :func:`bleu_of`, with sacreBLEU's own tokenisation.
    """
    from sacrebleu.metrics import BLEU

    metric = BLEU(effective_order=True)  # as sacreBLEU asks for single sentences; the counts are the same
    rows = []
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        score = metric.sentence_score(hypothesis, [reference])
        rows.append([*score.counts, *score.totals, score.sys_len, score.ref_len])
    return np.array(rows, dtype=np.int64).reshape(-1, 2 * _ORDERS + 2)


def bleu_of(counts: NDArray[np.int64]) -> float:
    """Corpus BLEU of summed :func:`sentence_counts`, ``(10,)``, smoothed as sacreBLEU does by default."""
    from sacrebleu.metrics import BLEU

    correct, total = counts[:_ORDERS].tolist(), counts[_ORDERS : 2 * _ORDERS].tolist()
    score = BLEU.compute_bleu(correct, total, int(counts[-2]), int(counts[-1]), smooth_method="exp")
    return float(score.score)


def group_members(tokens: Sequence[int], longest: int) -> list[NDArray[np.bool_]]:
    """Which sentences are in each group, ``(N,)`` each, in the order of :data:`BINS` and :data:`SUMS`.

    Args:
        tokens: of each source, end mark included.
        longest: source of the training, in tokens.
    """
    lengths = np.asarray(tokens)
    bins = [(lengths >= low) & (lengths <= high) for _, low, high in BINS]
    return [*bins, lengths <= longest, lengths > longest, lengths > 0]


def scores_by_length(
    tokens: Sequence[int], hypotheses: Sequence[str], references: Sequence[str], longest: int
) -> tuple[dict[str, Any], dict[str, NDArray[np.float32]]]:
    """Facts (``groups``, ``counts``, ``longest``) and arrays of the measurement ``lengths``.

    Args:
        tokens: N source lengths, end mark included.
        hypotheses: N translations.
        references: N references.
        longest: source of the training, in tokens.

    Raises:
        LengthsError: the three differ in number, or are empty.
    """
    from sacrebleu.metrics import CHRF

    if not len(tokens) == len(hypotheses) == len(references) or not tokens:
        raise LengthsError(
            f"{len(tokens)} sentences, {len(hypotheses)} translations and {len(references)} references: "
            f"they must pair up, and there must be one"
        )
    counts = sentence_counts(hypotheses, references)
    members = group_members(tokens, longest)
    scores = np.full((3, len(members)), np.nan)
    draws = np.full((len(members), DRAWS), np.nan)
    for group, inside in enumerate(members):
        chosen = np.flatnonzero(inside).tolist()
        if not chosen:
            continue
        total = counts[chosen].sum(axis=0)
        chrf = CHRF().corpus_score([hypotheses[i] for i in chosen], [[references[i] for i in chosen]])
        scores[:, group] = bleu_of(total), chrf.score, total[-2] / total[-1]
        drawn = np.random.default_rng(group).multinomial(
            len(chosen), np.full(len(chosen), 1 / len(chosen)), DRAWS
        )
        draws[group] = [bleu_of(row) for row in drawn @ counts[chosen]]
    facts = {
        "groups": [name for name, _, _ in BINS] + list(SUMS),
        "counts": [int(inside.sum()) for inside in members],
        "longest": longest,
    }
    arrays = {"bleu": scores[0], "chrf": scores[1], "ratio": scores[2], "bleu_draws": draws}
    return facts, {name: array.astype(np.float32) for name, array in arrays.items()}


def interval(value: float, draws: Floats) -> Interval:
    """A score with the middle 95% of its draws ``(N,)``."""
    low, high = np.percentile(draws.astype(np.float64), [2.5, 97.5])
    return Interval(value, float(low), float(high))


def difference(first: float, first_draws: Floats, second: float, second_draws: Floats) -> Interval:
    """``first - second`` with its paired bootstrap interval; draw n of both has the same sentences."""
    return interval(
        first - second, np.asarray(first_draws, np.float64) - np.asarray(second_draws, np.float64)
    )


def bleu_with_intervals(arrays: Mapping[str, Floats]) -> tuple[Floats, Floats, Floats]:
    """BLEU of every group of :data:`BINS` and the ends of its 95% interval: ``(G,)`` each.

    Args:
        arrays: of the measurement ``lengths``.
    """
    draws = arrays["bleu_draws"][: len(BINS)].astype(np.float64)
    low, high = np.percentile(draws, [2.5, 97.5], axis=1)
    return arrays["bleu"][: len(BINS)], low, high
