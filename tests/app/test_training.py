"""The Training page on small real models: each part, its numbers, its address."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from atlas import bundles
from atlas.checkpoint import Bundle, load_bundle, save_bundle
from atlas.measurements import Measurement, save_measurement
from atlas.model.family import build_model
from atlas.model.recurrent_config import RecurrentConfig
from atlas.text.tokenizer import Tokenizer
from tests.app.conftest import html_of, open_page
from tests.conftest import tiny_model
from tests.grown import HISTORY, save_grown

Open = Callable[..., AppTest]
SENTENCE = "The cat saw the dog."


@pytest.fixture(scope="module")
def models(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``still`` has no snapshots and a history that is no history; ``grown`` has two snapshots."""
    folder = tmp_path_factory.mktemp("training")
    save_bundle(
        Bundle("still", "en", "fr", tiny_model(tokenizer), tokenizer, history="nothing\n1\n"),
        folder / "still",
    )
    save_grown(folder / "grown", tokenizer)
    return folder


@pytest.fixture
def open_training(models: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    monkeypatch.setenv(bundles.ENVIRONMENT, str(models))

    def open_it(part: str = "codes", model: str = "grown", text: str = SENTENCE, **query: str) -> AppTest:
        test = open_page("training", part=part, model=model, text=text, beam="1", limit="9", **query)
        assert not test.exception, test.exception
        return test

    return open_it


def figures(test: AppTest) -> list[dict]:
    return [json.loads(chart.proto.spec) for chart in test.get("plotly_chart")]


def metrics(test: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in test.metric}


def alerts(test: AppTest) -> list[str]:
    return re.findall(r'role="alert"[^>]*>([^<]*)<', html_of(test))


@pytest.mark.parametrize(
    ("part", "drawn"),
    [("codes", 3), ("curves", 1), ("pair", 1), ("smoothing", 2), ("dropout", 3), ("forming", 3)],
)
def test_each_part_opens(open_training: Open, part: str, drawn: int) -> None:
    test = open_training(part)
    assert len(figures(test)) == drawn
    assert test.query_params["part"] == part


def test_code_lengths_of_a_distribution_known_by_heart(open_training: Open) -> None:
    test = open_training(p="50.25.25.0.0", q="25.25.50.0.0")
    found = metrics(test)
    assert found["Entropy H(p)"] == "1.500 bits"
    assert found["Cross-entropy H(p, q)"] == "1.750 bits"
    assert found["Divergence D(p‖q)"] == "0.250 bits"
    assert found["Perplexity"] == f"{2**1.75:.3f} choices"
    nats = metrics(open_training(p="50.25.25.0.0", q="25.25.50.0.0", measure="nats"))
    assert nats["Entropy H(p)"] == f"{1.5 * math.log(2):.3f} nats"
    assert nats["Perplexity"] == f"{2**1.75:.3f} choices"


def test_a_slider_bends_the_distribution_and_the_address(open_training: Open) -> None:
    test = open_training(p="10.10.0.0.0", q="10.10.0.0.0")
    assert metrics(test)["Divergence D(p‖q)"] == "0.000 bits"
    test.slider(key="atlas.training.q.0").set_value(30).run()
    assert not test.exception
    assert test.query_params["q"] == "30.10.0.0.0"
    expected = 0.5 * math.log2(0.5 / 0.75) + 0.5 * math.log2(0.5 / 0.25)
    assert metrics(test)["Divergence D(p‖q)"] == f"{expected:.3f} bits"
    test.button(key="q=p").click().run()
    assert test.query_params["q"] == "10.10.0.0.0"


def test_impossible_codes_are_said_and_survived(open_training: Open) -> None:
    infinite = open_training(p="50.50.0.0.0", q="50.0.0.0.0")
    assert metrics(infinite)["Cross-entropy H(p, q)"] == "∞ bits"
    assert "the cost is infinite" in html_of(infinite)
    empty = open_training(q="0.0.0.0.0")
    assert any("Every slider of q is at 0" in alert for alert in alerts(empty))
    assert len(figures(empty)) == 1


def test_a_broken_history_is_one_line(open_training: Open) -> None:
    test = open_training("curves")
    assert alerts(test) == ["still: its history has no column &#x27;step&#x27;"]
    drawn = figures(test)[0]["data"]
    assert {trace["name"] for trace in drawn} == {"grown"}
    assert "largest relative difference" in html_of(test)


def test_a_run_that_did_not_count_epochs_says_so(open_training: Open) -> None:
    test = open_training("curves", across="epoch")
    assert "grown: its history does not say its epochs, so it is not drawn" in alerts(test)
    assert figures(test) == []


def test_the_pair_is_the_readers_own(open_training: Open) -> None:
    mine = open_training("pair", target="Le chat a vu le chien.")
    own = open_training("pair")
    assert metrics(mine) != metrics(own)
    assert "Measured on the model&#x27;s own best translation" in html_of(own)
    assert "Measured on the model" not in html_of(mine)
    assert float(metrics(mine)["Largest difference of the three"].split()[0]) < 1e-5


def test_padding_moves_only_the_articles_mean(open_training: Open) -> None:
    none, some = (metrics(open_training("pair", target="Je t'aime.", pads=pads)) for pads in ("0", "12"))
    ours = [found[f"Ours, with {count} padded"] for found, count in ((none, 0), (some, 12))]
    theirs = [found[f"The article's mean, with {count} padded"] for found, count in ((none, 0), (some, 12))]
    assert ours[0] == ours[1]
    assert theirs[0].split()[0] == ours[0].split()[0]
    assert theirs[1] != theirs[0]


def test_a_target_that_cannot_be_read_is_one_line(open_training: Open) -> None:
    test = open_training("pair", target="🦊" * 400)
    assert any("your translation cannot be read: the sentence has" in alert for alert in alerts(test))


def test_the_smoothed_target_is_exact(open_training: Open) -> None:
    test = open_training("smoothing", smoothing="0.1", classes="10")
    shown = html_of(test)
    assert "1 − α + α/K = 0.91, not 1 − α = 0.9" in shown
    floor = -0.91 * math.log(0.91) - 9 * 0.01 * math.log(0.01)
    assert f"loss is {floor:.4f} nats" in shown
    assert f"leads by {math.log(91):.3f}" in shown
    assert "leads without end" in html_of(open_training("smoothing", smoothing="0"))


def measured(models: Path, hash: str) -> None:
    """A measurement of twins in the bundle ``grown``."""
    model = {"name": "grown", "step": 20, "smoothing": 0.1, "hash": hash} | dict.fromkeys(
        ("accuracy", "confidence", "ece", "loss", "entropy", "norm", "top", "slope"), 0.5
    )
    facts = {
        "smoothed": model,
        "plain": model | {"name": "plain-twin", "smoothing": 0.0, "ece": 0.25},
        "intervals": {"difference": {name: [0.125, 0.375] for name in model if name not in ("name", "hash")}},
        "corpus": "sentences",
        "sentences": 2,
        "tokens": 4,
        "clip": 1.0,
        "gradient_batches": 2,
        "gradient_tokens": 64,
        "history": HISTORY,
    }
    arrays: dict[str, np.ndarray] = {"entropy.edges": np.arange(4.0), "norm.edges": np.arange(4.0)}
    for name in ("smoothed", "plain"):
        arrays |= {
            f"{name}.counts": np.array([2, 2]),
            f"{name}.confidence": np.array([0.25, 0.75]),
            f"{name}.accuracy": np.array([0.5, 0.5]),
            f"{name}.entropy": np.array([1, 2, 1]),
            f"{name}.norm": np.array([1, 2, 1]),
            f"{name}.smoothed.gradients": np.array([1.0, 2.0]),
            f"{name}.plain.gradients": np.array([3.0, 4.0]),
        }
    save_measurement(models / "grown", Measurement("calibration", hash, "again", facts, arrays))


@pytest.fixture
def remove_measurement(models: Path):  # type: ignore[no-untyped-def]
    yield
    (models / "grown" / "measurements" / "calibration.npz").unlink()


@pytest.mark.usefixtures("remove_measurement")
def test_twins_are_shown_beside_each_other(open_training: Open, models: Path) -> None:
    measured(models, load_bundle(models / "grown", step=20).hash)
    for model in ("grown", "still"):
        test = open_training("smoothing", model=model)
        assert alerts(test) == []
        assert len(figures(test)) == 7
        assert test.table[0].value.iloc[0].tolist() == [
            "Calibration error (ECE) (%)",
            "50.000",
            "25.000",
            "+25.000 (+12.500 to +37.500)",
        ]
    curves = open_training("curves")
    assert {trace["name"] for trace in figures(curves)[0]["data"]} == {"grown", "plain-twin"}


@pytest.mark.usefixtures("remove_measurement")
def test_twins_of_other_weights_are_refused(open_training: Open, models: Path) -> None:
    measured(models, "0" * 64)
    test = open_training("smoothing")
    assert any("was made on weights that it does not carry" in alert for alert in alerts(test))
    assert len(figures(test)) == 2


def test_no_twins_say_how_to_make_them(open_training: Open) -> None:
    test = open_training("smoothing")
    assert alerts(test) == ["None of the models found here carries this measurement. These commands make it:"]
    assert "atlas measure calibration" in test.code[-1].value


def test_without_dropout_nothing_wavers(open_training: Open) -> None:
    still, shaken = (open_training("dropout", drop=drop, passes="3") for drop in ("0", "0.5"))
    assert "mean spread ± 0.000 · widest ± 0.000" in html_of(still)
    assert "1 different in 3 passes" in html_of(still)
    assert "widest ± 0.000" not in html_of(shaken)


def test_a_head_that_is_not_there(open_training: Open) -> None:
    test = open_training("dropout", layer="7", passes="2")
    assert any("expected a layer from 1 to 2" in alert for alert in alerts(test))
    assert test.query_params["layer"] == "2"


def test_the_last_moment_is_the_final_model(open_training: Open) -> None:
    test = open_training("forming")
    assert "0.0% of its weight is not yet where the final model puts it" in html_of(test)
    early = open_training("forming", update="3")
    assert not alerts(early)
    assert "0.0% of its weight" not in html_of(early)
    assert html_of(early).count("update ") >= 3


def test_a_model_without_snapshots_borrows_those_of_another(open_training: Open) -> None:
    test = open_training("forming", model="still")
    assert "Snapshots of grown: the model in the bar, still, carries none of its own" in html_of(test)
    assert len(figures(test)) == 3


def test_a_recurrent_model_is_one_line(
    open_training: Open, tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = build_model(RecurrentConfig(vocabulary=len(tokenizer), width=16, state=16)).eval()
    save_bundle(Bundle("chain", "en", "fr", model, tokenizer), tmp_path / "chain")
    monkeypatch.setenv(bundles.ENVIRONMENT, str(tmp_path))
    (shown,) = alerts(open_training(model="chain"))
    assert shown.startswith("chain is a recurrent model")


def test_no_snapshots_anywhere(models: Path, monkeypatch: pytest.MonkeyPatch, open_training: Open) -> None:
    monkeypatch.setenv(bundles.ENVIRONMENT, str(models / "still"))
    test = open_training("forming", model="still")
    assert any("carries snapshots of its training" in alert for alert in alerts(test))


def test_play_starts_from_the_first_moment(open_training: Open) -> None:
    test = open_training("forming")
    test.button(key="training.play").click().run()
    assert not test.exception
    assert test.query_params["update"] == "3"
    assert test.button(key="training.play").label == "Pause"
    test.button(key="training.play").click().run()
    assert test.button(key="training.play").label == "Play"


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"part": "all"}, "should be one of codes, curves"),
        ({"p": "1.2"}, "5 whole numbers from 0 to 100"),
        ({"q": "1.2.3.4.101"}, "5 whole numbers from 0 to 100"),
        ({"part": "forming", "update": "4"}, "one of the updates 3, 20, 40"),
        ({"part": "dropout", "drop": "1", "passes": "2"}, "a number from 0 to 0.9"),
    ],
)
def test_a_bad_address_gets_a_notice(open_training: Open, query: dict[str, str], words: str) -> None:
    assert words in " ".join(alerts(open_training(**query)))


@pytest.mark.parametrize("part", ["codes", "pair", "dropout", "forming"])
def test_an_empty_sentence_is_a_hint(open_training: Open, part: str) -> None:
    assert any("Write a sentence above" in alert for alert in alerts(open_training(part, text="  ")))


@pytest.mark.parametrize("part", ["codes", "pair", "dropout", "forming"])
def test_dangerous_text_is_shown_literally(open_training: Open, part: str) -> None:
    query = {"target": "<img src=x onerror=alert(1)> $x$"} if part == "pair" else {"passes": "2"}
    shown = html_of(open_training(part, text="<b>x</b> <img src=x> 🦊", **query))
    assert "<img src=x" not in shown
