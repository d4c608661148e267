"""The loaded model as a drawing, and its parameters beside the formulas."""

from __future__ import annotations

from functools import partial

import streamlit as st

from atlas.analysis.parameters import Block, blocks, compare, shares
from atlas.engine import Engine
from atlas.figures.architecture import Plan, drawing
from atlas.figures.architecture_charts import parameter_bars
from atlas.figures.architecture_figure import architecture_figure
from atlas.figures.style import legend_html
from atlas.ui import keys
from atlas.ui.architecture.destinations import destination
from atlas.ui.attention.choice import LAYER, show_new_notices
from atlas.ui.chart import chart
from atlas.ui.components.architecture import architecture
from atlas.ui.markup import show_facts
from atlas.ui.page import Page
from atlas.ui.tables import show_table
from atlas.ui.takeaway import offer_figure
from atlas.ui.theme import is_dark

KEYS = (LAYER, keys.flag("all"))
_CHOSEN = "atlas.architecture.chosen"


def _counted(page: Page) -> tuple[Block, ...]:
    """The blocks of the loaded model."""

    def find(engine: Engine) -> tuple[Block, ...]:
        return blocks(engine.model)

    return page.study("blocks", find=find)


def _plan(page: Page, parts: tuple[Block, ...], opened: frozenset[int]) -> Plan:
    """What the drawing shows of the loaded model."""
    config = page.model.config
    return Plan(
        encoder_layers=config.encoder_layers,
        decoder_layers=config.decoder_layers,
        heads=config.heads,
        width=config.width,
        ffn=config.ffn,
        vocabulary=config.vocabulary,
        norm=config.norm,
        positions=config.positions,
        activation=config.activation,
        tied=config.tied,
        causal=config.causal,
        weights={
            part.name: tuple(
                (weight.name.removeprefix(f"{part.name}."), weight.shape) for weight in part.weights
            )
            for part in parts
        },
        opened=opened,
    )


def show(page: Page) -> None:
    """The drawing of the loaded model, and its parameters."""
    parts = _counted(page)
    _drawing(page, parts)
    _parameters(page, parts)


def _drawing(page: Page, parts: tuple[Block, ...]) -> None:
    """The drawing; a click opens a closed layer, or leads to the page that opens the block."""
    st.html(legend_html("encoder", "decoder", "cross"))
    config = page.model.config
    layers = max(config.encoder_layers, config.decoder_layers)
    known = page.state.notices
    page.state.restrict("layer", lambda layer: layer <= layers, 1, f"a layer from 1 to {layers}")
    show_new_notices(page.state, known)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.toggle("All layers open", **page.state.widget("all"))
        show_facts(
            [
                "solid arcs: residual connections",
                "dashed: what the encoder made, read by every decoder layer",
                "dotted: one shared matrix" if config.tied else "three separate embedding matrices",
            ],
            width="content",
        )
    opened = frozenset(range(layers)) if page.state["all"] else frozenset({page.state["layer"] - 1})

    def choose(name: str) -> None:
        last = name.rpartition(".")[2]
        if last.isdigit():
            page.state["layer"] = int(last) + 1
        else:
            st.session_state[_CHOSEN] = name

    picture = drawing(
        _plan(page, parts, opened), lambda name: destination(name, config).words, dark=is_dark()
    )
    architecture(picture, on_choose=choose, key="architecture.drawing")
    offer_figure(
        "The model as a drawing; parameters of each block",
        "architecture-drawing",
        partial(architecture_figure, picture, dark=is_dark()),
    )
    name = st.session_state.pop(_CHOSEN, None)
    if name is not None:
        chosen = destination(name, config)
        page.go(chosen.page, **chosen.changes)


def _parameters(page: Page, parts: tuple[Block, ...]) -> None:
    """Every parameter of the loaded model beside the formulas."""
    config = page.model.config
    st.subheader("Where the parameters are", anchor=False)
    st.caption("Counted from the weights of the loaded model; the formulas leave out biases and norms.")
    figure = parameter_bars({page.model.name: shares(parts)}, dark=is_dark())
    chart(
        figure,
        "architecture.shares",
        "Parameters of the model by part",
    )
    rows, sums = [], [0, 0, 0]
    for row in compare(config, parts):
        numbers = [row.times * row.expected, row.times * row.remainder, row.times * row.exact]
        sums = [mine + more for mine, more in zip(sums, numbers, strict=True)]
        rows.append(
            [
                row.what,
                row.formula,
                f"{row.times} × {row.expected:,}",
                f"{row.times} × {row.remainder:,}",
                f"{row.times} × {row.exact:,}",
                f"{numbers[2]:,}",
            ]
        )
    rows.append(["Whole model", "", f"{sums[0]:,}", f"{sums[1]:,}", "", f"{sums[2]:,}"])
    header = ["Part", "Formula", "Formula gives", "Biases and norms", "From the weights", "Together"]
    show_table(header, rows, strong=[len(rows) - 1])
    show_facts(
        [
            f"d = {config.width}",
            f"F = {config.ffn} = {config.ffn / config.width:g}·d",
            f"V = {config.vocabulary:,}",
            f"{100 * sums[1] / sums[2]:.2f} % are biases and norms",
        ]
    )
