"""Timed updates: a clock of ours, the batches, and models that stay as they were."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from atlas.analysis.training_speed import SpeedError, Speeds, even_batch, training_speeds
from atlas.checkpoint import load_bundle
from atlas.text.tokenizer import END_ID, PAD_ID, START_ID

CPU = torch.device("cpu")


def test_a_batch_has_no_padding_and_equal_sentences() -> None:
    batch = even_batch(50, 8, 20, torch.Generator().manual_seed(1))
    assert batch.source.shape == (2, 8)
    assert batch.target.shape == (2, 9)
    assert batch.tokens == 16
    for side in (batch.source, batch.target[:, 1:]):
        assert (side[:, -1] == END_ID).all()
        assert not torch.isin(side[:, :-1], torch.tensor([PAD_ID, START_ID, END_ID])).any()
    assert (batch.target[:, 0] == START_ID).all()
    assert even_batch(50, 8, 3, torch.Generator()).source.shape == (1, 8)


def test_rates_and_ratios_by_hand() -> None:
    seconds = np.array([[[1.0, 2.0, 9.0]], [[0.5, 0.5, 3.0]]])
    speeds = Speeds(("old", "new"), (8,), (16,), seconds)
    np.testing.assert_allclose(speeds.median, [[2.0], [0.5]])
    np.testing.assert_allclose(speeds.rate, [[8.0], [32.0]])
    np.testing.assert_allclose(speeds.ratio("new"), [[3.0], [1.0]])  # of 2, 4 and 3
    with pytest.raises(SpeedError, match="no model 'other' was timed"):
        speeds.ratio("other")


def test_models_take_turns_and_stay_as_they_were(
    recurrent_bundles: dict[str, Path], tiny_bundle: Path
) -> None:
    paths = {"dot": recurrent_bundles["dot"], "transformer": tiny_bundle}
    models = {name: load_bundle(path).model.eval() for name, path in paths.items()}
    before = {name: [p.clone() for p in model.parameters()] for name, model in models.items()}
    ticks, said = count(), []
    speeds = training_speeds(
        models,
        lengths=(4, 6),
        tokens=12,
        rounds=2,
        device=CPU,
        clock=lambda: float(next(ticks) ** 2),
        progress=lambda done, total: said.append((done, total)),
    )
    assert speeds.names == ("dot", "transformer")
    assert speeds.tokens == (12, 12)
    # The uncounted round reads the clock once an update, every other one twice: start s, end s + 1.
    starts = 4 + 2 * np.arange(8).reshape(2, 2, 2)  # round, length, model
    np.testing.assert_allclose(speeds.seconds, (2 * starts + 1).transpose(2, 1, 0))
    assert said == [(0, 2), (1, 2), (2, 2)]
    for name, model in models.items():
        assert not model.training
        assert all(torch.equal(a, b) for a, b in zip(before[name], model.parameters(), strict=True))


@pytest.mark.parametrize("wrong", [{"lengths": (1,)}, {"lengths": ()}, {"tokens": 0}, {"rounds": 0}])
def test_nothing_to_time_is_one_line(wrong: dict[str, Any], tiny_bundle: Path) -> None:
    with pytest.raises(SpeedError, match="timing needs a model"):
        training_speeds({"t": load_bundle(tiny_bundle).model}, device=CPU, **wrong)
    with pytest.raises(SpeedError):
        training_speeds({}, device=CPU)
