"""An engine without a model, for tests of the interface: it upper-cases words.

What it returns has the shape of the real thing: translations with log-probabilities, valid traces.
"""

from __future__ import annotations

import math
import threading
import time
import zlib
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from atlas.decoding import SearchOptions
from atlas.engine import EmptySentence, Hypothesis, Translation
from atlas.errors import AtlasError
from atlas.text.tokenizer import Tokenizer
from atlas.trace import Trace
from tests.traces import make_trace


class FakeEngine:
    """Translates by upper-casing; counts how often it was loaded and how many passes ran at once."""

    loads = 0
    delay = 0.0
    name, hash = "fake", "f" * 64
    source_language, target_language, device, card, parameters = "en", "fr", "cpu", "A fake.", 1_234_567

    config = SimpleNamespace(positions="sinusoidal", max_length=512, width=8)
    tokenizer = Tokenizer.train(["A cat sleeps.", "Un chat dort."], 300)

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
            time.sleep(self.delay * len(sentences))
            return [self._translate(sentence) for sentence in sentences]

    def _translate(self, sentence: str) -> Translation:
        if not sentence.strip():
            return Translation(sentence, (), "the sentence is empty")
        if "explode" in sentence:
            raise AtlasError("this sentence cannot be translated")
        logprobs = tuple([-0.1] * (len(sentence.split()) + 1))
        total = math.fsum(logprobs)
        ids = (*range(3, 2 + len(logprobs)), 2)
        best = Hypothesis(sentence.upper(), ids, logprobs, total, total / len(logprobs), True)
        return Translation(sentence, (best,), None)

    def encode(self, sentence: Any, source_positions: Any = None) -> np.ndarray:
        with self:
            return np.zeros((len(sentence), 8), np.float32)

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
            trace = make_trace(
                sentence, target or sentence.upper(), beam=3, seed=zlib.crc32(sentence.encode())
            )
        header = replace(trace.header, model_name=self.name, model_hash=self.hash)
        return replace(trace, header=header)
