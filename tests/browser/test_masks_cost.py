"""Masks & cost in a browser: a deep link, a walk by keyboard alone, a measurement that is stopped."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import Visitor

TEXT = "The cat saw the dog."


def tab_to(page: Page, label: str) -> None:
    """Press Tab until what has the focus is a control of this name, or lies in a group of that name."""
    script = """label => {
        const now = document.activeElement
        return !!now.closest(`[aria-label="${label}"]`) || now.innerText === label
    }"""
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate(script, label):
            return
    raise AssertionError(f"Tab never reached {label!r}")


def test_a_deep_link_to_the_cache_is_the_first_page(visitor: Visitor) -> None:
    visit = visitor(
        "masks_cost", text=TEXT, beam="1", limit="9", cost="cache", cache_prompt="2", cache_step="3"
    )
    page = visit.page
    expect(page.get_by_role("heading", name="Masks & cost", exact=True)).to_be_visible()
    expect(page.locator(".js-plotly-plot")).to_have_count(2)
    expect(page.get_by_text("5 tokens so far · 5 × 2 × 2 layers = 20 vectors of 128 numbers")).to_be_visible()


def test_the_page_by_keyboard_alone(visitor: Visitor) -> None:
    visit = visitor("masks_cost", text=TEXT, beam="1", limit="9", cache_prompt="2")
    page = visit.page
    expect(page.get_by_text("What is added to the scores")).to_be_visible()
    tab_to(page, "The mask")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    page.wait_for_url(re.compile(r"[?&]cost=without(&|$)"))
    expect(page.get_by_text("No bundle here carries the measurement")).to_be_visible()
    visit.wait()
    tab_to(page, "Trained without it")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    page.wait_for_url(re.compile(r"[?&]cost=cache(&|$)"))
    expect(page.get_by_text("Which keys and values are computed in each pass")).to_be_visible()
    expect(page.get_by_text(re.compile(r"^2 tokens so far")).first).to_be_visible()
    visit.wait()
    page.keyboard.press("PageDown")
    page.keyboard.press("PageDown")
    page.wait_for_url(re.compile(r"[?&]cache_step=2(&|$)"))
    expect(page.get_by_text(re.compile(r"^9 tokens so far"))).to_be_visible()  # 2 + 3 + 4, without a cache
    page.keyboard.press("PageUp")
    page.wait_for_url(re.compile(r"[?&]cache_step=1(&|$)"))
    visit.wait()


def test_a_measurement_can_be_started_and_stopped(visitor: Visitor) -> None:
    visit = visitor(
        "masks_cost", text=TEXT, beam="1", limit="9", cost="time", time_length="512", time_rounds="5"
    )
    page = visit.page
    page.get_by_role("button", name="Measure on this machine").click()
    expect(page.get_by_text(re.compile(r"[1-9]\d*% measured"))).to_be_visible()
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.get_by_role("button", name="Measure again")).to_be_visible()
    expect(page.get_by_text(re.compile(r"^Stopped after [\d,]+ steps"))).to_be_visible()
    visit.wait()


def test_dark_and_narrow_enough(visitor: Visitor) -> None:
    visit = visitor("masks_cost", dark=True, text=TEXT, beam="1", limit="9", cost="memory", kv_preset="GPT-3")
    page = visit.page
    expect(page.get_by_test_id("stMetricValue").first).to_have_text("9.00 GiB")
    inks = page.locator(".js-plotly-plot .ytick text").evaluate_all(
        "all => all.map(e => getComputedStyle(e).fill)"
    )
    assert inks and all(min(map(int, re.findall(r"\d+", ink)[:3])) > 150 for ink in inks)
    main = page.get_by_test_id("stMain")
    assert main.evaluate("e => e.scrollWidth <= e.clientWidth")
