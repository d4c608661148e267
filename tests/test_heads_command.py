"""``atlas heads`` on a bundle with random weights and a corpus of a few sentences of ours."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from atlas.analysis.heads import record
from atlas.analysis.heads.record import HeadAtlas
from atlas.analysis.heads.sample import sample_of
from atlas.checkpoint import Bundle, load_bundle, save_bundle
from atlas.cli import app
from atlas.commands.heads import STAGES
from atlas.measurements import load_measurement
from atlas.text.corpora import Pair, split_of
from atlas.text.tokenizer import Tokenizer
from tests.conftest import tiny_model
from tests.training.small import settings

PAIRS = [(f"The cat saw {number} dogs.", f"Le chat a vu {number} chiens.") for number in range(400)]
TEST = [pair for pair in PAIRS if split_of(pair[0]) == "test"]


@pytest.fixture
def bundle(tokenizer: Tokenizer, tmp_path: Path) -> Path:
    corpus = tmp_path / "pairs.tsv"
    corpus.write_text("".join(f"{left}\t{right}\n" for left, right in PAIRS), encoding="utf-8")
    made = Bundle("small", "en", "fr", tiny_model(tokenizer), tokenizer)
    made.training = {"config": settings(corpus).to_dict()}
    save_bundle(made, tmp_path / "small")
    return tmp_path / "small"


def heads(bundle: Path, *arguments: str) -> Result:
    work = bundle.parent / "work"
    return CliRunner().invoke(app, ["heads", str(bundle), "--work", str(work), *arguments])


def test_metrics_are_measured_on_the_test_side_and_kept(bundle: Path) -> None:
    result = heads(bundle, "--only", "metrics", "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["sentences"] == len(TEST) > 1
    kept = load_measurement(bundle, "heads", load_bundle(bundle).hash)
    assert kept is not None
    found = HeadAtlas.from_measurement(kept)
    pairs = [Pair(*pair) for pair in TEST]
    assert found.sentences == len(TEST)
    assert found.digest == sample_of(load_bundle(bundle).tokenizer, "any", pairs).digest
    assert told["metrics"]["cross.coverage"] == found.values("cross", "coverage").tolist()
    assert not (bundle / "measurements" / "head_costs.npz").exists()


def test_a_stage_that_is_there_is_not_measured_again(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = heads(bundle, "--only", "metrics")
    assert first.exit_code == 0, first.output

    def refuse(*arguments: object, **options: object) -> None:
        raise AssertionError("measured again")

    with monkeypatch.context() as patch:
        patch.setattr(record, "measure", refuse)
        second = heads(bundle, "--only", "metrics")
        assert second.exit_code == 0, second.output
        assert second.stdout == first.stdout
        assert "already measured" in second.stderr
        assert isinstance(heads(bundle, "--only", "metrics", "--restart").exception, AssertionError)
    assert heads(bundle, "--only", "metrics", "--restart").exit_code == 0


def test_what_a_stopped_run_had_finished_stays(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from atlas.analysis.heads import costs

    monkeypatch.setitem(sys.modules, "eflomal", None)

    def stop(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(costs, "measure", stop)
        assert heads(bundle).exit_code != 0
    assert (bundle / "measurements" / "heads.npz").is_file()
    again = heads(bundle)
    assert again.exit_code == 0, again.output
    assert "metrics: already measured" in again.stderr
    assert "costs: already measured" not in again.stderr
    assert all((f"{stage}:" in again.stdout) == (stage != "alignments") for stage in STAGES)
    assert "alignments left out: alignments need eflomal" in again.stderr
    asked = heads(bundle, "--only", "alignments")
    assert asked.exit_code == 2 and "pip install eflomal" in asked.stderr


def test_another_number_of_sentences_is_measured_anew(bundle: Path) -> None:
    assert heads(bundle, "--only", "links").exit_code == 0
    fewer = heads(bundle, "--only", "links", "--sentences", "2")
    assert fewer.exit_code == 0 and "already measured" not in fewer.stderr
    kept = load_measurement(bundle, "head_links")
    assert kept is not None and kept.facts["sentences"] == 2
    assert kept.command == "atlas heads small --sentences 2"


def test_an_unknown_stage_is_one_line(bundle: Path) -> None:
    result = heads(bundle, "--only", "metrics,colours")
    assert result.exit_code == 2
    assert "--only knows metrics, costs, links" in result.output
    assert "colours" in result.output
    assert "Traceback" not in result.output


def test_a_recurrent_model_is_refused_in_one_line(recurrent_bundles: dict[str, Path]) -> None:
    result = CliRunner().invoke(app, ["heads", str(recurrent_bundles["dot"])])
    assert result.exit_code == 2
    assert "Traceback" not in result.output
