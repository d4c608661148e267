"""The metrics of every head over a sample, in padded batches."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from atlas.analysis.heads.distances import divergences
from atlas.analysis.heads.metrics import View, measure
from atlas.analysis.heads.reading import KINDS, Batch, attention, batches
from atlas.analysis.heads.sample import HeldOut
from atlas.model.attention import causal_mask
from atlas.model.transformer import Transformer
from atlas.text.tokenizer import PAD_ID, SPECIAL_IDS, Tokenizer
from atlas.trace.pieces import decode_pieces
from atlas.trace.views import Kind

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Gathered:
    """Metrics of one kind of attention.

    Attributes:
        sums: metric -> ``(N, L, H)``, summed over the queries of each sentence.
        counts: metric -> ``(N,)``, the queries that it is defined for.
        distances: ``(L H, L H)``, mean Jensen-Shannon divergence over queries, bits.
    """

    sums: Mapping[str, Floats]
    counts: Mapping[str, Floats]
    distances: Floats

    def mean(self, metric: str) -> Floats:
        """``(L, H)`` over all queries; NaN where there is none."""
        with np.errstate(invalid="ignore"):
            return self.sums[metric].sum(0) / self.counts[metric].sum()

    def by_sentence(self, metric: str) -> Floats:
        """``(N, L, H)``; NaN where a sentence has no query that it is defined for."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.sums[metric] / self.counts[metric][:, None, None]


class _Tokens:
    """What metrics need to know of the tokens of one side."""

    def __init__(self, tokenizer: Tokenizer, training: Sequence[str]) -> None:
        size = len(tokenizer)
        seen = [token for row in tokenizer.encode_batch(training) for token in row]
        self.counts = torch.from_numpy(np.bincount(seen, minlength=size)).float()
        self.special = torch.zeros(size, dtype=torch.bool)
        self.special[list(SPECIAL_IDS)] = True
        self.punctuation = torch.tensor(
            [
                token not in SPECIAL_IDS and _only_punctuation(decode_pieces([tokenizer.piece(token)]))
                for token in range(size)
            ]
        )


def _only_punctuation(text: str) -> bool:
    kept = text.strip()
    return bool(kept) and all(unicodedata.category(character)[0] == "P" for character in kept)


def gather(
    model: Transformer,
    tokenizer: Tokenizer,
    sample: HeldOut,
    report: Callable[[int, int], None] | None = None,
) -> dict[Kind, Gathered]:
    """Read every sentence with its translation and measure every head.

    Args:
        report: called with the sentences done and all of them.
    """
    sides = (
        _Tokens(tokenizer, [pair.source for pair in sample.training]),
        _Tokens(tokenizer, [pair.target for pair in sample.training]),
    )
    sums: dict[tuple[Kind, str], Floats] = {}
    counts: dict[tuple[Kind, str], Floats] = {}
    apart: dict[Kind, Tensor] = {}
    rows: dict[Kind, int] = dict.fromkeys(KINDS, 0)
    done = 0
    for batch in batches(sample, model.device):
        numbers = batch.numbers
        for kind, weights in attention(model, batch).items():
            view = _view(batch, kind, sides, model.config.causal)
            number = len(sample), *weights.shape[1:3]
            for layer in range(weights.shape[1]):
                for metric, (total, count) in measure(weights[:, layer], view).items():
                    place = kind, metric
                    sums.setdefault(place, np.zeros(number))[numbers, layer] = total.cpu().double().numpy()
                    counts.setdefault(place, np.zeros(len(sample)))[numbers] = count.cpu().numpy()
            found = divergences(weights.flatten(1, 2), view.queries)
            apart[kind] = apart.get(kind, torch.zeros_like(found)) + found
            rows[kind] += int(view.queries.sum())
        done += len(numbers)
        if report is not None:
            report(done, len(sample))
    return {
        kind: Gathered(
            {metric: value for (of, metric), value in sums.items() if of == kind},
            {metric: value for (of, metric), value in counts.items() if of == kind},
            (apart[kind] / max(rows[kind], 1)).numpy(),
        )
        for kind in KINDS
    }


def _view(batch: Batch, kind: Kind, sides: tuple[_Tokens, _Tokens], causal: bool) -> View:
    """What the metrics need to know of one kind of attention of a batch."""
    asked, answers = batch.queries(kind), batch.keys(kind)
    queries, keys = sides[kind != "encoder"], sides[kind == "decoder"]
    visible = (answers != PAD_ID)[:, None].expand(-1, asked.shape[1], -1)
    if kind == "decoder" and causal:
        visible = visible & causal_mask(asked.shape[1], asked.shape[1], asked.device)
    own = torch.arange(asked.shape[1], device=asked.device).expand(asked.shape)
    return View(
        queries=(asked != PAD_ID) & ~queries.special.to(asked.device)[asked],
        visible=visible,
        place=_diagonal(asked != PAD_ID, answers != PAD_ID) if kind == "cross" else own,
        special=keys.special.to(asked.device)[answers],
        punctuation=keys.punctuation.to(asked.device)[answers],
        counts=keys.counts.to(asked.device)[answers],
        cross=kind == "cross",
    )


def _diagonal(read: Tensor, there: Tensor) -> Tensor:
    """``(B, T)``: where step t of T stands among S source tokens."""
    steps = torch.arange(read.shape[1], device=read.device)
    length = (read.sum(-1, keepdim=True) - 1).clamp_min(1)
    return (steps * (there.sum(-1, keepdim=True) - 1) / length).round().long()
