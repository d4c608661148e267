"""The Positions page in a browser: the first visit to a deep link, the lab, the address."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage, Serve

QUERY = "text=The+cat+saw+the+dog+and+the+cat.&limit=8&beam=2&dims=0.7&shift=9"


@pytest.fixture(scope="module")
def address(serve: Serve, tiny_bundle: Path) -> str:
    return serve(tiny_bundle.parent)


def number(page: Page, label: str) -> float:
    """The value of a metric."""
    metric = page.get_by_test_id("stMetric").filter(has_text=label)
    return float(metric.get_by_test_id("stMetricValue").inner_text())


def test_the_first_visit_is_a_deep_link(address: str, visit: OpenPage) -> None:
    page = visit(f"{address}/positions?{QUERY}")
    expect(page.get_by_role("heading", name="Positions", exact=True)).to_be_visible()
    expect(page.locator(".js-plotly-plot")).to_have_count(6)
    expect(page.locator(".js-plotly-plot").first.locator(".legendtext")).to_have_text(
        ["dimension 0", "dimension 7"]
    )
    assert number(page, "PE(pos + 9)") < 1e-5
    expect(page.get_by_test_id("stException")).to_have_count(0)


def test_shuffling_and_shifting_stay_in_the_address(address: str, visit: OpenPage) -> None:
    page = visit(f"{address}/positions?{QUERY}&part=lab")
    expect(page.get_by_text("Lab: change the encoding")).to_be_visible()
    assert number(page, "Without positions") < 1e-4 < number(page, "With positions")
    page.get_by_role("button", name="Shuffle again").click()
    page.wait_for_url(re.compile(r"[?&]shuffle=2(&|$)"))
    page.get_by_role("radio", name="positions moved along").click()
    page.wait_for_url(re.compile(r"[?&]encoding=shift(&|$)"))
    expect(page.get_by_text(re.compile(r"^Changed: positions 100 to 1\d\d \(score"))).to_be_visible()
    shuffled = page.get_by_text("Shuffled", exact=True).locator("xpath=following-sibling::*").inner_text()
    again = visit(page.url)
    expect(again.get_by_text(re.compile(r"^Changed: positions 100 to"))).to_be_visible()
    told = again.get_by_text("Shuffled", exact=True).locator("xpath=following-sibling::*")
    expect(told).to_have_text(shuffled)


def tab_to(page: Page, name: str) -> None:
    """Press Tab until what has the focus is called ``name``, or is inside a radio group of that name."""
    script = """name => {
        const now = document.activeElement
        const named = now.closest(`[aria-label="${name}"]`)
        return !!named || now.innerText === name
    }"""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate(script, name):
            return
    raise AssertionError(f"Tab never reached {name!r}")


def test_a_walk_by_keyboard_alone(address: str, visit: OpenPage) -> None:
    page = visit(f"{address}/positions?{QUERY}")
    expect(page.locator(".js-plotly-plot")).to_have_count(6)
    tab_to(page, "The encoding")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    page.wait_for_url(re.compile(r"[?&]part=distinct(&|$)"))
    expect(page.get_by_text("499,500 pairs")).to_be_visible()
    tab_to(page, "Positions compared")
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(re.compile(r"[?&]upto=500(&|$)"))
    expect(page.get_by_text("124,750 pairs")).to_be_visible()
    tab_to(page, "Width D of the formula")
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(re.compile(r"[?&]cells=64(&|$)"))
    expect(page.get_by_text("It holds: no two of these positions")).to_be_visible()
    expect(page.get_by_test_id("stException")).to_have_count(0)


def test_dark(address: str, visit: OpenPage) -> None:
    page = visit(f"{address}/positions?{QUERY}", dark=True)
    expect(page.locator(".js-plotly-plot")).to_have_count(6)
    inks = page.locator(".js-plotly-plot .legendtext").evaluate_all(
        "all => all.map(e => getComputedStyle(e).fill)"
    )
    assert inks
    for ink in inks:
        assert min(map(int, re.findall(r"\d+", ink)[:3])) > 150, ink
