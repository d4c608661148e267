"""Whose heads are measured: the part of an engine that this needs."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from atlas.model.transformer import Transformer
from atlas.text.tokenizer import Tokenizer


class Subject(Protocol):
    """A trained Transformer with its tokenizer, such as :class:`atlas.engine.Engine`."""

    @property
    def name(self) -> str:
        """Name of its bundle."""

    @property
    def hash(self) -> str:
        """Of its weights and options."""

    @property
    def model(self) -> Transformer:
        """In evaluation mode."""

    @property
    def tokenizer(self) -> Tokenizer:
        """Of both languages."""

    @property
    def folder(self) -> Path | None:
        """Of its bundle; None if it was never stored."""
