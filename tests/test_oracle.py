"""An oracle that no one here wrote: our weights in CTranslate2 say and find the same.

Float32 sums in another order may turn a decision where two choices are equally good. Such a tie is bounded:
at the first place where two greedy texts part, the model gives both tokens the same log-probability to 1e-4;
two best beams that differ have the same score to 1e-4, unless exact stopping has found a better one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import numpy as np
import pytest
import torch

from atlas.bench.ctranslate import Oracle
from atlas.checkpoint import load_bundle
from atlas.decoding import Found, SearchOptions, translate_ids
from atlas.decoding.options import Stop
from atlas.model import Transformer
from atlas.text.tokenizer import END_ID, PAD_ID, START_ID, Tokenizer
from tests.conftest import tiny_model
from tests.sentences import SENTENCES

TIE = 1e-4


@dataclass
class Pair:
    """Our model and its conversion, with sentences as ids."""

    model: Transformer
    oracle: Oracle
    sources: list[list[int]]
    limit: int

    def rows(self, source: Sequence[int], target: Sequence[int]) -> torch.Tensor:
        """``(T + 1, V)``: our log-probabilities after each token of a target, from one full pass."""
        whole = torch.tensor([list(source)])
        with torch.inference_mode():
            logits = self.model(
                whole, torch.ones_like(whole, dtype=torch.bool), torch.tensor([[START_ID, *target]])
            )
        return logits[0].double().log_softmax(-1)

    def ours(self, beam: int, stop: Stop = "exact") -> list[Found]:
        """Our best translations without a length penalty."""
        options = SearchOptions(beam=beam, penalty="none", stop=stop, max_length=self.limit)
        return [found[0] for found in translate_ids(self.model, self.sources, options)]


def body(found: Found) -> tuple[int, ...]:
    return found.ids[:-1] if found.finished else found.ids


def check_logprobs(pair: Pair, targets: Sequence[Sequence[int]]) -> None:
    given = pair.oracle.logprobs(pair.sources, targets)
    for source, target, theirs in zip(pair.sources, targets, given, strict=True):
        wanted = [*target, END_ID]
        ours = pair.rows(source, target)[range(len(wanted)), wanted].numpy()
        assert len(theirs) == len(ours)
        assert np.abs(ours - theirs).max() < 1e-4


def check_greedy(pair: Pair, never: Sequence[int] = ()) -> None:
    theirs = pair.oracle.translate(pair.sources, 1, pair.limit, never)
    different = 0
    for source, found, (other, _) in zip(pair.sources, pair.ours(1), theirs, strict=True):
        ours = body(found)
        if ours == other:
            continue
        different += 1
        shared = sum(1 for _ in takewhile(lambda both: both[0] == both[1], zip(ours, other, strict=False)))
        row = pair.rows(source, ours[:shared])[-1]
        choices = [(*text, END_ID)[shared] for text in (ours, other)]
        assert abs(float(row[choices[0]] - row[choices[1]])) < TIE, (ours, other)
    assert different <= len(pair.sources) // 25, "ties are rare"


def check_beam(pair: Pair) -> None:
    theirs = pair.oracle.translate(pair.sources, 5, pair.limit)
    different = 0
    for found, first, (other, score) in zip(pair.ours(5), pair.ours(5, "first"), theirs, strict=True):
        if abs(found.score - score) >= TIE:
            # It stops when as many have finished as the beam is wide; ours goes on and may only find better.
            assert found.score > score and abs(first.score - score) < TIE, (found.ids, other)
        different += body(found) != other
    assert different <= len(pair.sources) // 25, "ties are rare"


@pytest.fixture(scope="module")
def shipped_pair(shipped: Path, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    bundle = load_bundle(shipped)
    oracle = Oracle.of(bundle.model, bundle.tokenizer, tmp_path_factory.mktemp("ctranslate"))
    return Pair(bundle.model, oracle, [bundle.tokenizer.source(text) for text in SENTENCES], 120)


class TestShipped:
    def test_there_are_fifty_sentences(self):
        assert len(set(SENTENCES)) == 50
        assert sum(len(text.split()) > 20 for text in SENTENCES) >= 6

    def test_teacher_forced_log_probabilities(self, shipped_pair: Pair):
        """Of our own translations, and of those of other sentences, which it finds unlikely."""
        texts = [body(found) for found in shipped_pair.ours(1)]
        check_logprobs(shipped_pair, texts)
        check_logprobs(shipped_pair, [*texts[1:], texts[0]])

    def test_greedy_search(self, shipped_pair: Pair):
        check_greedy(shipped_pair)

    def test_the_best_of_a_beam_without_penalty(self, shipped_pair: Pair):
        check_beam(shipped_pair)


SHAPES = {
    "pre": {"norm": "pre"},
    "post": {"norm": "post"},
    "post, gelu, untied, learned, uneven": {
        "norm": "post", "activation": "gelu", "tied": False, "positions": "learned", "decoder_layers": 3,
    },
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_random_weights_of_every_shape(shape: str, tokenizer: Tokenizer, tmp_path: Path):
    """Random models hardly ever end, so all is cut at twelve tokens, and may want ``<pad>`` or ``<s>``."""
    model = tiny_model(tokenizer, **SHAPES[shape])
    with torch.no_grad():
        model.unembedding.mul_(3.0 if model.config.tied else 1.0)
    sources = [tokenizer.source(text) for text in SENTENCES[:25]]
    pair = Pair(model, Oracle.of(model, tokenizer, tmp_path), sources, 12)
    random = np.random.default_rng(1)
    check_logprobs(pair, [random.integers(3, len(tokenizer), size).tolist() for size in range(1, 26)])
    check_greedy(pair, never=(PAD_ID, START_ID))
