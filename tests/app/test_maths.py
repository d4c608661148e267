"""Formulas in the pages: Streamlit sets a formula of several lines only when its dollar signs stand alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted([*ROOT.glob("pages/*.py"), *ROOT.glob("atlas/ui/**/*.py")])


@pytest.mark.parametrize("source", [path for path in SOURCES if "$$" in path.read_text(encoding="utf-8")])
def test_formulas_of_several_lines_are_fenced(source: Path) -> None:
    formulas = re.findall(r"\$\$(.*?)\$\$", source.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert formulas
    broken = [text for text in formulas if "\n" in text and not (text[0] == text[-1] == "\n")]
    assert not broken
