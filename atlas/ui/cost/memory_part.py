"""A calculator for the memory of a cache of keys and values."""

from __future__ import annotations

from typing import Any

import streamlit as st

from atlas.analysis.cache_memory import BYTES, KNOWN, CacheShape, Preset, readable, shape_of
from atlas.analysis.prefill import check_prefill
from atlas.figures import cost_memory as figures
from atlas.ui.chart import chart
from atlas.ui.cost.view import OWN, Shown
from atlas.ui.markup import show_facts
from atlas.ui.page import Page
from atlas.ui.theme import is_dark

_FIELDS = {
    "kv_layers": "layers",
    "kv_heads": "heads",
    "kv_width": "head_width",
    "kv_length": "length",
    "kv_source": "source",
    "kv_texts": "sentences",
    "kv_beams": "beams",
    "kv_bytes": "number",
}
"""Key of the address -> field of :class:`CacheShape`."""


def memory_part(page: Page, shown: Shown) -> None:
    """The whole part.

    Raises:
        AtlasError: the model cannot read this.
    """
    _calculator(page, shown)
    st.divider()
    _check(page, shown)


def presets(page: Page, shown: Shown) -> dict[str, Preset]:
    """The published sizes, and the model that is loaded at the length of its translation."""
    here = shape_of(page.model.config, len(shown.labels), len(shown.source))
    return {"this": Preset(here, page.model.parameters, "the loaded model and the sentence above")} | dict(
        KNOWN
    )


def _fill(page: Page, shape: CacheShape) -> None:
    for key, field in _FIELDS.items():
        value = getattr(shape, field)
        page.state[key] = str(value) if key == "kv_bytes" else value


def shape_from(values: dict[str, Any]) -> CacheShape:
    """The cache that the controls describe."""
    return CacheShape(**{field: int(values[key]) for key, field in _FIELDS.items()})


def _calculator(page: Page, shown: Shown) -> None:
    state, known = page.state, presets(page, shown)
    if state["kv_preset"] in known:
        _fill(page, known[state["kv_preset"]].shape)

    def chosen(name: str) -> None:
        if name in known:
            _fill(page, known[name].shape)

    def own(_: Any) -> None:
        state["kv_preset"] = OWN

    st.subheader("How much memory does a cache take?", anchor=False)
    st.caption("Choose a model or turn any number: two vectors a token, in every layer, for every text.")
    names = {"this": "this model", OWN: "your own numbers"}
    st.segmented_control(
        "Model",
        [*known, OWN],
        required=True,
        format_func=lambda name: names.get(name, name),
        **state.widget("kv_preset", after=chosen),
    )
    _controls(state, own)
    shape = shape_from({key: state[key] for key in _FIELDS})
    preset = known.get(state["kv_preset"])
    left, right = st.columns([1, 1.25], gap="medium", vertical_alignment="center")
    with left:
        _numbers(shape, preset)
    with right:
        bars = {
            f"{names.get(name, name)}, {one.shape.length:,} tokens": one.shape.total
            for name, one in known.items()
        }
        bars["these numbers"] = shape.total
        picture = figures.cache_sizes(
            list(bars), list(bars.values()), [readable(size) for size in bars.values()],
            chosen=len(bars) - 1, dark=is_dark(),
        )  # fmt: skip
        chart(picture, "cost.memory", "Bytes of the caches of the models, and of these numbers")
    st.latex(formula(shape))
    if preset is not None:
        show_facts([f"numbers from: {preset.origin}"])


def _controls(state: Any, own: Any) -> None:
    numbers = (
        ("Layers", "kv_layers", 1, 200),
        ("Heads of keys and values", "kv_heads", 1, 256),
        ("Width of a head", "kv_width", 1, 1024),
        ("Length (tokens)", "kv_length", 1, 1_000_000),
        ("Source (tokens; 0: no encoder)", "kv_source", 0, 1_000_000),
        ("Texts at once", "kv_texts", 1, 10_000),
        ("Beams of each", "kv_beams", 1, 100),
    )
    columns = st.columns(4)
    for place, (label, key, low, high) in enumerate(numbers):
        columns[place % 4].number_input(label, low, high, **state.widget(key, after=own))
    columns[3].selectbox(
        "Numbers stored as",
        [str(size) for size in BYTES.values()],
        format_func={str(size): f"{name} ({size} B)" for name, size in BYTES.items()}.__getitem__,
        **state.widget("kv_bytes", after=own),
    )


def _numbers(shape: CacheShape, preset: Preset | None) -> None:
    first, second = st.columns(2)
    first.metric("Keys and values together", readable(shape.total), help=f"{shape.total:,} bytes")
    second.metric(
        "One more token of one text", readable(shape.token_bytes), help=f"{shape.token_bytes:,} bytes"
    )
    first.metric("Of the target", readable(shape.own_bytes))
    second.metric("Of the source", readable(shape.source_bytes))
    if preset is not None and preset.parameters is not None:
        weights = preset.parameters * shape.number
        one = shape.total / shape.sentences
        st.metric(
            "Texts of that length whose cache is as large as the weights",
            f"{weights / one:,.1f}",
            help=f"{preset.parameters / 1e6:,.1f} million weights of {shape.number} B: {readable(weights)}.",
        )


def formula(shape: CacheShape) -> str:
    """The product with its numbers, TeX."""
    return (
        rf"\underbrace{{2}}_{{K,V}}\cdot\underbrace{{{shape.layers}}}_{{L}}\cdot"
        rf"\underbrace{{{shape.heads}\cdot {shape.head_width}}}_{{H\cdot K}}\cdot"
        rf"(\underbrace{{{shape.length}\cdot {shape.sentences}\cdot {shape.beams}}}_{{N\cdot B\cdot beams}}+"
        rf"\underbrace{{{shape.source}\cdot {shape.sentences}}}_{{S\cdot B}})\cdot {shape.number}"
        rf"\,\mathrm{{bytes}}"
    )


def _check(page: Page, shown: Shown) -> None:
    """The formula against the tensors of the live model's cache."""
    st.subheader("The formula against a real cache", anchor=False)
    found = page.study(
        "cost.prefill", shown.source, shown.target,
        find=lambda engine: check_prefill(engine.model, shown.source, shown.target),
    )  # fmt: skip
    shape = shape_of(page.model.config, found.tokens, len(shown.source))
    st.caption(f"After this model has read {found.tokens} tokens with a source of {len(shown.source)}.")
    columns = st.columns(4, gap="medium")
    columns[0].metric("Target, by the formula", f"{shape.own_bytes:,} B")
    columns[1].metric("In the cache's tensors", f"{found.held.used:,} B")
    columns[2].metric("Source, by the formula", f"{shape.source_bytes:,} B")
    columns[3].metric("In its tensors", f"{found.held.source:,} B")
    off = abs(found.held.used - shape.own_bytes) + abs(found.held.source - shape.source_bytes)
    show_facts(
        [
            f"difference {off:,} B",
            f"made in advance, for more tokens to come: {found.held.allocated:,} B for the target",
        ]
    )
