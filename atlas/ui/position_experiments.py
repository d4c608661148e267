"""The experiments of the Positions page on the live model, kept in a cache that all sessions share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import streamlit as st

from atlas.analysis.positions import (
    ShuffleResult,
    shifted,
    shuffle_experiment,
    shuffled_order,
    token_order,
    zeroed,
)
from atlas.decoding import SearchOptions
from atlas.engine import Translation
from atlas.text.tokenizer import END_ID, SPECIAL_IDS, normalise
from atlas.trace.pieces import label_tokens
from atlas.ui.models import SharedEngine
from atlas.ui.results import BoundedCache

Encoding = Literal["trained", "zero", "shift"]

_RESULTS = 500


@dataclass(frozen=True)
class Shuffled:
    """A sentence whose words changed places.

    Attributes:
        before: the words in the order in which they were written, one space between them.
        after: the same words, shuffled.
        labels: ``(S,)``, the tokens of ``after``, as a picture shows them.
        result: what the encoder made of the two.
    """

    before: str
    after: str
    labels: tuple[str, ...]
    result: ShuffleResult


@st.cache_resource(show_spinner=False)
def _shuffles() -> BoundedCache[Shuffled]:
    return BoundedCache(_RESULTS, lambda shuffled: 1)


@st.cache_resource(show_spinner=False)
def _translations() -> BoundedCache[Translation]:
    return BoundedCache(_RESULTS, lambda translation: 1)


def shuffle(engine: SharedEngine, sentence: str, seed: int) -> Shuffled:
    """Shuffle the words of a sentence and encode both orders, with positions and without.

    Args:
        engine: the model.
        sentence: at least one word.
        seed: same seed, same order.

    Raises:
        AtlasError: the encoder cannot read the sentence (too long, for example).
    """

    def encode(ids: Sequence[int], positions: np.ndarray | None) -> np.ndarray:
        return engine.encode(ids, source_positions=positions if engine.positions(1) is not None else None)

    def compute() -> Shuffled:
        tokenizer = engine.tokenizer
        words = normalise(sentence).split()
        order = shuffled_order(words, seed)
        pieces = [tokenizer.encode(word) for word in words]
        ids = [*(piece for word in pieces for piece in word), END_ID]
        moved = token_order([len(word) for word in pieces], order)
        after = " ".join(words[place] for place in order)
        new = [ids[place] for place in moved]
        labels = tuple(token.label for token in label_tokens(after, tokenizer.pieces(new), new, SPECIAL_IDS))
        result = shuffle_experiment(
            encode,
            ids,
            moved,
            engine.config.width,
        )
        return Shuffled(" ".join(words), after, labels, result)

    return _shuffles().get((engine.hash, sentence, seed), compute)


def source_table(engine: SharedEngine, tokens: int, encoding: Encoding, offset: int) -> np.ndarray | None:
    """What the encoder adds to its embeddings: ``(tokens, D)``, or None for what it was trained with.

    Args:
        engine: a model with positions.
        tokens: S, the end mark included.
        encoding: ``zero`` for no positions, ``shift`` to begin at position ``offset``.
        offset: in positions.

    Raises:
        AtlasError: the model has no positions so far out.
    """
    if encoding == "trained":
        return None
    table = engine.positions(tokens + (offset if encoding == "shift" else 0))
    return zeroed(table) if encoding == "zero" else shifted(table, offset, tokens)


def translate(
    engine: SharedEngine,
    sentence: str,
    options: SearchOptions,
    encoding: Encoding = "trained",
    offset: int = 0,
) -> Translation:
    """Translate one sentence with another position encoding in the encoder; the decoder keeps its own.

    Raises:
        AtlasError: the model cannot read this.
    """

    def compute() -> Translation:
        tokens = len(engine.tokenizer.source(sentence))
        table = source_table(engine, tokens, encoding, offset)
        return engine.translate([sentence], options, source_positions=table)[0]

    shift = offset if encoding == "shift" else 0
    return _translations().get((engine.hash, sentence, options, encoding, shift), compute)
