"""What the stages of a pass are called, and the one line that says what each does."""

from __future__ import annotations

from typing import Final

from atlas.analysis.forward import Operation, Stage
from atlas.model.config import TransformerConfig

_BLOCKS: Final = {
    "embedding": "embedding",
    "positions": "+ positions",
    "self": "self-attention",
    "cross": "cross-attention",
    "ffn": "feed-forward",
    "norm": "final norm",
    "read": "reads what it wrote",
}
_ALONE: Final = {
    "characters": "Characters",
    "pieces": "Pieces",
    "ids": "Ids",
    "logits": "Logits",
    "softmax": "Temperature and softmax",
    "cut": "Top-k and top-p",
    "choice": "Choice",
}
_OPERATIONS: Final[dict[Operation, str]] = {
    "embedding": "row of the table",
    "scaled": "× √D",
    "position": "position",
    "stream": "stream in",
    "norm": "LayerNorm",
    "attention": "attention adds",
    "ffn": "FFN adds",
    "sum": "sum: stream out",
}
_LEADS: Final = {
    "characters": "What was typed. The model never sees characters: they are joined to pieces first.",
    "pieces": "Byte-pair encoding: characters that often stand together are one piece. An end mark is added.",
    "ids": "Each piece is a row number of the vocabulary. From here on the model knows numbers alone.",
    "read": "The decoder reads the start mark and what it has written so far, and nothing after it.",
    "embedding": "The id picks a row of the embedding table, which is then multiplied by √D.",
    "positions": "A vector that says where the token stands is added. This sum is the residual stream.",
    "self": "Each token takes from the others of its side what its heads ask for.",
    "cross": "The decoder looks at the encoder's output: the source sentence.",
    "ffn": "Each token by itself: compared with F keys, answered with a sum of F values.",
    "norm": "A pre-norm model normalises once more at the end of each side.",
    "logits": "The last vector times every row of the output vocabulary: one score a token.",
    "softmax": "Divide by the temperature, then softmax: scores become probabilities that sum to 1.",
    "cut": "Top-k keeps the k likeliest, then top-p the fewest that reach p; the rest cannot be drawn.",
    "choice": "One token is taken and appended; the decoder reads it, and round it goes again.",
}


def stage_name(stage: Stage) -> str:
    """The full name, such as "Decoder 2 · cross-attention"; layers count from 1."""
    if stage.kind in _ALONE:
        return _ALONE[stage.kind]
    number = f" {stage.layer + 1}" if stage.layer >= 0 else ""
    return f"{stage.side.capitalize()}{number} · {_BLOCKS[stage.kind]}"


def short_name(stage: Stage) -> str:
    """A name for an axis, such as "2 cross"; layers count from 1."""
    names = {"self": "self", "cross": "cross", "ffn": "FFN", "positions": "positions"}
    word = names.get(stage.kind, _BLOCKS.get(stage.kind, stage.kind))
    return f"{stage.layer + 1} {word}" if stage.layer >= 0 else word


def row_name(operation: Operation, stage: Stage, config: TransformerConfig) -> str:
    """What a vector of a stage is, such as "LayerNorm: stream out"."""
    name = _OPERATIONS[operation]
    if operation == "norm" and (config.norm == "post" or stage.kind == "norm"):
        return f"{name}: {'stream' if config.norm == 'post' else 'vector'} out"
    if operation == "sum" and config.norm == "post" and stage.kind != "positions":
        return "sum"
    return name


def stage_lead(stage: Stage, config: TransformerConfig) -> str:
    """One line under the title of a stage, with the order of this model where there is one."""
    lead = _LEADS[stage.kind]
    if stage.kind in ("self", "cross", "ffn"):
        block = "FFN" if stage.kind == "ffn" else "attention"
        order = f"LayerNorm → {block} → add" if config.norm == "pre" else f"{block} → add → LayerNorm"
        return f"{lead} This model is {config.norm}-norm: {order}."
    if stage.kind == "embedding" and config.positions == "none":
        return f"{lead} This model adds no positions."
    return lead
