"""The whole way from a sentence to a node of its search without a mouse, and every stop can be seen."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Page, expect

from tests.browser.conftest import Visitor
from tests.browser.drive import Visit

MOST_STOPS = 120
FRAMED = ("textarea", "input", "combobox", "spinbutton")
"""Fields of Streamlit: their frame takes the primary colour instead of a ring."""
FOCUSED = """() => {
    let now = document.activeElement;
    while (now?.shadowRoot?.activeElement) now = now.shadowRoot.activeElement;
    const rings = (node) => {
        const style = getComputedStyle(node);
        const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
        const drawn = node instanceof SVGElement && style.stroke !== "none";
        return outlined || drawn || style.boxShadow !== "none";
    };
    // The ring may be on what surrounds the element (boxes of Streamlit), or on what a picture of ours draws.
    const around = [now, now.parentElement, now.parentElement?.parentElement, ...now.querySelectorAll("*")];
    const labels = now.labels ? [...now.labels].map((label) => label.innerText).join(" ") : "";
    return {
        told: now.getAttribute("aria-description"),
        name: (now.getAttribute("aria-label") || labels || now.innerText || "").trim(),
        role: now.getAttribute("role") || now.tagName.toLowerCase(),
        seen: around.some((node) => node && rings(node)),
    };
}"""
"""Name and role of what has the focus, in whatever shadow tree, and whether something shows that it has."""


def tab_to(page: Page, name: str, role: str = "", key: str = "Tab") -> dict[str, Any]:
    """Press Tab until an element with such a name (a pattern) has the focus.

    All stops on the way must have a name, and show that they have the focus.
    """
    for _ in range(MOST_STOPS):
        page.keyboard.press(key)
        now: dict[str, Any] = page.evaluate(FOCUSED)
        if now["role"] not in ("body", "html"):
            assert now["name"], now
            assert now["seen"] or now["role"] in FRAMED, now
        if re.search(name, now["name"]) and role in ("", now["role"]):
            return now
    raise AssertionError(f"no stop of the Tab key is named {name!r}")


def walk(visit: Visit, *keys: str) -> None:
    for key in keys:
        visit.page.keyboard.press(key)
    visit.wait()


def test_from_a_sentence_to_a_node_by_keys_alone(visitor: Visitor) -> None:
    visit = visitor("translate", beam="3", limit="6")
    page = visit.page
    tab_to(page, "Sentence", "textarea")
    walk(visit, "Control+a")
    page.keyboard.type("We eat bread.")
    tab_to(page, "Translate", "button")
    walk(visit, "Enter")
    expect(page.locator(".atlas-translation").first).to_be_visible()
    tab_to(page, r"\bAttention$", "a", key="Shift+Tab")
    walk(visit, "Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Attention")
    expect(page.get_by_role("textbox", name="Sentence")).to_have_value("We eat bread.")

    tab_to(page, "Arrow keys choose a head", "listbox")
    walk(visit, "ArrowDown", "ArrowRight", "ArrowRight")
    expect(page.get_by_role("heading", name="layer 2 · head 3", exact=True)).to_be_visible()
    assert page.evaluate(FOCUSED)["role"] == "listbox", "the focus stays where it was"
    first = tab_to(page, "^query ")
    assert re.fullmatch(r"Most weight on: (\S+ [01]\.\d\d, ){2}\S+ [01]\.\d\d", first["told"])
    walk(visit, "ArrowDown", "ArrowDown")
    third = page.evaluate(FOCUSED)["name"]
    walk(visit, "Enter")
    pressed = page.locator('div.lines .word[aria-pressed="true"]')
    expect(pressed).to_have_attribute("aria-label", third)
    assert page.evaluate(FOCUSED)["name"] == third, "the focus stays on the word that was chosen"
    walk(visit, "ArrowRight")
    assert page.evaluate(FOCUSED)["name"].startswith("key ")
    assert page.locator('div.lines .word[tabindex="0"]').count() == 1, "all words are one stop of the Tab key"

    tab_to(page, r"\bBeam search$", "a", key="Shift+Tab")
    walk(visit, "Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Beam search")
    tab_to(page, "Search tree:", "application")
    before = page.locator('[data-testid="stHeading"] h3').first.inner_text()
    walk(visit, "ArrowLeft", "ArrowLeft", "ArrowDown")
    spoken = page.locator('.tree [data-part="spoken"]')
    expect(spoken).not_to_be_empty()
    told = spoken.inner_text()
    assert told.replace("\\n", " ").split()[0] in page.locator('.tree [data-part="tip"]').inner_text()
    walk(visit, "Enter")
    after = page.locator('[data-testid="stHeading"] h3').first.inner_text()
    assert after != before, "another node is explained"
    assert page.evaluate(FOCUSED)["role"] == "application"
