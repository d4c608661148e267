"""The cache drawn step by step: prefill, then decode, and whether both fill it alike."""

from __future__ import annotations

import streamlit as st

from atlas.analysis.cache_memory import readable
from atlas.analysis.prefill import PrefillCheck, check_prefill
from atlas.figures import cost_cache as figures
from atlas.ui.chart import chart
from atlas.ui.components.stepper import stepper
from atlas.ui.cost.view import Shown, small
from atlas.ui.markup import show_facts
from atlas.ui.page import Page
from atlas.ui.theme import is_dark


def cache_part(page: Page, shown: Shown) -> None:
    """The whole part.

    Raises:
        AtlasError: the model cannot read this.
    """
    _passes(page, shown)
    st.divider()
    _check(page, shown)


def _passes(page: Page, shown: Shown) -> None:
    state, tokens = page.state, len(shown.labels)
    st.subheader("Which keys and values are computed in each pass", anchor=False)
    st.caption("Prefill reads what is known at once; decode one token a pass. Walk with the arrow keys.")
    prompt = min(state["cache_prompt"], tokens)
    if tokens > 1:
        prompt = st.slider(
            "Tokens that are known at the start (prompt)", 1, tokens,
            **state.widget("cache_prompt", to_widget=lambda value: min(value, tokens)),
        )  # fmt: skip
    names = figures.pass_names(tokens, prompt)
    step = min(state["cache_step"], len(names) - 1)

    def go(number: int) -> None:
        state["cache_step"] = number

    labels = [_title(shown, prompt, number) for number in range(len(names))]
    stepper(labels, step=step, on_step=go, key="cost.cache.step")
    layers, width = page.model.config.decoder_layers, page.model.config.width
    for column, cached, title in zip(
        st.columns(2, gap="medium"), (True, False), ("With a cache", "Without"), strict=True
    ):
        with column:
            st.markdown(f"**{title}**")
            states = figures.passes(tokens, prompt, cached=cached)
            picture = figures.cache_passes(states, shown.labels, prompt, step, dark=is_dark())
            chart(
                picture, f"cost.passes.{cached}", f"Passes and tokens, {title.lower()}, up to {names[step]}"
            )
            done = figures.computed(states, step)
            show_facts(
                [
                    f"{done:,} tokens so far",
                    f"{done:,} × 2 × {layers} layers = {done * 2 * layers:,} vectors of {width} numbers",
                ]
            )


def _title(shown: Shown, prompt: int, number: int) -> str:
    if number == 0:
        return f"prefill: {prompt} tokens in one pass"
    return f"decode {number}: reads “{shown.labels[prompt + number - 1]}”"


def _check(page: Page, shown: Shown) -> None:
    """The same cache in three ways, compared."""
    found: PrefillCheck = page.study(
        "cost.prefill", shown.source, shown.target,
        find=lambda engine: check_prefill(engine.model, shown.source, shown.target),
    )  # fmt: skip
    st.subheader("One pass or one by one: the same cache?", anchor=False)
    st.caption(
        f"This model reads the {found.tokens} tokens above in both ways; every key and value of every layer "
        "is compared."
    )
    columns = st.columns(4, gap="medium")
    columns[0].metric(
        "One pass against one by one",
        small(float(found.largest.max())),
        help="Largest difference of a key or a value in any layer. Rounding: sums in another order.",
    )
    columns[1].metric(
        "Cache against no cache",
        small(float(found.full.max())),
        help="The cache filled one by one against the keys and values of a full pass without any cache.",
    )
    columns[2].metric("Logits after the last token", small(found.logits))
    columns[3].metric(
        "In the cache", readable(found.held.used), help="Of the tokens read so far, without the source."
    )
    show_facts([f"largest number in the cache {found.scale:.2f}"])
    deeper = (
        f"; from layer 2 on it is off by up to {found.alone[1:].max():.2f}, because a deeper key depends on "
        "all that the layers below have read"
        if len(found.alone) > 1
        else ""
    )
    st.write(
        "The fragment in LLM Atlas, part 4 fills its cache with a projection of each token by itself. In the "
        f"first layer that is right (largest difference {small(float(found.alone[0]))}){deeper}. A prefill "
        "has to run every layer; then one by one and all at once agree."
    )
