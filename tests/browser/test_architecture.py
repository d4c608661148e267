"""The drawing of the architecture in a real browser: by mouse, by keyboard alone, narrow and dark."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlparse

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Visitor

TEXT = "The cat saw the dog."
QUERY = {"text": TEXT, "beam": "1", "limit": "8"}


def box(page: Page, name: str) -> Locator:
    return page.locator(f'.box[data-name="{name}"]')


def panel(page: Page) -> Locator:
    return page.locator('.architecture [data-part="panel"]')


def focused(page: Page) -> str:
    """The name of the box that has the focus, inside the component's shadow."""
    return page.evaluate(
        """() => {
          let at = document.activeElement;
          while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
          return at?.dataset?.name ?? "";
        }"""
    )


def query(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlparse(page.url).query)


def test_hovering_tells_every_weight_and_asks_no_server(visitor: Visitor) -> None:
    visit = visitor("architecture", **QUERY)
    page = visit.page
    expect(panel(page)).to_contain_text("2 encoder + 2 decoder layers")
    before = visit.sent
    box(page, "encoder.0.feed_forward").hover()
    expect(panel(page)).to_contain_text("inner.weight")
    rows = panel(page).locator("tr").all_inner_texts()
    assert [row.split("\t") for row in rows] == [
        ["inner.weight", "256 × 128", "32,768"],
        ["inner.bias", "256", "256"],
        ["outer.weight", "128 × 256", "32,768"],
        ["outer.bias", "128", "128"],
        ["total", "", "65,920"],
    ]
    assert visit.sent == before


def test_a_walk_by_keyboard_opens_a_layer_and_then_a_page(visitor: Visitor) -> None:
    visit = visitor("architecture", **QUERY)
    page = visit.page
    box(page, "source_embedding").focus()
    walked = []
    while not walked or walked[-1] != "encoder.1":
        walked.append(focused(page))
        page.keyboard.press("Tab")
        assert len(walked) < 20, walked
        if focused(page) == "encoder.1":
            walked.append("encoder.1")
    assert walked[0] == "source_embedding" and "encoder.0.self_attention" in walked
    expect(panel(page)).to_contain_text("Opens this layer in the drawing")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"[?&]layer=2(&|$)"))
    expect(box(page, "encoder.1.self_attention")).to_be_visible()
    expect(box(page, "encoder.0")).to_be_visible()
    page.wait_for_function("() => document.activeElement?.shadowRoot?.activeElement?.dataset?.name")
    assert focused(page).startswith("encoder.1.")
    box(page, "decoder.1.cross_attention").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Query · Key · Value", exact=True)).to_be_visible()
    visit.wait()
    assert query(page)["kind"] == ["cross"] and query(page)["layer"] == ["2"]
    assert query(page)["text"] == [TEXT]


def test_a_click_on_the_feed_forward_network_opens_its_stage(visitor: Visitor) -> None:
    visit = visitor("architecture", **QUERY)
    box(visit.page, "decoder.0.feed_forward").click()
    expect(visit.page.get_by_role("heading", name="Forward pass", exact=True)).to_be_visible()
    visit.wait()
    assert int(query(visit.page)["stage"][0]) > 0


def test_dark_and_nothing_scrolls_sideways(visitor: Visitor) -> None:
    visit = visitor("architecture", dark=True, depth="2", **QUERY)
    page = visit.page
    ink = box(page, "output").locator(".title").evaluate("e => getComputedStyle(e).fill")
    assert min(map(int, re.findall(r"\d+", ink)[:3])) > 150, ink
    headings = {
        "The loaded model": "Where the parameters are",
        "Any size": "Checked against published models",
        "Experts": "Experts: many parameters, few of them used",
        "Deep stacks": "Deep stacks: where the norm stands decides",
    }
    for part, heading in headings.items():
        page.get_by_role("radio", name=part, exact=True).click()
        expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
        visit.wait()
        root = "document.documentElement"
        assert page.evaluate(f"() => {root}.scrollWidth - {root}.clientWidth") <= 0, part
