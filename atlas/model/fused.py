"""The decoder of a trained Transformer, one token at a time, with as few and as large products as it allows.

:class:`FusedDecoder` computes what :meth:`~atlas.model.transformer.Transformer.step` computes, from copies of
the same weights laid out for reading. At batch 1 a step reads every weight once and does little else, so what
counts is the number of operations; at batch 32 what counts is that no cache is copied
(:mod:`~atlas.model.tree_cache`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.nn import functional

from atlas.model.config import TransformerConfig
from atlas.model.layers import DecoderLayer
from atlas.model.recorder import Recorder
from atlas.model.softmax import in_lanes
from atlas.model.transformer import TooLongError, Transformer
from atlas.model.tree_cache import TreeCache


@dataclass(frozen=True)
class _Map:
    """A linear map ``x W + b``: ``weight`` is ``(in, out)``, read row by row."""

    weight: Tensor
    bias: Tensor

    @classmethod
    def of(cls, *linears: nn.Linear) -> _Map:
        """One map that gives the outputs of all, side by side."""
        weight = torch.cat([linear.weight.detach() for linear in linears])
        return cls(weight.t().contiguous(), torch.cat([linear.bias.detach() for linear in linears]))

    def __call__(self, stream: Tensor) -> Tensor:
        return torch.addmm(self.bias, stream, self.weight)


@dataclass(frozen=True)
class _Norm:
    """Layer normalisation."""

    weight: Tensor
    bias: Tensor
    epsilon: float

    @classmethod
    def of(cls, norm: nn.LayerNorm) -> _Norm:
        return cls(norm.weight.detach(), norm.bias.detach(), norm.eps)

    def __call__(self, stream: Tensor) -> Tensor:
        return torch.layer_norm(stream, self.weight.shape, self.weight, self.bias, self.epsilon)


@dataclass(frozen=True)
class _Layer:
    qkv: _Map
    output: _Map
    query: _Map
    cross_output: _Map
    inner: _Map
    outer: _Map
    self_norm: _Norm
    cross_norm: _Norm
    ffn_norm: _Norm

    @classmethod
    def of(cls, layer: DecoderLayer) -> _Layer:
        return cls(
            _Map.of(layer.self_attention.qkv),
            _Map.of(layer.self_attention.output),
            _Map.of(layer.cross_attention.query),
            _Map.of(layer.cross_attention.output),
            _Map.of(layer.feed_forward.inner),
            _Map.of(layer.feed_forward.outer),
            _Norm.of(layer.self_norm),
            _Norm.of(layer.cross_norm),
            _Norm.of(layer.ffn_norm),
        )


@dataclass(frozen=True)
class _Weights:
    """The decoder's weights, laid out for reading; nothing here leads back to the model."""

    table: Tensor
    positions: Tensor | None
    source: _Map
    layers: tuple[_Layer, ...]
    norm: _Norm | None
    vocabulary: Tensor

    @classmethod
    def of(cls, model: Transformer) -> _Weights:
        """Copies of a model's weights, except of the embedding, whose rows are looked up where they are."""
        table, positions = model.target_embedding.weight.detach(), model.position_table
        layers = [cast(DecoderLayer, layer) for layer in model.decoder]
        return cls(
            table,
            None if positions is None else positions.detach().to(table.dtype),
            _Map.of(*(layer.cross_attention.kv for layer in layers)),
            tuple(map(_Layer.of, layers)),
            _Norm.of(model.decoder_norm) if isinstance(model.decoder_norm, nn.LayerNorm) else None,
            model.unembedding.detach().t().contiguous(),
        )


_KEPT: WeakKeyDictionary[Transformer, tuple[tuple[tuple[int, int], ...], _Weights]] = WeakKeyDictionary()


def _weights_of(model: Transformer) -> _Weights:
    """Made once for as long as the model lives and its weights stay the same."""
    weights = list(model.parameters())
    if any(weight.is_inference() for weight in weights):  # they do not tell when they are changed
        return _Weights.of(model)
    state = tuple((weight.data_ptr(), weight._version) for weight in weights)
    kept = _KEPT.get(model)
    if kept is None or kept[0] != state:
        kept = _KEPT[model] = (state, _Weights.of(model))
    return kept[1]


class FusedDecoder:
    """A search's view of a Transformer in evaluation mode; a :class:`~atlas.decoding.protocol.StepModel`.

    The encoder is the model's own. Results agree with the model's own steps to rounding. Weights that change
    afterwards are not noticed: make a new one for every search, which costs nothing while they are the same.
    """

    def __init__(self, model: Transformer) -> None:
        self.config: TransformerConfig = model.config
        self._model = model
        self._weights = _weights_of(model)
        self._pre = model.config.norm == "pre"

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self._weights.table.device

    def begin(
        self,
        source: Tensor,
        mask: Tensor,
        recorder: Recorder | None = None,
        *,
        positions: Tensor | None = None,
    ) -> TreeCache:
        """Read ``(B, S)`` source ids (``mask`` True at real tokens) and make ready to decode.

        Arguments as in :meth:`~atlas.model.transformer.Transformer.begin`.
        """
        memory = self._model.encode(source, mask, recorder, positions=positions)
        batch, length, _ = memory.shape
        heads, width = self.config.heads, self.config.head_width
        both = self._weights.source(memory.flatten(0, 1)).view(
            batch, length, len(self._weights.layers), 2, heads, width
        )
        room = in_lanes(2 * length + 10)  # as long as a translation may be when nobody says otherwise
        known = both.new_zeros((len(self._weights.layers), 2, batch, heads, in_lanes(length), width))
        known[:, :, :, :, :length] = both.permute(2, 3, 0, 4, 1, 5)
        bias = memory.new_full((batch, 1, 1, known.shape[4]), -math.inf)
        bias[:, 0, 0, :length].masked_fill_(mask, 0.0)
        return TreeCache(
            [memory.new_empty((2, batch, heads, room, width)) for _ in self._weights.layers],
            list(known.unbind(0)),
            bias,
            torch.empty((batch, 1, 0), dtype=torch.long, device=memory.device),
            source_length=length,
        )

    def step(self, tokens: Tensor, cache: TreeCache, recorder: Recorder | None = None) -> Tensor:
        """Read the next token of every row and predict what follows.

        Args:
            tokens: ``(rows, 1)`` ids.
            cache: from :meth:`begin`; moved on by one token.
            recorder: sees what :meth:`~atlas.model.transformer.Transformer.step` shows of attention, of what
                each sub-layer leaves in the residual stream, and of the embedding; nothing can be edited.

        Returns:
            ``(rows, V)`` logits.

        Raises:
            TooLongError: the model has no position for it.
        """
        if cache.length >= self.config.max_length:
            raise TooLongError(
                f"a text of {cache.length + 1} tokens; this model takes at most {self.config.max_length}"
            )
        weights, heads, width = self._weights, self.config.heads, self.config.head_width
        scale = math.sqrt(self.config.width)
        stream = functional.embedding(tokens[:, 0], weights.table)
        if weights.positions is None:
            stream = stream * scale
        else:
            stream = torch.add(weights.positions[cache.length], stream, alpha=scale)
        own_bias = self._over_heads(cache.append()[:, None], cache.beams)
        source_bias = self._over_heads(cache.source_bias, cache.beams)
        if recorder is not None:
            recorder("decoder.embedded", stream[:, None])
        for index, layer in enumerate(weights.layers):
            name = f"decoder.{index}"
            read = layer.self_norm(stream) if self._pre else stream
            change = layer.output(self._own(layer, index, read, cache, own_bias, recorder, f"{name}.self"))
            stream = self._add(stream, change, layer.self_norm, recorder, f"{name}.self")
            read = layer.cross_norm(stream) if self._pre else stream
            query = layer.query(read).view(cache.sentences, cache.beams, heads, width).transpose(1, 2)
            keys, values = cache.source[index].flatten(1, 2).unbind(0)
            mixed = self._attend(query, keys, values, source_bias, cache, recorder, f"{name}.cross")
            change = layer.cross_output(mixed)
            stream = self._add(stream, change, layer.cross_norm, recorder, f"{name}.cross")
            read = layer.ffn_norm(stream) if self._pre else stream
            hidden = layer.inner(read)
            change = layer.outer(
                functional.gelu(hidden) if self.config.activation == "gelu" else hidden.relu_()
            )
            stream = self._add(stream, change, layer.ffn_norm, recorder, f"{name}.ffn")
        if weights.norm is not None:
            stream = weights.norm(stream)
        return torch.mm(stream, weights.vocabulary)

    def _add(
        self, stream: Tensor, change: Tensor, norm: _Norm, recorder: Recorder | None, name: str
    ) -> Tensor:
        """The residual addition, normed after it in a post-norm model: ``(rows, D)``."""
        stream = change.add_(stream)
        if not self._pre:
            stream = norm(stream)
        if recorder is not None:
            recorder(f"{name}.residual", stream[:, None])
        return stream

    def _over_heads(self, bias: Tensor, beams: int) -> Tensor:
        """``(B, 1, 1 or beams, keys)`` -> ``(B * H, beams, keys)``."""
        return bias.expand(-1, self.config.heads, beams, -1).flatten(0, 1)

    def _own(
        self,
        layer: _Layer,
        index: int,
        read: Tensor,
        cache: TreeCache,
        bias: Tensor,
        recorder: Recorder | None,
        name: str,
    ) -> Tensor:
        """Self-attention before W^O: ``(rows, D)`` -> ``(rows, D)``; keys and values go into the cache."""
        heads, width = self.config.heads, self.config.head_width
        parts = layer.qkv(read).view(cache.sentences, cache.beams, 3, heads, width).permute(2, 0, 3, 1, 4)
        memory = cache.memory[index]
        memory[:, :, :, cache.used - cache.beams : cache.used] = parts[1:]
        keys, values = memory[:, :, :, : bias.shape[-1]].flatten(1, 2).unbind(0)
        if recorder is not None:
            for what, part in zip("kv", parts[1:], strict=True):
                if recorder.wants(what):
                    recorder(f"{name}.{what}", _by_row(part))
        return self._attend(parts[0], keys, values, bias, cache, recorder, name)

    def _attend(
        self,
        query: Tensor,
        keys: Tensor,
        values: Tensor,
        bias: Tensor,
        cache: TreeCache,
        recorder: Recorder | None,
        name: str,
    ) -> Tensor:
        """Queries ``(B, H, beams, K)``, keys and values ``(B * H, n, K)`` -> joined heads ``(rows, D)``."""
        scale = 1.0 / math.sqrt(self.config.head_width)
        transposed, asked = keys.transpose(1, 2), query.flatten(0, 1)
        scores = torch.baddbmm(bias, asked, transposed, alpha=scale)
        weights = scores.softmax(-1)
        if recorder is not None:
            own = name.endswith(".self")
            if recorder.wants("q"):
                recorder(f"{name}.q", _by_row(query) if own else query)
            for what, tensor in (("scores", scores), ("weights", weights)):
                if recorder.wants(what):
                    shaped = tensor.unflatten(0, (cache.sentences, -1))
                    seen = _by_row(cache.along_paths(shaped)) if own else shaped[..., : cache.source_length]
                    recorder(f"{name}.{what}", seen)
        heads = torch.bmm(weights, values).unflatten(0, (cache.sentences, -1))
        return heads.transpose(1, 2).reshape(cache.sentences * cache.beams, -1)


def _by_row(heads: Tensor) -> Tensor:
    """``(B, H, beams, n)`` -> ``(rows, H, 1, n)``, as a model shows it whose rows do not share their past."""
    return heads.transpose(1, 2).flatten(0, 1).unsqueeze(2)
