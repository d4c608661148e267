"""Beam search: the tree of everything the model considered, replayed, explained and steered."""

import streamlit as st

from atlas.ui.components.search_tree import TreeView, search_tree
from atlas.ui.markup import show_facts, show_translation
from atlas.ui.node_panel import node_attention, node_panel
from atlas.ui.page import open_page
from atlas.ui.search_files import offer_search
from atlas.ui.search_results import candidates_table, greedy_and_sample, n_best
from atlas.ui.search_state import choose, drawn, search_facts, shown_place, shown_search
from atlas.ui.takeaway import offer_trace

MATHS = r"""
**What is searched for.** A translation $y$ of $x$ with a large $\log p(y\mid x)=\sum_t \log p(y_t\mid
y_{<t},x)$. Trying all is impossible; beam search keeps the $k$ best beginnings. At each step it compares the
$2k$ likeliest continuations of all of them by their total; the best $k$ that have not ended go on, those that
have ended are set apart, the others are pruned.

**Score.** Every further token lowers the total, so totals of different lengths are compared after a penalty,
$s(y)=\log p(y\mid x)\,/\,lp(|y|)$, where $|y|$ counts generated tokens, the end mark included:

$$\text{gnmt: } lp=\Big(\frac{5+|y|}{6}\Big)^{\alpha}\qquad \text{average: } lp=|y|\qquad \text{none: } lp=1$$

(gnmt: Wu et al. 2016, equation 14.) Tokens that were forced count in $\log p$, but neither in the score nor
in $|y|$.

**When it stops.** With two or more hypotheses in the beam the search goes on until the best total still
alive, divided by the penalty at the length limit, cannot beat the worst of the k best finished scores
(compare Huang et al. 2017). Width 1 is greedy search.

**Sampling.** Each token is drawn from $p_T(v)\propto \exp(z_v/T)$ with logits $z$ and temperature $T$. Top-k
keeps the $k$ likeliest tokens (Fan et al. 2018); top-p keeps the fewest that together hold at least the
probability $p$ (Holtzman et al. 2020).

**Size of a node.** Its area, above a minimum, is proportional to $p(y_t\mid y_{<t},x)$.
"""

page = open_page(
    "beam_search",
    "Beam search",
    "Every candidate, one column a step. Play it; hover to see why a branch died; click any node.",
    serves="any",
)
trace = shown_search(page)
node, step = shown_place(page, trace)


def look(view: TreeView) -> None:
    """The visitor chose a node or came to rest at a step."""
    choose(page, view.path or (int(trace.search.token[0]),), view.step)


def set_free() -> None:
    """Back to the search that begins at the start mark."""
    page.state["from"] = ()
    page.state["node"] = ()


if page.state["from"]:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(":material/alt_route: The search was made to begin with")
        show_translation(trace, trace.node_for(page.state["from"]), size="1rem")
        st.button("Back to the free search", key="atlas.search.free", on_click=set_free)
show_facts(search_facts(trace))
left, right = st.columns([1.9, 1], gap="medium")
with left:
    search_tree(drawn(trace), node=node, step=step, on_view=look, key="atlas.search.tree")
    offer_trace(trace)
    offer_search(trace, node, step, "search-tree")
    node_attention(page, trace, node)
with right:
    node_panel(page, trace, node)
left, right = st.columns([1.5, 1], gap="large")
with left:
    st.subheader("What the search returned", anchor=False)
    n_best(page, trace)
with right:
    st.subheader("Found in other ways", anchor=False)
    greedy_and_sample(page, trace)
table = st.expander("All candidates as a table", key="atlas.search.table", on_change="rerun")
if table.open:
    with table:
        candidates_table(trace)
with st.expander("The maths"):
    st.markdown(MATHS)
