"""The metrics of every head over a sample, in padded batches."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from atlas.analysis.heads.distances import divergences
from atlas.analysis.heads.metrics import View, measure
from atlas.analysis.heads.sample import HeldOut
from atlas.model.recorder import Recorder
from atlas.model.transformer import Transformer
from atlas.text.batches import pad
from atlas.text.tokenizer import PAD_ID, SPECIAL_IDS, START_ID, Tokenizer
from atlas.trace.pieces import decode_pieces
from atlas.trace.views import Kind

Floats = NDArray[np.float64]
KINDS: tuple[Kind, ...] = get_args(Kind)
_BATCH = 32


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

    def __init__(self, tokenizer: Tokenizer, counts: Mapping[int, int]) -> None:
        size = len(tokenizer)
        self.counts = torch.zeros(size)
        for token, count in counts.items():
            self.counts[token] = count
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
    sides = _Tokens(tokenizer, sample.source_counts), _Tokens(tokenizer, sample.target_counts)
    order = np.argsort([len(ids) for ids in sample.source_ids], kind="stable")
    sums: dict[tuple[Kind, str], Floats] = {}
    counts: dict[tuple[Kind, str], Floats] = {}
    apart: dict[Kind, Tensor] = {}
    rows: dict[Kind, int] = dict.fromkeys(KINDS, 0)
    done = 0
    for numbers in (order[start : start + _BATCH] for start in range(0, len(order), _BATCH)):
        for kind, weights, view in _read(model, sample, numbers.tolist(), sides):
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
            report(done, len(order))
    return {
        kind: Gathered(
            {metric: value for (of, metric), value in sums.items() if of == kind},
            {metric: value for (of, metric), value in counts.items() if of == kind},
            (apart[kind] / max(rows[kind], 1)).numpy(),
        )
        for kind in KINDS
    }


@torch.inference_mode()
def _read(
    model: Transformer, sample: HeldOut, numbers: Sequence[int], sides: tuple[_Tokens, _Tokens]
) -> Iterator[tuple[Kind, Tensor, View]]:
    """Weights ``(B, L, H, Q, K)`` and the view of each kind, for the sentences of the given numbers."""
    device = model.device
    source = pad([list(sample.source_ids[n]) for n in numbers]).to(device)
    target = pad([[START_ID, *sample.target_ids[n][:-1]] for n in numbers]).to(device)
    there, read = source != PAD_ID, target != PAD_ID
    recorder = Recorder(("weights",))
    model(source, there, target, recorder)
    sizes = {"encoder": model.config.encoder_layers, "decoder": model.config.decoder_layers}
    causal = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool, device=device).tril()
    for kind in KINDS:
        cross = kind == "cross"
        asked, answers = (source if kind == "encoder" else target), (target if kind == "decoder" else source)
        query_side, key_side = sides[kind != "encoder"], sides[kind == "decoder"]
        side, block = ("decoder", "cross") if cross else (kind, "self")
        layers = recorder.layers(side, block, "weights", sizes[side])
        queries = (asked != PAD_ID) & ~query_side.special.to(device)[asked]
        visible = (answers != PAD_ID)[:, None].expand(-1, asked.shape[1], -1)
        if kind == "decoder":
            visible = visible & causal
        yield (
            kind,
            torch.stack(list(layers), dim=1),
            View(
                queries=queries,
                visible=visible,
                place=_diagonal(read, there)
                if cross
                else torch.arange(asked.shape[1]).expand(asked.shape).to(device),
                special=key_side.special.to(device)[answers],
                punctuation=key_side.punctuation.to(device)[answers],
                counts=key_side.counts.to(device)[answers],
                cross=cross,
            ),
        )


def _diagonal(read: Tensor, there: Tensor) -> Tensor:
    """``(B, T)``: where step t of T stands among S source tokens."""
    steps = torch.arange(read.shape[1], device=read.device)
    length = (read.sum(-1, keepdim=True) - 1).clamp_min(1)
    return (steps * (there.sum(-1, keepdim=True) - 1) / length).round().long()
