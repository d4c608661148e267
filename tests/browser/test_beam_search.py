"""The tree of a search in a real browser: replay, hover, clicks, keys, size, themes."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Visitor
from tests.browser.drive import Visit
from tests.traces import HTML_LIKE

TEXT = "She was too tired to cross the street."
SMALL = {"text": TEXT, "beam": "3", "limit": "10"}
FRAME_BUDGET_MS = 100
"""What one frame of the replay may take on a busy shared core; alone it is 3."""


def opened(visitor: Visitor, *, dark: bool = False, **query: str) -> Visit:
    """A visit of the page whose tree is drawn."""
    visit = visitor("beam_search", dark=dark, **(query or SMALL))
    visit.page.locator(".tree[data-step]").wait_for()
    return visit


def address_says(page: Page, name: str, value: str) -> None:
    """Wait until the address holds the value."""
    expect(page).to_have_url(re.compile(rf"[?&]{name}={re.escape(value)}(&|$)"))


def query(page: Page) -> dict[str, str]:
    return {
        name: values[0] for name, values in parse_qs(urlparse(page.url).query, keep_blank_values=True).items()
    }


def part(page: Page, name: str) -> Locator:
    return page.locator(f'[data-part="{name}"]')


def shown_nodes(page: Page) -> int:
    return page.locator(".node:not(.later)").count()


def run_in_tree(page: Page, script: str) -> Any:
    """Evaluate a function of the component's view."""
    return page.locator(".tree").evaluate(f"(root) => ({script})(root.atlasView)")


def test_the_replay_runs_without_a_word_to_the_server(visitor: Visitor) -> None:
    visit = opened(visitor)
    page = visit.page
    everything = shown_nodes(page)
    before = visit.sent
    part(page, "play").click()
    page.wait_for_timeout(1500)
    playing = shown_nodes(page)
    assert 1 < playing < everything
    assert visit.sent == before
    part(page, "play").click()
    step = part(page, "count").inner_text().split()[1]
    assert int(step) < 10
    address_says(page, "step", step)
    assert visit.sent > before


def test_the_slider_and_the_buttons_move_the_step_and_the_address_follows(visitor: Visitor) -> None:
    visit = opened(visitor)
    page = visit.page
    part(page, "slider").fill("4")
    assert part(page, "count").inner_text() == "step 4 of 10"
    part(page, "back").click()
    part(page, "back").click()
    assert part(page, "count").inner_text() == "step 2 of 10"
    address_says(page, "step", "2")
    assert part(page, "caption").inner_text().startswith("step 2:")


def test_a_link_shows_the_same_node_and_step(visitor: Visitor) -> None:
    visit = opened(visitor)
    page = visit.page
    part(page, "slider").fill("5")
    address_says(page, "step", "5")
    page.locator(".node.pruned:not(.later)").last.click()
    chosen = run_in_tree(page, "view => view.path()")
    address_says(page, "node", ".".join(map(str, chosen)))
    address = query(page)
    again = opened(visitor, **address).page
    assert part(again, "count").inner_text() == "step 5 of 10"
    assert run_in_tree(again, "view => view.node") == run_in_tree(page, "view => view.node")


def test_hover_tells_why_a_branch_died_and_asks_no_server(visitor: Visitor) -> None:
    visit = opened(visitor)
    page = visit.page
    before = visit.sent
    page.locator(".node.pruned").nth(5).hover()
    tip = part(page, "tip")
    tip.wait_for(state="visible")
    said = tip.inner_text()
    assert "log-probability −" in said
    assert "running total −" in said
    assert "normalised score −" in said
    assert "pruned: rank" in said
    assert "the beam kept" in said
    assert visit.sent == before


def test_a_click_on_a_pruned_node_shows_it_and_asks_the_model_when_told(visitor: Visitor) -> None:
    visit = opened(visitor)
    page = visit.page
    page.locator(".node.pruned").nth(4).click()
    expect(page.get_by_text("pruned: rank").last).to_be_visible()
    expect(page.locator(".js-plotly-plot")).to_have_count(2)
    page.get_by_text("What comes next", exact=True).click()
    expect(page.get_by_text("The search never read this candidate")).to_be_visible()
    page.get_by_role("button", name="Ask the model").click()
    expect(page.locator(".js-plotly-plot .bars .point")).to_have_count(10)


def test_the_search_goes_on_from_a_node_and_back(visitor: Visitor) -> None:
    visit = opened(visitor)
    page = visit.page
    whole = run_in_tree(page, "view => view.tree.identity")
    page.locator(".node.pruned").nth(4).click()
    visit.wait()
    page.get_by_role("button", name="Go on from here").click()
    page.get_by_role("button", name="Back to the free search").wait_for()
    visit.wait()
    assert query(page)["from"]
    assert run_in_tree(page, "view => view.tree.hover[1]").split("\n")[-1].startswith("forced:")
    page.get_by_role("button", name="Back to the free search").click()
    visit.wait()
    assert run_in_tree(page, "view => view.tree.identity") == whole


def test_a_hypothesis_of_the_list_is_marked_after_a_replay(visitor: Visitor) -> None:
    page = opened(visitor).page
    start = run_in_tree(page, "view => view.node")
    part(page, "back").click()
    part(page, "next").click()
    page.wait_for_timeout(1000)
    page.get_by_role("button", name="2", exact=True).click()
    page.wait_for_function(
        "() => [...document.querySelectorAll('[data-testid=stBidiComponentIsolated]')]"
        ".map((component) => component.shadowRoot?.querySelector('.tree'))"
        f".find(Boolean)?.atlasView.node !== {start}"
    )
    best = run_in_tree(page, "view => view.tree.hover[view.node]")
    assert "hypothesis 2 of" in best


def test_the_tree_can_be_walked_with_the_keyboard(visitor: Visitor) -> None:
    visit = opened(visitor)
    page = visit.page
    end = run_in_tree(page, "view => view.node")
    page.locator(".tree svg").focus()
    page.keyboard.press("ArrowLeft")
    parent = run_in_tree(page, "view => view.hovered")
    assert parent == run_in_tree(page, f"view => view.tree.parent[{end}]")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert run_in_tree(page, "view => view.node") not in (end, parent)
    chosen = run_in_tree(page, "view => view.path()")
    assert len(chosen) == run_in_tree(page, f"view => view.tree.column[{parent}]")
    address_says(page, "node", ".".join(map(str, chosen)))


def test_the_best_tokens_can_be_read_on_their_nodes(visitor: Visitor) -> None:
    page = opened(visitor).page
    names = page.locator(".name.winner")
    assert names.count() == len(run_in_tree(page, "view => view.tree.best"))
    tops = run_in_tree(
        page,
        "view => [...view.svg.querySelectorAll('.name.winner')].map(e => e.getBoundingClientRect().top"
        " - view.svg.getBoundingClientRect().top)",
    )
    assert min(tops) >= -1, "a name is cut off at the top"


@pytest.mark.parametrize("dark", [False, True])
def test_nothing_scrolls_sideways_and_text_is_readable(visitor: Visitor, dark: bool) -> None:
    page = opened(visitor, dark=dark).page
    wide = page.evaluate(
        "() => [...document.querySelectorAll('*')].filter(e => e.scrollWidth > e.clientWidth + 2 &&"
        " ['auto', 'scroll'].includes(getComputedStyle(e).overflowX)).map(e => e.outerHTML.slice(0, 120))"
    )
    assert wide == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 1366
    ink = page.locator(".name.winner").first.evaluate("e => getComputedStyle(e).fill")
    level = sum(int(value) for value in ink[4:-1].split(",")[:3])
    assert level > 600 if dark else level < 200


def test_six_hundred_nodes_replay_smoothly(visitor: Visitor) -> None:
    page = opened(visitor, text=TEXT, beam="10", limit="40").page
    nodes = page.locator(".node").count()
    assert nodes > 500
    frames = run_in_tree(
        page,
        "view => { const took = []; for (let step = 0; step <= view.tree.steps; step++) {"
        " const start = performance.now(); view.show(step); document.body.offsetHeight;"
        " took.push(performance.now() - start); } return took; }",
    )
    median = sorted(frames)[len(frames) // 2]
    assert median < FRAME_BUDGET_MS, f"{nodes} nodes: {json.dumps(frames)}"


@pytest.mark.case("T3")
def test_html_like_text_is_shown_literally(visitor: Visitor) -> None:
    page = opened(visitor, **(SMALL | {"text": HTML_LIKE})).page
    assert page.locator("img[src='x']").count() == 0
    assert run_in_tree(page, "view => view.root.querySelectorAll('img, script, b').length") == 0
    labels = run_in_tree(page, "view => [...view.svg.querySelectorAll('.name')].map(e => e.textContent)")
    assert "<s>" in labels


@pytest.mark.case("U4")
def test_the_first_visit_may_be_this_page(visitor: Visitor) -> None:
    visit = visitor("beam_search")
    expect(visit.page.locator(".tree svg")).to_have_attribute("aria-label", re.compile("^Search tree:"))
    assert part(visit.page, "count").inner_text().startswith("step ")
