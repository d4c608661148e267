"""How many parameters a Transformer of given sizes has, and what the published ones print."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from atlas.errors import AtlasError


class RecipeError(AtlasError):
    """Sizes of a model that cannot be."""


@dataclass(frozen=True)
class Recipe:
    """Sizes of a Transformer, as far as parameters depend on them. The number of heads is not among them.

    Attributes:
        width: d.
        ffn: F, of one expert.
        vocabulary: V.
        plain: layers that attend once: those of an encoder, or of a decoder without a source (GPT).
        crossed: layers that also attend to a source: those of the 2017 decoder.
        tables: matrices of V × d: 1 when source, target and output share one.
        positions: learned positions.
        ends: stacks that end in a norm.
        key_width: width of all keys together, d unless several queries share a key (grouped queries).
        ffn_matrices: 2, or 3 with a gate (SwiGLU).
        biases: whether linear maps have them.
        norm_vectors: 2 for layer normalisation (scale and shift), 1 for RMSNorm.
        experts: E, copies of the feed-forward network in a layer of experts; 1 for none.
        used: k, experts that a token is sent to.
        every: experts in each ``every``-th layer.

    Raises:
        RecipeError: a size below what it can be, or more experts used than there are.
    """

    width: int
    ffn: int
    vocabulary: int
    plain: int = 0
    crossed: int = 0
    tables: int = 1
    positions: int = 0
    ends: int = 0
    key_width: int = 0
    ffn_matrices: int = 2
    biases: bool = True
    norm_vectors: int = 2
    experts: int = 1
    used: int = 1
    every: int = 1

    def __post_init__(self) -> None:
        for name in ("width", "ffn", "vocabulary", "experts", "used", "every"):
            if getattr(self, name) < 1:
                raise RecipeError(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.plain < 0 or self.crossed < 0 or self.plain + self.crossed < 1:
            raise RecipeError("a model has at least one layer")
        if self.used > self.experts:
            raise RecipeError(f"a token cannot use {self.used} experts of {self.experts}")

    def doubled(self) -> Recipe:
        """The same model twice as wide: d and F (and the width of its keys) times 2, V as it is."""
        return replace(self, width=2 * self.width, ffn=2 * self.ffn, key_width=2 * self.key_width)


@dataclass(frozen=True)
class Count:
    """Parameters by part: matrices of attention, of feed-forward networks, routers, embeddings, learned
    positions; ``remainder`` are biases and norms.
    """

    attention: int
    feed_forward: int
    router: int
    embedding: int
    positions: int
    remainder: int

    @property
    def total(self) -> int:
        """All of them."""
        return sum(getattr(self, item.name) for item in fields(self))

    @property
    def layers(self) -> int:
        """What the formulas n·12d² and n·16d² count: matrices of the layers."""
        return self.attention + self.feed_forward


def count(recipe: Recipe, *, active: bool = False) -> Count:
    """Parameters of a model.

    One attention has ``2 d^2 + 2 d K`` in matrices (``4 d^2`` where keys are as wide as the stream) and one
    feed-forward network ``2 d F`` (3 with a gate); a layer with experts has E networks and a router of
    ``d E``.

    Args:
        recipe: the sizes.
        active: count only the experts that one token uses. Its router is used as a whole.
    """
    d, f, keys = recipe.width, recipe.ffn, recipe.key_width or recipe.width
    layers = recipe.plain + recipe.crossed
    attentions = recipe.plain + 2 * recipe.crossed
    expert_layers = 0
    if recipe.experts > 1:
        expert_layers = recipe.plain // recipe.every + recipe.crossed // recipe.every
    copies = recipe.used if active else recipe.experts
    networks = layers - expert_layers + expert_layers * copies
    norms = 2 * recipe.plain + 3 * recipe.crossed + recipe.ends
    biases = attentions * (2 * d + 2 * keys) + networks * ((recipe.ffn_matrices - 1) * f + d)
    return Count(
        attention=attentions * (2 * d * d + 2 * d * keys),
        feed_forward=networks * recipe.ffn_matrices * d * f,
        router=expert_layers * d * recipe.experts,
        embedding=recipe.tables * recipe.vocabulary * d,
        positions=recipe.positions * d,
        remainder=norms * recipe.norm_vectors * d + (biases if recipe.biases else 0),
    )


@dataclass(frozen=True)
class Published:
    """A published model: its sizes and what its authors print.

    Attributes:
        name: of the model, or of the row of a table.
        recipe: its sizes.
        printed: parameters as printed, rounded by its authors.
        active: parameters that one token uses, as printed; 0 where there are no experts.
        source: where both stand.
    """

    name: str
    recipe: Recipe
    printed: float
    source: str
    active: float = 0.0


_VASWANI = "Vaswani et al. 2017, table 3"
BASE = Recipe(width=512, ffn=2048, vocabulary=37_000, plain=6, crossed=6)
BIG = replace(BASE, width=1024, ffn=4096)
GPT3 = Recipe(width=12_288, ffn=49_152, vocabulary=50_257, plain=96, positions=2048, ends=1)
MIXTRAL = Recipe(
    width=4096,
    ffn=14_336,
    vocabulary=32_000,
    plain=32,
    tables=2,
    ends=1,
    key_width=1024,
    ffn_matrices=3,
    biases=False,
    norm_vectors=1,
    experts=8,
    used=2,
)
PUBLISHED = (
    Published("base", BASE, 65e6, _VASWANI),
    Published("big", BIG, 213e6, _VASWANI),
    Published("2 + 2 layers", replace(BASE, plain=2, crossed=2), 36e6, f"{_VASWANI} (C)"),
    Published("4 + 4 layers", replace(BASE, plain=4, crossed=4), 50e6, f"{_VASWANI} (C)"),
    Published("8 + 8 layers", replace(BASE, plain=8, crossed=8), 80e6, f"{_VASWANI} (C)"),
    Published("d = 256", replace(BASE, width=256), 28e6, f"{_VASWANI} (C)"),
    Published("d = 1024", replace(BASE, width=1024), 168e6, f"{_VASWANI} (C)"),
    Published("F = 1024", replace(BASE, ffn=1024), 53e6, f"{_VASWANI} (C)"),
    Published("F = 4096", replace(BASE, ffn=4096), 90e6, f"{_VASWANI} (C)"),
    Published("GPT-3", GPT3, 175e9, "Brown et al. 2020, table 2.1"),
    Published("Mixtral 8x7B", MIXTRAL, 46.7e9, "Jiang et al. 2024", active=12.9e9),
)
"""Sizes and counts as their authors print them. The paper of 2017 speaks of "about 37000 tokens" and does not
say how it counts."""


def fitting_vocabulary(published: Published) -> float:
    """The V, in tokens, with which the count would be what was printed."""
    without = count(published.recipe).total - count(published.recipe).embedding
    return (published.printed - without) / (published.recipe.tables * published.recipe.width)
