"""The formulas behind the page, folded."""

from __future__ import annotations

import streamlit as st

from atlas.ui.qkv.scene import Scene

MATHS = r"""
**One head** (Vaswani et al. 2017, equation 1 and section 3.2.2), with $q=xW^Q+b^Q$, $k=xW^K+b^K$,
$v=xW^V+b^V$:

$$\mathrm{Attention}(Q,K,V)=\mathrm{softmax}\Big(\frac{QK^\top}{\sqrt{d_k}}+M\Big)V$$

$$\mathrm{MultiHead}=\mathrm{Concat}(\mathrm{head}_1,\dots,\mathrm{head}_H)\,W^O+b^O$$

The paper writes no biases; this model has them. $M$ is 0 where a key may be seen and $-\infty$ where not.

**Why $\sqrt{d_k}$** (section 3.2.1, footnote 4). If the components of $q$ and $k$ are independent with mean 0
and variance 1, each product has variance 1 and $q\cdot k=\sum_i q_ik_i$ has variance $d_k$;
divided by $\sqrt{d_k}$ it is 1 again.

**Softmax's Jacobian.** $\partial p_i/\partial s_j=p_i(\delta_{ij}-p_j)$, so $J=\mathrm{diag}(p)-pp^\top$ and
$\lVert J\rVert_F=\sqrt{\sum p^2-2\sum p^3+(\sum p^2)^2}$: 0 when one key has all the weight (no gradient gets
through), at most $\tfrac12$.

**Entropy** $-\sum_j p_j\ln p_j$ in nats: 0 for one key, $\ln N$ for $N$ equal ones.
"""


def maths(scene: Scene) -> None:
    """Formulas with their sources, and what the articles' code does."""
    with st.expander("The maths"):
        st.markdown(MATHS)
        apart = scene.steps.added.largest
        st.markdown(
            "**The code in the article on the 2017 architecture** adds its mask to the scores where ours "
            "replaces them. With −∞ for hidden and 0 for visible keys the two are the same: largest "
            f"difference of the weights here {apart:.1e}. They part where a query sees no key (it gives NaN, "
            "ours zeros). Its `head_dim` is defined nowhere; the last axis of `q` is meant."
        )
