"""A picture of how much memory caches of keys and values take."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from atlas.figures import style


def cache_sizes(
    names: Sequence[str], sizes: Sequence[int], words: Sequence[str], *, chosen: int, dark: bool = False
) -> go.Figure:
    """Bars of bytes on a logarithmic axis, one of them marked.

    Args:
        names: of the N models, our own words.
        sizes: ``(N,)`` bytes, above 0.
        words: the same for people, such as ``9.00 GiB``.
        chosen: which bar to mark.
        dark: for a dark page.

    Raises:
        ValueError: lists of different lengths, or a mark that is none of them.
    """
    if not len(names) == len(sizes) == len(words) or not 0 <= chosen < len(names):
        raise ValueError(
            f"{len(names)} names, {len(sizes)} sizes, {len(words)} words, number {chosen} marked"
        )
    places = np.arange(len(names))
    colours = [style.COLOURS["value"] if place == chosen else style.COLOURS["pruned"] for place in places]
    figure = go.Figure(
        go.Bar(
            x=np.asarray(sizes, dtype=np.float64),
            y=places,
            orientation="h",
            marker={"color": colours},
            text=list(words),
            textposition="outside",
            cliponaxis=False,
            customdata=[style.escape(name) for name in names],
            hovertemplate="%{customdata}<br>%{text}<extra></extra>",
            width=0.62,
        )
    )
    steps = [1024**power for power in range(1, 5)]
    low, high = min(sizes), max(sizes)
    figure.update_xaxes(
        title={"text": "keys and values (logarithmic)"}, type="log", tickmode="array", tickvals=steps,
        ticktext=["1 KiB", "1 MiB", "1 GiB", "1 TiB"], gridcolor=style.grid(dark), automargin=True,
        range=[np.log10(low) - 0.7, np.log10(high) + 1.1],
    )  # fmt: skip
    figure.update_yaxes(**style.token_axis(names, range=[len(names) - 0.5, -0.5]))
    return style.arrange(figure, dark=dark, height=44 * len(names) + 70, showlegend=False)
