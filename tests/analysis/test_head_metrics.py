"""Metrics of heads against maps whose numbers are known, and against loops over a real pass."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
import torch
from torch import Tensor

from atlas.analysis.heads.accumulate import KINDS, gather
from atlas.analysis.heads.distances import divergences, places
from atlas.analysis.heads.metrics import DEFINITIONS, View, measure
from atlas.analysis.heads.sample import HeldOut
from atlas.analysis.passes import forced_pass
from atlas.text.corpora import Pair
from atlas.text.tokenizer import END_ID, Tokenizer
from tests.conftest import ENGLISH, FRENCH, tiny_model

LENGTH = 6
"""Five tokens and the end mark."""


def view(causal: bool = False, cross: bool = False) -> View:
    """One sentence of :data:`LENGTH` tokens that looks at itself; the fifth token is a full stop and the
    third is the rarest.
    """
    queries = torch.ones(1, LENGTH, dtype=torch.bool)
    queries[0, -1] = False
    visible = torch.ones(1, LENGTH, LENGTH, dtype=torch.bool)
    special, punctuation = ~queries, torch.zeros_like(queries)
    punctuation[0, 4] = True
    return View(
        queries=queries,
        visible=visible.tril() if causal else visible,
        place=torch.arange(LENGTH)[None],
        special=special,
        punctuation=punctuation,
        counts=torch.tensor([[50.0, 40.0, 1.0, 30.0, 90.0, 0.0]]),
        cross=cross,
    )


def means(weights: Tensor, seen: View) -> dict[str, float]:
    """Of one head ``(Q, K)``."""
    found = measure(weights[None, None], seen)
    return {name: float(total[0, 0] / count[0]) for name, (total, count) in found.items()}


def shifted(offset: int) -> Tensor:
    """All weight on the key ``offset`` places away; where there is none, on the nearest."""
    keys = (torch.arange(LENGTH) + offset).clamp(0, LENGTH - 1)
    return torch.nn.functional.one_hot(keys, LENGTH).float()


def test_a_perfect_previous_token_head() -> None:
    found = means(shifted(-1), view())
    assert found["offset_-1"] == 1.0  # the first token has no token before it and does not count
    assert found["offset_0"] == pytest.approx(1 / 5)  # the first token looks at itself
    assert found["offset_-2"] == found["offset_1"] == found["offset_2"] == 0.0
    assert found["confidence"] == 1.0
    assert found["entropy"] == pytest.approx(0.0, abs=1e-6)
    assert found["distance"] == pytest.approx(4 / 5)
    assert found["signed_distance"] == pytest.approx(-4 / 5)
    assert found["first"] == pytest.approx(2 / 5)
    assert found["last"] == found["punctuation"] == found["special"] == 0.0
    assert found["rare"] == pytest.approx(1 / 5)  # the fourth token looks at the third


@pytest.mark.parametrize("offset", [-2, -1, 0, 1, 2])
def test_an_offset_scores_only_at_its_own_place(offset: int) -> None:
    found = means(shifted(offset), view())
    assert found[f"offset_{offset}"] == 1.0
    assert all(found[f"offset_{other}"] < 0.5 for other in (-2, -1, 0, 1, 2) if other != offset)


def test_a_uniform_head() -> None:
    found = means(torch.full((LENGTH, LENGTH), 1 / LENGTH), view())
    assert found["entropy"] == pytest.approx(1.0)
    for name in ("confidence", "first", "last", "punctuation", "special", "offset_0", "offset_1"):
        assert found[name] == pytest.approx(1 / LENGTH), name
    gaps = [[key - query for key in range(LENGTH)] for query in range(LENGTH - 1)]
    assert found["signed_distance"] == pytest.approx(np.mean(gaps))
    assert found["distance"] == pytest.approx(np.mean(np.abs(gaps)))


def test_uniform_over_what_a_causal_mask_shows_has_entropy_one() -> None:
    weights = torch.ones(LENGTH, LENGTH).tril()
    seen = view(causal=True)
    found = means(weights / weights.sum(-1, keepdim=True), seen)
    assert found["entropy"] == pytest.approx(1.0)
    assert found["last"] == pytest.approx(np.mean([1 / n for n in range(1, LENGTH)]))  # the query's own


def test_the_end_mark_is_left_out_of_confidence_and_of_rare_words() -> None:
    weights = torch.zeros(LENGTH, LENGTH)
    weights[:, -1], weights[:, 2], weights[:, 0] = 0.7, 0.2, 0.1
    found = means(weights, view())
    assert found["special"] == pytest.approx(0.7)
    assert found["confidence"] == pytest.approx(0.2)  # Voita et al. 2019: the end mark does not count
    assert found["rare"] == 1.0  # the end mark was seen less often still, and is no word
    entropy = -sum(share * math.log(share) for share in (0.7, 0.2, 0.1)) / math.log(LENGTH)
    assert found["entropy"] == pytest.approx(entropy)


def test_coverage_is_what_every_source_token_receives_up_to_one() -> None:
    weights = torch.zeros(LENGTH, LENGTH)
    weights[:, 0] = 0.9
    weights[:, 1] = 0.1
    found = means(weights, view(cross=True))  # 5 queries: 4.5 -> 1, 0.5, and three tokens receive nothing
    assert found["coverage"] == pytest.approx((1 + 0.5) / 5)
    assert means(torch.eye(LENGTH), view(cross=True))["coverage"] == 1.0
    assert "coverage" not in means(torch.eye(LENGTH), view())


def test_padding_changes_nothing() -> None:
    torch.manual_seed(0)
    weights, plain = torch.rand(LENGTH, LENGTH).softmax(-1), view(cross=True)
    more = 3
    wide = torch.nn.functional.pad(weights, (0, more, 0, more))
    padded = View(
        queries=torch.nn.functional.pad(plain.queries, (0, more)),
        visible=torch.nn.functional.pad(plain.visible, (0, more, 0, more)),
        place=torch.arange(LENGTH + more)[None],
        special=torch.nn.functional.pad(plain.special, (0, more)),
        punctuation=torch.nn.functional.pad(plain.punctuation, (0, more)),
        counts=torch.nn.functional.pad(plain.counts, (0, more)),
        cross=True,
    )
    expected = means(weights, plain)
    assert set(expected) == set(DEFINITIONS)
    assert means(wide, padded) == pytest.approx(expected)


def sample(tokenizer: Tokenizer, numbers: list[int]) -> HeldOut:
    """Sentences of ours; the counts are those of the same sentences."""
    pairs = tuple(Pair(ENGLISH[n], FRENCH[n]) for n in numbers)
    sources = [tokenizer.encode(text) for text in ENGLISH]
    targets = [tokenizer.encode(text) for text in FRENCH]
    return HeldOut(
        "ours",
        pairs,
        tuple((*sources[n], END_ID) for n in numbers),
        tuple((*targets[n], END_ID) for n in numbers),
        tuple(Pair(*both) for both in zip(ENGLISH, FRENCH, strict=True)),
    )


def test_a_batch_of_two_lengths_equals_each_sentence_alone(tokenizer: Tokenizer) -> None:
    model = tiny_model(tokenizer)
    numbers = [4, 7, 1]
    together = gather(model, tokenizer, sample(tokenizer, numbers))
    for row, number in enumerate(numbers):
        alone = gather(model, tokenizer, sample(tokenizer, [number]))
        for kind in KINDS:
            for name, sums in alone[kind].sums.items():
                np.testing.assert_allclose(together[kind].sums[name][row], sums[0], atol=2e-5, err_msg=name)
                assert together[kind].counts[name][row] == alone[kind].counts[name][0]


def test_numbers_of_a_pass_are_those_of_loops_over_its_weights(tokenizer: Tokenizer) -> None:
    model, chosen = tiny_model(tokenizer), sample(tokenizer, [0])
    source, target = list(chosen.source_ids[0]), list(chosen.target_ids[0])
    found = gather(model, tokenizer, chosen)
    done = forced_pass(model, source, target[:-1], wanted=("weights",))
    own = done["encoder.1.self.weights"]  # (H, S, S)
    words = range(len(source) - 1)
    for head in range(own.shape[0]):
        rows = own[head]
        confidence = np.mean([rows[q, : len(source) - 1].max() for q in words])
        assert found["encoder"].mean("confidence")[1, head] == pytest.approx(confidence, abs=1e-5)
        before = np.mean([rows[q, q - 1] for q in words if q])
        assert found["encoder"].mean("offset_-1")[1, head] == pytest.approx(before, abs=1e-5)
        seen = Counter(token for text in ENGLISH for token in tokenizer.encode(text))
        counts = [seen[token] for token in source[:-1]]
        rare = np.mean([counts[rows[q, :-1].argmax()] == min(counts) for q in words])
        assert found["encoder"].mean("rare")[1, head] == pytest.approx(rare)
    masked = done["decoder.0.self.weights"]  # (H, T, T), the start token first
    steps = range(1, len(target))
    for head in range(masked.shape[0]):
        entropy = [
            -sum(w * math.log(w) for w in masked[head, q, : q + 1] if w > 0) / math.log(q + 1) for q in steps
        ]
        assert found["decoder"].mean("entropy")[0, head] == pytest.approx(np.mean(entropy), abs=1e-5)
        start = np.mean([masked[head, q, 0] for q in steps])
        assert found["decoder"].mean("special")[0, head] == pytest.approx(start, abs=1e-5)
    across = done["decoder.1.cross.weights"]  # (H, T, S)
    last = len(target) - 1
    for head in range(across.shape[0]):
        diagonal = np.mean([across[head, q, round(q * (len(source) - 1) / last)] for q in steps])
        assert found["cross"].mean("offset_0")[1, head] == pytest.approx(diagonal, abs=1e-5)
        received = np.minimum(across[head, 1:, :-1].sum(0), 1.0)
        assert found["cross"].mean("coverage")[1, head] == pytest.approx(received.mean(), abs=1e-5)


def test_divergence_is_that_of_the_formula() -> None:
    torch.manual_seed(0)
    weights = torch.rand(1, 3, 4, 5).softmax(-1)
    weights[0, 2] = weights[0, 0]
    queries = torch.tensor([[True, True, False, True]])
    found = divergences(weights, queries).numpy()

    def relative(p: np.ndarray, q: np.ndarray) -> float:
        return float((p * np.log2(p / q)).sum())

    rows = weights[0].double().numpy()
    expected = 0.0
    for query in (0, 1, 3):
        first, second = rows[0, query], rows[1, query]
        middle = (first + second) / 2
        expected += (relative(first, middle) + relative(second, middle)) / 2
    assert found[0, 1] == found[1, 0] == pytest.approx(expected)
    assert found[0, 2] == pytest.approx(0.0, abs=1e-9)
    assert not found.diagonal().any()


def test_heads_with_no_key_in_common_are_one_bit_apart() -> None:
    weights = torch.stack([shifted(0), shifted(0).flip(1)])[None]  # (1, 2, Q, K); no place is its own mirror
    queries = torch.ones(1, LENGTH, dtype=torch.bool)
    assert float(divergences(weights, queries)[0, 1]) == pytest.approx(LENGTH)


def test_the_map_keeps_distances_that_a_plane_can_hold() -> None:
    points = np.random.default_rng(0).normal(size=(7, 2))
    apart = np.linalg.norm(points[:, None] - points[None], axis=-1)
    found = places(apart)
    np.testing.assert_allclose(np.linalg.norm(found[:, None] - found[None], axis=-1), apart, atol=1e-9)
    np.testing.assert_allclose(found.mean(0), 0.0, atol=1e-9)
    assert not places(np.zeros((3, 3))).any()
