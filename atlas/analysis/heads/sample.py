"""The sentences that heads are measured on: pairs that the model never learnt from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from atlas.checkpoint import Bundle
from atlas.errors import AtlasError
from atlas.text.corpora import Pair
from atlas.text.tokenizer import END_ID, Tokenizer
from atlas.training.run import corpus_of, with_one_typography

USUAL = 1000
"""Sentences that are read unless another number is asked for."""
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
        training: the pairs that the model learnt from.
        most: how many pairs were asked for.
    """

    corpus: str
    pairs: tuple[Pair, ...]
    source_ids: tuple[tuple[int, ...], ...]
    target_ids: tuple[tuple[int, ...], ...]
    training: tuple[Pair, ...] = field(default=(), repr=False)
    most: int = USUAL

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def digest(self) -> str:
        """SHA-256 of the pairs: a measurement keeps this and no sentence, and another copy of the corpus can
        be told from the one that was measured.
        """
        lines = (f"{pair.source}\t{pair.target}\n" for pair in self.pairs)
        return sha256("".join(lines).encode()).hexdigest()

    def command(self, model: str) -> str:
        """What measures the heads of a model on this sample."""
        return f"atlas heads {model}" + ("" if self.most == USUAL else f" --sentences {self.most}")


def held_out(bundle: Bundle, source: Path | None = None, most: int = USUAL) -> HeldOut:
    """The first ``most`` test pairs of the corpus that a bundle learnt from.

    Args:
        source: folder with a local copy of the corpus; see :func:`~atlas.text.download.locate`.

    Raises:
        AtlasError: the bundle does not name its corpus, or the corpus is not there or has no test sentences.
    """
    corpus = corpus_of(bundle, source)
    return sample_of(bundle.tokenizer, corpus.name, corpus.test, most, corpus.train)


def sample_of(
    tokenizer: Tokenizer, name: str, pairs: Sequence[Pair], most: int = USUAL, training: Sequence[Pair] = ()
) -> HeldOut:
    """:func:`held_out` of pairs at hand.

    Args:
        training: what the model learnt from.

    Raises:
        AtlasError: none of them can be used.
    """
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
    return HeldOut(name, found, sources, targets, tuple(training), most)
