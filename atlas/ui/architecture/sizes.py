"""Parameters of any size of model: sliders, published models as checks, twice the width, experts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import streamlit as st

from atlas.analysis.parameter_formulas import (
    BASE,
    BIG,
    GPT3,
    PUBLISHED,
    Count,
    Recipe,
    count,
    fitting_vocabulary,
)
from atlas.errors import AtlasError
from atlas.figures.architecture_charts import growth, parameter_bars
from atlas.ui import keys
from atlas.ui.chart import chart
from atlas.ui.markup import show_facts
from atlas.ui.page import Page
from atlas.ui.tables import millions, printed, show_table
from atlas.ui.theme import is_dark

_WIDTHS = [size * 2**power for power in range(5, 14) for size in (1, 1.5)]
WIDTHS = tuple(int(width) for width in _WIDTHS)
DEPTHS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64, 80, 96, 128)
VOCABULARIES = (500, 1000, 2000, 5000, 8000, 10_000, 20_000, 37_000, 50_257, 100_000, 128_000, 256_000)
EXPERTS = (2, 4, 8, 16, 32, 64, 128, 256)
STACKS = {"both": "encoder and decoder", "decoder": "decoder only (GPT)"}
KEYS = (
    keys.integer("d", 512, 1, 65_536),
    keys.integer("n", 6, 1, 1000),
    keys.integer("V", 37_000, 1, 1_000_000),
    keys.integer("F", 2048, 1, 262_144),
    keys.choice("stack", list(STACKS), "both"),
    keys.integer("experts", 8, 2, 1024),
    keys.integer("topk", 2, 1, 64),
    keys.integer("every", 1, 1, 8),
)


def show_sizes(page: Page) -> None:
    """The calculator and its checks."""
    _size_lab(page)
    _published()


def _recipe(page: Page, **more: Any) -> Recipe:
    """What the sliders describe: n layers of a decoder alone, or n + n of encoder and decoder."""
    state, alone = page.state, page.state["stack"] == "decoder"
    plain = Recipe(
        state["d"],
        state["F"],
        state["V"],
        plain=state["n"],
        crossed=0 if alone else state["n"],
        ends=1 if alone else 0,
    )
    return replace(plain, **more)


def _set(page: Page, recipe: Recipe) -> Callable[[], None]:
    def take() -> None:
        values = {"d": recipe.width, "n": recipe.plain, "V": recipe.vocabulary, "F": recipe.ffn}
        for name, value in values.items():
            page.state[name] = value
        page.state["stack"] = "both" if recipe.crossed else "decoder"

    return take


def _loaded(page: Page) -> Recipe:
    config = page.model.config
    return Recipe(config.width, config.ffn, config.vocabulary, config.encoder_layers, config.decoder_layers)


def _ladder(page: Page, name: str, label: str, steps: tuple[int, ...]) -> None:
    """A slider over sizes far apart, on which whatever the address says also has a place."""
    options = sorted({*steps, page.state[name]})
    st.select_slider(label, options, format_func=lambda size: f"{size:,}", **page.state.widget(name))


def _parts(found: Count) -> dict[str, int]:
    return {
        "attention": found.attention,
        "feed-forward": found.feed_forward,
        "router": found.router,
        "embedding": found.embedding,
        "positions": found.positions,
        "biases and norms": found.remainder,
    }


def _size_lab(page: Page) -> None:
    """Sliders for d, n, V and F, the total, and what twice the width does to it."""
    st.subheader("Parameters of any size", anchor=False)
    st.caption(
        "Move d, n, V, F, or begin with a model that was published. Heads are not here: they cost nothing."
    )
    starts = [("This model", _loaded(page)), ("Base, 2017", BASE), ("Big, 2017", BIG), ("GPT-3", GPT3)]
    with st.container(horizontal=True):
        for label, recipe in starts:
            st.button(label, on_click=_set(page, recipe), key=f"architecture.start.{label}")
    left, right = st.columns([1, 1.25], gap="large")
    with left:
        st.segmented_control(
            "Layers",
            list(STACKS),
            format_func=STACKS.__getitem__,
            required=True,
            **page.state.widget("stack"),
        )
        _ladder(page, "d", "Width d", WIDTHS)
        _ladder(page, "F", "Feed-forward width F", WIDTHS)
        alone = page.state["stack"] == "decoder"
        _ladder(page, "n", "Layers n" if alone else "Layers n, in the encoder and in the decoder", DEPTHS)
        _ladder(page, "V", "Vocabulary V (tokens)", VOCABULARIES)
    recipe = _recipe(page)
    found, twice = count(recipe), count(recipe.doubled())
    with right:
        first, second, third = st.columns(3)
        first.metric("Parameters", millions(found.total), help=f"{found.total:,}")
        second.metric(
            "Per layer pair" if recipe.crossed else "Per layer", millions(found.layers / recipe.plain)
        )
        third.metric("d and F doubled", f"× {twice.total / found.total:.3f}", help=f"{twice.total:,}")
        widths = sorted({*WIDTHS, recipe.width, 2 * recipe.width})
        scaled = [
            count(
                Recipe(
                    d, max(1, d * recipe.ffn // recipe.width), recipe.vocabulary, recipe.plain, recipe.crossed
                )
            )
            for d in widths
        ]
        figure = growth(
            widths,
            [one.layers for one in scaled],
            [one.embedding for one in scaled],
            width=recipe.width,
            dark=is_dark(),
        )
        chart(
            figure,
            "architecture.growth",
            "Parameters against width",
        )
    show_facts(
        [
            f"layers {found.layers:,} ({twice.layers / found.layers:.0f}× when doubled)",
            f"embedding {found.embedding:,} ({twice.embedding / found.embedding:.0f}×)",
            f"biases and norms {found.remainder:,}",
            "the whole grows 4× only where the vocabulary weighs nothing",
        ]
    )


def _published() -> None:
    """What the formulas give for published models, beside what their authors print."""
    st.subheader("Checked against published models", anchor=False)
    st.caption("Computed from the published sizes, biases and norms included, beside what the authors print.")
    rows = []
    for one in PUBLISHED:
        size = one.recipe
        layers = f"{size.plain} + {size.crossed}" if size.crossed else f"{size.plain}"
        sizes = [f"{size.width:,}", f"{size.ffn:,}", layers, f"{size.vocabulary:,}"]
        fitting = f"{fitting_vocabulary(one):,.0f}" if size.crossed else ""
        rows.append([one.name, *sizes, *_beside(count(size).total, one.printed), fitting])
        if one.active:
            active = _beside(count(size, active=True).total, one.active)
            words = f"{one.name}: active, {size.used} of {size.experts} experts"
            rows.append([words, *sizes, *active, ""])
    show_table(["Model", "d", "F", "Layers", "V", "Computed", "Printed", "Off by", "V that fits"], rows)
    fits = [fitting_vocabulary(one) for one in PUBLISHED if one.recipe.crossed]
    gpt = count(GPT3)
    show_facts(
        [
            f"V that would give the printed number: {min(fits):,.0f} to {max(fits):,.0f} in the 2017 paper, "
            "which says about 37,000",
            f"GPT-3: 96·12d² is {gpt.layers / 1e9:.1f} B, not the 174.5 B of LLM Atlas part 4; with V·d "
            f"{(gpt.layers + gpt.embedding) / 1e9:.1f} B",
        ]
    )
    show_facts(["Printed in: " + "; ".join(dict.fromkeys(one.source for one in PUBLISHED))])


def _beside(computed: int, said: float) -> list[str]:
    return [f"{computed:,}", printed(said), f"{100 * (computed / said - 1):+.1f} %".replace("-", "−")]


def show_experts(page: Page) -> None:
    """Total against active parameters when feed-forward networks become experts."""
    st.subheader("Experts: many parameters, few of them used", anchor=False)
    st.caption("E feed-forward networks in place of one; a router sends each token to k of them.")
    with st.container(horizontal=True):
        _ladder(page, "experts", "Experts E", EXPERTS)
        most = min(page.state["experts"], 64)
        widget = page.state.widget("topk", to_widget=lambda k: min(k, most))
        st.slider("Experts used by a token, k", 1, most, **widget)
        names = {1: "every", 2: "every 2nd", 3: "every 3rd"}
        st.select_slider(
            "Layers that have experts",
            range(1, 9),
            format_func=lambda every: names.get(every, f"every {every}th"),
            **page.state.widget("every"),
        )
    try:
        used = min(page.state["topk"], most)
        recipe = _recipe(page)
        mixture = _recipe(page, experts=page.state["experts"], used=used, every=page.state["every"])
        dense, total, active = count(recipe), count(mixture), count(mixture, active=True)
    except AtlasError as error:
        page.complain(error)
        return
    show_facts(
        [
            f"d {recipe.width:,}",
            f"F {recipe.ffn:,}",
            f"{recipe.plain} + {recipe.crossed} layers" if recipe.crossed else f"{recipe.plain} layers",
            f"V {recipe.vocabulary:,}",
            'chosen under "Any size"',
        ]
    )
    left, right = st.columns([1, 2.6], vertical_alignment="center")
    with left:
        st.metric("Total", millions(total.total), help=f"{total.total:,}")
        st.metric("Active for one token", millions(active.total), help=f"{active.total:,}")
    with right:
        rows = {"one network": _parts(dense), "active": _parts(active), "total": _parts(total)}
        chart(
            parameter_bars(rows, dark=is_dark()),
            "architecture.experts",
            "Parameters without experts, active and in total",
        )
    show_facts(
        [
            f"{total.total / dense.total:.2f} times the parameters of one network",
            f"{active.total / dense.total:.2f} times its parameters in use",
            f"{100 * active.total / total.total:.1f} % of all are active",
            f"routers {total.router:,}",
        ]
    )
