"""``atlas measure lengths`` and ``atlas measure pronouns`` on random weights and sentences of ours."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics import BLEU
from typer.testing import CliRunner, Result

from atlas.analysis.antecedents import find_example
from atlas.analysis.length_scores import BINS, DRAWS
from atlas.checkpoint import Bundle, load_bundle, save_bundle
from atlas.cli import app
from atlas.decoding import SearchOptions
from atlas.engine import Engine
from atlas.measurements import Measurement, load_measurement
from atlas.text.corpora import split_of
from atlas.text.tokenizer import Tokenizer
from tests.conftest import ENGLISH, FRENCH, tiny_model

THINGS = ("bus", "train", "car", "boat", "house", "garden", "bridge", "tree")
TALES = [f"Number {n}: we saw the {thing} and it stopped." for n in range(40) for thing in THINGS]
CAPTIONS = {
    "train": ["A man in red holds his ball.", "Two boys in red play with their ball."],
    "val": ["A woman in a red shirt reads her book."],
    "test_2016_flickr": [ENGLISH[0], "I love the dog because it barks."],
    "test_2017_flickr": [ENGLISH[4]],
    "test_2018_flickr": [ENGLISH[2]],
}
ANSWERS = {
    "train": ["Un homme.", "Deux garçons."],
    "val": ["Une femme."],
    "test_2016_flickr": [FRENCH[0], "J'aime le chien."],
    "test_2017_flickr": [FRENCH[4]],
    "test_2018_flickr": [FRENCH[2]],
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Small files in the shape of the public corpora."""
    (tmp_path / "data" / "tatoeba").mkdir(parents=True)
    with zipfile.ZipFile(tmp_path / "data" / "tatoeba" / "fra-eng.zip", "w") as archive:
        archive.writestr("fra.txt", "".join(f"{tale}\tNous avons vu.\n" for tale in TALES))
    folder = tmp_path / "data" / "multi30k"
    folder.mkdir()
    for stem in CAPTIONS:
        for language, lines in (("en", CAPTIONS[stem]), ("fr", ANSWERS[stem])):
            text = "".join(f"{line}\n" for line in lines)
            (folder / f"{stem}.{language}.gz").write_bytes(gzip.compress(text.encode()))
    return tmp_path / "data"


def bundle(path: Path, tokenizer: Tokenizer, config: dict[str, Any], **options: Any) -> Path:
    made = Bundle(path.name, "en", "fr", tiny_model(tokenizer, **options), tokenizer)
    made.training = {"config": config} if config else {}
    save_bundle(made, path)
    return path


def measure(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["measure", *map(str, arguments)])


def told(*arguments: object) -> dict[str, Any]:
    done = measure(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def refused(*arguments: object) -> str:
    done = measure(*arguments)
    assert done.exit_code == 2, done.output
    assert done.stderr.count("\n") == 1
    return done.stderr


def stored(path: Path, name: str) -> Measurement:
    found = load_measurement(path, name, load_bundle(path).hash)
    assert found is not None
    return found


def test_lengths_scores_every_bundle_and_keeps_no_text(
    tokenizer: Tokenizer, data: Path, tmp_path: Path
) -> None:
    paths = [
        bundle(tmp_path / kind, tokenizer, {"longest": 20}, positions=kind) for kind in ("learned", "none")
    ]
    printed = told("lengths", *paths, "--from", data, "--method", "greedy")["bundles"]
    assert [one["model"] for one in printed] == ["learned", "none"]
    sources = [text for stem in CAPTIONS for text in CAPTIONS[stem] if stem.startswith("test")]
    answers = [text for stem in ANSWERS for text in ANSWERS[stem] if stem.startswith("test")]
    for path, one in zip(paths, printed, strict=True):
        kept = stored(path, "lengths")
        engine = Engine.load(path)
        texts = [t.text for t in engine.translate(sources, SearchOptions(method="greedy"))]
        tokens = [len(tokenizer.source(text)) for text in sources]
        for row, (_, low, high) in enumerate(BINS):
            chosen = [i for i, count in enumerate(tokens) if low <= count <= high]
            assert kept.facts["counts"][row] == len(chosen)
            if chosen:
                right = BLEU().corpus_score([texts[i] for i in chosen], [[answers[i] for i in chosen]]).score
                assert kept.arrays["bleu"][row] == pytest.approx(right, abs=1e-4)
                assert one["bleu"][row] == pytest.approx(right, abs=1e-4)
        assert kept.facts["counts"][-1] == len(sources) == 4
        assert kept.arrays["bleu_draws"].shape == (len(BINS) + 3, DRAWS)
        assert kept.facts["search"] == "greedy"
        assert kept.facts["longest"] == 20
        assert "smooth:exp" in kept.facts["signature"]
        assert kept.command == f"atlas measure lengths {path.name} --method greedy"
        for text in (*sources, *answers):
            assert text not in json.dumps(dict(kept.facts))


def test_lengths_prints_a_line_a_group(tokenizer: Tokenizer, data: Path, tmp_path: Path) -> None:
    path = bundle(tmp_path / "twin", tokenizer, {"longest": 20})
    done = measure("lengths", path, "--from", data, "--limit", 2, "--beam", 2)
    assert done.exit_code == 0, done.output
    assert "trained on up to 20 tokens" in done.stdout
    assert "2 sentences  BLEU" in done.stdout
    kept = stored(path, "lengths")
    assert kept.facts["limit"] == 2
    assert kept.facts["search"] == "beam 2"
    assert kept.command.endswith("--beam 2 --limit 2")


def test_lengths_refuses_in_one_line(
    tokenizer: Tokenizer, data: Path, tmp_path: Path, tiny_bundle: Path
) -> None:
    assert "does not say how long" in refused("lengths", tiny_bundle, "--from", data, "--beam", 1)
    german = Bundle("de", "de", "en", tiny_model(tokenizer), tokenizer)
    save_bundle(german, tmp_path / "de")
    assert "translates de to en" in refused("lengths", tmp_path / "de", "--from", data)
    (data / "multi30k" / "test_2018_flickr.fr.gz").write_bytes(gzip.compress(b""))
    assert "must pair up" in refused(
        "lengths", bundle(tmp_path / "b", tokenizer, {"longest": 9}), "--from", data
    )


@pytest.mark.parametrize(
    ("corpus", "captions", "tales"),
    [
        ("tatoeba", {"train", "val", "test_2016_flickr"}, {"development", "test"}),
        ("multi30k-en-fr", {"val", "test_2016_flickr"}, {"train", "development", "test"}),
        (None, {"val", "test_2016_flickr"}, {"development", "test"}),
    ],
)
def test_pronouns_never_uses_a_sentence_of_training(
    tokenizer: Tokenizer,
    data: Path,
    tmp_path: Path,
    corpus: str | None,
    captions: set[str],
    tales: set[str],
) -> None:
    path = bundle(tmp_path / "model", tokenizer, {"corpus": corpus} if corpus else {})
    printed = told("pronouns", path, "--from", data)
    expected = {
        "Tatoeba": [tale for tale in TALES if split_of(tale) in tales],
        "Multi30k": [line for stem in captions for line in CAPTIONS[stem]],
    }
    assert printed["corpora"] == {name: len(texts) for name, texts in expected.items()}
    counts = dict(zip(printed["groups"], printed["counts"], strict=True))
    for name, texts in expected.items():
        assert counts.get(name, 0) == sum(find_example(text) is not None for text in texts)
    kept = stored(path, "pronouns")
    assert kept.facts["counts"] == printed["counts"]
    np.testing.assert_allclose(kept.arrays["top"], np.array(printed["top"], dtype=float), atol=1e-6)
    assert "stopped" not in json.dumps(dict(kept.facts))


def test_pronouns_prints_a_table_and_keeps_to_its_most(
    tokenizer: Tokenizer, data: Path, tmp_path: Path
) -> None:
    path = bundle(tmp_path / "model", tokenizer, {"corpus": "multi30k-en-fr"})
    done = measure("pronouns", path, "--from", data, "--most", 4)
    assert done.exit_code == 0, done.output
    assert "head that looks there most often" in done.stdout
    assert "chosen on" in done.stdout
    kept = stored(path, "pronouns")
    assert dict(zip(kept.facts["groups"], kept.facts["counts"], strict=True))["it"] == 4
    assert kept.command == "atlas measure pronouns model --most 4"


def test_pronouns_refuses_in_one_line(tokenizer: Tokenizer, data: Path, tmp_path: Path) -> None:
    german = Bundle("de", "de", "en", tiny_model(tokenizer), tokenizer)
    save_bundle(german, tmp_path / "de")
    assert "knows English" in refused("pronouns", tmp_path / "de", "--from", data)
    assert "fra-eng.zip is not in" in refused(
        "pronouns", bundle(tmp_path / "b", tokenizer, {}), "--from", tmp_path / "no"
    )
