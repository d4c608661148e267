"""The feed-forward layer as a memory: against sums over units, and against a model built the other way."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from atlas.analysis.feed_forward import (
    UnitError,
    activation_swap,
    feed_forward,
    gelu,
    promoted_tokens,
    relu,
    silent_shares,
    strongest_units,
    sums,
)
from atlas.analysis.forward import WANTED
from atlas.analysis.passes import forced_pass
from atlas.model import Transformer
from tests.analysis.walked import SOURCE, TARGET, Walked, softmax, weights_of
from tests.model.reference import small_model

MODEL = small_model()
DONE = forced_pass(MODEL, SOURCE, TARGET, wanted=WANTED)


def test_a_layer_is_the_sum_of_what_its_units_write():
    weights = weights_of(MODEL)
    values, bias = (
        weights["decoder.1.feed_forward.outer.weight"],
        weights["decoder.1.feed_forward.outer.bias"],
    )
    hidden = DONE["decoder.1.ffn.hidden"].astype(float)
    for position in range(4):
        added = bias + sum(hidden[position, unit] * values[:, unit] for unit in range(24))
        np.testing.assert_allclose(DONE["decoder.1.ffn.change"][position], added, atol=1e-5)


def test_strongest_units_write_the_longest_vectors():
    hidden = DONE["decoder.1.ffn.hidden"][2]
    found = strongest_units(feed_forward(MODEL, "decoder", 1), hidden, 5)
    values = weights_of(MODEL)["decoder.1.feed_forward.outer.weight"]
    lengths = [math.sqrt(sum((hidden[unit] * values[:, unit]) ** 2)) for unit in range(24)]
    best = sorted(range(24), key=lambda unit: -lengths[unit])[:5]
    assert found.units.tolist() == best
    np.testing.assert_allclose(found.sizes, [lengths[unit] for unit in best], rtol=1e-5)
    np.testing.assert_array_equal(found.activations, hidden[best])


def test_silent_units_are_counted_from_the_sums():
    again = Walked(MODEL)
    for layer, name in enumerate(["encoder.0", "encoder.1", "decoder.0", "decoder.1", "decoder.2"]):
        expected = [sum(value == 0 for value in row) / 24 for row in again.hidden[layer]]
        np.testing.assert_allclose(silent_shares(DONE[f"{name}.ffn.hidden"]), expected)
    smooth = small_model(activation="gelu")
    done = forced_pass(smooth, SOURCE, TARGET, wanted=WANTED)
    assert silent_shares(done["encoder.0.ffn.hidden"]).max() == 0


def test_what_a_unit_writes_is_its_row_times_the_vocabulary():
    found = promoted_tokens(MODEL, "decoder", 2, 7, 6)
    weights = weights_of(MODEL)
    row = weights["decoder.2.feed_forward.outer.weight"][:, 7]
    scores = [float(vector @ row) for vector in weights["source_embedding.weight"]]
    order = sorted(range(len(scores)), key=lambda token: -scores[token])[:6]
    assert found.ids.tolist() == order
    np.testing.assert_allclose(found.scores, [scores[token] for token in order], rtol=1e-5)


def test_sums_are_what_the_activation_reads():
    np.testing.assert_allclose(relu(sums(MODEL, DONE, "encoder", 1)), DONE["encoder.1.ffn.hidden"], atol=1e-6)


def test_the_two_curves():
    grid = np.linspace(-5, 5, 101)
    np.testing.assert_allclose(gelu(grid), [x * 0.5 * math.erfc(-x / math.sqrt(2)) for x in grid], atol=1e-12)
    np.testing.assert_array_equal(relu(grid), [max(0.0, x) for x in grid])


@pytest.mark.parametrize(("own", "other"), [("relu", "gelu"), ("gelu", "relu")])
def test_the_other_activation_is_the_model_built_with_it(own, other):
    model = small_model(activation=own)
    done = forced_pass(model, SOURCE, TARGET, wanted=WANTED)
    following = (*TARGET, 3)
    found = activation_swap(model, done, "encoder", 0, following)
    twin = Transformer(replace(model.config, activation=other)).eval().double()
    twin.load_state_dict(model.state_dict())
    again = forced_pass(twin, SOURCE, TARGET)
    ours, theirs = Walked(model).hidden[0], Walked(twin).hidden[0]  # the same input: the first layer
    assert found.largest == pytest.approx(np.abs(ours - theirs).max(), rel=1e-4)
    weights = weights_of(model)
    outer, bias = weights["encoder.0.feed_forward.outer.weight"], weights["encoder.0.feed_forward.outer.bias"]
    moved, whole = (theirs - ours) @ outer.T, ours @ outer.T + bias
    assert found.output == pytest.approx(np.linalg.norm(moved) / np.linalg.norm(whole), rel=1e-4)
    assert found.agree == np.mean(again.logits.argmax(1) == done.logits.argmax(1))
    assert found.before == pytest.approx(softmax(done.logits[-1].astype(float))[3], rel=1e-5)
    assert found.after == pytest.approx(softmax(again.logits[-1].astype(float))[3], rel=1e-5)
    assert found.before != found.after


def test_the_shared_model_is_not_changed():
    before = {name: value.clone() for name, value in MODEL.state_dict().items()}
    activation_swap(MODEL, DONE, "decoder", 0, (*TARGET, 2))
    after = forced_pass(MODEL, SOURCE, TARGET, wanted=())
    np.testing.assert_array_equal(after.logits, DONE.logits)
    assert all(torch.equal(value, before[name]) for name, value in MODEL.state_dict().items())


def test_what_is_not_there_is_refused():
    with pytest.raises(UnitError, match="the encoder has layers 0 to 1, no layer 2"):
        feed_forward(MODEL, "encoder", 2)
    with pytest.raises(UnitError, match="units 0 to 23, no unit 24"):
        promoted_tokens(MODEL, "encoder", 0, 24, 3)
