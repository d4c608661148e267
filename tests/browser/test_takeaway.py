"""What a visitor takes away: a link to the same view, figures, numbers, the sentence as a page."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from atlas.figures.export import picture_trouble
from atlas.trace import Trace
from tests.browser.conftest import Visitor
from tests.browser.drive import Visit

SMALL = {"text": "The cat saw the dog.", "beam": "2", "limit": "8"}


def copy_link(visit: Visit) -> str:
    page = visit.page
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    return str(page.evaluate("navigator.clipboard.readText()"))


def opened(visitor: Visitor, link: str) -> Visit:
    address, path, query = re.fullmatch(r"(https?://[^/]+)/([^?]*)\?(.*)", link).groups()  # type: ignore[union-attr]
    return visitor(f"{path}?{query}", at=address)


def allow_clipboard(visit: Visit) -> None:
    visit.page.context.grant_permissions(["clipboard-read", "clipboard-write"])


def take(page: Page, name: str) -> Path:
    """The file of the button whose file is called so."""
    with page.expect_download(timeout=120_000) as waiting:
        page.locator(f".st-key-atlas-take-{name.replace('.', '-')} button").click()
    assert waiting.value.suggested_filename == name
    return Path(waiting.value.path())


def open_menu(visit: Visit) -> Page:
    visit.page.get_by_role("button", name="Take away").click()
    expect(visit.page.locator("[class*='st-key-atlas-take-'] button").first).to_be_attached()
    visit.wait()
    return visit.page


def test_a_copied_link_opens_the_same_heads(visitor: Visitor) -> None:
    visit = visitor("attention", **SMALL)
    allow_clipboard(visit)
    page = visit.page
    page.get_by_role("radio", name="Cross").or_(page.get_by_role("button", name="Cross")).first.click()
    visit.wait()
    page.locator(".mosaic #tile-1-2").click()
    expect(page.get_by_role("heading", name="layer 2 · head 3", exact=True)).to_be_visible()
    page.locator("div.lines .word.query").nth(1).click()
    visit.wait()
    link = copy_link(visit)
    again = opened(visitor, link).page
    expect(again.get_by_role("heading", name="layer 2 · head 3", exact=True)).to_be_visible()
    look = "(all) => all.map((word) => [word.ariaLabel, word.ariaPressed])"
    seen = [one.locator("div.lines .word").evaluate_all(look) for one in (page, again)]
    assert seen[0] == seen[1]
    assert [pressed for _, pressed in seen[0]].count("true") == 1
    assert again.url == link
    expect(page.get_by_role("button", name="Copy link")).to_be_visible()


def test_a_copied_link_opens_the_same_node_and_step(visitor: Visitor) -> None:
    visit = visitor("beam_search", **SMALL)
    allow_clipboard(visit)
    page = visit.page
    page.get_by_role("button", name="One step back").click()
    page.get_by_role("button", name="One step back").click()
    page.locator(".tree [data-node='2']").first.click(force=True)
    visit.wait()
    link = copy_link(visit)
    again = opened(visitor, link).page
    for part in ("count", "caption", "leader"):
        expect(again.locator(f".tree [data-part={part}]")).to_have_text(
            page.locator(f".tree [data-part={part}]").inner_text()
        )
    place = "(ring) => [ring.cx, ring.cy].map((one) => one.baseVal.value)"
    rings = [one.locator(".tree .ring").evaluate(place) for one in (page, again)]
    assert rings[0] == rings[1]


def test_where_there_is_no_clipboard_the_selection_is_copied_or_shown(visitor: Visitor) -> None:
    visit = visitor("positions", text="It rains.")
    page = visit.page
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page.evaluate("document.execCommand = () => (window.wasCopied = document.activeElement.value, true)")
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("window.wasCopied") == page.url
    page.evaluate("document.execCommand = () => false")
    expect(page.get_by_role("button", name="Copy link")).to_be_visible()
    page.get_by_role("button", name="Copy link").click()
    field = page.get_by_label("Press Ctrl+C")
    expect(field).to_have_value(page.url)
    expect(field).to_be_focused()
    field.press("Escape")
    expect(field).to_be_hidden()
    expect(page.get_by_role("button", name="Copy link")).to_be_focused()


def test_a_head_its_numbers_and_its_page_are_taken_away(visitor: Visitor, tmp_path: Path) -> None:
    visit = visitor("attention", kind="cross", layer="2", head="2", **SMALL)
    page = open_menu(visit)
    trace = Trace.load(take(page, "trace.npz"))
    weights = trace.path().cross[1, 1]
    for name in ("attention-cross-layer2-head2.csv", "attention-now-heatmap.csv"):
        rows = list(csv.DictReader(io.StringIO(take(page, name).read_text(encoding="utf-8-sig"))))
        found = [np.float32(row.get("weight") or row.get("z")) for row in rows]
        np.testing.assert_array_equal(found, weights.ravel())
    about = json.loads(take(page, "attention-keys.json").read_text(encoding="utf-8"))
    assert about["format"] == "attention-atlas-figure" and about["columns"]["y"]
    exported = tmp_path / "page.html"
    exported.write_bytes(take(page, "attention-atlas.html").read_bytes())
    other = page.context.new_page()
    other.goto(exported.as_uri())
    expect(other.locator("h1")).to_have_text(trace.source)
    expect(other.locator("#lines .word.key")).to_have_count(len(trace.source_tokens))
    if picture_trouble():
        pytest.skip(str(picture_trouble()))
    svg = take(page, "attention-now-heatmap.svg").read_text(encoding="utf-8")
    drawn = list(ElementTree.fromstring(svg).iter())
    assert not [element for element in drawn if element.tag.endswith("}image")]
    assert {token.label for token in trace.source_tokens} <= {element.text for element in drawn}
    assert take(page, "attention-cross-all-heads.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("name", "components"), [("beam_search", 1), ("architecture", 1), ("positions", 0)])
def test_every_figure_of_a_page_is_in_its_menu(visitor: Visitor, name: str, components: int) -> None:
    visit = visitor(name, **SMALL)
    charts = visit.page.get_by_test_id("stPlotlyChart").count()
    page = open_menu(visit)
    classes = page.locator("[class*='st-key-atlas-take-']").evaluate_all(
        "(all) => all.flatMap((one) => [...one.classList])"
    )
    for form in ("png", "svg", "csv", "json") if picture_trouble() is None else ("csv", "json"):
        buttons = {
            one for one in classes if one.startswith("st-key-atlas-take-") and one.endswith(f"-{form}")
        }
        assert len(buttons) == charts + components > 0
