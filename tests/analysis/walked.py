"""A forward pass in NumPy, written once more: every vector of every stage, in the order of the model."""

from __future__ import annotations

import math

import numpy as np

from atlas.model import Transformer

SOURCE = [5, 9, 9, 17, 2]
TARGET = [4, 11, 6]
READ = [1, *TARGET]


def weights_of(model: Transformer) -> dict[str, np.ndarray]:
    return {name: value.detach().double().numpy() for name, value in model.state_dict().items()}


class Walked:
    """``rows[i]`` is ``(N, T, D)``: the vectors of the i-th stage that has any, at every position."""

    def __init__(self, model: Transformer) -> None:
        self.config = model.config
        self.weights = weights_of(model)
        self.table = None if model.position_table is None else model.position_table.detach().double().numpy()
        self.rows: list[np.ndarray] = []
        self.hidden: list[np.ndarray] = []
        pre = self.config.norm == "pre"
        memory = self.side("encoder", SOURCE, None)
        if pre:
            memory = self.final("encoder", memory)
        out = self.side("decoder", READ, memory)
        if pre:
            out = self.final("decoder", out)
        self.logits = out @ self.weights["source_embedding.weight"].T

    def norm(self, name: str, x: np.ndarray) -> np.ndarray:
        scale = np.sqrt(x.var(axis=-1, keepdims=True) + self.config.norm_epsilon)
        standard = (x - x.mean(axis=-1, keepdims=True)) / scale
        return standard * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def final(self, side: str, x: np.ndarray) -> np.ndarray:
        after = self.norm(f"{side}_norm", x)
        self.rows.append(np.stack([x, after]))
        return after

    def linear(self, name: str, x: np.ndarray) -> np.ndarray:
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def attention(self, name: str, x: np.ndarray, memory: np.ndarray | None, causal: bool) -> np.ndarray:
        heads, size = self.config.heads, self.config.width // self.config.heads
        if memory is None:
            q, k, v = np.split(self.linear(f"{name}.qkv", x), 3, axis=-1)
        else:
            q = self.linear(f"{name}.query", x)
            k, v = np.split(self.linear(f"{name}.kv", memory), 2, axis=-1)
        joined = []
        for head in range(heads):
            own = slice(head * size, (head + 1) * size)
            scores = q[:, own] @ k[:, own].T / math.sqrt(size)
            if causal:
                scores[np.triu_indices(len(q), 1, len(k))] = -np.inf
            powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
            joined.append(powers / powers.sum(axis=-1, keepdims=True) @ v[:, own])
        return self.linear(f"{name}.output", np.concatenate(joined, axis=-1))

    def feed_forward(self, name: str, x: np.ndarray) -> np.ndarray:
        sums = self.linear(f"{name}.inner", x)
        if self.config.activation == "relu":
            hidden = np.maximum(sums, 0)
        else:
            hidden = sums * 0.5 * (1 + np.vectorize(math.erf)(sums / math.sqrt(2)))
        self.hidden.append(hidden)
        return self.linear(f"{name}.outer", hidden)

    def step(self, x: np.ndarray, norm: str, block) -> np.ndarray:
        if self.config.norm == "pre":
            read = self.norm(norm, x)
            change = block(read)
            vectors = [x, read, change, x + change]
        else:
            change = block(x)
            vectors = [x, change, x + change, self.norm(norm, x + change)]
        self.rows.append(np.stack(vectors))
        return vectors[-1]

    def side(self, side: str, ids: list[int], memory: np.ndarray | None) -> np.ndarray:
        looked_up = self.weights["source_embedding.weight"][ids]
        x = looked_up * math.sqrt(self.config.width)
        self.rows.append(np.stack([looked_up, x]))
        if self.table is not None:
            position = self.table[: len(ids)]
            self.rows.append(np.stack([x, position, x + position]))
            x = x + position
        layers = self.config.encoder_layers if side == "encoder" else self.config.decoder_layers
        for layer in range(layers):
            name = f"{side}.{layer}"

            def own(y: np.ndarray, name: str = name) -> np.ndarray:
                return self.attention(f"{name}.self_attention", y, None, side == "decoder")

            def cross(y: np.ndarray, name: str = name) -> np.ndarray:
                return self.attention(f"{name}.cross_attention", y, memory, False)

            def feed(y: np.ndarray, name: str = name) -> np.ndarray:
                return self.feed_forward(f"{name}.feed_forward", y)

            x = self.step(x, f"{name}.self_norm", own)
            if memory is not None:
                x = self.step(x, f"{name}.cross_norm", cross)
            x = self.step(x, f"{name}.ffn_norm", feed)
        return x


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)
