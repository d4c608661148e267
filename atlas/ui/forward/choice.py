"""From logits to the next token: the lens, the temperature, the cuts, the draw, and round again."""

from __future__ import annotations

import numpy as np
import streamlit as st

from atlas.analysis.information import entropy
from atlas.analysis.logit_lens import Lens, logit_lens
from atlas.analysis.next_token import drawn_tokens
from atlas.engine import Engine
from atlas.figures import forward_lens, forward_tokens, style
from atlas.ui.chart import chart
from atlas.ui.forward.state import LARGEST_SEED, NEWEST, Shown, details, label, labels
from atlas.ui.markup import show_facts
from atlas.ui.theme import is_dark

_CANDIDATES = 14
_DRAWS = 1000


def show_logits(shown: Shown) -> None:
    """The highest logits, then what every layer would have said."""
    tokenizer, logits = shown.page.model.tokenizer, shown.next.logits
    top = np.argsort(-logits, kind="stable")[:_CANDIDATES]
    figure = forward_tokens.token_bars(
        labels(tokenizer, top),
        logits[top],
        "logit",
        hovers=details(tokenizer, top),
        colour=style.COLOURS["decoder"],
        dark=is_dark(),
    )
    chart(figure, "forward.logits", f"The {_CANDIDATES} tokens with the highest logits")
    show_facts(
        [
            f"array ({shown.config.vocabulary:,},)",
            f"mean {logits.mean():.2f}",
            f"highest {logits.max():.2f}, lowest {logits.min():.2f}",
        ]
    )
    _show_lens(shown)


def _show_lens(shown: Shown) -> None:
    st.subheader("Logit lens: what each layer would have said", anchor=False)
    final = "the final LayerNorm and " if shown.config.norm == "pre" else ""
    tied = (
        " The matrix that reads is the one that embeds: the input says itself." if shown.config.tied else ""
    )
    st.caption(
        f"The stream after every layer, read through {final}the output vocabulary. Left of each row: what "
        f"the decoder read → what followed in the end.{tied}"
    )

    def find(engine: Engine) -> Lens:
        return logit_lens(engine.model, shown.done, shown.following)

    about = (shown.done.source_ids, shown.done.target_ids, shown.chosen)
    found: Lens = shown.page.study("forward.lens", *about, find=find)
    tokenizer = shown.page.model.tokenizer
    depths = ["input", *(f"layer {layer + 1}" for layer in range(shown.config.decoder_layers))]
    place = shown.positions["decoder"]
    figure = forward_lens.lens_table(
        [labels(tokenizer, row) for row in found.tokens],
        found.probability,
        depths,
        [token.label for token in shown.target],
        labels(tokenizer, shown.following),
        chosen=place,
        dark=is_dark(),
    )
    chart(figure, "forward.lens", "The likeliest next token at every layer and position")
    if len(shown.target) == 1 and shown.best:
        show_facts(
            ["Only the start mark was read. “Whole translation” above shows the lens at every position."]
        )
    said = labels(tokenizer, [shown.following[place]])[0]
    course = forward_lens.lens_course(depths, found.said[:, place], found.rank[:, place], dark=is_dark())
    chart(course, "forward.course", "Probability and rank of the token that followed, by layer")
    show_facts(
        [f"“{said}”"]
        + [
            f"{depth}: rank {rank:,} of {shown.config.vocabulary:,}, probability {probability(share)}"
            for depth, rank, share in (
                (depths[at], int(found.rank[at, place]), float(found.said[at, place])) for at in (0, -1)
            )
        ]
    )


def probability(value: float) -> str:
    """A probability in few digits, small ones in powers of ten."""
    return f"{value:.3f}" if value >= 0.001 else f"{value:.0e}"


def temperature_slider(shown: Shown) -> None:
    """Temperature alone."""
    st.slider("Temperature", 0.1, 2.0, step=0.1, **shown.page.state.widget("temperature"))


def cut_sliders(shown: Shown) -> None:
    """Temperature, top-k and top-p in one row."""
    left, middle, right = st.columns(3, gap="medium")
    with left:
        temperature_slider(shown)
    with middle:
        st.slider("Top-k (0: all)", 0, 100, **shown.page.state.widget("top_k"))
    with right:
        st.slider("Top-p", 0.05, 1.0, step=0.05, **shown.page.state.widget("top_p"))


def show_softmax(shown: Shown) -> None:
    """Probabilities at temperature 1 and at the one chosen."""
    temperature_slider(shown)
    temperature = shown.page.state["temperature"]
    _candidates(shown, shown.next.heated, f"at temperature {temperature:g}")
    own, heated = entropy(shown.next.own), entropy(shown.next.heated)
    show_facts(
        [
            f"entropy {own:.2f} bits over all tokens at T = 1, {heated:.2f} bits without padding and start "
            f"mark at T = {temperature:g}",
            f"as many choices as {2**heated:.1f} equally likely tokens",
        ]
    )


def show_cut(shown: Shown) -> None:
    """What top-k and top-p leave, and what they cut."""
    cut_sliders(shown)
    _candidates(shown, shown.next.kept, "drawn from")
    kept = int((shown.next.kept > 0).sum())
    show_facts(
        [
            f"{kept:,} of {shown.config.vocabulary:,} tokens can be drawn",
            f"they held {shown.next.share_kept:.1%} of the probability at T = "
            f"{shown.page.state['temperature']:g}",
            f"entropy {entropy(shown.next.kept):.2f} bits",
        ]
    )


def _candidates(shown: Shown, after: np.ndarray, words: str) -> None:
    tokenizer = shown.page.model.tokenizer
    top = shown.next.ranked(_CANDIDATES)
    place = np.flatnonzero(top == shown.chosen)
    figure = forward_tokens.candidate_bars(
        labels(tokenizer, top),
        shown.next.own[top],
        after[top],
        words=words,
        chosen=int(place[0]) if len(place) else None,
        dark=is_dark(),
    )
    chart(figure, "forward.candidates", f"Probabilities of the {_CANDIDATES} likeliest next tokens")


def show_choice(shown: Shown) -> None:
    """The token that is taken, how often it would be, and the button that goes round again."""
    state = shown.page.state
    cut_sliders(shown)

    def draw() -> None:
        state["seed"] = (state["seed"] + 1) % (LARGEST_SEED + 1)
        state["pick"] = "drawn"

    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.segmented_control(
            "Take",
            ["likeliest", "drawn"],
            format_func={"likeliest": "the likeliest", "drawn": "one drawn by chance"}.__getitem__,
            required=True,
            **state.widget("pick"),
        )
        st.number_input("Seed", 0, LARGEST_SEED, width=140, **state.widget("seed"))
        st.button("Draw", icon=":material/casino:", key="forward.draw", on_click=draw)
    tokenizer = shown.page.model.tokenizer
    left, right = st.columns([1, 2], gap="medium", vertical_alignment="center")
    with left:
        st.metric("Taken", f"“{label(tokenizer, shown.chosen)}”".replace("$", r"\$"))
        st.metric("Probability in the draw", probability(shown.next.kept[shown.chosen]))
        show_facts([f"the model's own probability {probability(shown.next.own[shown.chosen])}"])
        _append(shown)
    with right:
        _frequencies(shown)


def _append(shown: Shown) -> None:
    read = next(place for place, stage in enumerate(shown.walk) if stage.kind == "read")

    def again() -> None:
        append(shown)
        shown.go(read)

    st.button(
        "Append and go round again",
        icon=":material/restart_alt:",
        key="forward.again",
        on_click=again,
        disabled=shown.finished or shown.full,
        type="primary",
    )
    if shown.finished:
        st.caption("The end mark: the translation is finished.")


def append(shown: Shown) -> None:
    """Let the decoder's text grow by the token taken; its newest position is followed."""
    shown.page.state["path"] = (*shown.path, shown.chosen)
    shown.page.state["target_at"] = NEWEST


def _frequencies(shown: Shown) -> None:
    draws = drawn_tokens(shown.next.kept, shown.page.state["seed"], _DRAWS)
    counts = np.bincount(draws, minlength=len(shown.next.kept)) / _DRAWS
    top = shown.next.ranked(_CANDIDATES - 4)
    figure = forward_tokens.draw_bars(
        labels(shown.page.model.tokenizer, top), shown.next.kept[top], counts[top], _DRAWS, dark=is_dark()
    )
    chart(figure, "forward.draws", f"Shares of {_DRAWS:,} draws beside the probabilities")
    largest = float(np.abs(counts - shown.next.kept).max())
    show_facts(
        [
            f"{_DRAWS:,} draws, seed {shown.page.state['seed']}",
            f"largest |share − probability| {largest:.4f}",
        ]
    )
