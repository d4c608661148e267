"""Words of a translation, their probability, and their markup."""

from __future__ import annotations

import html
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas.ui.markup import tinted
from atlas.ui.words import WordSpan, group_words, target_words
from tests.traces import EMOJI, HTML_LIKE, TARGET, make_trace

MARKUP = ("<s>", "<b>x</b>", "<a href=x>", "&lt;", "<img src=x onerror=alert(1)>", "</script>", "\"'><i>")


def test_a_word_has_the_product_of_its_pieces() -> None:
    trace = make_trace(target=TARGET)
    best = int(trace.hypotheses[0])
    words = target_words(trace, best)
    text = trace.text(best)
    assert [text[word.start : word.end] for word in words] == [word.text for word in words]
    assert sum(word.pieces for word in words) == len([t for t in trace.target_tokens(best) if not t.special])
    end = trace.search.logprob[best]
    product = math.prod(word.probability for word in words)
    assert product == pytest.approx(math.exp(trace.search.cumulative[best] - end))


def test_every_hypothesis_has_words_of_its_own() -> None:
    trace = make_trace(beam=4, n_best=4)
    for node in trace.hypotheses.tolist():
        text = trace.text(node)
        assert "".join(word.text for word in target_words(trace, node)) == re.sub(r"\s", "", text)


@pytest.mark.case("T4")
def test_a_split_character_belongs_to_one_word() -> None:
    trace = make_trace(EMOJI, EMOJI)
    words = target_words(trace, int(trace.hypotheses[0]))
    assert [word.text for word in words if "🦊" in word.text] == ["🦊"]
    assert all("\ufffd" not in word.text for word in words)


@pytest.mark.case("T6")
@pytest.mark.parametrize("target", ["", "Oui", "."])
def test_short_translations(target: str) -> None:
    trace = make_trace("Hi", target)
    words = target_words(trace, int(trace.hypotheses[0]))
    assert [word.text for word in words] == ([target] if target else [])
    assert group_words("", (), ()) == []


@pytest.mark.case("T3")
@pytest.mark.parametrize("text", [*MARKUP, HTML_LIKE])
def test_markup_in_a_translation_is_text(text: str) -> None:
    trace = make_trace(text, text)
    node = int(trace.hypotheses[0])
    body = tinted(target_words(trace, node), trace.text(node))
    assert set(re.findall(r"</?([a-zA-Z]+)", body)) <= {"span"}
    assert html.unescape(re.sub(r"</?span[^>]*>", "", body)) == trace.text(node)


@given(st.text(max_size=30), st.integers(0, 29), st.integers(1, 10))
def test_what_lies_between_words_is_kept(text: str, start: int, length: int) -> None:
    end = min(start + length, len(text))
    words = [WordSpan(text[start:end], start, end, 0.5, 1)] if start < end else []
    assert html.unescape(re.sub(r"</?span[^>]*>", "", tinted(words, text))) == text
