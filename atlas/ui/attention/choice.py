"""What the Attention page shows, as the address holds it: a head of a sentence, and how it is shown.

Layers and heads count from 1 in the address and on the screen, from 0 in traces and figures.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from atlas import limits
from atlas.errors import AtlasError
from atlas.figures.attention import head_grid
from atlas.figures.mosaic import SCALES, SUMMARIES, HeadGrid
from atlas.trace import Trace
from atlas.trace.views import Head, Kind, View, view
from atlas.ui import keys
from atlas.ui.keys import Key
from atlas.ui.markup import notice
from atlas.ui.page import Page
from atlas.ui.state import ViewState

MOST: Final = 64
"""Layers and heads that an address may name; what a trace really has is checked later."""

KIND = keys.choice("kind", ["encoder", "decoder", "cross"], "encoder")
LAYER = keys.integer("layer", 1, 1, MOST)
HEAD = keys.choice("head", [*map(str, range(1, MOST + 1)), *SUMMARIES], "1")
HYPOTHESIS = keys.integer("hyp", 1, 1, MOST)
NODE = keys.integers("node")
TARGET = keys.text("target")


@dataclass(frozen=True)
class Choice:
    """One head of one sentence.

    Attributes:
        text: the source sentence.
        target: the user's own translation that the model was made to read; "" for the model's.
        hyp: which hypothesis, 1 the best.
        node: token path of another node of the search; () for a hypothesis.
        kind: encoder, decoder or cross.
        layer: counted from 1.
        head: "1" and so on, "mean" or "max".
    """

    text: str
    target: str
    hyp: int
    node: tuple[int, ...]
    kind: Kind
    layer: int
    head: str

    @property
    def column(self) -> Head:
        """The head as traces count it: from 0, or "mean" or "max"."""
        summaries: dict[str, Head] = {"mean": "mean", "max": "max"}
        return summaries[self.head] if self.head in summaries else int(self.head) - 1

    @classmethod
    def of(cls, page: Page) -> Choice:
        """What the page shows now."""
        state = page.state
        return cls(
            page.sentence,
            state["target"],
            state["hyp"],
            state["node"],
            state["kind"],
            state["layer"],
            state["head"],
        )


_PARTS: Final[tuple[Key[Any], ...]] = (
    keys.text("text", limit=limits.SENTENCE.value),
    TARGET,
    HYPOTHESIS,
    NODE,
    KIND,
    LAYER,
    HEAD,
)


def read_choice(raw: str) -> Choice:
    """A choice from the text that :func:`write_choice` made.

    Raises:
        ValueError: it is no such text.
    """
    found = dict(parse_qsl(raw, keep_blank_values=True, strict_parsing=True))
    if set(found) != {key.name for key in _PARTS}:
        raise ValueError(f"not a pinned head: {raw[:60]!r}")
    return Choice(**{key.name: key.read(found[key.name]) for key in _PARTS})


def write_choice(choice: Choice) -> str:
    """A choice as one value of the address."""
    return urlencode({key.name: key.write(getattr(choice, key.name)) for key in _PARTS})


def _read_pin(raw: str) -> str:
    return write_choice(read_choice(raw)) if raw else ""


KEYS: Final[tuple[Key[Any], ...]] = (
    KIND,
    LAYER,
    HEAD,
    HYPOTHESIS,
    NODE,
    TARGET,
    keys.choice("unit", ["pieces", "words"], "pieces"),
    keys.flag("special", True),
    keys.choice("scale", list(SCALES), "head"),
    keys.choice("rows", ["input", "output"], "output"),
    keys.decimal("threshold", 0.05, 0.0, 1.0),
    keys.integers("words"),
    Key("pin", "", _read_pin, str, "what the button that pins a head writes"),
)
"""Everything that the Attention page adds to the address."""


@dataclass(frozen=True)
class Located:
    """A choice and where its numbers are: the trace and the node at the end of its path."""

    choice: Choice
    trace: Trace
    node: int

    def view(self, state: ViewState, *, everything: bool = False) -> View:
        """The numbers of the chosen head, or of all heads of its kind, shown as the page says.

        Raises:
            TraceError: no such layer or head, or rows that were not kept.
        """
        which: dict[str, Any] = (
            {} if everything else {"layer": self.choice.layer - 1, "head": self.choice.column}
        )
        return view(self.trace, self.choice.kind, **which, **shown_as(state), node=self.node)


def shown_as(state: ViewState) -> dict[str, Any]:
    """How heads are shown, as arguments of :func:`atlas.trace.views.view`."""
    return {name: state[name] for name in ("unit", "special", "rows")}


def locate(page: Page, choice: Choice) -> Located:
    """Find the trace of a choice and the node that its hypothesis ends in.

    Args:
        page: gives traces of the live model, or the saved one.
        choice: of this page, or pinned on it earlier.

    Raises:
        AtlasError: it needs a model that is not here, or its hypothesis or node does not exist.
    """
    trace = _trace_of(page, choice)
    if choice.node:
        return Located(choice, trace, trace.node_for(choice.node))
    count = len(trace.hypotheses)
    if choice.hyp > count:
        raise AtlasError(f"hypothesis {choice.hyp} is not here: this search found {count}")
    return Located(choice, trace, int(trace.hypotheses[choice.hyp - 1]))


def _trace_of(page: Page, choice: Choice) -> Trace:
    if choice.target:
        return page.trace_of(choice.text, target=choice.target)
    if choice.text == page.sentence:
        return page.trace
    return page.trace_of(choice.text)


def kinds_of(page: Page) -> tuple[str, ...]:
    """The kinds of attention that the model of the page has; where it has none, the page ends with a line."""
    kinds = page.trace.kinds
    if not kinds:
        page.stop(
            "This model has no attention to look at: the whole sentence reaches its decoder as one vector."
        )
    return kinds


def settle(page: Page) -> tuple[Located, HeadGrid]:
    """What the page shows, after every value of the address was checked against the trace.

    A value that this trace lacks (a layer too many, a node of another search) becomes the default, with a
    notice.

    Returns:
        The choice with its trace, and all heads of its kind.
    """
    state, known = page.state, set(page.state.notices)
    kinds = kinds_of(page)
    if state["kind"] not in kinds:
        state["kind"] = kinds[0]
    try:
        trace = _trace_of(page, Choice.of(page))
    except AtlasError as error:
        if not state["target"]:
            page.stop(error)
        page.complain(f"Your own target cannot be shown: {error}")
        state["target"] = ""
        trace = page.trace
    count = len(trace.hypotheses)
    if not count:
        page.stop(
            "The search found no translation, so there is nothing to look at. Try a longer length limit."
        )
    state.restrict(
        "node",
        lambda path: not path or _has_rows(trace, path),
        (),
        "a node of this search whose attention was kept",
    )
    state.restrict("hyp", lambda place: place <= count, 1, f"a hypothesis from 1 to {count}")
    located = locate(page, Choice.of(page))
    grid = head_grid(trace, state["kind"], **shown_as(state), node=located.node)
    state.restrict(
        "layer", lambda layer: layer <= grid.layers, grid.layers, f"a layer from 1 to {grid.layers}"
    )
    state.restrict("head", grid.columns.__contains__, "1", f"a head from 1 to {grid.heads}, mean or max")
    show_new_notices(state, known)
    return Located(Choice.of(page), trace, located.node), grid


def show_new_notices(state: ViewState, known: Collection[str]) -> None:
    """Show here the notices that came after the top of the page was drawn, where ``known`` ones are shown."""
    for message in state.notices:
        if message not in known:
            notice(message)


def _has_rows(trace: Trace, path: tuple[int, ...]) -> bool:
    try:
        trace.path(trace.node_for(path))
    except AtlasError:
        return False
    return True


def describe(choice: Choice) -> str:
    """A choice in one line of plain text, without its layer and head."""
    parts = [choice.text]
    if choice.kind != "encoder":
        if choice.target:
            parts.append(f"your own target: {choice.target}")
        else:
            parts.append("a node of the search" if choice.node else f"hypothesis {choice.hyp}")
    return " · ".join(parts)


def setter(state: ViewState, name: str) -> Callable[[Any], None]:
    """A callback that stores a value that a component tells."""

    def store(value: Any) -> None:
        state[name] = value

    return store
