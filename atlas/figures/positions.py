"""Pictures of position encodings: curves, the table, wavelengths, dot products, rotations, shuffling.

Tables are ``(P, D)``, position by dimension, as the model adds them to its embeddings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from atlas.figures import style

Floats = NDArray[np.floating]

_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


def curves(table: Floats, dimensions: Sequence[int], *, dark: bool = False) -> go.Figure:
    """One curve a dimension: its value at every position.

    Args:
        table: ``(P, D)``.
        dimensions: the columns to draw, each from 0 to D-1.
        dark: for a dark page.

    Raises:
        IndexError: a dimension that the table does not have.
    """
    figure = go.Figure()
    places = np.arange(len(table))
    for index, dimension in enumerate(dimensions):
        if not 0 <= dimension < table.shape[1]:
            raise IndexError(f"dimension {dimension} is not in 0..{table.shape[1] - 1}")
        figure.add_scatter(
            x=places,
            y=np.asarray(table[:, dimension], dtype=np.float32),
            mode="lines",
            name=f"dimension {dimension}",
            line={"color": style.SERIES[index % len(style.SERIES)], "width": 2, "dash": _dash(index)},
            hovertemplate=f"dimension {dimension}<br>position %{{x}}<br>value %{{y:.4f}}<extra></extra>",
        )
    figure.update_xaxes(_axis("position (tokens from the start)", dark))
    figure.update_yaxes(_axis("value added to the embedding", dark))
    return style.arrange(figure, dark=dark, height=320, **_LEGEND)


def table_heatmap(table: Floats, *, dark: bool = False) -> go.Figure:
    """The whole table ``(P, D)``: positions down, dimensions across, zero in the colour of the page."""
    furthest = float(np.abs(table).max()) or 1.0
    figure = go.Figure(
        go.Heatmap(
            z=np.asarray(table, dtype=np.float32),
            colorscale=style.diverging(dark),
            zmin=-furthest,
            zmax=furthest,
            colorbar={"title": {"text": "value"}, "thickness": 12, "outlinewidth": 0},
            hovertemplate="position %{y}<br>dimension %{x}<br>value %{z:.4f}<extra></extra>",
        )
    )
    figure.update_xaxes(_axis("dimension", dark, showgrid=False))
    figure.update_yaxes(_axis("position (tokens)", dark, showgrid=False, autorange="reversed"))
    return style.arrange(figure, dark=dark, height=380)


def wavelength_curve(wavelengths: Floats, *, length: int, tokens: int, dark: bool = False) -> go.Figure:
    """How many positions each dimension takes to repeat, on a logarithmic axis.

    Args:
        wavelengths: ``(D,)``, in positions.
        length: positions shown elsewhere on the page, drawn as a level.
        tokens: tokens of the sentence, drawn as a level.
        dark: for a dark page.
    """
    last = len(wavelengths) - 1
    figure = go.Figure(
        go.Scatter(
            x=np.arange(last + 1),
            y=np.asarray(wavelengths, dtype=np.float64),
            mode="lines",
            name="wavelength",
            line={"color": style.SERIES[0], "width": 2, "shape": "hv"},
            hovertemplate="dimension %{x}<br>repeats every %{y:,.1f} positions<extra></extra>",
        )
    )
    # Lines of their own, not shapes: a shape's annotation would stretch a logarithmic axis to 10^level.
    levels = ((f"this sentence: {tokens} tokens", tokens), (f"positions shown: {length}", length))
    for index, (name, level) in enumerate(levels, 1):
        figure.add_scatter(
            x=[0, last],
            y=[level, level],
            mode="lines",
            name=name,
            line={"color": style.SERIES[index], "width": 1.5, "dash": _dash(index)},
            hoverinfo="skip",
        )
    figure.update_xaxes(_axis("dimension", dark))
    figure.update_yaxes(_axis("wavelength (positions)", dark, type="log", dtick=1, exponentformat="power"))
    return style.arrange(figure, dark=dark, height=320, **_LEGEND)


def distance_curve(
    distance: NDArray[np.integer], mean: Floats, low: Floats, high: Floats, *, dark: bool = False
) -> go.Figure:
    """Dot product of two position vectors against their signed distance.

    Args:
        distance: ``(N,)``, in positions.
        mean, low, high: ``(N,)``, over all pairs at that distance; the band from low to high has no width
            when only the distance matters.
        dark: for a dark page.
    """
    figure = go.Figure()
    band = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
    figure.add_scatter(x=distance, y=high, **band)
    figure.add_scatter(
        x=distance,
        y=low,
        **band | {"fill": "tonexty", "fillcolor": style.fade(style.SERIES[0], 0.22), "showlegend": True},
        name="lowest to highest pair",
    )
    figure.add_scatter(
        x=distance,
        y=mean,
        customdata=np.stack([low, high], axis=1),
        mode="lines",
        name="mean over pairs",
        line={"color": style.SERIES[0], "width": 2},
        hovertemplate="distance %{x} positions<br>dot product %{y:.3f}"
        "<br>lowest %{customdata[0]:.3f}, highest %{customdata[1]:.3f}<extra></extra>",
    )
    figure.update_xaxes(_axis("distance between two positions (tokens)", dark))
    figure.update_yaxes(_axis("dot product", dark))
    return style.arrange(figure, dark=dark, height=320, **_LEGEND)


def rotation_plane(
    pairs: Floats, turned: Floats, *, position: int, shift: int, pair: int, dark: bool = False
) -> go.Figure:
    """One pair of dimensions as a plane: every position a point, and the step from one of them by the matrix.

    Args:
        pairs: ``(P, 2)``, columns ``2·pair`` and ``2·pair + 1`` of the table.
        turned: ``(2,)``, the matrix times the point at ``position``.
        position: where the step starts.
        shift: how many positions it goes.
        pair: its number, for the labels.
        dark: for a dark page.

    Raises:
        IndexError: ``position`` or ``position + shift`` outside the table.
    """
    target = position + shift
    for place in (position, target):
        if not 0 <= place < len(pairs):
            raise IndexError(f"position {place} is not in 0..{len(pairs) - 1}")
    figure = go.Figure()
    figure.add_scatter(
        x=pairs[:, 1],
        y=pairs[:, 0],
        customdata=np.arange(len(pairs)),
        mode="lines+markers",
        name="all positions",
        marker={"size": 5, "color": style.COLOURS["pruned"]},
        line={"width": 1, "color": style.fade(style.COLOURS["pruned"], 0.4)},
        hovertemplate="position %{customdata}<br>(%{y:.4f}, %{x:.4f})<extra></extra>",
    )
    points = (
        (pairs[position], f"PE({position})", "circle", style.SERIES[1], 13),
        (pairs[target], f"PE({target})", "circle", style.SERIES[0], 13),
        (turned, f"matrix × PE({position})", "circle-open", style.ink(dark), 21),
    )
    for point, name, symbol, colour, size in points:
        figure.add_scatter(
            x=[point[1]],
            y=[point[0]],
            mode="markers",
            name=name,
            marker={"size": size, "color": colour, "symbol": symbol, "line": {"width": 2.5, "color": colour}},
            hovertemplate=f"{name}<br>(%{{y:.4f}}, %{{x:.4f}})<extra></extra>",
        )
    for point, colour in ((pairs[position], style.SERIES[1]), (turned, style.SERIES[0])):
        figure.add_scatter(
            x=[0, point[1]],
            y=[0, point[0]],
            mode="lines",
            line={"color": colour, "width": 2},
            hoverinfo="skip",
            showlegend=False,
        )
    figure.update_xaxes(_axis(f"dimension {2 * pair + 1}", dark))
    figure.update_yaxes(_axis(f"dimension {2 * pair}", dark, scaleanchor="x"))
    return style.arrange(figure, dark=dark, height=400, **_LEGEND)


def rotation_matrix(matrix: Floats, *, shown: int = 32, dark: bool = False) -> go.Figure:
    """The first ``shown`` rows and columns of the ``(D, D)`` matrix that moves a position by a shift."""
    part = np.asarray(matrix[:shown, :shown], dtype=np.float32)
    figure = go.Figure(
        go.Heatmap(
            z=part,
            colorscale=style.diverging(dark),
            zmin=-1,
            zmax=1,
            colorbar={"title": {"text": "entry"}, "thickness": 12, "outlinewidth": 0},
            hovertemplate="to dimension %{y}, from dimension %{x}<br>%{z:.4f}<extra></extra>",
        )
    )
    figure.update_xaxes(_axis("from dimension", dark, showgrid=False, constrain="domain"))
    figure.update_yaxes(
        _axis("to dimension", dark, showgrid=False, autorange="reversed", scaleanchor="x", constrain="domain")
    )
    return style.arrange(figure, dark=dark, height=400)


def shuffle_differences(
    labels: Sequence[str], with_positions: Floats | None, without_positions: Floats, *, dark: bool = False
) -> go.Figure:
    """For each token of the shuffled sentence, how much its encoder output moved: with positions and without.

    Args:
        labels: ``(S,)``, the tokens in shuffled order.
        with_positions: ``(S,)``, largest absolute difference of each token's vector, or none.
        without_positions: ``(S,)``. A difference of exactly 0, which a logarithmic axis cannot hold, stands
            at the bottom; its hover says 0.
        dark: for a dark page.
    """
    floor = 1e-9
    figure = go.Figure()
    series = (
        ("with positions", with_positions, style.SERIES[1], "circle"),
        ("without positions", without_positions, style.SERIES[0], "diamond"),
    )
    shown = [style.escape(label) for label in labels]
    for name, values, colour, symbol in series:
        if values is None:
            continue
        figure.add_scatter(
            x=np.arange(len(labels)),
            y=np.maximum(np.asarray(values, dtype=np.float64), floor),
            customdata=[[label, float(value)] for label, value in zip(shown, values, strict=True)],
            mode="markers",
            name=name,
            marker={"size": 11, "color": colour, "symbol": symbol},
            hovertemplate="%{customdata[0]}<br>largest difference %{customdata[1]:.2g}"
            f"<extra>{name}</extra>",
        )
    figure.update_xaxes(style.token_axis(labels))
    top = max(float(np.max(values)) for _, values, _, _ in series if values is not None)
    figure.update_yaxes(
        _axis("largest difference (log scale)", dark, type="log", dtick=2, exponentformat="power")
        | {"range": [np.log10(floor) - 0.5, np.log10(max(top, 1.0)) + 0.5]}
    )
    return style.arrange(figure, dark=dark, height=320, **_LEGEND)


_LEGEND: dict[str, Any] = {
    "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "xanchor": "left"}
}


def _dash(index: int) -> str:
    return _DASHES[index % len(_DASHES)]


def _axis(title: str, dark: bool, **more: Any) -> dict[str, Any]:
    return {
        "title": {"text": title},
        "gridcolor": style.grid(dark),
        "zeroline": False,
        "automargin": True,
    } | more
