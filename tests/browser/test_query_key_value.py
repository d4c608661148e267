"""Query · Key · Value and its stepper in a browser: by keyboard alone, a clicker, and who keeps a key."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import Visitor

VIEW = {"text": "The animal didn't cross the street.", "limit": "8", "beam": "2", "queries": "50"}
PATH = "query_key_value"


def at(page: Page, step: int) -> None:
    """The walk stands at a step, here and in the address."""
    expect(page.get_by_text(f"{step} of 8", exact=True)).to_be_visible()
    page.wait_for_url(re.compile(rf"[?&]stage={step}(&|$)"))


def formula(page: Page) -> str:
    return str(page.locator(".katex-display annotation").first.text_content())


def test_a_walk_by_keyboard_alone(visitor: Visitor) -> None:
    visit = visitor(PATH, **VIEW)
    page = visit.page
    at(page, 1)
    seen = [formula(page)]
    for step in range(2, 9):
        page.keyboard.press("ArrowRight")
        at(page, step)
        visit.wait()
        seen.append(formula(page))
    assert len(set(seen)) == 8
    expect(page.get_by_role("button", name="Next step")).to_be_disabled()
    page.keyboard.press("PageUp")
    at(page, 7)
    page.keyboard.press("ArrowLeft")
    at(page, 6)
    page.keyboard.press("PageDown")
    at(page, 7)


def test_a_key_that_someone_uses_is_left_alone(visitor: Visitor) -> None:
    visit = visitor(PATH, stage="3", **VIEW)
    page = visit.page
    at(page, 3)
    page.get_by_placeholder("An English sentence").focus()
    for key in ("ArrowRight", "PageDown", "ArrowLeft"):
        page.keyboard.press(key)
    page.get_by_role("radio", name="Decoder self").focus()
    page.keyboard.press("Control+PageDown")
    page.wait_for_timeout(500)
    at(page, 3)
    page.get_by_role("slider", name="Step").focus()
    page.keyboard.press("ArrowRight")
    at(page, 4)
    page.keyboard.press("PageDown")
    at(page, 5)


def test_steps_pressed_in_a_hurry_are_one_message(visitor: Visitor) -> None:
    visit = visitor(PATH, **VIEW)
    page = visit.page
    at(page, 1)
    before = visit.sent
    for _ in range(5):
        page.keyboard.press("PageDown")
    at(page, 6)
    visit.wait()
    assert visit.sent - before <= 3
    page.reload()
    visit.wait()
    at(page, 6)
    page.get_by_role("button", name="Previous step").click()
    at(page, 5)


def test_dark(visitor: Visitor) -> None:
    page = visitor(PATH, dark=True, stage="6", kind="decoder", **VIEW).page
    shown = page.locator(".js-plotly-plot").first
    expect(shown).to_be_visible()
    inks = shown.locator(".ytick text").evaluate_all("all => all.map(e => getComputedStyle(e).fill)")
    assert inks
    for ink in inks:
        assert min(map(int, re.findall(r"\d+", ink)[:3])) > 150, ink
    page.get_by_text("The maths").click()
    expect(page.get_by_text("Softmax's Jacobian.", exact=True)).to_be_visible()
    expect(page.locator(".katex-error")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
