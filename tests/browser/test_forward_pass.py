"""The Forward pass page in a browser: a walk by keyboard alone, the overview that is clicked, dark."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import Visitor

QUERY = {"text": "The cat saw the dog.", "beam": "2", "limit": "8"}


def rests(page: Page, name: str, value: str) -> None:
    """The address comes to say ``name=value``."""
    page.wait_for_url(re.compile(rf"[?&]{name}={value}(&|$)"))


def press(page: Page, key: str, stage: int) -> None:
    """Press a key that leads to a stage; the stepper shows it at once, then the address."""
    page.keyboard.press(key)
    expect(page.locator(f'.stepper[data-step="{stage - 1}"]').first).to_be_visible()
    rests(page, "stage", str(stage))


def test_a_walk_by_keyboard_alone(visitor: Visitor) -> None:
    visitor("forward_pass", **QUERY)  # a cold server draws its first page more than once
    visit = visitor("forward_pass", **QUERY)
    page = visit.page
    expect(page.get_by_text("20 characters (Unicode, NFC)", exact=False)).to_be_visible()
    press(page, "ArrowRight", 2)
    press(page, "PageDown", 3)
    expect(page.get_by_text("of whole numbers", exact=False)).to_be_visible()
    visit.wait()
    for stage in (4, 5, 6):
        press(page, "ArrowRight", stage)
        visit.wait()
    expect(page.get_by_text("Encoder 1 · self-attention").first).to_be_visible()
    expect(page.get_by_text("This model is pre-norm: LayerNorm → attention → add.")).to_be_visible()
    press(page, "ArrowLeft", 5)
    visit.wait()
    button = page.get_by_role("button", name="Next token", exact=True)
    button.focus()
    page.keyboard.press("Enter")
    rests(page, "path", r"\d+")
    visit.wait()
    rests(page, "stage", "5")
    page.get_by_role("button", name="Back", exact=True).focus()
    page.keyboard.press("Enter")
    rests(page, "path", "")


def test_a_point_of_the_overview_leads_to_its_stage(visitor: Visitor) -> None:
    visit = visitor("forward_pass", **QUERY, stage="6")
    page = visit.page
    points = page.locator(".js-plotly-plot").last.locator(".scatterlayer .trace").first.locator(".point")
    for place, stage in ((4, "8"), (0, "4"), (4, "8")):
        page.locator(".js-plotly-plot").last.scroll_into_view_if_needed()
        points.nth(place).click(force=True)
        rests(page, "stage", stage)
        visit.wait()
    expect(page.get_by_text("Encoder 2 · self-attention").first).to_be_visible()


def test_dark_and_narrow(visitor: Visitor) -> None:
    visit = visitor("forward_pass", **QUERY, stage="21", dark=True, top_k="5")
    page = visit.page
    inks = page.locator(".js-plotly-plot .ytick text").evaluate_all(
        "all => all.map(e => getComputedStyle(e).fill)"
    )
    assert inks
    for ink in inks:
        assert min(map(int, re.findall(r"\d+", ink)[:3])) > 150, ink
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
