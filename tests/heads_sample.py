"""A measurement ``heads`` made of invented numbers, for tests of what reads one."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from atlas.analysis.heads import costs, links, record
from atlas.analysis.heads.accumulate import KINDS
from atlas.analysis.heads.distances import places
from atlas.analysis.heads.metrics import DEFINITIONS
from atlas.analysis.heads.record import NAME, TYPICAL, HeadAtlas
from atlas.analysis.heads.sample import sample_of
from atlas.engine import Engine
from atlas.measurements import Measurement, save_measurement
from atlas.text.corpora import Pair
from tests.conftest import ENGLISH, FRENCH


def head_atlas(layers: int = 2, heads: int = 4, *, model_hash: str = "0" * 64) -> HeadAtlas:
    """Numbers drawn from a fixed seed, all below what names a head, but for one: encoder 1.1 is a
    previous-token head, with one typical sentence.
    """
    generator = np.random.default_rng(0)
    arrays: dict[str, NDArray] = {}
    for kind in KINDS:
        for name, definition in DEFINITIONS.items():
            if definition.cross_only and kind != "cross":
                continue
            for suffix in ("", ".untrained"):
                drawn = generator.uniform(0.0, 0.3, (layers, heads)).astype(np.float32)
                arrays[f"{kind}.{name}{suffix}"] = drawn
        points = generator.uniform(0.0, 0.5, (layers * heads, 2))
        apart = np.linalg.norm(points[:, None] - points[None], axis=-1)
        arrays[f"{kind}.distances"] = apart.astype(np.float32)
        arrays[f"{kind}.places"] = places(apart).astype(np.float32)
        arrays[f"{kind}.typical"] = np.tile(np.array([2, 0, 1, -1, -1], np.int16), (layers, heads, 1))
    arrays["encoder.offset_-1"][0, 0] = 0.9
    arrays["encoder.typical"][0, 0] = [1, *[-1] * (TYPICAL - 1)]
    facts = {
        "corpus": "invented",
        "sentences": 3,
        "digest": "0" * 64,
        "tokens": {"source": 14, "target": 13},
    }
    return HeadAtlas(Measurement(NAME, model_hash, "atlas heads invented", facts, arrays))


def measured_copy(bundle: Path, folder: Path) -> Path:
    """A copy of a bundle with its heads, costs and links measured on twelve sentences."""
    path = Path(shutil.copytree(bundle, folder / "tiny"))
    engine = Engine.load(path, "cpu")
    pairs = [Pair(source, target) for source, target in zip(ENGLISH, FRENCH, strict=True)]
    sample = sample_of(engine.tokenizer, "ours", pairs, 12, pairs)
    for stage in (record, costs, links):
        save_measurement(path, stage.measure(engine, sample, work=folder / "work"))
    return path
