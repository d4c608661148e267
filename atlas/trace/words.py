"""From attention between pieces to attention between words: steps to be combined, the maths of each stated.

Weights are ``(..., Q, K)``: queries down, keys across, any axes before. A row sums to 1 and still does after
each step, with two exceptions that each step names: a row that is *empty* (NaN), and the maximum over heads.
Sums are taken in float64 and returned in float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from atlas.trace.pieces import Token, visible

#: A row that keeps less than this of its weight is empty: what is left says nothing about the head.
EMPTY_BELOW = 1e-6


@dataclass(frozen=True)
class Group:
    """Neighbouring tokens shown as one row or column: the pieces of a word, or one piece alone.

    Attributes:
        members: indices of its tokens in their sequence.
        label: what a picture shows.
        text: ``sentence[start:end]``; of a special token its name.
        start, end: span in characters of the sentence.
        word: index of the word in the sentence, -1 for a special token.
        special: whether it is a control token.
    """

    members: tuple[int, ...]
    label: str
    text: str
    start: int
    end: int
    word: int
    special: bool


def piece_groups(tokens: Sequence[Token]) -> tuple[Group, ...]:
    """One group for each token."""
    return tuple(
        Group((index,), token.label, token.text, token.start, token.end, token.word, token.special)
        for index, token in enumerate(tokens)
    )


def word_groups(tokens: Sequence[Token], text: str) -> tuple[Group, ...]:
    """One group for each word of ``text``, whose pieces are ``tokens``; special tokens stay alone."""
    groups: list[Group] = []
    for single in piece_groups(tokens):
        last = groups[-1] if groups else None
        if last is None or single.special or single.word != last.word:
            groups.append(single)
            continue
        start, end = min(last.start, single.start), max(last.end, single.end)
        span = text[start:end]
        groups[-1] = Group(last.members + single.members, visible(span), span, start, end, last.word, False)
    return tuple(groups)


def merge_keys(weights: NDArray[np.float32], groups: Sequence[Sequence[int]]) -> NDArray[np.float32]:
    r"""``(..., Q, K) -> (..., Q, G)``: what a query gives to a word is the sum over the word's pieces.

    .. math:: w_{q,g} = \sum_{k \in g} w_{q,k}

    Rows still sum to 1, since every key is in one group. An empty row stays empty.
    """
    columns = [weights[..., list(group)].sum(-1, dtype=np.float64) for group in groups]
    return _stack(columns, -1, weights.shape[:-1])


def merge_queries(weights: NDArray[np.float32], groups: Sequence[Sequence[int]]) -> NDArray[np.float32]:
    r"""``(..., Q, K) -> (..., G, K)``: a word looks where its pieces look on average, empty ones apart.

    .. math:: w_{g,k} = \frac{1}{|g'|} \sum_{q \in g'} w_{q,k}, \quad g' = \{q \in g : w_q \text{ not empty}\}

    Rows still sum to 1. A word all of whose rows are empty is empty.
    """
    rows = [_mean_of_filled(weights[..., list(group), :]) for group in groups]
    return _stack(rows, -2, (*weights.shape[:-2], weights.shape[-1]))


def hide_special(
    weights: NDArray[np.float32], special_queries: Sequence[bool], special_keys: Sequence[bool]
) -> NDArray[np.float32]:
    r"""``(..., Q, K) -> (..., Q', K')``: special tokens left out, each row divided by what remains of it.

    .. math:: w'_{q,k} = w_{q,k} \Big/ \sum_{j \text{ not special}} w_{q,j}

    Rows sum to 1 again. A row that keeps less than a millionth of its weight becomes NaN: empty.
    """
    kept = select(weights, special_queries, special_keys).astype(np.float64)
    left = kept.sum(-1, keepdims=True)
    shares = np.full_like(kept, np.nan)
    np.divide(kept, left, out=shares, where=left >= EMPTY_BELOW)
    return shares.astype(np.float32)


def select(
    points: NDArray[np.float32], special_queries: Sequence[bool], special_keys: Sequence[bool]
) -> NDArray[np.float32]:
    """``(..., Q, K) -> (..., Q', K')``: special tokens left out, the numbers untouched (right for scores)."""
    queries, keys = (
        np.flatnonzero(~np.array(special_queries, bool)),
        np.flatnonzero(~np.array(special_keys, bool)),
    )
    return points[..., queries[:, None], keys]


def mean_heads(weights: NDArray[np.float32]) -> NDArray[np.float32]:
    r"""``(..., H, Q, K) -> (..., Q, K)``: the mean over the heads whose row is not empty.

    .. math:: w_{q,k} = \frac{1}{|H_q|} \sum_{h \in H_q} w_{h,q,k}

    Rows still sum to 1. A row that is empty in every head is empty.
    """
    return _mean_of_filled(np.moveaxis(weights, -3, -2)).astype(np.float32)


def max_heads(weights: NDArray[np.float32]) -> NDArray[np.float32]:
    r"""``(..., H, Q, K) -> (..., Q, K)``: the largest weight that any head gives.

    .. math:: w_{q,k} = \max_h w_{h,q,k}

    Rows do **not** sum to 1 but to anything between 1 and the number of heads. A row that is empty in every
    head is empty.
    """
    return np.fmax.reduce(weights, axis=-3)


def _mean_of_filled(rows: NDArray[np.float32]) -> NDArray[np.float64]:
    """``(..., R, K) -> (..., K)``: mean over the R rows without NaN; NaN if there is none."""
    filled = ~np.isnan(rows).any(-1, keepdims=True)
    count = filled.sum(-2)
    total = np.where(filled, rows, 0).sum(-2, dtype=np.float64)
    mean = np.full_like(total, np.nan)
    np.divide(total, count, out=mean, where=count > 0)
    return mean


def _stack(parts: Sequence[NDArray[np.float64]], axis: int, rest: tuple[int, ...]) -> NDArray[np.float32]:
    """Parts of shape ``rest`` along a new axis, also when there are none."""
    if not parts:
        place = len(rest) + 1 + axis
        return np.empty((*rest[:place], 0, *rest[place:]), np.float32)
    return np.stack(parts, axis).astype(np.float32)
