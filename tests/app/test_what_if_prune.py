"""The part Prune of What if, on a small real model and made-up curves."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from atlas import bundles
from atlas.analysis.heads.pruning import Pruning, in_scope
from atlas.engine import Engine
from atlas.measurements import save_measurement
from tests.app.conftest import html_of, open_page
from tests.conftest import ENGLISH
from tests.head_pruning_sample import head_pruning

QUERY = {"text": ENGLISH[0], "beam": "2", "limit": "8", "whatif": "prune"}


@pytest.fixture
def pruned(tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    path = shutil.copytree(tiny_bundle, tmp_path / "all" / "tiny")
    engine = Engine.load(path, "cpu")
    save_measurement(path, head_pruning(engine))
    monkeypatch.setenv(bundles.ENVIRONMENT, str(path.parent))
    return engine


def test_the_cheapest_heads_go_first_and_are_named(pruned: Engine) -> None:
    found = Pruning.from_measurement(head_pruning(pruned))
    heads, order = in_scope(pruned.model, "encoder"), found.order("encoder", "gradient")
    test = open_page("what_if", **QUERY, prune="encoder", order="gradient", remain=str(len(heads) - 2))
    assert not test.exception
    names = [
        f"{kind} {layer + 1}.{head + 1}" for kind, layer, head in (heads[number] for number in order[:2])
    ]
    assert any(f"2 off, the first to go first: {', '.join(names)}" in one.value for one in test.caption)
    [figure] = [json.loads(one.proto.spec) for one in test.get("plotly_chart")]
    assert [one["name"] for one in figure["data"] if "name" in one] == [
        "true cost",
        "gradient importance",
        "random order",
    ]


def test_all_heads_on_is_the_model_itself(pruned: Engine) -> None:
    test = open_page("what_if", **QUERY)
    assert not test.exception
    assert any(one.value.startswith("Every head is on") for one in test.caption)


def test_a_model_that_was_not_measured_says_how(tiny_bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(bundles.ENVIRONMENT, str(tiny_bundle.parent))
    test = open_page("what_if", **QUERY)
    assert not test.exception
    assert "atlas heads tiny --only costs,pruning" in html_of(test)
