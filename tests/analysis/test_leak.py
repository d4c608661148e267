"""A model without a mask: measured with the answer visible, hidden, and replaced by noise."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from atlas.analysis.histories import read_history
from atlas.analysis.leak import (
    LeakError,
    LeakStudy,
    NextToken,
    Side,
    check_comparable,
    curves,
    next_token,
)
from atlas.measurements import load_measurement, save_measurement
from atlas.model import Transformer
from atlas.text.batches import EncodedPairs
from atlas.text.corpora import Pair
from atlas.text.tokenizer import END_ID, Tokenizer
from atlas.training.evaluation import mean_loss
from tests.conftest import ENGLISH, FRENCH, tiny_model

HISTORY = "step,epoch,train_loss,development_loss,bleu\n20,0.1,8.5,7.25,0\n40,0.2,6.5,5.0,1.5\n"


@pytest.fixture(scope="module")
def pairs(tokenizer: Tokenizer) -> EncodedPairs:
    return EncodedPairs([Pair(*both) for both in zip(ENGLISH, FRENCH, strict=True)], tokenizer)


def by_hand(model: Transformer, pairs: EncodedPairs) -> tuple[float, float]:
    """Loss and accuracy, one sentence and one prediction at a time, each from a target cut off before it."""
    losses, right = [], []
    for source, target in zip(pairs.source, pairs.target, strict=True):
        ids = torch.tensor([source])
        for place in range(1, len(target)):
            with torch.no_grad():
                logits = model(ids, ids > 0, torch.tensor([target[:place]]))[:, -1]
            losses.append(float(cross_entropy(logits, torch.tensor([target[place]]))))
            right.append(int(logits.argmax()) == target[place])
    return float(np.mean(losses)), float(np.mean(right))


@pytest.mark.parametrize("causal", [True, False])
def test_losses_and_shares_are_those_of_single_predictions(
    tokenizer: Tokenizer, pairs: EncodedPairs, causal: bool
) -> None:
    model = tiny_model(tokenizer, causal=causal)
    found = next_token(model, pairs, tokens=200)
    loss, right = by_hand(model, pairs)
    assert found.loss_hidden == pytest.approx(loss, abs=1e-4)
    assert found.right_hidden == pytest.approx(right)
    assert found.tokens == sum(len(target) - 1 for target in pairs.target)
    assert found.pairs == len(pairs)
    if causal:
        assert found.loss_visible == pytest.approx(mean_loss(model, pairs), abs=1e-5)
        assert found.loss_visible == pytest.approx(found.loss_hidden, abs=1e-5)
        assert found.right_visible == found.right_hidden
    else:
        assert abs(found.loss_visible - found.loss_hidden) > 1e-4


def copier(tokenizer: Tokenizer) -> Transformer:
    """A model that says what stands one place to its right: all else is taken out of it."""
    model = tiny_model(tokenizer, causal=False, positions="none", norm="post")

    def decode(target, memory, mask, recorder=None, *, target_mask=None):
        following = torch.cat((target[:, 1:], torch.full_like(target[:, :1], END_ID)), 1)
        return model.target_embedding(following) * 1e3

    model.decode = decode  # type: ignore[method-assign]
    return model


def test_a_model_that_copies_is_found_out(tokenizer: Tokenizer, pairs: EncodedPairs) -> None:
    found = next_token(copier(tokenizer), pairs)
    assert found.right_visible == 1.0
    assert found.loss_visible < 1e-3
    assert found.copied == 1.0
    assert found.right_hidden == pytest.approx(len(pairs) / found.tokens)  # only the end mark


def test_a_masked_model_copies_nothing_but_by_chance(tokenizer: Tokenizer, pairs: EncodedPairs) -> None:
    assert next_token(tiny_model(tokenizer), pairs).copied < 0.05


def test_the_same_seed_gives_the_same_numbers(tokenizer: Tokenizer, pairs: EncodedPairs) -> None:
    model = tiny_model(tokenizer, causal=False)
    assert next_token(model, pairs, seed=3) == next_token(model, pairs, seed=3)


def test_progress_reaches_the_end(tokenizer: Tokenizer, pairs: EncodedPairs) -> None:
    told: list[tuple[int, int]] = []
    next_token(tiny_model(tokenizer), pairs, tokens=60, report=lambda *state: told.append(state))
    assert told[-1] == (len(pairs), len(pairs))
    assert [done for done, _ in told] == sorted({done for done, _ in told})


def test_no_pairs(tokenizer: Tokenizer) -> None:
    with pytest.raises(LeakError, match="no development pairs"):
        next_token(tiny_model(tokenizer), EncodedPairs([], tokenizer))


def test_only_a_pair_that_differs_in_the_mask_is_compared(tokenizer: Tokenizer) -> None:
    masked, blind = tiny_model(tokenizer), tiny_model(tokenizer, causal=False)
    check_comparable(blind, masked)
    with pytest.raises(LeakError, match="first model was trained with"):
        check_comparable(masked, masked)
    with pytest.raises(LeakError, match="baseline was trained without"):
        check_comparable(blind, blind)


def test_the_curves_of_a_history() -> None:
    columns = curves(read_history("run", HISTORY))
    assert {name: column.tolist() for name, column in columns.items()} == {
        "step": [20, 40],
        "train_loss": [8.5, 6.5],
        "development_loss": [7.25, 5.0],
        "bleu": [0, 1.5],
    }


@pytest.mark.parametrize("text", ["step\n1\n", "step,train_loss,development_loss,bleu\n1,2,3,\n"])
def test_a_history_without_its_curves(text: str) -> None:
    with pytest.raises(LeakError, match="x: its history lacks (train_loss|bleu)"):
        curves(read_history("x", text))


def side(name: str) -> Side:
    found = NextToken(0.1, 9.5, 0.98, 0.03, 0.97, 1234, 100)
    return Side(
        name,
        f"hash of {name}",
        340,
        found,
        curves(read_history(name, HISTORY)),
        ("Un chien.",),
        ("Un chat.",),
    )


def test_a_study_is_kept_and_read_again(tmp_path: Path) -> None:
    study = LeakStudy(side("no-mask"), side("with"), ("A dog.",), "multi30k-en-fr")
    save_measurement(tmp_path, study.measurement("atlas measure leak no-mask"))
    stored = load_measurement(tmp_path, "leak", "hash of with")
    assert stored is not None and stored.command == "atlas measure leak no-mask"
    again = LeakStudy.read(stored)
    for which in ("without", "baseline"):
        ours, theirs = asdict(getattr(study, which)), asdict(getattr(again, which))
        for name, column in ours.pop("history").items():
            np.testing.assert_array_equal(theirs["history"][name], column)
        theirs.pop("history")
        assert ours == theirs
    assert (again.sentences, again.corpus) == (study.sentences, study.corpus)


def test_a_measurement_that_lacks_something() -> None:
    study = LeakStudy(side("no-mask"), side("with"), ("A dog.",), "multi30k-en-fr")
    whole = study.measurement("atlas measure leak no-mask")
    for broken in (replace(whole, facts={}), replace(whole, arrays={})):
        with pytest.raises(LeakError, match="incomplete.*atlas measure leak no-mask"):
            LeakStudy.read(broken)


def test_a_place_in_a_history() -> None:
    assert side("x").last["development_loss"] == 5.0
    assert side("x").at(22)["bleu"] == 0
