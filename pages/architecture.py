"""Architecture: the loaded model as a drawing, what its parts cost, and what holds deep stacks together."""

from __future__ import annotations

import streamlit as st

from atlas.errors import AtlasError
from atlas.ui.architecture import depth, heads, model, sizes
from atlas.ui.architecture.address import PARTS
from atlas.ui.page import open_page

MATHS = r"""
**A layer** (Vaswani et al. 2017, section 3). Attention has $W^Q, W^K, W^V, W^O\in\mathbb{R}^{d\times d}$,
whatever the number of heads: $4d^2$. The feed-forward network has $W_1\in\mathbb{R}^{d\times F}$ and
$W_2\in\mathbb{R}^{F\times d}$: $2dF$. An encoder layer is $4d^2+2dF$ and a decoder layer, which attends
twice, $8d^2+2dF$; where $F=4d$ these are $12d^2$ and $16d^2$. Embeddings: $V\cdot d$ for each matrix that
is not shared.

**What the formulas leave out.** An encoder layer has $9d+F$ biases and norm parameters, a decoder layer
$15d+F$.

**Doubling d** (and $F$) multiplies the matrices of the layers by 4 and $V\cdot d$ by 2.

**Experts.** A layer with $E$ networks has $4d^2+2dFE+dE$ parameters, of which a token uses $4d^2+2dFk+dE$.

**Heads.** $H$ heads of width $d/H$: scores take $H\cdot n^2\cdot d/H=n^2d$ multiply-adds, the weighted sums
as many, projections $4nd^2$. Only the softmax sees $H$: it runs over $Hn^2$ numbers.

**Norm after or before.** Post: $x\leftarrow\mathrm{LN}(x+f(x))$ (2017). Pre: $x\leftarrow
x+f(\mathrm{LN}(x))$, and one norm at the end. In post-norm the path from the loss to an early layer crosses
every norm on the way; in pre-norm it crosses one. Xiong et al. (2020), theorem 1: the gradient of the last
layer's $W_2$ is of order $d\sqrt{\ln d}$ in post-norm and $d\sqrt{\ln d/L}$ in pre-norm.
"""

SHOW = {
    "model": model.show,
    "sizes": sizes.show_sizes,
    "experts": sizes.show_experts,
    "heads": heads.show,
    "depth": depth.show,
}

page = open_page(
    "architecture",
    "Architecture",
    "The loaded model with every weight counted. Point at a block; click it to see it work.",
    needs="model",
)
part = st.segmented_control(
    "Part of the page",
    list(PARTS),
    format_func=PARTS.__getitem__,
    required=True,
    label_visibility="collapsed",
    **page.state.widget("built"),
)
try:
    SHOW[part](page)
except AtlasError as error:
    page.complain(error)
with st.expander("The maths"):
    st.markdown(MATHS)
