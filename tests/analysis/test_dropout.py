"""Passes with dropout: repeatable, harmless to the shared model, and no different at probability 0."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from atlas.analysis.dropout import DropoutRuns, dropout_runs, with_dropout
from atlas.analysis.passes import forced_pass
from atlas.decoding import SearchOptions, translate_ids
from atlas.model import Transformer
from atlas.model.config import ConfigError
from atlas.text.tokenizer import END_ID, Tokenizer
from tests.conftest import ENGLISH, FRENCH, tiny_model


@pytest.fixture(scope="module")
def model(tokenizer: Tokenizer) -> Transformer:
    return tiny_model(tokenizer, seed=5, dropout=0.3)


@pytest.fixture
def texts(tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    return tokenizer.source(ENGLISH[1]), [*tokenizer.encode(FRENCH[1]), END_ID]


def runs(
    model: Transformer, texts: tuple[list[int], list[int]], kind: str = "cross", **changes: float
) -> DropoutRuns:
    options = {"probability": 0.3, "passes": 4, "seed": 7} | changes
    return dropout_runs(model, *texts, kind, **options)  # type: ignore[arg-type]


def test_without_dropout_all_passes_are_equal(model: Transformer, texts: tuple[list[int], list[int]]) -> None:
    found = runs(model, texts, probability=0.0)
    assert not found.spread.any()
    assert (found.probabilities == found.probabilities[0]).all()
    assert found.mean == pytest.approx(found.still_weights, abs=1e-6)
    assert found.probabilities[0] == pytest.approx(found.still, abs=1e-6)
    options = SearchOptions(method="greedy", max_length=2 * len(texts[1]) + 10)
    assert set(found.translations) == {translate_ids(model, [texts[0]], options)[0][0].ids}


def test_with_dropout_passes_differ_and_rows_still_sum_to_one(
    model: Transformer, texts: tuple[list[int], list[int]]
) -> None:
    found = runs(model, texts)
    assert found.spread.max() > 1e-3
    assert found.weights.sum(-1) == pytest.approx(1, abs=1e-5)
    assert found.mean.sum(-1) == pytest.approx(1, abs=1e-5)
    assert len(np.unique(found.probabilities[:, 0])) == 4


def test_mean_and_spread_are_those_of_numpy(model: Transformer, texts: tuple[list[int], list[int]]) -> None:
    found = runs(model, texts, kind="encoder")
    weights = found.weights.astype(np.float64)
    mean = sum(weights) / 4
    assert found.mean == pytest.approx(mean, abs=1e-6)
    assert found.spread == pytest.approx(np.sqrt(sum((one - mean) ** 2 for one in weights) / 4), abs=1e-6)


def test_probabilities_are_those_of_a_forced_pass(
    model: Transformer, texts: tuple[list[int], list[int]]
) -> None:
    source, target = texts
    found = runs(model, texts)
    logits = torch.tensor(forced_pass(model, source, target[:-1]).logits)
    chances = logits.softmax(-1)[torch.arange(len(target)), torch.tensor(target)]
    assert found.still == pytest.approx(chances.numpy(), abs=1e-5)


@pytest.mark.parametrize(("kind", "queries", "keys"), [("encoder", 0, 0), ("decoder", 1, 1), ("cross", 1, 0)])
def test_shapes(
    model: Transformer, texts: tuple[list[int], list[int]], kind: str, queries: int, keys: int
) -> None:
    found = runs(model, texts, kind=kind, passes=2)
    assert found.weights.shape == (2, 2, 4, len(texts[queries]), len(texts[keys]))
    assert found.probabilities.shape == (2, len(texts[1]))
    assert len(found.translations) == 2


def test_a_pass_is_the_same_however_many_there_are(
    model: Transformer, texts: tuple[list[int], list[int]]
) -> None:
    few, many, other = runs(model, texts, passes=2), runs(model, texts), runs(model, texts, seed=8)
    assert (few.weights == many.weights[:2]).all()
    assert (few.probabilities == many.probabilities[:2]).all()
    assert few.translations == many.translations[:2]
    assert (other.probabilities != many.probabilities).any()


def test_the_model_and_the_generator_are_left_alone(
    model: Transformer, texts: tuple[list[int], list[int]]
) -> None:
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    runs(model, texts, probability=0.9)
    assert torch.equal(torch.rand(3), expected)
    assert not model.training
    assert model.config.dropout == 0.3
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_every_layer_of_the_twin_has_the_probability(model: Transformer) -> None:
    twin = with_dropout(model, 0.55)
    assert twin.training
    assert twin.config.dropout == 0.55
    assert {layer.dropout for layer in (*twin.encoder, *twin.decoder)} == {0.55}
    assert {layer.dropout for layer in (*model.encoder, *model.decoder)} == {0.3}


def test_an_impossible_probability_is_refused(model: Transformer) -> None:
    with pytest.raises(ConfigError, match="dropout"):
        with_dropout(model, 1.0)
