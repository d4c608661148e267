"""What a drawing of the architecture is made of: the sizes of a model, and a sheet for boxes and lines."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Shape = tuple[int, ...]
Weights = Mapping[str, Sequence[tuple[str, Shape]]]


@dataclass(frozen=True)
class Plan:
    """What the drawing shows.

    Attributes:
        encoder_layers, decoder_layers: L of either stack.
        heads, width, ffn, vocabulary: H, D, F, V.
        norm: ``post`` puts a norm after each addition, ``pre`` before each sub-layer and at the end of a
            stack.
        positions: ``sinusoidal``, ``learned`` or ``none``.
        activation: between the two maps of a feed-forward network.
        tied: whether source, target and output share one matrix.
        causal: whether the decoder's self-attention hides later tokens.
        weights: by block, as the model names them (``encoder.0.self_attention``): its tensors and shapes.
        opened: layers, from 0, that show their sub-layers, on both sides.
    """

    encoder_layers: int
    decoder_layers: int
    heads: int
    width: int
    ffn: int
    vocabulary: int
    norm: str
    positions: str
    activation: str
    tied: bool
    causal: bool
    weights: Weights
    opened: frozenset[int] = frozenset({0})

    def count(self, start: str) -> int:
        """Parameters of all blocks whose name begins with ``start``."""
        return sum(
            math.prod(shape)
            for name, tensors in self.weights.items()
            if name.startswith(start)
            for _, shape in tensors
        )

    @property
    def total(self) -> int:
        """Parameters of the whole model."""
        return self.count("")


@dataclass
class Sheet:
    """What has been drawn so far, in pixels; y grows downwards, so a column grows towards smaller y."""

    plan: Plan
    leads: Callable[[str], str]
    boxes: list[dict[str, Any]] = field(default_factory=list)
    paths: list[dict[str, Any]] = field(default_factory=list)
    texts: list[dict[str, Any]] = field(default_factory=list)
    frames: list[dict[str, Any]] = field(default_factory=list)

    def box(
        self,
        name: str,
        at: tuple[float, float, float, float],
        title: str,
        *,
        colour: str,
        says: str,
        note: str = "",
        flow: str = "",
        block: str | None = None,
        number: str | None = None,
        layer: int | None = None,
    ) -> None:
        """A box that can be hovered and chosen.

        Args:
            name: what a click tells.
            at: x, y, width and height.
            says: what it is, for the panel and for those who do not see it.
            note: small, under the title.
            flow: shapes that go in and come out.
            block: the blocks whose weights it holds (the beginning of their names); ``name`` if None.
            number: at its right end; the count of its parameters if None.
            layer: for a closed layer, the one that a click opens, from 0.
        """
        start = name if block is None else block
        tensors = [
            (f"{known}.{weight}".removeprefix(start).removeprefix("."), _shape(shape), math.prod(shape))
            for known, weights in self.plan.weights.items()
            if start and known.startswith(start)
            for weight, shape in weights
        ]
        count = sum(size for _, _, size in tensors)
        x, y, width, height = at
        self.boxes.append(
            {
                "name": name,
                "x": x,
                "y": y,
                "width": width,
                "height": height,
                "title": title,
                "note": note,
                "number": f"{count:,}" if number is None else number,
                "colour": colour,
                "says": says,
                "flow": flow,
                "weights": []
                if layer is not None
                else [[said, shape, f"{size:,}"] for said, shape, size in tensors],
                "count": count,
                "leads": "Opens this layer in the drawing" if layer is not None else self.leads(name),
                "layer": layer,
            }
        )

    def path(self, kind: str, *points: tuple[float, float], arrow: bool = True) -> None:
        """A line through points: ``stream``, ``residual``, ``memory`` or ``shared``."""
        self.paths.append({"kind": kind, "points": [list(point) for point in points], "arrow": arrow})

    def text(self, x: float, y: float, words: str, kind: str, anchor: str = "middle") -> None:
        """Words that are not a box."""
        self.texts.append({"x": x, "y": y, "text": words, "kind": kind, "anchor": anchor})


def _shape(shape: Shape) -> str:
    return " × ".join(f"{size:,}" for size in shape)
