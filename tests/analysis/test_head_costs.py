"""Gradient importance against finite differences; the true cost of a head; the bootstrap."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from atlas.analysis.ablation import HeadChange, make_edits
from atlas.analysis.heads import costs
from atlas.analysis.heads.costs import HeadCosts
from atlas.analysis.heads.reading import batches
from atlas.analysis.heads.sample import HeldOut, sample_of
from atlas.analysis.passes import forced_pass
from atlas.checkpoint import Bundle
from atlas.decoding import SearchOptions
from atlas.decoding.edited import Edited
from atlas.engine import Engine
from atlas.model.recorder import Recorder, point
from atlas.text.corpora import Pair
from atlas.text.tokenizer import PAD_ID, START_ID, Tokenizer
from tests.conftest import ENGLISH, FRENCH, tiny_model

KINDS = ("encoder", "decoder", "cross")


@pytest.fixture
def engine(tokenizer: Tokenizer) -> Engine:
    return Engine(Bundle("tiny", "en", "fr", tiny_model(tokenizer), tokenizer), torch.device("cpu"))


@pytest.fixture
def sample(engine: Engine) -> HeldOut:
    pairs = [Pair(source, target) for source, target in zip(ENGLISH, FRENCH, strict=True)]
    return sample_of(engine.tokenizer, "ours", pairs)


def loss_of(engine: Engine, source: tuple[int, ...], target: tuple[int, ...], edits=None) -> float:
    """Of one sentence alone, in float64, from its log-probabilities."""
    logits = forced_pass(engine.model, list(source), list(target), edits=edits).logits
    logits = logits[: len(target)].astype(np.float64)
    logits -= logits.max(-1, keepdims=True)
    chosen = logits[np.arange(len(target)), list(target)]
    return float((np.log(np.exp(logits).sum(-1)) - chosen).sum())


def test_losses_are_those_of_each_sentence_alone(engine: Engine, sample: HeldOut) -> None:
    prepared = batches(sample, engine.model.device)
    without = [("cross", 1, 2), ("encoder", 0, 1)]
    for heads in ([], without):
        edits = make_edits([HeadChange(*head, 0.0) for head in heads])
        expected = [
            loss_of(engine, *ids, edits) for ids in zip(sample.source_ids, sample.target_ids, strict=True)
        ]
        found = costs.sentence_losses(engine.model, prepared, heads)
        assert np.abs(found - expected).max() < 1e-3
    plain = costs.sentence_losses(engine.model, prepared)
    assert np.abs(plain - found).max() > 1e-3
    assert (costs.sentence_losses(engine.model, prepared, []) == plain).all(), "to the bit"


def test_importance_is_the_slope_of_a_gate_by_finite_differences(engine: Engine, sample: HeldOut) -> None:
    prepared = batches(sample, engine.model.device)
    found = costs.importance(engine.model, prepared)
    model = engine.model.double()
    step = 1e-4

    def loss(source, target, place: str, head: int, gate: float) -> float:
        def edit(heads: torch.Tensor) -> torch.Tensor:
            return torch.cat([heads[:, :head], heads[:, head : head + 1] * gate, heads[:, head + 1 :]], 1)

        read = torch.tensor([[START_ID, *target[:-1]]])
        ids = torch.tensor([source])
        with torch.no_grad():
            logits = model(ids, ids != PAD_ID, read, Recorder((), {place: edit}))
        return float(torch.nn.functional.cross_entropy(logits[0], torch.tensor(target), reduction="sum"))

    for kind, layer, head in [("encoder", 0, 1), ("decoder", 1, 3), ("cross", 0, 2), ("cross", 1, 0)]:
        place = point(kind, layer, "heads")
        slopes = [
            (loss(source, target, place, head, 1 + step) - loss(source, target, place, head, 1 - step))
            / (2 * step)
            for source, target in zip(sample.source_ids, sample.target_ids, strict=True)
        ]
        expected = np.abs(slopes).mean()
        assert abs(found[kind][layer, head] - expected) < 1e-3 * max(expected, 1e-2)
        assert expected > 1e-4


def test_importance_leaves_no_gradient_behind(engine: Engine, sample: HeldOut) -> None:
    before = {name: value.clone() for name, value in engine.model.state_dict().items()}
    costs.importance(engine.model, batches(sample, engine.model.device))
    assert all(parameter.grad is None for parameter in engine.model.parameters())
    assert all(torch.equal(before[name], value) for name, value in engine.model.state_dict().items())


def test_greedy_without_heads_is_the_search_of_the_laboratory(engine: Engine, sample: HeldOut) -> None:
    without = [("cross", layer, head) for layer in range(2) for head in range(3)]
    edits = make_edits([HeadChange(*head, 0.0) for head in without])
    found = costs.greedy(engine, sample.source_ids, without)
    expected = []
    for pair in sample.pairs:
        trace = engine.trace(pair.source, SearchOptions(method="greedy"), edits=edits)
        expected.append(trace.text(int(trace.hypotheses[0])))
    assert found == expected
    plain = costs.greedy(engine, sample.source_ids)
    assert plain != found and plain == costs.greedy(engine, sample.source_ids, [])


def test_an_edited_model_records_nothing(engine: Engine) -> None:
    edited = Edited(engine.model, {})
    with pytest.raises(ValueError, match="records nothing"):
        edited.begin(torch.ones(1, 2, dtype=torch.long), torch.ones(1, 2, dtype=torch.bool), Recorder(()))


def test_the_interval_of_the_loss_is_paired() -> None:
    rng = np.random.default_rng(3)
    tokens = rng.integers(3, 20, 400).astype(float)
    before = rng.gamma(2.0, 10.0, 400)
    value, low, high = costs.paired_loss(before, before + 0.25 * tokens, tokens)
    assert np.allclose([value, low, high], 0.25), "the same rise of every token leaves nothing to chance"
    noise = rng.normal(0.0, 1.0, 400)
    value, low, high = costs.paired_loss(before, before + noise, tokens)
    ratio = noise.sum() / tokens.sum()
    error = np.sqrt(((noise - ratio * tokens) ** 2).sum()) / tokens.sum()  # of a ratio, linearised
    assert value == pytest.approx(ratio)
    assert (high - low) / (2 * 1.96) == pytest.approx(error, rel=0.15)


def test_draws_of_bleu_are_bleu_of_the_drawn_sentences() -> None:
    from sacrebleu.metrics import BLEU

    references = [*FRENCH, "Il fait beau aujourd'hui."]
    hypotheses = [*FRENCH[1:], "Il fait très beau aujourd'hui.", "Il fait beau ce soir."]
    counts = costs.sentence_counts(hypotheses, references)
    drawn = np.repeat(np.arange(len(counts)), costs.draws_of(len(counts))[0])
    expected = BLEU().corpus_score([hypotheses[i] for i in drawn], [[references[i] for i in drawn]]).score
    assert costs.bleu_draws(counts)[0] == pytest.approx(expected)


def test_the_measurement_holds_every_head_and_goes_on_after_a_stop(
    engine: Engine, sample: HeldOut, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heads = costs.heads_of(engine.model)
    assert len(heads) == 3 * 2 * 4
    calls: list[tuple] = []
    real = costs.greedy

    def counting(engine: Engine, sources, without=()):
        calls.append(tuple(without))
        if len(calls) == 6:
            raise KeyboardInterrupt
        return real(engine, sources, without)

    monkeypatch.setattr(costs, "greedy", counting)
    with pytest.raises(KeyboardInterrupt):
        costs.measure(engine, sample, work=tmp_path)
    assert len(list(tmp_path.glob("*.npz"))) == 4
    seen: list[tuple[int, int]] = []
    measured = costs.measure(engine, sample, work=tmp_path, report=lambda *at: seen.append(at))
    assert len(calls) == 6 + 1 + len(heads) - 4, "the heads that were done are not run again"
    assert seen == [(number, len(heads)) for number in range(len(heads))]
    found = HeadCosts.from_measurement(measured)
    prepared = batches(sample, engine.model.device)
    tokens = sum(map(len, sample.target_ids))
    whole = costs.sentence_losses(engine.model, prepared).sum()
    assert measured.facts["loss"] == pytest.approx(whole / tokens)
    for kind, layer, head in heads:
        rise = costs.sentence_losses(engine.model, prepared, [(kind, layer, head)]).sum() - whole
        loss, low, high = (values[layer, head] for values in found.loss(kind))
        assert loss == pytest.approx(rise / tokens, abs=1e-5)
        assert low <= loss <= high
        bleu, low, high = (values[layer, head] for values in found.bleu(kind))
        assert low <= high and np.isfinite(bleu)
    assert all(found.importance(kind).shape == (2, 4) for kind in KINDS)
    lines = costs.summary(measured)
    assert len(lines) == 4 and lines[0].startswith("whole model: loss ")
