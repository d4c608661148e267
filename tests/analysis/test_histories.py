"""Histories: the shipped ones, awkward ones, and whether perplexity is exp of the loss."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from atlas.analysis.histories import HistoryError, at_step, perplexity_error, read_history

GOOD = (
    "step,minutes,development_loss,development_perplexity,bleu,colour\n"
    "1,0.5,2,7.38906,,red\n"
    "5,1,1,2.71828,3,blue\n"
)


def test_columns_are_read_and_foreign_ones_left_out() -> None:
    history = read_history("run", GOOD)
    assert len(history) == 2
    assert set(history.columns) == {"step", "minutes", "development_loss", "development_perplexity", "bleu"}
    pairs = history.pairs("step", "bleu")
    assert pairs is not None
    assert [values.tolist() for values in pairs] == [[5], [3]]
    assert history.pairs("step", "learning_rate") is None


def test_the_stated_perplexity_is_checked() -> None:
    assert perplexity_error(read_history("run", GOOD)) == pytest.approx(0, abs=1e-6)
    wrong = read_history("run", "step,train_loss,train_perplexity\n1,1.0,3.0\n")
    assert perplexity_error(wrong) == pytest.approx(3 / math.e - 1)
    assert perplexity_error(read_history("run", "step,bleu\n1,2\n")) is None


def test_a_number_at_a_step() -> None:
    history = read_history("run", GOOD)
    assert at_step(history, 5, "development_loss") == 1
    assert at_step(history, 4, "development_loss") is None
    assert at_step(history, 1, "bleu") is None
    assert at_step(history, 1, "epoch") is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no rows"),
        ("step\n", "no rows"),
        ("epoch,bleu\n1,2\n", "no column 'step'"),
        ("step,bleu\n1,2\n2,high\n", "line 3 of its history says bleu = 'high'"),
        ("step,bleu\n2,2\n1,3\n", "do not rise"),
        ("step,bleu\n,2\n", "do not rise"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(text: str, words: str) -> None:
    with pytest.raises(HistoryError, match=words) as caught:
        read_history("run", text)
    assert str(caught.value).startswith("run: ")
    assert "\n" not in str(caught.value)


def test_short_rows_are_missing_numbers() -> None:
    history = read_history("run", "step,bleu\n1\n2,4\n")
    assert math.isnan(history.columns["bleu"][0])


def test_the_shipped_histories_say_exp_of_their_loss(shipped: Path) -> None:
    for file in sorted(shipped.parent.glob("*/history.csv")):
        error = perplexity_error(read_history(file.parent.name, file.read_text(encoding="utf-8")))
        assert error is not None, file
        assert error < 1e-5, file
