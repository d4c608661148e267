"""Contrast of what axe-core does not see: faded text, tints, SVG, in both themes (WCAG 2.2 AA).

Text needs 4.5:1 with what is behind it, the parts of a picture that carry its meaning 3:1 (1.4.3, 1.4.11).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from atlas.figures import style
from atlas.figures.style import COLOURS, contrast
from atlas.ui.markup import _tint

ROOT = Path(__file__).parents[2]
THEMES = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())["theme"]
GROUNDS = ("backgroundColor", "secondaryBackgroundColor")
SHEETS = sorted([*(ROOT / "atlas" / "ui").rglob("*.css"), *(ROOT / "atlas" / "figures").rglob("*.css")])
SOURCES = sorted([*(ROOT / "atlas").rglob("*.py"), *(ROOT / "pages").glob("*.py")])
CAPTION = 0.6
"""Opacity that Streamlit gives to captions (measured)."""

DECORATION = {
    ".band": "the column of the step; the counter names it",
    ".choice line": "lines of words that were not chosen, dimmed so that the chosen ones are seen",
    ".edge.pruned": "an edge to a pruned node, which is drawn in full",
    ".gone": "what the search had left behind at the step that is shown; it is in full at its own step",
    ".node.pruned.gone": "as .gone",
    ".edge.gone": "as .gone",
}
"""Selectors of pictures that may be paler than 3:1, and what carries the meaning instead."""
SWITCHED_OFF = ":disabled"
"""Controls that are switched off are free (1.4.3)."""


def mix(front: str, back: str, opacity: float) -> str:
    """What is seen of ``front`` at an opacity over ``back``."""
    channels = zip(*(bytes.fromhex(colour[1:]) for colour in (front, back)), strict=True)
    return "#" + "".join(f"{round(opacity * one + (1 - opacity) * other):02x}" for one, other in channels)


def rules(sheet: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Selector and declarations of every rule of a style sheet."""
    text = re.sub(r"/\*.*?\*/|@media[^{]*\{", "", sheet.read_text(encoding="utf-8"), flags=re.DOTALL)
    for selectors, body in re.findall(r"([^{}]+)\{([^{}]*)\}", text):
        pairs = (part.partition(":") for part in body.split(";") if ":" in part)
        declared = {name.strip(): value.strip() for name, _, value in pairs}
        for selector in selectors.split(","):
            yield selector.strip(), declared


FADED = [
    (f"{sheet.name} {selector}", float(declared["opacity"]))
    for sheet in SHEETS
    for selector, declared in rules(sheet)
    if "opacity" in declared and selector not in DECORATION and SWITCHED_OFF not in selector
]
INLINE = [
    (f"{source.name}:{text[: match.start()].count(chr(10)) + 1}", float(match[1]))
    for source in SOURCES
    for text in [source.read_text(encoding="utf-8")]
    for match in re.finditer(r"[\";>]opacity:(\.?\d[\d.]*)", text)
]


@pytest.fixture(params=["light", "dark"])
def theme(request: pytest.FixtureRequest) -> dict[str, str]:
    return {**THEMES[request.param], "dark": request.param == "dark"}


def test_something_was_found() -> None:
    assert len(SHEETS) >= 9 and len(FADED) >= 12 and len(INLINE) >= 8
    selectors = {selector for sheet in SHEETS for selector, _ in rules(sheet)}
    assert DECORATION.keys() <= selectors, "an exception for a rule that is gone"


@pytest.mark.parametrize(("where", "opacity"), [("caption", CAPTION), *FADED, *INLINE])
def test_faded_text_can_be_read(theme: dict[str, str], where: str, opacity: float) -> None:
    for ground in GROUNDS:
        seen = mix(theme["textColor"], theme[ground], opacity)
        assert contrast(seen, theme[ground]) >= 4.5, f"{where} on {ground}"


def test_figures_are_drawn_for_these_pages(theme: dict[str, str]) -> None:
    assert style.background(bool(theme["dark"])) == theme["backgroundColor"]


@pytest.mark.parametrize("meaning", COLOURS)
def test_colours_of_meanings(theme: dict[str, str], meaning: str) -> None:
    """As a shape, as text, and behind the text that components write on them."""
    ground, text = theme["backgroundColor"], theme["textColor"]
    assert contrast(COLOURS[meaning], ground) >= 3.0
    assert contrast(style.text_colour(meaning, bool(theme["dark"])), ground) >= 4.5
    for share in (0.16, 0.34, 0.4):  # a box of the architecture, under the pointer, a switch
        tinted = mix(COLOURS[meaning], ground, share)
        assert contrast(text, tinted) >= 4.5
        if share < 0.4:
            assert contrast(mix(text, tinted, 0.8), tinted) >= 4.5  # the note of a box


@pytest.mark.parametrize("probability", [0.0, 0.25, 0.5, 0.75, 1.0])
def test_words_on_their_tint(theme: dict[str, str], probability: float) -> None:
    share = int(re.search(r"(\d+)%", _tint(probability))[1]) / 100  # type: ignore[index]
    for ground in GROUNDS:
        assert contrast(theme["textColor"], mix(COLOURS["decoder"], theme[ground], share)) >= 4.5


@pytest.mark.parametrize("name", style.SERIES)
def test_curves(theme: dict[str, str], name: str) -> None:
    assert contrast(name, theme["backgroundColor"]) >= 3.0


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.name)
def test_no_text_is_written_in_the_primary_colour(sheet: Path) -> None:
    """It is made for white on it; on the dark page it has 4.2. Rings, frames and tracks may have it."""
    for selector, declared in rules(sheet):
        assert "primary-color" not in declared.get("color", ""), selector


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.name)
def test_a_focus_that_is_hidden_is_shown_in_another_way(sheet: Path) -> None:
    hidden = {selector for selector, declared in rules(sheet) if declared.get("outline") == "none"}
    shown = {
        selector.split(":focus-visible")[0] for selector, _ in rules(sheet) if ":focus-visible" in selector
    }
    assert hidden <= shown
