"""The experiments of the Positions page, with their controls, in Streamlit."""

from __future__ import annotations

import streamlit as st

from atlas.analysis.positions import ShuffleResult
from atlas.figures import positions as figures
from atlas.ui.chart import chart
from atlas.ui.differences import show_difference
from atlas.ui.markup import notice, show_facts
from atlas.ui.models import SharedEngine
from atlas.ui.page import Page
from atlas.ui.position_experiments import Encoding, shuffle, translate
from atlas.ui.position_pictures import MOST_SHOWN, at_most
from atlas.ui.theme import is_dark

LARGEST_SEED = 9999


def shuffle_lab(page: Page, engine: SharedEngine, has_positions: bool) -> None:
    """The same words in another order: what the encoder makes of them with positions and without."""
    st.subheader("Lab: shuffle the words", anchor=False)

    def again() -> None:
        page.state["shuffle"] = page.state["shuffle"] % LARGEST_SEED + 1

    st.button("Shuffle again", icon=":material/shuffle:", on_click=again, key="positions.again")
    shuffled = shuffle(engine, page.sentence, page.state["shuffle"])
    show_difference(("As written", shuffled.before), ("Shuffled", shuffled.after), mark=False)
    if shuffled.before == shuffled.after:
        notice("This sentence has only one word, or one word repeated: every order reads the same.")
        return
    left, right = st.columns([1, 2])
    with left:
        shuffle_numbers(shuffled.result, has_positions)
    with right:
        result = shuffled.result
        figure = figures.shuffle_differences(
            shuffled.labels,
            result.with_positions if has_positions else None,
            result.without_positions,
            dark=is_dark(),
        )
        chart(
            figure,
            "positions.shuffle",
            "Largest difference of each token's vector, with positions and without",
        )
    shown: list[tuple[Encoding, str]] = [("trained", "without positions")]
    if has_positions:
        shown = [("trained", "with positions"), ("zero", "without positions")]
    for column, (encoding, words) in zip(st.columns(len(shown)), shown, strict=True):
        with column:
            before = translate(engine, shuffled.before, page.options, encoding).text
            after = translate(engine, shuffled.after, page.options, encoding).text
            show_difference(
                (f"Translation {words}", before),
                (f"Translation of the shuffled words, {words}", after),
                side_by_side=False,
            )
            if before == after:
                st.caption("The same translation: the order of the words made no difference.")


def shuffle_numbers(result: ShuffleResult, has_positions: bool) -> None:
    """The largest differences of the experiment, with what to compare them with."""
    st.metric(
        "Without positions: largest difference",
        f"{result.largest_without:.2g}",
        help="Between the encoder's outputs for the shuffled words and its outputs for the original words, "
        "put in the shuffled order. Rounding only: they are the same vectors, shuffled.",
    )
    if has_positions:
        st.metric(
            "With positions: largest difference",
            f"{result.largest_with:.2g}",
            help="The same with the model's own encoding: each word got another vector.",
        )
    show_facts([f"{len(result.order)} tokens", f"largest number in the outputs {result.scale:.2g}"])


def encoding_lab(page: Page, engine: SharedEngine, tokens: int) -> None:
    """The translation when the encoder's positions are taken away or moved."""
    st.subheader("Lab: change the encoding", anchor=False)
    furthest = min(MOST_SHOWN, engine.config.max_length - tokens)
    choices: list[Encoding] = ["zero", "shift"] if furthest >= 1 else ["zero"]
    names = {"zero": "nothing (zeros)", "shift": "positions moved along"}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        encoding = st.segmented_control(
            "What the encoder adds to its words",
            choices,
            format_func=names.__getitem__,
            required=True,
            **page.state.widget("encoding"),
        )
        offset = 0
        if encoding == "shift":
            widget = page.state.widget("offset", to_widget=at_most(furthest))
            offset = st.slider("Position of the first token", 1, furthest, **widget)
    original = translate(engine, page.sentence, page.options)
    changed = translate(engine, page.sentence, page.options, encoding, offset)
    words = "without positions" if encoding == "zero" else f"positions {offset} to {offset + tokens - 1}"
    show_difference(
        (f"As trained (score {original.score:.3f})", original.text),
        (f"Changed: {words} (score {changed.score:.3f})", changed.text),
    )
    if original.text == changed.text:
        st.caption("The same words: this change alone does not move the translation.")
    st.caption(
        "Only what the encoder reads is changed, not the decoder. Marked: words that the other side lacks."
    )
