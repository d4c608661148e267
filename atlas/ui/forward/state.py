"""What the Forward pass page shows: the walk of this model, the pass, the chosen tokens and the next one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from atlas.analysis.forward import WANTED, Side, Stage, stages
from atlas.analysis.next_token import NextToken, drawn_tokens, next_token
from atlas.analysis.passes import ForcedPass, forced_pass
from atlas.decoding import SearchOptions
from atlas.engine import Engine
from atlas.model.config import TransformerConfig
from atlas.text.tokenizer import END_ID, SPECIAL_IDS, Tokenizer
from atlas.trace.pieces import Token, label_tokens
from atlas.ui import keys
from atlas.ui.keys import Key
from atlas.ui.page import Page

Ids = Sequence[int] | NDArray[np.integer[Any]]

NEWEST = 0
STRONGEST = -1
LARGEST_SEED = 9999
_SEEN = "atlas.forward.seen"

FORWARD_KEYS: tuple[Key[Any], ...] = (
    keys.integer("stage", 1, 1, 1000),
    keys.integers("path"),
    keys.integer("source_at", 1, 1, 10_000),
    keys.integer("target_at", NEWEST, NEWEST, 10_000),
    keys.integer("ffn_unit", STRONGEST, STRONGEST, 1_000_000),
    keys.choice("pick", ["likeliest", "drawn"], "likeliest"),
    keys.decimal("temperature", 1.0, 0.1, 2.0),
    keys.integer("top_k", 0, 0, 100),
    keys.decimal("top_p", 1.0, 0.05, 1.0),
    keys.integer("seed", 0, 0, LARGEST_SEED),
)
"""What the page keeps in the address, where stages and positions count from 1. ``path`` holds the tokens
that the decoder has written; ``source_at`` and ``target_at`` are the positions followed (:data:`NEWEST`: the
last one); ``ffn_unit`` is the feed-forward unit looked into (:data:`STRONGEST`: the one that writes most)."""


@dataclass(frozen=True)
class Shown:
    """One state of the page.

    Attributes:
        page: whose it is.
        config: of the model.
        walk: its stages; ``index``: the one shown.
        done: the pass over the sentence and what the decoder has written.
        source, target: the tokens that encoder and decoder read.
        positions: the position followed on each side.
        next: the distribution of the next token; ``chosen``: the token taken from it.
        best: tokens of the translation that the search of the page found, without an end mark.
    """

    page: Page
    config: TransformerConfig
    walk: tuple[Stage, ...]
    index: int
    done: ForcedPass
    source: tuple[Token, ...]
    target: tuple[Token, ...]
    positions: dict[Side, int]
    next: NextToken
    chosen: int
    best: tuple[int, ...]

    @property
    def stage(self) -> Stage:
        """The stage shown."""
        return self.walk[self.index]

    @property
    def path(self) -> tuple[int, ...]:
        """Ids that the decoder has written so far."""
        return self.done.target_ids[1:]

    @property
    def following(self) -> tuple[int, ...]:
        """``(T,)``: the token that follows each position of the decoder, the chosen one last."""
        return (*self.path, self.chosen)

    def tokens(self, side: Side) -> tuple[Token, ...]:
        """What a side read."""
        return self.source if side == "encoder" else self.target

    @property
    def finished(self) -> bool:
        """Whether the next token ends the translation."""
        return self.chosen == END_ID

    @property
    def full(self) -> bool:
        """Whether the model has no position for another token."""
        return len(self.done.target_ids) >= self.config.max_length

    def go(self, index: int) -> None:
        """Show another stage."""
        self.page.state["stage"] = index + 1


def label(tokenizer: Tokenizer, token: int) -> str:
    """How a picture calls one token of the vocabulary."""
    return label_tokens(None, [tokenizer.piece(token)], [token], SPECIAL_IDS)[0].label


def labels(tokenizer: Tokenizer, tokens: Ids) -> list[str]:
    """:func:`label` for several tokens."""
    return [label(tokenizer, int(token)) for token in tokens]


def details(tokenizer: Tokenizer, tokens: Ids) -> list[str]:
    """What a hover adds about tokens of the vocabulary: the piece as it is stored, and its id."""
    return [f"piece {tokenizer.piece(int(token))} · id {int(token)}" for token in tokens]


def options(page: Page) -> SearchOptions:
    """How the next token is drawn."""
    state = page.state
    return SearchOptions(
        method="sample",
        temperature=state["temperature"],
        top_k=state["top_k"],
        top_p=state["top_p"],
        seed=state["seed"],
    )


def shown_pass(page: Page) -> Shown:
    """Run the model as the address says.

    What the address asks for and this model or sentence does not have is said. Another sentence or model
    begins a new translation without a word.

    Raises:
        AtlasError: the model cannot read this, or is not a Transformer.
    """
    trace = page.trace
    config = page.study("forward.config", find=lambda engine: engine.model.config)
    walk = stages(config)
    changed = _is_new(page)
    path = _path(page, config, changed)
    ids = tuple(token.id for token in trace.source_tokens)

    def find(engine: Engine) -> ForcedPass:
        return forced_pass(engine.model, ids, path, wanted=WANTED)

    done: ForcedPass = page.study("forward.pass", ids, path, find=find)
    tokenizer: Tokenizer = page.model.tokenizer
    read = done.target_ids
    target = label_tokens(None, tokenizer.pieces(read), read, SPECIAL_IDS)
    for name, most in (("stage", len(walk)), ("source_at", len(ids)), ("target_at", len(read))):
        if page.state[name] > most:
            if not changed:
                page.complain(f"{name}={page.state[name]} is not here: {most} is the last and is shown.")
            page.state[name] = most
    at = page.state["target_at"]
    upcoming = next_token(done.logits[-1], options(page))
    drawn = page.state["pick"] == "drawn"
    best = trace.token_path(int(trace.hypotheses[0])) if len(trace.hypotheses) else ()
    return Shown(
        page=page,
        config=config,
        walk=walk,
        index=page.state["stage"] - 1,
        done=done,
        source=trace.source_tokens,
        target=target,
        positions={"encoder": page.state["source_at"] - 1, "decoder": (at or len(read)) - 1},
        next=upcoming,
        chosen=int(drawn_tokens(upcoming.kept, page.state["seed"], 1)[0]) if drawn else upcoming.likeliest,
        best=tuple(token for token in best if token != END_ID),
    )


def _is_new(page: Page) -> bool:
    """Whether this session looked at another sentence or model before."""
    now = (page.sentence, page.state["model"])
    changed = bool(st.session_state.get(_SEEN, now) != now)
    st.session_state[_SEEN] = now
    return changed


def _path(page: Page, config: TransformerConfig, changed: bool) -> tuple[int, ...]:
    """What the decoder has written, if this model can have written it."""
    if changed:
        page.state["path"] = ()
    path: tuple[int, ...] = page.state["path"]
    wrong = [token for token in path if token >= config.vocabulary or token in SPECIAL_IDS]
    if wrong:
        page.complain(f"path: no text holds the token {wrong[0]}; the translation begins anew.")
    elif len(path) >= config.max_length:
        page.complain(f"path: the model writes at most {config.max_length - 1} tokens; it begins anew.")
    else:
        return path
    page.state["path"] = ()
    return ()
