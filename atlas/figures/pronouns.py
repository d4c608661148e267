"""How often heads look from a pronoun at its noun, pronoun by pronoun.

It is drawn from the measurement ``pronouns`` (:mod:`atlas.analysis.pronouns`); the map of all heads is
:func:`atlas.figures.head_table.head_table`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from atlas.figures import style

Floats = NDArray[np.floating]


def best_heads(
    groups: Sequence[str],
    counts: Sequence[int],
    chance: Sequence[float | None],
    arrays: Mapping[str, Floats],
    *,
    dark: bool = False,
) -> go.Figure:
    """For each group of sentences the head whose pronoun looks at the noun most often, against two controls.

    Args:
        groups: G names, such as ``it``; a group without a sentence is left out.
        counts: ``(G,)`` sentences.
        chance: ``(G,)``, the share without knowledge.
        arrays: ``top``, ``top_low``, ``top_high`` and ``untrained_top``, ``(G, L, H)`` each: the share of
            sentences in which the noun is the earlier word most looked at, its 95% interval, and the same in
            a model with random weights. The best head is chosen anew for each group and for each model.
        dark: for a dark page.
    """
    rows = [row for row, count in enumerate(counts) if count]
    heads = arrays["top"].shape[2]
    best = [int(np.nanargmax(arrays["top"][row])) for row in rows]

    def of_best(name: str) -> Floats:
        chosen = [arrays[name][row].reshape(-1)[place] for row, place in zip(rows, best, strict=True)]
        return np.array(chosen, dtype=np.float64)

    top, low, high = of_best("top"), of_best("top_low"), of_best("top_high")
    places = np.arange(len(rows))
    figure = go.Figure()
    figure.add_scatter(
        x=places,
        y=top,
        error_y={
            "type": "data",
            "symmetric": False,
            "array": high - top,
            "arrayminus": top - low,
            "thickness": 1.6,
            "width": 5,
        },
        customdata=[
            [f"layer {place // heads + 1} head {place % heads + 1}", a, b]
            for place, a, b in zip(best, low.tolist(), high.tolist(), strict=True)
        ],
        mode="markers",
        name="best head",
        marker={"size": 11, "color": style.COLOURS["encoder"], "symbol": "circle"},
        hovertemplate="%{customdata[0]}: %{y:.1%}<br>95% interval %{customdata[1]:.1%} to "
        "%{customdata[2]:.1%}<extra></extra>",
    )
    untrained = np.array([np.nanmax(arrays["untrained_top"][row]) for row in rows], dtype=np.float64)
    without = np.array([chance[row] for row in rows], dtype=np.float64)
    for name, values, symbol, colour in (
        ("best head of random weights", untrained, "diamond-open", style.SERIES[1]),
        ("chance", without, "line-ew-open", style.ink(dark)),
    ):
        figure.add_scatter(
            x=places,
            y=values,
            mode="markers",
            name=name,
            marker={"size": 13, "color": colour, "symbol": symbol, "line": {"width": 2, "color": colour}},
            hovertemplate=f"{name}: %{{y:.1%}}<extra></extra>",
        )
    ticks = [f"{style.escape(groups[row])}<br>n = {counts[row]:,}" for row in rows]
    figure.update_xaxes(style.token_axis([groups[row] for row in rows]), ticktext=ticks)
    axis: dict[str, Any] = {"gridcolor": style.grid(dark), "zeroline": False, "rangemode": "tozero"}
    figure.update_yaxes(axis, title={"text": "share of sentences"}, tickformat=".0%")
    return style.arrange(
        figure,
        dark=dark,
        height=300,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "xanchor": "left"},
    )
