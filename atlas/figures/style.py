"""What every picture shares: the meaning of each colour, the scales, escaping and the common layout.

One colour has one meaning on every page and in both themes. Each of them keeps a contrast of at least 3:1
(WCAG 2.1, 1.4.11) against a white and against a near-black background, and no two meanings that meet in one
picture are told apart by hue alone: fates also differ by outline, token sides also by position.

Weights run on one sequential scale from background to ink (:func:`sequential`), so that zero vanishes into
the page and only what is large is seen. Signed quantities run on :func:`diverging`.

Nothing here knows a model or a trace. Text that reaches Plotly goes through :func:`escape`: Plotly reads a
part of HTML (``<s>`` vanishes, ``<a href>`` becomes a link) and ``$...$`` as mathematics.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import plotly.graph_objects as go

COLOURS: Final[dict[str, str]] = {
    "query": "#d9601a",
    "key": "#0d9488",
    "value": "#8b6cc8",
    "encoder": "#2f7fd0",
    "decoder": "#4d9a3a",
    "cross": "#b98505",
    "kept": "#4d9a3a",
    "finished": "#c43c78",
    "pruned": "#8a8f98",
    "cut": "#96694c",
}
"""Meaning -> colour, the same in light and dark. ``kept`` is the decoder's green: a kept node is what the
decoder said."""

MEANINGS: Final[dict[str, str]] = {
    "query": "query",
    "key": "key",
    "value": "value",
    "encoder": "encoder",
    "decoder": "decoder",
    "cross": "cross-attention",
    "kept": "kept",
    "finished": "finished",
    "pruned": "pruned",
    "cut": "cut at the length limit",
}
"""Meaning -> the words a legend uses for it."""

SERIES: Final[tuple[str, ...]] = (
    "#125dd2",
    "#b14011",
    "#c17cb5",
    "#82548d",
    "#fe5c5b",
    "#6e87ff",
)
"""Colours for curves that have no meaning of their own (dimension 0, 50, 100 ...): none of :data:`COLOURS`,
and apart for eyes without one of the three cones as well. Vary the dash too (:data:`DASHES`)."""

DASHES: Final[tuple[str, ...]] = ("solid", "dash", "dot", "dashdot")
"""Strokes of curves, beside :data:`SERIES`."""

_LIGHT: Final = ("#ffffff", "#d9e2ee", "#a3b7d1", "#6585ad", "#355480", "#10223f")
_DARK: Final = ("#0e1117", "#1f2e45", "#3a5578", "#6788b0", "#a4c0dd", "#f5f9ff")
_DIVERGING_LIGHT: Final = ("#a34a10", "#e3a071", "#ffffff", "#7fa8d6", "#1f5794")
_DIVERGING_DARK: Final = ("#f0a26b", "#8a4a1e", "#0e1117", "#2d5f97", "#8fbdf0")

_TITLE: Final = {
    "x": 0,
    "xanchor": "left",
    "yref": "container",
    "y": 1,
    "yanchor": "top",
    "pad": {"l": 8, "t": 10},
    "font": {"size": 15},
}
_ESCAPES: Final = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;", "\n": "⏎", "\r": "␍", "\t": "⇥"}
)

Colorscale = list[list[Any]]


def escape(text: str) -> str:
    """Make any text show literally in a Plotly label, title, legend or hover.

    ``&``, ``<``, ``>`` and ``$`` become entities, which Plotly turns back into characters after it has looked
    for tags and mathematics; line breaks and tabs, which Plotly would drop, become visible signs. Apply it
    exactly once.

    Args:
        text: what the user, the tokenizer or the model wrote.

    Returns:
        The same text, safe as part of a Plotly string.
    """
    return text.translate(_ESCAPES)


def _scale(stops: Sequence[str]) -> Colorscale:
    last = len(stops) - 1
    return [[index / last, colour] for index, colour in enumerate(stops)]


def sequential(dark: bool = False) -> Colorscale:
    """The scale of weights, 0 to 1: from background to ink, lightness close to linear, one hue (safe for any
    eye).

    Args:
        dark: for a dark page.

    Returns:
        A Plotly colorscale: ``[[position, "#rrggbb"], ...]`` from position 0 to 1.
    """
    return _scale(_DARK if dark else _LIGHT)


def diverging(dark: bool = False) -> Colorscale:
    """The scale of signed values: orange below zero, background at zero, blue above. Use with ``zmid=0``.

    Args:
        dark: for a dark page.

    Returns:
        A Plotly colorscale of five stops.
    """
    return _scale(_DIVERGING_DARK if dark else _DIVERGING_LIGHT)


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def colour_table(dark: bool = False, size: int = 256) -> list[tuple[int, int, int]]:
    """:func:`sequential` sampled evenly, for a canvas: entry ``i`` is the colour of weight ``i / (size -
    1)``.

    Args:
        dark: for a dark page.
        size: number of entries, at least 2.

    Returns:
        ``size`` triples (red, green, blue) in 0..255.
    """
    if size < 2:
        raise ValueError(f"a colour table needs at least 2 entries, not {size}")
    return sampled(sequential(dark), [index / (size - 1) for index in range(size)])


def sampled(scale: Sequence[Sequence[Any]], shares: Iterable[float]) -> list[tuple[int, int, int]]:
    """The colours of a scale of evenly spaced stops at places 0 to 1, as (red, green, blue) in 0..255."""
    stops = [_channels(colour) for _, colour in scale]
    found = []
    for share in shares:
        place = share * (len(stops) - 1)
        low = min(int(place), len(stops) - 2)
        part = place - low
        red, green, blue = (
            round(a + (b - a) * part) for a, b in zip(stops[low], stops[low + 1], strict=True)
        )
        found.append((red, green, blue))
    return found


def fade(colour: str, opacity: float) -> str:
    """``#rrggbb`` with an opacity in [0, 1], as CSS ``rgba(...)``."""
    red, green, blue = _channels(colour)
    return f"rgba({red},{green},{blue},{min(max(opacity, 0.0), 1.0):.3f})"


def _luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.1), 0 for black to 1 for white."""

    def linear(channel: int) -> float:
        part = channel / 255
        return part / 12.92 if part <= 0.03928 else float(((part + 0.055) / 1.055) ** 2.4)

    red, green, blue = (linear(channel) for channel in _channels(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    """The contrast ratio of two ``#rrggbb`` colours (WCAG 2.1), from 1 to 21."""
    high, low = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def text_colour(meaning: str, dark: bool = False) -> str:
    """A meaning's colour, moved towards ink until small text in it is readable: a contrast of at least 4.5:1.

    Args:
        meaning: a key of :data:`COLOURS`.
        dark: for a dark page.
    """
    for tenth in range(10):
        pairs = zip(_channels(COLOURS[meaning]), _channels(ink(dark)), strict=True)
        mixed = "#" + "".join(f"{round(a + (b - a) * tenth / 10):02x}" for a, b in pairs)
        if contrast(mixed, background(dark)) >= 4.5:
            return mixed
    return ink(dark)


def ink(dark: bool = False) -> str:
    """The colour of text on a page."""
    return "#e8ecf2" if dark else "#1b2430"


def background(dark: bool = False) -> str:
    """The colour of a page; where :func:`sequential` begins."""
    return (_DARK if dark else _LIGHT)[0]


def grid(dark: bool = False) -> str:
    """The colour of grid lines and frames."""
    return fade(ink(dark), 0.14)


def token_axis(labels: Sequence[str], *, every: int | None = None, **more: Any) -> dict[str, Any]:
    """A numeric axis whose ticks carry token labels, one tick a token.

    A category axis would merge repeated words and read "2019" as a number and "2026-01" as a date; here
    position ``i`` is the ``i``-th token and its label is only text.

    Args:
        labels: the ``N`` token labels in order, not escaped.
        every: label only each ``every``-th token; by default every token up to 60, then sparser. No token is
            dropped from the picture, only its label.
        more: further Plotly axis properties.

    Returns:
        Properties for ``xaxis`` or ``yaxis``. The range covers cells of width 1 centred on 0..N-1.
    """
    count = len(labels)
    stride = every if every is not None else max(1, -(-count // 60))
    places = list(range(0, count, stride))
    axis: dict[str, Any] = {
        "type": "linear",
        "tickmode": "array",
        "tickvals": places,
        "ticktext": [escape(labels[place]) for place in places],
        "range": [-0.5, max(count, 1) - 0.5],
        "showgrid": False,
        "zeroline": False,
        "automargin": True,
    }
    return axis | more


def arrange(
    figure: go.Figure, *, title: str | None = None, height: int | None = None, dark: bool = False, **more: Any
) -> go.Figure:
    """Give a figure the common layout: transparent paper, ink text, small margins, readable hover labels.

    Call it last: it gives ink to the text of every axis that has no colour of its own, because the theme of a
    page would make it grey.

    Args:
        figure: changed in place.
        title: shown above, escaped here; none leaves no room for one.
        height: pixels; None lets the page decide.
        dark: for a dark page.
        more: further properties of ``figure.layout``, applied last.

    Returns:
        The same figure, for chaining.
    """
    figure.update_layout(
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": ink(dark), "size": 13},
        margin={"l": 8, "r": 8, "t": 40 if title else 12, "b": 8},
        hoverlabel={
            "bgcolor": background(dark),
            "bordercolor": grid(dark),
            "font": {"color": ink(dark), "size": 13},
        },
        dragmode=False,
        title={"text": escape(title), **_TITLE} if title else None,
    )
    for axis in (*figure.select_xaxes(), *figure.select_yaxes()):
        axis.tickfont.color = axis.tickfont.color or ink(dark)
        axis.title.font.color = axis.title.font.color or ink(dark)
    if height is not None:
        figure.update_layout(height=height)
    if more:
        figure.update_layout(**more)
    return figure


def legend_html(*meanings: str) -> str:
    """The legend of colours, once a page: a swatch and the words of each meaning, as HTML made of constants
    only.

    Args:
        meanings: keys of :data:`COLOURS`, in the order to be shown.

    Returns:
        One ``<div>``; text takes the colour of the page.

    Raises:
        KeyError: a meaning that has no colour.
    """
    items = "".join(
        f'<span style="white-space:nowrap"><span style="display:inline-block;width:.75em;height:.75em;'
        f'border-radius:2px;margin-right:.35em;background:{COLOURS[name]}"></span>{MEANINGS[name]}</span>'
        for name in meanings
    )
    return (
        f'<div style="display:flex;flex-wrap:wrap;gap:.2em 1.1em;font-size:.85rem;opacity:.9">{items}</div>'
    )
