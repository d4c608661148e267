"""The set-up that every page begins with, and what it gives the page."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, Literal, NoReturn

import streamlit as st

from atlas.bundles import ENVIRONMENT, find_bundles
from atlas.decoding import SearchOptions
from atlas.engine import Engine
from atlas.errors import AtlasError
from atlas.model.recurrent_config import RecurrentConfig
from atlas.trace import Trace
from atlas.ui import bar
from atlas.ui.addresses import own_keys, shared_keys
from atlas.ui.markup import notice
from atlas.ui.models import Answer, SharedEngine, TimedTrace, cached_answer, cached_trace, load_engine
from atlas.ui.navigation import configure, ensure_navigation, entry
from atlas.ui.readable import make_readable
from atlas.ui.saved import SavedTrace, open_saved, saved_trace_box
from atlas.ui.state import ViewState
from atlas.ui.takeaway import takeaway_menu
from atlas.ui.talk.library import Tours
from atlas.ui.talk.mode import talking
from atlas.ui.talk.playing import follow_tour, tours_here
from atlas.ui.talk.stage import set_stage, talk_box

Needs = Literal["trace", "model"]
Serves = Literal["transformer", "any"]


class Page:
    """What a page works with.

    Attributes:
        name: of the page, its address.
        state: the values that live in the address.
        engine: the shared engine; None while a saved trace of another model is shown.
        saved: the saved trace that is shown instead of the live model, if any.
    """

    def __init__(
        self, name: str, state: ViewState, engine: SharedEngine | None, saved: SavedTrace | None
    ) -> None:
        self.name = name
        self.state = state
        self.engine = engine
        self.saved = saved

    @property
    def model(self) -> SharedEngine:
        """The engine, for a page that works on the live model."""
        if self.engine is None:
            raise RuntimeError(f"the page {self.name} was opened without a model")
        return self.engine

    @property
    def sentence(self) -> str:
        """The one sentence that all pages show."""
        return self.saved.trace.source if self.saved else str(self.state["text"])

    @property
    def options(self) -> SearchOptions:
        """The search that the bar describes, with as many best hypotheses as the beam is wide."""
        state = self.state
        return SearchOptions(
            method="beam",
            beam=state["beam"],
            penalty=state["penalty"],
            alpha=state["alpha"],
            max_length=state["limit"] or None,
            n_best=state["beam"],
        )

    @property
    def trace(self) -> Trace:
        """The trace of the sentence, with scores before the softmax.

        Where there is none to show (an empty sentence, one that is too long), the page ends with a hint.
        """
        return self._timed().trace

    def trace_of(
        self, sentence: str | None = None, *, options: SearchOptions | None = None, **forced: Any
    ) -> Trace:
        """Another trace with scores, from the shared cache.

        Args:
            sentence: the sentence of the page when not given.
            options: those of the page when not given.
            **forced: ``target``, ``prefix`` or ``prefix_ids`` as in :meth:`atlas.engine.Engine.trace`.

        Raises:
            AtlasError: there is no model here, or it cannot trace this; one line for :meth:`complain`.
        """
        return self.timed_trace_of(sentence, options=options, **forced).trace

    def timed_trace_of(
        self, sentence: str | None = None, *, options: SearchOptions | None = None, **forced: Any
    ) -> TimedTrace:
        """:meth:`trace_of`, with the seconds that the model took when it was computed."""
        if self.engine is None:
            raise AtlasError("a saved trace is shown without its model, which this needs")
        text = self.sentence if sentence is None else sentence
        return cached_trace(self.engine, text, options or self.options, **forced)

    def study(self, what: str, *about: Hashable, find: Callable[[Engine], Answer]) -> Answer:
        """What an analysis finds out about the live model, from a cache that all sessions share.

        Args:
            what: name of the analysis.
            about: everything besides the model that the answer depends on.
            find: computes it, while it alone uses the model.

        Raises:
            AtlasError: whatever ``find`` says is wrong.
        """
        return cached_answer(self.model, (what, *about), find)

    def complain(self, message: object) -> None:
        """Show one clear line, literally."""
        notice(str(message))

    def stop(self, message: object) -> NoReturn:
        """Show one clear line and end the page here."""
        notice(str(message))
        st.stop()

    def link(self, name: str, label: str, *, icon: str | None = None, **changes: Any) -> None:
        """A link to another page with the same sentence and search.

        Args:
            name: of the page in the navigation.
            label: our own words, never those of the visitor (it is Markdown).
            icon: as in ``st.page_link``.
            **changes: values that differ there: of the shared keys, or the text of that page's own.
        """
        st.page_link(entry(name).path, label=label, icon=icon, query_params=self._query(changes))

    def go(self, name: str, **changes: Any) -> NoReturn:
        """Show another page at once, as if :meth:`link` had been clicked."""
        st.switch_page(entry(name).path, query_params=self._query(changes))

    def _query(self, changes: dict[str, Any]) -> dict[str, str]:
        """The shared part of the address with some values changed, and the other page's own values."""
        shared = {key.name for key in shared_keys([self.state["model"]])}
        own = {key: str(value) for key, value in changes.items() if key not in shared}
        address = self.state.address(**{key: value for key, value in changes.items() if key in shared})
        return {key: value for key, value in address.items() if key in shared} | own

    def _timed(self) -> TimedTrace:
        if self.saved:
            return TimedTrace(self.saved.trace, 0.0)
        if self.engine is None:
            raise RuntimeError("a page without a saved trace has an engine")
        if not self.sentence.strip():
            self.stop("Write a sentence above, or choose an example, to see what the model does with it.")
        try:
            return cached_trace(self.engine, self.sentence, self.options)
        except AtlasError as error:
            self.stop(error)


def open_page(
    name: str,
    title: str,
    lead: str,
    *,
    needs: Needs = "trace",
    show_bar: bool = True,
    serves: Serves = "transformer",
) -> Page:
    """Set a page up: configuration, navigation, address, sidebar, bar, translation, title.

    Args:
        name: of the page in the navigation, its address, and in :mod:`atlas.ui.addresses`.
        title: shown as the heading, our own words.
        lead: one line under it: what you see, what to try.
        needs: ``"trace"`` for a page that can draw a saved trace without a model, ``"model"`` for one that
            shows the live model even while a saved trace is open.
        show_bar: False for a page that asks for its sentences in its own way.
        serves: ``"any"`` for a page that also opens recurrent models; others end with a line that says where
            to go.

    Returns:
        The page. Where there is nothing to work with (no bundle, a damaged one), the script ends with a hint.
    """
    configure(title)
    ensure_navigation()
    bundles = find_bundles()
    models, tours = list(bundles), tours_here()
    follow_tour(name, tours, models)
    state = ViewState(name, (*shared_keys(models, tours.names), *own_keys(name)))
    saved = open_saved() if needs == "trace" else None
    with st.sidebar:
        engine, trouble = _sidebar(state, bundles, tours)
    set_stage(state, tours)
    make_readable()
    for message in state.notices:
        notice(message)
    if saved is None and engine is None:
        _heading(title, lead)
        if trouble:
            notice(trouble)
        else:
            _how_to_get_a_model()
        st.stop()
    if saved is not None and engine is not None and engine.hash != saved.trace.header.model_hash:
        engine = None
    page = Page(name, state, engine, saved)
    top = st.container()
    _heading(title, lead)
    if show_bar:
        with top:
            _bar(page)
    if serves == "transformer" and engine is not None and isinstance(engine.config, RecurrentConfig):
        page.stop(
            f"{engine.name} is a recurrent model; this page opens a Transformer. Choose another model in the "
            f"sidebar, or look at this one on Translate, Attention or Beam search."
        )
    if needs == "model" and open_saved() is not None:
        st.caption("This page works on the live model; Attention and Beam search show the saved trace.")
    return page


def _heading(title: str, lead: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.title(title, anchor=False)
        takeaway_menu()
    if not talking():
        st.caption(lead)


def _sidebar(state: ViewState, bundles: dict[str, Path], tours: Tours) -> tuple[SharedEngine | None, str]:
    """Model, device and saved trace. Returns the engine, or None and why there is none."""
    engine, trouble = None, ""
    if bundles:
        st.selectbox("Model", list(bundles), **state.widget("model"))
        try:
            engine = load_engine(bundles[state["model"]])
        except AtlasError as error:
            trouble = f"The model {state['model']} cannot be opened: {error}"
        else:
            st.caption(f"{engine.parameters / 1e6:.1f} M parameters · runs on {engine.device}")
    saved_trace_box()
    talk_box(state, tours)
    return engine, trouble


def _bar(page: Page) -> None:
    if page.saved and talking():
        bar.stage_lines(page.saved.trace)
        return
    if page.saved:
        bar.saved_bar(page.saved.trace, page.saved.file_name)
        return
    if not talking():
        bar.sentence_bar(page.state)
    if not page.sentence.strip():
        return
    timed = page._timed()
    if talking():
        bar.stage_lines(timed.trace)
        return
    if len(timed.trace.hypotheses):
        state = page.state
        bar.translation_line(
            timed.trace, [state["model"], f"beam {state['beam']}", f"{timed.seconds * 1000:.0f} ms"]
        )


def _how_to_get_a_model() -> None:
    st.subheader("No trained model was found", anchor=False)
    st.write("The pictures here are drawn from a model at work. Any one of these gives you one:")
    st.markdown("Train one yourself (minutes for a small one, on any computer), and come back:")
    st.code("atlas train --help", language="bash")
    st.markdown("Point the app at a bundle that you have, or at a folder of bundles:")
    st.code(
        f"atlas app --checkpoint path/to/bundle\n{ENVIRONMENT}=path/to/bundles atlas app", language="bash"
    )
    st.markdown("Or open a saved trace in the sidebar: Attention and Beam search draw it without a model.")
