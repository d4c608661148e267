"""How every run went: loss, perplexity, learning rate and BLEU of all bundles on one sheet."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import streamlit as st

from atlas.analysis.histories import History, HistoryError, perplexity_error, read_history
from atlas.bundles import find_bundles
from atlas.checkpoint import HISTORY
from atlas.errors import AtlasError
from atlas.figures.training_curves import PANELS, Curve, learning_curves
from atlas.measurements import load_measurement
from atlas.ui.chart import chart
from atlas.ui.markup import show_facts
from atlas.ui.page import Page
from atlas.ui.theme import is_dark

ACROSS: Final = {
    "step": "updates",
    "epoch": "epochs",
    "target_tokens": "target tokens",
    "minutes": "minutes",
}
"""What may run across: column -> the words for it."""

MATHS: Final = r"""
**Loss**: the mean of $-\log P(y_t\mid y_{<t},x)$ in nats over target tokens, end marks included and
padding left out. **Perplexity** is $e^{loss}$, nothing else. Training losses are measured with dropout on,
losses on held-out sentences without, so that early in training a model looks better on sentences that it
has not seen.

**Learning rate**: Adam's step size at that update. With the inverse square root schedule of Vaswani et al.
(2017, equation 3) it rises for the first updates and then falls as $step^{-1/2}$.

**BLEU** is of greedy translations of some development sentences of the run's own corpus: compare runs on
one corpus only. Scores on test sets stand on each model's card.
"""


def show(page: Page) -> None:
    """The whole part."""
    state = page.state
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        st.segmented_control(
            "Across",
            list(ACROSS),
            format_func=ACROSS.__getitem__,
            required=True,
            **state.widget("across"),
        )
        st.toggle(
            "Loss on training sentences too (dotted)",
            help="Measured with dropout on; the solid curves are of held-out sentences without it.",
            **state.widget("trainloss"),
        )
    histories = _histories(page)
    if not histories:
        page.complain("None of the models found here has a history that can be drawn.")
        return
    curves = []
    for history in histories:
        drawn = _curves(history, state["across"], state["trainloss"])
        _say_what_is_missing(page, history, state["across"], drawn)
        curves += drawn
    if not curves:
        return
    chart(
        learning_curves(curves, across=ACROSS[state["across"]], dark=is_dark()),
        "training.curves",
        f"Loss, perplexity, learning rate and BLEU of {len(histories)} runs",
    )
    errors = [error for error in map(perplexity_error, histories) if error is not None]
    if errors:
        show_facts(
            [
                f"perplexity = exp(loss): largest relative difference {max(errors):.0e} over all rows (files "
                "keep six digits)",
                "BLEU: each run on development sentences of its own corpus",
            ]
        )
    with st.expander("The maths"):
        st.markdown(MATHS)


def _curves(history: History, across: str, training: bool) -> list[Curve]:
    """The lines of one run; a column that its file lacks draws none."""
    wanted = [
        ("loss", "development_loss", False),
        ("perplexity", "development_perplexity", False),
        ("rate", "learning_rate", False),
        ("bleu", "bleu", False),
    ]
    if training:
        wanted += [("loss", "train_loss", True), ("perplexity", "train_perplexity", True)]
    curves = []
    for panel, column, faint in wanted:
        pairs = history.pairs(across, column)
        if pairs is not None and len(pairs[0]):
            curves.append(Curve(history.name, panel, *pairs, faint=faint))
    return curves


def _say_what_is_missing(page: Page, history: History, across: str, drawn: list[Curve]) -> None:
    """One line for a run of which not every panel has a line."""
    if across not in history.columns:
        page.complain(f"{history.name}: its history does not say its {ACROSS[across]}, so it is not drawn")
        return
    missing = [panel for panel in PANELS if panel not in {curve.panel for curve in drawn}]
    if missing:
        page.complain(f"{history.name}: its history has no numbers for {', '.join(missing)}")


def _histories(page: Page) -> list[History]:
    """The history of every bundle, and of runs of which only a measurement was kept; one line for each
    that is not usable."""
    histories: dict[str, History] = {}
    for name, path in find_bundles().items():
        for run, text in _texts(page, name, path):
            try:
                histories.setdefault(run, read_history(run, text))
            except HistoryError as error:
                page.complain(error)
    return list(histories.values())


def _texts(page: Page, name: str, path: Path) -> list[tuple[str, str]]:
    """Names and CSV texts that one bundle carries."""
    texts = []
    try:
        texts.append((name, (path / HISTORY).read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError):
        page.complain(f"{name}: it has no {HISTORY} that can be read")
    try:
        measured = load_measurement(path, "calibration")
    except AtlasError as error:
        page.complain(error)
        return texts
    if measured is not None:
        texts.append((str(measured.facts["plain"]["name"]), str(measured.facts["history"])))
    return texts
