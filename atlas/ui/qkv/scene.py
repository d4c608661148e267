"""What the Query · Key · Value page shows: one query word in one head of one sub-layer, as the address says.

Layers, heads, words and keys count from 1 in the address, from 0 in the code; word and key 0 in the address
stand for a good choice of ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import streamlit as st

from atlas.analysis.attention_steps import STEPS, WANTED, AttentionSteps, Kind, attention_steps
from atlas.analysis.passes import forced_pass
from atlas.analysis.scaling import Scope
from atlas.engine import Engine
from atlas.errors import AtlasError
from atlas.trace import Trace
from atlas.trace.pieces import Token
from atlas.ui import keys
from atlas.ui.attention.choice import HEAD, KIND, LAYER, show_new_notices
from atlas.ui.keys import Key
from atlas.ui.page import Page

LONGEST: Final = 200
"""Pieces of a sentence up to which this page draws it."""
PRONOUNS: Final = ("it", "he", "she", "they", "him", "her", "them")
SCOPES: Final[tuple[Scope, ...]] = ("head", "layer", "all")
_SEEN = "atlas.qkv.words"

KEYS: Final[tuple[Key[Any], ...]] = (
    KIND,
    LAYER,
    HEAD,
    keys.integer("query", 0, 0, LONGEST),
    keys.integer("key", 0, 0, LONGEST),
    keys.integer("stage", 1, 1, len(STEPS)),
    keys.integer("queries", 200, 50, 500),
    keys.integer("draw", 1, 1, 9999),
    keys.decimal("divisor", 0.0, 0.0, 10000.0),
    keys.choice("scope", SCOPES, "all"),
)
"""Everything that the page adds to the address; ``divisor`` 0 is sqrt(d_k), as the model was trained."""


@dataclass(frozen=True, eq=False)
class Scene:
    """One query word in one head.

    Attributes:
        trace: of the sentence.
        steps: all numbers of the sub-layer.
        head: from 0.
        query: row from 0.
        queries: R labels of the rows; in the decoder the token that is read.
        predicted: R labels of what a decoder's row goes on to say; empty in the encoder.
        keys: N labels.
        source_ids, target_ids: what encoder and decoder read, the start token left out.
    """

    trace: Trace
    steps: AttentionSteps
    head: int
    query: int
    queries: tuple[str, ...]
    predicted: tuple[str, ...]
    keys: tuple[str, ...]
    source_ids: tuple[int, ...]
    target_ids: tuple[int, ...]

    @property
    def kind(self) -> Kind:
        """Which attention."""
        return self.steps.kind

    @property
    def word(self) -> str:
        """Label of the query word."""
        return self.queries[self.query]

    def row_name(self, row: int) -> str:
        """A row as a list names it: with its number, and with what a decoder goes on to say."""
        after = f", predicts {self.predicted[row]}" if self.predicted else ""
        return f"{row + 1} · {self.queries[row]}{after}"

    @property
    def likeliest(self) -> int:
        """The key that the query word looks at most, from 0."""
        return int(self.steps.weights[self.head, self.query].argmax())


def find_steps(
    engine: Engine, source: tuple[int, ...], target: tuple[int, ...], kind: Kind, layer: int
) -> AttentionSteps:
    """Run the model over a sentence and its translation and compute a sub-layer again.

    Raises:
        AtlasError: no such layer, or a text that is too long.
    """
    passed = forced_pass(engine.model, source, target, wanted=(*WANTED, "memory"))
    return attention_steps(engine.model, passed, kind, layer)


def first_query(kind: Kind, tokens: tuple[Token, ...]) -> int:
    """The row to begin with: a pronoun of the source, otherwise a word in the middle."""
    if kind == "encoder":
        for row, token in enumerate(tokens):
            if token.text.lower() in PRONOUNS:
                return row
    return len(tokens) // 2


def settle(page: Page) -> Scene:
    """What the page shows, every value of the address checked against the model and the sentence.

    The page ends with one line where there is nothing to show.
    """
    state, trace, known = page.state, page.trace, page.state.notices
    if len(trace.source_tokens) > LONGEST:
        page.stop(
            f"This page draws sentences of up to {LONGEST} pieces; this one has {len(trace.source_tokens)}."
        )
    if not len(trace.hypotheses):
        page.stop("The search found no translation, so there is nothing to read for the decoder.")
    kind, config = state["kind"], page.model.config
    layers = config.encoder_layers if kind == "encoder" else config.decoder_layers
    layer = state.restrict("layer", lambda number: number <= layers, layers, f"a layer from 1 to {layers}")
    heads = [str(number) for number in range(1, config.heads + 1)]
    head = state.restrict("head", heads.__contains__, "1", f"a head from 1 to {config.heads}")
    node = int(trace.hypotheses[0])
    target = trace.target_tokens(node)[: LONGEST + 1]
    rows = trace.source_tokens if kind == "encoder" else target[:-1]
    columns = target[:-1] if kind == "decoder" else trace.source_tokens
    _forget_words(page, (kind, rows, columns))
    state.restrict("query", lambda row: row <= len(rows), 0, f"a query word from 1 to {len(rows)}")
    state.restrict("key", lambda row: row <= len(columns), 0, f"a key from 1 to {len(columns)}")
    show_new_notices(state, known)
    source_ids = tuple(token.id for token in trace.source_tokens)
    target_ids = tuple(token.id for token in target[1:-1])
    try:
        steps = page.study(
            "attention steps",
            source_ids,
            target_ids,
            kind,
            layer,
            find=lambda engine: find_steps(engine, source_ids, target_ids, kind, layer - 1),
        )
    except AtlasError as error:
        page.stop(error)
    return Scene(
        trace=trace,
        steps=steps,
        head=int(head) - 1,
        query=state["query"] - 1 if state["query"] else first_query(kind, rows),
        queries=tuple(token.label for token in rows),
        predicted=() if kind == "encoder" else tuple(token.label for token in target[1:]),
        keys=tuple(token.label for token in columns),
        source_ids=source_ids,
        target_ids=target_ids,
    )


def _forget_words(page: Page, words: object) -> None:
    """Words that were chosen in another sentence mean nothing here, unless they came with its address."""
    state = page.state
    seen, *chosen = st.session_state.get(_SEEN, (words,))
    if seen != words and chosen == [state["query"], state["key"]]:
        state["query"] = state["key"] = 0
    st.session_state[_SEEN] = (words, state["query"], state["key"])


def controls(page: Page, scene: Scene) -> None:
    """Kind, layer, head and query word, for a row of controls."""
    config, state = page.model.config, page.state
    layers = config.encoder_layers if scene.kind == "encoder" else config.decoder_layers
    names = {"encoder": "Encoder self", "decoder": "Decoder self", "cross": "Cross"}
    st.segmented_control(
        "Attention",
        list(names),
        format_func=names.__getitem__,
        required=True,
        help="Encoder: source to source. Decoder: target to the target so far. Cross: target to source.",
        **state.widget("kind"),
    )
    st.selectbox("Layer", range(1, layers + 1), width=90, **state.widget("layer"))
    heads = [str(number) for number in range(1, config.heads + 1)]
    st.selectbox("Head", heads, width=90, **state.widget("head"))
    st.selectbox(
        "Query word",
        range(len(scene.queries)),
        format_func=scene.row_name,
        width=230,
        **state.widget("query", to_widget=lambda _: scene.query, from_widget=lambda row: row + 1),
    )


def key_control(page: Page, scene: Scene) -> int:
    """Choose the key that is looked at closely; returns its row."""
    chosen = page.state["key"] - 1 if page.state["key"] else scene.likeliest
    st.selectbox(
        "Key to take apart",
        range(len(scene.keys)),
        format_func=lambda row: f"{row + 1} · {scene.keys[row]}",
        width=220,
        **page.state.widget("key", to_widget=lambda _: chosen, from_widget=lambda row: row + 1),
    )
    return int(chosen)
