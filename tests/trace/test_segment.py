"""Words of a sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas.trace.segment import word_spans


def words(text: str) -> list[str]:
    return [text[start:end] for start, end in word_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I'm sure he didn't.", ["I'm", "sure", "he", "didn't", "."]),
        ("L'animal n'a pas", ["L'", "animal", "n'", "a", "pas"]),
        ("parce qu\u2019il, aujourd'hui", ["parce", "qu\u2019", "il", ",", "aujourd'hui"]),
        ("j't'aime, quelqu'un", ["j'", "t'", "aime", ",", "quelqu'un"]),
        ("rock'n'roll 'hello'", ["rock'n'roll", "'", "hello", "'"]),
        ("2019 2020, 1E1; 2026-01", ["2019", "2020", ",", "1E1", ";", "2026", "-", "01"]),
        ("love 🦊🦊 you", ["love", "🦊🦊", "you"]),
        ("❤\ufe0f! 👩\u200d💻", ["❤\ufe0f!", "👩\u200d💻"]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        ("cafe\u0301 \u0301x", ["cafe\u0301", "\u0301x"]),
        ("Quoi ?!", ["Quoi", "?!"]),
        ("", []),
        (" \n\t\u00a0", []),
    ],
)
def test_words_are_runs_with_contractions_whole_and_elisions_cut(text: str, expected: list[str]):
    assert words(text) == expected


@given(st.text())
def test_words_hold_every_character_that_is_no_white_space_once_and_in_order(text: str):
    spans = word_spans(text)
    assert all(start < end for start, end in spans)
    assert all(one[1] <= two[0] for one, two in zip(spans, spans[1:], strict=False))
    assert "".join(words(text)) == "".join(character for character in text if not character.isspace())
