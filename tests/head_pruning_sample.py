"""Measurements of heads made up for a tiny model, for tests of what reads them."""

from __future__ import annotations

import numpy as np

from atlas.analysis.heads import costs, pruning
from atlas.analysis.heads.costs import HeadCosts
from atlas.engine import Engine
from atlas.measurements import Measurement


def head_costs(engine: Engine) -> Measurement:
    """Random numbers in place of ``head_costs``."""
    rng = np.random.default_rng(5)
    layers = engine.model.config.attention_layers
    arrays = {}
    for kind in ("encoder", "decoder", "cross"):
        shape = layers[kind], engine.model.config.heads
        arrays[f"{kind}.importance"] = rng.random(shape).astype(np.float32)
        for name in ("loss", "bleu"):
            values = rng.normal(0, 0.1, shape).astype(np.float32)
            arrays |= {
                f"{kind}.{name}": values,
                f"{kind}.{name}_low": values - 0.05,
                f"{kind}.{name}_high": values + 0.05,
            }
    facts = {"corpus": "ours", "sentences": 8, "loss": 2.0, "bleu": 50.0, "draws": costs.DRAWS}
    return Measurement(costs.NAME, engine.hash, f"atlas heads {engine.name}", facts, arrays)


def head_pruning(engine: Engine) -> Measurement:
    """Curves that fall from 50 BLEU to 0 in place of ``pruning``, the orders those of :func:`head_costs`."""
    found = HeadCosts.from_measurement(head_costs(engine))
    arrays = {}
    for scope in pruning.SCOPES:
        heads = pruning.in_scope(engine.model, scope)
        remaining = np.array(pruning.points_of(len(heads)))
        bleu = np.stack(
            [50.0 * (remaining / len(heads)) ** (1 + row) for row in range(len(pruning.ORDERS))]
        ).astype(np.float32)
        arrays |= {
            f"{scope}.remaining": remaining,
            f"{scope}.orders": pruning.orders_of(heads, found),
            f"{scope}.bleu": bleu,
            f"{scope}.bleu_low": bleu - 1,
            f"{scope}.bleu_high": bleu + 1,
            f"{scope}.loss": 6 - bleu / 10,
        }
    facts = {
        "corpus": "ours",
        "sentences": 8,
        "orders": list(pruning.ORDERS),
        "scopes": list(pruning.SCOPES),
        "draws": costs.DRAWS,
    }
    return Measurement(pruning.NAME, engine.hash, f"atlas heads {engine.name}", facts, arrays)
