"""All heads of one kind at a glance: layers down, heads across, the mean and the maximum over heads at the
end.

One function, :meth:`HeadGrid.shades`, says how dark each cell is. Two pictures are made of it:
:func:`heads_mosaic`, one Plotly heatmap for notebooks and exports, and :func:`mosaic_payload`, the same bytes
for the canvas of the app, which keeps up with arrow keys. Colours are 8-bit; numbers that are shown come from
the float32 weights.

Shapes: ``L`` layers, ``H`` heads, ``Q`` queries, ``K`` keys; a tile is one head's (Q, K) picture.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from atlas.figures import style
from atlas.figures.heatmap import KINDS
from atlas.figures.pooling import block, pool_max

SUMMARIES: Final = ("mean", "max")
"""The two tiles at the end of each layer: the mean over its heads, whose rows sum to 1, and their maximum."""

FIXED: Final = "fixed"
"""The colour scale that never changes."""

TILE: Final = 64
"""Squares a side of a tile, at most: more than a tile has pixels on most screens, and 164 kB for 40 tiles,
however long the sentence is."""

SCALES: Final[dict[str, str]] = {
    "head": "each head has its own colour scale, from 0 to its largest weight",
    "shared": "all heads share one colour scale, from 0 to the largest weight of any",
    FIXED: "all heads of all sentences share one colour scale, from 0 to 1",
}
"""The ways to colour a grid, in the words that a page shows."""


@dataclass(frozen=True)
class HeadGrid:
    """The attention of every head of one kind.

    Attributes:
        weights: float32 (L, H, Q, K); a row of NaN is empty.
        mean: float32 (L, Q, K), the mean over heads.
        maximum: float32 (L, Q, K), the maximum over heads; its rows do not sum to 1.
        queries: Q labels, not escaped.
        keys: K labels, not escaped.
        kind: ``encoder``, ``decoder`` or ``cross``.
    """

    weights: NDArray[np.floating[Any]]
    mean: NDArray[np.floating[Any]]
    maximum: NDArray[np.floating[Any]]
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    kind: str = "encoder"

    def __post_init__(self) -> None:
        """Check the shapes against each other and against the labels.

        Raises:
            ValueError: naming the field, its shape and the right one.
        """
        if self.weights.ndim != 4:
            raise ValueError(f"weights must be (layers, heads, queries, keys), not {self.weights.shape}")
        layers, heads = self.weights.shape[:2]
        sides = (len(self.queries), len(self.keys))
        for field, expected in (
            ("weights", (layers, heads, *sides)),
            ("mean", (layers, *sides)),
            ("maximum", (layers, *sides)),
        ):
            if getattr(self, field).shape != expected:
                raise ValueError(f"{field} must be {expected}, not {getattr(self, field).shape}")
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, not {self.kind!r}")

    def _repr_html_(self) -> str:
        """What a notebook shows: see :func:`atlas.figures.notebook.grid_html`."""
        from atlas.figures.notebook import grid_html

        return grid_html(self)

    @property
    def layers(self) -> int:
        """The number of layers, L."""
        return int(self.weights.shape[0])

    @property
    def heads(self) -> int:
        """The number of heads a layer, H."""
        return int(self.weights.shape[1])

    @property
    def columns(self) -> tuple[str, ...]:
        """The H + 2 names of the tiles of a layer: "1" to "H", then :data:`SUMMARIES`."""
        return (*(str(head + 1) for head in range(self.heads)), *SUMMARIES)

    @cached_property
    def tiles(self) -> NDArray[np.float32]:
        """float32 (L, H + 2, Q, K): every head, then the mean and the maximum."""
        ends = np.stack([self.mean, self.maximum], axis=1)
        return np.concatenate([self.weights, ends], axis=1).astype(np.float32)

    @cached_property
    def overview(self) -> NDArray[np.float32]:
        """float32 (L, H + 2, Q', K'): :attr:`tiles` with empty rows as 0 and at most :data:`TILE` squares a
        side.

        Where there are more tokens, a square is the largest weight of its block (see :attr:`blocks`).
        """
        parts = (self.weights, self.mean[:, None], self.maximum[:, None])
        pooled = [pool_max(pool_max(part, TILE, axis=-2), TILE) for part in parts]
        return np.nan_to_num(np.concatenate(pooled, axis=1).astype(np.float32))

    @property
    def blocks(self) -> tuple[int, int]:
        """How many queries and keys share a square of the overview; (1, 1) where every cell has its own."""
        return block(len(self.queries), TILE), block(len(self.keys), TILE)

    @property
    def pooling(self) -> str:
        """What a square of the overview stands for, in the words of a page; "" for a single weight."""
        rows, columns = self.blocks
        if rows == columns == 1:
            return ""
        return f"a square is the largest of {rows} × {columns} weights (queries × keys)"

    @cached_property
    def peaks(self) -> NDArray[np.float32]:
        """float32 (L, H + 2): the largest weight of each tile; 0 where every row is empty."""
        return self.overview.max(axis=(2, 3), initial=0.0)

    def top(self, scale: str, layer: int, column: int) -> float:
        """The weight at the end of the colour scale of one tile.

        Args:
            scale: a key of :data:`SCALES`.
            layer: 0-based.
            column: 0-based place in :attr:`columns`.

        Raises:
            ValueError: a scale that does not exist.
        """
        if scale not in SCALES:
            raise ValueError(f"scale must be one of {', '.join(SCALES)}, not {scale!r}")
        if scale == FIXED:
            return 1.0
        return float(self.peaks.max(initial=0.0) if scale == "shared" else self.peaks[layer, column])

    def shades(self, scale: str) -> NDArray[np.uint8]:
        """uint8 (L, H + 2, Q', K') of :attr:`overview`: 0 for weight 0 (and for empty rows), 255 for the end
        of the colour scale."""
        tops = np.array(
            [
                [self.top(scale, layer, column) for column in range(self.heads + 2)]
                for layer in range(self.layers)
            ]
        ).reshape(self.layers, self.heads + 2, 1, 1)
        part = self.overview / np.where(tops > 0, tops, 1.0)
        return np.rint(np.clip(part, 0.0, 1.0) * 255).astype(np.uint8)

    def _tile(self, layer: int, column: int) -> NDArray[np.floating[Any]]:
        """(Q, K) of one tile, not copied."""
        if column < self.heads:
            tile: NDArray[np.floating[Any]] = self.weights[layer, column]
        else:
            tile = (self.mean, self.maximum)[column - self.heads][layer]
        return tile

    def strongest(self, layer: int, column: int) -> str:
        """One line about a tile: its name and its largest weight with both labels, for hover and screen
        readers."""
        tile = self.overview[layer, column]
        column_name = self.columns[column]
        name = f"head {column_name}" if column < self.heads else f"{column_name} over heads"
        if not tile.size or tile.max() <= 0:
            return f"layer {layer + 1} · {name}: empty"
        (rows, columns), place = self.blocks, np.unravel_index(int(tile.argmax()), tile.shape)
        query, key = int(place[0]) * rows, int(place[1]) * columns
        inside = np.nan_to_num(self._tile(layer, column)[query : query + rows, key : key + columns])
        down, across = np.unravel_index(int(inside.argmax()), inside.shape)
        pair = f"{self.queries[query + int(down)]} → {self.keys[key + int(across)]}"
        strongest = f"{pair} {inside[down, across]:.2f}"
        return f"layer {layer + 1} · {name}: strongest {strongest}"


def heads_mosaic(
    grid: HeadGrid,
    *,
    scale: str = "head",
    chosen: tuple[int, int] | None = None,
    dark: bool = False,
    height: int | None = None,
) -> go.Figure:
    """Every head of a kind in one Plotly heatmap, tiles set apart by gaps.

    Args:
        grid: L layers of H heads, each (Q, K).
        scale: a key of :data:`SCALES`; the title states it.
        chosen: 0-based (layer, column) to be framed.
        dark: for a dark page.
        height: pixels; by default tiles are about as high as wide on a page of 900 pixels.

    Returns:
        A figure whose first trace is a heatmap of uint8 shades; the hover of a cell is its tile's
        :meth:`HeadGrid.strongest`.
    """
    shades = grid.shades(scale)
    layers, columns, rows, width = shades.shape
    gap_down, gap_across = max(1, round(rows * 0.08)), max(1, round(width * 0.08))
    step_down, step_across = rows + gap_down, width + gap_across
    sheet = np.full((layers * step_down, columns * step_across), np.nan, dtype=np.float32)
    figure = go.Figure()
    left, top = np.meshgrid(np.arange(columns) * step_across - 0.5, np.arange(layers) * step_down - 0.5)
    for layer in range(layers):
        for column in range(columns):
            down, across = layer * step_down, column * step_across
            sheet[down : down + rows, across : across + width] = shades[layer, column]
    figure.add_trace(
        go.Heatmap(
            z=sheet,
            zmin=0,
            zmax=255,
            colorscale=style.sequential(dark),
            showscale=False,
            hoverinfo="skip",
        )
    )
    gap = np.full_like(left, np.nan)
    frames = (
        np.stack([left, left + width, left + width, left, left, gap], axis=-1),
        np.stack([top, top, top + rows, top + rows, top, gap], axis=-1),
    )
    figure.add_trace(thin_lines(*frames, style.grid(dark)))
    if chosen is not None:
        across, down = float(left[chosen]), float(top[chosen])
        figure.add_shape(
            type="rect",
            x0=across,
            x1=across + width,
            y0=down,
            y1=down + rows,
            line={"color": style.COLOURS[grid.kind], "width": 3},
        )
    across_middles = [column * step_across + (width - 1) / 2 for column in range(columns)]
    down_middles = [layer * step_down + (rows - 1) / 2 for layer in range(layers)]
    figure.add_trace(_tips(grid, across_middles, down_middles))
    figure.update_xaxes(
        plain_axis("head", across_middles, grid.columns, [-0.5, columns * step_across - 0.5]), side="top"
    )
    figure.update_yaxes(
        plain_axis("layer", down_middles, range(1, layers + 1), [layers * step_down - 0.5, -0.5])
    )
    size = height if height is not None else 110 + layers * min(max(round(850 / columns), 60), 140)
    title = "; ".join(filter(None, (f"{KINDS[grid.kind].capitalize()}: {SCALES[scale]}", grid.pooling)))
    margin = {"l": 52, "r": 8, "t": 84, "b": 8}
    return style.arrange(figure, title=title, height=size, dark=dark, margin=margin)


def plain_axis(
    title: str, places: Sequence[float], names: Iterable[object], span: Sequence[float]
) -> dict[str, Any]:
    """An axis that only names what stands at some places along it, from one end to the other."""
    return {
        "tickvals": list(places),
        "ticktext": [str(name) for name in names],
        "title": title,
        "showgrid": False,
        "zeroline": False,
        "range": list(span),
    }


def thin_lines(x: NDArray[np.floating[Any]], y: NDArray[np.floating[Any]], colour: str) -> go.Scatter:
    """Lines through points in C order, broken at NaN, that no hover finds."""
    return go.Scatter(
        x=x.ravel(),
        y=y.ravel(),
        mode="lines",
        line={"color": colour, "width": 1},
        hoverinfo="skip",
        showlegend=False,
    )


def _tips(grid: HeadGrid, across: Sequence[float], down: Sequence[float]) -> go.Scatter:
    """An unseen point in the middle of each tile, whose hover is the tile's line."""
    tiles = [(layer, column) for layer in range(len(down)) for column in range(len(across))]
    return go.Scatter(
        x=[across[column] for _, column in tiles],
        y=[down[layer] for layer, _ in tiles],
        mode="markers",
        marker={"opacity": 0, "size": 30},
        hovertext=[style.escape(grid.strongest(layer, column)) for layer, column in tiles],
        hoverinfo="text",
        showlegend=False,
    )


def _packed(array: NDArray[np.uint8]) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")


def colour_tables() -> dict[str, str]:
    """The colours of shades 0 to 255 on a ``light`` and on a ``dark`` page: 256 x RGB, base64."""
    return {
        name: _packed(np.array(style.colour_table(dark), dtype=np.uint8))
        for name, dark in (("light", False), ("dark", True))
    }


def mosaic_payload(
    grid: HeadGrid, *, scale: str = "head", chosen: tuple[int, int] = (0, 0)
) -> dict[str, Any]:
    """What the canvas needs to draw the same grid: bytes, names and both colour tables; JSON-able.

    Args:
        grid: L layers of H heads, each (Q, K).
        scale: a key of :data:`SCALES`.
        chosen: 0-based (layer, column) that is framed.

    Returns:
        ``shades`` (base64 of uint8, C order), ``shape`` [L, H + 2, Q', K'] with at most :data:`TILE` squares
        a side, ``columns``, ``queries`` and ``keys`` (Q and K labels), ``blocks`` (how many of them share a
        square), ``tips`` (L lists of H + 2 lines), ``chosen``, ``label`` (what a screen reader calls it),
        ``colour`` of the kind, ``tables`` (256 x RGB, base64, for a light and a dark page).
    """
    shades = grid.shades(scale)
    return {
        "shades": _packed(shades),
        "shape": list(shades.shape),
        "columns": list(grid.columns),
        "queries": list(grid.queries),
        "keys": list(grid.keys),
        "blocks": list(grid.blocks),
        "tips": [
            [grid.strongest(layer, column) for column in range(grid.heads + 2)]
            for layer in range(grid.layers)
        ],
        "chosen": list(chosen),
        "label": "; ".join(filter(None, (f"all heads of {KINDS[grid.kind]}", SCALES[scale], grid.pooling))),
        "colour": style.COLOURS[grid.kind],
        "tables": colour_tables(),
    }
