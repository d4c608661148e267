"""The architecture of an encoder-decoder Transformer as a drawing: where every box, arc and arrow stands.

The layout of Vaswani et al. (2017), figure 1: the encoder on the left, the decoder on the right, sentences
come in below and leave above. Layers that are open show their sub-layers, the others are bars. Here is only
geometry and text; a component draws it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from atlas.figures import style
from atlas.figures.architecture_sheet import Plan, Sheet

WIDTH = 760
_BOX, _NORM, _BAR, _RING, _GAP, _PAD, _TITLE = 42, 24, 30, 9, 12, 9, 14
_CLOSED = ((8, _BAR, _GAP), (24, 22, 8), (math.inf, 16, 5))
"""Up to how many layers: height of a closed layer, and of the gap before it."""
_CENTRE = {"encoder": 196, "decoder": 568}
_HALF = 124
_FRAME = 150
_CORRIDOR = 382
_SHARED = 746
_ACTIVATION = {"relu": "ReLU", "gelu": "GELU"}


class _Column:
    """One side of the drawing, built upwards from y = 0."""

    def __init__(self, sheet: Sheet, side: str) -> None:
        self.sheet, self.plan, self.side = sheet, sheet.plan, side
        self.centre = _CENTRE[side]
        self.top = 0.0
        self.length = "S" if side == "encoder" else "T"
        self.stream = f"({self.length}, {self.plan.width})"
        self.entries: list[float] = []

    def rise(self, distance: float = _GAP, *, arrow: bool = True) -> None:
        """The stream goes on upwards."""
        below, self.top = self.top, self.top - distance
        self.sheet.path("stream", (self.centre, below), (self.centre, self.top), arrow=arrow)

    def box(self, name: str, title: str, height: float, **more: Any) -> None:
        """A box on the stream."""
        self.top -= height
        at = (self.centre - _HALF, self.top, 2 * _HALF, height)
        self.sheet.box(name, at, title, **({"colour": self.side} | more))

    def arc(self, start: float, end: float, *, inside: float) -> None:
        """A residual connection along the outer side, from the stream at ``start`` up to ``end``."""
        outwards = -1 if self.side == "encoder" else 1
        outer = self.centre + outwards * (_HALF + 14)
        self.sheet.path(
            "residual",
            (self.centre, start),
            (outer, start),
            (outer, end),
            (self.centre + outwards * inside, end),
        )

    def sub_layer(self, layer: int, block: str, norm: str, title: str, note: str, colour: str) -> None:
        """One step of the residual stream, normalised where the model does it."""
        name = f"{self.side}.{layer}.{block}"
        start = self.top - _GAP / 2
        if self.plan.norm == "pre":
            self.rise()
            self.norm(f"{self.side}.{layer}.{norm}", "Norm")
        self.rise()
        flow = f"{self.stream} → {self.stream}"
        if block == "cross_attention":
            flow = f"queries {self.stream}, keys and values (S, {self.plan.width}) → {self.stream}"
        says = f"{self.side} layer {layer + 1}, {title.lower()}"
        self.box(name, title, _BOX, note=note, colour=colour, flow=flow, says=says)
        if block == "cross_attention":
            self.entries.append(self.top + _BOX / 2)
        self.rise()
        if self.plan.norm == "pre":
            self.top -= 2 * _RING
            self.sheet.text(self.centre, self.top + _RING, "+", "ring")
            self.arc(start, self.top + _RING, inside=_RING)
        else:
            self.norm(f"{self.side}.{layer}.{norm}", "Add & Norm")
            self.arc(start, self.top + _NORM / 2, inside=_HALF)

    def norm(self, name: str, title: str) -> None:
        """A layer normalisation, with or without the addition before it."""
        where = name.rpartition(".")[0]
        side, _, layer = where.partition(".")
        says = f"{side} layer {int(layer) + 1}, {title.lower()}" if layer else f"{self.side}, final norm"
        self.box(name, title, _NORM, colour="pruned", flow=f"{self.stream} → {self.stream}", says=says)

    def layer(self, layer: int) -> None:
        """One layer: open with its sub-layers, or a bar."""
        plan, side = self.plan, self.side
        start = f"{side}.{layer}."
        if layer not in plan.opened:
            layers = max(plan.encoder_layers, plan.decoder_layers)
            height, gap = next((height, gap) for most, height, gap in _CLOSED if layers <= most)
            self.rise(gap)
            self.box(
                f"{side}.{layer}",
                f"{side.capitalize()} layer {layer + 1}",
                height,
                block=start,
                says=f"{side} layer {layer + 1}, closed",
                flow=f"{self.stream} → {self.stream}",
                layer=layer,
            )
            if side == "decoder":
                self.entries.append(self.top + height / 2)
            return
        self.rise(_GAP + _PAD, arrow=False)
        bottom = self.top + _PAD
        heads = f"{plan.heads} heads × {plan.width // plan.heads}"
        masked = "Masked self-attention" if side == "decoder" and plan.causal else "Self-attention"
        self.sub_layer(layer, "self_attention", "self_norm", masked, heads, side)
        if side == "decoder":
            note = f"{heads} · keys, values from the encoder"
            self.sub_layer(layer, "cross_attention", "cross_norm", "Cross-attention", note, "cross")
        note = f"{plan.width:,} → {plan.ffn:,} → {plan.width:,} · {_ACTIVATION[plan.activation]}"
        self.sub_layer(layer, "feed_forward", "ffn_norm", "Feed-forward", note, side)
        self.rise(_PAD + _TITLE, arrow=False)
        self.sheet.frames.append(
            {
                "x": self.centre - _FRAME,
                "y": self.top,
                "width": 2 * _FRAME,
                "height": bottom - self.top,
                "colour": side,
                "title": f"{side.capitalize()} layer {layer + 1}",
                "number": f"{plan.count(start):,}",
            }
        )

    def whole(self) -> None:
        """From the tokens to the end of the stack."""
        plan, side, table = self.plan, self.side, "source" if self.side == "encoder" else "target"
        tokens = "source tokens" if side == "encoder" else "target tokens so far"
        self.sheet.text(self.centre, 16, f"{tokens} ({self.length})", "end")
        self.rise(_GAP + 4)
        shared = plan.tied and side == "decoder"
        self.box(
            f"{table}_embedding",
            "Embedding × √d",
            _BOX,
            note="the same matrix as the source's" if shared else f"{plan.vocabulary:,} × {plan.width}",
            number="shared" if shared else None,
            block="source_embedding" if plan.tied else None,
            flow=f"({self.length}) → {self.stream}",
            says=f"{table} embedding",
        )
        if plan.positions != "none":
            self.rise()
            self.box(
                f"{side}.positions",
                f"+ {plan.positions} positions",
                _BAR,
                block="position_table",
                number=None if plan.positions == "learned" else "0",
                flow=f"{self.stream} → {self.stream}",
                says=f"{plan.positions} positions added to the {table} embedding",
            )
        for layer in range(plan.encoder_layers if side == "encoder" else plan.decoder_layers):
            self.layer(layer)
        if plan.norm == "pre":
            self.rise()
            self.norm(f"{side}_norm", "Norm")


def drawing(plan: Plan, leads: Callable[[str], str], *, dark: bool = False) -> dict[str, Any]:
    """Where everything stands.

    Args:
        plan: the model.
        leads: for the name of a box, where a click leads, in our own words.
        dark: for a dark page.

    Returns:
        ``width`` and ``height`` in pixels; ``boxes``, ``paths``, ``texts`` and ``frames``; ``colours`` by
        meaning; ``summary``, a line each about the whole model; ``label`` for those who do not see it.
    """
    sheet = Sheet(plan, leads)
    encoder, decoder = _Column(sheet, "encoder"), _Column(sheet, "decoder")
    encoder.whole()
    decoder.whole()
    decoder.rise()
    decoder.box(
        "output",
        "Output projection",
        _BOX,
        note="the embedding matrix again" if plan.tied else f"{plan.width} × {plan.vocabulary:,}",
        number="shared" if plan.tied else None,
        block="source_embedding" if plan.tied else "unembedding",
        flow=f"(T, {plan.width}) → (T, {plan.vocabulary:,})",
        says="output projection to the vocabulary",
    )
    output = decoder.top + _BOX / 2
    decoder.rise()
    decoder.box(
        "softmax",
        "Softmax",
        _NORM,
        colour="pruned",
        block="",
        number="0",
        flow=f"(T, {plan.vocabulary:,}) → (T, {plan.vocabulary:,})",
        says="softmax over the vocabulary",
    )
    decoder.rise(_GAP + 4)
    sheet.text(decoder.centre, decoder.top - 8, "probabilities of the next token", "end")
    _memory(sheet, encoder, decoder)
    if plan.tied:
        _shared(sheet, output)
    return _finished(sheet, min(encoder.top, decoder.top) - 24, dark)


def _memory(sheet: Sheet, encoder: _Column, decoder: _Column) -> None:
    """The encoder's output: over to the corridor between the columns, and into every decoder layer."""
    turn = encoder.top - 16
    ends = [turn, *decoder.entries]
    sheet.path(
        "memory", (encoder.centre, encoder.top), (encoder.centre, turn), (_CORRIDOR, turn), arrow=False
    )
    sheet.path("memory", (_CORRIDOR, max(ends)), (_CORRIDOR, min(ends)), arrow=False)
    for entry in decoder.entries:
        sheet.path("memory", (_CORRIDOR, entry), (decoder.centre - _HALF, entry))
    words = f"memory (S, {sheet.plan.width}), read by every decoder layer"
    sheet.text(encoder.centre, turn - 10, words, "memory")


def _shared(sheet: Sheet, output: float) -> None:
    """One matrix in three places: a dotted line between them."""
    table = -(_GAP + 4) - _BOX / 2
    encoder, decoder = _CENTRE["encoder"], _CENTRE["decoder"]
    sheet.path("shared", (encoder + _HALF, table), (decoder - _HALF, table), arrow=False)
    right = decoder + _HALF
    sheet.path("shared", (right, table), (_SHARED, table), (_SHARED, output), (right, output), arrow=False)


def _finished(sheet: Sheet, top: float, dark: bool) -> dict[str, Any]:
    """Everything moved so that the picture begins at 0, with the words about the whole of it."""
    plan, bottom = sheet.plan, 26
    for part in (*sheet.boxes, *sheet.texts, *sheet.frames):
        part["y"] -= top
    for path in sheet.paths:
        path["points"] = [[x, y - top] for x, y in path["points"]]
    shared = "one matrix for source, target and output" if plan.tied else "three matrices of embeddings"
    order = "norm before each sub-layer (pre)" if plan.norm == "pre" else "add, then norm (post)"
    summary = [
        f"{plan.total:,} parameters",
        f"{plan.encoder_layers} encoder + {plan.decoder_layers} decoder layers",
        f"d = {plan.width}, F = {plan.ffn}, {plan.heads} heads",
        f"vocabulary {plan.vocabulary:,}",
        order,
        shared,
    ]
    return {
        "width": WIDTH,
        "height": bottom - top,
        "boxes": sheet.boxes,
        "paths": sheet.paths,
        "texts": sheet.texts,
        "frames": sheet.frames,
        "colours": {
            name: {"fill": style.COLOURS[name], "text": style.text_colour(name, dark)}
            for name in ("encoder", "decoder", "cross", "pruned")
        },
        "summary": summary,
        "label": "The model as a drawing, encoder left, decoder right: " + ", ".join(summary),
    }
