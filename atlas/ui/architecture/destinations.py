"""Where a click on a block of the drawing leads: the page that opens it, at that layer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from atlas.analysis.forward import stages
from atlas.model.config import TransformerConfig
from atlas.ui.navigation import entry

_STAGES = {
    "source_embedding": ("embedding", "encoder", -1),
    "target_embedding": ("embedding", "decoder", -1),
    "encoder_norm": ("norm", "encoder", -1),
    "decoder_norm": ("norm", "decoder", -1),
    "output": ("logits", "decoder", -1),
}
_BLOCKS = {"self_norm": "self", "cross_norm": "cross", "ffn_norm": "ffn", "feed_forward": "ffn"}


@dataclass(frozen=True)
class Destination:
    """A page, and what of its address differs from its defaults."""

    page: str
    changes: dict[str, Any] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """What the drawing says about it."""
        return f"Opens {entry(self.page).title}"


def destination(name: str, config: TransformerConfig) -> Destination:
    """The page for a block of the drawing.

    Attention opens Query · Key · Value at its layer; embeddings, norms, feed-forward networks and the output
    open the Forward pass at their stage.

    Args:
        name: as in the drawing: ``encoder.0.self_attention``, ``decoder.positions``, ``output`` and so on.
        config: of the loaded model, which decides what stages there are.

    Raises:
        KeyError: no block of this name.
    """
    side, _, rest = name.partition(".")
    layer, _, block = rest.partition(".")
    if rest == "positions":
        return Destination("positions")
    if name == "softmax":
        return Destination("beam_search")
    if block in ("self_attention", "cross_attention"):
        kind = "cross" if block == "cross_attention" else side
        return Destination("query_key_value", {"kind": kind, "layer": int(layer) + 1})
    wanted = (_BLOCKS[block], side, int(layer)) if block else _STAGES[name]
    walk = [(stage.kind, stage.side, stage.layer) for stage in stages(config)]
    if wanted not in walk:
        raise KeyError(f"this model has no block {name}")
    return Destination("forward_pass", {"stage": walk.index(wanted)})
