"""Heads off, scaled, uniform and rows by hand: in a whole pass and in every step of a search."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from atlas.analysis.ablation import (
    AblationError,
    HeadChange,
    RowEdit,
    check_heads,
    make_edits,
    point,
    rewrite_row,
)
from atlas.analysis.passes import forced_pass
from atlas.analysis.what_if import attention_moved, consequence
from atlas.checkpoint import Bundle
from atlas.decoding import SearchOptions
from atlas.engine import Engine
from atlas.model.transformer import Transformer
from atlas.text.tokenizer import END_ID, Tokenizer
from tests.conftest import ENGLISH, FRENCH, tiny_model

SENTENCE = ENGLISH[0]
BEAM = SearchOptions(method="beam", beam=3, n_best=3, max_length=8)
KINDS = ("encoder", "decoder", "cross")


@pytest.fixture(scope="module")
def engine(tokenizer: Tokenizer) -> Engine:
    return Engine(Bundle("tiny", "en", "fr", tiny_model(tokenizer), tokenizer), torch.device("cpu"))


@pytest.fixture(scope="module")
def pair(tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    return tokenizer.source(SENTENCE), [*tokenizer.encode(FRENCH[0]), END_ID]


def output_bias(model: Transformer, kind: str, layer: int) -> np.ndarray:
    side = model.encoder if kind == "encoder" else model.decoder
    block = side[layer].cross_attention if kind == "cross" else side[layer].self_attention
    return block.output.bias.detach().numpy()


@pytest.mark.parametrize("kind", KINDS)
def test_a_sub_layer_with_all_heads_off_adds_the_output_bias_only(engine: Engine, pair, kind: str) -> None:
    model = engine.model
    with torch.no_grad():
        for side in (model.encoder, model.decoder):
            for layer in side:
                layer.self_attention.output.bias.normal_()
        for layer in model.decoder:
            layer.cross_attention.output.bias.normal_()
    edits = make_edits(HeadChange(kind, 1, head, 0.0) for head in range(model.config.heads))
    seen = forced_pass(model, *pair, edits=edits)
    change = seen[point(kind, 1, "change")]
    assert np.abs(change - output_bias(model, kind, 1)).max() == 0
    assert np.abs(forced_pass(model, *pair)[point(kind, 1, "change")] - change).max() > 1e-3


def test_changing_nothing_and_scaling_by_one_change_no_bit(engine: Engine, pair) -> None:
    ones = [HeadChange(kind, 0, head, 1.0) for kind in KINDS for head in range(engine.config.heads)]
    assert make_edits(ones) == {} == make_edits([], RowEdit("cross", 0, 0, 0, {}))
    plain = forced_pass(engine.model, *pair)
    assert (forced_pass(engine.model, *pair, edits={}).logits == plain.logits).all()
    trace, same = engine.trace(SENTENCE, BEAM), engine.trace(SENTENCE, BEAM, edits=make_edits(ones))
    assert (trace.search.logprob == same.search.logprob).all()
    assert (trace.search.cross == same.search.cross).all()


def test_the_edit_of_scaling_is_the_identity_at_one_and_the_mask_at_zero() -> None:
    heads = torch.randn(2, 4, 5, 3)
    (edit,) = make_edits([HeadChange("encoder", 0, 2, 0.5)]).values()
    assert torch.equal(edit(heads)[:, 2], heads[:, 2] * 0.5)
    assert torch.equal(edit(heads)[:, [0, 1, 3]], heads[:, [0, 1, 3]])
    (near,) = make_edits([HeadChange("encoder", 0, 2, 1.0 + 1e-9)]).values()
    assert torch.equal(near(heads), heads)


@pytest.mark.parametrize("kind", KINDS)
def test_a_uniform_head_spreads_over_what_each_query_may_see(engine: Engine, pair, kind: str) -> None:
    edits = make_edits([HeadChange(kind, 1, 2, None)])
    weights = forced_pass(engine.model, *pair, edits=edits)[point(kind, 1, "weights")]
    plain = forced_pass(engine.model, *pair)[point(kind, 1, "weights")]
    rows = weights[2]
    if kind == "decoder":
        expected = np.tril(np.ones_like(rows))
        expected /= expected.sum(-1, keepdims=True)
    else:
        expected = np.full_like(rows, 1 / rows.shape[1])
    assert np.abs(rows - expected).max() < 1e-6
    others = [0, 1, 3]
    assert np.abs(weights[others] - plain[others]).max() == 0


@pytest.mark.parametrize("kind", KINDS)
def test_every_step_of_a_search_sees_what_a_whole_pass_sees(engine: Engine, kind: str) -> None:
    """The changed search says of its own best hypothesis what a changed forced pass says of it."""
    changes = [HeadChange(kind, 0, 1, 0.0), HeadChange(kind, 1, 0, 1.7), HeadChange(kind, 1, 3, None)]
    row = RowEdit(kind, 1, 3, 3, {1: 0.75})
    trace = engine.trace(SENTENCE, BEAM, edits=make_edits(changes, row))
    ids = engine.tokenizer.source(SENTENCE)
    for node in trace.hypotheses.tolist():
        path, target = trace.path(node), trace.token_path(node)
        assert len(target) > 3
        found = consequence(engine.model, ids, target, make_edits(changes, row))
        assert np.abs(found.after - path.logprobs).max() < 1e-4
        searched = {"encoder": trace.encoder, "decoder": path.decoder, "cross": path.cross}[kind]
        assert np.abs(found.weights_after[kind] - searched).max() < 1e-5
        assert abs(searched[1, 3, 3, 1] - 0.75) < 1e-6
        assert abs(searched[1, 3, 2, 1] - 0.75) > 1e-2, "the row before keeps its own weights"


def test_a_row_of_cross_attention_is_that_of_every_beam_and_of_its_step_alone() -> None:
    edits = make_edits([], RowEdit("cross", 0, 1, 4, {2: 1.0}))
    clock, cross = edits["decoder.0.self.weights"], edits["decoder.0.cross.weights"]
    even = torch.full((2, 4, 3, 5), 0.2)
    for keys in (4, 5, 6):
        step = torch.rand(6, 4, 1, keys)
        assert torch.equal(clock(step), step)
        found = cross(even)
        if keys == 5:
            assert (found[:, 1, :, 2] == 1).all() and (found[:, 1].sum(-1) == 1).all()
            assert torch.equal(found[:, [0, 2, 3]], even[:, [0, 2, 3]])
        else:
            assert torch.equal(found, even)
    clock(torch.rand(2, 4, 3, 6))
    found = cross(even)
    assert (found[:, 1, 1, 2] == 1).all() and torch.equal(found[:, 1, [0, 2]], even[:, 1, [0, 2]])


def test_a_row_keeps_the_proportions_of_the_others() -> None:
    row = torch.tensor([0.1, 0.2, 0.3, 0.4])
    assert torch.allclose(rewrite_row(row, {3: 0.7}, 4), torch.tensor([0.05, 0.1, 0.15, 0.7]))
    assert torch.allclose(rewrite_row(row, {0: 0.5, 1: 0.5}, 4), torch.tensor([0.5, 0.5, 0.0, 0.0]))
    assert torch.equal(rewrite_row(row, {}, 4), row)


def test_a_row_without_others_is_scaled_and_one_without_weight_shared_evenly() -> None:
    hidden = torch.tensor([1.0, 0.0, 0.0, 0.0])
    assert torch.allclose(rewrite_row(hidden, {0: 0.4}, 3), torch.tensor([0.4, 0.3, 0.3, 0.0]))
    assert torch.allclose(rewrite_row(hidden, {0: 0.4}, 1), hidden)
    assert torch.allclose(rewrite_row(hidden, {0: 0.0}, 1), hidden)
    assert torch.equal(rewrite_row(hidden, {3: 1.0}, 2), hidden), "a hidden key stays hidden"


def test_the_attention_of_earlier_layers_does_not_move(engine: Engine, pair) -> None:
    source, target = pair
    found = consequence(engine.model, source, target, make_edits([HeadChange("cross", 1, 0, 0.0)]))
    assert not found.moved["encoder"].any() and not found.moved["decoder"].any()
    assert not found.moved["cross"].any(), "the last layer's change reaches no other attention"
    found = consequence(engine.model, source, target, make_edits([HeadChange("encoder", 0, 0, 0.0)]))
    assert not found.moved["encoder"][0].any() and (found.moved["encoder"][1] > 0).all()
    assert (found.moved["cross"] > 0).all() and not found.moved["decoder"][0].any()
    assert found.before.sum() != found.after.sum()


def test_moved_is_the_total_variation() -> None:
    before, after = np.array([[1.0, 0, 0], [0.5, 0.5, 0]]), np.array([[0, 0, 1.0], [0.5, 0.25, 0.25]])
    assert attention_moved(before, after) == pytest.approx((1 + 0.25) / 2)
    assert attention_moved(before, before) == 0


def test_what_cannot_be_is_said_in_a_line(engine: Engine) -> None:
    for wrong in (
        lambda: HeadChange("side", 0, 0, 0.0),
        lambda: HeadChange("cross", -1, 0, 0.0),
        lambda: HeadChange("cross", 0, 0, 2.5),
        lambda: HeadChange("cross", 0, 0, float("nan")),
        lambda: RowEdit("decoder", 0, 0, 2, {3: 0.5}),
        lambda: RowEdit("cross", 0, 0, 2, {3: 0.7, 4: 0.7}),
        lambda: RowEdit("cross", 0, 0, 2, {3: -0.1}),
        lambda: RowEdit("cross", 0, 0, -2, {3: 0.1}),
        lambda: make_edits([HeadChange("cross", 0, 0, 0.0), HeadChange("cross", 0, 0, None)]),
    ):
        with pytest.raises(AblationError):
            wrong()
    layers = engine.config.attention_layers
    check_heads([HeadChange("cross", 1, 3, 0.0)], layers, 4)
    with pytest.raises(AblationError, match=r"cross 3\.1 is not here"):
        check_heads([HeadChange("cross", 2, 0, 0.0)], layers, 4)
    with pytest.raises(AblationError, match=r"encoder 1\.5 is not here"):
        check_heads([HeadChange("encoder", 0, 4, 0.0)], layers, 4)
