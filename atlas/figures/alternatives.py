"""What the model would have said at one place: its likeliest tokens as bars."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from atlas.figures import style
from atlas.figures.fates import percent
from atlas.trace import FATES, Trace, TraceError, label_tokens


@dataclass(frozen=True)
class Alternatives:
    """The likeliest next tokens after one node, likeliest first.

    Attributes:
        ids: token ids, n of them.
        labels: their labels after that node, not escaped.
        logprobs: float (n,), natural-log probabilities, descending.
        nodes: node id of each in the search, -1 where the search did not compare it.
        fates: the fate of that node as a name, "" where there is none.
    """

    ids: tuple[int, ...]
    labels: tuple[str, ...]
    logprobs: NDArray[np.floating]
    nodes: tuple[int, ...]
    fates: tuple[str, ...]

    def __post_init__(self) -> None:
        sizes = {len(self.ids), len(self.labels), len(self.logprobs), len(self.nodes), len(self.fates)}
        if len(sizes) != 1:
            raise ValueError(f"alternatives of different lengths: {sorted(sizes)}")
        if np.any(np.diff(self.logprobs) > 0):
            raise ValueError("alternatives are not in order: likeliest first")


def next_tokens(trace: Trace, node: int) -> Alternatives:
    """What the pass that read ``node`` found likeliest, from the trace alone.

    Args:
        trace: the search.
        node: id of a node that was read.

    Returns:
        Up to ten alternatives.

    Raises:
        TraceError: the search never read the node, or its pass was not kept.
    """
    row = int(trace.search.expanded[node])
    if row < 0:
        if trace.rows_kept == "all":
            raise TraceError(f"the search never read node {node}, so what comes after it is not in the trace")
        raise TraceError(
            f"the pass that read node {node} was not kept: only those of the n-best hypotheses were"
        )
    before = trace.target_tokens(node)
    pieces, ids = [token.piece for token in before], [token.id for token in before]
    found = [int(number) for number in trace.search.top_ids[row]]
    labels = tuple(
        label_tokens(None, [*pieces, trace.vocabulary[number]], [*ids, number], trace.special_ids)[-1].label
        for number in found
    )
    unknown = Alternatives(
        ids=tuple(found),
        labels=labels,
        logprobs=trace.search.top_logprobs[row],
        nodes=(-1,) * len(found),
        fates=("",) * len(found),
    )
    return compared(trace, node, unknown)


def compared(trace: Trace, node: int, found: Alternatives) -> Alternatives:
    """The same alternatives with what the search of ``trace`` did with each as a continuation of ``node``."""
    children = {int(trace.search.token[child]): child for child in trace.search.children[node]}
    nodes = tuple(children.get(number, -1) for number in found.ids)
    fates = tuple(FATES[int(trace.search.fate[child])] if child >= 0 else "" for child in nodes)
    return replace(found, nodes=nodes, fates=fates)


def alternatives_figure(found: Alternatives, *, chosen: int | None = None, dark: bool = False) -> go.Figure:
    """The alternatives as horizontal bars, likeliest on top; colour by what the search did with each.

    Args:
        found: n alternatives.
        chosen: token id to be marked, if it is among them.
        dark: for a dark page.

    Returns:
        A figure with one bar trace: ``x`` probabilities, ``customdata`` node ids (-1: not compared).
    """
    probabilities = np.exp(found.logprobs.astype(np.float64))
    blank = style.fade(style.ink(dark), 0.22)
    said = [style.MEANINGS[fate] if fate else "not compared by the search" for fate in found.fates]
    marks = [2 if number == chosen else 0 for number in found.ids]
    figure = go.Figure(
        go.Bar(
            x=probabilities,
            y=np.arange(len(found.ids)),
            orientation="h",
            customdata=list(found.nodes),
            marker={
                "color": [style.COLOURS[fate] if fate else blank for fate in found.fates],
                "line": {"color": style.ink(dark), "width": marks},
            },
            text=[percent(float(value)) for value in found.logprobs],
            textposition="outside",
            cliponaxis=False,
            hovertext=[
                f"<b>{style.escape(label)}</b><br>probability {probability:.4g}"
                f"<br>log-probability {logprob:.3f}<br>{meaning}"
                for label, probability, logprob, meaning in zip(
                    found.labels, probabilities, found.logprobs, said, strict=True
                )
            ],
            hoverinfo="text",
        )
    )
    figure.update_xaxes(visible=False, range=[0, max(float(probabilities.max(initial=0.0)), 1e-6) * 1.25])
    figure.update_yaxes(**style.token_axis(found.labels, range=[len(found.ids) - 0.5, -0.5]))
    return style.arrange(
        figure,
        height=24 * len(found.ids) + 16,
        dark=dark,
        margin={"l": 4, "r": 4, "t": 2, "b": 2},
        bargap=0.25,
    )
