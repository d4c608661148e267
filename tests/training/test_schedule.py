"""The learning rate in closed form."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from atlas.training.config import TrainingConfig, TrainingConfigError
from atlas.training.schedule import learning_rate


def config(schedule: str, **changes: float) -> TrainingConfig:
    values = {"steps": 1000, "warmup": 100, "learning_rate": 1e-3, "cooldown": 0.3, **changes}
    return TrainingConfig(name="x", corpus="x", schedule=schedule, **values)


@pytest.mark.parametrize("schedule", ["inverse_sqrt", "cosine", "wsd"])
def test_warm_up_is_a_straight_line_to_the_peak(schedule: str):
    settings = config(schedule)
    for step in (1, 7, 50, 99):
        assert learning_rate(settings, step) == pytest.approx(1e-3 * step / 100)
    assert learning_rate(settings, 100) == pytest.approx(1e-3)
    rates = [learning_rate(settings, step) for step in range(1, 1001)]
    assert max(rates) == pytest.approx(1e-3) and min(rates) > 0 or schedule == "cosine"
    assert all(rate >= 0 for rate in rates)


def test_inverse_square_root():
    settings = config("inverse_sqrt", cooldown=0.0)
    for step in (100, 400, 1000, 10_000):
        assert learning_rate(settings, step) == pytest.approx(1e-3 * math.sqrt(100 / step))


@pytest.mark.parametrize("schedule", ["inverse_sqrt", "cosine", "wsd"])
def test_every_schedule_can_be_drawn_down_at_its_end(schedule: str):
    settings, plain = config(schedule, cooldown=0.25), config(schedule, cooldown=0.001)
    for step in (1, 50, 100, 500, 750, 751):
        assert learning_rate(settings, step) == pytest.approx(learning_rate(plain, step))
    for step in (752, 875, 1000):
        share = (1001 - step) / 250
        assert learning_rate(settings, step) == pytest.approx(learning_rate(plain, step) * share)


def test_cosine_ends_at_zero():
    settings = config("cosine", cooldown=0.0)
    for step in (100, 325, 550, 775, 1000):
        share = (step - 100) / 900
        assert learning_rate(settings, step) == pytest.approx(
            5e-4 * (1 + math.cos(math.pi * share)), abs=1e-12
        )
    assert learning_rate(settings, 1000) == pytest.approx(0, abs=1e-12)
    assert learning_rate(settings, 2000) == pytest.approx(0, abs=1e-12)


def test_flat_then_a_line_to_zero():
    settings = config("wsd")
    for step in (100, 500, 700, 701):
        assert learning_rate(settings, step) == pytest.approx(1e-3)
    for step in (702, 850, 1000):
        assert learning_rate(settings, step) == pytest.approx(1e-3 * (1001 - step) / 300)
    with pytest.raises(TrainingConfigError, match="the schedule wsd ends in a cooldown"):
        config("wsd", cooldown=0.0)


def test_the_shipped_configurations_load_and_have_a_rate_at_every_step():
    files = sorted((Path(__file__).parents[2] / "configs").glob("*.toml"))
    assert {file.stem for file in files} >= {"en-fr", "multi30k-en-fr"}
    for file in files:
        settings = TrainingConfig.load(file)
        assert settings.name == file.stem
        rates = [learning_rate(settings, step) for step in range(1, settings.steps + 1)]
        assert max(rates) <= settings.learning_rate
        if settings.warmup < (1 - settings.cooldown) * settings.steps:  # not cut short in its warm-up
            assert max(rates) == pytest.approx(settings.learning_rate, rel=1e-3)
        assert min(rates) > 0
