"""Translate in a real browser: type, read, open elsewhere; upload, watch, download."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import openpyxl
import pytest
from playwright.sync_api import Page, expect

from atlas.ui.examples import FIRST
from tests.browser.conftest import Visitor
from tests.browser.drive import Visit
from tests.browser.test_shell import query_of

MARKUP = "<s> <b>x</b> <a href=x>y</a> &lt; <img src=x onerror=alert(1)> </script> $z$ **w**"


def type_lines(visit: Visit, text: str) -> Page:
    box = visit.page.get_by_role("textbox", name="Sentences, one a line")
    box.fill(text)
    visit.page.get_by_role("button", name="Translate", exact=True).click()
    return visit.wait()


def upload(visit: Visit, name: str, data: bytes) -> Page:
    chooser = visit.page.get_by_test_id("stMain").locator('input[type="file"]')
    chooser.set_input_files({"name": name, "mimeType": "text/plain", "buffer": data})
    visit.page.get_by_role("button", name="Another file").wait_for()
    return visit.wait()


def download(page: Page, label: str) -> bytes:
    with page.expect_download() as waiting:
        page.get_by_role("button", name=label, exact=True).click()
    return Path(waiting.value.path()).read_bytes()


def test_type_and_translate(visitor: Visitor) -> None:
    visit = visitor("translate")
    expect(visit.page.locator(".atlas-translation")).to_have_count(1)
    page = type_lines(visit, "I love you.\nWhere is the station?")
    expect(page.locator(".atlas-translation")).to_have_count(2)
    titles = page.locator(".atlas-translation span[title]")
    assert all(
        re.search(r"probability [01]\.\d{3} \(", span.get_attribute("title") or "") for span in titles.all()
    )
    assert query_of(visit)["text"] == "I love you."
    assert query_of(visit)["lines"] == "I love you.\nWhere is the station?"


def test_one_click_leads_to_the_other_pages_with_that_sentence(visitor: Visitor) -> None:
    visit = visitor("translate")
    type_lines(visit, "I love you.\nWhere is the station?")
    visit.page.get_by_test_id("stMain").get_by_role("link", name="Attention").nth(1).click()
    visit.wait()
    expect(visit.page.get_by_role("heading", level=1)).to_have_text("Attention")
    expect(visit.page.get_by_role("textbox", name="Sentence")).to_have_value("Where is the station?")
    visit.page.get_by_test_id("stSidebarNavLink").filter(has_text="Translate").click()
    visit.wait()
    box = visit.page.get_by_role("textbox", name="Sentences, one a line")
    expect(box).to_have_value("I love you.\nWhere is the station?")


def test_an_example_is_chosen_and_everything_else_stays(visitor: Visitor) -> None:
    visit = visitor("translate", text="It rains.", beam="7", penalty="average")
    page = visit.page
    page.get_by_role("button", name="Examples").click()
    page.get_by_role("menuitem", name=FIRST).click()
    visit.wait()
    expect(page.get_by_role("textbox", name="Sentences, one a line")).to_have_value(FIRST)
    expect(page.get_by_role("menuitem", name=FIRST)).to_be_hidden()
    expect(page.get_by_role("radio", name="Sentences")).to_be_checked()
    page.get_by_role("button", name="Beam 7").click()
    expect(page.get_by_role("slider", name="Beam width")).to_have_value("7")
    expect(page.get_by_role("radio", name="average")).to_be_checked()


@pytest.mark.case("T3")
def test_markup_stays_text(visitor: Visitor) -> None:
    visit = visitor("translate")
    page = type_lines(visit, MARKUP)
    expect(page.get_by_test_id("stMain").get_by_text(MARKUP).first).to_be_visible()
    main = page.get_by_test_id("stMain")
    assert main.locator("img").count() == 0
    assert main.locator('a[href="x"], a[href$="/x"]').count() == 0
    type_lines(visit, "<b>x</b>")  # short enough for the small picture to label every word
    expect(main.get_by_text("<b>x</b>").first).to_be_visible()
    assert "<b>x</b>" in page.locator(".js-plotly-plot").first.inner_text().replace("\n", "")
    type_lines(visit, MARKUP)
    for name in ("Attention", "Beam search", "Positions"):
        page.get_by_test_id("stSidebarNavLink").filter(has_text=name).click()
        visit.wait()
        assert main.locator("img").count() == 0
        assert main.locator('a[href="x"], a[href$="/x"]').count() == 0
        visit.no_trouble()


def test_upload_watch_and_download(visitor: Visitor) -> None:
    visit = visitor("translate", input="file", beam="1", limit="10")
    data = "id,English,note\r\n" + "".join(f"{n},The café number {n}.,x\r\n" for n in range(40))
    page = upload(visit, "mine.csv", data.encode("cp1252"))
    expect(page.get_by_text("Windows-1252")).to_be_visible()
    page.get_by_role("button", name=re.compile("^Translate 40 rows")).click()
    page.get_by_role("button", name="JSONL", exact=True).wait_for()
    visit.wait()
    rows = [json.loads(line) for line in download(page, "JSONL").decode().splitlines()]
    assert [row["original"] for row in rows] == [f"The café number {n}." for n in range(40)]
    assert [row["row"] for row in rows] == list(range(2, 42))
    for label, delimiter in (("CSV", ","), ("TSV", "\t")):
        table = list(
            csv.DictReader(io.StringIO(download(page, label).decode("utf-8-sig")), delimiter=delimiter)
        )
        assert [row["original"] for row in table] == [row["original"] for row in rows]
    sheet = openpyxl.load_workbook(io.BytesIO(download(page, "XLSX"))).active
    assert sheet is not None
    assert sheet.max_row == 41


def test_a_long_file_is_stopped_and_kept(visitor: Visitor) -> None:
    visit = visitor("translate", input="file", beam="2", limit="20")
    page = upload(visit, "long.txt", "\n".join(f"The cat saw dog {n}." for n in range(10_000)).encode())
    page.get_by_role("button", name=re.compile("^Translate 10,000 rows")).click()
    expect(page.get_by_text(re.compile(r"of 10,000 rows · about \d"))).to_be_visible()
    page.get_by_role("button", name="Stop and keep what is done").click()
    page.get_by_role("button", name="CSV", exact=True).wait_for()
    visit.wait()
    table = list(csv.DictReader(io.StringIO(download(page, "CSV").decode("utf-8-sig"))))
    assert 0 < len(table) < 10_000
    assert table[0]["original"] == "The cat saw dog 0."
    expect(page.get_by_text("stopped: what was done is kept")).to_be_visible()


def test_no_shortcut_fires_while_typing_lines(visitor: Visitor) -> None:
    visit = visitor("translate")
    box = visit.page.get_by_role("textbox", name="Sentences, one a line")
    box.fill("")
    box.press_sequentially("r c R C 1 ? /")
    expect(box).to_have_value("r c R C 1 ? /")
