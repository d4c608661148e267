"""Every page, light and dark, through axe-core: no fault that it calls serious or critical.

What axe-core cannot see (text in SVG, canvases, colours of figures) is in ``tests/ui/test_contrast.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlparse

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

from atlas.ui.navigation import PAGES
from tests.browser.conftest import Visitor
from tests.browser.drive import Visit, running_server

GRAVE = ("serious", "critical")
VIEWS: dict[str, tuple[dict[str, str], ...]] = {
    "translate": ({}, {"input": "file"}),
    "attention": ({"kind": "cross", "unit": "words", "target": "Le chat dort."}, {"talk": "1"}),
    "beam_search": ({"beam": "2", "step": "3", "beside": "next"},),
    "heads": ({"kind": "cross", "metric": "coverage"},),
    "what_if": ({"heads": "e1.2:0"}, {"whatif": "prune"}, {"whatif": "explanation"}),
    "ancestors": ({},),
    "query_key_value": ({"stage": "6"},),
    "positions": ({}, {"part": "lab"}),
    "forward_pass": ({"stage": "2"}, {"stage": "9"}),
    "masks_cost": ({}, {"cost": "cache"}, {"cost": "memory"}),
    "architecture": ({}, {"built": "sizes"}),
    "training": ({}, {"part": "pair"}, {"part": "forming"}),
}
"""What is looked at of each page: the parts that show other controls."""


@dataclass(frozen=True)
class Known:
    """A fault that is not ours to mend.

    Attributes:
        rule: of axe-core.
        inside: a selector of the element that is at fault, or of one around it.
        why: whose it is, and what was tried.
    """

    rule: str
    inside: str
    why: str


KNOWN = (
    Known(
        "list",
        '[data-testid="stSidebarNavItems"]',
        "Streamlit puts each section of st.navigation into a <div> inside its <ul>. No argument changes "
        "that, and a list without sections is harder to read for everybody. Names and order are right.",
    ),
    Known("listitem", '[data-testid="stSidebarNavItems"]', "The items of those sections."),
)


@pytest.fixture(scope="module")
def address(shipped: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The shipped models, so that every part of every page has something to show."""
    with running_server(shipped.parent, tmp_path_factory.mktemp("server") / "log.txt") as address:
        yield address


def faults(page: Page) -> tuple[list[str], set[Known]]:
    """What axe-core finds that is grave and not known, a line each; and which known faults it found."""
    page.evaluate(AXE_SCRIPT)
    found: list[dict[str, Any]] = page.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
    lines, met = [], set()
    for violation in found:
        for node in violation["nodes"]:
            if (node["impact"] or violation["impact"]) not in GRAVE:
                continue
            excuse = next(
                (one for one in KNOWN if is_known(page, one, violation["id"], node["target"])), None
            )
            if excuse:
                met.add(excuse)
            else:
                problem = [*node["any"], *node["all"], *node["none"]][0]["message"]
                lines.append(f"{violation['id']}: {node['html'][:160]}: {problem}")
    return lines, met


def is_known(page: Page, known: Known, rule: str, target: list[Any]) -> bool:
    """Whether a fault is this known one; what lies in a shadow tree is always ours."""
    return (
        rule == known.rule
        and len(target) == 1
        and page.evaluate(
            "([at, inside]) => !!document.querySelector(at)?.closest(inside)", [target[0], known.inside]
        )
    )


def in_the_dark(visit: Visit) -> None:
    """The same view for a visitor whose system is dark; the page follows without being loaded anew."""
    visit.page.emulate_media(color_scheme="dark")
    visit.wait()
    ground = visit.page.locator('[data-testid="stApp"]').evaluate(
        "app => getComputedStyle(app).backgroundColor"
    )
    assert ground == "rgb(14, 17, 23)"


@pytest.mark.slow
@pytest.mark.parametrize("name", [entry.name for entry in PAGES])
def test_no_grave_fault(visitor: Visitor, address: str, name: str) -> None:
    met: set[Known] = set()
    for view in VIEWS[name]:
        visit = visitor(name, at=address, **view)
        asked = dict(parse_qsl(urlparse(visit.page.url).query))
        assert view.items() <= asked.items(), "this view is not in the address any more"
        for theme in ("light", "dark"):
            if theme == "dark":
                in_the_dark(visit)
            lines, known = faults(visit.page)
            assert lines == [], f"{name} {view} {theme}:\n" + "\n".join(lines)
            met |= known
    assert met == set(KNOWN), "a known fault is gone: take it off the list"


def test_axe_sees_what_is_wrong(visitor: Visitor) -> None:
    """A check of the checker, in the light tree and in a shadow tree."""
    visit = visitor("architecture")
    assert faults(visit.page)[0] == []
    visit.page.evaluate(
        """() => {
            const bad = '<button></button><p style="color:#999;background:#fff">pale</p>';
            const page = document.querySelector('[data-testid="stMainBlockContainer"]');
            page.insertAdjacentHTML("afterbegin", bad);
            const host = [...document.querySelectorAll("*")].find((one) => one.shadowRoot);
            host.shadowRoot.innerHTML = bad + host.shadowRoot.innerHTML;
        }"""
    )
    rules = sorted(line.split(":")[0] for line in faults(visit.page)[0])
    assert rules == ["button-name", "button-name", "color-contrast", "color-contrast"]
