"""The pieces of work that are killed: each what a command does, on tiny models."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from atlas.checkpoint import Bundle, load_bundle, save_bundle
from atlas.text.download import fetch
from atlas.text.origins import Origin
from atlas.training.config import TrainingConfig
from atlas.training.run import train_from_config


def command(arguments: Sequence[str], chunk: int | None = None) -> None:
    """``atlas ARGUMENTS``; with ``chunk``, a bulk translation saves after so many sentences."""
    from typer.testing import CliRunner

    from atlas.cli import app
    from atlas.commands import kept_chunks

    kept_chunks.CHUNK = chunk or kept_chunks.CHUNK
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 0, result.output


def training(config: dict[str, Any], folder: Path, restart: bool = False) -> None:
    """``atlas train``, quietly."""
    train_from_config(
        TrainingConfig.from_dict(config),
        out=folder / "bundle",
        run=folder / "run",
        device="cpu",
        quiet=True,
        restart=restart,
    )


def download(origin: Origin, folder: Path) -> None:
    """One file of ``atlas data``."""
    fetch(origin, folder)


def save_copy(bundle: Path, name: str, path: Path, can_swap: bool = True) -> None:
    """Save a bundle under another name in its description, with a snapshot, at ``path``.

    Args:
        can_swap: whether the file system can swap two folders.
    """
    from atlas import whole

    if not can_swap:
        whole._exchanged = lambda one, other: False
    made = load_bundle(bundle)
    again = Bundle(name, "en", "fr", made.model, made.tokenizer, history="step\n", card=f"# {name}\n")
    save_bundle(again, path, {"step-000001.safetensors": bundle / "model.safetensors"})


def copied(template: Path, path: Path) -> Path:
    """A fresh copy of a folder."""
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(template, path)
    return path
