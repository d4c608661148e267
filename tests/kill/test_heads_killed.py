"""``atlas heads``, killed: what is kept is whole, and heads that were measured are not measured again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from atlas.analysis.heads import costs
from atlas.checkpoint import Bundle, save_bundle
from atlas.measurements import load_measurement
from atlas.text.tokenizer import Tokenizer
from tests.conftest import tiny_model
from tests.kill.killing import kill, moments, some
from tests.kill.works import command, copied
from tests.training.small import settings

PAIRS = [(f"The cat saw {number} dogs.", f"Le chat a vu {number} chiens.") for number in range(400)]


@pytest.fixture
def bundle(tokenizer: Tokenizer, tmp_path: Path) -> Path:
    """One layer of two heads on each side: six heads in all."""
    corpus = tmp_path / "pairs.tsv"
    corpus.write_text("".join(f"{left}\t{right}\n" for left, right in PAIRS), encoding="utf-8")
    model = tiny_model(tokenizer, encoder_layers=1, decoder_layers=1, heads=2)
    made = Bundle("small", "en", "fr", model, tokenizer)
    made.training = {"config": settings(corpus).to_dict()}
    save_bundle(made, tmp_path / "template" / "small")
    return tmp_path / "template" / "small"


def call(bundle: Path, work: Path, stages: str) -> list[str]:
    return ["heads", str(bundle), "--work", str(work), "--sentences", "4", "--only", stages]


def same(some: Path, other: Path, name: str) -> None:
    found, expected = load_measurement(some, name), load_measurement(other, name)
    assert found is not None and expected is not None
    assert found.facts == expected.facts and found.arrays.keys() == expected.arrays.keys()
    for key, array in expected.arrays.items():
        assert np.array_equal(found.arrays[key], array, equal_nan=True), key


def test_at_changes_of_the_folder(bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = copied(bundle, tmp_path / "whole" / "small")
    arguments = call(whole, tmp_path / "whole" / "work", "metrics,costs")
    count = moments(command, arguments, inside=tmp_path / "whole")
    assert count >= 6 * 3 + 4  # six heads are written, named and cleared away; two measurements
    measured: list[object] = []
    greedy = costs.greedy

    def counted(engine: object, sources: object, without: object = ()) -> list[str]:
        measured.append(without)
        return greedy(engine, sources, without)  # type: ignore[arg-type]

    monkeypatch.setattr(costs, "greedy", counted)
    again = []
    for change in some(count, 9):
        place = tmp_path / str(change)
        started = copied(bundle, place / "small")
        arguments = call(started, place / "work", "metrics,costs")
        assert kill(command, arguments, inside=place, change=change)
        kept = len(list((place / "work").rglob("[a-z]*.npz")))
        measured.clear()
        command(arguments)
        for name in ("heads", "head_costs"):
            same(started, whole, name)
        assert not [file for file in (place / "work").rglob("*") if file.is_file()]
        again.append(len(measured))
        assert again[-1] in (0, 1 + 6 - kept)  # all is there, or the whole model and the heads that lack
    assert again[0] == 7 and again[-1] == 0 and again == sorted(again, reverse=True)


def test_in_the_middle_of_a_file(bundle: Path, tmp_path: Path) -> None:
    whole, started = copied(bundle, tmp_path / "whole" / "small"), copied(bundle, tmp_path / "cut" / "small")
    command(call(whole, tmp_path / "work", "metrics"))
    size = (whole / "measurements" / "heads.npz").stat().st_size - 10
    assert kill(command, call(started, tmp_path / "work", "metrics"), inside=tmp_path, size=size)
    assert load_measurement(started, "heads") is None
    command(call(started, tmp_path / "work", "metrics"))
    same(started, whole, "heads")
