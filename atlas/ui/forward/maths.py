"""The formulas of the page, and two fragments of an article checked on the loaded model."""

from __future__ import annotations

from typing import Final

import numpy as np
import streamlit as st

from atlas.analysis.feed_forward import Swap, activation_swap, gelu, relu, sums
from atlas.analysis.forward import Side
from atlas.engine import Engine
from atlas.figures import forward_units
from atlas.ui.chart import chart
from atlas.ui.forward.state import Shown
from atlas.ui.markup import show_facts
from atlas.ui.theme import is_dark

MATHS: Final = r"""
**The stream.** $x=\sqrt{D}\,E_{id}+PE_{pos}$, then one sub-layer $f$ after another (Vaswani et al. 2017,
sections 3.1 and 3.4; Xiong et al. 2020, figure 1):

$$\text{post-norm: } x\leftarrow \mathrm{LN}(x+f(x))\qquad\text{pre-norm: } x\leftarrow x+f(\mathrm{LN}(x))$$

$$\mathrm{LN}(x)=\gamma\odot\frac{x-\bar x}{\sqrt{\mathrm{var}(x)+\epsilon}}+\beta$$

LLM Atlas, part 4, has both: its residual formula is pre-norm, its walkthrough post-norm.

**Change.** $\lVert c\rVert/\lVert x\rVert$ with $c$ what is added to the stream $x$; the cosine is between
the stream that comes in and the one that goes out.

**Feed-forward as a memory** (equation 2; Geva et al. 2021). With $k_i$ column $i$ of $W_1$ and $v_i$ row $i$
of $W_2$,

$$\mathrm{FFN}(x)=\max(0,xW_1+b_1)W_2+b_2=\sum_i a_i v_i+b_2\qquad a_i=\max(0,x\cdot k_i+b_{1,i})$$

A unit is silent where $a_i=0$. What it adds is $\lvert a_i\rvert\,\lVert v_i\rVert$ long. Read through the
output vocabulary $U$ it pushes the logits by $U v_i$, if nothing came after it.

**Logit lens** (nostalgebraist 2020). $\mathrm{softmax}(U\,\mathrm{LN}_{final}(x_l))$ for the stream $x_l$
after layer $l$; without $\mathrm{LN}_{final}$ in a post-norm model. The last layer's is the model's
prediction.

**Choice.** $p_i=e^{z_i/T}/\sum_j e^{z_j/T}$; top-k keeps the $k$ likeliest (Fan et al. 2018), top-p the
fewest that together reach $p$ (Holtzman et al. 2020); what is left is divided by its sum. A share of $n$
draws has the standard error $\sqrt{p(1-p)/n}$.
"""
_NAMES: Final = {"relu": ("ReLU", "GELU"), "gelu": ("GELU", "ReLU")}


def show_maths(shown: Shown) -> None:
    """Formulas with their sources; in a feed-forward stage also an article's fragment beside its formula."""
    with st.expander("The maths"):
        st.markdown(MATHS)
        if shown.stage.kind == "ffn":
            _activation(shown, shown.stage.side, shown.stage.layer)


def _activation(shown: Shown, side: Side, layer: int) -> None:
    """ReLU is in the formula of LLM Atlas, part 4, GELU in its code: what the difference does here."""

    def find(engine: Engine) -> tuple[Swap, np.ndarray]:
        swap = activation_swap(engine.model, shown.done, side, layer, shown.following)
        return swap, sums(engine.model, shown.done, side, layer).ravel()

    about = (shown.done.source_ids, shown.done.target_ids, shown.chosen, side, layer)
    swap, before = shown.page.study("forward.swap", *about, find=find)
    own, other = _NAMES[shown.config.activation]
    st.markdown(
        "**ReLU or GELU?** LLM Atlas, part 4, gives the FFN with ReLU as a formula and with GELU as code. "
        f"They are not the same function. This model was trained with {own}; with {other} instead:"
    )
    grid = np.linspace(-4, 4, 401)
    figure = forward_units.activation_curves(grid, relu(grid), gelu(grid), before, dark=is_dark())
    chart(figure, "forward.activation", "ReLU, GELU and their difference, above the sums of this layer")
    show_facts(
        [
            f"{side} layer {layer + 1}: units differ by at most {swap.largest:.3f}",
            f"its output moves by {swap.output:.1%} of its norm",
            f"with {other} in every layer {swap.agree:.0%} of {len(shown.target)} next tokens stay",
            f"probability of the token taken {swap.before:.3f} → {swap.after:.3f}",
        ]
    )
