"""The exported page: what stands in the file, and that nothing in it can load or run."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest

from atlas.figures.page import document
from atlas.figures.page.content import FULL, page_arrays, page_data, relabelled
from atlas.figures.page.document import trace_page
from atlas.trace import Trace
from tests.traces import EMOJI, HTML_LIKE, SOURCE, make_trace


class Reader(HTMLParser):
    """Tags with their attributes, and the text of each element that has an id."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: dict[str, str] = {}
        self._open = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open = dict(attrs).get("id") or tag

    def handle_data(self, data: str) -> None:
        self.text[self._open] = self.text.get(self._open, "") + data


def unpacked(page: str, block: str) -> bytes:
    return gzip.decompress(base64.b64decode(Reader(page).text[block]))


@pytest.fixture(scope="module")
def page() -> str:
    return trace_page(make_trace(HTML_LIKE, HTML_LIKE))


@pytest.fixture(scope="module")
def ten_words() -> Trace:
    return make_trace("The cat saw the old dog and then ran away", layers=(4, 4), heads=8, beam=5, n_best=5)


def test_a_page_is_under_two_and_a_half_megabytes_and_the_numbers(ten_words: Trace) -> None:
    page = trace_page(ten_words)
    numbers = sum(len(Reader(page).text[f"array-{kind}"]) for kind in ten_words.kinds)
    assert 1_500_000 < len(page.encode()) - numbers < 2_500_000
    light = trace_page(ten_words, heatmap=False)
    assert len(light.encode()) - numbers < 150_000


def test_the_numbers_are_those_of_the_trace() -> None:
    trace = make_trace()
    page = trace_page(trace, heatmap=False)
    for kind, exact in (
        ("encoder", trace.encoder),
        ("cross", trace.search.cross),
        ("decoder", trace.search.decoder),
    ):
        read = np.frombuffer(unpacked(page, f"array-{kind}"), "<u2").reshape(exact.shape)
        assert np.abs(read / FULL - exact).max() < 1e-5
    assert (page_arrays(trace)["decoder"][trace.search.decoder == 0] == 0).all()
    data = json.loads(unpacked(page, "data"))
    assert data == page_data(trace)
    assert data["source"] == [token.label for token in trace.source_tokens]
    assert data["hypotheses"] == trace.hypotheses.tolist()
    assert [kind["name"] for kind in data["kinds"]] == ["encoder", "decoder", "cross"]
    assert data["expanded"] == trace.search.expanded.tolist()


def test_plotly_travels_in_the_page_and_is_left_out_on_request(page: str) -> None:
    assert b"plotly.js v" in unpacked(page, "plotly")[:200]
    assert 'id="plotly"' not in trace_page(make_trace(), heatmap=False)


def test_one_script_runs_and_it_is_the_one_whose_digest_the_policy_names(page: str) -> None:
    reader = Reader(page)
    scripts = [attrs.get("type") for tag, attrs in reader.tags if tag == "script"]
    assert scripts.count("module") == 1
    assert set(scripts) == {"module", "application/octet-stream"}
    policy = next(
        attrs["content"] for tag, attrs in reader.tags if attrs.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None and "default-src 'none'" in policy and "unsafe-eval" not in policy
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert "unsafe-inline" not in rules["script-src"]
    script = re.search(r'<script type="module">(.*)</script>', page, re.DOTALL)
    assert script is not None
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert rules["script-src"] == f"'sha256-{digest}' blob:"


@pytest.mark.case("T3")
def test_no_tag_comes_from_a_word(page: str) -> None:
    tags = {tag for tag, _ in Reader(page).tags}
    assert not tags & {"img", "b", "s", "a", "iframe", "link", "object"}
    assert tags == {tag for tag, _ in Reader(trace_page(make_trace())).tags}


def test_nothing_points_outside(page: str) -> None:
    for _, attributes in Reader(page).tags:
        assert not {"src", "href", "srcset", "action", "data", "background"} & set(attributes)
        assert not [name for name in attributes if name.startswith("on")]
    markup = re.sub(r'<script type="application/octet-stream".*?</script>', "", page)
    assert set(re.findall(r"\w+://[^\s\"'`]*", markup)) == {"http://www.w3.org/2000/svg"}


def test_the_page_is_read_without_a_script(page: str) -> None:
    reader = Reader(page)
    assert reader.text["h1"].strip() == HTML_LIKE
    assert reader.text["title"].startswith("<s> <b>x</b>")
    trace = make_trace(HTML_LIKE, HTML_LIKE)
    for place, node in enumerate(trace.hypotheses.tolist()):
        assert reader.text[f"hypothesis-{place}"] == trace.text(node)
    assert "need JavaScript" in unescape(page)


def test_labels_that_change_along_a_path_are_those_of_the_path() -> None:
    trace = make_trace(SOURCE, EMOJI)
    changed = relabelled(trace)
    assert changed, "the emoji is cut into bytes"
    data = page_data(trace)
    for node in range(len(trace.search)):
        labels = [data["tree"]["label"][member] for member in trace.ancestors(node)]
        for place, label in changed.get(node, []):
            labels[place] = label
        assert labels == [token.label for token in trace.target_tokens(node)]


def test_a_script_that_would_end_its_element_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    document._script.cache_clear()
    real = document._read
    monkeypatch.setattr(
        document,
        "_read",
        lambda folder, name: real(folder, name) + ("// </script>" if name == "page.js" else ""),
    )
    with pytest.raises(ValueError, match="would end or change its element"):
        document._script()
    monkeypatch.setattr(
        document,
        "_read",
        lambda folder, name: real(folder, name) + ("export default function x() {}" * (name == "lines.js")),
    )
    with pytest.raises(ValueError, match=r"lines: a component has one default export"):
        document._script()
    document._script.cache_clear()


@pytest.mark.parametrize("target", ["", "Hi"], ids=["empty", "one word"])
def test_the_smallest_traces_have_a_page(target: str) -> None:
    trace = make_trace("Hi", target, layers=(1, 1), heads=1, beam=1)
    page = trace_page(trace, heatmap=False)
    assert json.loads(unpacked(page, "data"))["tree"]["steps"] == int(trace.search.step.max())
