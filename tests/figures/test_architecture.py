"""The drawing of the architecture and the charts beside it: what stands where, and every number in them."""

from __future__ import annotations

import numpy as np
import pytest

from atlas.figures import style
from atlas.figures.architecture import drawing
from atlas.figures.architecture_charts import growth, head_times, parameter_bars
from atlas.figures.architecture_gradients import FLOOR, Curve, depths, gradients
from atlas.figures.architecture_sheet import Plan

D, F, V, P = 8, 16, 50, 30
_ATTENTION = (("qkv.weight", (3 * D, D)), ("output.weight", (D, D)))
_CROSS = (("query.weight", (D, D)), ("kv.weight", (2 * D, D)), ("output.weight", (D, D)))
_FFN = (("inner.weight", (F, D)), ("outer.weight", (D, F)))
_NORM = (("weight", (D,)), ("bias", (D,)))


def plan(
    *, norm: str = "pre", positions: str = "sinusoidal", tied: bool = True, layers=(3, 2), **more: object
) -> Plan:
    """A model small enough to be counted by hand."""
    weights = {"source_embedding": (("weight", (V, D)),)}
    for layer in range(layers[0]):
        weights |= {
            f"encoder.{layer}.self_attention": _ATTENTION,
            f"encoder.{layer}.feed_forward": _FFN,
            f"encoder.{layer}.self_norm": _NORM,
            f"encoder.{layer}.ffn_norm": _NORM,
        }
    for layer in range(layers[1]):
        weights |= {
            f"decoder.{layer}.self_attention": _ATTENTION,
            f"decoder.{layer}.cross_attention": _CROSS,
            f"decoder.{layer}.feed_forward": _FFN,
            f"decoder.{layer}.self_norm": _NORM,
            f"decoder.{layer}.cross_norm": _NORM,
            f"decoder.{layer}.ffn_norm": _NORM,
        }
    if norm == "pre":
        weights |= {"encoder_norm": _NORM, "decoder_norm": _NORM}
    if positions == "learned":
        weights["position_table"] = (("", (P, D)),)
    if not tied:
        weights |= {"target_embedding": (("weight", (V, D)),), "unembedding": (("", (V, D)),)}
    return Plan(
        encoder_layers=layers[0],
        decoder_layers=layers[1],
        heads=2,
        width=D,
        ffn=F,
        vocabulary=V,
        norm=norm,
        positions=positions,
        activation="relu",
        tied=tied,
        causal=bool(more.pop("causal", True)),
        weights=weights,
        **more,
    )


def drawn(shown: Plan) -> dict:
    return drawing(shown, lambda name: f"Opens {name}")


def boxes(picture: dict) -> dict[str, dict]:
    return {box["name"]: box for box in picture["boxes"]}


def lines(picture: dict, kind: str) -> list[list[list[float]]]:
    return [path["points"] for path in picture["paths"] if path["kind"] == kind]


ENCODER = 4 * D * D + 2 * D * F + 4 * D
DECODER = 8 * D * D + 2 * D * F + 6 * D


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "none"])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_boxes_hold_every_parameter_once(norm: str, positions: str, tied: bool) -> None:
    picture = drawn(plan(norm=norm, positions=positions, tied=tied, opened=frozenset({0, 1, 2})))
    owners = {box["name"]: box["count"] for box in picture["boxes"] if box["number"] != "shared"}
    twice = owners.pop("decoder.positions", 0)
    expected = V * D * (1 if tied else 3) + 3 * ENCODER + 2 * DECODER
    expected += 4 * D if norm == "pre" else 0
    expected += P * D if positions == "learned" else 0
    assert sum(owners.values()) == expected
    assert twice == (P * D if positions == "learned" else 0)
    assert picture["summary"][0] == f"{expected:,} parameters"
    assert ("encoder.positions" in owners) == (positions != "none")


def test_a_box_tells_shapes_and_counts() -> None:
    box = boxes(drawn(plan()))["decoder.0.cross_attention"]
    assert box["weights"] == [
        ["query.weight", "8 × 8", "64"],
        ["kv.weight", "16 × 8", "128"],
        ["output.weight", "8 × 8", "64"],
    ]
    assert (box["count"], box["number"], box["colour"]) == (256, "256", "cross")
    assert box["note"].startswith("2 heads × 4")
    assert box["leads"] == "Opens decoder.0.cross_attention"


def test_open_layers_show_sub_layers_and_the_others_are_bars() -> None:
    picture = drawn(plan(opened=frozenset({1})))
    found = boxes(picture)
    assert {"encoder.0", "encoder.2", "decoder.0"} <= set(found)
    assert "encoder.1" not in found and "encoder.1.self_attention" in found
    assert found["encoder.0"]["count"] == ENCODER and found["encoder.0"]["layer"] == 0
    assert found["decoder.0"]["count"] == DECODER
    assert [(frame["title"], frame["number"]) for frame in picture["frames"]] == [
        ("Encoder layer 2", f"{ENCODER:,}"),
        ("Decoder layer 2", f"{DECODER:,}"),
    ]


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_norms_stand_where_the_model_has_them(norm: str) -> None:
    picture = drawn(plan(norm=norm))
    found = boxes(picture)
    attention, normed = found["encoder.0.self_attention"], found["encoder.0.self_norm"]
    if norm == "pre":
        assert normed["y"] > attention["y"] and normed["title"] == "Norm"
        assert "encoder_norm" in found and "decoder_norm" in found
    else:
        assert normed["y"] < attention["y"] and normed["title"] == "Add & Norm"
        assert "encoder_norm" not in found
    rings = [words for words in picture["texts"] if words["kind"] == "ring"]
    assert len(rings) == (5 if norm == "pre" else 0)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_residual_goes_round_its_sub_layer(norm: str) -> None:
    picture = drawn(plan(norm=norm))
    arcs, found = lines(picture, "residual"), boxes(picture)
    assert len(arcs) == 2 + 3
    blocks = [
        found[name]
        for name in ("encoder.0.self_attention", "encoder.0.feed_forward", "decoder.0.self_attention")
    ]
    for arc, block in zip(arcs, blocks, strict=False):
        assert arc[0][1] > block["y"] + block["height"] and arc[-1][1] < block["y"]
        assert not block["x"] <= arc[1][0] <= block["x"] + block["width"]


def test_the_memory_reaches_every_decoder_layer() -> None:
    picture = drawn(plan(layers=(2, 5), opened=frozenset({1})))
    ends = [points[-1] for points in lines(picture, "memory") if len(points) == 2]
    found = boxes(picture)
    targets = [found[name] for name in ("decoder.0", "decoder.2", "decoder.3", "decoder.4")]
    targets.append(found["decoder.1.cross_attention"])
    for box in targets:
        assert [box["x"], box["y"] + box["height"] / 2] in ends


def test_one_matrix_is_joined_in_three_places() -> None:
    assert len(lines(drawn(plan(tied=True)), "shared")) == 2
    assert lines(drawn(plan(tied=False)), "shared") == []
    found = boxes(drawn(plan(tied=True)))
    assert found["target_embedding"]["number"] == found["output"]["number"] == "shared"
    assert boxes(drawn(plan(tied=False)))["output"]["count"] == V * D


def test_everything_lies_inside_and_no_boxes_overlap() -> None:
    picture = drawn(plan(norm="pre", positions="learned", layers=(4, 6), opened=frozenset(range(6))))
    for box in picture["boxes"]:
        assert box["x"] >= 0 and box["x"] + box["width"] <= picture["width"]
        assert box["y"] >= 0 and box["y"] + box["height"] <= picture["height"]
    for first in picture["boxes"]:
        for second in picture["boxes"]:
            if first is not second and first["x"] == second["x"]:
                apart = first["y"] + first["height"] <= second["y"]
                assert apart or second["y"] + second["height"] <= first["y"]
    for path in picture["paths"]:
        for x, y in path["points"]:
            assert 0 <= x <= picture["width"] and 0 <= y <= picture["height"]


def test_deep_models_have_thinner_bars() -> None:
    heights = {}
    for layers in (4, 12, 60):
        picture = drawn(plan(layers=(layers, layers)))
        assert len([box for box in picture["boxes"] if box["layer"] is not None]) == 2 * (layers - 1)
        heights[layers] = boxes(picture)["encoder.1"]["height"]
    assert heights[4] > heights[12] > heights[60]
    assert picture["height"] < 2500


def test_self_attention_says_whether_it_is_masked() -> None:
    assert boxes(drawn(plan()))["decoder.0.self_attention"]["title"] == "Masked self-attention"
    assert boxes(drawn(plan(causal=False)))["decoder.0.self_attention"]["title"] == "Self-attention"


@pytest.mark.parametrize("dark", [False, True])
def test_text_in_the_colour_of_a_side_is_legible(dark: bool) -> None:
    for name, colours in drawing(plan(), str, dark=dark)["colours"].items():
        assert colours["fill"] == style.COLOURS[name]
        assert style.contrast(colours["text"], style.background(dark)) >= 4.5


def test_parameter_bars_stack_to_the_whole() -> None:
    rows = {"a<b>": {"embedding": 30, "attention": 20, "router": 0}, "two": {"embedding": 5, "attention": 5}}
    figure = parameter_bars(rows)
    assert [bar.name for bar in figure.data] == ["embedding", "attention"]
    assert [list(bar.x) for bar in figure.data] == [[30, 5], [20, 5]]
    assert list(figure.data[0].customdata) == ["60.0", "50.0"]
    assert figure.layout.yaxis.ticktext == ("a&lt;b&gt;", "two")
    assert figure.layout.barmode == "stack"


def test_growth_marks_d_and_its_double() -> None:
    widths = [32, 64, 128, 256]
    figure = growth(widths, [12 * d * d for d in widths], [100 * d for d in widths], width=64, dark=True)
    together = figure.data[2].y
    assert list(together) == [12 * d * d + 100 * d for d in widths]
    marks = [(one.x[0], one.y[0]) for one in figure.data[3:]]
    assert marks[0] == (64, pytest.approx(together[1])) and marks[1] == (128, pytest.approx(together[2]))


def test_head_times() -> None:
    figure = head_times([1, 8], [2.0, 2.5], [1.5, 1.6], [0.1, 0.4])
    assert [list(one.y) for one in figure.data] == [[2.0, 2.5], [1.5, 1.6], [0.1, 0.4]]
    assert figure.layout.xaxis.ticktext == ("1", "8")
    assert list(figure.data[0].customdata) == ["1 head", "8 heads"]


def test_gradients_below_the_floor_are_told_as_they_are() -> None:
    curves = [
        Curve("post", True, np.array([0.1, 1.0]), np.array([1e-30, 1.0])),
        Curve("pre", False, np.array([0.5, 0.5]), np.array([0.0, 2.0])),
    ]
    figure = gradients(curves)
    assert [one.name for one in figure.data] == ["post-norm"] * 2 + ["pre-norm, no residual"] * 2
    assert figure.data[1].y[0] == FLOOR and figure.data[1].customdata[0] == "1e-30"
    assert figure.data[3].customdata[0] == "exactly 0 in float64"
    assert list(figure.data[0].y) == [0.1, 1.0]
    low, high = figure.layout.yaxis.range
    assert low <= np.log10(FLOOR) and high >= np.log10(2.0)
    assert [one.showlegend for one in figure.data] == [True, False, True, False]


def test_depths_stand_on_logarithmic_axes() -> None:
    series = {"post-norm, first layer": ("post", "first", np.array([1.0, 1e-3]))}
    figure = depths([2, 100], series)
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("log", "log")
    assert list(figure.data[0].x) == [2, 100] and list(figure.data[0].y) == [1.0, 1e-3]
