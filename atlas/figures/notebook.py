"""What a notebook shows of our objects: HTML that loads nothing and is small enough to be saved with it.

A trace is its exported page (:func:`atlas.figures.page.document.trace_page`) in a frame of its own, without
plotly.js, which would add 2 MB to every cell. Heads are SVG that needs no script. Ink is the text colour of
the notebook, so both themes fit.
"""

from __future__ import annotations

import base64
import hashlib
import html
import struct
import zlib
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from atlas.figures.heatmap import KINDS
from atlas.trace import Trace

if TYPE_CHECKING:
    from atlas.figures.heatmap import HeadMap
    from atlas.figures.mosaic import HeadGrid

MOST_BYTES: Final = 4_000_000
"""The largest page that is put into a notebook; a trace of about 100 tokens with beam 5."""

_FRAME_HEIGHT: Final = 820
_TITLED: Final = 2_500
"""Up to so many cells each has a tooltip."""
_LETTER: Final = 7.2
"""Mean width of a letter at 12 pixels."""


def trace_html(trace: Trace) -> str:
    """A trace as its page in a frame that may run its own script and nothing else.

    Of a large trace only the attention of the best hypotheses is taken; of one that is still too large, a
    line that says what to do.
    """
    from atlas.figures.page.document import trace_page

    for shown in (trace, trace.with_n_best_rows_only()):
        page = trace_page(shown, heatmap=False)
        if len(page) <= MOST_BYTES:
            return framed(page, f"Trace: {trace.source}")
    return (
        f"<p>{html.escape(trace.source)}</p><p>This trace is too large for a notebook. "
        "<code>atlas export TRACE -o page.html</code> writes its page; "
        "<code>atlas.figures.attention.head_map</code> gives one head.</p>"
    )


def framed(page: str, title: str) -> str:
    """A whole page of HTML in a sandboxed frame: no access to the notebook, to storage or to a network."""
    return (
        f'<iframe srcdoc="{html.escape(page)}" sandbox="allow-scripts" title="{html.escape(title)}" '
        f'style="width:100%;height:{_FRAME_HEIGHT}px;border:0"></iframe>'
    )


def head_html(head: HeadMap) -> str:
    """One head as a heatmap: queries down, keys across, ink for weight, numbers on hover."""
    rows, columns = head.weights.shape
    weights = np.nan_to_num(head.weights.astype(np.float64))
    size = 20 if max(rows, columns) <= 30 else 12 if max(rows, columns) <= 70 else 6
    left = 12 + _LETTER * max(map(len, head.queries), default=0)
    top = 30 + 0.8 * _LETTER * max(map(len, head.keys), default=0)
    width, height = left + columns * size + 70, top + rows * size + 6
    words = [_text(6, 14, f"{head.name} · {KINDS[head.kind]}".strip(" ·"), weight=600)]
    if size > 6:
        words += [
            _text(left - 6, top + (row + 0.5) * size + 4, label, anchor="end")
            for row, label in enumerate(head.queries)
        ]
        words += [
            _text(left + (column + 0.6) * size, top - 5, label, turn=-55)
            for column, label in enumerate(head.keys)
        ]
    tips = []
    if weights.size <= _TITLED:
        tips = [
            (left + k * size, top + q * size, size, size, _cell(head, q, k))
            for q, k in np.ndindex(weights.shape)
        ]
    shades = np.rint(255 * weights / (head.peak or 1.0)).clip(0, 255).astype(np.uint8)
    picture = _inked(shades, left, top, columns * size, rows * size)
    return _svg(width, height, f"Attention: {head.name}", [*words, picture, *map(_tip, tips)])


def grid_html(grid: HeadGrid) -> str:
    """All heads of a kind: layers down, heads across, the mean and the maximum at the end."""
    shades = grid.shades("head")
    layers, columns, rows, keys = shades.shape
    wide = 78.0
    tall = float(np.clip(wide * rows / max(keys, 1), 40, 110)) if rows and keys else wide
    left, top, gap = 62.0, 44.0, 4.0
    words = [_text(6, 14, f"All heads of {KINDS[grid.kind]}, each on its own scale", weight=600)]
    parts = []
    for column, name in enumerate(grid.columns):
        words.append(_text(left + column * (wide + gap) + wide / 2, top - 6, name, anchor="middle"))
    for layer in range(layers):
        y = top + layer * (tall + gap)
        words.append(_text(left - 8, y + tall / 2 + 4, f"layer {layer + 1}", anchor="end"))
        for column in range(columns):
            x = left + column * (wide + gap)
            parts.append(_inked(shades[layer, column], x, y, wide, tall))
            parts.append(_tip((x, y, wide, tall, grid.strongest(layer, column))))
    size = (left + columns * (wide + gap) + 4, top + layers * (tall + gap) + 4)
    return _svg(*size, f"All heads of {KINDS[grid.kind]}", [*words, *parts])


def png(shades: NDArray[np.uint8]) -> bytes:
    """A grey picture, one pixel a cell (PNG, ISO/IEC 15948: 8-bit greyscale, no filter).

    Args:
        shades: uint8 (rows, columns), both at least 1.
    """
    rows, columns = shades.shape
    lines = np.zeros((rows, columns + 1), dtype=np.uint8)  # each line begins with its filter, 0
    lines[:, 1:] = shades
    header = struct.pack(">IIBBBBB", columns, rows, 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )


def _inked(shades: NDArray[np.uint8], x: float, y: float, width: float, height: float) -> str:
    """Shades laid out as ink: the picture is a mask, through which the text colour is seen."""
    if not shades.size:
        return ""
    data = png(shades)
    place = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
    name = f"atlas-{hashlib.blake2b(data + place.encode(), digest_size=8).hexdigest()}"
    image = base64.b64encode(data).decode("ascii")
    return (
        f'<mask id="{name}" maskUnits="userSpaceOnUse" {place}><image {place} preserveAspectRatio="none" '
        f'style="image-rendering:pixelated" href="data:image/png;base64,{image}"/></mask>'
        f'<rect {place} fill="currentColor" mask="url(#{name})"/>'
    )


def _tip(at: tuple[float, float, float, float, str]) -> str:
    x, y, width, height, words = at
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="transparent" '
        f'stroke="currentColor" stroke-opacity=".15"><title>{html.escape(words)}</title></rect>'
    )


def _cell(head: HeadMap, query: int, key: int) -> str:
    weight = head.weights[query, key]
    said = f"weight {weight:.4f}" if np.isfinite(weight) else "empty: all its weight was on hidden tokens"
    return f"{head.queries[query]} → {head.keys[key]}: {said}"


def _text(
    x: float, y: float, words: str, *, anchor: str = "start", turn: float = 0, weight: int = 400
) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}"'
    if turn:
        place = f'transform="translate({x:.1f} {y:.1f}) rotate({turn:g})"'
    return f'<text {place} text-anchor="{anchor}" font-weight="{weight}">{html.escape(words)}</text>'


def _svg(width: float, height: float, label: str, parts: list[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{html.escape(label)}" '
        f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" '
        'style="max-width:100%;height:auto;font:12px system-ui,sans-serif;white-space:pre" '
        'fill="currentColor">' + "".join(parts) + "</svg>"
    )
