"""Any address: a value that a page can use, or its default and a sentence that says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import streamlit
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from atlas import bundles
from atlas.ui.addresses import own_keys, shared_keys
from atlas.ui.keys import Key, read_address, write_address
from atlas.ui.navigation import PAGES
from tests.fuzz.conftest import DEEP, FUZZ, ROOT
from tests.fuzz.strategies import WORST, sentences

NAMES = [page.name for page in PAGES]
ODD = (
    *(
        "",
        " ",
        "0",
        "-0",
        "-1",
        "1",
        "1e9",
        "99999999999999999999",
        "١٢",
        "²",
        "0x10",
        "1.5",
        "nan",
        "inf",
        "-inf",
    ),
    *(
        "true",
        "None",
        "null",
        "[]",
        "{}",
        "...",
        "1.2.3",
        "." * 599,
        "1." * 700,
        "9.9999999999",
        "a" * 3_000,
        "%00",
    ),
    *(
        "'; DROP TABLE x;--",
        "../../etc/passwd",
        "\x00",
        "\n",
        "\u202e",
        "\ud83e",
        "🦊",
        "<img src=x onerror=alert(1)>",
    ),
    *(
        "**b** :red[x]",
        "${x}",
        "=1+1",
        "0.0.0",
        "encoder.0.0:0.5",
        "a:b:c",
        "1-2",
        "1,2",
        "L0H0",
        "0:0",
        "|",
        ":",
    ),
)


def keys_of(page: str) -> tuple[Key[Any], ...]:
    return (*shared_keys(["tiny"], ["story"]), *own_keys(page))


ALL = [(page, key) for page in NAMES for key in keys_of(page)]


@given(which=st.sampled_from(ALL), raw=st.one_of(st.sampled_from(ODD), sentences))
@FUZZ
def test_a_key_reads_any_text_or_refuses_it(which: tuple[str, Key[Any]], raw: str) -> None:
    _, key = which
    try:
        value = key.read(raw)
    except ValueError:
        pass
    else:
        assert key.accepts(value)
        assert key.read(key.write(value)) == value
        key.write(value).encode()


@pytest.mark.parametrize("page", NAMES)
def test_every_odd_value_of_every_key(page: str) -> None:
    keys = keys_of(page)
    for raw in ODD:
        values, notices = read_address({key.name: raw for key in keys} | {raw: raw}, keys)
        assert set(values) == {key.name for key in keys}
        for key in keys:
            assert key.accepts(values[key.name])
            assert (key.name in notices) <= (values[key.name] == key.default)
        for notice in notices.values():
            notice.encode()
            assert len(notice) < 1_000
        assert read_address(write_address(values, keys), keys) == (values, {})


@given(raw=sentences)
@FUZZ
def test_any_text_for_all_keys_at_once(raw: str) -> None:
    for page in NAMES:
        keys = keys_of(page)
        values, _ = read_address({key.name: raw for key in keys}, keys)
        assert all(key.accepts(value) for key, value in ((k, values[k.name]) for k in keys))


@pytest.fixture
def open_page(tiny_bundle: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., AppTest]]:
    """Opens a page of the real app on the tiny bundle; nothing may be raised there."""
    monkeypatch.setenv(bundles.ENVIRONMENT, str(tiny_bundle))
    streamlit.cache_resource.clear()

    def open_one(page: str, query: dict[str, str]) -> AppTest:
        test = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
        test.query_params.update(query)
        test.switch_page(f"pages/{page}.py").run()
        assert not test.exception, (page, query, [one.message for one in test.exception])
        return test

    yield open_one
    streamlit.cache_resource.clear()


@pytest.mark.parametrize("page", NAMES)
def test_a_page_opens_at_any_address(page: str, open_page: Callable[..., AppTest]) -> None:
    for raw in ODD if DEEP else ("99999",):
        query = {key.name: raw for key in keys_of(page) if key.name not in ("text", "model")}
        if "\ud83e" in raw:
            continue  # no browser sends it: see the tests of keys above
        test = open_page(page, {**query, "text": "A cat.", "nobody": raw})
        assert test.title, "the page came to its heading"


@pytest.mark.parametrize("page", NAMES)
def test_a_page_opens_with_any_sentence(page: str, open_page: Callable[..., AppTest]) -> None:
    names = WORST if DEEP else ("markup", "bidi")
    for name in names:
        test = open_page(page, {"text": WORST[name], "lines": WORST[name], "beam": "2", "limit": "4"})
        assert test.title, name


@pytest.mark.parametrize("page", ["translate", "attention", "what_if"])
def test_over_a_limit_a_page_says_it_with_the_limit(page: str, open_page: Callable[..., AppTest]) -> None:
    def shown(text: str) -> str:
        test = open_page(page, {"text": text, "lines": text})
        return "\n".join(element.proto.body for element in test.get("html"))

    assert "tokens; the limit is 512 tokens" in shown("dog " * 900)
    assert "which should be a text of at most 4,000 characters" in shown("a" * 4_001)
