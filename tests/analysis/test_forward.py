"""The walk through a pass, against a second forward pass in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from atlas.analysis.forward import WANTED, ForwardError, Row, Stage, measured, overview, stages
from atlas.analysis.passes import ForcedPass, forced_pass
from tests.analysis.walked import READ, SOURCE, TARGET, Walked
from tests.model.reference import small_model

OPTIONS = [
    {"norm": "pre"},
    {"norm": "post"},
    {"norm": "pre", "activation": "gelu", "positions": "learned"},
    {"norm": "post", "positions": "none"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options.values()))
def test_every_vector_of_every_stage_is_what_the_weights_say(options):
    model = small_model(**options)
    done = forced_pass(model, SOURCE, TARGET, wanted=WANTED)
    walk = [stage for stage in stages(model.config) if stage.rows]
    again = Walked(model)
    assert len(walk) == len(again.rows)
    for stage, rows in zip(walk, again.rows, strict=True):
        for position in range(rows.shape[1]):
            found = measured(done, stage, position)
            np.testing.assert_allclose(found.vectors, rows[:, position], atol=2e-5, err_msg=str(stage))
            np.testing.assert_allclose(found.norms, np.sqrt((rows[:, position] ** 2).sum(-1)), rtol=1e-4)
            np.testing.assert_allclose(found.means, rows[:, position].sum(-1) / 16, atol=1e-5)
            assert found.shape == (len(SOURCE if stage.side == "encoder" else READ), 16)
    np.testing.assert_allclose(done.logits, again.logits, atol=2e-5)


def test_the_order_is_that_of_the_model():
    config = small_model(norm="pre", encoder_layers=1, decoder_layers=1).config
    walk = stages(config)
    assert [f"{stage.side[0]} {stage.kind}" for stage in walk] == [
        *("e characters", "e pieces", "e ids", "e embedding", "e positions", "e self", "e ffn", "e norm"),
        *("d read", "d embedding", "d positions", "d self", "d cross", "d ffn", "d norm"),
        *("d logits", "d softmax", "d cut", "d choice"),
    ]
    by_kind = {(stage.side, stage.kind): [row.operation for row in stage.rows] for stage in walk}
    assert by_kind["encoder", "self"] == ["stream", "norm", "attention", "sum"]
    assert by_kind["decoder", "ffn"] == ["stream", "norm", "ffn", "sum"]
    post = stages(small_model(norm="post", encoder_layers=1, decoder_layers=1).config)
    assert "norm" not in [stage.kind for stage in post]
    by_kind = {(stage.side, stage.kind): [row.operation for row in stage.rows] for stage in post}
    assert by_kind["decoder", "cross"] == ["stream", "attention", "sum", "norm"]


def test_without_positions_nothing_is_added():
    walk = stages(small_model(positions="none").config)
    assert "positions" not in [stage.kind for stage in walk]
    first = next(stage for stage in walk if stage.kind == "self")
    assert first.rows[0] == Row("stream", "encoder.embedded")


def hand_made(**points: list[list[float]]) -> ForcedPass:
    arrays = {name.replace("_", "."): np.array(rows, np.float32) for name, rows in points.items()}
    return ForcedPass((1,), (1,), arrays, np.zeros((1, 3), np.float32))


def test_change_and_cosine_of_a_sub_layer_on_paper():
    done = hand_made(x=[[3, 4]], f=[[-3, 0]], s=[[0, 4]], n=[[0, 8]])
    pre = measured(
        done, Stage("ffn", "encoder", 0, (Row("stream", "x"), Row("ffn", "f"), Row("sum", "s"))), 0
    )
    assert (pre.ratio, pre.cosine) == (pytest.approx(3 / 5), pytest.approx(16 / 20))
    rows = (Row("stream", "x"), Row("attention", "f"), Row("sum", "s"), Row("norm", "n"))
    post = measured(done, Stage("self", "encoder", 0, rows), 0)
    assert post.ratio == pytest.approx(3 / 5), "the change is what was added, not what LayerNorm did after it"
    assert post.cosine == pytest.approx(32 / 40)
    norm = measured(done, Stage("norm", "encoder", rows=(Row("stream", "x"), Row("norm", "n"))), 0)
    assert norm.ratio == pytest.approx(5 / 5)
    assert list(norm.norms) == [5, 8]


def test_a_stream_of_zeros_has_no_ratio():
    done = hand_made(x=[[0, 0]], n=[[1, 0]])
    found = measured(done, Stage("norm", "encoder", rows=(Row("stream", "x"), Row("norm", "n"))), 0)
    assert np.isnan(found.ratio)
    assert np.isnan(found.cosine)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_overview_is_every_stage_measured(norm):
    model = small_model(norm=norm)
    done = forced_pass(model, SOURCE, TARGET, wanted=WANTED)
    walk = stages(model.config)
    found = overview(done, walk, {"encoder": 1, "decoder": 3})
    assert [walk[place].kind for place in found.stage][:4] == ["embedding", "positions", "self", "ffn"]
    for index, place in enumerate(found.stage):
        one = measured(done, walk[place], 1 if walk[place].side == "encoder" else 3)
        assert found.norm[index] == one.norms[-1]
        if walk[place].kind == "embedding":
            assert np.isnan(found.ratio[index])
        else:
            assert (found.ratio[index], found.cosine[index]) == (one.ratio, one.cosine)


def test_what_is_not_there_is_refused():
    model = small_model()
    done = forced_pass(model, SOURCE, TARGET, wanted=WANTED)
    walk = stages(model.config)
    with pytest.raises(ForwardError, match="'characters' has no vectors"):
        measured(done, walk[0], 0)
    with pytest.raises(ForwardError, match=r"position 5 is not in 0\.\.4 of the encoder"):
        measured(done, walk[3], 5)
