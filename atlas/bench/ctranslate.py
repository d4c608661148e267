"""Our weights in CTranslate2, which no one here wrote: a bar for speed, an oracle in tests."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
from ctranslate2.specs import TransformerSpec
from ctranslate2.specs.common_spec import Activation
from torch import Tensor, nn

from atlas.model import Transformer
from atlas.text.tokenizer import END, START, Tokenizer

ACTIVATIONS = {"relu": Activation.RELU, "gelu": Activation.GELU}


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().float().cpu().numpy()


def _copy(spec: Any, module: nn.Linear | nn.LayerNorm) -> None:
    if isinstance(module, nn.LayerNorm):
        spec.gamma, spec.beta = _array(module.weight), _array(module.bias)
    else:
        spec.weight, spec.bias = _array(module.weight), _array(module.bias)


def _layers(side: nn.ModuleList) -> list[Any]:
    return list(side)


def _self_attention(spec: Any, layer: Any) -> None:
    _copy(spec.linear[0], layer.self_attention.qkv)
    _copy(spec.linear[1], layer.self_attention.output)
    _copy(spec.layer_norm, layer.self_norm)


def _feed_forward(spec: Any, layer: Any) -> None:
    _copy(spec.linear_0, layer.feed_forward.inner)
    _copy(spec.linear_1, layer.feed_forward.outer)
    _copy(spec.layer_norm, layer.ffn_norm)


def specification(model: Transformer) -> TransformerSpec:
    """The same model in the other library's words.

    Its own sinusoids are laid out otherwise and start at position 1, so the table is handed over; it scales
    embeddings by sqrt(D) like ours.
    """
    config = model.config
    spec = TransformerSpec.from_config(
        (config.encoder_layers, config.decoder_layers),
        config.heads,
        pre_norm=config.norm == "pre",
        activation=ACTIVATIONS[config.activation],
    )
    assert model.position_table is not None
    table = _array(model.position_table)
    source, target = _array(model.source_embedding.weight), _array(model.target_embedding.weight)
    spec.encoder.embeddings[0].weight = source
    spec.decoder.embeddings.weight = source if config.tied else target
    spec.decoder.projection.weight = source if config.tied else _array(model.unembedding)
    for side in (spec.encoder, spec.decoder):
        side.position_encodings.encodings = table
        side.scale_embeddings = True
    for side, norm in ((spec.encoder, model.encoder_norm), (spec.decoder, model.decoder_norm)):
        if isinstance(norm, nn.LayerNorm):
            _copy(side.layer_norm, norm)
    for part, layer in zip(spec.encoder.layer, _layers(model.encoder), strict=True):
        _self_attention(part.self_attention, layer)
        _feed_forward(part.ffn, layer)
    for part, layer in zip(spec.decoder.layer, _layers(model.decoder), strict=True):
        _self_attention(part.self_attention, layer)
        _copy(part.attention.linear[0], layer.cross_attention.query)
        _copy(part.attention.linear[1], layer.cross_attention.kv)
        _copy(part.attention.linear[2], layer.cross_attention.output)
        _copy(part.attention.layer_norm, layer.cross_norm)
        _feed_forward(part.ffn, layer)
    return spec


@dataclasses.dataclass
class Oracle:
    """A converted model that takes and gives token ids; the source's end mark is part of its ids, as ours."""

    translator: ctranslate2.Translator
    tokens: list[str]

    @classmethod
    def of(
        cls,
        model: Transformer,
        tokenizer: Tokenizer,
        folder: Path,
        *,
        device: str = "cpu",
        threads: int = 1,
        precision: str = "float32",
    ) -> Oracle:
        """Convert ``model`` by way of files in ``folder``.

        Args:
            device: ``cpu`` or ``cuda``.
            threads: of one translation.
            precision: of weights and products, in the other library's words.
        """
        tokens = tokenizer.pieces(range(len(tokenizer)))
        spec = specification(model)
        spec.config.add_source_eos = False
        spec.config.bos_token = spec.config.decoder_start_token = START
        spec.config.eos_token = END
        spec.config.layer_norm_epsilon = model.config.norm_epsilon
        spec.register_source_vocabulary(tokens)
        spec.register_target_vocabulary(tokens)
        spec.validate()
        spec.optimize()
        spec.save(str(folder))
        translator = ctranslate2.Translator(
            str(folder), device=device, compute_type=precision, inter_threads=1, intra_threads=threads
        )
        return cls(translator, tokens)

    def _pieces(self, rows: Sequence[Sequence[int]]) -> list[list[str]]:
        return [[self.tokens[token] for token in row] for row in rows]

    def logprobs(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
    ) -> list[list[float]]:
        """Log-probability of each target token, end mark included (``targets`` come without it)."""
        results = self.translator.score_batch(self._pieces(sources), self._pieces(targets))
        return [result.log_probs for result in results]

    def translate_fixed(self, sources: Sequence[Sequence[int]], beam: int, length: int) -> list[int]:
        """Translate a batch into ``length`` tokens each; returns how many there are of each sentence."""
        results = self.translator.translate_batch(
            self._pieces(sources),
            beam_size=beam,
            length_penalty=0,
            min_decoding_length=length,
            max_decoding_length=length,
            max_input_length=0,
        )
        return [len(result.hypotheses[0]) for result in results]

    def translate(
        self, sources: Sequence[Sequence[int]], beam: int, limit: int, never: Sequence[int] = ()
    ) -> list[tuple[tuple[int, ...], float]]:
        """The best translation (ids without the end mark) and the sum of its log-probabilities.

        ``never``: tokens that may not be chosen; this library then shares their probability among the others,
        so scores move.
        """
        results = self.translator.translate_batch(
            self._pieces(sources),
            beam_size=beam,
            length_penalty=0,
            min_decoding_length=0,  # otherwise the end mark's share of the first step goes to other tokens
            suppress_sequences=[[self.tokens[token]] for token in never] or None,
            max_decoding_length=limit,
            return_scores=True,
            max_input_length=0,
        )
        numbers = {token: number for number, token in enumerate(self.tokens)}
        return [
            (tuple(numbers[token] for token in result.hypotheses[0]), result.scores[0]) for result in results
        ]
