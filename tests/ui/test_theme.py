"""The colours of both themes: what is written on a button or on a page can be read."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from atlas.figures.style import contrast

THEMES = tomllib.loads((Path(__file__).parents[2] / ".streamlit" / "config.toml").read_text())["theme"]


@pytest.mark.parametrize("name", ["light", "dark"])
def test_white_on_the_primary_button_and_text_on_the_page_are_readable(name: str) -> None:
    theme = THEMES[name]
    assert contrast("#ffffff", theme["primaryColor"]) >= 4.5
    assert contrast(theme["primaryColor"], theme["backgroundColor"]) >= 3.0
    for ground in ("backgroundColor", "secondaryBackgroundColor"):
        assert contrast(theme["textColor"], theme[ground]) >= 7.0
