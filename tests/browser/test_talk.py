"""Talk mode in a browser: a tour by clicker, keys that others use, the lens, full screen, sizes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from atlas.ui.navigation import PAGES
from tests.browser.conftest import Serve, Visitor
from tests.browser.drive import ROOT

SENTENCE = "The cat saw the dog."
STOPS = 13
ACROSS = """() => [document.documentElement, document.querySelector('[data-testid="stMain"]')].map(
  element => element.scrollWidth - element.clientWidth)"""


def at(page: Page, stop: int, title: str) -> None:
    """The tour stands at a stop of the page with this heading."""
    expect(page.get_by_text(f"{stop} of {STOPS}", exact=True)).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_text(title)
    page.wait_for_url(re.compile(rf"[?&]stop={stop}(&|$)"))


def test_a_tour_is_played_with_a_clicker(visitor: Visitor, serve: Serve) -> None:
    visit = visitor("", at=serve(ROOT / "checkpoints"), talk="1", tour="story")
    page = visit.page
    at(page, 1, "Ancestors")
    expect(page.get_by_test_id("stSidebar")).to_be_hidden()
    expect(page.get_by_test_id("stHeader")).to_be_hidden()
    expect(page.get_by_role("textbox", name="Sentence")).to_have_count(0)
    expect(page.get_by_text("The first squeezes the whole sentence into one vector")).to_be_visible()
    page.keyboard.press("PageUp")  # there is nothing before
    page.keyboard.press("PageDown")
    visit.wait()
    at(page, 2, "Attention")
    page.keyboard.press("PageDown")
    visit.wait()
    at(page, 3, "Query · Key · Value")
    for step in (2, 3):
        page.keyboard.press("PageDown")
        expect(page.get_by_text(f"{step} of 8", exact=True)).to_be_visible()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_text("2 of 8", exact=True)).to_be_visible()
    at(page, 3, "Query · Key · Value")
    page.keyboard.press("Shift+PageDown")
    visit.wait()
    at(page, 4, "Attention")

    sent = visit.sent
    tile = page.get_by_role("option", name="layer 4 · head 8")
    box = tile.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 7.5 / 12, box["y"] + box["height"] * 3.5 / 12)
    lens = page.locator('[data-part="lens"]')
    expect(lens).to_be_visible()
    expect(lens).to_contain_text("on → it")
    assert lens.locator("canvas").bounding_box()["width"] > 3 * box["width"]  # type: ignore[index]
    page.mouse.move(1, 1)
    expect(lens).to_be_hidden()
    assert visit.sent == sent

    page.keyboard.press("n")
    expect(page.locator('[data-part="note"]')).to_be_hidden()
    page.keyboard.press("f")
    page.wait_for_function("document.fullscreenElement !== null")
    page.keyboard.press("PageUp")
    visit.wait()
    at(page, 3, "Query · Key · Value")
    expect(page.get_by_text("1 of 8", exact=True)).to_be_visible()
    expect(page.locator('[data-part="note"]')).to_be_hidden()
    assert page.evaluate("document.fullscreenElement !== null")
    page.keyboard.press("f")
    page.wait_for_function("document.fullscreenElement === null")
    page.keyboard.press("Escape")
    visit.wait()
    expect(page.get_by_test_id("stSidebar")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_text("Query · Key · Value")
    assert not re.search(r"[?&](talk|tour|stop)=", page.url)


def test_a_key_that_someone_uses_does_not_change_the_stop(visitor: Visitor) -> None:
    visit = visitor("translate", talk="1", tour="story", stop="12", text=SENTENCE, limit="8")
    page = visit.page
    at(page, 12, "Translate")
    page.get_by_role("textbox").first.focus()
    for key in ("PageDown", "PageUp", "ArrowRight", "f", "n"):
        page.keyboard.press(key)
    page.get_by_role("radio", name="Sentences").focus()
    page.keyboard.press("ArrowRight")
    visit.wait()
    at(page, 12, "Translate")
    assert page.evaluate("document.fullscreenElement === null")
    page.get_by_role("button", name="Keys").click()
    expect(page.get_by_text("the next stop of the tour")).to_be_visible()
    page.keyboard.press("PageDown")
    visit.wait()
    at(page, 13, "Beam search")
    page.get_by_role("button", name="Leave talk mode").click()
    visit.wait()
    expect(page.get_by_test_id("stSidebar")).to_be_visible()


@pytest.mark.parametrize("dark", [False, True])
def test_every_page_fits_a_projector(visitor: Visitor, dark: bool) -> None:
    visit = visitor("translate", dark=dark, talk="1", text=SENTENCE, limit="8", beam="2")
    page = visit.page
    sizes = ((1366, 768), (1920, 1080)) if not dark else ((1920, 1080),)
    for name in [entry.name for entry in PAGES]:
        page.goto(re.sub(r"/[a-z_]*\?", f"/{name}?", page.url))
        for width, height in sizes:
            page.set_viewport_size({"width": width, "height": height})
            visit.wait()
            assert page.evaluate(ACROSS) == [0, 0], f"{name} at {width}"
        type_size = page.evaluate("getComputedStyle(document.documentElement).fontSize")
        assert type_size == "24px", name
        for size in page.evaluate(
            "[...document.querySelectorAll('.js-plotly-plot .xtick text, .js-plotly-plot .ytick text')]"
            ".map(text => parseFloat(getComputedStyle(text).fontSize))"
        ):
            assert size >= 15, name
        visit.no_trouble()


def test_the_switch_in_the_sidebar_and_a_tour_from_there(visitor: Visitor, tmp_path: Path) -> None:
    visit = visitor("heads", text=SENTENCE, limit="8", beam="2")
    page = visit.page
    page.get_by_test_id("stSidebar").get_by_text("Talk mode").click()
    visit.wait()
    expect(page.get_by_test_id("stSidebar")).to_be_hidden()
    expect(page.get_by_role("button", name="Leave talk mode")).to_be_visible()
    assert "talk=1" in page.url
    page.go_back()
    visit.wait()
    expect(page.get_by_test_id("stSidebar")).to_be_visible()
    own = tmp_path / "own.yaml"
    own.write_text("title: Own\nstops:\n- page: positions\n- page: nowhere\n")
    page.get_by_role("button", name="Your own").click()
    page.locator('input[type="file"]').last.set_input_files(own)
    visit.wait()
    expect(page.get_by_role("alert").filter(has_text="own.yaml, line 4: there is no page")).to_be_visible()
