"""Where the weights of a loaded model are: exact counts, block by block, from the weights themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass

from atlas.model.config import TransformerConfig
from atlas.model.transformer import Transformer

_STACKS = ("encoder.", "decoder.")


@dataclass(frozen=True)
class Weight:
    """One tensor of the model: its name and its shape (a linear map is stored as outputs × inputs)."""

    name: str
    shape: tuple[int, ...]

    @property
    def count(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.shape)

    @property
    def is_matrix(self) -> bool:
        """Whether the formulas count it; what is left are biases and norms."""
        return len(self.shape) > 1


@dataclass(frozen=True)
class Block:
    """A part of the model that a drawing shows as one box.

    Attributes:
        name: as in the model: ``encoder.0.self_attention``, ``decoder.3.ffn_norm``, ``source_embedding``.
        weights: its tensors, each of which belongs to one block only: a matrix that is shared (tied
            embeddings) to the first that uses it.
    """

    name: str
    weights: tuple[Weight, ...]

    @property
    def count(self) -> int:
        """All of its parameters."""
        return sum(weight.count for weight in self.weights)

    @property
    def matrices(self) -> int:
        """Those in matrices."""
        return sum(weight.count for weight in self.weights if weight.is_matrix)

    @property
    def kind(self) -> str:
        """``self_attention``, ``cross_attention``, ``feed_forward``, ``norm``, ``embedding``, ``positions``
        or ``unembedding``.
        """
        last = self.name.rpartition(".")[2]
        for kind in ("norm", "embedding"):
            if last.endswith(f"_{kind}"):
                return kind
        return "positions" if last == "position_table" else last


def blocks(model: Transformer) -> tuple[Block, ...]:
    """Every parameter of a model, once, in the order in which a sentence meets them.

    Args:
        model: any one of ours, also one on the ``meta`` device, which has shapes and no numbers.
    """
    found: dict[str, list[Weight]] = {}
    seen: set[int] = set()
    named = sorted(model.named_parameters(remove_duplicate=False), key=lambda item: _order(item[0]))
    for name, parameter in named:
        if id(parameter) in seen:
            continue
        seen.add(id(parameter))
        block = name.split(".")[: 3 if name.startswith(_STACKS) else 1]
        found.setdefault(".".join(block), []).append(Weight(name, tuple(parameter.shape)))
    return tuple(Block(name, tuple(weights)) for name, weights in found.items())


_FIRST = ("source_embedding", "position_table", "encoder.", "encoder_norm", "target_embedding")
_THEN = ("decoder.", "decoder_norm", "unembedding")


def _order(name: str) -> int:
    """Stable sorting by this keeps what is inside a stack in the order of the modules."""
    return next(place for place, start in enumerate((*_FIRST, *_THEN)) if name.startswith(start))


def total(parts: tuple[Block, ...], start: str = "") -> int:
    """Parameters of all blocks whose name begins with ``start``, such as ``decoder.2.``."""
    return sum(part.count for part in parts if part.name.startswith(start))


@dataclass(frozen=True)
class Comparison:
    """A formula beside the weights.

    Attributes:
        what: the part of the model.
        times: how many of it there are.
        formula: in d, F and V, for one of them.
        expected: what the formula gives for one.
        exact: parameters of one, from the weights.
    """

    what: str
    times: int
    formula: str
    expected: int
    exact: int

    @property
    def remainder(self) -> int:
        """What the formula leaves out of one: biases and norms."""
        return self.exact - self.expected


def compare(config: TransformerConfig, parts: tuple[Block, ...]) -> tuple[Comparison, ...]:
    """Each kind of part, its formula, and what is there; times added up, the exact counts are the model's.

    Formulas (``d`` width, ``F`` feed-forward width, ``V`` vocabulary, ``P`` positions): attention has four
    matrices of ``d × d``, the feed-forward network two of ``d × F``, so an encoder layer has ``4 d^2 + 2 d
    F`` (``12 d^2`` where ``F = 4 d``) and a decoder layer, which attends twice, ``8 d^2 + 2 d F``
    (``16 d^2``).
    """
    d, f = config.width, config.ffn
    encoder, decoder = 4 * d * d + 2 * d * f, 8 * d * d + 2 * d * f
    four = f == 4 * d
    rows = [
        Comparison(
            "Encoder layer",
            config.encoder_layers,
            "4d² + 2dF = 12d²" if four else "4d² + 2dF",
            encoder,
            total(parts, "encoder.0."),
        ),
        Comparison(
            "Decoder layer",
            config.decoder_layers,
            "8d² + 2dF = 16d²" if four else "8d² + 2dF",
            decoder,
            total(parts, "decoder.0."),
        ),
    ]
    tables = [part for part in parts if part.kind in ("embedding", "unembedding")]
    rows.append(
        Comparison(
            "Embedding, shared by source, target and output" if config.tied else "Embeddings and output",
            len(tables),
            "V·d",
            config.vocabulary * d,
            tables[0].count,
        )
    )
    rows += [
        Comparison("Learned positions", 1, "P·d", config.max_length * d, part.count)
        for part in parts
        if part.kind == "positions"
    ]
    ends = [part for part in parts if part.name in ("encoder_norm", "decoder_norm")]
    if ends:
        rows.append(Comparison("Norm at the end of a stack", len(ends), "0", 0, ends[0].count))
    return tuple(rows)


_SHARES = {
    ("", "embedding"): "embedding",
    ("", "unembedding"): "embedding",
    ("", "positions"): "positions",
    ("encoder", "self_attention"): "encoder attention",
    ("encoder", "feed_forward"): "encoder feed-forward",
    ("decoder", "self_attention"): "decoder self-attention",
    ("decoder", "cross_attention"): "cross-attention",
    ("decoder", "feed_forward"): "decoder feed-forward",
}
REMAINDER = "biases and norms"


def shares(parts: tuple[Block, ...]) -> dict[str, int]:
    """The whole model by what its parameters do; the values add up to all of them.

    Returns:
        By name, in the order to be drawn: ``embedding``, ``positions``, ``encoder attention``, ``encoder
        feed-forward``, ``decoder self-attention``, ``cross-attention``, ``decoder feed-forward`` (matrices
        only), and ``biases and norms``. What the model lacks is left out.
    """
    sums = dict.fromkeys([*_SHARES.values(), REMAINDER], 0)
    for part in parts:
        if part.matrices:
            sums[_SHARES[part.name.split(".")[0] if "." in part.name else "", part.kind]] += part.matrices
        sums[REMAINDER] += part.count - part.matrices
    return {name: count for name, count in sums.items() if count}
