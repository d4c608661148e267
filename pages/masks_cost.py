"""Masks and the cost of generating: what may be seen, what is kept, what it takes."""

from __future__ import annotations

import streamlit as st

from atlas.errors import AtlasError
from atlas.ui.cost.cache_part import cache_part
from atlas.ui.cost.leak_part import leak_part
from atlas.ui.cost.mask_part import mask_part
from atlas.ui.cost.memory_part import memory_part
from atlas.ui.cost.time_part import time_part
from atlas.ui.cost.view import PARTS, shown_translation
from atlas.ui.page import open_page

MATHS = r"""
**The mask** (Vaswani et al. 2017, section 3.2.3). $\mathrm{softmax}\big(QK^{\top}/\sqrt{d_k}+M\big)V$ with
$M_{ij}=0$ for $j\le i$ and $-\infty$ for $j>i$: since $e^{-\infty}=0$, a hidden weight is exactly zero. In
training all positions are predicted at once; without $M$ position $t$ would see the token that it is to
predict.

**A constant in a row.** $\mathrm{softmax}(z+c)=\mathrm{softmax}(z)$ for every constant $c$.

**The cache.** The keys and values of earlier tokens do not change when a token is added, because no position
sees what comes after it. Kept, they need not be computed again.

**Multiply-adds** of one pass over $t$ new tokens, $n$ keys, a source of $S$ tokens, in $L$ layers:
$L\,(6tD^2+2tDF+2tSD+\mathbf{2tnD})+DV$, and $2LSD^2$ for keys and values of the source. With a cache $t=1$;
without one $t=n=1\ldots N$, and the bold part sums to $2LD\,N(N+1)(2N+1)/6\approx\tfrac{2}{3}LDN^3$.

**The exponent** is the slope of a straight line through $\log$ cost against $\log N$ (least squares).

**Memory.** $2\cdot L\cdot H\cdot K\cdot(N\cdot B\cdot\mathrm{beams}+S\cdot B)\cdot\mathrm{bytes}$.
"""

page = open_page(
    "masks_cost",
    "Masks & cost",
    "What a decoder may see, what it keeps in its cache, and what each further token takes. Choose a part.",
    needs="model",
)
part = st.segmented_control(
    "Part of the page",
    list(PARTS),
    format_func=PARTS.__getitem__,
    required=True,
    label_visibility="collapsed",
    width="stretch",
    **page.state.widget("cost"),
)
shown = shown_translation(page)
try:
    if part == "mask":
        mask_part(page, shown)
    elif part == "without":
        leak_part(page)
    elif part == "cache":
        cache_part(page, shown)
    elif part == "time":
        time_part(page, shown)
    else:
        memory_part(page, shown)
except AtlasError as error:
    page.complain(error)
with st.expander("The maths"):
    st.markdown(MATHS)
