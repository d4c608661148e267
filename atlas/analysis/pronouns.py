"""Do heads look from a pronoun at its noun? Measured over many sentences for every encoder head.

The sentences and their antecedents come from :mod:`atlas.analysis.antecedents`. For one sentence and one
head, with pieces merged into words (a word looks where its pieces look on average and receives the sum over
its pieces; :mod:`atlas.trace.words`), ``w[q, k]`` is the weight from word q to word k, ``p`` the pronoun and
``a`` its antecedent, ``d = p - a`` words before it:

=============  ==========================================================================================
``weight``     ``w[p, a]``
``content``    mean of ``w[p, k]`` over the other content words k before the pronoun (none: left out)
``distance``   mean of ``w[q, q - d]`` over the other places q, punctuation included (none: left out): what
               the head gives at this distance to anything
``beyond``     ``weight - distance`` of the same sentence
``top``        1 where ``a`` has more weight than every other word before the pronoun, otherwise 0
``others``     share of the other words q, two or more after ``a``, of which the same is true, each among the
               words before it (none: left out): large for a noun that everything looks at
``special``    ``top - others`` of the same sentence: what is the pronoun's own
=============  ==========================================================================================

The measurement ``pronouns`` of a bundle holds their means over sentences as float32 arrays ``(G, L, H)``, G
the groups that ``facts["groups"]`` names (``all``, each pronoun, each corpus; a group without a sentence is
NaN):

- ``weight``, ``content``, ``distance``, ``beyond``, ``top``, ``others``, ``special``;
- ``weight_low``, ``weight_high`` and so for ``beyond``, ``top`` and ``special``: 95% intervals, by drawing
  whole sentences with replacement (Efron 1979), each head by itself;
- ``untrained_weight`` and so for ``beyond``, ``top`` and ``special``: the same sentences in a model of the
  same shape with random weights.

``facts``: ``groups``; ``counts`` ``(G,)`` sentences; ``chance`` ``(G,)``, the mean of 1 / words before the
pronoun, what ``top`` is without knowledge; ``distances`` ``(G,)`` mean of d in places (words and
punctuation marks); ``rule``, a line;
``corpora``, where the sentences are from; ``picked``: the head with the largest ``top`` on every second
sentence, and on the others, free of the luck of the draw among L·H heads, its ``top`` and ``special`` with
their intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from atlas.analysis.antecedents import Example
from atlas.errors import AtlasError
from atlas.model.recorder import Recorder
from atlas.model.seeded import drawn_from
from atlas.model.transformer import Transformer
from atlas.text.tokenizer import SPECIAL_IDS, Tokenizer
from atlas.trace.pieces import label_tokens
from atlas.trace.words import merge_keys, merge_queries, word_groups

Floats = NDArray[np.floating]
MEASURES = ("weight", "content", "distance", "beyond", "top", "others", "special")
WITH_INTERVAL = ("weight", "beyond", "top", "special")
RULE = (
    "first third-person pronoun of a sentence, with exactly one noun or name before it that agrees in number "
    "and kind, found by word lists"
)
_DRAWS = 2000


class PronounsError(AtlasError):
    """Nothing to measure."""


@dataclass(frozen=True)
class Looks:
    """Where the heads look in each sentence: float64 ``(N, L, H)`` by the names of :data:`MEASURES`."""

    values: Mapping[str, Floats]

    def __getitem__(self, name: str) -> Floats:
        return self.values[name]


def word_attention(model: Transformer, tokenizer: Tokenizer, example: Example) -> Floats:
    """Encoder self-attention between the words of a sentence: ``(L, H, W, W)``, without the end mark.

    What the words give to the end mark is left out, so rows sum to at most 1.
    """
    ids = tokenizer.source(example.sentence)
    recorder = Recorder(("weights",))
    source = torch.tensor([ids], device=model.device)
    with torch.inference_mode():
        model.encode(source, torch.ones_like(source, dtype=torch.bool), recorder)
    layers = recorder.layers("encoder", "self", "weights", model.config.encoder_layers)
    weights = torch.stack([layer[0] for layer in layers]).float().cpu().numpy()
    tokens = label_tokens(example.sentence, tokenizer.pieces(ids), ids, SPECIAL_IDS)
    groups = [group for group in word_groups(tokens, example.sentence) if not group.special]
    members = _aligned([(group.start, group.end, group.members) for group in groups], example.spans)
    return merge_queries(merge_keys(weights, members), members)


def _aligned(
    groups: Sequence[tuple[int, int, tuple[int, ...]]], spans: Sequence[tuple[int, int]]
) -> list[tuple[int, ...]]:
    """The pieces of each word, by overlap of their spans; a piece of white space alone goes with none."""
    members: list[tuple[int, ...]] = []
    for start, end in spans:
        inside = [m for first, last, pieces in groups if first < end and last > start for m in pieces]
        if not inside:
            raise PronounsError(f"no piece spells the characters {start} to {end} of a sentence")
        members.append(tuple(inside))
    return members


def looks_of(attention: Floats, example: Example) -> dict[str, Floats]:
    """The measures of one sentence, ``(L, H)`` each; NaN where a control has no word.

    Args:
        attention: ``(L, H, W, W)`` between words.
        example: of the same sentence.
    """
    weights = attention.astype(np.float64)
    at, antecedent, distance = example.at, example.antecedent, example.distance
    nothing = np.full(weights.shape[:2], np.nan)

    def looked_at_most(query: int) -> Floats:
        rivals = [word for word in example.words if word < query and word != antecedent]
        highest = weights[:, :, query, rivals].max(axis=-1, initial=0.0)
        return (weights[:, :, query, antecedent] > highest).astype(np.float64)

    queries = np.array([q for q in range(distance, len(example.spans)) if q != at], dtype=int)
    later = [looked_at_most(q) for q in example.words if q > antecedent + 1 and q != at]
    row, content = weights[:, :, at], list(example.content)
    weight, top = row[:, :, antecedent], looked_at_most(at)
    same = weights[:, :, queries, queries - distance].mean(axis=-1) if len(queries) else nothing
    others = np.mean(later, axis=0) if later else nothing
    return {
        "weight": weight,
        "content": row[:, :, content].mean(axis=-1) if content else nothing,
        "distance": same,
        "beyond": weight - same,
        "top": top,
        "others": others,
        "special": top - others,
    }


def look(
    model: Transformer,
    tokenizer: Tokenizer,
    examples: Sequence[Example],
    progress: Callable[[int, int], None] | None = None,
) -> Looks:
    """The measures of every sentence.

    Raises:
        PronounsError: there is no sentence.
    """
    if not examples:
        raise PronounsError("no sentence has a pronoun with exactly one noun that it can stand for")
    found = []
    for number, example in enumerate(examples):
        found.append(looks_of(word_attention(model, tokenizer, example), example))
        if progress is not None:
            progress(number + 1, len(examples))
    return Looks({name: np.stack([one[name] for one in found]) for name in MEASURES})


def untrained(model: Transformer, seed: int = 0) -> Transformer:
    """A model of the same shape with the random weights that training would begin with."""
    with drawn_from(seed):
        return Transformer(model.config).eval().requires_grad_(False).to(model.device)


def mean_and_interval(values: Floats, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    """Mean over sentences and its 95% percentile bootstrap interval, entry by entry; NaN is left out.

    Args:
        values: ``(N, ...)``.
        seed: of the draws of sentences.

    Returns:
        Mean, low, high: ``(...)`` each; NaN where no sentence has a value.
    """
    flat = values.reshape(len(values), -1)
    known = ~np.isnan(flat)
    filled = np.where(known, flat, 0.0)
    draws = np.random.default_rng(seed).multinomial(len(flat), np.full(len(flat), 1 / len(flat)), _DRAWS)
    sums, counts = draws @ filled, (draws @ known).astype(np.float64)
    means = np.full_like(sums, np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    shape = values.shape[1:]
    mean = np.full(flat.shape[1], np.nan)
    low, high = mean.copy(), mean.copy()
    any_known = known.any(axis=0)
    mean[any_known] = filled[:, any_known].sum(axis=0) / known[:, any_known].sum(axis=0)
    if any_known.any():
        low[any_known], high[any_known] = np.nanpercentile(means[:, any_known], [2.5, 97.5], axis=0)
    return mean.reshape(shape), low.reshape(shape), high.reshape(shape)


def picked_head(looks: Looks) -> dict[str, Any]:
    """Choose the head with the largest ``top`` on every second sentence and judge it on the others.

    Args:
        looks: of at least 2 sentences.

    Returns:
        ``layer`` and ``head`` from 0, ``chosen_on`` and ``judged_on`` sentences, ``top`` and ``special``,
        each with ``_low`` and ``_high``.
    """
    top = looks["top"]
    layer, head = np.unravel_index(int(top[::2].mean(axis=0).argmax()), top.shape[1:])
    found: dict[str, Any] = {"layer": int(layer), "head": int(head)}
    found |= {"chosen_on": len(top[::2]), "judged_on": len(top[1::2])}
    for name in ("top", "special"):
        mean, low, high = mean_and_interval(looks[name][1::2, layer, head])
        found |= {name: float(mean), f"{name}_low": float(low), f"{name}_high": float(high)}
    return found


def summarise(
    examples: Sequence[Example], corpora: Sequence[str], trained: Looks, random: Looks
) -> tuple[dict[str, Any], dict[str, NDArray[np.float32]]]:
    """Facts and arrays of the measurement ``pronouns``, as the module's docstring lists them.

    Args:
        examples: N.
        corpora: the corpus that each is from.
        trained: what the model's heads do.
        random: what those of the untrained model do.
    """
    names = ["all", "it", "he", "she", "they", *sorted(set(corpora))]
    kinds = [{"all", example.pronoun, corpus} for example, corpus in zip(examples, corpora, strict=True)]
    inside = {name: np.array([name in kind for kind in kinds]) for name in names}
    shape = trained["weight"].shape[1:]
    arrays: dict[str, list[Floats]] = {}

    def keep(name: str, value: Floats) -> None:
        arrays.setdefault(name, []).append(np.asarray(value))

    for name in names:
        rows = inside[name]
        empty = np.full(shape, np.nan)
        for measure in MEASURES:
            values = trained[measure][rows]
            mean, low, high = mean_and_interval(values) if rows.any() else (empty, empty, empty)
            keep(measure, mean)
            if measure in WITH_INTERVAL:
                keep(f"{measure}_low", low)
                keep(f"{measure}_high", high)
                other = random[measure][rows]
                keep(f"untrained_{measure}", mean_and_interval(other)[0] if rows.any() else empty)
    earlier = np.array([1 / example.earlier for example in examples])
    distances = np.array([example.distance for example in examples])
    facts: dict[str, Any] = {
        "groups": names,
        "counts": [int(inside[name].sum()) for name in names],
        "chance": [float(earlier[inside[name]].mean()) if inside[name].any() else None for name in names],
        "distances": [
            float(distances[inside[name]].mean()) if inside[name].any() else None for name in names
        ],
        "rule": RULE,
        "picked": picked_head(trained) if len(examples) > 1 else None,
    }
    return facts, {name: np.stack(values).astype(np.float32) for name, values in arrays.items()}
