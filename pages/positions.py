"""Positions: how the model knows where a word stands, and what it does when it does not."""

from __future__ import annotations

import streamlit as st

from atlas.errors import AtlasError
from atlas.ui.markup import notice
from atlas.ui.page import open_page
from atlas.ui.position_address import PARTS
from atlas.ui.position_distinct import distinct_section
from atlas.ui.position_lab import encoding_lab, shuffle_lab
from atlas.ui.position_orders import orders_section
from atlas.ui.position_pictures import rotation_pictures, shown_table, table_pictures
from atlas.ui.position_twins import open_twins, twins_section

MATHS = r"""
**The encoding** (Vaswani et al. 2017, section 3.5). Position $pos$ gets a vector of $D$ numbers, added to the
embedding of the token that stands there, before the first layer:

$$PE_{pos,2i}=\sin(\omega_i\,pos)\qquad PE_{pos,2i+1}=\cos(\omega_i\,pos)\qquad \omega_i=10000^{-2i/D}$$

**Wavelengths.** Dimensions $2i$ and $2i+1$ repeat every $2\pi/\omega_i=2\pi\cdot 10000^{2i/D}$ positions:
from $2\pi$ to nearly $2\pi\cdot 10000$.

**Dot product.** $PE_p\cdot PE_{p+k}=\sum_i\cos(\omega_i k)$: only the distance $k$ matters; $D/2$ at 0.

**Rotation.** For each $k$ one matrix $M_k$ gives $PE_{pos+k}=M_k\,PE_{pos}$ at every position. It turns each
pair of dimensions by the angle $\omega_i k$ (the addition theorems of sine and cosine):

$$
\begin{pmatrix}\sin\omega_i(pos+k)\\ \cos\omega_i(pos+k)\end{pmatrix}=
\begin{pmatrix}\cos\omega_i k&\sin\omega_i k\\-\sin\omega_i k&\cos\omega_i k\end{pmatrix}
\begin{pmatrix}\sin\omega_i\,pos\\ \cos\omega_i\,pos\end{pmatrix}
$$

**Shuffling.** Without positions an encoder reads a set. For any permutation matrix $P$,
$\mathrm{Enc}(PX)=P\,\mathrm{Enc}(X)$: attention, layer normalisation and the feed-forward network commute
with $P$. With positions added, $\mathrm{Enc}(PX+PE)\neq P\,\mathrm{Enc}(X+PE)$.

**Distinct.** $|PE_p-PE_{p+k}|^2=\sum_i 4\sin^2(\omega_i k/2)$, which is 0 for no whole $k>0$: the first pair
turns by $k$ radians, and no whole number is a multiple of $2\pi$.

**Scores.** A test set is drawn again 1,000 times, sentence by sentence with replacement; the middle 95% of
the scores are the interval. Two models are compared on the same draws (paired bootstrap, Koehn 2004).
"""

page = open_page(
    "positions",
    "Positions",
    "Numbers added to each word say where it stands. Below, shuffle the words or take the numbers away.",
    needs="model",
)
engine = page.engine
if engine is None:
    page.stop("This page works on a live model.")
kind = engine.config.positions
part = st.segmented_control(
    "Part", list(PARTS), format_func=PARTS.__getitem__, required=True, **page.state.widget("part")
)
with st.expander("The maths"):
    st.markdown(MATHS)
try:
    if part == "encoding":
        table = shown_table(page, engine)
        table_pictures(page, table, kind, len(engine.tokenizer.source(page.sentence)))
        rotation_pictures(page, table, kind)
    elif part == "distinct":
        distinct_section(page, engine)
    elif part == "trained":
        twins = open_twins()
        twins_section(page, twins)
        if twins:
            orders_section(page, twins)
    elif not page.sentence.strip():
        page.stop("Write a sentence above to use the lab.")
    else:
        shuffle_lab(page, engine, has_positions=kind != "none")
        if kind == "none":
            notice("This model has no encoding to take away or to move.")
        else:
            encoding_lab(page, engine, len(engine.tokenizer.source(page.sentence)))
except AtlasError as error:
    page.complain(error)
