"""Does "it" look at its noun? In this sentence, head by head, and as it was measured over many sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import streamlit as st

from atlas.analysis.antecedents import find_example
from atlas.errors import AtlasError
from atlas.figures.head_table import head_table
from atlas.figures.pronouns import best_heads
from atlas.measurements import Measurement, load_measurement
from atlas.trace import Trace
from atlas.trace.segment import word_spans
from atlas.ui.chart import chart
from atlas.ui.markup import show_facts, show_sentence
from atlas.ui.page import Page
from atlas.ui.qkv.scene import Scene
from atlas.ui.theme import is_dark

MEASURE: Final = "atlas measure pronouns"


@dataclass(frozen=True)
class Example:
    """A sentence, its pronoun and the noun that it stands for, and whose example it is ("" for ours)."""

    sentence: str
    pronoun: str
    noun: str
    credit: str = ""

    @property
    def label(self) -> str:
        """As the menu shows it."""
        return f"{self.sentence} ({self.credit})" if self.credit else self.sentence


EXAMPLES: Final = (
    Example("The cat sat on the chair because it was tired.", "it", "cat"),
    Example("The dog ate the cake because it was hungry.", "it", "dog"),
    Example("The dog ate the cake because it was sweet.", "it", "cake"),
    Example(
        "The animal didn't cross the street because it was too tired.",
        "it",
        "animal",
        "example of Uszkoreit 2017",
    ),
    Example(
        "The animal didn't cross the street because it was too wide.",
        "it",
        "street",
        "example of Uszkoreit 2017",
    ),
    Example(
        "The stock didn't recover because it was too volatile.",
        "it",
        "stock",
        "example of LLMs from Scratch, part 2",
    ),
    Example(
        "The central bank's rate hike surprised the market, and it pushed bond yields sharply higher.",
        "it",
        "hike",
        "example of LLMs from Scratch, part 2",
    ),
)
"""Sentences that everyday models can read, beside those of the articles."""


@dataclass(frozen=True)
class Reference:
    """The pieces of a pronoun and of the noun that it stands for, by row, and the two words."""

    pronoun: tuple[int, ...]
    noun: tuple[int, ...]
    words: tuple[str, str]


def find_reference(trace: Trace) -> Reference | None:
    """The pronoun and the noun of a sentence: of an example, or by the rule of the measurement."""
    sentence = trace.source
    spans = word_spans(sentence)
    known = next((one for one in EXAMPLES if one.sentence == sentence), None)
    if known is not None:
        words = [sentence[start:end].lower() for start, end in spans]
        places = words.index(known.pronoun), words.index(known.noun)
    else:
        found = find_example(sentence)
        if found is None:
            return None
        places = found.at, found.antecedent

    def pieces(place: int) -> tuple[int, ...]:
        start, end = spans[place]
        return tuple(
            row
            for row, token in enumerate(trace.source_tokens)
            if not token.special and token.start < end and token.end > start
        )

    at, noun = places
    (first, last), (begin, end) = spans[at], spans[noun]
    return Reference(pieces(at), pieces(noun), (sentence[first:last], sentence[begin:end]))


def looks(trace: Trace, reference: Reference) -> np.ndarray:
    """The weight that the pronoun gives to its noun in every encoder head, ``(L, H)``: summed over the noun's
    pieces, averaged over the pronoun's.
    """
    rows = trace.encoder[:, :, list(reference.pronoun)]
    total: np.ndarray = rows[..., list(reference.noun)].sum(axis=-1).mean(axis=-1)
    return total


def examples_menu(page: Page) -> None:
    """Sentences with a pronoun, ours beside those of the articles."""
    menu = "qkv.examples"

    def choose() -> None:
        chosen: Example = st.session_state[menu]
        page.state["text"] = chosen.sentence
        page.state["query"] = page.state["key"] = 0

    st.menu_button(
        "Sentences with “it”",
        EXAMPLES,
        format_func=lambda example: example.label,
        icon=":material/lightbulb:",
        key=menu,
        on_click=choose,
    )


def pronoun_panel(page: Page, scene: Scene) -> None:
    """The pronoun of this sentence in every head, and the measurement over many."""
    st.subheader("Does “it” look at its noun?", anchor=False)
    reference = find_reference(scene.trace)
    if reference is None:
        st.caption("This sentence has no pronoun with exactly one noun to stand for: choose one that has.")
    else:
        _this_sentence(page, scene, reference)
    with st.expander("Is this head special? Over many sentences"):
        try:
            measured = load_measurement(page.model.folder, "pronouns", page.model.hash)
        except AtlasError as error:
            page.complain(error)
            return
        if measured is None:
            st.write("Nothing was measured for this model yet. This command does it:")
            st.code(MEASURE, language="bash")
        else:
            _many_sentences(scene, measured)


def _this_sentence(page: Page, scene: Scene, reference: Reference) -> None:
    weights = looks(scene.trace, reference)
    layer, head = (int(place) for place in np.unravel_index(int(weights.argmax()), weights.shape))
    pronoun, noun = reference.words
    here = (scene.steps.layer, scene.head) if scene.kind == "encoder" else None

    def go_there() -> None:
        page.state["kind"] = "encoder"
        page.state["layer"], page.state["head"] = layer + 1, str(head + 1)
        page.state["query"], page.state["key"] = reference.pronoun[0] + 1, reference.noun[0] + 1

    left, right = st.columns([1.4, 1], gap="medium", vertical_alignment="center")
    with left:
        chart(
            head_table(weights, chosen=here, dark=is_dark()),
            "qkv.pronoun",
            f"The weight that {pronoun} gives to {noun} in every encoder head",
        )
    with right:
        show_sentence(f"Weight from “{pronoun}” to “{noun}” in each encoder head, in this sentence.")
        if here:
            show_sentence(f"In the head above: {weights[here]:.0%} of its weight.")
        show_sentence(f"Most: {weights[layer, head]:.0%}, in layer {layer + 1} head {head + 1}.")
        st.button("Walk through that head", icon=":material/directions_walk:", on_click=go_there)
        even = len(reference.noun) / len(scene.trace.source_tokens)
        show_facts(
            [
                f"equal weights would give {even:.0%}",
                "the article draws 88% from “it” to “stock”, illustrative",
            ]
        )


def _many_sentences(scene: Scene, measured: Measurement) -> None:
    """Maps of the measurement, for all sentences together."""
    facts, arrays, dark = measured.facts, measured.arrays, is_dark()
    group = facts["groups"].index("all")
    here = (scene.steps.layer, scene.head) if scene.kind == "encoder" else None
    left, right = st.columns(2, gap="medium")
    for column, name, title in (
        (left, "top", "Share of sentences in which the noun gets most of all words before the pronoun"),
        (right, "special", "How much of that is the pronoun's own: less the same for other words"),
    ):
        with column:
            show_sentence(title)
            between = arrays[f"{name}_low"][group], arrays[f"{name}_high"][group]
            figure = head_table(
                arrays[name][group], chosen=here, between=between, signed=name == "special", dark=dark
            )
            chart(figure, f"qkv.measured.{name}", f"{title}, for every encoder head")
    show_facts(
        [
            f"{facts['counts'][group]:,} held-out sentences",
            f"without knowledge {facts['chance'][group]:.0%}",
            f"best head of random weights {arrays['untrained_top'][group].max():.0%}",
            f"sentences: {facts['rule']}",
        ]
    )
    title = "The best head for each pronoun and corpus, beside random weights and chance"
    show_sentence(title)
    chart(
        best_heads(facts["groups"], facts["counts"], facts["chance"], arrays, dark=dark), "qkv.groups", title
    )
    picked = facts["picked"]
    if picked:
        show_sentence(
            f"Chosen on one half of the sentences, judged on the other: layer {picked['layer'] + 1} head "
            f"{picked['head'] + 1} looks at the noun most in {picked['top']:.0%} "
            f"({picked['top_low']:.0%} to {picked['top_high']:.0%}); {picked['special']:+.0%} "
            f"({picked['special_low']:+.0%} to {picked['special_high']:+.0%}) of that is the pronoun's own."
        )
    show_facts([f"measured by: {measured.command}"])
