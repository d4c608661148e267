"""``atlas measure leak`` on two bundles with random weights and a corpus of a few sentences of ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from atlas.analysis.leak import SENTENCES, LeakStudy, next_token
from atlas.checkpoint import Bundle, load_bundle, save_bundle
from atlas.cli import app
from atlas.measurements import load_measurement
from atlas.text.batches import EncodedPairs
from atlas.text.tokenizer import Tokenizer
from atlas.training.run import load_corpus
from tests.conftest import tiny_model
from tests.training.small import settings, write_pairs

HISTORY = "step,train_loss,development_loss,bleu\n{0},8.5,7.25,0\n"


def training(corpus: Path, steps: int) -> dict[str, Any]:
    return {"config": settings(corpus).to_dict(), "steps": steps}


@pytest.fixture
def bundles(tokenizer: Tokenizer, tmp_path: Path) -> Path:
    """``blind``, trained without a mask as far as anyone can tell, and ``masked``."""
    corpus = write_pairs(tmp_path / "pairs.tsv")
    for name, causal, steps in (("blind", False, 7), ("masked", True, 9)):
        model = tiny_model(tokenizer, causal=causal)
        bundle = Bundle(name, "en", "fr", model, tokenizer, history=HISTORY.format(steps))
        bundle.training = training(corpus, steps)
        save_bundle(bundle, tmp_path / name)
    return tmp_path


def measure(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["measure", "leak", *map(str, arguments)])


def test_the_numbers_are_kept_in_the_baseline(bundles: Path) -> None:
    done = measure(bundles / "blind", "--baseline", bundles / "masked", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    masked = load_bundle(bundles / "masked")
    stored = load_measurement(bundles / "masked", "leak", masked.hash)
    assert stored is not None
    assert stored.command == "atlas measure leak blind --baseline masked"
    study = LeakStudy.read(stored)
    config = settings(bundles / "pairs.tsv")
    pairs = EncodedPairs(load_corpus(config).development, masked.tokenizer)
    for which, name, steps in (("without", "blind", 7), ("baseline", "masked", 9)):
        bundle = load_bundle(bundles / name)
        side = getattr(study, which)
        assert (side.name, side.hash, side.steps) == (name, bundle.hash, steps)
        assert side.next == next_token(bundle.model, pairs)
        assert side.history["step"].tolist() == [steps]
        assert len(side.greedy) == len(side.beam) == len(study.sentences) == len(SENTENCES)
        assert told[which]["next"]["tokens"] == side.next.tokens
    assert not (bundles / "blind" / "measurements").exists()


def test_in_words(bundles: Path) -> None:
    done = measure(bundles / "blind", "--baseline", bundles / "masked", "--limit", 2)
    assert done.exit_code == 0, done.output
    assert "blind: 7 updates, 2 pairs" in done.stdout
    assert all(sentence in done.stdout for sentence in SENTENCES)
    stored = load_measurement(bundles / "masked", "leak")
    assert stored is not None and stored.command.endswith("--baseline masked --limit 2")


def test_the_wrong_way_round_is_refused(bundles: Path) -> None:
    done = measure(bundles / "masked", "--baseline", bundles / "blind")
    assert done.exit_code == 2
    assert "trained with a causal mask" in done.output
    assert not (bundles / "blind" / "measurements").exists()


def test_a_bundle_that_does_not_say_how_it_was_trained(bundles: Path, tokenizer: Tokenizer) -> None:
    save_bundle(Bundle("masked", "en", "fr", tiny_model(tokenizer), tokenizer), bundles / "masked")
    done = measure(bundles / "blind", "--baseline", bundles / "masked")
    assert done.exit_code == 2
    assert "does not say how it was trained" in done.output
