"""What a recurrent translator is made of: a frozen, checked description."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Literal, get_args

from atlas.model.config import ConfigError

Attention = Literal["none", "additive", "dot"]
Cell = Literal["gru", "lstm"]
ARCHITECTURE = "recurrent"


@dataclass(frozen=True)
class RecurrentConfig:
    """Sizes and options of a recurrent encoder-decoder: the Transformer's ancestors in one house.

    ``width`` is D, the width of embeddings; ``state`` is R, the width of the decoder's state and of the
    encoder's output (R / 2 in each direction). ``attention`` is how the decoder reads the source:

    ============  ====================================================================================
    ``none``      one vector for the whole sentence, the same at every step (Cho et al. 2014)
    ``additive``  a small network scores every source position before each step (Bahdanau et al. 2015)
    ``dot``       the state itself scores every source position after each step (Luong et al. 2015)
    ============  ====================================================================================

    Raises:
        ConfigError: a size below 1, an odd ``state``, a dropout outside [0, 1), an option that does not
            exist.
    """

    recordable: ClassVar[tuple[str, ...]] = ("scores", "logits")
    """What a trace can hold beside attention weights."""

    vocabulary: int
    width: int = 128
    state: int = 320
    attention: Attention = "additive"
    cell: Cell = "gru"
    dropout: float = 0.1
    tied: bool = True
    max_length: int = 1024

    def __post_init__(self) -> None:
        for name in ("vocabulary", "width", "state", "max_length"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ConfigError(f"{name} must be a whole number of at least 1, not {value!r}")
        if self.state % 2:
            raise ConfigError(f"state must be even, half of it for each direction, not {self.state}")
        if not isinstance(self.dropout, float | int) or not 0 <= self.dropout < 1 or math.isnan(self.dropout):
            raise ConfigError(f"dropout must be at least 0 and below 1, not {self.dropout!r}")
        if not isinstance(self.tied, bool):
            raise ConfigError(f"tied must be true or false, not {self.tied!r}")
        for name, choices in (("attention", Attention), ("cell", Cell)):
            if getattr(self, name) not in get_args(choices):
                raise ConfigError(
                    f"{name} must be one of {', '.join(get_args(choices))}, not {getattr(self, name)!r}"
                )

    @property
    def attention_layers(self) -> dict[str, int]:
        """Layers of attention by kind: at most one, to the source."""
        return {"encoder": 0, "decoder": 0, "cross": 0 if self.attention == "none" else 1}

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as stored in a bundle's ``config.json``."""
        return {"architecture": ARCHITECTURE, **asdict(self)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> RecurrentConfig:
        """Build from plain values.

        Raises:
            ConfigError: an unknown key, a missing one, or a value that the class refuses.
        """
        known = {field.name for field in fields(cls)}
        options = {key: value for key, value in values.items() if key != "architecture"}
        unknown = sorted(set(options) - known)
        if unknown:
            raise ConfigError(f"unknown model option {unknown[0]!r}; known are {', '.join(sorted(known))}")
        if "vocabulary" not in options:
            raise ConfigError("the model option 'vocabulary' is missing")
        return cls(**options)
