"""The Transformer beside its recurrent ancestors, in Streamlit."""

from __future__ import annotations

import streamlit as st

from atlas.analysis.length_scores import BINS, bleu_with_intervals
from atlas.analysis.training_speed import Speeds, training_speeds
from atlas.bundles import find_bundles
from atlas.errors import AtlasError
from atlas.figures.attention import head_map
from atlas.figures.heatmap import heatmap
from atlas.figures.length_scores import LengthCurve, length_curves
from atlas.measurements import load_measurement
from atlas.trace import Trace
from atlas.ui.chart import chart
from atlas.ui.markup import notice, show_facts, show_translation
from atlas.ui.models import SharedEngine, cached_trace, load_engine
from atlas.ui.page import Page
from atlas.ui.tables import show_table
from atlas.ui.theme import is_dark

LENGTHS = (8, 32, 96)
ANCESTORS = {
    "none": "(a) One vector",
    "additive": "(b) Additive attention",
    "dot": "(c) Dot-product attention",
    "transformer": "(d) Transformer",
}
SOURCES = {
    "none": "Sutskever et al. 2014; Cho et al. 2014",
    "additive": "Bahdanau et al. 2015",
    "dot": "Luong et al. 2015",
    "transformer": "Vaswani et al. 2017",
}


def open_ancestors() -> dict[str, SharedEngine]:
    """The four models that are here; one line for each that is not or is damaged."""
    bundles = find_bundles()
    found = {}
    for kind in ANCESTORS:
        name = f"ancestors-{kind}"
        if name not in bundles:
            notice(f"{name} is not among the models; train it with: atlas train {name}")
            continue
        try:
            found[kind] = load_engine(bundles[name])
        except AtlasError as error:
            notice(str(error))
    return found


def show_ancestors(page: Page, models: dict[str, SharedEngine]) -> None:
    """Translations, alignments on one scale, scores by length, and the formulas."""
    traces: dict[str, Trace] = {}
    for kind, engine in models.items():
        try:
            traces[kind] = cached_trace(engine, page.sentence, page.options).trace
        except AtlasError as error:
            notice(f"{engine.name}: {error}")
    if traces:
        _translations(models, traces)
        _alignments(traces)
    _by_length(models)
    _speed(page, models)
    _maths()


def _translations(models: dict[str, SharedEngine], traces: dict[str, Trace]) -> None:
    st.subheader("One sentence, four translations", anchor=False)
    st.caption("Trained on photo captions: try one, such as 'A man in a red shirt is riding a bicycle.'")
    for kind, trace in traces.items():
        if not len(trace.hypotheses):
            continue
        node = int(trace.hypotheses[0])
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"**{ANCESTORS[kind]}**", width=220)
            show_translation(trace, node, size="1.05rem")
        total = float(trace.path(node).logprobs.sum())
        show_facts(
            [
                f"{models[kind].parameters / 1e6:.2f} M parameters",
                f"log p {total:.2f} nats".replace("-", "−"),
                SOURCES[kind],
            ]
        )


def _alignments(traces: dict[str, Trace]) -> None:
    st.subheader("Alignments, on one scale", anchor=False)
    st.caption(
        "Each row is a token of the translation as it is predicted; ink is how much the model looks at a "
        "source token, 0 to 1. (a) has no picture: everything goes through one "
        "vector. Of (d), the mean over the heads of the last layer."
    )
    shown = {
        kind: trace for kind, trace in traces.items() if "cross" in trace.kinds and len(trace.hypotheses)
    }
    for column, (kind, trace) in zip(st.columns(max(len(shown), 1)), shown.items(), strict=False):
        node = int(trace.hypotheses[0])
        picture = head_map(
            trace, "cross", layer=trace.path(node).cross.shape[0] - 1, head="mean", node=node, rows="output"
        )
        with column:
            st.markdown(f"**{ANCESTORS[kind]}**")
            figure = heatmap(picture, top=1.0, dark=is_dark(), height=440)
            figure.update_traces(showscale=False, selector={"type": "heatmap"})
            figure.update_layout(title=None).update_xaxes(tickangle=-90)
            chart(
                figure,
                f"ancestors.alignment.{kind}",
                f"{ANCESTORS[kind]}: weights from each word of the translation to each source word",
            )


def _by_length(models: dict[str, SharedEngine]) -> None:
    st.subheader("The bottleneck: BLEU by length of the source", anchor=False)
    st.caption(
        "Held-out captions, beam 5, with 95% intervals: how the figure of Bahdanau et al. 2015 looks on our "
        "data. `atlas measure lengths` prints it."
    )
    curves, facts = [], None
    for kind, engine in models.items():
        try:
            measurement = load_measurement(engine.folder, "lengths", engine.hash)
        except AtlasError as error:
            notice(str(error))
            continue
        if measurement is None:
            notice(
                f"{engine.name} was not measured by length; measure with: atlas measure lengths {engine.name}"
            )
            continue
        facts = measurement.facts
        look = list(ANCESTORS).index(kind)
        curves.append(LengthCurve(ANCESTORS[kind], *bleu_with_intervals(measurement.arrays), look))
    if facts is None:
        return
    figure = length_curves(
        curves,
        facts["groups"][: len(BINS)],
        facts["counts"][: len(BINS)],
        score="BLEU",
        within=len(BINS),
        dark=is_dark(),
    )
    chart(figure, "ancestors.lengths", "BLEU of the four models by the number of source tokens")


def _speed(page: Page, models: dict[str, SharedEngine]) -> None:
    st.subheader("Recurrent against parallel: training speed by length", anchor=False)
    st.caption(
        "Target tokens a second of one update, here and now, two rounds: read small differences as none. "
        "`atlas bench ancestors` measures it properly."
    )
    key = ("ancestors.speeds", *(engine.hash for engine in models.values()))
    known: dict[tuple[str, ...], Speeds] = st.session_state.setdefault("atlas.ancestors.speeds", {})
    if st.button("Time it", icon=":material/timer:", key="ancestors.time") and models:
        with st.spinner("Each model takes its turn at each length..."):
            networks = {kind: engine.ask(lambda one: one.network) for kind, engine in models.items()}
            known[key] = page.model.ask(
                lambda engine: training_speeds(
                    networks, lengths=LENGTHS, tokens=256, rounds=2, device=engine.network.device
                )
            )
    speeds = known.get(key)
    if speeds is None:
        st.info('Press "Time it": some seconds, on this machine.', icon=":material/timer:")
        return
    show_table(
        ["Model", *(f"{length} tokens" for length in speeds.lengths)],
        [
            [ANCESTORS[kind], *(f"{rate:,.0f}" for rate in row)]
            for kind, row in zip(speeds.names, speeds.rate, strict=True)
        ],
    )


def _maths() -> None:
    with st.expander("The maths"):
        st.markdown(
            r"""
**(a) One vector** (Sutskever et al. 2014; Cho et al. 2014). The encoder's last states, of both directions,
are one vector $c$: the decoder begins with it, reads it again at every step, and sees nothing else of the
source.

**(b) Additive attention** (Bahdanau et al. 2015, section 3.1):

$$
e_{tj}=v^\top\tanh(W s_{t-1}+U h_j)\qquad
\alpha_{tj}=\mathrm{softmax}_j(e_{tj})\qquad c_t=\sum_j\alpha_{tj}h_j
$$

**(c) Dot-product attention** (Luong et al. 2015, section 3.1, *dot*): $e_{tj}=s_t^\top h_j$, the same softmax
and sum.

**(d) Transformer** (Vaswani et al. 2017, equation 1): $\mathrm{softmax}(QK^\top/\sqrt{K})V$, several heads,
no recurrence. Its picture is the mean over the heads of the last layer.

All four read the same captions with the same tokenizer for 8 epochs, with about as many parameters.
"""
        )
