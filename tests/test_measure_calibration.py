"""``atlas measure calibration`` on two small models and a corpus of a few lines."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from atlas.analysis.calibration import Reliability
from atlas.checkpoint import Bundle, load_bundle, save_bundle
from atlas.cli import app
from atlas.measurements import load_measurement
from atlas.text.batches import EncodedPairs
from atlas.text.corpora import Pair
from atlas.text.tokenizer import Tokenizer
from atlas.training.evaluation import mean_loss
from tests.conftest import ENGLISH, FRENCH, tiny_model


def bundle(path: Path, tokenizer: Tokenizer, smoothing: float, seed: int) -> Path:
    training = {
        "steps": 5,
        "config": {"name": path.name, "corpus": "multi30k-en-fr", "label_smoothing": smoothing, "clip": 1.0},
    }
    model = tiny_model(tokenizer, seed=seed)
    history = "step,bleu\n1,2\n"
    save_bundle(Bundle(path.name, "en", "fr", model, tokenizer, training=training, history=history), path)
    return path


@pytest.fixture(scope="module")
def twins(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("twins")
    return bundle(folder / "smoothed", tokenizer, 0.1, 1), bundle(folder / "plain", tokenizer, 0.0, 2)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "multi30k"
    folder.mkdir()
    for stem in ("train", "val", "test_2016_flickr"):
        for language, lines in (("en", ENGLISH), ("fr", FRENCH)):
            with gzip.open(folder / f"{stem}.{language}.gz", "wt", encoding="utf-8") as file:
                file.write("\n".join(lines) + "\n")
    return folder.parent


def measure(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        app(["measure", "calibration", *map(str, arguments)])
    return int(ended.value.code or 0)


def test_numbers_are_kept_in_the_smoothed_bundle(
    twins: tuple[Path, Path], corpus: Path, capsys: pytest.CaptureFixture[str], tokenizer: Tokenizer
) -> None:
    smoothed, plain = twins
    options = ("--from", corpus, "--batches", 2, "--batch-tokens", 64, "--json")
    assert measure(plain, "--baseline", smoothed, *options) == 0
    told = json.loads(capsys.readouterr().out)
    kept = load_measurement(smoothed, "calibration", load_bundle(smoothed).hash)
    assert kept is not None
    assert kept.command == "atlas measure calibration plain --baseline smoothed"
    pairs = EncodedPairs([Pair(a, b) for a, b in zip(ENGLISH, FRENCH, strict=True)], tokenizer)
    for name, path in (("smoothed", smoothed), ("plain", plain)):
        loss = mean_loss(load_bundle(path).transformer, pairs)
        assert told[name]["loss"] == pytest.approx(loss, abs=1e-5)
        assert kept.facts[name]["loss"] == pytest.approx(loss, abs=1e-5)
        bins = Reliability(*(kept.arrays[f"{name}.{what}"] for what in ("counts", "confidence", "accuracy")))
        assert bins.error == pytest.approx(told[name]["ece"])
        assert bins.counts.sum() == kept.arrays[f"{name}.entropy"].sum() == told["tokens"]
        for loss_name in ("smoothed", "plain"):
            assert (kept.arrays[f"{name}.{loss_name}.gradients"] > 0).all()
    assert kept.facts["history"] == "step,bleu\n1,2\n"
    assert load_measurement(plain, "calibration") is None
    assert sum(array.nbytes for array in kept.arrays.values()) < 100_000


def test_a_table_for_people(
    twins: tuple[Path, Path], corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    smoothed, plain = twins
    options = ("--from", corpus, "--batches", 1, "--batch-tokens", 64, "--limit", 4)
    assert measure(plain, "--baseline", smoothed, *options) == 0
    out = capsys.readouterr().out
    assert out.startswith("multi30k-en-fr, development sentences: 4 sentences")
    assert "expected calibration error" in out
    assert "smoothed model, plain loss" in out
    kept = load_measurement(smoothed, "calibration")
    assert kept is not None
    assert f"{np.median(kept.arrays['plain.smoothed.gradients']):.3f}" in out


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [(0, 0, "this compares one above 0 with one of 0"), (1, 1, "this compares one above 0"), (0, 1, "0.1")],
)
def test_models_that_are_no_twins_are_refused(
    twins: tuple[Path, Path],
    corpus: Path,
    capsys: pytest.CaptureFixture[str],
    first: int,
    second: int,
    words: str,
) -> None:
    assert measure(twins[first], "--baseline", twins[second], "--from", corpus) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


def test_a_missing_snapshot_and_a_missing_corpus_are_one_line(
    twins: tuple[Path, Path], tmp_path: Path, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    smoothed, plain = twins
    assert measure(plain, "--baseline", smoothed, "--baseline-step", 7, "--from", corpus) == 2
    assert "no snapshot of step 7" in capsys.readouterr().err
    assert measure(plain, "--baseline", smoothed, "--from", tmp_path) == 2
    assert "multi30k" in capsys.readouterr().err
