"""The sentences that heads are measured on: pairs that the model never learnt from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from atlas.checkpoint import Bundle
from atlas.errors import AtlasError
from atlas.text.corpora import Pair
from atlas.text.tokenizer import END_ID
from atlas.training.run import corpus_of, with_one_typography

MOST_TOKENS = 64
"""Pairs with more tokens on either side are left out."""


@dataclass(frozen=True)
class HeldOut:
    """Held-out pairs in the order of the corpus, no source twice.

    Attributes:
        corpus: what the corpus is called in the bundle's configuration.
        pairs: N sentences and one translation each.
        source_ids: N rows of ids, the end mark last.
        target_ids: N rows of ids without the start token, the end mark last.
        source_counts: id -> how often it stands in the source side of training; an id that is not there
            stands nowhere.
        target_counts: the same of the target side.
        training: the pairs that the model learnt from.
    """

    corpus: str
    pairs: tuple[Pair, ...]
    source_ids: tuple[tuple[int, ...], ...]
    target_ids: tuple[tuple[int, ...], ...]
    source_counts: Mapping[int, int] = field(default_factory=dict)
    target_counts: Mapping[int, int] = field(default_factory=dict)
    training: tuple[Pair, ...] = field(default=(), repr=False)

    def __len__(self) -> int:
        return len(self.pairs)


def held_out(bundle: Bundle, source: Path | None = None, most: int = 1000) -> HeldOut:
    """The first ``most`` test pairs of the corpus that a bundle learnt from.

    Args:
        source: folder with a local copy of the corpus; see :func:`~atlas.text.download.locate`.

    Raises:
        AtlasError: the bundle does not name its corpus, or the corpus is not there or has no test sentences.
    """
    corpus = corpus_of(bundle, source)
    return sample_of(bundle, corpus.name, corpus.test, most, corpus.train)


def sample_of(
    bundle: Bundle, name: str, pairs: Sequence[Pair], most: int = 1000, training: Sequence[Pair] = ()
) -> HeldOut:
    """:func:`held_out` of pairs at hand.

    Args:
        training: what the model learnt from; the counts are taken there.

    Raises:
        AtlasError: none of them can be used.
    """
    tokenizer = bundle.tokenizer
    kept: dict[str, tuple[Pair, tuple[int, ...], tuple[int, ...]]] = {}
    for pair in with_one_typography(pairs):
        if len(kept) == most:
            break
        if pair.source in kept:
            continue
        ids = tuple(tokenizer.encode(pair.source)) + (END_ID,)
        answer = tuple(tokenizer.encode(pair.target)) + (END_ID,)
        if max(len(ids), len(answer)) <= MOST_TOKENS:
            kept[pair.source] = (pair, ids, answer)
    if not kept:
        raise AtlasError(f"{name}: no test sentence of at most {MOST_TOKENS} tokens")
    found, sources, targets = zip(*kept.values(), strict=True)
    sides = [pair.source for pair in training], [pair.target for pair in training]
    counts = [Counter(token for row in tokenizer.encode_batch(side) for token in row) for side in sides]
    return HeldOut(name, found, sources, targets, counts[0], counts[1], tuple(training))
