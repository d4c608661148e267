"""Parameters by formula, against models that are built, PyTorch's layers, and what authors print."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from atlas.analysis.parameter_formulas import (
    BASE,
    GPT3,
    MIXTRAL,
    PUBLISHED,
    Recipe,
    RecipeError,
    count,
    fitting_vocabulary,
)
from atlas.model import PRESETS, Transformer, TransformerConfig

SIZES = st.builds(
    Recipe,
    width=st.integers(1, 300),
    ffn=st.integers(1, 900),
    vocabulary=st.integers(1, 5000),
    plain=st.integers(1, 20),
    crossed=st.integers(0, 20),
)


def parameters(of: nn.Module) -> int:
    return sum(parameter.numel() for parameter in of.parameters())


def built(**options: object) -> Transformer:
    with torch.device("meta"):
        return Transformer(TransformerConfig(**options))


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_recipe_counts_what_a_model_has(norm: str, positions: str, tied: bool) -> None:
    sizes = {"encoder_layers": 3, "decoder_layers": 2, "heads": 3, "width": 36, "ffn": 50, "max_length": 77}
    model = built(vocabulary=123, norm=norm, positions=positions, tied=tied, **sizes)
    recipe = Recipe(
        36,
        50,
        123,
        plain=3,
        crossed=2,
        tables=1 if tied else 3,
        positions=77 if positions == "learned" else 0,
        ends=2 if norm == "pre" else 0,
    )
    assert count(recipe).total == count(recipe, active=True).total == parameters(model)


def test_the_published_base_model_is_ours_built_large() -> None:
    assert count(BASE).total == parameters(built(vocabulary=37_000, **PRESETS["base"]))


def test_a_decoder_alone_has_the_layers_of_pytorchs_encoder() -> None:
    recipe = Recipe(48, 96, 1000, plain=5, ends=1)
    with torch.device("meta"):
        layers = [nn.TransformerEncoderLayer(48, 4, 96) for _ in range(5)]
        whole = nn.ModuleList([*layers, nn.LayerNorm(48), nn.Embedding(1000, 48)])
    assert count(recipe).total == parameters(whole)


def mixture(recipe: Recipe, experts: int) -> int:
    """Parameters of a decoder of grouped queries, gated networks and RMSNorm, from linear maps."""
    d, f, keys = recipe.width, recipe.ffn, recipe.key_width
    shapes = [(d, d), (d, keys), (d, keys), (d, d), (d, recipe.experts)]
    shapes += [shape for _ in range(experts) for shape in ((d, f), (d, f), (f, d))]
    with torch.device("meta"):
        maps = [nn.Linear(inputs, outputs, bias=False) for inputs, outputs in shapes]
        layer = nn.ModuleList([*maps, nn.RMSNorm(d), nn.RMSNorm(d)])
        output = nn.Linear(d, recipe.vocabulary, bias=False)
        ends = nn.ModuleList([nn.RMSNorm(d), nn.Embedding(recipe.vocabulary, d), output])
    return recipe.plain * parameters(layer) + parameters(ends)


def test_mixtral_built_from_linear_maps() -> None:
    total, active = count(MIXTRAL).total, count(MIXTRAL, active=True).total
    assert total == mixture(MIXTRAL, MIXTRAL.experts)
    assert active == mixture(MIXTRAL, MIXTRAL.used)
    assert (round(total / 1e9, 1), round(active / 1e9, 1)) == (46.7, 12.9)


def test_the_sum_for_gpt3() -> None:
    found = count(GPT3)
    assert found.layers == 96 * 12 * 12_288**2 == 173_946_175_488
    assert found.embedding == 50_257 * 12_288
    assert found.total == pytest.approx(175e9, rel=0.003)


@pytest.mark.parametrize("one", PUBLISHED, ids=lambda one: one.name)
def test_published_counts_are_met_and_a_vocabulary_explains_the_rest(one) -> None:
    assert count(one.recipe).total == pytest.approx(one.printed, rel=0.07)
    fits = fitting_vocabulary(one)
    without = count(one.recipe).total - one.recipe.tables * one.recipe.vocabulary * one.recipe.width
    assert without + one.recipe.tables * fits * one.recipe.width == pytest.approx(one.printed)
    if one.recipe.crossed:
        assert 35_000 < fits < 43_000


@given(SIZES)
def test_twice_as_wide(recipe: Recipe) -> None:
    once, twice = count(recipe), count(recipe.doubled())
    assert twice.layers == 4 * once.layers
    assert twice.embedding == 2 * once.embedding
    assert twice.remainder == 2 * once.remainder
    assert 2 <= twice.total / once.total < 4


@given(SIZES, st.integers(2, 16), st.data())
def test_experts_that_are_not_used_are_not_active(recipe: Recipe, experts: int, data: st.DataObject) -> None:
    used = data.draw(st.integers(1, experts))
    every = data.draw(st.integers(1, 4))
    mixed = Recipe(
        recipe.width,
        recipe.ffn,
        recipe.vocabulary,
        recipe.plain,
        recipe.crossed,
        experts=experts,
        used=used,
        every=every,
    )
    total, active, dense = count(mixed), count(mixed, active=True), count(recipe)
    layers = recipe.plain // every + recipe.crossed // every
    one = 2 * recipe.width * recipe.ffn + recipe.ffn + recipe.width
    assert total.total - active.total == layers * (experts - used) * one
    assert total.router == active.router == layers * recipe.width * experts
    assert active.total - dense.total == layers * (used - 1) * one + active.router


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"width": 0}, "width must be at least 1, not 0"),
        ({"plain": 0}, "at least one layer"),
        ({"experts": 2, "used": 3}, "cannot use 3 experts of 2"),
    ],
)
def test_impossible_sizes(sizes: dict[str, int], words: str) -> None:
    with pytest.raises(RecipeError, match=words):
        Recipe(**({"width": 8, "ffn": 8, "vocabulary": 8, "plain": 1} | sizes))
