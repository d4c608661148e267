"""Three models trained alike but for their positions, side by side, in Streamlit."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from atlas.analysis.length_scores import BINS, Interval, bleu_with_intervals, difference, interval
from atlas.analysis.position_models import compare_rows, row_similarities
from atlas.bundles import find_bundles
from atlas.checkpoint import read_description
from atlas.errors import AtlasError
from atlas.figures import position_models as figures
from atlas.figures.length_scores import LengthCurve, length_curves
from atlas.measurements import Measurement, load_measurement
from atlas.ui.chart import chart
from atlas.ui.markup import notice, show_facts
from atlas.ui.models import SharedEngine, load_engine
from atlas.ui.page import Page
from atlas.ui.theme import is_dark

KINDS = ("sinusoidal", "learned", "none")
SCORES = ("BLEU", "chrF", "length")
ROWS_SHOWN = 40


@dataclass(frozen=True)
class Twin:
    """One of the three models.

    Attributes:
        kind: of its positions.
        engine: the shared engine.
        recipe: its training configuration without name and positions.
        longest: tokens of its longest training sentence; None if its bundle does not say.
    """

    kind: str
    engine: SharedEngine
    recipe: dict[str, Any]
    longest: int | None


def open_twins() -> dict[str, Twin]:
    """The models ``positions-sinusoidal``, ``positions-learned`` and ``positions-none`` that are here.

    Raises:
        AtlasError: one of them is damaged.
    """
    bundles = find_bundles()
    here = {kind: bundles[f"positions-{kind}"] for kind in KINDS if f"positions-{kind}" in bundles}
    return {kind: _open(kind, path) for kind, path in here.items()}


def _open(kind: str, path: Path) -> Twin:
    config = read_description(path)["training"].get("config", {})
    recipe = {name: value for name, value in config.items() if name not in ("name", "model")}
    recipe |= {name: value for name, value in config.get("model", {}).items() if name != "positions"}
    longest = config.get("longest")
    return Twin(kind, load_engine(path), recipe, longest if isinstance(longest, int) else None)


def missing_line(twins: dict[str, Twin]) -> str | None:
    """One line on the models that are not here; None if all are."""
    gone = [f"positions-{kind}" for kind in KINDS if kind not in twins]
    if not gone:
        return None
    verb = "is" if len(gone) == 1 else "are"
    return f"{', '.join(gone)} {verb} not among the models; train with: atlas train {gone[0]}"


def twins_section(page: Page, twins: dict[str, Twin]) -> None:
    """How alike they are, their scores by length, and what training did to the learned rows."""
    st.subheader("Three models trained alike", anchor=False)
    line = missing_line(twins)
    if line:
        notice(line)
    if not twins:
        return
    one = next(iter(twins.values()))
    alike = all(twin.recipe == one.recipe for twin in twins.values())
    words = ", ".join(f"{twin.kind} {twin.engine.parameters:,}" for twin in twins.values())
    show_facts(
        [
            f"parameters: {words}",
            f"training sentences of up to {one.longest} tokens",
            "recipes equal but for the positions" if alike else "their recipes differ in more than positions",
        ]
    )
    scores_by_length(page, twins)
    learned_rows(twins)


def _measured(twins: dict[str, Twin]) -> dict[str, Measurement]:
    """The measurement ``lengths`` of each model that carries one; one line for each that does not."""
    found = {}
    for kind, twin in twins.items():
        measurement = load_measurement(twin.engine.folder, "lengths", twin.engine.hash)
        if measurement is None:
            notice(
                f"positions-{kind} was not measured by length yet; measure with: "
                f"atlas measure lengths positions-{kind}"
            )
        else:
            found[kind] = measurement
    return found


def scores_by_length(page: Page, twins: dict[str, Twin]) -> None:
    """Scores on held-out captions by the length of the source, and the claim about longer sentences."""
    st.markdown("**Scores by length**")
    st.caption(
        "Said in LLMs from Scratch, part 2: sinusoids might extrapolate to longer sentences than those of "
        "training, learned embeddings stop at the longest."
    )
    found = _measured(twins)
    if not found:
        return
    facts = next(iter(found.values())).facts
    names = dict(zip(SCORES, (*SCORES[:2], "length of translations"), strict=True))
    score = st.segmented_control(
        "Score", SCORES, format_func=names.__getitem__, required=True, **page.state.widget("score")
    )
    bins = len(BINS)
    curves = []
    for kind, measurement in found.items():
        arrays = measurement.arrays
        name = {"BLEU": "bleu", "chrF": "chrf", "length": "ratio"}[score]
        value = arrays[name][:bins]
        low = high = value
        if score == "BLEU":
            value, low, high = bleu_with_intervals(arrays)
        curves.append(LengthCurve(f"positions: {kind}", value, low, high, KINDS.index(kind)))
    figure = length_curves(
        curves,
        facts["groups"][:bins],
        facts["counts"][:bins],
        score={"length": "words of the translation / words of the reference"}.get(score, score),
        within=sum(high <= facts["longest"] for _, _, high in BINS),
        dark=is_dark(),
    )
    chart(figure, "positions.lengths", f"{score} of the models by the length of the source")
    _claim(found)
    show_facts([f"{facts['search']}", ", ".join(facts["tests"]), facts["signature"]])


def _claim(found: dict[str, Measurement]) -> None:
    """Both sides of training's length in numbers, with intervals, and the paired differences beyond it."""
    places = {kind: _sums(measurement) for kind, measurement in found.items()}
    for column, (kind, sums) in zip(st.columns(len(places)), places.items(), strict=True):
        inside, beyond = sums
        column.metric(
            f"{kind}: BLEU within → beyond",
            f"{inside.value:.1f} → {beyond.value:.1f}",
            help="Up to the longest sentence of training, and on longer ones. "
            f"95% intervals {inside.low:.1f} to {inside.high:.1f} and "
            f"{beyond.low:.1f} to {beyond.high:.1f}.",
        )
    kept = []
    for kind, (inside, beyond) in places.items():
        ratio = float(found[kind].arrays["ratio"][len(BINS) + 1])
        share = f"{beyond.value / inside.value:.0%}" if inside.value > 0 else "nothing"
        kept.append(f"{kind} keeps {share} ({ratio:.2f})")
    st.write(
        "Share of BLEU kept beyond the longest sentence of training (and how long translations are there, in "
        f"lengths of their references): {', '.join(kept)}."
    )
    gaps = [
        _beyond(found, "sinusoidal", other)
        for other in ("learned", "none")
        if {"sinusoidal", other} <= set(found)
    ]
    if gaps:
        st.write(f"On those sentences {'; '.join(gaps)} (95% intervals, the same resamples for both).")
    st.caption("Long captions are harder for every model: compare the curves with each other.")


def _sums(measurement: Measurement) -> tuple[Interval, Interval]:
    row = len(BINS)
    bleu, draws = measurement.arrays["bleu"], measurement.arrays["bleu_draws"]
    return interval(float(bleu[row]), draws[row]), interval(float(bleu[row + 1]), draws[row + 1])


def _beyond(found: dict[str, Measurement], first: str, second: str) -> str:
    """The paired difference of two models beyond training's length, in words."""
    row = len(BINS) + 1
    one, other = found[first].arrays, found[second].arrays
    gap = difference(
        float(one["bleu"][row]), one["bleu_draws"][row], float(other["bleu"][row]), other["bleu_draws"][row]
    )
    verdict = "" if gap.excludes_zero else ", not told apart"
    return f"{first} − {second} = {gap.value:+.1f} BLEU ({gap.low:+.1f} to {gap.high:+.1f}{verdict})"


def learned_rows(twins: dict[str, Twin]) -> None:
    """Cosine between positions: the sinusoidal table beside the learned one, and its untrained rows."""
    shown = [twins[kind] for kind in ("sinusoidal", "learned") if kind in twins]
    if not shown:
        return
    st.markdown("**Similarity of positions**")
    st.caption("Cosine of every two rows: near positions alike, far ones not. Dotted: where training ended.")
    for column, twin in zip(st.columns(2), shown, strict=False):
        with column:
            table = twin.engine.positions(min(ROWS_SHOWN, twin.engine.config.max_length))
            trained = twin.longest if twin.kind == "learned" else None
            figure = figures.row_similarity(row_similarities(table), trained=trained, dark=is_dark())
            st.write(f"{twin.kind}")
            chart(figure, f"positions.similar.{twin.kind}", f"Cosine between {twin.kind} positions")
            if trained is None:
                continue
            try:
                rows = compare_rows(table, trained)
            except AtlasError as error:
                notice(str(error))
                continue
            show_facts(
                [
                    f"rows 0–{trained - 1} trained: norm {rows.norm_trained:.2f}, "
                    f"neighbours' cosine {rows.neighbours_trained:.2f}",
                    f"rows {trained}–{len(table) - 1} never used: norm {rows.norm_rest:.2f}, "
                    f"cosine {rows.neighbours_rest:.2f}",
                ]
            )
