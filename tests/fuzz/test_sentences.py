"""Any text at all, through the engine: a translation, a valid trace, or one clear line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given

from atlas import limits
from atlas.decoding import SearchOptions
from atlas.engine import Engine
from atlas.errors import AtlasError
from atlas.text.tables import TABLE_FORMATS, write_table
from atlas.text.tokenizer import Tokenizer, normalise
from atlas.trace import Trace, view
from atlas.ui.models import SharedEngine
from tests.fuzz.conftest import FUZZ
from tests.fuzz.strategies import HALF, WORST, sentences

SHORT = SearchOptions(beam=2, n_best=2, max_length=4)


@pytest.fixture(scope="module")
def engine(tiny_bundle: Path) -> Engine:
    return Engine.load(tiny_bundle)


def one_line(error: Exception) -> None:
    message = str(error)
    assert len(message.splitlines()) == 1 and len(message) < 500


def sound(trace: Trace, sentence: str) -> None:
    """What every page relies on."""
    trace.validate()
    assert trace.source == normalise(sentence)
    for kind in ("encoder", "cross", "decoder"):
        for unit in ("pieces", "words"):
            seen = view(trace, kind, layer=0, head=0, unit=unit)
            assert seen.weights.shape == (len(seen.query_labels), len(seen.key_labels))
    json.dumps([token.label for token in trace.source_tokens], ensure_ascii=False).encode()


@pytest.mark.parametrize("sentence", [*WORST.values(), *HALF], ids=[*WORST, "half 1", "half 2", "half 3"])
def test_the_worst_sentences(engine: Engine, sentence: str) -> None:
    try:
        trace = SharedEngine(engine).trace(sentence, SHORT)
    except AtlasError as error:
        one_line(error)
        assert SharedEngine(engine).translate([sentence], SHORT)[0].note == str(error)
    else:
        sound(trace, sentence)


@given(sentence=sentences)
@FUZZ
def test_any_sentence_has_a_valid_trace_or_one_line(engine: Engine, sentence: str) -> None:
    try:
        trace = engine.trace(sentence, SHORT)
    except AtlasError as error:
        one_line(error)
    else:
        sound(trace, sentence)


@given(sentence=sentences)
@FUZZ
def test_any_list_is_answered_one_for_one(engine: Engine, sentence: str) -> None:
    found = engine.translate(["I love you.", sentence, "It rains."], SHORT)
    assert [bool(one.hypotheses) for one in found][::2] == [True, True]
    if not found[1].hypotheses:
        assert found[1].note
        one_line(Exception(found[1].note))


@given(sentence=sentences)
@FUZZ
def test_encoding_gives_back_the_text(tokenizer: Tokenizer, sentence: str) -> None:
    try:
        ids = tokenizer.encode(sentence)
    except AtlasError as error:
        one_line(error)
        assert not sentence.isascii()
    else:
        assert tokenizer.decode(ids) == normalise(sentence)
        assert not {0, 1, 2} & set(ids)


@given(sentence=sentences, target=sentences)
@FUZZ
def test_any_forced_translation(engine: Engine, sentence: str, target: str) -> None:
    try:
        trace = SharedEngine(engine).trace(sentence, SHORT, target=target)
    except AtlasError as error:
        one_line(error)
    else:
        sound(trace, sentence)


@given(text=sentences)
@FUZZ
def test_any_text_can_be_written_as_a_table(text: str) -> None:
    for kind in TABLE_FORMATS:
        assert write_table({"a": [text, "b"], "n": [1, 2.5]}, kind)


def test_the_limit_of_characters_is_the_address_s(engine: Engine) -> None:
    with pytest.raises(limits.LimitExceeded):
        SharedEngine(engine).trace("a" * (limits.SENTENCE.value + 1), SHORT)
