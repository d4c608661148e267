"""The map of all encoder heads: how often, and how strongly, each looks from a pronoun at its noun.

It is drawn from the arrays of the measurement ``pronouns`` (:mod:`atlas.analysis.pronouns`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from atlas.figures import style

Floats = NDArray[np.floating]

SHOWN: Final[dict[str, str]] = {
    "top": "share of sentences in which the noun is the earlier word most looked at",
    "weight": "mean weight from the pronoun to its noun",
    "beyond": "mean weight to the noun, less what the head gives at that distance elsewhere",
    "special": "how much more often the pronoun looks at the noun than the other words after it do",
}
"""What a map can show, in words."""
HOVERED: Final = (
    "top", "top_low", "top_high", "weight", "weight_low", "weight_high",
    "content", "distance", "untrained_top", "untrained_weight", "others",
)  # fmt: skip
"""Arrays that a cell tells on hover, in the order of ``customdata``; layer and head, from 1, end it."""


def pronoun_map(
    arrays: Mapping[str, Floats], group: int, *, chance: float, measure: str = "top", dark: bool = False
) -> go.Figure:
    """Layers down, heads across; the colour says more (blue) or less (orange) than chance or nothing.

    A ring marks a head of which a 95% interval lies wholly above 0: that of ``special`` for shares, that of
    ``beyond`` for weights. So a noun that every word looks at, or a habit of looking so far back, earns none.

    Args:
        arrays: ``(G, L, H)`` each, by the names of the measurement.
        group: the row of sentences, 0 to G-1.
        chance: of that group; the middle of the scale of ``top``.
        measure: a key of :data:`SHOWN`.
        dark: for a dark page.

    Raises:
        KeyError: an unknown measure, or an array that is missing.
        IndexError: a group that the arrays do not have.
    """
    title = SHOWN[measure]
    layers, heads = arrays[measure].shape[1:]
    values = np.asarray(arrays[measure][group], dtype=np.float32)
    share = measure in ("top", "special")
    middle = chance if measure == "top" else 0.0
    reach = float(np.nanmax(np.abs(values - middle), initial=0.0)) or 1.0
    told = [np.asarray(arrays[name][group], dtype=np.float32) for name in HOVERED]
    numbers = [place.astype(np.float32) + 1 for place in np.indices((layers, heads))]
    hovered = np.stack([*told, *numbers], axis=-1)
    figure = go.Figure(
        go.Heatmap(
            z=values,
            customdata=hovered,
            colorscale=style.sequential(dark) if measure == "weight" else style.diverging(dark),
            zmin=0.0 if measure == "weight" else middle - reach,
            zmax=middle + reach,
            xgap=2,
            ygap=2,
            texttemplate="%{z:.0%}" if share else "%{z:.2f}",
            textfont={"size": 13},
            colorbar={"thickness": 12, "outlinewidth": 0, "tickformat": ".0%" if share else ".2f"},
            hovertemplate=_hover(chance),
            name=title,
        )
    )
    proof = arrays["special_low" if share else "beyond_low"][group] > 0
    rows, columns = np.nonzero(proof)
    figure.add_scatter(
        x=columns,
        y=rows,
        mode="markers",
        name="more than other words do" if share else "more than at this distance elsewhere",
        marker={
            "symbol": "circle-open",
            "size": 34,
            "color": style.COLOURS["query"],
            "line": {"width": 2, "color": style.COLOURS["query"]},
        },
        hoverinfo="skip",
        showlegend=bool(len(rows)),
    )
    figure.update_xaxes(_axis("head", heads), side="bottom")
    figure.update_yaxes(_axis("layer", layers), autorange="reversed")
    return style.arrange(
        figure,
        dark=dark,
        height=110 + 46 * layers,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "xanchor": "left"},
    )


def _hover(chance: float) -> str:
    return (
        "layer %{customdata[11]}, head %{customdata[12]}"
        f"<br>looks at the noun in %{{customdata[0]:.1%}} of the sentences (chance {chance:.1%})"
        "<br>95% interval %{customdata[1]:.1%} to %{customdata[2]:.1%}; untrained %{customdata[8]:.1%}"
        "<br>other words after the noun look at it in %{customdata[10]:.1%}"
        "<br>weight %{customdata[3]:.3f} (%{customdata[4]:.3f} to %{customdata[5]:.3f}); "
        "untrained %{customdata[9]:.3f}"
        "<br>other content words %{customdata[6]:.3f}; same distance elsewhere %{customdata[7]:.3f}"
        "<extra></extra>"
    )


def _axis(title: str, count: int) -> dict[str, Any]:
    return style.token_axis([str(number + 1) for number in range(count)]) | {"title": {"text": title}}
