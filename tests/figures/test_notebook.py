"""What a notebook shows of our objects: whole, small, and nothing in it runs or loads."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from html import unescape
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from atlas.figures import notebook
from atlas.figures.attention import head_grid, head_map
from atlas.figures.notebook import png
from atlas.figures.page.document import trace_page
from atlas.trace import notebook as display
from atlas.translation import Hypothesis, Translation
from tests.traces import HTML_LIKE, REPEATED, make_trace

SVG = "{http://www.w3.org/2000/svg}"


def pixels(data: bytes) -> np.ndarray:
    """An 8-bit grey PNG without filters, read back; every check sum is checked."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    place, held = 8, {}
    while place < len(data):
        (size,) = struct.unpack_from(">I", data, place)
        name, body = data[place + 4 : place + 8], data[place + 8 : place + 8 + size]
        assert struct.unpack_from(">I", data, place + 8 + size)[0] == zlib.crc32(name + body)
        held[name] = body
        place += size + 12
    width, height, depth, colour = struct.unpack_from(">IIBB", held[b"IHDR"])
    assert (depth, colour) == (8, 0)
    lines = np.frombuffer(zlib.decompress(held[b"IDAT"]), np.uint8).reshape(height, width + 1)
    assert not lines[:, 0].any()
    return lines[:, 1:]


@given(arrays(np.uint8, array_shapes(min_dims=2, max_dims=2, max_side=12)))
def test_a_picture_is_a_png_of_its_cells(shades: np.ndarray) -> None:
    np.testing.assert_array_equal(pixels(png(shades)), shades)


def tree(svg: str) -> ElementTree.Element:
    """The SVG, well formed, with nothing that runs or loads."""
    root = ElementTree.fromstring(svg)
    for element in root.iter():
        assert element.tag.removeprefix(SVG) in ("svg", "text", "rect", "title", "mask", "image")
        for name, value in element.attrib.items():
            assert not name.startswith("on")
            assert not name.endswith("href") or value.startswith("data:image/png;base64,")
    return root


@pytest.mark.case("T3")
@pytest.mark.parametrize("words", [REPEATED, HTML_LIKE])
def test_a_head_is_drawn_with_every_label_and_number(words: str) -> None:
    head = head_map(make_trace(words, words), "cross", layer=1, head=2)
    root = tree(head._repr_html_())
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert texts[0] == "layer 2 · head 3 · cross-attention"
    assert texts[1:] == [*head.queries, *head.keys]
    tips = [title.text for title in root.iter(f"{SVG}title")]
    assert tips[0] == f"{head.queries[0]} → {head.keys[0]}: weight {head.weights[0, 0]:.4f}"
    assert len(tips) == head.weights.size
    image = next(root.iter(f"{SVG}image")).attrib["href"].partition(",")[2]
    shades = pixels(base64.b64decode(image))
    np.testing.assert_allclose(shades / 255, head.weights / head.peak, atol=0.5 / 255 + 1e-6)


def test_all_heads_are_drawn_and_say_their_strongest() -> None:
    grid = head_grid(make_trace(), "encoder")
    root = tree(grid._repr_html_())
    images = list(root.iter(f"{SVG}image"))
    assert len(images) == grid.layers * (grid.heads + 2)
    shown = pixels(base64.b64decode(images[1].attrib["href"].partition(",")[2]))
    np.testing.assert_array_equal(shown, grid.shades("head")[0, 1])
    assert grid.strongest(1, 4) in [title.text for title in root.iter(f"{SVG}title")]
    masks = [mask.attrib["id"] for mask in root.iter(f"{SVG}mask")]
    assert len(set(masks)) == len(masks)


def test_a_trace_is_its_page_in_a_sandbox() -> None:
    trace = make_trace(HTML_LIKE, HTML_LIKE)
    shown = trace._repr_html_()
    assert shown is not None
    found = re.fullmatch(
        r'<iframe srcdoc="([^"]*)" sandbox="allow-scripts" title="[^"]*" style="[^"]*"></iframe>', shown
    )
    assert found is not None
    assert unescape(found[1]) == trace_page(trace, heatmap=False)
    assert len(shown) < 500_000


def test_a_large_trace_gives_up_rows_and_then_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = make_trace()
    best = trace_page(trace.with_n_best_rows_only(), heatmap=False)
    assert len(best) < len(trace_page(trace, heatmap=False))
    monkeypatch.setattr(notebook, "MOST_BYTES", len(best))
    assert unescape(str(trace._repr_html_())).count(best) == 1
    monkeypatch.setattr(notebook, "MOST_BYTES", len(best) - 1)
    assert "atlas export TRACE" in str(trace._repr_html_())


def test_without_plotly_a_trace_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display, "find_spec", lambda name: None)
    assert make_trace()._repr_html_() is None


@given(st.text(), st.text())
def test_a_translation_is_a_table_of_what_was_written(source: str, text: str) -> None:
    one = Hypothesis(text, (1, 2), (-0.5, -0.25), -0.75, -0.6, finished=False)
    shown = Translation(source, (one,), note="cut <here>")._repr_html_()
    bare = re.sub(r"</?(?:table|thead|tbody|tr|th|td|p|b)(?: style='text-align:left')?>", "", shown)
    assert "<" not in bare.replace("cut &lt;here&gt;", "")
    titles = "translationscorelog-probabilitytokens"
    assert unescape_once(bare) == f"{source}{titles}1{text}-0.600-0.7502cut at the limitcut <here>"
    assert one._repr_html_() in shown
    assert Translation(source, ())._repr_html_().count("<table>") == 0


def unescape_once(text: str) -> str:
    for entity, sign in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&#x27;", "'"), ("&amp;", "&")):
        text = text.replace(entity, sign)
    return text
