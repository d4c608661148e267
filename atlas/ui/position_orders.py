"""The same words in two orders, read by each of the three models that differ in their positions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from atlas.analysis.position_models import order_between
from atlas.decoding import SearchOptions
from atlas.engine import Engine
from atlas.errors import AtlasError
from atlas.ui.differences import show_difference
from atlas.ui.markup import notice
from atlas.ui.models import cached_answer
from atlas.ui.page import Page
from atlas.ui.position_experiments import shuffle
from atlas.ui.position_twins import Twin

OWN = "own"
PAIRS: dict[str, tuple[str, str, str]] = {
    "bites": ("A man bites a dog.", "A dog bites a man.", "of the models' own domain"),
    "looks": ("A boy looks at a girl.", "A girl looks at a boy.", "of the models' own domain"),
    "dog": ("dog bites man", "man bites dog", "example of LLM Atlas, part 4"),
    "revenue": (
        "revenue beat expectations",
        "expectations beat revenue",
        "example of LLMs from Scratch, part 2, in lower case so that both are the same pieces",
    ),
}
"""Name in the address -> two orders of the same words, and where they are from."""


@dataclass(frozen=True)
class TwoOrders:
    """What one model makes of the same tokens in two orders.

    Attributes:
        first, second: the translations.
        difference: largest absolute difference between the encoder's output for a token in the one order and
            in the other; None if the two are not the same tokens.
        scale: largest absolute number in the encoder's output for the first.
    """

    first: str
    second: str
    difference: float | None
    scale: float


def read_both(engine: Engine, first: str, second: str, options: SearchOptions) -> TwoOrders:
    """Encode and translate a sentence and its words in another order.

    Raises:
        AtlasError: the model cannot read one of them.
    """
    one, other = engine.tokenizer.source(first), engine.tokenizer.source(second)
    before, after = engine.encode(one), engine.encode(other)
    order = order_between(one, other)
    moved = None if order is None else float(np.abs(after - before[np.array(order)]).max())
    texts = [translation.text for translation in engine.translate([first, second], options)]
    return TwoOrders(texts[0], texts[1], moved, float(np.abs(before).max()))


def orders_section(page: Page, twins: dict[str, Twin]) -> None:
    """Choose two orders; each model's translations of them with the words marked that differ."""
    st.markdown("**Shuffled words under each**")
    st.caption(
        "Said in both articles: without positions, two orders of the same words are the same bag. "
        "See what each model makes of them."
    )
    names = {OWN: "the sentence above, shuffled"} | {
        name: f"{first} / {second}" for name, (first, second, _) in PAIRS.items()
    }
    chosen = st.selectbox(
        "Two orders", list(names), format_func=names.__getitem__, **page.state.widget("pairs")
    )
    if chosen == OWN:
        if not page.sentence.strip():
            notice("Write a sentence above, or choose one of the pairs.")
            return
        shuffled = shuffle(next(iter(twins.values())).engine, page.sentence, page.state["shuffle"])
        first, second, credit = shuffled.before, shuffled.after, f"shuffle {page.state['shuffle']}"
    else:
        first, second, credit = PAIRS[chosen]
    show_difference((f"One order ({credit})", first), ("The other", second), mark=False)
    options = page.options
    for column, (kind, twin) in zip(st.columns(len(twins)), twins.items(), strict=True):
        with column:
            try:
                both = cached_answer(
                    twin.engine,
                    ("two orders", first, second, options),
                    lambda engine: read_both(engine, first, second, options),
                )
            except AtlasError as error:
                notice(str(error))
                continue
            show_orders(kind, both)


def show_orders(kind: str, both: TwoOrders) -> None:
    """One model's two translations and how far its encoder tells the orders apart."""
    show_difference(
        (f"{kind}: one order", both.first), (f"{kind}: the other order", both.second), side_by_side=False
    )
    if both.difference is None:
        st.caption("The two orders are cut into different pieces; their vectors cannot be compared.")
    else:
        st.metric(
            f"{kind}: largest difference",
            f"{both.difference:.2g}",
            help="Between the encoder's outputs for a token in the one order and in the other, all tokens. "
            f"The largest number in the output is {both.scale:.2g}.",
        )
    if both.first == both.second:
        st.caption("The same translation for both orders.")
