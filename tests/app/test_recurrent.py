"""Pages on recurrent bundles: those that serve them, and those that say where to go instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from atlas import bundles
from atlas.ui.navigation import PAGES
from tests.app.conftest import html_of, open_page

SERVE_ANY = ("translate", "attention", "beam_search", "ancestors")


@pytest.fixture
def old(recurrent_bundles: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(bundles.ENVIRONMENT, str(recurrent_bundles["dot"].parent))


@pytest.mark.usefixtures("old")
@pytest.mark.parametrize("model", ["none", "additive", "dot"])
@pytest.mark.parametrize("page", [entry.name for entry in PAGES])
def test_every_page_opens_or_says_where_to_go(page: str, model: str) -> None:
    test = open_page(page, model=model, text="The cat saw the dog.", limit="8")
    assert not test.exception
    said = "is a recurrent model" in html_of(test)
    assert said == (page not in SERVE_ANY)


@pytest.mark.usefixtures("old")
def test_only_the_attention_that_there_is_can_be_chosen() -> None:
    test = open_page("attention", model="additive", text="The cat saw the dog.", limit="8")
    kinds = next(group for group in test.button_group if group.label == "Attention")
    assert list(kinds.options) == ["Cross"]
    assert kinds.value == "cross"
    test = open_page("attention", model="none", text="The cat saw the dog.", limit="8")
    assert "no attention to look at" in html_of(test)
