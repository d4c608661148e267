"""Prefill and decode: does a cache filled token by token hold what one parallel pass computes?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from atlas.analysis.cache_memory import HeldBytes, held_bytes
from atlas.model.cache import Cache
from atlas.model.layers import DecoderLayer
from atlas.model.recorder import Recorder
from atlas.model.transformer import Transformer
from atlas.text.tokenizer import START_ID

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class PrefillCheck:
    """The keys and values of one text, come by in three ways, compared layer by layer.

    Attributes:
        tokens: T, tokens read, the start mark included.
        largest: ``(L,)``, largest absolute difference between the cache filled by one call with T tokens and
            the one filled by T calls with one token.
        full: ``(L,)``, the same between the one-by-one cache and a pass without any cache.
        alone: ``(L,)``, the same between the one-by-one cache and keys and values projected from each
            token's embedding alone, without the layers below.
        scale: largest absolute number in the cache.
        logits: largest difference of the logits after the last token, one call against T calls.
        held: bytes of the one-by-one cache.
    """

    tokens: int
    largest: Floats
    full: Floats
    alone: Floats
    scale: float
    logits: float
    held: HeldBytes


def _filled(model: Transformer, source: Tensor, target: Tensor, chunk: int) -> tuple[Cache, Tensor]:
    """Read a target ``(1, T)``, ``chunk`` tokens a call: the cache and the logits after the last token."""
    cache = model.begin(source, torch.ones_like(source, dtype=torch.bool))
    logits = torch.empty(0)
    for start in range(0, target.shape[1], chunk):
        logits = model.step(target[:, start : start + chunk], cache)
    return cache, logits


def _used(cache: Cache, layer: int) -> Tensor:
    """Keys and values of a layer as far as they are filled, ``(2, 1, H, T, K)``."""
    kept = cache.layers[layer]
    return torch.stack((kept.keys[:, :, : cache.length], kept.values[:, :, : cache.length]))


def _largest(first: Tensor, second: Tensor) -> float:
    return float((first - second).abs().max())


@torch.inference_mode()
def check_prefill(model: Transformer, source: Sequence[int], target: Sequence[int]) -> PrefillCheck:
    """Fill the cache with a translation in one call, token by token, and by a full pass, and compare.

    Args:
        source: ids of the sentence, end mark included.
        target: ids of the translation, without the start token.

    Raises:
        TooLongError: the model has too few positions.
    """
    ids = torch.tensor([list(source)], device=model.device)
    read = torch.tensor([[START_ID, *target]], device=model.device)
    at_once, logits = _filled(model, ids, read, read.shape[1])
    one_by_one, last = _filled(model, ids, read, 1)
    recorder = Recorder(("k", "v", "embedded"))
    model(ids, torch.ones_like(ids, dtype=torch.bool), read, recorder)
    largest, full, alone, scale = [], [], [], 0.0
    for index in range(model.config.decoder_layers):
        kept = _used(one_by_one, index)
        name = f"decoder.{index}.self"
        largest.append(_largest(kept, _used(at_once, index)))
        full.append(_largest(kept, torch.stack((recorder[f"{name}.k"], recorder[f"{name}.v"]))))
        layer = cast(DecoderLayer, model.decoder[index])
        alone.append(_largest(kept, _projected(layer, recorder["decoder.embedded"])))
        scale = max(scale, float(kept.abs().max()))
    return PrefillCheck(
        tokens=read.shape[1],
        largest=np.array(largest),
        full=np.array(full),
        alone=np.array(alone),
        scale=scale,
        logits=_largest(logits, last),
        held=held_bytes(one_by_one),
    )


def _projected(layer: DecoderLayer, embedded: Tensor) -> Tensor:
    """Keys and values that a layer would make of embeddings ``(1, T, D)``: ``(2, 1, H, T, K)``."""
    attention = layer.self_attention
    stream = layer.self_norm(embedded) if layer.pre else embedded
    _, keys, values = attention.split(attention.qkv(stream), 3)
    return torch.stack((keys, values))
