"""What generating costs: multiply-adds counted exactly, and seconds measured on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from atlas.analysis.generation_timing import GenerationTimer, StepTimes
from atlas.analysis.operations import (
    Operations,
    doubling_lengths,
    generation,
    steps,
)
from atlas.figures import cost_curves as figures
from atlas.figures.cost_curves import WITH, WITHOUT, Curve
from atlas.ui.attention.choice import show_new_notices
from atlas.ui.chart import chart
from atlas.ui.cost.findings import Finding, cost_table, counted, measured, part, verdict
from atlas.ui.cost.timing_job import SLICE_SECONDS, TimingJob
from atlas.ui.cost.view import LENGTHS, ROUNDS, Shown
from atlas.ui.markup import notice, show_facts
from atlas.ui.page import Page
from atlas.ui.theme import is_dark

_JOB = "atlas.cost.timing"
_POLL_SECONDS = 0.5
_PATIENCE_SECONDS = 10.0
PARTS = {
    "projections": "projections",
    "feed_forward": "feed-forward",
    "attention": "attention",
    "cross": "to the source",
    "source": "source K, V",
    "vocabulary": "vocabulary",
}
"""Name of a part of :class:`Operations` -> our words for it."""


@dataclass
class _Measured:
    """A measurement of this session: what it is about, and its job."""

    about: tuple[Any, ...]
    timer: GenerationTimer
    job: TimingJob


def time_part(page: Page, shown: Shown) -> None:
    """The whole part.

    Raises:
        AtlasError: the model cannot read so much.
    """
    config = page.model.config
    allowed = [length for length in LENGTHS if int(length) <= config.max_length]
    if not allowed:
        notice(f"This model reads at most {config.max_length} tokens: too few to see how the cost grows.")
        return
    known = page.state.notices
    longest = page.state.restrict(
        "time_length", allowed.__contains__, allowed[-1], f"one of {', '.join(allowed)} tokens"
    )
    show_new_notices(page.state, known)
    st.caption(
        "What it takes to generate a text: the model reads its own translation over and over, token by token."
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.segmented_control("Length (tokens)", allowed, required=True, **page.state.widget("time_length"))
        st.segmented_control("Rounds", ROUNDS, required=True, **page.state.widget("time_rounds"))
        current = _control(page, shown, int(longest))
    times = None if current is None or current.job.running else _times(current)
    source = len(shown.source)
    lengths = doubling_lengths(int(longest))
    counts = {
        cached: [generation(config, length, source, cached=cached) for length in lengths]
        for cached in (True, False)
    }
    _pictures(page, counts, lengths, times, source)
    _metrics(counted(config, lengths, counts, source))
    if times is not None:
        _metrics(measured(config, times, source, page.study("cost.weights", find=_read_bytes)))
    st.write(verdict(lengths, counts, times))
    st.table(cost_table(lengths, counts, times))


def _metrics(found: list[Finding]) -> None:
    for column, one in zip(st.columns(len(found), gap="medium"), found, strict=True):
        column.metric(one.name, one.value, help=one.meaning)


def _read_bytes(engine: Any) -> int:
    """Bytes of the weights that one decoding step reads: the decoder's and the output matrix."""
    model = engine.model
    matrices = [*model.decoder.parameters(), *model.decoder_norm.parameters(), model.unembedding]
    return sum(matrix.numel() * matrix.element_size() for matrix in matrices)


def _control(page: Page, shown: Shown, longest: int) -> _Measured | None:
    """The button, or the progress of what it started."""
    about = (page.model.hash, shown.source, shown.target, longest, page.state["time_rounds"])
    measured: _Measured | None = st.session_state.get(_JOB)
    if measured is not None and measured.about != about:
        measured.job.stop()
        measured = None
    if measured is None or not measured.job.running:
        st.button(
            "Measure on this machine" if measured is None else "Measure again",
            type="primary" if measured is None else "secondary",
            icon=":material/timer:",
            on_click=_start,
            args=(page, shown, longest, about),
        )
        return measured
    # Not in the fragment, which draws itself anew all the time: a click there can come to nothing.
    st.button("Stop", icon=":material/stop:", on_click=_stop, args=(measured.job,))
    st.fragment(_progress, run_every=_POLL_SECONDS)(measured.job)
    return measured


def _start(page: Page, shown: Shown, longest: int, about: tuple[Any, ...]) -> None:
    context = get_script_run_ctx()
    session = context.session_id if context else ""
    timer = GenerationTimer(shown.source, shown.target, longest, int(page.state["time_rounds"]))
    shared = page.model
    job = TimingJob(
        timer,
        lambda: shared.ask(lambda engine: timer.advance(engine.model, SLICE_SECONDS)),
        lambda: not runtime.exists() or runtime.get_instance().is_active_session(session),
    )
    st.session_state[_JOB] = _Measured(about, timer, job)
    job.start()


def _progress(job: TimingJob) -> None:
    if not job.running:
        st.rerun()
    st.progress(job.share, text=f"{job.share:.0%} measured", width=220)


def _stop(job: TimingJob) -> None:
    """End it, and wait for the slice that is at work, so that the page can draw what was measured."""
    job.stop()
    job.join(_PATIENCE_SECONDS)


def _times(measured: _Measured) -> StepTimes | None:
    """What was measured; None when it ended before there was anything to say."""
    if measured.job.error:
        notice(f"The measurement ended by an error: {measured.job.error}")
    if measured.job.stopped:
        notice(f"Stopped after {measured.job.done:,} steps: what was measured until then is drawn.")
    return measured.timer.times if measured.job.done > 1 else None


def _pictures(
    page: Page,
    counts: dict[bool, list[Operations]],
    lengths: list[int],
    times: StepTimes | None,
    source: int,
) -> None:
    dark = is_dark()
    left, right = st.columns(2, gap="medium")
    with left:
        st.subheader("Counted: multiply-adds for the whole text", anchor=False)
        curves = [
            Curve("attention, no cache", part(counts[False], "attention"), WITHOUT),
            Curve("all else, no cache", part(counts[False], "rest"), WITHOUT, "dot", "circle-open"),
            Curve("attention, cache", part(counts[True], "attention"), WITH),
            Curve("all else, cache", part(counts[True], "rest"), WITH, "dot", "circle-open"),
        ]
        chart(
            figures.by_length(lengths, curves, "multiply-adds", "multiply-adds", dark=dark),
            "cost.counts",
            "Multiply-adds by length, attention and the rest, with a cache and without",
        )
    with right:
        if times is None:
            st.subheader("Counted: multiply-adds of each step without a cache", anchor=False)
            each = steps(page.model.config, lengths[-1], source, cached=False)
            parts = {words: part(each, name) for name, words in PARTS.items()}
            chart(
                figures.step_operations(parts, dark=dark), "cost.parts", "Multiply-adds of each step, by part"
            )
        else:
            st.subheader("Measured: time of each step", anchor=False)
            seconds = {"with": times.cached, "without": times.uncached}
            chart(figures.step_times(seconds, dark=dark), "cost.steps", "Milliseconds of each step")
    if times is not None:
        show_facts(
            [
                f"PyTorch with {times.threads} thread{'s' if times.threads > 1 else ''}, runs on "
                f"{page.model.device}",
                f"the fastest of {times.rounds} round{'s' if times.rounds > 1 else ''}",
                f"both ways give the same logits: largest difference {times.difference:.1e}",
            ]
        )
