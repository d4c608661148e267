"""Pruning: the orders, the ends of every curve, the resumed run, what is spared."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from atlas.analysis.heads import costs, pruning
from atlas.analysis.heads.costs import HeadCosts
from atlas.analysis.heads.pruning import ORDERS, RANDOM, Pruning, in_scope, orders_of, points_of
from atlas.analysis.heads.reading import batches
from atlas.analysis.heads.sample import HeldOut, sample_of
from atlas.analysis.length_scores import bleu_of, sentence_counts
from atlas.checkpoint import load_bundle
from atlas.engine import Engine
from atlas.errors import AtlasError
from atlas.measurements import Measurement, save_measurement
from atlas.text.corpora import Pair
from tests.conftest import ENGLISH, FRENCH
from tests.head_pruning_sample import head_costs


@pytest.fixture
def engine(tiny_bundle: Path, tmp_path: Path) -> Engine:
    import shutil

    import torch

    shutil.copytree(tiny_bundle, tmp_path / "tiny")
    return Engine(load_bundle(tmp_path / "tiny"), torch.device("cpu"))


@pytest.fixture
def sample(engine: Engine) -> HeldOut:
    pairs = [Pair(source, target) for source, target in zip(ENGLISH, FRENCH, strict=True)]
    return sample_of(engine.tokenizer, "ours", pairs)


def test_points_go_from_all_to_none() -> None:
    assert points_of(96) == [96, 82, 69, 55, 41, 27, 14, 0]
    assert points_of(3) == [3, 2, 1, 0]


def test_orders_take_the_cheapest_first(engine: Engine) -> None:
    found = HeadCosts.from_measurement(head_costs(engine))
    heads = in_scope(engine.model, "all")
    assert {kind for kind, _, _ in in_scope(engine.model, "cross")} == {"cross"}
    orders = orders_of(heads, found)
    assert orders.shape == (len(ORDERS), len(heads))
    assert (np.sort(orders, axis=1) == np.arange(len(heads))).all()
    losses = [found.loss(kind)[0][layer, head] for kind, layer, head in (heads[n] for n in orders[0])]
    slopes = [found.importance(kind)[layer, head] for kind, layer, head in (heads[n] for n in orders[1])]
    assert losses == sorted(losses) and slopes == sorted(slopes) and losses != slopes
    assert len({tuple(row) for row in orders.tolist()}) == len(ORDERS)


def test_every_curve_begins_whole_and_the_last_points_of_all_orders_are_one(
    engine: Engine, sample: HeldOut, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_measurement(engine.folder, head_costs(engine))
    monkeypatch.setattr(pruning, "POINTS", 3)
    monkeypatch.setattr(pruning, "SENTENCES", 5)
    measured = pruning.measure(engine, sample, work=tmp_path / "work")
    found = Pruning.from_measurement(measured)
    assert found.sentences == 5
    references = [pair.target for pair in sample.pairs[:5]]
    greedy = costs.greedy(engine, sample.source_ids[:5])
    for scope in pruning.SCOPES:
        heads = in_scope(engine.model, scope)
        for order in ORDERS:
            curve = found.curve(scope, order)
            assert curve.remaining.tolist() == [len(heads), len(heads) // 2, 0]
            assert curve.bleu[0] == pytest.approx(
                bleu_of(sentence_counts(greedy, references).sum(0)), abs=1e-4
            )
            assert curve.loss[-1] == found.curve(scope, "cost").loss[-1]
            assert (curve.bleu_low <= curve.bleu_high).all()
    half = [in_scope(engine.model, "cross")[n] for n in found.order("cross", "gradient")[:4]]
    expected = costs.sentence_losses(engine.model, batches(sample, engine.model.device), half)[:5].sum()
    tokens = sum(len(ids) for ids in sample.target_ids[:5])
    assert found.curve("cross", "gradient").loss[1] == pytest.approx(expected / tokens, abs=1e-4)
    drawn = [found.curve("all", f"random.{number + 1}").bleu for number in range(RANDOM)]
    chance = found.curve("all", "random")
    assert np.allclose(chance.bleu, np.mean(drawn, 0)) and np.allclose(chance.bleu_low, np.min(drawn, 0))

    def refuse(*arguments: object) -> None:
        raise AssertionError("translated again")

    monkeypatch.setattr(costs, "greedy", refuse)
    again = pruning.measure(engine, sample, work=tmp_path / "work")
    assert all((again.arrays[name] == values).all() for name, values in measured.arrays.items())
    assert len(pruning.summary(measured)) == 3


def test_without_the_costs_it_says_what_to_run(engine: Engine, sample: HeldOut, tmp_path: Path) -> None:
    with pytest.raises(AtlasError, match=r"atlas heads tiny --only costs"):
        pruning.measure(engine, sample, work=tmp_path)


def test_spared_stops_at_the_first_point_that_loses_too_much() -> None:
    bleu = np.tile(np.array([50.0, 49.8, 48.0, 50.0], np.float32), (len(ORDERS), 1))
    bleu[1] = [50.0, 49.9, 49.6, 49.55]
    arrays = {f"all.{name}": bleu for name in ("bleu", "bleu_low", "bleu_high", "loss")}
    arrays["all.remaining"] = np.array([12, 8, 4, 0])
    found = Pruning.from_measurement(Measurement("pruning", "", "", {"sentences": 1}, arrays))
    assert found.spared("all", "cost", 0.5) == 4
    assert found.spared("all", "gradient", 0.5) == 12
    assert found.spared("all", "cost", 0.1) == 0
