"""Which tokens wake each feed-forward unit, over many sentences (compare Geva et al. 2021, section 3).

The model reads sentences with their reference translations (teacher forcing). For every unit of every layer
the mean activation over all places of each token is taken; the tokens with the largest means are kept, as
numbers only: no sentence is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from atlas.analysis.feed_forward import UnitError
from atlas.analysis.forward import Side
from atlas.model.config import TransformerConfig
from atlas.model.recorder import Recorder
from atlas.model.transformer import Transformer
from atlas.text.batches import pad
from atlas.text.tokenizer import PAD_ID

Floats = NDArray[np.floating[Any]]
SIDES: tuple[Side, Side] = ("encoder", "decoder")


@dataclass(frozen=True)
class LayerUnits:
    """The units of one layer over many sentences.

    Attributes:
        tokens: ``(F, n)`` ids that wake each unit most, most first. A token that is not met often enough to
            be ranked is not among them; where there are too few, the rest is ``<pad>`` with a mean of 0.
        means: ``(F, n)``, mean activation over every place of the token.
        silent: ``(F,)``, share of all places at which the activation is exactly 0.
        largest: ``(F,)``, the largest activation met; ``at``: ``(F,)``, the token that was read there.
    """

    tokens: NDArray[np.integer[Any]]
    means: Floats
    silent: Floats
    largest: Floats
    at: NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Units:
    """All layers, by side and number, and how often each token was read: ``counts[side]`` is ``(V,)``."""

    layers: Mapping[tuple[Side, int], LayerUnits]
    counts: Mapping[Side, NDArray[np.int64]]


class _Sums:
    """Running sums of one layer, over the tokens that occur."""

    def __init__(self, types: int, units: int) -> None:
        self.total = np.zeros((types, units))
        self.silent = np.zeros(units, dtype=np.int64)
        self.largest = np.full(units, -np.inf, dtype=np.float32)
        self.at = np.zeros(units, dtype=np.int64)

    def add(self, hidden: Floats, types: NDArray[np.int64]) -> None:
        """Count the activations ``(N, F)`` of N places whose tokens are ``types``."""
        # Sums over equal tokens as one product: np.add.at takes a hundred times as long.
        present, where = np.unique(types, return_inverse=True)
        member = np.zeros((len(present), len(types)), dtype=np.float32)
        member[where, np.arange(len(types))] = 1
        self.total[present] += member @ hidden
        self.silent += (hidden == 0).sum(axis=0)
        highest = hidden.argmax(axis=0)
        values = hidden[highest, np.arange(hidden.shape[1])]
        higher = values > self.largest
        self.largest[higher] = values[higher]
        self.at[higher] = types[highest[higher]]


@torch.inference_mode()
def measure_units(
    model: Transformer,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    *,
    kept: int = 8,
    least: int = 3,
    batch: int = 32,
    progress: Callable[[int, int], None] | None = None,
) -> Units:
    """Let the model read pairs of sentences and collect what wakes its units.

    Args:
        model: in evaluation mode.
        sources: ids of each sentence, end mark included.
        targets: ids that the decoder reads: the start mark and a translation.
        kept: tokens kept of each unit.
        least: a token is ranked if it was read at least so often on its side; a mean over fewer says little.
        batch: sentences at once.
        progress: called with sentences done and sentences in all.

    Raises:
        UnitError: no sentences, or not a translation for each.
    """
    if not sources or len(sources) != len(targets):
        raise UnitError(f"{len(sources)} sentences with {len(targets)} translations cannot be measured")
    config = model.config
    counts = {side: _counts(rows, config) for side, rows in zip(SIDES, (sources, targets), strict=True)}
    types = {side: np.flatnonzero(count) for side, count in counts.items()}
    layers = {"encoder": config.encoder_layers, "decoder": config.decoder_layers}
    sums = {
        (side, layer): _Sums(len(types[side]), config.ffn) for side in SIDES for layer in range(layers[side])
    }
    order = sorted(range(len(sources)), key=lambda place: len(sources[place]) + len(targets[place]))
    for first in range(0, len(order), batch):
        chosen = order[first : first + batch]
        read = {
            "encoder": pad([sources[place] for place in chosen]).to(model.device),
            "decoder": pad([targets[place] for place in chosen]).to(model.device),
        }
        recorder = Recorder(("hidden",))
        model.decode(
            read["decoder"],
            model.encode(read["encoder"], read["encoder"] != PAD_ID, recorder),
            read["encoder"] != PAD_ID,
            recorder,
            target_mask=read["decoder"] != PAD_ID,
        )
        for (side, layer), held in sums.items():
            real = read[side] != PAD_ID
            hidden = recorder[f"{side}.{layer}.ffn.hidden"][real].float().cpu().numpy()
            held.add(hidden, np.searchsorted(types[side], read[side][real].cpu().numpy()))
        if progress is not None:
            progress(min(first + batch, len(order)), len(order))
    found = {
        (side, layer): _ranked(held, types[side], counts[side], kept, least)
        for (side, layer), held in sums.items()
    }
    return Units(found, counts)


def _counts(rows: Sequence[Sequence[int]], config: TransformerConfig) -> NDArray[np.int64]:
    return np.bincount(np.concatenate([np.asarray(row) for row in rows]), minlength=config.vocabulary)


def _ranked(
    held: _Sums, types: NDArray[np.int64], counts: NDArray[np.int64], kept: int, least: int
) -> LayerUnits:
    often = counts[types] >= least
    means = held.total[often] / counts[types[often], None]
    order = np.argsort(-means, axis=0, kind="stable")[:kept]
    units = held.total.shape[1]
    tokens, best = np.full((units, kept), PAD_ID), np.zeros((units, kept))
    tokens[:, : len(order)] = types[often][order].T
    best[:, : len(order)] = np.take_along_axis(means, order, axis=0).T
    return LayerUnits(tokens, best, held.silent / counts.sum(), held.largest, types[held.at])


def to_arrays(units: Units) -> dict[str, NDArray[Any]]:
    """Compact arrays for a measurement: uint16 ids, float16 numbers, by ``SIDE.LAYER.WHAT``.

    Raises:
        UnitError: a vocabulary whose ids do not fit.
    """
    if max(len(count) for count in units.counts.values()) > 2**16:
        raise UnitError("units are stored for vocabularies of at most 65,536 tokens")
    arrays: dict[str, NDArray[Any]] = {
        f"{side}.counts": count.astype(np.int32) for side, count in units.counts.items()
    }
    for (side, layer), found in units.layers.items():
        for what in ("tokens", "at"):
            arrays[f"{side}.{layer}.{what}"] = getattr(found, what).astype(np.uint16)
        for what in ("means", "silent", "largest"):
            arrays[f"{side}.{layer}.{what}"] = getattr(found, what).astype(np.float16)
    return arrays


def layer_from(arrays: Mapping[str, NDArray[Any]], side: Side, layer: int) -> LayerUnits:
    """One layer of what :func:`to_arrays` stored; ids as int64, numbers as float32.

    Raises:
        UnitError: the arrays hold no such layer.
    """
    name = f"{side}.{layer}"
    if f"{name}.tokens" not in arrays:
        raise UnitError(f"the measurement of units has no {side} layer {layer}")
    return LayerUnits(
        tokens=arrays[f"{name}.tokens"].astype(np.int64),
        means=arrays[f"{name}.means"].astype(np.float32),
        silent=arrays[f"{name}.silent"].astype(np.float32),
        largest=arrays[f"{name}.largest"].astype(np.float32),
        at=arrays[f"{name}.at"].astype(np.int64),
    )
