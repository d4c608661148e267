"""Pictures of the forward pass: the numbers in them, repeated words, text that looks like markup."""

import numpy as np
import pytest

from atlas.figures import forward, forward_lens, forward_tokens, forward_units, style

ROWS = np.random.default_rng(0).normal(size=(3, 16)).astype(np.float32)


@pytest.mark.parametrize("dark", [False, True])
def test_a_stage_shows_its_vectors_with_norm_and_mean(dark):
    figure = forward.stage_strips(
        ROWS,
        ["stream in", "FFN adds", "sum"],
        np.array([3.14159, 2, 0]),
        np.array([-0.5, 0, 0.25]),
        dark=dark,
    )
    np.testing.assert_array_equal(figure.data[0].z, ROWS)
    assert [note.text for note in figure.layout.annotations] == [
        "norm 3.14 · mean -0.500",
        "norm 2.00 · mean +0.000",
        "norm 0.00 · mean +0.250",
    ]
    assert [note.y for note in figure.layout.annotations] == [0, 1, 2]


def test_the_overview_has_a_point_a_stage_and_marks_the_one_shown():
    norm, ratio = np.array([4.0, 5, 6, 7]), np.array([np.nan, 0.5, np.nan, 0.25])
    sides = ["encoder", "encoder", "decoder", "decoder"]
    figure = forward.overview(["embedding", "1 self", "embedding", "1 <b>"], sides, norm, ratio, current=2)
    points, encoder, decoder, bars = figure.data
    assert points.mode == "markers"
    np.testing.assert_array_equal(points.y, norm)
    assert list(points.marker.color) == [style.COLOURS[side] for side in sides]
    assert points.customdata[3] == "1 &lt;b&gt;"
    assert (list(encoder.x), list(decoder.x)) == ([0, 1], [2, 3])
    np.testing.assert_array_equal(bars.y, ratio)
    assert {(shape.x0, shape.x1) for shape in figure.layout.shapes} == {(1.5, 2.5)}
    assert list(figure.layout.xaxis2.ticktext) == ["embedding", "1 self", "embedding", "1 &lt;b&gt;"]
    assert figure.layout.xaxis2.showticklabels


def test_without_a_current_stage_nothing_is_marked():
    figure = forward.overview(["a"], ["encoder"], np.array([1.0]), np.array([np.nan]))
    assert not figure.layout.shapes


def test_token_bars_keep_equal_labels_apart():
    figure = forward_tokens.token_bars(
        ["chat", "chat", "<s>"], np.array([3.0, 2.0, -1.0]), "logit", hovers=["id 1", "id 2", "id <3>"]
    )
    (bars,) = figure.data
    assert list(bars.x) == [3, 2, -1]
    assert list(bars.y) == [0, 1, 2]
    assert list(figure.layout.yaxis.ticktext) == ["chat", "chat", "&lt;s&gt;"]
    assert bars.customdata[2][1] == "<br>id &lt;3&gt;"
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]
    with pytest.raises(ValueError, match="2 bars have 1 labels"):
        forward_tokens.token_bars(["a"], np.array([1.0, 2.0]), "logit")


def test_cut_candidates_are_grey_and_the_chosen_one_is_marked():
    own, after = np.array([0.6, 0.3, 0.1]), np.array([2 / 3, 1 / 3, 0.0])
    figure = forward_tokens.candidate_bars(["a", "b", "$c$"], own, after, words="drawn from", chosen=1)
    before, drawn = figure.data[:2]
    np.testing.assert_array_equal(before.x, own)
    np.testing.assert_array_equal(drawn.x, after)
    grey, green = style.COLOURS["pruned"], style.COLOURS["decoder"]
    assert list(drawn.marker.color) == [green, green, grey]
    assert before.marker.color[2] == style.fade(grey, 0.35)
    assert drawn.customdata[2][1] == "cut: cannot be drawn"
    assert list(figure.layout.yaxis.ticktext) == ["a", "<b>▸ b</b>", "&#36;c&#36;"]
    assert [trace.name for trace in figure.data if trace.showlegend is not False] == [
        "the model's own (T = 1)",
        "drawn from",
        "cannot be drawn",
    ]


def test_nothing_cut_has_no_legend_for_it():
    figure = forward_tokens.candidate_bars(["a"], np.array([1.0]), np.array([1.0]), words="at temperature 2")
    assert "cannot be drawn" not in [trace.name for trace in figure.data]


def test_draws_beside_two_standard_errors():
    figure = forward_tokens.draw_bars(["a", "b"], np.array([0.36, 0.64]), np.array([0.4, 0.6]), 400)
    shares, expected = figure.data
    assert list(shares.x) == [0.4, 0.6]
    assert list(expected.x) == [0.36, 0.64]
    np.testing.assert_allclose(expected.error_x.array, 2 * 0.48 / 20)
    assert shares.name == "share of 400 draws"


@pytest.mark.parametrize("dark", [False, True])
def test_the_lens_reads_down_and_each_cell_is_legible(dark):
    said = [["<s>", "le"], ["le", "le"], ["le", "<b>"]]
    probability = np.array([[1.0, 0.0], [0.5, 0.2], [0.9, 0.45]])
    figure = forward_lens.lens_table(
        said, probability, ["input", "layer 1", "layer 2"], ["<s>", "le"], ["le", "chat"], chosen=1, dark=dark
    )
    cells, texts = figure.data
    np.testing.assert_allclose(cells.z, probability.T)
    assert list(texts.text) == ["&lt;s&gt;", "le", "le", "le", "le", "&lt;b&gt;"]
    assert list(zip(texts.x, texts.y, strict=True)) == [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)]
    table = style.colour_table(dark)
    for ink, value in zip(texts.textfont.color, probability.T.ravel(), strict=True):
        ground = "#{:02x}{:02x}{:02x}".format(*table[round(value * 255)])
        assert style.contrast(ink, ground) >= 3.4, (value, ink, ground)
    assert list(figure.layout.yaxis.ticktext) == ["&lt;s&gt; → <b>le</b>", "le → <b>chat</b>"]
    assert list(figure.layout.xaxis.ticktext) == ["input", "layer 1", "layer 2"]
    assert (figure.layout.shapes[0].y0, figure.layout.shapes[0].y1) == (0.5, 1.5)
    assert list(cells.colorbar.tickvals) == [0, 1], "two rows have no room for more"
    assert cells.colorbar.title.text is None


def test_a_lens_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="2 depths and 1 positions"):
        forward_lens.lens_table([["a"]], np.zeros((1, 1)), ["input", "layer 1"], ["a"], ["b"])


def test_the_course_of_a_token_by_layer():
    figure = forward_lens.lens_course(["input", "layer 1"], np.array([0.01, 0.9]), np.array([250, 1]))
    probability, rank = figure.data
    assert list(probability.y) == [0.01, 0.9]
    assert list(rank.y) == [250, 1]
    assert figure.layout.yaxis2.type == "log"
    low, high = figure.layout.yaxis2.range
    assert low > np.log10(250) > 0 > high, "rank 1 on top"


def test_silent_shares_in_percent():
    token, text, corpus = np.array([0.9, 0.5]), np.array([0.8, 0.6]), np.array([0.7, 0.65])
    figure = forward_units.silent_bars(
        ["enc 1", "dec 1"], ["encoder", "decoder"], token, text, corpus, current=1
    )
    bars, sentence, many = figure.data
    np.testing.assert_allclose(bars.y, [90, 50])
    np.testing.assert_allclose(sentence.y, [80, 60])
    np.testing.assert_allclose(many.y, [70, 65])
    assert list(bars.marker.color) == [style.COLOURS["encoder"], style.COLOURS["decoder"]]
    assert len(forward_units.silent_bars(["enc 1"], ["encoder"], token[:1], text[:1], None).data) == 2


def test_curves_above_where_the_sums_lie():
    grid = np.linspace(-1, 1, 5)
    relu, gelu = np.maximum(grid, 0), grid / 2
    figure = forward_units.activation_curves(grid, relu, gelu, np.array([-9.0, 0.0, 0.01, 0.5]))
    by_name = {trace.name: trace for trace in figure.data if trace.name}
    np.testing.assert_allclose(by_name["GELU − ReLU"].y, gelu - relu)
    histogram = figure.data[-1]
    assert sum(histogram.y) == pytest.approx(100)
    assert histogram.y[0] == pytest.approx(25), "a sum outside the grid is counted at its end"
