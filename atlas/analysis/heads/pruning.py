"""How many heads a model needs: loss and BLEU as ever more of them are switched off, in several orders.

The measurement ``pruning`` of a bundle. Nothing is trained again on the way: heads are set to zero one after
the other, least important first, as Michel, Levy and Neubig (2019, section 4) do. Voita et al. (2019) let the
model learn which heads go while they keep training it, which costs less.

Three scopes: ``all`` heads, those of the ``encoder`` alone, those of ``cross`` alone. For each scope s and
the orders ``cost`` (rise of the loss without the head), ``gradient`` (gradient importance), ``random.1`` ...:

=====================  ==================  =================================================================
array                  shape               what
=====================  ==================  =================================================================
``s.remaining``        ``(P,)``            how many heads of the scope remain at each point, most first
``s.orders``           ``(O, N)``          number of the head (in the scope) that goes first, second, ...
``s.loss``             ``(O, P)``          nats a target token
``s.bleu``             ``(O, P)``          greedy sacreBLEU
``s.bleu_low, _high``  ``(O, P)``          95% bootstrap interval over sentences
=====================  ==================  =================================================================

Facts: ``sentences``, ``orders``, ``scopes``. The orders were found on held-out sentences that include those
of the curves, which flatters ``cost`` and ``gradient`` a little.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from atlas.analysis.heads import costs
from atlas.analysis.heads.costs import Floats, Head, HeadCosts
from atlas.analysis.heads.kept import Kept
from atlas.analysis.heads.reading import Batch, batches
from atlas.analysis.heads.sample import HeldOut
from atlas.analysis.heads.subject import Subject
from atlas.analysis.length_scores import bleu_of, sentence_counts
from atlas.errors import AtlasError
from atlas.measurements import Measurement, load_measurement
from atlas.model.transformer import Transformer

NAME: Final = "pruning"
SCOPES: Final = ("all", "encoder", "cross")
RANDOM: Final = 3
ORDERS: Final = ("cost", "gradient", *(f"random.{number + 1}" for number in range(RANDOM)))
POINTS: Final = 8
SENTENCES: Final = 300
"""Of the sample, the first so many are translated at each point."""


def in_scope(model: Transformer, scope: str) -> list[Head]:
    """The heads that a curve is about, numbered by their place in this list."""
    return [head for head in costs.heads_of(model) if scope in ("all", head[0])]


def points_of(heads: int) -> list[int]:
    """How many of ``heads`` remain at each point of a curve: all of them first, none last."""
    return sorted({round(share * heads) for share in np.linspace(0, 1, POINTS)}, reverse=True)


def orders_of(heads: Sequence[Head], found: HeadCosts) -> NDArray[np.int64]:
    """Which head goes first, second, ...: ``(O, N)``, a row for each of :data:`ORDERS`, ties by number."""
    by_loss = np.array([found.loss(kind)[0][layer, head] for kind, layer, head in heads])
    by_gradient = np.array([found.importance(kind)[layer, head] for kind, layer, head in heads])
    chance = [np.random.default_rng(number).permutation(len(heads)) for number in range(RANDOM)]
    return np.stack([np.argsort(by_loss, kind="stable"), np.argsort(by_gradient, kind="stable"), *chance])


@dataclass(frozen=True)
class Curve:
    """One order in one scope, at P points: heads that remain, BLEU with its interval, nats a token."""

    remaining: NDArray[np.integer]
    bleu: Floats
    bleu_low: Floats
    bleu_high: Floats
    loss: Floats


@dataclass(frozen=True)
class Pruning(Kept):
    """The measurement ``pruning``, to be asked."""

    @property
    def sentences(self) -> int:
        """How many were translated at each point."""
        return int(self.measurement.facts["sentences"])

    def order(self, scope: str, order: str) -> tuple[int, ...]:
        """Numbers of heads (in :func:`in_scope`), the first to go first, by one of :data:`ORDERS`."""
        return tuple(self.measurement.arrays[f"{scope}.orders"][ORDERS.index(order)].tolist())

    def curve(self, scope: str, order: str) -> Curve:
        """One of :data:`ORDERS`, or ``random``: the mean of the random orders, from the lowest BLEU among
        them to the highest.
        """
        arrays = self.measurement.arrays
        names = ("bleu", "bleu_low", "bleu_high", "loss")
        bleu, low, high, loss = (np.asarray(arrays[f"{scope}.{name}"], np.float64) for name in names)
        remaining = arrays[f"{scope}.remaining"]
        if order == "random":
            drawn = bleu[-RANDOM:]
            return Curve(remaining, drawn.mean(0), drawn.min(0), drawn.max(0), loss[-RANDOM:].mean(0))
        row = ORDERS.index(order)
        return Curve(remaining, bleu[row], low[row], high[row], loss[row])

    def spared(self, scope: str, order: str, lost: float) -> int:
        """The most heads that were off at a point of a curve that lost at most ``lost`` BLEU there and at
        every point before.
        """
        curve = self.curve(scope, order)
        fits = curve.bleu[0] - curve.bleu <= lost
        last = int(np.argmin(fits)) - 1 if not fits.all() else len(fits) - 1
        return int(curve.remaining[0] - curve.remaining[last])


def measure(
    engine: Subject,
    sample: HeldOut,
    *,
    work: Path,
    report: Callable[[int, int], None] | None = None,
) -> Measurement:
    """Every point of every curve. What is found is kept in ``work``, a file a point, so that a run that was
    stopped goes on where it was.

    Args:
        report: called with the points done and all of them.

    Raises:
        AtlasError: the bundle has no measurement ``head_costs``, which gives two of the orders.
    """
    measured = load_measurement(engine.folder, costs.NAME, engine.hash)
    if measured is None:
        raise AtlasError(f"pruning needs the costs of heads first: atlas heads {engine.name} --only costs")
    found = HeadCosts.from_measurement(measured)
    short = replace(
        sample,
        pairs=sample.pairs[:SENTENCES],
        source_ids=sample.source_ids[:SENTENCES],
        target_ids=sample.target_ids[:SENTENCES],
    )
    prepared = batches(short, engine.model.device)
    tokens = sum(len(ids) for ids in short.target_ids)
    scopes = {scope: in_scope(engine.model, scope) for scope in SCOPES}
    total = sum(len(ORDERS) * len(points_of(len(heads))) for heads in scopes.values())
    arrays: dict[str, NDArray] = {}
    done = 0
    for scope, heads in scopes.items():
        orders, remaining = orders_of(heads, found), points_of(len(heads))
        arrays[f"{scope}.orders"] = orders.astype(np.int16)
        arrays[f"{scope}.remaining"] = np.array(remaining, np.int16)
        for name in ("loss", "bleu", "bleu_low", "bleu_high"):
            arrays[f"{scope}.{name}"] = np.zeros((len(ORDERS), len(remaining)), np.float32)
        for row, order in enumerate(orders.tolist()):
            for column, left in enumerate(remaining):
                if report is not None:
                    report(done, total)
                without = [heads[number] for number in order[: len(heads) - left]]
                loss, counts = _point(engine, short, prepared, without, work)
                low, high = np.percentile(costs.bleu_draws(counts), [2.5, 97.5])
                values = loss / tokens, bleu_of(counts.sum(0)), low, high
                for name, value in zip(("loss", "bleu", "bleu_low", "bleu_high"), values, strict=True):
                    arrays[f"{scope}.{name}"][row, column] = value
                done += 1
    facts = {
        "corpus": sample.corpus,
        "sentences": len(short),
        "orders": list(ORDERS),
        "scopes": list(SCOPES),
        "draws": costs.DRAWS,
    }
    return Measurement(NAME, engine.hash, sample.command(engine.name), facts, arrays)


def _point(
    engine: Subject, sample: HeldOut, prepared: Sequence[Batch], without: Sequence[Head], work: Path
) -> tuple[float, NDArray[np.int64]]:
    """Summed loss and counts of every sentence without some heads; the same set is never run twice."""
    named = " ".join(sorted(f"{kind[0]}{layer}.{head}" for kind, layer, head in without))
    file = work / f"{sha256(named.encode()).hexdigest()[:20]}.npz"
    if not file.is_file():
        references = [pair.target for pair in sample.pairs]
        costs.write_whole(
            file,
            loss=np.array(costs.sentence_losses(engine.model, prepared, without).sum()),
            counts=sentence_counts(costs.greedy(engine, sample.source_ids, without), references),
        )
    with np.load(file, allow_pickle=False) as kept:
        return float(kept["loss"]), kept["counts"]


def summary(measurement: Measurement) -> list[str]:
    """For every scope: BLEU with all and with no heads, and how many can go for half a point of BLEU."""
    found = Pruning.from_measurement(measurement)
    lines = []
    for scope in SCOPES:
        curve = found.curve(scope, "cost")
        spared = ", ".join(
            f"{name} {found.spared(scope, name, 0.5)}" for name in ("cost", "gradient", "random")
        )
        lines.append(
            f"{scope}: BLEU {curve.bleu[0]:.2f} with {curve.remaining[0]} heads, {curve.bleu[-1]:.2f} with "
            f"none; off for at most 0.5 BLEU: {spared}"
        )
    return lines
