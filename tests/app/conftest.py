"""AppTest with a fake engine: the real app.py, pages and session, and no model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from atlas import bundles
from atlas.ui import models
from tests.ui.fakes import FakeEngine

ROOT = Path(__file__).resolve().parents[2]

OpenApp = Callable[..., AppTest]


def make_bundles(folder: Path, *names: str) -> Path:
    """A folder that looks like one of bundles; only the fake engine can open it."""
    for name in names:
        (folder / name).mkdir(parents=True)
        (folder / name / "config.json").write_text("{}")
    return folder


def open_page(page: str = "translate", **query: str) -> AppTest:
    """The app as a visitor opens it at ``/page?query``."""
    test = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    test.query_params.update(query)
    return test.switch_page(f"pages/{page}.py").run()


@pytest.fixture(autouse=True)
def fresh_caches() -> Iterator[None]:
    """Nothing that one test cached is seen by the next."""
    st.cache_resource.clear()
    yield
    st.cache_resource.clear()


@pytest.fixture
def fake_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> type[FakeEngine]:
    """Two bundles, ``en-fr`` and ``small``, that open as fake engines."""
    monkeypatch.setenv(bundles.ENVIRONMENT, str(make_bundles(tmp_path / "bundles", "en-fr", "small")))
    monkeypatch.setattr(models, "Engine", FakeEngine)
    monkeypatch.setattr(FakeEngine, "loads", 0)
    return FakeEngine


@pytest.fixture
def open_app(fake_engine: type[FakeEngine]) -> OpenApp:
    """Opens a page of the app on the fake engine."""
    return open_page


@pytest.fixture
def no_bundles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without a trained model."""
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv(bundles.ENVIRONMENT, str(tmp_path / "empty"))


def html_of(test: AppTest) -> str:
    """Everything the page shows as HTML."""
    return "\n".join(element.proto.body for element in test.get("html"))


def component(test: AppTest, name: str) -> str:
    """The data, as JSON, of the one component of ours on the page that is called so."""
    found = [one.proto for one in test.get("bidi_component") if one.proto.component_name.endswith(f".{name}")]
    assert len(found) == 1, (name, [one.proto.component_name for one in test.get("bidi_component")])
    return str(found[0].json)
