"""The encoder-decoder Transformer (Vaswani et al. 2017)."""

from __future__ import annotations

import math
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from atlas.errors import AtlasError
from atlas.model.attention import causal_mask
from atlas.model.cache import Cache, LayerCache
from atlas.model.config import TransformerConfig
from atlas.model.layers import DecoderLayer, EncoderLayer, fast_dropout
from atlas.model.positions import sinusoidal_table
from atlas.model.recorder import Recorder


class TooLongError(AtlasError):
    """A text with more tokens than the model has positions."""


class Transformer(nn.Module):
    """Source ids in, logits over the vocabulary out; a recorder, when handed in, sees every step between.

    Every method is a pure function of its arguments and the weights: nothing about a pass stays on the
    module.
    """

    position_table: Tensor | None

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.source_embedding = nn.Embedding(config.vocabulary, config.width)
        self.target_embedding = (
            self.source_embedding if config.tied else nn.Embedding(config.vocabulary, config.width)
        )
        self.unembedding = (
            self.source_embedding.weight
            if config.tied
            else nn.Parameter(torch.empty(config.vocabulary, config.width))
        )
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        pre = config.norm == "pre"
        self.encoder_norm = nn.LayerNorm(config.width, eps=config.norm_epsilon) if pre else nn.Identity()
        self.decoder_norm = nn.LayerNorm(config.width, eps=config.norm_epsilon) if pre else nn.Identity()
        for matrix in {
            id(w): w for w in (self.source_embedding.weight, self.target_embedding.weight, self.unembedding)
        }.values():
            nn.init.normal_(matrix, std=config.width**-0.5)
        if config.positions == "learned":
            self.position_table = nn.Parameter(torch.empty(config.max_length, config.width))
            nn.init.normal_(self.position_table, std=0.02)
        else:
            table = (
                sinusoidal_table(config.max_length, config.width)
                if config.positions == "sinusoidal"
                else None
            )
            self.register_buffer("position_table", table, persistent=False)

    def cross_keys_values(self, memory: Tensor) -> list[tuple[Tensor, ...]]:
        """Keys and values of the source for every decoder layer: ``(B, S, D)`` -> ``(B, H, S, K)`` each."""
        return [cast(DecoderLayer, layer).cross_attention.keys_values(memory) for layer in self.decoder]

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.source_embedding.weight.device

    def _explicit(self) -> bool:
        return self.training and self.device.type == "cpu"

    def _embed(
        self,
        side: str,
        ids: Tensor,
        positions: Tensor | None,
        recorder: Recorder | None,
        past: int = 0,
    ) -> Tensor:
        """``(B, T)`` ids -> ``(B, T, D)``: embeddings times sqrt(D), plus positions from ``past`` on
        (section 3.4).
        """
        embedding = self.source_embedding if side == "encoder" else self.target_embedding
        end = past + ids.shape[1]
        if end > self.config.max_length:
            raise TooLongError(f"a text of {end} tokens; this model takes at most {self.config.max_length}")
        stream = embedding(ids)
        if recorder is not None:
            stream = recorder(f"{side}.looked_up", stream)
        stream = stream * math.sqrt(self.config.width)
        if recorder is not None:
            stream = recorder(f"{side}.scaled", stream)
        table = self.position_table if positions is None else positions
        if table is not None:
            stream = stream + table[past:end].to(stream.dtype)
        if self.training:
            stream = fast_dropout(stream, self.config.dropout)
        return stream if recorder is None else recorder(f"{side}.embedded", stream)

    def _output(self, stream: Tensor, recorder: Recorder | None) -> Tensor:
        """The decoder's residual stream, ready for the vocabulary: ``(B, T, D)`` -> ``(B, T, D)``."""
        stream = self.decoder_norm(stream)
        return stream if recorder is None else recorder("decoder.output", stream)

    def encode(
        self,
        source: Tensor,
        mask: Tensor,
        recorder: Recorder | None = None,
        *,
        positions: Tensor | None = None,
    ) -> Tensor:
        """Read the source.

        Args:
            source: ``(B, S)`` ids.
            mask: ``(B, S)``, True at real tokens.
            recorder: sees embeddings, attention and residual streams.
            positions: ``(P, D)``, P >= S, used instead of the model's own position table.

        Returns:
            ``(B, S, D)``.

        Raises:
            TooLongError: S is above the model's ``max_length``.
        """
        stream = self._embed("encoder", source, positions, recorder)
        visible = mask[:, None, None, :]
        for index, layer in enumerate(self.encoder):
            stream = layer(stream, visible, recorder, f"encoder.{index}", self._explicit())
        memory = self.encoder_norm(stream)
        return memory if recorder is None else recorder("encoder.memory", memory)

    def decode(
        self,
        target: Tensor,
        memory: Tensor,
        mask: Tensor,
        recorder: Recorder | None = None,
        *,
        target_mask: Tensor | None = None,
    ) -> Tensor:
        """Read a whole target at once (teacher forcing), each position seeing only itself and what came
        before (in a model that is not ``causal``: everything).

        Args:
            target: ``(B, T)`` ids, beginning with the start token.
            memory: ``(B, S, D)`` from :meth:`encode`; mask: ``(B, S)``, True at real source tokens.
            target_mask: ``(B, T)``, True at real target tokens. Only a model that is not ``causal`` needs it:
                a causal mask hides padding, which comes last, from every real token.

        Returns:
            ``(B, T, D)``, to be read by :meth:`logits`.
        """
        stream = self._embed("decoder", target, None, recorder)
        length = target.shape[1]
        if self.config.causal:
            own: Tensor | None = causal_mask(length, length, target.device)
        else:
            own = None if target_mask is None else target_mask[:, None, None, :]
        visible = mask[:, None, None, :]
        for index, (layer, (keys, values)) in enumerate(
            zip(self.decoder, self.cross_keys_values(memory), strict=True)
        ):
            stream = layer(
                stream, own, keys, values, visible, recorder, f"decoder.{index}", explicit=self._explicit()
            )
        return self._output(stream, recorder)

    def logits(self, stream: Tensor) -> Tensor:
        """``(..., D)`` -> ``(..., V)``: unnormalised log-probabilities of the next token."""
        return linear(stream, self.unembedding)

    def forward(
        self, source: Tensor, mask: Tensor, target: Tensor, recorder: Recorder | None = None
    ) -> Tensor:
        """``(B, S)`` source ids and ``(B, T)`` target ids -> ``(B, T, V)`` logits."""
        return self.logits(self.decode(target, self.encode(source, mask, recorder), mask, recorder))

    def start(self, memory: Tensor, mask: Tensor, *, capacity: int = 64) -> Cache:
        """An empty cache with one row for each sentence; cross-attention keys and values are computed here,
        once.

        Args:
            memory: ``(B, S, D)``; mask: ``(B, S)``.
            capacity: target tokens to make room for at first.
        """
        batch = memory.shape[0]
        shape = (batch, self.config.heads, capacity, self.config.head_width)
        layers = [
            LayerCache(keys.new_empty(shape), keys.new_empty(shape), keys, values)
            for keys, values in self.cross_keys_values(memory)
        ]
        return Cache(layers, mask, beams=1)

    def begin(
        self,
        source: Tensor,
        mask: Tensor,
        recorder: Recorder | None = None,
        *,
        positions: Tensor | None = None,
    ) -> Cache:
        """Read the source and make ready to decode: :meth:`encode`, then :meth:`start`."""
        return self.start(self.encode(source, mask, recorder, positions=positions), mask)

    def step(self, tokens: Tensor, cache: Cache, recorder: Recorder | None = None) -> Tensor:
        """Read the next tokens of every row (one to decode, several to prefill) and predict what follows.

        Args:
            tokens: ``(rows, T)`` ids, T >= 1; the cache grows by T.

        Returns:
            ``(rows, V)`` logits after the last of them.
        """
        past, length = cache.length, tokens.shape[1]
        cache.ensure(past + length)
        stream = self._embed("decoder", tokens, None, recorder, past)
        causal = causal_mask(length, past + length, tokens.device) if length > 1 else None
        visible = cache.memory_mask[:, None, None, :]
        for index, (layer, memory) in enumerate(zip(self.decoder, cache.layers, strict=True)):
            stream = layer(
                stream,
                causal,
                memory.memory_keys,
                memory.memory_values,
                visible,
                recorder,
                f"decoder.{index}",
                memory=memory,
                past=past,
                beams=cache.beams,
            )
        cache.length = past + length
        return self.logits(self._output(stream, recorder)[:, -1])
