"""Names of heads, and the record that a page asks."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from atlas.analysis.heads.accumulate import KINDS, gather
from atlas.analysis.heads.metrics import DEFINITIONS
from atlas.analysis.heads.names import RULES, applicable
from atlas.analysis.heads.record import LEAST_TOKENS, HeadAtlas, measure, summary
from atlas.analysis.pronouns import untrained
from atlas.engine import Engine
from tests.analysis.test_head_metrics import sample
from tests.heads_sample import head_atlas


def test_every_rule_names_a_metric_that_there_is() -> None:
    for rule in RULES:
        assert rule.metric in DEFINITIONS
        assert 0 < rule.least < 1


@pytest.mark.parametrize(
    ("kind", "values", "name"),
    [
        ("encoder", {"offset_-1": 0.9}, "previous token"),
        ("encoder", {"offset_-1": 0.49}, ""),
        ("encoder", {"offset_-1": 0.5}, "previous token"),
        ("encoder", {"offset_1": 0.8, "special": 0.6}, "next token"),
        ("encoder", {"offset_1": 0.6, "special": 0.8}, "end-mark sink"),
        ("decoder", {"special": 0.8}, "start-mark sink"),
        ("decoder", {"offset_1": 0.9}, ""),
        ("cross", {"offset_0": 0.7}, "diagonal"),
        ("cross", {"entropy": 0.9}, "spread evenly"),
        ("encoder", {"rare": math.nan}, ""),
    ],
)
def test_the_rule_that_is_furthest_over_its_threshold_names_a_head(
    kind: str, values: dict[str, float], name: str
) -> None:
    rule = applicable(kind, values)  # type: ignore[arg-type]
    assert (rule.name if rule else "") == name


def test_the_record_answers() -> None:
    found = head_atlas(2, 4)
    assert found.name("encoder", 0, 0) == "previous token"
    assert found.name("encoder", 1, 3) == ""
    assert found.typical("encoder", 0, 0) == (1,)
    assert found.typical("cross", 1, 3) == (2, 0, 1)
    assert found.sentences == 3
    assert "coverage" in found.metrics("cross")
    assert "coverage" not in found.metrics("encoder")
    assert found.values("decoder", "entropy").shape == found.control("decoder", "entropy").shape == (2, 4)
    assert found.distances("cross").shape == (8, 8)
    assert found.places("cross").shape == (8, 2)
    assert summary(found.measurement)[0].startswith("encoder 1.1: previous token (offset_-1 0.90, random ")


def test_a_measurement_holds_the_means_of_the_model_and_of_random_weights(tiny_bundle: Path) -> None:
    engine = Engine.load(tiny_bundle, "cpu")
    chosen = sample(engine.tokenizer, [0, 1, 4, 7])
    told: list[tuple[int, int]] = []
    stored = measure(engine, chosen, work=Path("unused"), report=lambda done, of: told.append((done, of)))
    assert told[-1] == (8, 8)
    assert stored.model_hash == engine.hash
    found = HeadAtlas.from_measurement(stored)
    trained = gather(engine.model, engine.tokenizer, chosen)
    random = gather(untrained(engine.model), engine.tokenizer, chosen)
    for kind in KINDS:
        assert found.metrics(kind) == tuple(name for name in DEFINITIONS if name in trained[kind].sums)
        for name in found.metrics(kind):
            np.testing.assert_allclose(found.values(kind, name), trained[kind].mean(name), rtol=1e-5)
            np.testing.assert_allclose(found.control(kind, name), random[kind].mean(name), rtol=1e-5)
        scores = trained[kind].by_sentence("confidence")
        for layer, head in np.ndindex(found.values(kind, "confidence").shape):
            numbers = found.typical(kind, layer, head)
            assert all(len(chosen.source_ids[number]) >= LEAST_TOKENS for number in numbers)
            if not found.name(kind, layer, head):
                confident = [scores[number, layer, head] for number in numbers]
                assert confident == sorted(confident, reverse=True)
