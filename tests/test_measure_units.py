"""``atlas measure units`` on a bundle with random weights and a corpus of a few sentences of ours."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from atlas.analysis.passes import forced_pass
from atlas.analysis.units import layer_from
from atlas.checkpoint import Bundle, load_bundle, save_bundle
from atlas.cli import app
from atlas.measurements import load_measurement
from atlas.text.corpora import split_of
from atlas.text.tokenizer import Tokenizer
from tests.conftest import tiny_model
from tests.training.small import settings

PAIRS = [(f"The cat saw {number} dogs.", f"Le chat a vu\u202f{number} chiens.") for number in range(400)]
HELD_OUT = [pair for pair in PAIRS if split_of(pair[0]) != "train"]


@pytest.fixture
def bundle(tokenizer: Tokenizer, tmp_path: Path) -> Path:
    corpus = tmp_path / "pairs.tsv"
    corpus.write_text("".join(f"{left}\t{right}\n" for left, right in PAIRS), encoding="utf-8")
    made = Bundle("units", "en", "fr", tiny_model(tokenizer), tokenizer)
    made.training = {"config": settings(corpus).to_dict()}
    save_bundle(made, tmp_path / "units")
    return tmp_path / "units"


def measure(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["measure", "units", *map(str, arguments)])


def test_only_held_out_sentences_are_read_and_none_is_kept(bundle: Path, tokenizer: Tokenizer) -> None:
    result = measure(bundle, "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["sentences"] == len(HELD_OUT) > 3
    assert told["source_tokens"] == sum(len(tokenizer.source(left)) for left, _ in HELD_OUT)
    kept = load_measurement(bundle, "units", load_bundle(bundle).hash)
    assert kept is not None
    assert kept.command == "atlas measure units units"
    assert b"dogs" not in (bundle / "measurements" / "units.npz").read_bytes()
    assert not any(array.dtype.kind in "US" for array in kept.arrays.values())
    model = load_bundle(bundle).transformer.eval()
    silent = []
    for left, right in HELD_OUT:
        target = tokenizer.encode(right.replace("\u202f", " "))
        done = forced_pass(model, tokenizer.source(left), target, wanted=("hidden",))
        silent.append(done["decoder.1.ffn.hidden"] == 0)
    expected = np.concatenate(silent).mean(axis=0)
    np.testing.assert_allclose(layer_from(kept.arrays, "decoder", 1).silent, expected, atol=1e-3)
    assert told["silent"]["decoder.1"] == pytest.approx(expected.mean(), abs=1e-6)


def test_the_lines_for_a_person(bundle: Path) -> None:
    result = measure(bundle, "--sentences", "2")
    assert result.exit_code == 0, result.output
    assert ": 2 held-out sentences," in result.stdout
    assert "decoder layer 2:" in result.stdout
    kept = load_measurement(bundle, "units")
    assert kept is not None and kept.command == "atlas measure units units --sentences 2"


def test_a_bundle_that_does_not_know_its_corpus(tokenizer: Tokenizer, tmp_path: Path) -> None:
    save_bundle(Bundle("found", "en", "fr", tiny_model(tokenizer), tokenizer), tmp_path / "found")
    result = measure(tmp_path / "found")
    assert result.exit_code == 2
    assert "does not say how it was trained" in result.output
