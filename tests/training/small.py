"""A corpus and a configuration small enough to be trained in a second."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

import atlas.training.run as run_module
from atlas.training.config import TrainingConfig
from atlas.training.report import Reporter
from atlas.training.run import train_from_config
from atlas.training.state import Progress

WHO = {
    "I": "je", "you": "tu", "she": "elle", "he": "il", "Anna": "Anna", "Tom": "Tom", "the girl": "la fille",
    "the boy": "le garçon",
}  # fmt: skip
VERBS = {"see": "vois", "like": "aime", "paint": "peins", "buy": "achète", "find": "trouve", "want": "veux"}
THINGS = {
    "a cat": "un chat", "the dog": "le chien", "two birds": "deux oiseaux",
    "the red house": "la maison rouge", "a small boat": "un petit bateau", "bread": "du pain",
    "the old bridge": "le vieux pont", "a green apple": "une pomme verte", "her book": "son livre",
    "the sea": "la mer",
}  # fmt: skip


def pairs() -> list[tuple[str, str]]:
    """480 short pairs, and one so long that it fills a batch alone."""
    short = [
        (f"{who} {verb} {thing}.", f"{qui} {verbe} {chose}.".capitalize())
        for who, qui in WHO.items()
        for verb, verbe in VERBS.items()
        for thing, chose in THINGS.items()
    ]
    long = " and ".join(thing for thing in THINGS), " et ".join(chose for chose in THINGS.values())
    return [*short, (f"They see {long[0]}.", f"Ils voient {long[1]}.")]


def write_pairs(path: Path) -> Path:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs()), encoding="utf-8")
    return path


def settings(corpus: Path, **changes: Any) -> TrainingConfig:
    """A configuration of a tiny model on ``corpus``."""
    model = {"preset": "tiny", "encoder_layers": 1, "decoder_layers": 1, "width": 32, "ffn": 64, "heads": 2}
    values = {
        "name": "small", "corpus": str(corpus), "vocabulary": 320, "tokens": 400, "steps": 12,
        "learning_rate": 3e-3, "warmup": 4, "evaluate_every": 4, "evaluate_sentences": 3, "save_every": 3,
        "average": 3, "average_every": 2, "precision": "float32", "snapshots": [2, 5], "weight_decay": 0.01,
    }  # fmt: skip
    return TrainingConfig.from_dict({**values, **changes, "model": {**model, **changes.get("model", {})}})


class Stopped(Exception):
    """What the tests stop a run with."""


def stopping_at(step: int, act: Callable[[], None] | None = None) -> type[Reporter]:
    """A reporter that ends the run after the update of a step."""

    class Stopper(Reporter):
        def step(self, progress: Progress, steps: int) -> None:
            if progress.step == step:
                if act is not None:
                    act()
                raise Stopped

    return Stopper


def train(config: TrainingConfig, folder: Path, *, stop: int | None = None, **more: Any) -> Path:
    """Train quietly in ``folder``, the bundle in ``folder/bundle``; with ``stop``, be stopped at a step."""
    options = {"out": folder / "bundle", "run": folder / "run", "quiet": True, "device": "cpu", **more}
    if stop is None:
        return train_from_config(config, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_module, "Reporter", stopping_at(stop))
        with pytest.raises(Stopped):
            train_from_config(config, **options)
    return folder


@dataclass(frozen=True)
class Outcome:
    """Everything that a run leaves behind, clock times left out."""

    tensors: dict[str, dict[str, torch.Tensor]]
    progress: dict[str, Any]
    history: list[dict[str, Any]]
    training: dict[str, Any]

    def same(self, other: Outcome) -> bool:
        """Equal to the bit?"""
        return (
            (self.progress, self.history, self.training) == (other.progress, other.history, other.training)
            and self.tensors.keys() == other.tensors.keys()
            and all(equal(tensors, other.tensors[name]) for name, tensors in self.tensors.items())
        )


def equal(some: dict[str, torch.Tensor], others: dict[str, torch.Tensor]) -> bool:
    return some.keys() == others.keys() and all(torch.equal(some[name], others[name]) for name in some)


def outcome(folder: Path) -> Outcome:
    files = [
        file
        for file in sorted(folder.rglob("*.safetensors"))
        if "state-" not in file.parent.name or file.parent.name == (folder / "run" / "latest").read_text()
    ]
    state = state_of(folder)
    progress = dict(state["progress"])
    history = [
        {key: value for key, value in row.items() if key != "minutes"} for row in progress.pop("history")
    ]
    progress.pop("seconds")
    training = json.loads((folder / "bundle" / "config.json").read_text())["training"]
    training.pop("minutes")
    return Outcome(
        {str(file.relative_to(folder)): load_file(file) for file in files}, progress, history, training
    )


def state_of(folder: Path) -> dict[str, Any]:
    """The newest state's JSON."""
    latest = (folder / "run" / "latest").read_text()
    return json.loads((folder / "run" / latest / "state.json").read_text())
