"""The decoder of a trained Transformer, one token at a time, with as few and as large products as it allows.

:class:`FusedDecoder` computes what :meth:`~atlas.model.transformer.Transformer.step` computes, from copies of
the same weights laid out for reading. At batch 1 a step reads every weight once and does little else, so what
counts is the number of operations; at batch 32 what counts is that no cache is copied
(:mod:`~atlas.model.tree_cache`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.nn import functional

from atlas.model.config import TransformerConfig
from atlas.model.recorder import Recorder
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


class FusedDecoder:
    """A search's view of a Transformer in evaluation mode; a :class:`~atlas.decoding.protocol.StepModel`.

    The encoder is the model's own. Results agree with the model's own steps to rounding.

    Args:
        model: on the device where it runs. Its weights are copied: make a new one when they have changed
            (:meth:`of` does).
    """

    def __init__(self, model: Transformer) -> None:
        self.config: TransformerConfig = model.config
        self._encode = model.encode
        self._table = model.target_embedding.weight.detach()
        self._positions = model.position_table
        self._vocabulary = model.unembedding.detach().t().contiguous()
        self._pre = model.config.norm == "pre"
        self._final = _Norm.of(model.decoder_norm) if isinstance(model.decoder_norm, nn.LayerNorm) else None
        self._gelu = model.config.activation == "gelu"
        layers = [layer for layer in model.decoder]
        self._source = _Map.of(*(layer.cross_attention.kv for layer in layers))
        self._layers = [
            _Layer(
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
            for layer in layers
        ]

    @classmethod
    def of(cls, model: Transformer) -> FusedDecoder:
        """The fused decoder of a model, kept for as long as the model lives and its weights stay the same."""
        weights = [weight for weight in model.parameters()]
        if any(weight.is_inference() for weight in weights):  # they do not say when they are changed
            return cls(model)
        state = tuple((weight.data_ptr(), weight._version) for weight in weights)
        kept = _KEPT.get(model)
        if kept is None or kept[0] != state:
            kept = _KEPT[model] = (state, cls(model))
        return kept[1]

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self._table.device

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
        memory = self._encode(source, mask, recorder, positions=positions)
        batch, length, _ = memory.shape
        heads, width = self.config.heads, self.config.head_width
        both = self._source(memory.flatten(0, 1)).view(batch, length, len(self._layers), 2, heads, width)
        bias = None
        if not bool(mask.all()):
            bias = torch.zeros_like(mask, dtype=memory.dtype).masked_fill_(~mask, -math.inf)[:, None, None]
        return TreeCache(
            [memory.new_empty((2, batch, heads, 64, width)) for _ in self._layers],
            list(both.permute(2, 3, 0, 4, 1, 5).contiguous().unbind(0)),
            bias,
            torch.empty((batch, 1, 0), dtype=torch.long, device=memory.device),
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
        scale = math.sqrt(self.config.width)
        stream = functional.embedding(tokens[:, 0], self._table)
        if self._positions is None:
            stream = stream * scale
        else:
            stream = torch.add(self._positions[cache.length], stream, alpha=scale)
        own_bias = cache.append()
        own_bias = None if own_bias is None else self._over_heads(own_bias[:, None], cache.beams)
        source_bias = None if cache.source_bias is None else self._over_heads(cache.source_bias, cache.beams)
        if recorder is not None:
            recorder("decoder.embedded", stream[:, None])
        for index, layer in enumerate(self._layers):
            name = f"decoder.{index}"
            read = layer.self_norm(stream) if self._pre else stream
            change = layer.output(self._own(layer, index, read, cache, own_bias, recorder, f"{name}.self"))
            stream = self._add(stream, change, layer.self_norm, recorder, f"{name}.self")
            read = layer.cross_norm(stream) if self._pre else stream
            query = self._heads(layer.query(read), cache)
            keys, values = cache.source[index].flatten(1, 2).unbind(0)
            heads = self._attend(query, keys, values, source_bias, cache, recorder, f"{name}.cross")
            change = layer.cross_output(heads)
            stream = self._add(stream, change, layer.cross_norm, recorder, f"{name}.cross")
            read = layer.ffn_norm(stream) if self._pre else stream
            hidden = layer.inner(read)
            change = layer.outer(functional.gelu(hidden) if self._gelu else hidden.relu_())
            stream = self._add(stream, change, layer.ffn_norm, recorder, f"{name}.ffn")
        if self._final is not None:
            stream = self._final(stream)
        return torch.mm(stream, self._vocabulary)

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

    def _heads(self, stream: Tensor, cache: TreeCache) -> Tensor:
        """``(rows, D)`` -> ``(B * H, beams, K)``."""
        parts = stream.view(cache.sentences, cache.beams, self.config.heads, self.config.head_width)
        return parts.transpose(1, 2).flatten(0, 1)

    def _own(
        self,
        layer: _Layer,
        index: int,
        read: Tensor,
        cache: TreeCache,
        bias: Tensor | None,
        recorder: Recorder | None,
        name: str,
    ) -> Tensor:
        """Self-attention before W^O: ``(rows, D)`` -> ``(rows, D)``; keys and values go into the cache."""
        heads, width = self.config.heads, self.config.head_width
        parts = layer.qkv(read).view(cache.sentences, cache.beams, 3, heads, width).permute(2, 0, 3, 1, 4)
        memory = cache.memory[index]
        memory[:, :, :, cache.used - cache.beams : cache.used] = parts[1:]
        keys, values = memory[:, :, :, : cache.used].flatten(1, 2).unbind(0)
        if recorder is not None:
            for what, part in zip("kv", parts[1:], strict=True):
                recorder(f"{name}.{what}", part.transpose(1, 2).flatten(0, 1).unsqueeze(2))
        return self._attend(parts[0].flatten(0, 1), keys, values, bias, cache, recorder, name)

    def _attend(
        self,
        query: Tensor,
        keys: Tensor,
        values: Tensor,
        bias: Tensor | None,
        cache: TreeCache,
        recorder: Recorder | None,
        name: str,
    ) -> Tensor:
        """Queries ``(B * H, beams, K)`` and keys ``(B * H, n, K)`` -> joined heads ``(rows, D)``."""
        scale = 1.0 / math.sqrt(self.config.head_width)
        transposed = keys.transpose(1, 2)
        if bias is None:
            scores = torch.baddbmm(query.new_empty(()), query, transposed, beta=0, alpha=scale)
        else:
            scores = torch.baddbmm(bias, query, transposed, alpha=scale)
        weights = scores.softmax(-1)
        heads = torch.bmm(weights, values).unflatten(0, (cache.sentences, -1))
        return heads.transpose(1, 2).reshape(cache.sentences * cache.beams, -1)


_KEPT: WeakKeyDictionary[Transformer, tuple[tuple[tuple[int, int], ...], FusedDecoder]] = WeakKeyDictionary()
