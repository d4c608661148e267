"""A bundle that kept moments of its training, for tests of pages that walk through them."""

from __future__ import annotations

from pathlib import Path

from safetensors.torch import save_file

from atlas.checkpoint import Bundle, half_weights, save_bundle
from atlas.text.tokenizer import Tokenizer
from tests.conftest import tiny_model

HISTORY = (
    "step,minutes,learning_rate,development_loss,development_perplexity,bleu\n"
    "10,1,0.1,3.0,20.0855,1\n"
    "40,2,0.1,2.0,7.38906,5\n"
)
STEPS = (3, 20)
"""Its snapshots; it was trained for 40 updates."""


def save_grown(path: Path, tokenizer: Tokenizer) -> Path:
    """A whole bundle at ``path``: random weights, other ones at each of :data:`STEPS`."""
    files = {}
    path.parent.mkdir(parents=True, exist_ok=True)
    for step in STEPS:
        file = path.parent / f"{step}.safetensors"
        save_file(half_weights(tiny_model(tokenizer, seed=step)), file)
        files[f"step-{step:06}.safetensors"] = file
    model = tiny_model(tokenizer, seed=9)
    save_bundle(
        Bundle(path.name, "en", "fr", model, tokenizer, history=HISTORY, training={"steps": 40}), path, files
    )
    for file in files.values():
        file.unlink()
    return path
