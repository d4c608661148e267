"""The architectures of the house, told apart by one word in their description."""

from __future__ import annotations

from typing import Any

from atlas.model.config import ConfigError, TransformerConfig
from atlas.model.recurrent import RecurrentTranslator
from atlas.model.recurrent_config import ARCHITECTURE as RECURRENT
from atlas.model.recurrent_config import RecurrentConfig
from atlas.model.transformer import Transformer

ModelConfig = TransformerConfig | RecurrentConfig
Model = Transformer | RecurrentTranslator
"""What can be trained, searched and traced: all have encode, decode, logits, begin and step."""

TRANSFORMER = "transformer"


def config_from_dict(values: dict[str, Any]) -> ModelConfig:
    """The configuration that plain values describe; without ``architecture`` it is a Transformer's.

    Raises:
        ConfigError: an unknown architecture, or values that its class refuses.
    """
    architecture = values.get("architecture", TRANSFORMER)
    if architecture == RECURRENT:
        return RecurrentConfig.from_dict(values)
    if architecture != TRANSFORMER:
        raise ConfigError(f"architecture must be {TRANSFORMER} or {RECURRENT}, not {architecture!r}")
    return TransformerConfig.from_dict({key: value for key, value in values.items() if key != "architecture"})


def build_model(config: ModelConfig) -> Model:
    """A model with random weights, drawn from torch's global generator."""
    return RecurrentTranslator(config) if isinstance(config, RecurrentConfig) else Transformer(config)
