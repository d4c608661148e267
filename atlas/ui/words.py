"""The words of a hypothesis and how sure the model was of each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from atlas.trace import Token, Trace


@dataclass(frozen=True)
class WordSpan:
    """A word of a translation.

    Attributes:
        text: as written, without the space before it.
        start: of it in the translation, a character index.
        end: one past its last character.
        probability: the product of the probabilities of its pieces, each given everything before it.
        pieces: how many pieces it has.
    """

    text: str
    start: int
    end: int
    probability: float
    pieces: int


def group_words(text: str, tokens: Sequence[Token], logprobs: Sequence[float]) -> list[WordSpan]:
    """Join the pieces of a translation into words.

    Args:
        text: the translation.
        tokens: its pieces with offsets into ``text``; control tokens are left out.
        logprobs: natural log-probability of each token.

    Returns:
        The words in order: p(word) = exp(sum of the log-probabilities of its pieces), at most 1.
    """
    groups: dict[int, list[int]] = {}
    for index, token in enumerate(tokens):
        if not token.special and token.word >= 0:
            groups.setdefault(token.word, []).append(index)
    words = []
    for members in groups.values():
        start = min(tokens[index].start for index in members)
        end = max(tokens[index].end for index in members)
        start += len(text[start:end]) - len(text[start:end].lstrip(" "))
        if start < end:
            total = math.fsum(float(logprobs[index]) for index in members)
            words.append(WordSpan(text[start:end], start, end, min(1.0, math.exp(total)), len(members)))
    return words


def target_words(trace: Trace, node: int) -> list[WordSpan]:
    """The words of the hypothesis that ends in ``node``."""
    logprobs = trace.search.logprob[trace.ancestors(node)]
    return group_words(trace.text(node), trace.target_tokens(node), logprobs.tolist())
