"""From pieces to labels, spans and words."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas.text.tokenizer import SPECIAL_IDS, Tokenizer
from atlas.trace import TraceError, decode_pieces, label_tokens, visible
from atlas.trace.pieces import BYTE_TO_CHARACTER, encode_text, piece_bytes
from tests.traces import EMOJI, HTML_LIKE, REPEATED, make_tokens

REPLACEMENT = "\ufffd"
SPECIAL = {0, 1, 2}


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    """A real one, so small that many words fall apart."""
    texts = ["The animal didn't cross the street.", "L'animal n'a pas traversé la rue.", "été café naïve"]
    return Tokenizer.train(texts, 300)


def labelled(text: str, *pieces: str):
    return label_tokens(text, pieces, range(10, 10 + len(pieces)), SPECIAL)


def labels(text: str, *pieces: str) -> list[str]:
    return [token.label for token in labelled(text, *pieces)]


def cut(data: str, places: list[int]) -> list[str]:
    """Cut a string of byte characters at the given places."""
    inner = {place % (len(data) + 1) for place in places}
    edges = sorted({0, len(data), *inner})
    return [data[start:end] for start, end in pairwise(edges)]


def test_the_byte_alphabet_is_that_of_gpt2():
    assert len(set(BYTE_TO_CHARACTER.values())) == 256
    assert [BYTE_TO_CHARACTER[byte] for byte in (0x20, 0x0A, 0x41, 0xC3, 0xAD)] == ["Ġ", "Ċ", "A", "Ã", "Ń"]


@given(st.binary())
def test_pieces_and_bytes_are_one_to_one(data: bytes):
    assert piece_bytes("".join(BYTE_TO_CHARACTER[byte] for byte in data)) == data


@given(st.text(), st.lists(st.integers(0, 1000)))
def test_any_cut_of_any_text_reads_back_with_spans_that_cover_it(text: str, places: list[int]):
    pieces = cut(encode_text(" " + text), places)
    assert decode_pieces(pieces) == text
    tokens = label_tokens(text, pieces, range(3, 3 + len(pieces)), SPECIAL)
    covered = set()
    for token in tokens:
        assert token.text == text[token.start : token.end]
        assert token.label and REPLACEMENT not in token.label
        covered |= set(range(token.start, token.end))
    assert {text[place] for place in set(range(len(text))) - covered} <= {" "}
    assert [token.word for token in tokens] == sorted(token.word for token in tokens)
    assert {token.word for token in tokens} == set(range(len({token.word for token in tokens})))


@given(st.binary(), st.lists(st.integers(0, 1000)))
@pytest.mark.case("T8")
def test_bytes_that_spell_nothing_are_shown_as_bytes_and_never_as_replacement_marks(
    data: bytes, places: list[int]
):
    pieces = cut("".join(BYTE_TO_CHARACTER[byte] for byte in data), places) if data else []
    tokens = label_tokens(None, pieces, range(3, 3 + len(pieces)), SPECIAL)
    text = decode_pieces(pieces)
    assert all(REPLACEMENT not in token.label and token.label for token in tokens)
    assert all(token.text == text[token.start : token.end] for token in tokens)
    if b"\xef\xbf\xbd" not in data:
        assert REPLACEMENT not in text


@pytest.mark.case("T8")
def test_pieces_of_a_split_character_are_numbered_and_span_it_whole():
    fox = encode_text("🦊")
    tokens = labelled("I 🦊!", "ĠI", "Ġ" + fox[:1], fox[1:2], fox[2:3], fox[3:] + "!")
    assert [token.label for token in tokens] == ["I", "🦊 1/4", "🦊 2/4", "🦊 3/4", "🦊 4/4 !"]
    assert [(token.start, token.end) for token in tokens] == [(0, 1), (2, 3), (2, 3), (2, 3), (2, 4)]
    assert {token.word for token in tokens[1:]} == {1}
    both = encode_text("é") + encode_text("è")
    assert labels("éè", "Ġ" + both[0], both[1:3], both[3]) == ["é 1/2", "é 2/2 è 1/2", "è 2/2"]


@pytest.mark.case("T8")
def test_a_character_cut_by_the_end_of_the_output_is_shown_as_its_bytes():
    fox = encode_text("🦊")
    pieces = ["Ġhi", "Ġ" + fox[:2], fox[2:3]]
    assert decode_pieces(pieces) == "hi ‹F0 9F A6›"
    tokens = label_tokens(None, pieces, [3, 4, 5], SPECIAL)
    assert [token.label for token in tokens] == ["hi", "‹F0 9F›", "‹A6›"]
    assert [token.text for token in tokens] == ["hi", "‹F0 9F A6›", "‹F0 9F A6›"]


@pytest.mark.case("T7")
def test_white_space_and_zero_width_characters_are_visible():
    text = "a  b\n\tc\u200bd\u00a0e\ufeff"
    assert labels(text, "Ġa", "Ġ", "Ġb", "Ċĉ", "c", encode_text("\u200b"), "d", encode_text("\u00a0"), "e",
                  encode_text("\ufeff")) == [
        "a", "␣", "b", "↵⇥", "c", "‹ZWSP›", "d", "‹NBSP›", "e", "‹BOM›",
    ]  # fmt: skip
    tokens = labelled("a  b", "Ġa", "Ġ", "Ġb")
    assert [token.word for token in tokens] == [0, 1, 2]
    assert [(token.start, token.end) for token in tokens] == [(0, 1), (1, 2), (3, 4)]


@pytest.mark.case("T7")
@given(st.characters(categories=["Cc", "Cf", "Zs", "Zl", "Zp", "Co", "Cn"]))
def test_no_unseen_character_is_left_in_a_label(character: str):
    shown = visible(f"a{character}b")
    assert character not in shown and len(shown) > 2


def test_marks_are_visible_when_they_stand_alone():
    assert visible("\u0301") == "◌\u0301" and visible("e\u0301") == "e\u0301"
    assert visible("\ufe0f") == "‹U+FE0F›" and visible("❤\ufe0f") == "❤\ufe0f"
    assert visible("a\ufe0f \u0301") == "a‹U+FE0F›␣◌\u0301"
    assert visible(REPLACEMENT) == "‹U+FFFD›" and visible("\x00\u202e") == "␀‹U+202E›"


def test_the_virtual_space_alone_is_a_piece_of_no_character():
    tokens = labelled(" x", "Ġ", "Ġx")
    assert [(token.start, token.end, token.label, token.word) for token in tokens] == [
        (0, 0, "␣", 0),
        (1, 2, "x", 1),
    ]


@pytest.mark.case("T10")
def test_typed_control_tokens_are_text():
    tokens = label_tokens(
        "</s> <pad>", ["Ġ</", "s", ">", "Ġ<", "pad", ">", "</s>"], [9, 8, 7, 6, 5, 7, 2], SPECIAL
    )
    assert [token.special for token in tokens] == [False] * 6 + [True]
    assert "".join(token.text for token in tokens[:3]) == "</s>"
    end = tokens[-1]
    assert (end.text, end.label, end.word, end.start, end.end) == ("</s>", "</s>", -1, 10, 10)


@pytest.mark.case("T1")
def test_repeated_words_are_tokens_of_their_own():
    assert [token.label for token in make_tokens(REPEATED)[:-1]] == REPEATED.split()


@pytest.mark.case("T2")
@pytest.mark.parametrize("text", ["2019 2020", "1E1", "5 or more", "+1 1_000"])
def test_labels_are_as_typed(text: str):
    pieces = [encode_text(" " + word) for word in text.split()]
    assert labels(text, *pieces) == text.split()


@pytest.mark.case("T3")
def test_labels_are_not_escaped_here_and_lose_nothing():
    assert "".join(token.label for token in make_tokens(HTML_LIKE)[:-1]) == HTML_LIKE.replace(" ", "")


@pytest.mark.case("T11")
def test_both_ways_to_write_an_accent_have_the_same_tokens():
    assert make_tokens("café") == make_tokens(unicodedata.normalize("NFD", "café"))


@pytest.mark.parametrize(
    "text", ["The animal didn't cross.", EMOJI, HTML_LIKE, "", "  été\n\tnaïve 中文 ", "\u200b\u0301"]
)
def test_a_real_tokenizer_spells_the_text(tokenizer: Tokenizer, text: str):
    ids = tokenizer.source(text)
    tokens = label_tokens(text, tokenizer.pieces(ids), ids, SPECIAL_IDS)
    assert [token.id for token in tokens] == ids and tokens[-1].special
    assert all(token.text == text[token.start : token.end] for token in tokens[:-1])


def test_pieces_that_spell_something_else_are_refused():
    with pytest.raises(TraceError, match="'ab' and not the text 'ac'"):
        labelled("ac", "Ġa", "b")
    with pytest.raises(TraceError, match="stands for no byte"):
        labelled("a", "▁a")
    with pytest.raises(TraceError, match="1 pieces have 2 ids"):
        label_tokens("a", ["Ġa"], [3, 4], SPECIAL)
