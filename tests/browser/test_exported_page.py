"""The exported page as a stranger opens it: from a file, without a server or a network."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from atlas.figures.attention import head_grid, head_map
from atlas.figures.page.content import page_arrays
from atlas.figures.page.document import trace_page
from atlas.trace import Trace
from tests.browser.conftest import new_context
from tests.browser.drive import Visit
from tests.traces import EMOJI, HTML_LIKE, REPEATED, make_trace

HOSTILE = f"{HTML_LIKE} </script><img onerror=alert(1)> {EMOJI}"

OpenFile = Callable[..., Page]


@pytest.fixture
def opened(chromium: Browser, tmp_path: Path) -> Iterator[OpenFile]:
    """Opens the page of a trace from a file; at the end no network was asked and nothing complained."""
    visits: list[Visit] = []
    asked: list[str] = []
    complaints: list[str] = []

    def open_page(trace: Trace, *, dark: bool = False, **options: bool) -> Page:
        file = tmp_path / f"page-{len(visits)}.html"
        file.write_text(trace_page(trace, **options), encoding="utf-8")
        context = new_context(chromium, dark=dark)
        context.set_offline(True)
        page = context.new_page()
        visits.append(Visit(page))
        page.on("request", lambda request: asked.append(request.url))
        page.on(
            "console",
            lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None,
        )
        page.goto(file.as_uri())
        expect(page.locator("#atlas")).to_be_visible()
        if options.get("heatmap", True):
            expect(page.locator("#heatmap .heatmaplayer image").first).to_be_attached()
        return page

    yield open_page
    for visit in visits:
        visit.no_trouble()
        visit.page.context.close()
    assert {url.partition(":")[0] for url in asked} <= {"file", "blob", "data"}
    assert complaints == []


def tips(page: Page) -> list[str]:
    return page.locator("#overview [role=option]").evaluate_all("(all) => all.map((one) => one.ariaLabel)")


def shown_weights(page: Page) -> np.ndarray:
    return np.array(page.locator("#heatmap").evaluate("(plot) => plot.data[0].z"))


def words(page: Page, side: str) -> list[str]:
    """The words of one side of the lines, whole: what is too long for its column stands in the title."""
    return page.locator(f"#lines .word.{side} title").all_text_contents()


def path_of(page: Page) -> str:
    return page.locator("#path").inner_text()


def test_heads_lines_and_heatmap_show_the_numbers_of_the_trace(opened: OpenFile) -> None:
    trace = make_trace(REPEATED, "le chat a vu le chien et le chat")
    page = opened(trace)
    for kind, title in (("cross", "cross-attention"), ("encoder", "encoder self-attention")):
        page.get_by_role("radio", name=title).check()
        grid = head_grid(trace, kind)
        assert tips(page) == [
            grid.strongest(layer, column)
            for layer in range(grid.layers)
            for column in range(len(grid.columns))
        ]
        page.locator("#overview #tile-1-2").click()
        expect(page.locator("#head")).to_have_text("layer 2 · head 3")
        head = head_map(trace, kind, layer=1, head=2)
        assert words(page, "query") == list(head.queries) and words(page, "key") == list(head.keys)
        assert np.abs(shown_weights(page) - head.weights).max() < 1e-5
        ticks = page.locator("#heatmap .xtick text").all_text_contents()
        assert ticks == list(head.keys), "repeated words stay apart, and the end mark is no tag"
    page.get_by_role("radio", name="decoder self-attention").check()
    weights = shown_weights(page)
    assert (weights[np.triu_indices(len(weights), 1)] == 0).all()
    page.locator("#overview #tile-0-4").click()
    expect(page.locator("#head")).to_have_text("layer 1 · mean over heads")
    assert np.abs(shown_weights(page) - head_map(trace, "decoder", layer=0, head="mean").weights).max() < 1e-5


def test_words_and_cells_answer_the_pointer(opened: OpenFile) -> None:
    trace = make_trace(REPEATED, "le chat a vu le chien")
    page = opened(trace)
    head = head_map(trace, "cross", layer=0, head=0)
    page.locator("#lines .word.query").nth(2).hover()
    numbers = page.locator("#lines .word.key .number").all_text_contents()
    assert numbers == [f"{weight:.2f}" for weight in head.weights[2]]
    page.locator("#lines .word.query").nth(2).click()
    assert page.locator("#heatmap").evaluate("(plot) => plot.layout.shapes.map((one) => one.y0)") == [1.5]
    box = page.locator("#heatmap .nsewdrag").bounding_box()
    assert box is not None
    rows, columns = head.weights.shape
    page.mouse.move(box["x"] + box["width"] * 3.5 / columns, box["y"] + box["height"] * 1.5 / rows)
    hover = page.locator("#heatmap .hoverlayer")
    expect(hover).to_contain_text(f"{head.queries[1]} → {head.keys[3]}")
    expect(hover).to_contain_text(f"weight {head.weights[1, 3]:.4f}")
    expect(hover).to_contain_text(f"rank {head.ranks[1, 3]} of {columns}")


def test_of_a_large_map_the_strongest_lines_are_drawn(opened: OpenFile) -> None:
    trace = make_trace(" ".join([REPEATED] * 9), "le chat", layers=(1, 1), heads=1)
    page = opened(trace, heatmap=False)
    page.get_by_role("radio", name="encoder self-attention").check()
    weights = np.sort(head_map(trace, "encoder", layer=0, head=0).weights.ravel())[::-1]
    assert weights.size > 4096
    held = np.count_nonzero(page_arrays(trace)["encoder"])
    page.locator("#lines input[type=range]").evaluate(
        "(slider) => { slider.value = '0'; slider.dispatchEvent(new Event('input')); "
        "slider.dispatchEvent(new Event('change')); }"
    )
    expect(page.locator("#lines line")).to_have_count(4096)
    expect(page.locator("#lines .behind")).to_contain_text(f"{held - 4096:,}")
    drawn = page.locator("#lines line").evaluate_all(
        "(all) => all.map((line) => line.getAttribute('stroke-width'))"
    )
    assert min(map(float, drawn)) == pytest.approx(0.75 + 3.25 * weights[4095], abs=0.006)
    page.locator("#overview #tile-0-0").hover(position={"x": 9, "y": 9})


def test_the_tree_replays_and_leads_to_the_attention_of_any_node(opened: OpenFile) -> None:
    trace = make_trace(target="le chat a vu le chien et le chat")
    page = opened(trace)
    steps = int(trace.search.step.max())
    expect(page.locator("#tree [data-part=count]")).to_have_text(f"step {steps} of {steps}")
    page.get_by_role("button", name="One step back").click()
    expect(page.locator("#tree [data-part=count]")).to_have_text(f"step {steps - 1} of {steps}")
    best, second = trace.hypotheses.tolist()[:2]
    assert path_of(page) == " ".join(trace.labels[node] for node in trace.ancestors(best)[1:])
    page.locator("td button").nth(1).click()
    assert path_of(page) == " ".join(trace.labels[node] for node in trace.ancestors(second)[1:])
    expect(page.locator("#tree [data-part=count]")).to_have_text(f"step {steps} of {steps}")
    pruned = next(
        node
        for node in range(len(trace.search))
        if trace.search.fate[node] == 2 and trace.search.step[node] == 3
    )
    page.locator(f"#tree [data-node='{pruned}']").first.click(force=True)
    expect(page.locator("#lines .word.query")).to_have_count(3)
    wanted = head_map(trace, "cross", layer=0, head=0, node=pruned)
    assert words(page, "query") == list(wanted.queries)
    assert np.abs(shown_weights(page) - wanted.weights).max() < 1e-5
    page.locator("#tree [data-node='0']").first.click(force=True)
    expect(page.locator("#nothing")).to_contain_text("Nothing has been generated here yet")
    page.locator("td button").first.click()
    expect(page.locator("#nothing")).to_be_hidden()
    assert path_of(page) == " ".join(trace.labels[node] for node in trace.ancestors(best)[1:])


def test_rows_that_were_not_kept_are_said_to_be_missing(opened: OpenFile) -> None:
    trace = make_trace(target="le chat a vu le chien").with_n_best_rows_only()
    page = opened(trace, heatmap=False)
    expect(page.locator("#lines .word.query")).to_have_count(len(trace.path().outputs))
    lost = next(
        node
        for node in range(len(trace.search))
        if node and (trace.search.expanded[trace.ancestors(node)[:-1]] < 0).any()
    )
    page.locator(f"#tree [data-node='{lost}']").first.click(force=True)
    expect(page.locator("#nothing")).to_have_text("The attention of this node was not kept in the trace.")


@pytest.mark.case("T3")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_hostile_words_are_words(opened: OpenFile, dark: bool) -> None:
    trace = make_trace(HOSTILE, HOSTILE)
    page = opened(trace, dark=dark)
    assert page.locator("h1").inner_text() == trace.source
    head = head_map(trace, "cross", layer=0, head=0)
    assert words(page, "query") == list(head.queries) and words(page, "key") == list(head.keys)
    assert path_of(page) == " ".join(head.queries)
    assert page.locator("img, b, s, a, iframe").count() == 0
    ticks = page.locator("#heatmap .xtick text, #heatmap .xaxislayer-above text").all_text_contents()
    assert "</" in " ".join(ticks) and page.locator("#heatmap a").count() == 0
    place = next(index for index, label in enumerate(head.keys) if "<" in label)
    box = page.locator("#heatmap .nsewdrag").bounding_box()
    assert box is not None
    rows, columns = head.weights.shape
    page.mouse.move(box["x"] + box["width"] * (place + 0.5) / columns, box["y"] + box["height"] * 0.5 / rows)
    expect(page.locator("#heatmap .hoverlayer")).to_contain_text(head.keys[place])
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", colour)[:3])) < 150) is dark
