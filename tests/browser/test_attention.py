"""The Attention page in a real browser: choosing heads, hovering, following words, themes, files."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import Locator, Page, expect

from atlas.figures import style
from tests.browser.conftest import Visitor
from tests.browser.drive import Visit
from tests.traces import REPEATED

SMALL = {"text": "The cat saw the dog.", "beam": "2", "limit": "8"}


def address(page: Page) -> dict[str, str]:
    query = parse_qs(urlparse(page.url).query, keep_blank_values=True)
    return {name: values[0] for name, values in query.items()}


def look(visitor: Visitor, **query: Any) -> Visit:
    """The page, once its lines and its heatmap are drawn."""
    visit = visitor("attention", **query)
    expect(visit.page.locator("div.lines .word.key").first).to_be_visible()
    expect(visit.page.locator(".stPlotlyChart .heatmaplayer").first).to_be_attached()
    return visit


def tile(page: Page, layer: int, column: int) -> Locator:
    return page.locator(f".mosaic #tile-{layer}-{column}")


def head_title(page: Page, name: str) -> Locator:
    return page.get_by_role("heading", name=name, exact=True)


def words(page: Page, side: str) -> Locator:
    return page.locator(f"div.lines .word.{side}")


def lit(page: Page) -> list[tuple[float, float]]:
    """Heights of both ends of each lit line."""
    script = "(lines) => lines.map((l) => [l.y1.baseVal.value, l.y2.baseVal.value])"
    return [(float(a), float(b)) for a, b in page.locator("div.lines line.lit").evaluate_all(script)]


def focused(page: Page) -> str:
    """Class of the focused element, also inside a component."""
    return page.evaluate(
        "() => { let at = document.activeElement; while (at?.shadowRoot?.activeElement) "
        "at = at.shadowRoot.activeElement; return at ? at.className : '' }"
    )


def test_a_click_chooses_a_head_and_the_address_follows(visitor: Visitor) -> None:
    visit = look(visitor, kind="cross", **SMALL)
    page = visit.page
    expect(head_title(page, "layer 1 · head 1")).to_be_visible()
    assert page.locator(".mosaic [role=option]").count() == 2 * (4 + 2)
    tile(page, 1, 2).click()
    expect(head_title(page, "layer 2 · head 3")).to_be_visible()
    visit.wait()
    assert {name: address(page)[name] for name in ("kind", "layer", "head")} == {
        "kind": "cross",
        "layer": "2",
        "head": "3",
    }
    expect(tile(page, 1, 2)).to_have_attribute("aria-selected", "true")
    again = look(visitor, **address(page))
    expect(head_title(again.page, "layer 2 · head 3")).to_be_visible()
    expect(tile(again.page, 1, 2)).to_have_attribute("aria-selected", "true")


def test_arrow_keys_move_the_choice_and_keep_the_focus(visitor: Visitor) -> None:
    visit = look(visitor, **SMALL)
    page = visit.page
    page.locator(".mosaic .board").focus()
    before = visit.sent
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft"):
        page.keyboard.press(key)
    expect(tile(page, 1, 1)).to_have_attribute("aria-selected", "true")
    expect(head_title(page, "layer 2 · head 2")).to_be_visible()
    visit.wait()
    assert visit.sent - before <= 4
    assert "board" in focused(page)
    page.keyboard.press("End")
    expect(head_title(page, "layer 2 · max over heads")).to_be_visible()
    page.keyboard.press("ArrowUp")
    expect(head_title(page, "layer 1 · max over heads")).to_be_visible()
    page.keyboard.press("ArrowUp")
    visit.wait()
    expect(head_title(page, "layer 1 · max over heads")).to_be_visible()


@pytest.mark.case("U8")
def test_arrow_keys_in_the_sentence_are_for_the_sentence(visitor: Visitor) -> None:
    visit = look(visitor, **SMALL)
    page = visit.page
    page.get_by_role("textbox", name="Sentence").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("End")
    visit.wait()
    expect(tile(page, 0, 0)).to_have_attribute("aria-selected", "true")


def test_hovering_a_word_lights_its_lines_without_a_message(visitor: Visitor) -> None:
    visit = look(visitor, threshold="0", **SMALL)
    page = visit.page
    before = visit.sent
    for side, end in (("query", 0), ("key", 1)):
        other = words(page, "key" if side == "query" else "query")
        word = words(page, side).nth(2)
        word.hover()
        assert len(lit(page)) == other.count()
        assert len({line[end] for line in lit(page)}) == 1
        numbers = other.locator(".number").evaluate_all("(all) => all.map((one) => Number(one.textContent))")
        assert len(numbers) == other.count() and all(0 <= number <= 1 for number in numbers)
        if side == "query":
            assert sum(numbers) == pytest.approx(1, abs=0.01 * len(numbers))
    page.mouse.move(2, 2)
    assert lit(page) == []
    assert visit.sent == before


def test_the_slider_hides_lines_at_once_and_its_place_is_in_the_address(visitor: Visitor) -> None:
    visit = look(visitor, threshold="0", **SMALL)
    page, slider = visit.page, visit.page.locator("div.lines input[type=range]")
    all_lines, before = page.locator("div.lines line").count(), visit.sent
    slider.evaluate("(s) => { s.value = '0.3'; s.dispatchEvent(new Event('input')); }")
    left = page.locator("div.lines line").count()
    assert left < all_lines and visit.sent == before
    slider.evaluate("(s) => s.dispatchEvent(new Event('change'))")
    visit.wait()
    assert address(page)["threshold"] == "0.3" and page.locator("div.lines line").count() == left


def test_clicked_words_are_followed_in_every_head(visitor: Visitor) -> None:
    visit = look(visitor, **SMALL)
    page = visit.page
    summed = page.get_by_text("Weights are summed over")
    expect(summed).to_contain_text("over all")
    words(page, "query").nth(1).click()
    expect(summed).to_contain_text("over the 1 chosen")
    words(page, "query").nth(3).click()
    expect(summed).to_contain_text("over the 2 chosen")
    visit.wait()
    assert address(page)["words"] == "1.3"
    assert page.locator("div.lines [aria-pressed=true]").count() == 2
    words(page, "query").nth(1).click()
    visit.wait()
    assert address(page)["words"] == "3"


def test_a_cell_tells_weight_score_and_rank(visitor: Visitor) -> None:
    page = look(visitor, **SMALL).page
    chart = page.locator(".stPlotlyChart").last
    chart.scroll_into_view_if_needed()
    box = chart.locator(".heatmaplayer").first.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + box["height"] * 0.4)
    hover = chart.locator(".hoverlayer")
    for part in ("→", "weight 0.", "score before softmax", "rank "):
        expect(hover).to_contain_text(part)


def test_of_a_long_sentence_squares_are_shared_and_cells_keep_their_labels(visitor: Visitor) -> None:
    visit = look(visitor, text="the cat saw the dog " * 15, beam="1", limit="4", threshold="0.02")
    page = visit.page
    expect(page.get_by_text("a square is the largest of 2 × 2 weights")).to_be_visible()
    expect(page.locator("div.lines .behind")).to_contain_text("weaker weights stayed behind")
    labels = words(page, "key").locator(".label").all_text_contents()
    assert 64 < len(labels) <= 128
    box = page.locator("div.lines .box").evaluate("(box) => [box.clientHeight, box.scrollHeight]")
    assert box[0] < box[1], "the words scroll in a box, the heatmap stays within reach"
    chart = page.locator(".stPlotlyChart").last
    chart.scroll_into_view_if_needed()
    cells = chart.locator(".heatmaplayer").first.bounding_box()
    assert cells
    page.mouse.move(cells["x"] + cells["width"] * 1.5 / len(labels), cells["y"] + 2)
    hover = chart.locator(".hoverlayer")
    expect(hover).to_contain_text(f"{labels[0]} → {labels[1]}")
    expect(hover).to_contain_text(f"of {len(labels)}")
    visit.no_trouble()


@pytest.mark.case("T1")
@pytest.mark.case("T2")
@pytest.mark.parametrize("text", [REPEATED, "2019 2020 1E1 2026-01 5 or more"])
def test_every_token_has_a_label_as_typed(visitor: Visitor, text: str) -> None:
    page = look(visitor, text=text, unit="words", beam="1", limit="4").page
    shown = words(page, "key").locator(".label").all_text_contents()
    ticks = page.locator(".stPlotlyChart").last.locator(".xaxislayer-above text").all_text_contents()
    assert ticks == shown
    assert [label for label in shown if label not in ("␣", "-", "</s>")][:2] == text.split()[:2]


@pytest.mark.case("T3")
@pytest.mark.parametrize("kind", ["encoder", "cross"])
def test_markup_is_shown_and_never_runs(visitor: Visitor, kind: str) -> None:
    text = "<s> <b>x</b> <img src=x onerror=alert(1)> $x$"
    visit = look(visitor, beam="1", limit="6", text=text, target=text, kind=kind, unit="words", words="0.1")
    page = visit.page
    shown = words(page, "key").locator(".label").all_text_contents()
    assert "".join(shown).replace("␣", "").startswith("<s><b>x</b><imgsrc=x") and shown[-1] == "</s>"
    ticks = page.locator(".stPlotlyChart").last.locator(".xaxislayer-above text").all_text_contents()
    assert ticks == shown
    inside = page.locator("div.lines, .mosaic, .stPlotlyChart")
    assert inside.locator("img, a, script, b").count() == 0
    visit.no_trouble()


@pytest.mark.case("U5")
def test_the_head_is_kept_while_another_page_is_visited(visitor: Visitor) -> None:
    visit = look(visitor, kind="decoder", **SMALL)
    page = visit.page
    tile(page, 1, 3).click()
    expect(head_title(page, "layer 2 · head 4")).to_be_visible()
    links = page.get_by_test_id("stSidebarNavLink")
    links.filter(has_text="Translate").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Translate")
    visit.wait()
    links.filter(has_text="Attention").click()
    expect(head_title(page, "layer 2 · head 4")).to_be_visible()
    expect(tile(page, 1, 3)).to_have_attribute("aria-selected", "true")


@pytest.mark.case("U6")
@pytest.mark.parametrize("dark", [False, True])
def test_both_themes_are_drawn_in_their_own_ink_and_nothing_scrolls_sideways(
    visitor: Visitor, dark: bool
) -> None:
    visit = look(visitor, dark=dark, kind="decoder", words="1", **SMALL)
    page = visit.page
    masked = page.locator(".mosaic canvas").evaluate(
        """(canvas) => {
          const tile = canvas.parentElement.querySelector('#tile-0-0').getBoundingClientRect();
          const board = canvas.getBoundingClientRect(), ratio = canvas.width / board.width;
          const x = (tile.right - board.left - 4) * ratio, y = (tile.top - board.top + 4) * ratio;
          return [...canvas.getContext('2d').getImageData(x, y, 1, 1).data].slice(0, 3);
        }"""
    )
    assert tuple(masked) == style.colour_table(dark)[0], "a masked weight has the colour of the background"
    ink = page.locator("div.lines .label").first.evaluate("(label) => getComputedStyle(label).fill")
    red, green, blue = (int(part) for part in ink[ink.index("(") + 1 : ink.index(")")].split(",")[:3])
    assert style.contrast(f"#{red:02x}{green:02x}{blue:02x}", style.background(dark)) >= 4.5
    ticks = page.locator(".stPlotlyChart .xtick text, .stPlotlyChart .ytick text").evaluate_all(
        "(all) => [...new Set(all.map((one) => getComputedStyle(one).fill))]"
    )
    for tick in ticks:
        red, green, blue = (int(part) for part in tick[tick.index("(") + 1 : tick.index(")")].split(",")[:3])
        assert style.contrast(f"#{red:02x}{green:02x}{blue:02x}", style.background(dark)) >= 4.5, tick
    main = page.get_by_test_id("stMain")
    assert main.evaluate("(main) => main.scrollWidth - main.clientWidth") <= 0


@pytest.mark.case("U7")
def test_a_head_pinned_beside_itself_and_then_beside_another_sentence(visitor: Visitor) -> None:
    visit = look(visitor, unit="words", **SMALL)
    page = visit.page
    page.get_by_role("button", name="Pin and compare").click()
    expect(head_title(page, "Pinned: layer 1 · head 1")).to_be_visible()
    expect(head_title(page, "Now: layer 1 · head 1")).to_be_visible()
    visit.wait()
    visit.no_trouble()
    expect(page.locator("div.lines")).to_have_count(2)
    tile(page, 1, 1).click()
    expect(head_title(page, "Now: layer 2 · head 2")).to_be_visible()
    sentence = page.get_by_role("textbox", name="Sentence")
    sentence.fill("It rains.")
    sentence.press("Enter")
    expect(page.get_by_test_id("stMain")).to_contain_text("The cat saw the dog.")
    expect(words(page, "key").filter(has_text="saw")).to_have_count(1)
    visit.wait()
    page.get_by_role("button", name="Unpin").click()
    expect(page.locator("div.lines")).to_have_count(1)
