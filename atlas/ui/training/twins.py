"""Two models trained alike, one with label smoothing and one without, as they were measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import streamlit as st

from atlas.analysis.calibration import Reliability
from atlas.bundles import find_bundles
from atlas.errors import AtlasError
from atlas.figures import training_smoothing as figures
from atlas.figures.training import FIRST, SECOND
from atlas.measurements import Measurement, load_measurement
from atlas.ui.chart import chart
from atlas.ui.markup import show_facts
from atlas.ui.page import Page
from atlas.ui.theme import is_dark
from atlas.ui.training.snapshots import snapshot_hashes

NAME: Final = "calibration"
COMMAND: Final = (
    "atlas train configs/multi30k-no-smoothing.toml --out runs/out/multi30k-no-smoothing\n"
    "atlas measure calibration runs/out/multi30k-no-smoothing --baseline multi30k-en-fr --baseline-step 1255"
)
_ROWS: Final = (
    ("ece", "Calibration error (ECE)", 100, "%"),
    ("confidence", "Mean confidence", 100, "%"),
    ("accuracy", "Right tokens", 100, "%"),
    ("entropy", "Entropy", 1, "nats"),
    ("loss", "Cross-entropy", 1, "nats"),
    ("norm", "Norm of centred logits", 1, ""),
    ("top", "Largest centred logit", 1, ""),
    ("slope", "Gradient norm at the logits", 1, "≤ √2"),
)


def find_measurement(page: Page) -> Measurement | None:
    """The measurement of the loaded bundle or else of the first one that carries any; None where none does.

    One that cannot be read, or was made on weights that its bundle does not carry, is named in a line and
    left out.
    """
    bundles = find_bundles()
    loaded = page.model.folder
    paths: list[Path] = [*([loaded] if loaded else []), *bundles.values()]
    for path in dict.fromkeys(paths):
        try:
            found = load_measurement(path, NAME)
            if found is None:
                continue
            if found.model_hash in snapshot_hashes(path):
                return found
            page.complain(
                f"{path.name}: its measurement {NAME!r} was made on weights that it does not carry; "
                f"measure again: {found.command}"
            )
        except AtlasError as error:
            page.complain(error)
    return None


def show_twins(page: Page) -> None:
    """Reliability, entropy, logits and gradients of the two, beside each other."""
    st.subheader("Two models, trained with it and without", anchor=False)
    found = find_measurement(page)
    if found is None:
        page.complain("None of the models found here carries this measurement. These commands make it:")
        st.code(COMMAND, language="bash")
        return
    facts = found.facts
    smoothed, plain = facts["smoothed"], facts["plain"]
    names = (f"with, α = {smoothed['smoothing']:g}", "without")
    show_facts(
        [
            f"{smoothed['name']} and {plain['name']}, {smoothed['step']:,} and {plain['step']:,} updates",
            f"{facts['corpus']}: {facts['sentences']:,}, {facts['tokens']:,} tokens, teacher forcing",
            f"again: {found.command}",
        ]
    )
    for column, model, name, colour in zip(
        st.columns(2, gap="large"), ("smoothed", "plain"), names, (FIRST, SECOND), strict=True
    ):
        with column:
            _reliability(found, model, name, colour)
    _numbers(facts, names)
    left, right = st.columns(2, gap="large")
    for column, what, title in (
        (left, "entropy", "entropy of the next-token distribution (nats)"),
        (right, "norm", "norm of the centred logits"),
    ):
        with column:
            figure = figures.two_histograms(
                found.arrays[f"{what}.edges"],
                found.arrays[f"smoothed.{what}"],
                found.arrays[f"plain.{what}"],
                names=names,
                title=title,
                dark=is_dark(),
            )
            chart(figure, f"training.{what}", f"How {title} is spread over tokens, for both models")
    _gradients(found)


def _reliability(found: Measurement, model: str, name: str, colour: str) -> None:
    bins = Reliability(*(found.arrays[f"{model}.{what}"] for what in ("counts", "confidence", "accuracy")))
    st.markdown(f"**Trained {name}**: calibration error {bins.error:.2%}")
    chart(
        figures.reliability_diagram(
            bins.counts, bins.confidence, bins.accuracy, colour=colour, dark=is_dark()
        ),
        f"training.reliability.{model}",
        f"Reliability diagram of the model trained {name}: share of right tokens by confidence",
    )


def _numbers(facts: Mapping[str, Any], names: tuple[str, str]) -> None:
    """A row a number: both models, their difference, and its interval."""
    differences = facts["intervals"]["difference"]
    table: dict[str, list[str]] = {"a token": [], names[0]: [], names[1]: [], "difference (95% interval)": []}
    for key, words, factor, unit in _ROWS:
        first, second = (factor * facts[model][key] for model in ("smoothed", "plain"))
        low, high = (factor * limit for limit in differences[key])
        table["a token"].append(f"{words} ({unit})" if unit else words)
        table[names[0]].append(f"{first:.3f}")
        table[names[1]].append(f"{second:.3f}")
        table["difference (95% interval)"].append(f"{first - second:+.3f} ({low:+.3f} to {high:+.3f})")
    st.table(table, border="horizontal", hide_index=True)
    show_facts(["intervals: 1,000 bootstrap draws of whole sentences, the same for both models"])


def _gradients(found: Measurement) -> None:
    """Does smoothing tame gradients? Norms of training batches under both losses."""
    facts = found.facts
    st.markdown("**Does smoothing prevent exploding gradients**, as part 4 of LLM Atlas says?")
    groups = [
        (f"trained {words}, loss {loss_words}", found.arrays[f"{model}.{loss}.gradients"], colour)
        for model, words, colour in (("smoothed", "with", FIRST), ("plain", "without", SECOND))
        for loss, loss_words in (("smoothed", "with"), ("plain", "without"))
    ]
    left, right = st.columns([0.6, 0.4], gap="large")
    with left:
        chart(
            figures.gradient_strips(groups, clip=facts["clip"], dark=is_dark()),
            "training.gradients",
            "Gradient norms of training batches for both models under both losses",
        )
    with right:
        for name, norms, _ in groups:
            show_facts([f"{name}: median {np.median(norms):.3f}", f"largest {np.max(norms):.3f}"])
        own = [found.arrays[f"{model}.{model}.gradients"] for model in ("smoothed", "plain")]
        medians = [float(np.median(norms)) for norms in own]
        st.write(
            f"Each model under its own loss: median norm {medians[0]:.3f} with smoothing, {medians[1]:.3f} "
            f"without ({medians[0] / medians[1] - 1:+.0%}); the largest is "
            f"{own[0].max() / medians[0]:.1f} and "
            f"{own[1].max() / medians[1]:.1f} times the median. At the logits no norm can pass √2 in either."
        )
        show_facts(
            [
                f"{facts['gradient_batches']} training batches of {facts['gradient_tokens']:,} tokens",
                "dropout on",
            ]
        )
