"""An engine without a model, for tests of the interface: it upper-cases words.

What it returns has the shape of the real thing: translations with log-probabilities, valid traces.
"""

from __future__ import annotations

import math
import threading
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from atlas.decoding import SearchOptions
from atlas.engine import EmptySentence, Hypothesis, Translation
from atlas.trace import SCHEMA_VERSION, Fate, Header, Search, Trace, label_tokens
from atlas.trace.pieces import encode_text

LAYERS, HEADS, SPECIAL = 2, 4, frozenset((0, 1, 2))


def _pieces(sentence: str) -> tuple[list[str], list[int]]:
    """Words with the space before them, as byte-level pieces, and made-up ids."""
    pieces: list[str] = []
    word = " "
    for character in sentence:
        if character.isspace() and word.strip():
            pieces.append(word)
            word = ""
        word += character
    pieces = [encode_text(piece) for piece in [*pieces, word]]
    return pieces, [3 + zlib.crc32(piece.encode()) % 60_000 for piece in pieces]


def _rows(rng: np.random.Generator, *shape: int) -> np.ndarray:
    weights = rng.random(shape, dtype=np.float32) ** 4 + 1e-3
    return weights / weights.sum(-1, keepdims=True)


class FakeEngine:
    """Translates by upper-casing; counts how often it was loaded and how many passes ran at once."""

    loads = 0
    name, hash = "fake", "f" * 64
    source_language, target_language, device, card, parameters = "en", "fr", "cpu", "A fake.", 1_234_567

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.running = 0
        self.most_at_once = 0
        self.passes = 0

    @classmethod
    def load(cls, path: Any, device: str | None = None) -> FakeEngine:
        cls.loads += 1
        engine = cls()
        engine.name = str(path).rsplit("/", 1)[-1]
        return engine

    def __enter__(self) -> None:
        with self._lock:
            self.running += 1
            self.passes += 1
            self.most_at_once = max(self.most_at_once, self.running)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.running -= 1

    def translate(
        self,
        sentences: list[str],
        options: SearchOptions = SearchOptions(),
        prefix: str | None = None,
        progress: Any = None,
        source_positions: Any = None,
    ) -> list[Translation]:
        with self:
            return [self._translate(sentence) for sentence in sentences]

    def _translate(self, sentence: str) -> Translation:
        if not sentence.strip():
            return Translation(sentence, (), "the sentence is empty")
        if "explode" in sentence:
            raise ValueError("this sentence cannot be translated")
        pieces, ids = _pieces(sentence.upper())
        logprobs = tuple([-0.1] * (len(pieces) + 1))
        total = math.fsum(logprobs)
        best = Hypothesis(sentence.upper(), (*ids, 2), logprobs, total, total / len(logprobs), True)
        return Translation(sentence, (best,), None)

    def encode(self, sentence: Any, source_positions: Any = None) -> np.ndarray:
        with self:
            return np.zeros((3, 8), np.float32)

    def positions(self, length: int) -> np.ndarray:
        return np.zeros((length, 8), np.float32)

    def trace(
        self,
        sentence: str,
        options: SearchOptions = SearchOptions(),
        target: str | None = None,
        prefix: str | None = None,
        prefix_ids: Sequence[int] | None = None,
        record: Sequence[str] = ("scores",),
    ) -> Trace:
        if not sentence.strip():
            raise EmptySentence("the sentence is empty")
        with self:
            return fake_trace(sentence, target or sentence.upper(), self.name, self.hash)


def fake_trace(sentence: str, target: str, name: str = "fake", model_hash: str = "f" * 64) -> Trace:
    """A chain of kept nodes that spells ``target``, and one pruned candidate at each step."""
    rng = np.random.default_rng(zlib.crc32(sentence.encode()))
    source_pieces, source_ids = _pieces(sentence)
    source_tokens = label_tokens(sentence, [*source_pieces, "</s>"], [*source_ids, 2], SPECIAL)
    pieces, ids = _pieces(target)
    vocabulary = dict(zip(ids, pieces, strict=True)) | {0: "<pad>", 1: "<s>", 2: "</s>", 60_010: "Ġother"}
    chain = [*ids, 2]
    length, sources = len(chain), len(source_tokens)
    parent, token, fate, step, rank, expanded, on_path = [-1], [1], [int(Fate.KEPT)], [0], [0], [0], 0
    for index, number in enumerate(chain):
        last = index == length - 1
        parent += [on_path, on_path]
        token += [number, 60_010]
        fate += [int(Fate.FINISHED if last else Fate.KEPT), int(Fate.PRUNED)]
        step += [index + 1] * 2
        rank += [0, 1]
        expanded += [-1 if last else index + 1, -1]
        on_path = len(parent) - 2
    logprob = np.array([0.0] + [-0.1, -2.5] * length)
    cumulative = logprob.copy()
    for node in range(1, len(parent)):
        cumulative[node] += cumulative[parent[node]]
    decoder = np.zeros((length, LAYERS, HEADS, length), np.float32)
    for index in range(length):
        decoder[index, :, :, : index + 1] = _rows(rng, LAYERS, HEADS, index + 1)
    cross = _rows(rng, length, LAYERS, HEADS, sources)
    encoder = _rows(rng, LAYERS, HEADS, sources, sources)
    hidden = np.triu(np.full((length, length), -np.inf, np.float32), 1)[:, None, None, :]
    search = Search(
        parent=np.array(parent, np.int32),
        token=np.array(token, np.int32),
        logprob=logprob,
        cumulative=cumulative,
        score=cumulative / np.maximum(1, np.array(step)),
        step=np.array(step, np.int32),
        rank=np.array(rank, np.int32),
        fate=np.array(fate, np.int8),
        forced=np.zeros(len(parent), bool),
        expanded=np.array(expanded, np.int32),
        cross=cross,
        decoder=decoder,
        top_ids=np.tile(np.array([*chain, 60_010] * 10, np.int32)[:10], (length, 1)),
        top_logprobs=np.tile(np.linspace(-0.1, -5, 10, dtype=np.float32), (length, 1)),
    )
    return Trace(
        header=Header(SCHEMA_VERSION, "0.1.0", name, model_hash, "en", "fr", {"method": "beam", "beam": 2}),
        source=sentence,
        source_tokens=source_tokens,
        encoder=encoder,
        search=search,
        hypotheses=np.array([on_path], np.int32),
        vocabulary=vocabulary,
        special_ids=SPECIAL,
        end_id=2,
        extras={
            "encoder.scores": np.log(encoder),
            "cross.scores": np.log(cross),
            "decoder.scores": np.log(np.maximum(decoder, 1e-9)) + hidden,
        },
    )
