"""A feed-forward layer as a memory: silent units, the strongest ones, what wakes one and what it writes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from atlas.analysis.feed_forward import (
    Promoted,
    Strongest,
    feed_forward,
    promoted_tokens,
    silent_shares,
    strongest_units,
)
from atlas.analysis.forward import Side
from atlas.analysis.units import LayerUnits, layer_from
from atlas.engine import Engine
from atlas.errors import AtlasError
from atlas.figures import forward_tokens, forward_units, style
from atlas.measurements import Measurement, load_measurement
from atlas.ui.chart import chart
from atlas.ui.forward.state import STRONGEST, Shown, details, labels
from atlas.ui.markup import show_facts
from atlas.ui.theme import is_dark

_UNITS = 12
_TOKENS = 10


@dataclass(frozen=True)
class _Layer:
    """Where one feed-forward layer stands."""

    side: Side
    number: int

    @property
    def name(self) -> str:
        return f"{self.side[:3]} {self.number + 1}"

    @property
    def point(self) -> str:
        return f"{self.side}.{self.number}.ffn.hidden"


def show_memory(shown: Shown) -> None:
    """Everything about the feed-forward layer of the stage shown."""
    stage = shown.stage
    layer = _Layer(stage.side, stage.layer)
    known = _measurement(shown)
    st.subheader(f"{shown.config.ffn:,} keys and values: who is awake, what it writes", anchor=False)
    left, right = st.columns(2, gap="medium")
    with left:
        _silent(shown, layer, known)
    with right:
        strongest = _strongest(shown, layer)
    unit = _choose_unit(shown, strongest)
    left, right = st.columns(2, gap="medium")
    with left:
        _wakes(shown, layer, unit, known)
    with right:
        _writes(shown, layer, unit)


def _measurement(shown: Shown) -> Measurement | None:
    engine = shown.page.model
    try:
        return load_measurement(engine.folder, "units", engine.hash)
    except AtlasError as error:
        shown.page.complain(error)
        return None


def _silent(shown: Shown, layer: _Layer, known: Measurement | None) -> None:
    token = shown.tokens(layer.side)[shown.positions[layer.side]].label
    st.markdown("**Share of silent units**")
    if shown.config.activation != "relu":
        st.caption(
            "A unit is silent where ReLU makes it exactly 0. This model has GELU, which is next to nowhere "
            "exactly 0: no unit is silent."
        )
        return
    every = [
        *(_Layer("encoder", number) for number in range(shown.config.encoder_layers)),
        *(_Layer("decoder", number) for number in range(shown.config.decoder_layers)),
    ]
    shares = [silent_shares(shown.done[one.point]) for one in every]
    own = np.array([share[shown.positions[one.side]] for one, share in zip(every, shares, strict=True)])
    corpus = None
    if known is not None:
        corpus = np.array([layer_from(known.arrays, one.side, one.number).silent.mean() for one in every])
    awake = round((1 - own[every.index(layer)]) * shown.config.ffn)
    show_facts([f"“{token}” wakes {awake:,} of {shown.config.ffn:,} units here"])
    figure = forward_units.silent_bars(
        [one.name for one in every],
        [one.side for one in every],
        own,
        np.array([share.mean() for share in shares]),
        corpus,
        current=every.index(layer),
        dark=is_dark(),
    )
    chart(figure, "forward.silent", "Share of silent feed-forward units in every layer")


def _strongest(shown: Shown, layer: _Layer) -> Strongest:
    place = shown.positions[layer.side]
    hidden = shown.done[layer.point][place]

    def find(engine: Engine) -> Strongest:
        return strongest_units(feed_forward(engine.model, layer.side, layer.number), hidden, _UNITS)

    done = shown.done
    about = (done.source_ids, done.target_ids, layer, place)
    found: Strongest = shown.page.study("forward.strongest", *about, find=find)
    st.markdown("**The units that write most for this token**")
    figure = forward_tokens.token_bars(
        [f"unit {unit}" for unit in found.units],
        found.sizes,
        "norm of what it adds",
        hovers=[f"activation {value:.3f}" for value in found.activations],
        colour=style.COLOURS[layer.side],
        dark=is_dark(),
    )
    chart(figure, "forward.strongest", f"The {len(found.units)} units that add the longest vectors")
    return found


def _choose_unit(shown: Shown, strongest: Strongest) -> int:
    """The unit to look into: one of the strongest, or any that the address asks for."""
    state = shown.page.state
    if state["ffn_unit"] >= shown.config.ffn:
        shown.page.complain(
            f"Unit {state['ffn_unit']} is not here: this model has units 0 to {shown.config.ffn - 1}."
        )
        state["ffn_unit"] = STRONGEST
    first = int(strongest.units[0])
    offered = [int(unit) for unit in strongest.units]
    asked = first if state["ffn_unit"] == STRONGEST else state["ffn_unit"]
    if asked not in offered:
        offered.append(asked)
    widget = state.widget(
        "ffn_unit",
        to_widget=lambda unit: first if unit == STRONGEST else unit,
        from_widget=lambda unit: STRONGEST if unit == first else unit,
    )
    st.selectbox("Unit to look into", offered, format_func=lambda unit: f"unit {unit}", **widget)
    return asked


def _wakes(shown: Shown, layer: _Layer, unit: int, known: Measurement | None) -> None:
    """The key: tokens of the corpus that wake the unit, or those of this text where nobody measured."""
    st.markdown(f"**Key: what wakes unit {unit}**")
    if known is None:
        _wakes_here(shown, layer, unit)
        return
    tokenizer = shown.page.model.tokenizer
    found: LayerUnits = layer_from(known.arrays, layer.side, layer.number)
    some = found.means[unit] > 0
    tokens, counts = found.tokens[unit][some], known.arrays[f"{layer.side}.counts"]
    facts = known.facts
    if not len(tokens):
        st.caption(f"No token of {facts['sentences']:,} held-out sentences wakes this unit.")
        return
    more = details(tokenizer, tokens)
    figure = forward_tokens.token_bars(
        labels(tokenizer, tokens),
        found.means[unit][some],
        "mean activation",
        hovers=[f"{one} · read {counts[token]:,} times" for one, token in zip(more, tokens, strict=True)],
        colour=style.COLOURS["key"],
        dark=is_dark(),
    )
    chart(figure, "forward.wakes", f"The tokens that wake unit {unit} most in held-out sentences")
    largest = labels(tokenizer, [int(found.at[unit])])[0]
    show_facts(
        [
            f"{facts['sentences']:,} held-out sentences of {facts['corpus']}",
            f"tokens read at least {facts['least']} times",
            f"silent at {found.silent[unit]:.1%} of all tokens",
            f"largest {found.largest[unit]:.2f}, at “{largest}”",
        ]
    )


def _wakes_here(shown: Shown, layer: _Layer, unit: int) -> None:
    hidden = shown.done[layer.point][:, unit]
    order = np.argsort(-hidden, kind="stable")[:_TOKENS]
    tokens = shown.tokens(layer.side)
    figure = forward_tokens.token_bars(
        [tokens[place].label for place in order],
        hidden[order],
        "activation",
        hovers=[f"position {place + 1}" for place in order],
        colour=style.COLOURS["key"],
        dark=is_dark(),
    )
    chart(figure, "forward.wakes", f"The tokens of this text that wake unit {unit} most")
    st.caption("In this text alone. To see what wakes it in held-out sentences, measure once:")
    st.code(f"atlas measure units {shown.page.state['model']}", language="bash")


def _writes(shown: Shown, layer: _Layer, unit: int) -> None:
    """The value: what the unit's row of W2 says through the output vocabulary."""
    st.markdown(f"**Value: what unit {unit} writes**")

    def find(engine: Engine) -> Promoted:
        return promoted_tokens(engine.model, layer.side, layer.number, unit, _TOKENS)

    found: Promoted = shown.page.study("forward.promoted", layer, unit, find=find)
    tokenizer = shown.page.model.tokenizer
    figure = forward_tokens.token_bars(
        labels(tokenizer, found.ids),
        found.scores,
        "row of W2 · row of the vocabulary",
        hovers=details(tokenizer, found.ids),
        colour=style.COLOURS["value"],
        dark=is_dark(),
    )
    chart(figure, "forward.writes", f"The tokens that the value of unit {unit} pushes up most")
    left_out = "later layers"
    if shown.config.norm == "pre":
        left_out += " and the final LayerNorm"
    st.caption(
        f"Its row of W2 times the output vocabulary: what it adds to the logits at activation 1, {left_out} "
        "left out."
        if layer.side == "decoder"
        else "For comparison only: the encoder's stream never meets the output vocabulary, the decoder does."
    )
