"""The same shape in Hugging Face's Marian classes, with random weights: what most would translate with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import torch

from atlas.model.config import TransformerConfig
from atlas.text.batches import pad
from atlas.text.tokenizer import END_ID, PAD_ID, START_ID


class Marian:
    """A ``MarianMTModel`` of a configuration's sizes.

    Its layers are post-norm whatever the configuration says, and its projections have a bias for the
    vocabulary; the number of products is the same.
    """

    def __init__(self, config: TransformerConfig, device: torch.device) -> None:
        from transformers import MarianConfig, MarianMTModel

        self.device = device
        self.model = cast(Any, MarianMTModel)(
            MarianConfig(
                vocab_size=config.vocabulary,
                d_model=config.width,
                encoder_layers=config.encoder_layers,
                decoder_layers=config.decoder_layers,
                encoder_attention_heads=config.heads,
                decoder_attention_heads=config.heads,
                encoder_ffn_dim=config.ffn,
                decoder_ffn_dim=config.ffn,
                activation_function=config.activation,
                max_position_embeddings=config.max_length,
                scale_embedding=True,
                pad_token_id=PAD_ID,
                eos_token_id=END_ID,
                forced_eos_token_id=None,
                decoder_start_token_id=START_ID,
                share_encoder_decoder_embeddings=True,
            )
        )
        self.model.to(device).eval()

    @property
    def parameters(self) -> int:
        """Number of weights."""
        return sum(weight.numel() for weight in self.model.parameters() if weight.requires_grad)

    @torch.inference_mode()
    def translate_fixed(self, sources: Sequence[Sequence[int]], beam: int, length: int) -> list[int]:
        """Translate a batch into ``length`` tokens each; returns how many there are of each sentence."""
        source = pad(sources).to(self.device)
        written = self.model.generate(
            input_ids=source,
            attention_mask=(source != PAD_ID).long(),
            num_beams=beam,
            do_sample=False,
            min_new_tokens=length,
            max_new_tokens=length,
            length_penalty=0.0,
            early_stopping=True,
        )
        return [written.shape[1] - 1] * len(sources)
