"""Label smoothing: the target that it makes, the least loss that it leaves, and two models that tell."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import streamlit as st

from atlas.analysis import information
from atlas.figures import training_smoothing as figures
from atlas.ui.chart import chart
from atlas.ui.markup import show_facts
from atlas.ui.page import Page
from atlas.ui.theme import is_dark
from atlas.ui.training.choice import MOST_CLASSES, setter
from atlas.ui.training.twins import show_twins

MATHS: Final = r"""
**The target** (Szegedy et al. 2016, section 7): $y^{LS}_k=(1-\alpha)\,y_k+\alpha/K$. The share $\alpha$ is
spread over *all* $K$ classes, the right one among them: it gets $1-\alpha+\alpha/K$, every other one
$\alpha/K$.

**The least loss** is the entropy of that target, reached when the model says exactly the target:

$$
-\Big(1-\alpha+\frac{\alpha}{K}\Big)\log\Big(1-\alpha+\frac{\alpha}{K}\Big)
-(K-1)\frac{\alpha}{K}\log\frac{\alpha}{K}
$$

**Logits** then differ by $\log\frac{1-\alpha+\alpha/K}{\alpha/K}$ and no more. Without smoothing the loss
falls as long as the gap grows: there is no best logit. But the gradient at the logits is softmax minus
target in both cases, its L2 norm below $\sqrt2$: nothing explodes there with or without smoothing.

**Calibration** (Guo et al. 2017): predictions are sorted by confidence into 15 bins;
$ECE=\sum_b\frac{n_b}{N}|acc_b-conf_b|$.
"""


def show(page: Page) -> None:
    """The whole part."""
    alpha, classes = _controls(page)
    left, right = st.columns(2, gap="large")
    with left:
        _target(alpha, classes)
    with right:
        _least(alpha, classes, len(page.model.tokenizer))
    with st.expander("The maths"):
        st.markdown(MATHS)
    show_twins(page)


def _controls(page: Page) -> tuple[float, int]:
    state, vocabulary = page.state, len(page.model.tokenizer)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        alpha = st.slider(
            "α, the share that is spread",
            0.0,
            1.0,
            step=0.01,
            help="Vaswani et al. (2017, section 5.4) and the models here: 0.1.",
            **state.widget("smoothing"),
        )
        classes = st.number_input("Classes K", 2, MOST_CLASSES, **state.widget("classes"))
        st.button(
            f"K = {vocabulary:,}, this model's vocabulary",
            on_click=setter(state, classes=min(vocabulary, MOST_CLASSES)),
            key="training.vocabulary",
        )
    return alpha, classes


def _target(alpha: float, classes: int) -> None:
    right, other = information.smoothed_target(alpha, classes)
    st.subheader("The target", anchor=False)
    chart(
        figures.target_bars(right, other, classes, dark=is_dark()),
        "training.target",
        f"The right class gets {right:.4f}, each of {classes - 1} others {other:.2g}",
    )
    show_facts(
        [
            f"right class 1 − α + α/K = {right:.6g}, not 1 − α = {1 - alpha:.6g}",
            f"each other α/K = {other:.3g}",
            f"all others together {(classes - 1) * other:.6g}, not α = {alpha:.6g}",
            "part 4 of LLM Atlas puts its equation in words as 90% and 10%: they are right only as K grows",
        ]
    )


def _least(alpha: float, classes: int, vocabulary: int) -> None:
    st.subheader("The least cross-entropy", anchor=False)
    alphas = np.linspace(0.0, 1.0, 201)
    counts = list(dict.fromkeys((classes, vocabulary)))
    floors = [
        (f"K = {count:,}", np.array([information.smoothing_floor(float(share), count) for share in alphas]))
        for count in counts
    ]
    chart(
        figures.least_loss(alphas, floors, alpha=alpha, dark=is_dark()),
        "training.least",
        "The entropy of the smoothed target against the share that is spread",
    )
    floor, gap = information.smoothing_floor(alpha, classes), information.best_logit_gap(alpha, classes)
    show_facts(
        [
            f"at α = {alpha:g}, K = {classes:,}: a perfect model's loss is {floor:.4f} nats",
            f"its right logit leads by {gap:.3f}"
            if math.isfinite(gap)
            else "its right logit leads without end",
            f"with K = {vocabulary:,}: {information.smoothing_floor(alpha, vocabulary):.4f} nats",
        ]
    )
