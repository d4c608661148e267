"""The tokenizer: nothing unknown, nothing lost, typed control tokens are text, labels know their place."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas.text.tokenizer import (
    END_ID,
    PAD_ID,
    SPECIAL_IDS,
    START_ID,
    Tokenizer,
    TokenizerError,
    normalise,
)
from atlas.trace import Token, label_tokens
from tests.conftest import ENGLISH, FRENCH

OURS = Tokenizer.train([*ENGLISH, *FRENCH] * 3, 400)
REREAD = Tokenizer.from_json(OURS.to_json())
CONTROLS = ["</s>", "<s>", "<pad>"]
parts = st.sampled_from(
    [*ENGLISH, *FRENCH, *CONTROLS, "🦊", "e\u0301", "\u0301", "\u200b", "\n", "\t", "  ", "l’"]
)
texts = st.text() | st.lists(parts | st.text(max_size=4), max_size=6).map("".join)
both = pytest.mark.parametrize("tokenizer", [OURS, REREAD], ids=["trained", "saved and loaded"])


def labelled(text: str) -> tuple[Token, ...]:
    ids = OURS.source(text)
    return label_tokens(normalise(text), OURS.pieces(ids), ids, SPECIAL_IDS)


@both
@settings(max_examples=150, deadline=None)
@given(text=texts)
def test_any_text_comes_back_exactly_and_holds_no_control_id(tokenizer: Tokenizer, text: str):
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == unicodedata.normalize("NFC", text)
    assert not set(ids) & set(SPECIAL_IDS)
    assert all(0 <= token < len(tokenizer) for token in ids)
    assert ids == OURS.encode(text), "saving changes nothing"
    assert tokenizer.encode_batch([text, "x", text]) == [ids, tokenizer.encode("x"), ids]
    assert tokenizer.source(text) == [*ids, END_ID]
    assert tokenizer.decode([START_ID, *ids, END_ID, PAD_ID]) == normalise(text)


@pytest.mark.case("T10")
@both
@pytest.mark.parametrize("typed", CONTROLS)
@pytest.mark.parametrize("frame", ["{}", "a {} b", "{}{}", "a{}"])
def test_typed_control_tokens_are_text(tokenizer: Tokenizer, typed: str, frame: str):
    text = frame.format(typed, typed)
    ids = tokenizer.encode(text)
    assert not set(ids) & set(SPECIAL_IDS)
    assert tokenizer.encode_batch([text]) == [ids]
    assert tokenizer.decode(ids) == text
    assert [token.special for token in labelled(text)] == [False] * len(ids) + [True]


@pytest.mark.case("T11")
@settings(deadline=None)
@given(texts)
def test_both_ways_to_write_an_accent_are_the_same_sentence(text: str):
    forms = [unicodedata.normalize(form, text) for form in ("NFC", "NFD")]
    assert OURS.encode(forms[0]) == OURS.encode(forms[1])
    assert OURS.encode_batch(forms) == [OURS.encode(forms[0])] * 2
    first, second = (labelled(form) for form in forms)
    assert first == second


@pytest.mark.case("T4")
@pytest.mark.parametrize("strange", ["🦊", "漢字", "\u200d", "\x00", "ﷺ", "👩‍👩‍👧"])
def test_words_around_a_strange_character_keep_their_pieces(strange: str):
    ids = OURS.encode(f"I love {strange} and you.")
    before, after = OURS.encode("I love"), OURS.encode("and you.")
    assert ids[: len(before)] == before and ids[-len(after) :] == after


@settings(deadline=None)
@given(st.lists(st.from_regex(r"[a-zé]+", fullmatch=True), min_size=1, max_size=6))
def test_a_word_has_the_same_pieces_wherever_it_stands(words: list[str]):
    words = [normalise(word) for word in words]
    assert OURS.encode(" ".join(words)) == [token for word in words for token in OURS.encode(word)]


def test_elided_words_and_digits_are_pieces_of_their_own():
    pieces = OURS.pieces(OURS.encode("L'animal d'hier 2026"))
    assert not any("'" in piece and not piece.endswith("'") for piece in pieces)
    assert pieces[-4:] == ["2", "0", "2", "6"]


@pytest.mark.case("T8")
@settings(max_examples=150, deadline=None)
@given(texts)
def test_every_token_knows_its_characters(text: str):
    stored = normalise(text)
    tokens = labelled(text)
    assert tokens[-1].special and tokens[-1].label == "</s>"
    covered: set[int] = set()
    for token in tokens[:-1]:
        assert token.text == stored[token.start : token.end]
        assert "\ufffd" not in token.label and token.label
        assert token.word >= 0 and not token.special
        covered |= set(range(token.start, token.end))
    starts = [token.start for token in tokens]
    assert starts == sorted(starts)
    missing = [stored[place] for place in range(len(stored)) if place not in covered]
    assert set(missing) <= {" "}, "only the space before a word goes without saying"


@pytest.mark.case("T8")
def test_a_character_of_four_pieces_is_numbered():
    tokens = labelled("I love 🦊.")
    fox = [token for token in tokens if token.text == "🦊"]
    assert [token.label for token in fox] == ["🦊 1/4", "🦊 2/4", "🦊 3/4", "🦊 4/4"]
    assert {(token.start, token.end) for token in fox} == {(7, 8)}
    assert tokens[-2].text == "." and tokens[-2].start == 8


@pytest.mark.case("T9")
def test_labels_come_from_the_pieces_of_their_own_side():
    """Two tokenizers number their pieces differently; each side's pieces spell its own text."""
    other = Tokenizer.train(FRENCH * 3, 330)
    text = "Le chat dort."
    ours, theirs = OURS.encode(text), other.encode(text)
    assert ours != theirs
    for side, ids in ((OURS, ours), (other, theirs)):
        tokens = label_tokens(text, side.pieces(ids), ids, SPECIAL_IDS)
        assert {token.word for token in tokens} == {0, 1, 2, 3}
    wrong = label_tokens(None, other.pieces([token % len(other) for token in ours]), ours, SPECIAL_IDS)
    assert [token.text for token in wrong] != [
        token.text for token in label_tokens(text, OURS.pieces(ours), ours, SPECIAL_IDS)
    ]


def test_words_of_a_sentence():
    tokens = labelled("The animal didn't cross l'avenue.")
    words: dict[int, str] = {}
    for token in tokens[:-1]:
        words[token.word] = words.get(token.word, "") + token.text
    assert list(words.values()) == ["The", "animal", "didn't", "cross", "l'", "avenue", "."]


def test_ids_that_form_no_character_keep_their_bytes():
    fox = OURS.encode("🦊")
    assert OURS.decode(fox[:-1]) == "‹F0 9F A6›"
    assert OURS.decode([*OURS.encode("Hi"), *fox[1:3], *OURS.encode("you")]) == "Hi‹F0 9F› you"


def test_training_learns_the_same_pieces_again():
    again = Tokenizer.train([*ENGLISH, *FRENCH] * 3, 400)
    assert again.to_json() == OURS.to_json()
    assert len(again) == 400
    assert again.pieces(SPECIAL_IDS) == ["<pad>", "<s>", "</s>"]


def test_a_control_token_in_the_training_text_is_text_too():
    trained = Tokenizer.train(["</s> is a mark"] * 9, 300)
    assert trained.decode(trained.encode("</s>")) == "</s>"
    assert END_ID not in trained.encode("</s>")


@pytest.mark.parametrize("token", [-1, 400, 2**40, 2**70])
def test_an_id_that_does_not_exist_is_one_line(token: int):
    with pytest.raises(TokenizerError, match=f"^no token has the id {token}; ids go from 0 to 399$"):
        OURS.piece(token)


def test_half_a_character_is_refused_in_one_line():
    for read in (OURS.encode, OURS.source, lambda text: OURS.encode_batch(["a", text])):
        with pytest.raises(
            TokenizerError, match=r"^the text holds half a character \(a lone surrogate, place 3\)$"
        ):
            read("ab\ud83d")


def test_a_file_and_back(tmp_path: Path):
    path = tmp_path / "tokenizer.json"
    path.write_text(OURS.to_json(), encoding="utf-8")
    assert Tokenizer.load(path).to_json() == OURS.to_json()


def test_padding_and_truncation_in_a_file_are_switched_off(tmp_path: Path):
    content = json.loads(OURS.to_json())
    content["truncation"] = {"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0}
    content["padding"] = {
        "strategy": {"Fixed": 50},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "<pad>",
    }
    changed = Tokenizer.from_json(json.dumps(content))
    assert changed.encode(ENGLISH[0]) == OURS.encode(ENGLISH[0])


@pytest.mark.case("M6")
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a tokenizer: "),
        (b"{}", "not a tokenizer: "),
        (b"\xff\xfe", "cannot be read as a tokenizer: "),
        (b"\x80\x04\x95cos\nsystem\n", "cannot be read as a tokenizer: "),
    ],
)
def test_a_damaged_file_is_one_line_that_names_it(tmp_path: Path, content: bytes, message: str):
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(TokenizerError) as caught:
        Tokenizer.load(path)
    assert str(caught.value).startswith(f"{path}: {message}") and "\n" not in str(caught.value)
    with pytest.raises(TokenizerError, match="cannot be read as a tokenizer"):
        Tokenizer.load(tmp_path / "nowhere.json")


@pytest.mark.case("M6")
def test_a_foreign_tokenizer_without_our_control_tokens_is_refused(tmp_path: Path):
    content = json.loads(OURS.to_json())
    content["added_tokens"][0]["content"], content["added_tokens"][1]["content"] = "<s>", "<pad>"
    vocabulary = content["model"]["vocab"]
    vocabulary["<s>"], vocabulary["<pad>"] = 0, 1
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(TokenizerError) as caught:
        Tokenizer.load(path)
    assert str(caught.value) == f"{path}: the tokenizer must hold <pad> as id 0; it says 1"
