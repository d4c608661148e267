from __future__ import annotations

from pathlib import Path

import pytest

from tests.training.small import settings, train, write_pairs


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of sentence pairs."""
    return write_pairs(tmp_path_factory.mktemp("corpus") / "pairs.tsv")


@pytest.fixture(scope="session")
def whole(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of twelve steps that nothing disturbed, and its bundle."""
    folder = tmp_path_factory.mktemp("whole")
    train(settings(corpus), folder)
    return folder
