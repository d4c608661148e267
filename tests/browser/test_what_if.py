"""The What if page in a browser: the switches by mouse and by keyboard, the readings."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Visitor

QUERY = {"text": "The cat saw the dog.", "limit": "6", "beam": "2"}


def switch(page: Page, name: str) -> Locator:
    """The one switch whose name begins so; a copy that a run is about to take away has gone."""
    found = page.get_by_role("button", name=re.compile(f"^{name}"))
    expect(found).to_have_count(1)
    return found


def test_heads_are_switched_by_mouse(visitor: Visitor) -> None:
    page = visitor("what_if", **QUERY).page
    head = switch(page, "cross-attention, layer 2, head 3")
    expect(head).to_have_text("3")
    head.click()
    page.wait_for_url(re.compile(r"[?&]heads=c2\.3%3A0(&|$)"))
    expect(switch(page, "cross-attention, layer 2, head 3: off")).to_have_text("0")
    expect(page.get_by_text("Changed: cross 2.3 off")).to_be_visible()
    expect(page.get_by_role("heading", name="The changed search")).to_be_visible()
    switch(page, "encoder self-attention, layer 1: all heads").click()
    page.wait_for_url(re.compile(r"[?&]heads=e1\.1%3A0%2Ce1\.2%3A0%2Ce1\.3%3A0%2Ce1\.4%3A0%2Cc2\.3%3A0(&|$)"))
    expect(page.locator(".js-plotly-plot")).to_have_count(4)
    page.get_by_role("button", name="Reset").click()
    page.wait_for_url(re.compile(r"[?&]heads=(&|$)"))
    expect(page.get_by_text("Nothing is changed yet.")).to_be_visible()


def tab_to(page: Page, script: str) -> None:
    """Press Tab until the element that has the focus answers the script with true."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate(script):
            return
    raise AssertionError(f"Tab never reached {script}")


FOCUS = """() => {
    let now = document.activeElement
    while (now.shadowRoot && now.shadowRoot.activeElement) now = now.shadowRoot.activeElement
    return (now.getAttribute('aria-label') || now.innerText || '').startsWith("%s")
}"""


def test_a_walk_by_keyboard_alone(visitor: Visitor) -> None:
    page = visitor("what_if", **QUERY).page
    expect(switch(page, "encoder self-attention, layer 1, head 1")).to_be_visible()
    tab_to(page, FOCUS % "encoder self-attention, layer 1, head 1")
    for key in ("ArrowDown", "ArrowRight", "Space"):
        page.keyboard.press(key)
    page.wait_for_url(re.compile(r"[?&]heads=e2\.2%3A0(&|$)"))
    expect(switch(page, "encoder self-attention, layer 2, head 2: off")).to_be_focused()
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"[?&]heads=e2\.1%3A0%2Ce2\.2%3A0%2Ce2\.3%3A0%2Ce2\.4%3A0(&|$)"))
    expect(page.get_by_role("heading", name="One head, before and after")).to_be_visible()


def test_readings_of_a_token_in_the_dark(visitor: Visitor) -> None:
    visit = visitor("what_if", whatif="explanation", dark=True, **QUERY)
    page = visit.page
    expect(page.locator(".js-plotly-plot")).to_have_count(3)
    page.get_by_role("radio", name=re.compile("^3 ")).click()
    page.wait_for_url(re.compile(r"[?&]word=3(&|$)"))
    expect(page.locator(".atlas-verdict")).to_contain_text("first")
    visit.wait()
    inks = page.locator(".js-plotly-plot .xtick text").evaluate_all(
        "all => all.map(e => getComputedStyle(e).fill)"
    )
    assert inks and all(min(map(int, re.findall(r"\d+", ink)[:3])) > 150 for ink in inks)
