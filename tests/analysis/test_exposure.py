"""Teacher forcing and the model's own words against full passes, one prefix at a time."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from atlas.analysis.exposure import check_loss, expose, gathered_mean
from atlas.model import Transformer
from atlas.model.transformer import TooLongError
from atlas.text.batches import EncodedPairs
from atlas.text.corpora import Pair
from atlas.text.tokenizer import END_ID, PAD_ID, START_ID, Tokenizer
from atlas.training.evaluation import mean_loss
from tests.conftest import ENGLISH, FRENCH, tiny_model


@pytest.fixture(scope="module")
def model(tokenizer: Tokenizer) -> Transformer:
    return tiny_model(tokenizer, seed=3)


@pytest.fixture
def pair(tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    return tokenizer.source(ENGLISH[2]), tokenizer.encode(FRENCH[2])


def next_logs(model: Transformer, source: list[int], read: list[int]) -> torch.Tensor:
    """Log-probabilities after ``read``, by a full pass of its own."""
    ids = torch.tensor([source])
    with torch.no_grad():
        return model(ids, torch.ones_like(ids, dtype=torch.bool), torch.tensor([read]))[0, -1].log_softmax(-1)


def test_forced_costs_are_pytorchs_cross_entropy(
    model: Transformer, pair: tuple[list[int], list[int]]
) -> None:
    source, target = pair
    found = expose(model, source, target)
    ids = torch.tensor([source])
    with torch.no_grad():
        logits = model(ids, torch.ones_like(ids, dtype=torch.bool), torch.tensor([[START_ID, *target]]))[0]
    costs = functional.cross_entropy(logits, torch.tensor([*target, END_ID]), reduction="none")
    assert found.forced == pytest.approx(costs.numpy(), abs=1e-4)
    assert found.target == (*target, END_ID)
    assert found.expected == tuple(logits.argmax(-1).tolist())


def test_own_costs_follow_the_models_own_words(model: Transformer, pair: tuple[list[int], list[int]]) -> None:
    source, target = pair
    found = expose(model, source, target)
    read = [START_ID]
    for place, asked in enumerate((*target, END_ID)):
        logs = next_logs(model, source, read)
        assert found.own[place] == pytest.approx(-float(logs[asked]), abs=1e-4)
        allowed = logs.clone()
        allowed[[PAD_ID, START_ID, END_ID]] = -torch.inf
        assert found.written[place] == int(allowed.argmax())
        read.append(found.written[place])


def test_a_model_that_reads_its_own_words_anyway_pays_the_same(
    model: Transformer, pair: tuple[list[int], list[int]]
) -> None:
    source, target = pair
    written = list(expose(model, source, target).written[:-1])
    again = expose(model, source, written)
    assert again.parted >= len(written)
    assert again.own == pytest.approx(again.forced, abs=1e-4)


def test_where_the_two_part(model: Transformer, pair: tuple[list[int], list[int]]) -> None:
    source, target = pair
    written = list(expose(model, source, target).written)
    mixed = [*written[:2], next(token for token in range(3, 99) if token != written[2]), *target]
    assert expose(model, source, mixed).parted == 2


def test_an_empty_translation_is_its_end_mark(model: Transformer, tokenizer: Tokenizer) -> None:
    source = tokenizer.source("It rains.")
    found = expose(model, source, [])
    assert found.forced == pytest.approx(found.own, abs=1e-5)
    assert found.forced[0] == pytest.approx(-float(next_logs(model, source, [START_ID])[END_ID]), abs=1e-4)


def test_three_ways_to_the_same_loss(model: Transformer, pair: tuple[list[int], list[int]]) -> None:
    source, target = pair
    check = check_loss(model, source, target, padding=0)
    assert check.difference < 1e-5
    assert check.ours == pytest.approx(float(np.mean(expose(model, source, target).forced)), abs=1e-5)
    assert check.padded_article == pytest.approx(check.article, abs=1e-5)


def test_padding_moves_only_the_mean_without_a_mask(
    model: Transformer, pair: tuple[list[int], list[int]]
) -> None:
    source, target = pair
    check = check_loss(model, source, target, padding=6)
    assert check.padded_ours == pytest.approx(check.ours, abs=1e-5)
    assert abs(check.padded_article - check.article) > 1e-3
    row = [START_ID, *target, END_ID, *[PAD_ID] * 6]
    ids = torch.tensor([source])
    with torch.no_grad():
        logits = model(ids, torch.ones_like(ids, dtype=torch.bool), torch.tensor([row[:-1]]))[0]
    everything = functional.cross_entropy(logits, torch.tensor(row[1:]))
    masked = functional.cross_entropy(logits, torch.tensor(row[1:]), ignore_index=PAD_ID)
    assert check.padded_article == pytest.approx(float(everything), abs=1e-5)
    assert check.padded_ours == pytest.approx(float(masked), abs=1e-5)


def test_the_fragment_is_a_mean_over_all_places() -> None:
    logits = torch.randn(2, 3, 7, generator=torch.Generator().manual_seed(1))
    labels = torch.tensor([[1, 2, 0], [6, 0, 0]])
    assert gathered_mean(logits, labels) == pytest.approx(
        float(functional.cross_entropy(logits.flatten(0, 1), labels.flatten()))
    )


def test_the_loss_is_that_of_training(model: Transformer, tokenizer: Tokenizer) -> None:
    pairs = [Pair(english, french) for english, french in zip(ENGLISH[:3], FRENCH[:3], strict=True)]
    costs = [expose(model, tokenizer.source(p.source), tokenizer.encode(p.target)).forced for p in pairs]
    assert mean_loss(model, EncodedPairs(pairs, tokenizer)) == pytest.approx(
        float(np.concatenate(costs).mean()), abs=1e-4
    )


def test_too_long_a_translation_is_refused(tokenizer: Tokenizer) -> None:
    short = tiny_model(tokenizer, max_length=12)
    with pytest.raises(TooLongError, match="at most 12"):
        expose(short, tokenizer.source("It rains."), [5] * 12)


def test_a_model_that_wants_to_end_is_made_to_go_on(tokenizer: Tokenizer) -> None:
    eager = tiny_model(tokenizer, seed=3, tied=False)
    source, target = tokenizer.source(ENGLISH[2]), tokenizer.encode(FRENCH[2])[:5]
    favourite = expose(eager, source, target).written[0]
    with torch.no_grad():
        eager.unembedding[END_ID] = 2 * eager.unembedding[favourite]
    found = expose(eager, source, target)
    assert found.expected[0] == END_ID
    assert END_ID not in found.written
    assert int(next_logs(eager, source, [START_ID]).argmax()) == END_ID
    logs = next_logs(eager, source, [START_ID, *found.written[:3]])
    assert found.own[3] == pytest.approx(-float(logs[target[3]]), abs=1e-4)
