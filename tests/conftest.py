"""What tests share: a tiny bundle with random weights, and where the shipped one is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from atlas.checkpoint import Bundle, save_bundle
from atlas.model import PRESETS, Transformer, TransformerConfig
from atlas.model.recurrent import RecurrentTranslator
from atlas.model.recurrent_config import RecurrentConfig
from atlas.text.tokenizer import Tokenizer

torch.set_num_threads(1)

ENGLISH = [
    "The cat saw the dog and the cat ran away.",
    "I love you.",
    "She was too tired to cross the street.",
    "We eat bread every morning.",
    "The animal didn't cross the street because it was too tired.",
    "Where is the station?",
    "He reads a book in the garden.",
    "It rains.",
]
FRENCH = [
    "Le chat a vu le chien et le chat s'est enfui.",
    "Je t'aime.",
    "Elle était trop fatiguée pour traverser la rue.",
    "Nous mangeons du pain chaque matin.",
    "L'animal n'a pas traversé la rue parce qu'il était trop fatigué.",
    "Où est la gare ?",
    "Il lit un livre dans le jardin.",
    "Il pleut.",
]
SHIPPED = Path(__file__).resolve().parent.parent / "checkpoints" / "en-fr"


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    """400 pieces learnt from a few sentences of ours."""
    return Tokenizer.train([*ENGLISH, *FRENCH] * 3, 400)


def tiny_model(tokenizer: Tokenizer, *, seed: int = 0, **options: object) -> Transformer:
    """The ``tiny`` preset, two layers deep, with random weights, for evaluation."""
    torch.manual_seed(seed)
    sizes = {**PRESETS["tiny"], "encoder_layers": 2, "decoder_layers": 2, **options}
    return Transformer(TransformerConfig(vocabulary=len(tokenizer), **sizes)).eval()


@pytest.fixture(scope="session")
def tiny_bundle(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole bundle on disk."""
    path = tmp_path_factory.mktemp("checkpoints") / "tiny"
    save_bundle(
        Bundle("tiny", "en", "fr", tiny_model(tokenizer), tokenizer, history="step\n", card="# tiny\n"), path
    )
    return path


@pytest.fixture(scope="session")
def recurrent_bundles(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Recurrent models with random weights, by their attention."""
    folder, found = tmp_path_factory.mktemp("ancestors"), {}
    for attention in ("none", "additive", "dot"):
        torch.manual_seed(0)
        config = RecurrentConfig(len(tokenizer), width=16, state=24, attention=attention)
        model = RecurrentTranslator(config).eval()
        found[attention] = folder / attention
        save_bundle(Bundle(attention, "en", "fr", model, tokenizer, "step\n", "# old\n"), found[attention])
    return found


@pytest.fixture(scope="session")
def shipped() -> Path:
    """The English-French bundle of this repository."""
    assert SHIPPED.is_dir(), f"{SHIPPED} is part of the repository"
    return SHIPPED


@pytest.fixture(scope="session")
def corpora() -> Path | None:
    """A local copy of the public corpora, where ``ATLAS_DATA`` names one."""
    return Path(os.environ["ATLAS_DATA"]) if os.environ.get("ATLAS_DATA") else None
