"""A sample read by a model in padded batches, each sentence with its translation (teacher forcing)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from atlas.analysis.heads.sample import HeldOut
from atlas.model.recorder import Recorder, point
from atlas.model.transformer import Transformer
from atlas.text.batches import pad
from atlas.text.tokenizer import PAD_ID, START_ID
from atlas.trace.views import Kind

KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Batch:
    """Sentences of about equal length, padded at the end.

    Attributes:
        numbers: ``(B,)``, of the sentences in the sample.
        source: ``(B, S)``.
        read: ``(B, T)``, what the decoder reads: the start token first.
        answer: ``(B, T)``, what it is to predict: the end mark last.
    """

    numbers: NDArray[np.int64]
    source: Tensor
    read: Tensor
    answer: Tensor

    def queries(self, kind: Kind) -> Tensor:
        """``(B, Q)`` ids of the tokens that look."""
        return self.source if kind == "encoder" else self.read

    def keys(self, kind: Kind) -> Tensor:
        """``(B, K)`` ids of the tokens that are looked at."""
        return self.read if kind == "decoder" else self.source


def batches(sample: HeldOut, device: torch.device, size: int = 32) -> list[Batch]:
    """The whole sample, short sentences first."""
    order = np.argsort([len(ids) for ids in sample.target_ids], kind="stable")
    found = []
    for start in range(0, len(order), size):
        numbers = order[start : start + size]
        source = pad([sample.source_ids[n] for n in numbers])
        read = pad([(START_ID, *sample.target_ids[n][:-1]) for n in numbers])
        answer = pad([sample.target_ids[n] for n in numbers])
        found.append(Batch(numbers, source.to(device), read.to(device), answer.to(device)))
    return found


def read(model: Transformer, batch: Batch, recorder: Recorder | None = None) -> Tensor:
    """``(B, T, V)`` logits."""
    mask = batch.source != PAD_ID
    memory = model.encode(batch.source, mask, recorder)
    return model.logits(model.decode(batch.read, memory, mask, recorder, target_mask=batch.read != PAD_ID))


def layers_of(model: Transformer) -> dict[Kind, int]:
    """How many layers of each kind of attention a model has."""
    decoder = model.config.decoder_layers
    return {"encoder": model.config.encoder_layers, "decoder": decoder, "cross": decoder}


@torch.inference_mode()
def attention(model: Transformer, batch: Batch) -> dict[Kind, Tensor]:
    """Weights before dropout of all heads, ``(B, L, H, Q, K)`` by kind."""
    recorder = Recorder(("weights",))
    read(model, batch, recorder)
    return {
        kind: torch.stack([recorder.points[point(kind, layer, "weights")] for layer in range(count)], dim=1)
        for kind, count in layers_of(model).items()
    }
