"""What only a real server and a real browser show: first visits, addresses, tabs, themes, the network."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import expect

from atlas.ui.navigation import PAGES
from tests.browser.conftest import Visitor
from tests.browser.drive import Visit, run_session, running_server

NAMES = [page.name for page in PAGES]
SENTENCE = "The cat saw the dog and the cat ran away."

CONTRAST = """() => {
  const canvas = document.createElement('canvas'); canvas.width = canvas.height = 1;
  const brush = canvas.getContext('2d', {willReadFrequently: true});
  const mix = (colours) => {
    brush.clearRect(0, 0, 1, 1);
    for (const colour of colours) { brush.fillStyle = colour; brush.fillRect(0, 0, 1, 1); }
    return [...brush.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (rgb) => {
    const [r, g, b] = rgb.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const bad = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const box = element.getBoundingClientRect();
    if (!walker.currentNode.textContent.trim() || box.width < 2) continue;
    if (!element.checkVisibility({visibilityProperty: true})) continue;
    if (element.closest('svg, [disabled], [aria-disabled="true"], [data-testid^="stIcon"]')) continue;
    const grounds = []; let opacity = 1;
    for (let up = element; up; up = up.parentElement) {
      const style = getComputedStyle(up), ground = up.getBoundingClientRect();
      if (ground.height >= box.height && ground.width >= box.width) grounds.unshift(style.backgroundColor);
      opacity *= Number(style.opacity);
    }
    if (opacity < 0.05) continue;
    const back = mix(['white', ...grounds]);
    const front = mix(['white', ...grounds, getComputedStyle(element).color]).map(
      (value, i) => value * opacity + back[i] * (1 - opacity));
    const [a, b] = [light(back), light(front)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 3) bad.push(`${walker.currentNode.textContent.trim().slice(0, 40)}: ${ratio.toFixed(2)}`);
  }
  return bad;
}"""


def query_of(visit: Visit) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlparse(visit.page.url).query).items()}


def heading(name: str) -> str:
    return next(page.title for page in PAGES if page.name == name)


@pytest.mark.case("U4")
@pytest.mark.parametrize("name", NAMES)
def test_a_deep_link_is_alive_on_the_first_visit(
    visitor: Visitor, tiny_bundle: Path, tmp_path: Path, name: str
) -> None:
    with running_server(tiny_bundle, tmp_path / "log.txt") as cold:
        first = visitor(name, at=cold, text=SENTENCE, beam="3")
        expect(first.page.get_by_role("heading", level=1)).to_have_text(heading(name))
        links = first.page.get_by_test_id("stSidebarNavLink")
        assert [link.inner_text().split("\n")[-1] for link in links.all()] == [page.title for page in PAGES]
        assert query_of(first)["beam"] == "3"
        assert query_of(first)["text"] == SENTENCE
        second = visitor("translate", at=cold, text=SENTENCE, beam="3")
        second.page.get_by_test_id("stSidebarNavLink").filter(has_text=heading(name)).click()
        second.wait()
        expect(second.page.get_by_role("heading", level=1)).to_have_text(heading(name))
        assert query_of(second) == query_of(first)
        first.no_trouble()
        second.no_trouble()


def test_the_root_leads_to_translate(visitor: Visitor) -> None:
    visit = visitor("", text=SENTENCE, beam="4")
    assert urlparse(visit.page.url).path == "/translate"
    assert query_of(visit)["text"] == SENTENCE
    assert query_of(visit)["beam"] == "4"
    visit.page.reload()
    visit.wait()
    assert query_of(visit)["beam"] == "4"


def test_the_address_opens_the_same_view_elsewhere(visitor: Visitor) -> None:
    visit = visitor("attention")
    box = visit.page.get_by_role("textbox", name="Sentence")
    box.fill("I love you.")
    box.press("Enter")
    visit.wait()
    visit.page.get_by_test_id("stSidebarNavLink").filter(has_text="Positions").click()
    visit.wait()
    other = visitor(visit.page.url.removeprefix(visit.page.url.split("/positions")[0] + "/"))
    expect(other.page.get_by_role("textbox", name="Sentence")).to_have_value("I love you.")
    assert query_of(other) == query_of(visit)


def test_the_back_button_shows_the_earlier_view(visitor: Visitor) -> None:
    visit = visitor("attention", text=SENTENCE)
    visit.page.get_by_test_id("stSidebarNavLink").filter(has_text="Positions").click()
    visit.wait()
    box = visit.page.get_by_role("textbox", name="Sentence")
    box.fill("I love you.")
    box.press("Enter")
    visit.wait()
    for _ in range(6):
        visit.page.go_back()
        visit.wait()
        if urlparse(visit.page.url).path == "/attention":
            break
    expect(visit.page.get_by_role("heading", level=1)).to_have_text("Attention")
    assert query_of(visit)["text"] == SENTENCE
    expect(visit.page.get_by_role("textbox", name="Sentence")).to_have_value(SENTENCE)


def test_a_bad_address_is_said(visitor: Visitor) -> None:
    visit = visitor("attention", beam="<img src=x onerror=alert(1)>")
    notice = visit.page.get_by_role("alert").filter(has_text="The address says beam=")
    expect(notice).to_contain_text("<img src=x onerror=alert(1)>")
    assert query_of(visit)["beam"] == "5"


@pytest.mark.case("U3")
def test_twenty_tabs_on_a_cold_server_load_the_model_once(tiny_bundle: Path, tmp_path: Path) -> None:
    counting = (str(Path(__file__).with_name("counting_server.py")),)
    with running_server(tiny_bundle, tmp_path / "log.txt", counting) as cold:
        with ThreadPoolExecutor(20) as pool:
            pages = list(pool.map(lambda _: run_session(cold, "translate"), range(20)))
        assert all("atlas-translation" in page for page in pages)
        assert (tmp_path / "log.txt").read_text().count("engine loaded") == 1


@pytest.mark.case("U6")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", NAMES)
def test_every_text_is_readable(visitor: Visitor, name: str, dark: bool) -> None:
    visit = visitor(name, dark=dark, text=SENTENCE)
    background = visit.page.evaluate("getComputedStyle(document.querySelector('.stApp')).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", background)[:3])) < 150) is dark
    assert visit.page.evaluate(CONTRAST) == []


@pytest.mark.case("U9")
@pytest.mark.parametrize("name", ["", *NAMES])
def test_no_request_leaves_the_machine(visitor: Visitor, name: str) -> None:
    visit = visitor(name)
    visit.page.wait_for_timeout(1000)
    assert visit.outside == []


@pytest.mark.parametrize("name", NAMES)
def test_nothing_scrolls_sideways(visitor: Visitor, name: str) -> None:
    visit = visitor(name, width=1366)
    main = visit.page.get_by_test_id("stMain")
    assert main.evaluate("element => element.scrollWidth - element.clientWidth") <= 1


@pytest.mark.case("U8")
@pytest.mark.parametrize("name", ["attention", "beam_search", "positions"])
def test_keys_typed_into_the_sentence_are_text(visitor: Visitor, name: str) -> None:
    visit = visitor(name, text="cat")
    before = query_of(visit)
    box = visit.page.get_by_role("textbox", name="Sentence")
    box.click()
    box.press("End")
    box.press_sequentially(" r c p j k [ ] , . ? 1 9")
    for key in ("ArrowLeft", "ArrowUp", "ArrowDown", "ArrowRight", "PageDown", "PageUp", "Space", "End"):
        box.press(key)
    box.press_sequentially("x")
    expect(box).to_have_value("cat r c p j k [ ] , . ? 1 9 x")
    box.press("Enter")
    visit.wait()
    assert query_of(visit) == before | {"text": "cat r c p j k [ ] , . ? 1 9 x"}


@pytest.mark.case("A7")
def test_two_browsers_see_their_own_sentences(visitor: Visitor) -> None:
    first, second = visitor("attention", text="I love you."), visitor("attention", text="It rains.")
    for visit, other in ((first, second), (second, first)):
        box = visit.page.get_by_role("textbox", name="Sentence")
        box.fill(f"{query_of(visit)['text']} Where is the station?")
        box.press("Enter")
        other.page.reload()
    for visit, words in ((first, "love"), (second, "rains")):
        visit.wait()
        assert words in query_of(visit)["text"]
        expect(visit.page.get_by_role("textbox", name="Sentence")).to_have_value(query_of(visit)["text"])


@pytest.mark.parametrize("name", NAMES)
def test_without_a_bundle_the_page_says_how_to_get_one(visitor: Visitor, tmp_path: Path, name: str) -> None:
    (tmp_path / "none").mkdir()
    with running_server(tmp_path / "none", tmp_path / "log.txt") as bare:
        visit = visitor(name, at=bare)
        expect(visit.page.get_by_text("No trained model was found")).to_be_visible()
        visit.no_trouble()
