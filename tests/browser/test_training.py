"""The Training page in a browser: a walk by keyboard alone, play, every part in the dark theme."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from atlas.text.tokenizer import Tokenizer
from tests.browser.conftest import Serve, Visitor
from tests.browser.drive import Visit
from tests.grown import save_grown

SMALL = {"text": "The cat saw the dog.", "beam": "1", "limit": "8"}


@pytest.fixture(scope="module")
def grown(serve: Serve, tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a server on one bundle with snapshots."""
    return serve(save_grown(tmp_path_factory.mktemp("browser") / "grown", tokenizer))


def tab_to(page: Page, wanted: Locator) -> None:
    """Press Tab until something has the focus, as someone without a mouse would."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if wanted.evaluate("element => element.matches(':focus')"):
            return
    raise AssertionError(f"the keyboard does not reach {wanted}")


def label(page: Page) -> Locator:
    """Where the stepper says which moment is shown."""
    return page.locator(".stepper [data-part=label]")


def look(visitor: Visitor, at: str, *, dark: bool = False, **query: str) -> Visit:
    visit = visitor("training", at=at, dark=dark, **SMALL, **query)
    expect(visit.page.get_by_role("heading", name="Training", exact=True)).to_be_visible()
    return visit


def test_a_walk_by_keyboard_alone(visitor: Visitor, grown: str) -> None:
    visit = look(visitor, grown)
    page = visit.page
    slider = page.get_by_role("slider", name="p(A)")
    tab_to(page, slider)
    page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile(r"[?&]p=49\.24\.16\.8\.4(&|$)"))
    visit.wait()
    page.get_by_role("radio", name="Dropout").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    page.wait_for_url(re.compile(r"[?&]part=forming(&|$)"))
    expect(label(page)).to_have_text("final: update 40")
    visit.wait()
    tab_to(page, page.get_by_role("button", name="Play", exact=True))
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(re.compile(r"[?&]update=20(&|$)"))
    expect(label(page)).to_have_text("update 20")
    page.keyboard.press("PageUp")
    page.wait_for_url(re.compile(r"[?&]update=3(&|$)"))
    visit.wait()
    tab_to(page, page.locator(".mosaic .board"))
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("heading", name="layer 2 · head 2")).to_be_visible()
    expect(label(page)).to_have_text("update 3")


def test_play_ends_at_the_final_model(visitor: Visitor, grown: str) -> None:
    page = look(visitor, grown, part="forming").page
    page.get_by_role("button", name="Play", exact=True).click()
    page.wait_for_url(re.compile(r"[?&]update=3(&|$)"))
    page.wait_for_url(re.compile(r"[?&]update=0(&|$)"))
    expect(label(page)).to_have_text("final: update 40")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()


@pytest.mark.parametrize(("part", "pictures"), [("curves", 1), ("pair", 1), ("smoothing", 2), ("dropout", 3)])
def test_every_part_opens_in_the_dark(visitor: Visitor, grown: str, part: str, pictures: int) -> None:
    visit = look(visitor, grown, dark=True, part=part, passes="2")
    page = visit.page
    expect(page.locator(".js-plotly-plot")).to_have_count(pictures)
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
