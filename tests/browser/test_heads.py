"""The Heads page in a browser: a head chosen by keyboard and by mouse, a sentence opened in Attention."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from atlas.analysis.heads import own
from atlas.analysis.heads.accumulate import gather
from atlas.analysis.heads.record import NAME, HeadAtlas, typical
from atlas.analysis.heads.sample import sample_of
from atlas.engine import Engine
from atlas.measurements import load_measurement
from tests.browser.conftest import Serve, Visitor
from tests.heads_sample import measured_copy

QUERY = {"text": "The cat saw the dog.", "limit": "8", "beam": "2"}


@pytest.fixture(scope="module")
def measured(tiny_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return measured_copy(tiny_bundle, tmp_path_factory.mktemp("measured"))


@pytest.fixture(scope="module")
def address(serve: Serve, measured: Path) -> str:
    return serve(measured.parent)


def tab_to(page: Page, name: str) -> None:
    """Press Tab until an input whose label holds ``name`` has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("() => document.activeElement.getAttribute('aria-label') || ''").find(name) >= 0:
            return
    raise AssertionError(f"Tab never reached {name}")


def test_a_head_is_chosen_by_keyboard_and_by_mouse(address: str, visitor: Visitor) -> None:
    visit = visitor("heads", at=address, **QUERY)
    page = visit.page
    expect(page.get_by_role("heading", name="Encoder 1.1")).to_be_visible()
    for name in ("Layer", "Head"):
        tab_to(page, name)
        page.keyboard.type("2")
        expect(page.get_by_role("option", name="2", exact=True)).to_be_visible()
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile(rf"[?&]{name.lower()}=2(&|$)"))
        visit.wait()
    expect(page.get_by_role("heading", name="Encoder 2.2")).to_be_visible()
    table = page.locator(".js-plotly-plot").first.locator(".nsewdrag").first
    box = table.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] * 0.875, box["y"] + box["height"] * 0.25)
    expect(page.get_by_role("heading", name="Encoder 1.4")).to_be_visible()


def test_one_click_opens_the_head_on_its_sentence(address: str, visitor: Visitor, measured: Path) -> None:
    kept = load_measurement(measured, NAME)
    assert kept is not None
    heads = HeadAtlas.from_measurement(kept)
    engine = Engine.load(measured, "cpu")
    sample = sample_of(engine.tokenizer, "our own", own.PAIRS)
    found = gather(engine.model, engine.tokenizer, sample)["cross"]
    best = typical(found, sample, heads.rule("cross", 1, 2), 1, 2)[0]
    source = sample.pairs[best].source
    visit = visitor("heads", at=address, kind="cross", layer="2", head="3", dark=True, **QUERY)
    page = visit.page
    page.locator("[class*=st-key-heads-typical] button").first.click()
    expect(page.get_by_role("heading", name="Attention", exact=True)).to_be_visible()
    expect(page.get_by_role("heading", name="layer 2 · head 3")).to_be_visible()
    expect(page.get_by_label("Sentence", exact=False).first).to_have_value(source)
    page.wait_for_url(re.compile(r"[?&]kind=cross&layer=2&head=3(&|$)"))
