"""What a Transformer is made of: a frozen, checked description."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Literal, get_args

from atlas.errors import AtlasError

Norm = Literal["post", "pre"]
Positions = Literal["sinusoidal", "learned", "none"]
Activation = Literal["relu", "gelu"]


class ConfigError(AtlasError):
    """A model description that cannot be built."""


@dataclass(frozen=True)
class TransformerConfig:
    """Sizes and options of an encoder-decoder Transformer (Vaswani et al. 2017).

    ``width`` is D (d_model), ``ffn`` is F (d_ff), ``heads`` is H; the head width K is D / H.
    ``norm`` places layer normalisation after the residual addition ("post", 2017) or before the sub-layer
    ("pre").
    ``tied`` shares one matrix between source embedding, target embedding and output projection (section 3.4).
    ``max_length`` bounds positions, in tokens.
    ``causal`` hides later target tokens from earlier ones in training (section 3.2.3). Without it a model can
    only be shown to be worthless: when it generates, there is nothing later to see.

    Raises:
        ConfigError: a size below 1, a dropout outside [0, 1), a width that H does not divide, an odd width
            with sinusoidal positions, or an option that does not exist.
    """

    recordable: ClassVar[tuple[str, ...]] = ("scores", "q", "k", "v", "residual", "logits")
    """What a trace can hold beside attention weights."""

    vocabulary: int
    encoder_layers: int = 4
    decoder_layers: int = 4
    heads: int = 8
    width: int = 256
    ffn: int = 1024
    dropout: float = 0.1
    norm: Norm = "pre"
    positions: Positions = "sinusoidal"
    activation: Activation = "relu"
    tied: bool = True
    causal: bool = True
    max_length: int = 1024
    norm_epsilon: float = 1e-5

    def __post_init__(self) -> None:
        for name in ("vocabulary", "encoder_layers", "decoder_layers", "heads", "width", "ffn", "max_length"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ConfigError(f"{name} must be a whole number of at least 1, not {value!r}")
        for name in ("dropout", "norm_epsilon"):
            if not isinstance(getattr(self, name), float | int):
                raise ConfigError(f"{name} must be a number, not {getattr(self, name)!r}")
        if not 0 <= self.dropout < 1:
            raise ConfigError(f"dropout must be at least 0 and below 1, not {self.dropout!r}")
        if not 0 < self.norm_epsilon < math.inf:
            raise ConfigError(f"norm_epsilon must be above 0 and finite, not {self.norm_epsilon!r}")
        for name in ("tied", "causal"):
            if not isinstance(getattr(self, name), bool):
                raise ConfigError(f"{name} must be true or false, not {getattr(self, name)!r}")
        for name, choices in (("norm", Norm), ("positions", Positions), ("activation", Activation)):
            if getattr(self, name) not in get_args(choices):
                raise ConfigError(
                    f"{name} must be one of {', '.join(get_args(choices))}, not {getattr(self, name)!r}"
                )
        if self.width % self.heads:
            raise ConfigError(
                f"width {self.width} cannot be split over {self.heads} heads: it must be a multiple"
            )
        if self.positions == "sinusoidal" and self.width % 2:
            raise ConfigError(f"sinusoidal positions need an even width, not {self.width}")

    @property
    def head_width(self) -> int:
        """K, the width of one head's queries, keys and values."""
        return self.width // self.heads

    @property
    def attention_layers(self) -> dict[str, int]:
        """Layers of attention by kind."""
        return {
            "encoder": self.encoder_layers,
            "decoder": self.decoder_layers,
            "cross": self.decoder_layers,
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as stored in a bundle's ``config.json``."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> TransformerConfig:
        """Build from plain values.

        Raises:
            ConfigError: an unknown key, a missing one, or a value that the class refuses.
        """
        known = {field.name for field in fields(cls)}
        unknown = sorted(set(values) - known)
        if unknown:
            raise ConfigError(f"unknown model option {unknown[0]!r}; known are {', '.join(sorted(known))}")
        if "vocabulary" not in values:
            raise ConfigError("the model option 'vocabulary' is missing")
        return cls(**values)


PRESETS: dict[str, dict[str, Any]] = {
    "tiny": {"encoder_layers": 4, "decoder_layers": 4, "heads": 4, "width": 128, "ffn": 256},
    "small": {"encoder_layers": 4, "decoder_layers": 4, "heads": 8, "width": 256, "ffn": 1024},
    "base": {"encoder_layers": 6, "decoder_layers": 6, "heads": 8, "width": 512, "ffn": 2048, "norm": "post"},
}
"""Sizes by name; ``base`` is the model published in 2017."""
