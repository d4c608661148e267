"""One training run, described by a small TOML file."""

from __future__ import annotations

import tomllib
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

from atlas.errors import AtlasError
from atlas.model.config import PRESETS

Schedule = Literal["inverse_sqrt", "cosine", "wsd"]


class TrainingConfigError(AtlasError):
    """A training file that cannot be followed."""


@dataclass(frozen=True)
class TrainingConfig:
    """What to train on, and how.

    ``corpus`` is ``tatoeba``, ``multi30k-en-fr``, ``multi30k-en-de`` or the path of a file of pairs.
    ``model`` holds a ``preset`` and any
    fields of :class:`~atlas.model.TransformerConfig` that differ from it. Times are in steps (updates),
    ``tokens`` is the padded
    size of a batch on its longer side, ``cooldown`` the last share of the steps in which ``wsd`` goes to
    zero. ``snapshots`` are the steps at which half-precision weights
    are kept for looking at later. ``precision`` "auto" measures float32 and bfloat16 at the start and takes
    the faster.

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
    cooldown: float = 0.3
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
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    seed: int = 1
    licence: str = ""

    def __post_init__(self) -> None:
        for name in (
            "vocabulary",
            "longest",
            "tokens",
            "steps",
            "warmup",
            "evaluate_every",
            "evaluate_sentences",
            "save_every",
            "average",
            "average_every",
            "patience",
        ):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise TrainingConfigError(f"{name} must be a whole number of at least 1, not {value!r}")
        if self.vocabulary < 260:
            raise TrainingConfigError(
                f"vocabulary must be at least 260 (256 bytes and the control tokens), not {self.vocabulary}"
            )
        for name, low, high in (
            ("learning_rate", 0, 1),
            ("cooldown", 0, 1),
            ("label_smoothing", 0, 1),
            ("weight_decay", 0, 1),
        ):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not low <= value <= high:
                raise TrainingConfigError(f"{name} must lie between {low} and {high}, not {value!r}")
        if self.clip <= 0:
            raise TrainingConfigError(f"clip must be above 0, not {self.clip!r}")
        if self.schedule not in get_args(Schedule):
            raise TrainingConfigError(
                f"schedule must be one of {', '.join(get_args(Schedule))}, not {self.schedule!r}"
            )
        if self.precision not in ("auto", "float32", "bfloat16"):
            raise TrainingConfigError(f"precision must be auto, float32 or bfloat16, not {self.precision!r}")
        preset = self.model.get("preset", "small")
        if preset not in PRESETS:
            raise TrainingConfigError(f"model.preset must be one of {', '.join(PRESETS)}, not {preset!r}")

    def model_options(self) -> dict[str, Any]:
        """The preset's sizes with this run's own changes."""
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
            TypeError,
            TrainingConfigError,
        ) as error:
            raise TrainingConfigError(f"{path}: {error}") from error
