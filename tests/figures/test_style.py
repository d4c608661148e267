"""The shared look: contrast in both themes, escaping, axes that never merge or reinterpret labels."""

from __future__ import annotations

import itertools
import re

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas.figures import style


@pytest.mark.case("U6")
@pytest.mark.parametrize("meaning", style.COLOURS)
@pytest.mark.parametrize("dark", [False, True])
def test_every_meaning_stands_out_on_both_themes(meaning: str, dark: bool) -> None:
    assert style.contrast(style.COLOURS[meaning], style.background(dark)) >= 3.0
    assert style.contrast(style.text_colour(meaning, dark), style.background(dark)) >= 4.5


@pytest.mark.case("U6")
@pytest.mark.parametrize("dark", [False, True])
def test_text_is_readable_and_the_scale_runs_from_background_to_ink(dark: bool) -> None:
    assert style.contrast(style.ink(dark), style.background(dark)) >= 7.0
    stops = [colour for _, colour in style.sequential(dark)]
    steps = [style.contrast(colour, style.background(dark)) for colour in stops]
    assert stops[0] == style.background(dark)
    assert steps == sorted(steps) and steps[-1] > 12


def test_contrast_is_that_of_the_standard() -> None:
    assert style.contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert style.contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def test_meanings_have_words_and_different_colours() -> None:
    assert style.COLOURS.keys() == style.MEANINGS.keys()
    assert len({style.COLOURS[name] for name in style.COLOURS if name != "kept"}) == len(style.COLOURS) - 1


@pytest.mark.case("T3")
@given(st.text())
def test_escaped_text_has_no_markup_left_and_reads_back(text: str) -> None:
    escaped = style.escape(text)
    assert not set("<>$\n\r\t") & set(escaped)
    assert all(
        re.match(r"&(amp|lt|gt|#36);", escaped[place:]) for place, sign in enumerate(escaped) if sign == "&"
    )
    back = escaped.replace("&lt;", "<").replace("&gt;", ">").replace("&#36;", "$").replace("&amp;", "&")
    assert back == text.replace("\n", "⏎").replace("\r", "␍").replace("\t", "⇥")


@pytest.mark.case("T1")
@pytest.mark.case("T2")
@pytest.mark.parametrize("words", ["the cat saw the dog and the cat", "2019 2020 1E1 2026-01 5 or more 5"])
def test_an_axis_has_a_place_for_each_token(words: str) -> None:
    labels = words.split()
    axis = style.token_axis(labels, title="key")
    assert axis["type"] == "linear" and axis["title"] == "key"
    assert axis["tickvals"] == list(range(len(labels))) and axis["ticktext"] == labels
    assert axis["range"] == [-0.5, len(labels) - 0.5]


def test_a_long_axis_thins_labels_and_keeps_its_range() -> None:
    axis = style.token_axis([str(i) for i in range(200)])
    assert len(axis["tickvals"]) <= 60 and axis["range"] == [-0.5, 199.5]


def test_colour_table_hits_both_ends_and_refuses_one_entry() -> None:
    table = style.colour_table()
    assert len(table) == 256 and table[0] == (255, 255, 255) and table[-1] == (0x10, 0x22, 0x3F)
    with pytest.raises(ValueError, match="at least 2"):
        style.colour_table(size=1)


@pytest.mark.case("T3")
def test_layout_escapes_the_title_and_takes_more() -> None:
    figure = style.arrange(go.Figure(), title="<b>$x$</b>", height=300, showlegend=False)
    assert figure.layout.title.text == "&lt;b&gt;&#36;x&#36;&lt;/b&gt;"
    assert figure.layout.height == 300 and figure.layout.showlegend is False


@pytest.mark.case("U6")
def test_axes_are_written_in_ink_unless_they_have_a_colour() -> None:
    figure = (
        go.Figure().update_xaxes(title="a").update_yaxes(title={"text": "b", "font": {"color": "#d9601a"}})
    )
    layout = style.arrange(figure, dark=True).layout
    assert layout.xaxis.tickfont.color == layout.xaxis.title.font.color == style.ink(True)
    assert layout.yaxis.title.font.color == "#d9601a" and layout.yaxis.tickfont.color == style.ink(True)


def test_legend_names_each_colour_and_refuses_an_unknown_meaning() -> None:
    html = style.legend_html("query", "key")
    assert style.COLOURS["query"] in html and style.COLOURS["key"] in html and "key</span>" in html
    with pytest.raises(KeyError):
        style.legend_html("nonsense")


_MISSING_CONE = {
    "none": np.eye(3),
    "long": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "middle": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.01182, 0.04294, 0.968881],
    ],
    "short": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.3039],
    ],
}
"""Linear sRGB -> what an eye without this cone sees (Machado, Oliveira and Fernandes 2009, severity 1)."""


def _oklab(colour: str, eye: str) -> np.ndarray:
    """``#rrggbb`` in Oklab (Ottosson 2020), a space whose distances are those that an eye sees."""
    parts = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(_MISSING_CONE[eye]) @ linear, 0, 1)
    cones = np.array(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ]
    )
    mixed = np.array(
        [
            [0.2104542553, 0.793617785, -0.0040720468],
            [1.9779984951, -2.428592205, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.808675766],
        ]
    )
    return mixed @ np.cbrt(cones @ seen)


@pytest.mark.case("U6")
def test_curves_without_a_meaning_take_no_meanings_colour() -> None:
    for colour in style.SERIES:
        for meaning in style.COLOURS.values():
            assert np.linalg.norm(_oklab(colour, "none") - _oklab(meaning, "none")) > 0.08, (colour, meaning)
        assert min(style.contrast(colour, style.background(dark)) for dark in (False, True)) >= 3.0


@pytest.mark.case("U6")
@pytest.mark.parametrize("eye", _MISSING_CONE)
def test_curves_are_apart_for_every_eye(eye: str) -> None:
    for first, second in itertools.combinations(style.SERIES, 2):
        assert np.linalg.norm(_oklab(first, eye) - _oklab(second, eye)) > 0.1, (first, second)
