"""Two parts of the Positions page: every position distinct, and three models that differ in positions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from atlas import bundles
from atlas.analysis.length_scores import interval, scores_by_length
from atlas.checkpoint import Bundle, load_bundle, save_bundle
from atlas.engine import Engine
from atlas.measurements import Measurement, save_measurement
from atlas.model.positions import sinusoidal_table
from atlas.text.tokenizer import Tokenizer
from atlas.ui.position_orders import PAIRS
from tests.app.conftest import html_of, open_page
from tests.conftest import FRENCH, tiny_model

KINDS = ("sinusoidal", "learned", "none")
LONGEST = 20
TOKENS = [6, 11, 14, 18, 22, 26, 31, 40]
Open = Callable[..., AppTest]


def measured(kind: str) -> tuple[dict, dict]:
    """Scores of translations that lose their last words, more of them the later the kind."""
    lost = KINDS.index(kind) + 1
    texts = [" ".join(text.split()[: -lost or None]) for text in FRENCH]
    facts, arrays = scores_by_length(TOKENS, texts, FRENCH, LONGEST)
    return facts | {"tests": ["ours"], "search": "greedy", "signature": "BLEU of a test"}, arrays


def make_twins(folder: Path, tokenizer: Tokenizer) -> Path:
    for seed, kind in enumerate(KINDS):
        path = folder / f"positions-{kind}"
        model = tiny_model(tokenizer, seed=seed, positions=kind, max_length=64)
        made = Bundle(path.name, "en", "fr", model, tokenizer)
        made.training = {"config": {"name": path.name, "longest": LONGEST, "model": {"positions": kind}}}
        save_bundle(made, path)
        facts, arrays = measured(kind)
        save_measurement(
            path, Measurement("lengths", load_bundle(path).hash, "made by a test", facts, arrays)
        )
    return folder


@pytest.fixture(scope="module")
def twins(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_twins(tmp_path_factory.mktemp("twins"), tokenizer)


@pytest.fixture
def open_part(twins: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    monkeypatch.setenv(bundles.ENVIRONMENT, str(twins))

    def open_it(part: str, model: str = "positions-sinusoidal", **query: str) -> AppTest:
        test = open_page("positions", part=part, model=model, beam="1", limit="8", **query)
        assert not test.exception, test.exception
        return test

    return open_it


def figures(test: AppTest) -> list[dict]:
    return [json.loads(chart.proto.spec) for chart in test.get("plotly_chart")]


def metrics(test: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in test.metric}


def words(test: AppTest) -> str:
    return "\n".join([*(text.value for text in test.markdown), html_of(test)])


# Every position distinct


def test_the_closest_two_of_the_formula(open_part: Open) -> None:
    test = open_part("distinct", upto="1000", cells="8")
    table = sinusoidal_table(1000, 8).double().numpy()
    apart = np.linalg.norm(table[:, None] - table[None], axis=-1)
    np.fill_diagonal(apart, np.inf)
    shown = metrics(test)
    assert float(shown["Smallest distance, published formula"]) == pytest.approx(apart.min(), rel=1e-3)
    np.fill_diagonal(apart, 0)
    assert float(shown["Largest distance between two positions"]) == pytest.approx(apart.max(), rel=1e-3)
    assert "499,500 pairs" in html_of(test)
    assert "It holds: no two of these positions share their values." in words(test)
    assert len(figures(test)) == 2


def test_a_narrow_table_in_half_precision_runs_out(open_part: Open) -> None:
    test = open_part("distinct", upto="1000", cells="2")
    assert metrics(test)["The same, rounded to half precision"] == "0"
    assert "closest: positions 0 and 710" in html_of(test)
    assert "runs out of combinations" in words(test)


@pytest.mark.parametrize(("kind", "curves"), [("sinusoidal", 2), ("learned", 2), ("none", 1)])
def test_the_models_own_table_is_drawn_beside_the_formula(open_part: Open, kind: str, curves: int) -> None:
    test = open_part("distinct", f"positions-{kind}")
    assert len(figures(test)[0]["data"]) == curves
    assert ("this model: 64 positions" in html_of(test)) == (curves == 2)


def test_controls_change_the_result_and_the_address(open_part: Open) -> None:
    test = open_part("distinct")
    before = metrics(test)
    test.select_slider(key="atlas.widget.positions.cells").set_value(4).run()
    test.select_slider(key="atlas.widget.positions.upto").set_value(100).run()
    assert not test.exception
    assert (test.query_params["cells"], test.query_params["upto"]) == ("4", "100")
    assert metrics(test) != before
    assert "4,950 pairs" in html_of(test)


@pytest.mark.parametrize(
    ("query", "expected"), [({"cells": "5"}, "a power of two"), ({"upto": "77"}, "one of 2, 3, 5")]
)
def test_a_value_that_no_control_has_gets_a_notice(open_part: Open, query: dict, expected: str) -> None:
    assert expected in words(open_part("distinct", **query).run())


# Three models


def test_scores_intervals_and_the_claim_come_from_the_measurements(open_part: Open) -> None:
    test = open_part("trained")
    chart = figures(test)[0]
    assert [trace["name"] for trace in chart["data"]] == [f"positions: {kind}" for kind in KINDS]
    shown = metrics(test)
    for kind in KINDS:
        _, arrays = measured(kind)
        within, beyond = (float(arrays["bleu"][row]) for row in (7, 8))
        assert shown[f"{kind}: BLEU within → beyond"] == f"{within:.1f} → {beyond:.1f}"
        assert f"{kind} keeps {beyond / within:.0%}" in words(test)
    one, other = measured("sinusoidal")[1], measured("learned")[1]
    gap = interval(float(one["bleu"][8] - other["bleu"][8]), one["bleu_draws"][8] - other["bleu_draws"][8])
    assert f"sinusoidal − learned = {gap.value:+.1f} BLEU ({gap.low:+.1f} to {gap.high:+.1f}" in words(test)
    assert "recipes equal but for the positions" in html_of(test)
    assert 'role="alert"' not in html_of(test)


def test_another_score(open_part: Open) -> None:
    titles = {
        figures(open_part("trained", score=s))[0]["layout"]["yaxis"]["title"]["text"]
        for s in ("BLEU", "chrF")
    }
    assert titles == {"BLEU", "chrF"}
    ratio = figures(open_part("trained", score="length"))[0]
    assert "words of the translation" in ratio["layout"]["yaxis"]["title"]["text"]


def test_learned_rows_beside_sinusoidal_ones(open_part: Open, twins: Path) -> None:
    test = open_part("trained")
    table = Engine.load(twins / "positions-learned").positions(40).astype(float)
    norms = np.linalg.norm(table, axis=1)
    assert f"rows 0–19 trained: norm {norms[:20].mean():.2f}" in html_of(test)
    assert f"rows 20–39 never used: norm {norms[20:].mean():.2f}" in html_of(test)
    assert len(figures(test)) == 3


@pytest.mark.parametrize("pair", PAIRS)
def test_only_without_positions_are_two_orders_the_same(open_part: Open, pair: str) -> None:
    test = open_part("trained", pairs=pair)
    shown = {kind: float(metrics(test)[f"{kind}: largest difference"]) for kind in KINDS}
    assert shown["none"] < 1e-4 < min(shown["sinusoidal"], shown["learned"])
    assert "The same translation for both orders." in [caption.value for caption in test.caption]
    for text in PAIRS[pair][:2]:
        assert text in html_of(test)


def test_the_differences_are_those_of_the_encoders(open_part: Open, twins: Path) -> None:
    test = open_part("trained", pairs="dog")
    for kind in KINDS:
        engine = Engine.load(twins / f"positions-{kind}")
        one, other = (engine.tokenizer.source(text) for text in PAIRS["dog"][:2])
        assert len(set(one)) == len(one), "each token once, so that the order between them is clear"
        before, after = engine.encode(one), engine.encode(other)
        largest = max(np.abs(after[other.index(t)] - before[one.index(t)]).max() for t in one)
        assert metrics(test)[f"{kind}: largest difference"] == f"{largest:.2g}"


def test_the_pages_own_sentence_shuffled(open_part: Open) -> None:
    test = open_part("trained", pairs="own", text="<b>We</b> eat $bread$ now.")
    assert "<b>We" not in html_of(test)
    assert "One order (shuffle 1)" in html_of(test)
    empty = open_part("trained", pairs="own", text=" ")
    assert "Write a sentence above, or choose one of the pairs." in html_of(empty)


def test_missing_models_and_measurements_are_said_in_a_line(
    twins: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tokenizer: Tokenizer
) -> None:
    save_bundle(Bundle("other", "en", "fr", tiny_model(tokenizer), tokenizer), tmp_path / "other")
    monkeypatch.setenv(bundles.ENVIRONMENT, str(tmp_path))
    test = open_page("positions", part="trained", beam="1", limit="8")
    assert not test.exception
    assert "positions-sinusoidal, positions-learned, positions-none are not among the models" in html_of(test)
    made = Bundle("positions-none", "en", "fr", tiny_model(tokenizer, positions="none"), tokenizer)
    save_bundle(made, tmp_path / "positions-none")
    test = open_page("positions", part="trained", beam="1", limit="8", pairs="bites")
    assert not test.exception
    assert "measure with: atlas measure lengths positions-none" in html_of(test)
    assert "none: largest difference" in metrics(test)


def test_a_damaged_model_or_measurement_is_one_line(
    tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_twins(tmp_path / "damaged", tokenizer)
    (folder / "positions-none" / "measurements" / "lengths.npz").write_bytes(b"no archive")
    monkeypatch.setenv(bundles.ENVIRONMENT, str(folder))
    test = open_page("positions", part="trained", model="positions-learned", beam="1", limit="8")
    assert not test.exception
    assert "cannot be read" in html_of(test)
    (folder / "positions-none" / "model.safetensors").write_bytes(b"no weights")
    st.cache_resource.clear()
    test = open_page("positions", part="trained", model="positions-learned", beam="1", limit="8")
    assert not test.exception
    assert "model.safetensors" in html_of(test)
