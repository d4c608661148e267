"""A second Transformer for one sentence, in NumPy and plain loops, and small models to compare it with."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from atlas.model import Transformer, TransformerConfig

VOCABULARY = 23
Weights = dict[str, NDArray[np.float64]]
Visible = NDArray[np.bool_]


def small_model(*, seed: int = 0, dtype: torch.dtype = torch.float64, **options: object) -> Transformer:
    """A few thousand weights, all random: biases and norms too, so that none can be left out unnoticed."""
    sizes = {"encoder_layers": 2, "decoder_layers": 3, "heads": 2, "width": 16, "ffn": 24, "max_length": 40}
    torch.manual_seed(seed)
    model = Transformer(TransformerConfig(vocabulary=VOCABULARY, **(sizes | options)))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter), alpha=0.2)
    return model.eval().to(dtype)


@dataclass
class Reference:
    """What the second Transformer says: ``logits`` ``(T, V)`` and attention maps ``(H, queries, keys)`` by
    the recorder's names.
    """

    logits: NDArray[np.float64]
    maps: Weights


def read(model: Transformer, source: list[int], target: list[int]) -> Reference:
    """Run one sentence, nothing padded, nothing cached."""
    config = model.config
    weights: Weights = {name: value.detach().double().numpy() for name, value in model.state_dict().items()}
    maps: Weights = {}
    unembedding = weights["source_embedding.weight" if config.tied else "unembedding"]

    def linear(name: str, x: NDArray[np.float64], rows: slice = slice(None)) -> NDArray[np.float64]:
        return x @ weights[f"{name}.weight"][rows].T + weights[f"{name}.bias"][rows]

    def norm(name: str, x: NDArray[np.float64]) -> NDArray[np.float64]:
        centred = x - x.mean(-1, keepdims=True)
        scale = np.sqrt((centred**2).mean(-1, keepdims=True) + config.norm_epsilon)
        return centred / scale * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def attention(name: str, point: str, x, memory, visible: Visible):
        parts = [slice(i * config.width, (i + 1) * config.width) for i in range(3)]
        if memory is None:
            q, k, v = (linear(f"{name}.qkv", x, part) for part in parts)
        else:
            q = linear(f"{name}.query", x)
            k, v = (linear(f"{name}.kv", memory, part) for part in parts[:2])
        heads, shown = [], []
        size = config.width // config.heads
        for head in range(config.heads):
            columns = slice(head * size, (head + 1) * size)
            rows = np.zeros((len(q), len(k)))
            for i in range(len(q)):
                powers = [
                    math.exp(q[i, columns] @ k[j, columns] / math.sqrt(size)) if visible[i, j] else 0.0
                    for j in range(len(k))
                ]
                rows[i] = np.array(powers) / sum(powers)
            heads.append(rows @ v[:, columns])
            shown.append(rows)
        maps[f"{point}.weights"] = np.stack(shown)
        return linear(f"{name}.output", np.concatenate(heads, axis=-1))

    def feed_forward(name: str, x: NDArray[np.float64]) -> NDArray[np.float64]:
        hidden = linear(f"{name}.inner", x)
        if config.activation == "relu":
            hidden = np.where(hidden > 0, hidden, 0.0)
        else:
            hidden = hidden * 0.5 * (1 + np.vectorize(math.erf)(hidden / math.sqrt(2)))
        return linear(f"{name}.outer", hidden)

    def residual(name: str, x, block):
        return x + block(norm(name, x)) if config.norm == "pre" else norm(name, x + block(x))

    def embed(name: str, ids: list[int]) -> NDArray[np.float64]:
        x = np.stack([weights[name][number] * math.sqrt(config.width) for number in ids])
        if config.positions == "learned":
            x = x + weights["position_table"][: len(ids)]
        elif config.positions == "sinusoidal":
            table = [position(place, config.width) for place in range(len(ids))]
            x = x + np.array(table, np.float32)  # a buffer of the model, and float32 as it was built
        return x

    def layer(name: str, x, visible: Visible, memory=None):
        own, feed = f"{name}.self_attention", f"{name}.feed_forward"
        x = residual(f"{name}.self_norm", x, lambda y: attention(own, f"{name}.self", y, None, visible))
        if memory is not None:
            cross, everything = f"{name}.cross_attention", np.ones((len(x), len(memory)), bool)
            x = residual(
                f"{name}.cross_norm", x, lambda y: attention(cross, f"{name}.cross", y, memory, everything)
            )
        return residual(f"{name}.ffn_norm", x, lambda y: feed_forward(feed, y))

    memory = embed("source_embedding.weight", source)
    for index in range(config.encoder_layers):
        memory = layer(f"encoder.{index}", memory, np.ones((len(source), len(source)), bool))
    memory = norm("encoder_norm", memory) if config.norm == "pre" else memory
    past = np.array([[j <= i for j in range(len(target))] for i in range(len(target))])
    x = embed(("source" if config.tied else "target") + "_embedding.weight", target)
    for index in range(config.decoder_layers):
        x = layer(f"decoder.{index}", x, past, memory)
    x = norm("decoder_norm", x) if config.norm == "pre" else x
    return Reference(x @ unembedding.T, maps)


def position(place: int, width: int) -> list[float]:
    """One row of the sinusoidal table, number by number (Vaswani et al. 2017, section 3.5)."""
    row = []
    for dimension in range(width):
        angle = place / 10000.0 ** (2 * (dimension // 2) / width)
        row.append(math.cos(angle) if dimension % 2 else math.sin(angle))
    return row
