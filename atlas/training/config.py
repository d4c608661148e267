"""One training run, described by a small TOML file."""

from __future__ import annotations

import tomllib
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

from atlas.errors import AtlasError
from atlas.model.config import PRESETS, ConfigError
from atlas.model.family import config_from_dict
from atlas.model.recurrent_config import ARCHITECTURE as RECURRENT

Schedule = Literal["inverse_sqrt", "cosine", "wsd"]
Precision = Literal["auto", "float32", "bfloat16"]

_WHOLE = {
    "vocabulary": 260,  # 256 bytes and the control tokens, and one piece more
    "longest": 1,
    "tokens": 1,
    "steps": 1,
    "warmup": 1,
    "evaluate_every": 1,
    "evaluate_sentences": 1,
    "save_every": 1,
    "average": 1,
    "average_every": 1,
    "patience": 1,
    "seed": 0,
}
"""Options that are whole numbers, and the smallest that each may be."""


class TrainingConfigError(AtlasError):
    """A training file that cannot be followed."""


def _whole(value: Any, low: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= low


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True)
class TrainingConfig:
    """What to train on, and how.

    ``corpus`` is ``tatoeba``, ``multi30k-en-fr``, ``multi30k-en-de`` or the path of a file of pairs.
    ``model`` holds a ``preset`` and any fields of :class:`~atlas.model.TransformerConfig` that differ from
    it, or ``architecture = "recurrent"`` and the fields of
    :class:`~atlas.model.recurrent_config.RecurrentConfig`. Times are in steps (updates), ``tokens`` is the
    padded size of a batch on its longer side, ``cooldown`` the last share of the steps, in which the learning
    rate goes to zero. ``snapshots`` are the steps at which half-precision weights are kept for looking at
    later. ``precision`` "auto" measures float32 and bfloat16 at the start and takes the faster.

    Raises:
        TrainingConfigError: a value out of range, or an option that does not exist.
    """

    name: str
    corpus: str
    model: dict[str, Any] = field(default_factory=lambda: {"preset": "small"})
    source_language: str = "en"
    target_language: str = "fr"
    vocabulary: int = 8000
    longest: int = 128
    tokens: int = 4000
    steps: int = 3000
    schedule: Schedule = "inverse_sqrt"
    learning_rate: float = 1e-3
    warmup: int = 600
    cooldown: float = 0.0
    label_smoothing: float = 0.1
    clip: float = 1.0
    weight_decay: float = 0.0
    betas: tuple[float, float] = (0.9, 0.98)
    epsilon: float = 1e-9
    evaluate_every: int = 250
    evaluate_sentences: int = 500
    save_every: int = 100
    average: int = 5
    average_every: int = 50
    patience: int = 10
    snapshots: tuple[int, ...] = ()
    precision: Precision = "auto"
    seed: int = 1
    licence: str = ""

    def __post_init__(self) -> None:
        for name in ("name", "corpus", "source_language", "target_language", "licence"):
            if not isinstance(getattr(self, name), str):
                raise TrainingConfigError(f"{name} must be text, not {getattr(self, name)!r}")
        for name, low in _WHOLE.items():
            if not _whole(getattr(self, name), low):
                raise TrainingConfigError(
                    f"{name} must be a whole number of at least {low}, not {getattr(self, name)!r}"
                )
        for name in ("learning_rate", "cooldown", "label_smoothing", "weight_decay"):
            if not _number(getattr(self, name)) or not 0 <= getattr(self, name) <= 1:
                raise TrainingConfigError(f"{name} must lie between 0 and 1, not {getattr(self, name)!r}")
        for name in ("clip", "epsilon"):
            if not _number(getattr(self, name)) or not getattr(self, name) > 0:
                raise TrainingConfigError(f"{name} must be above 0, not {getattr(self, name)!r}")
        betas, snapshots = self.betas, self.snapshots
        if not (
            isinstance(betas, tuple)
            and len(betas) == 2
            and all(_number(beta) and 0 <= beta < 1 for beta in betas)
        ):
            raise TrainingConfigError(f"betas must be two numbers of at least 0 and below 1, not {betas!r}")
        if not (isinstance(snapshots, tuple) and all(_whole(step, 1) for step in snapshots)):
            raise TrainingConfigError(f"snapshots must be a list of steps from 1 on, not {snapshots!r}")
        for name, choices in (("schedule", Schedule), ("precision", Precision)):
            if getattr(self, name) not in get_args(choices):
                raise TrainingConfigError(
                    f"{name} must be one of {', '.join(get_args(choices))}, not {getattr(self, name)!r}"
                )
        if self.schedule == "wsd" and not self.cooldown:
            raise TrainingConfigError("the schedule wsd ends in a cooldown: say its share, such as 0.3")
        self._check_model()

    def _check_model(self) -> None:
        if not isinstance(self.model, dict):
            raise TrainingConfigError(f"model must be a table with a preset, not {self.model!r}")
        preset = self.model.get("preset", "small")
        if self._recurrent and "preset" in self.model:
            raise TrainingConfigError("model.preset is for a Transformer; a recurrent model states its sizes")
        if not isinstance(preset, str) or preset not in PRESETS:
            raise TrainingConfigError(f"model.preset must be one of {', '.join(PRESETS)}, not {preset!r}")
        if "vocabulary" in self.model:
            raise TrainingConfigError("model.vocabulary follows from the tokenizer; set vocabulary instead")
        try:
            config_from_dict({"vocabulary": self.vocabulary, **self.model_options()})
        except ConfigError as error:
            raise TrainingConfigError(f"model: {error}") from error

    @property
    def _recurrent(self) -> bool:
        return self.model.get("architecture") == RECURRENT

    def model_options(self) -> dict[str, Any]:
        """The preset's sizes with this run's own changes; a recurrent model has no preset."""
        if self._recurrent:
            return dict(self.model)
        own = {key: value for key, value in self.model.items() if key != "preset"}
        return {**PRESETS[self.model.get("preset", "small")], **own}

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON can hold."""
        return {
            key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> TrainingConfig:
        """Build from plain values.

        Raises:
            TrainingConfigError: an unknown or missing key, or a value that the class refuses.
        """
        known = {item.name for item in fields(cls)}
        unknown = sorted(set(values) - known)
        if unknown:
            raise TrainingConfigError(f"unknown option {unknown[0]!r}; known are {', '.join(sorted(known))}")
        for name in ("name", "corpus"):
            if name not in values:
                raise TrainingConfigError(f"the option {name!r} is missing")
        lists: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in values.items()
        }
        return cls(**lists)

    @classmethod
    def load(cls, path: Path) -> TrainingConfig:
        """Read a TOML file.

        Raises:
            TrainingConfigError: the file is missing, is not TOML, or says something impossible; the line
                names the file.
        """
        try:
            return cls.from_dict(tomllib.loads(path.read_text(encoding="utf-8")))
        except (
            OSError,
            UnicodeDecodeError,
            tomllib.TOMLDecodeError,
            TrainingConfigError,
        ) as error:
            raise TrainingConfigError(f"{path}: {error}") from error
