"""What became of each candidate of a search, in words: a plain sentence a node, for hovers and captions.

Every number in a sentence is read from the trace. Nothing here is markup: the caller escapes (Plotly) or sets
text content (components). Totals are sums of natural-log probabilities; scores are the totals after the
length penalty of the search (Wu et al. 2016, arXiv:1609.08144, eq. 14 for ``gnmt``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from atlas.trace import FATES, Fate, Trace, visible

_LEADER_LENGTH = 72
"""Characters of the leading hypothesis that a caption shows."""


@dataclass(frozen=True)
class StepSummary:
    """What one step of the search did.

    Attributes:
        step: 1-based step.
        candidates: continuations that were compared.
        counts: how many of them met each fate, indexed by the fate's number.
        worst_kept: smallest total log-probability among those kept or cut; None where there is none.
        leader: node id with the largest normalised score among those in play after the step: kept or cut
            at it, or finished at it or before; None where there is none.
    """

    step: int
    candidates: int
    counts: tuple[int, int, int, int]
    worst_kept: float | None
    leader: int | None


def number(value: float, digits: int = 2) -> str:
    """``value`` with a fixed number of decimals and a real minus sign; "−0.00" becomes "0.00"."""
    text = f"{value:.{digits}f}"
    if float(text) == 0.0:
        text = text.lstrip("-")
    return text.replace("-", "−")


def percent(logprob: float) -> str:
    """A log-probability as a probability in per cent, readable at both ends ("37 %", "0.04 %", "< 0.01
    %")."""
    value = 100.0 * float(np.exp(logprob))
    if value >= 9.95:
        return f"{value:.0f} %"
    if value >= 0.095:
        return f"{value:.1f} %"
    return f"{value:.2f} %" if value >= 0.01 else "< 0.01 %"


def summarise_steps(trace: Trace) -> tuple[StepSummary, ...]:
    """One :class:`StepSummary` a step, from step 1 on (the root is no candidate)."""
    search = trace.search
    summaries = []
    finished: list[int] = []
    for step in range(1, last_step(trace) + 1):
        nodes = np.flatnonzero(search.step == step)
        fates = search.fate[nodes]
        kept = nodes[(fates == Fate.KEPT) | (fates == Fate.CUT)]
        finished = [*finished, *nodes[fates == Fate.FINISHED].tolist()]
        survivors = np.array([*finished, *kept.tolist()], dtype=np.int64)
        summaries.append(
            StepSummary(
                step=step,
                candidates=len(nodes),
                counts=tuple(int((fates == fate).sum()) for fate in range(len(FATES))),  # type: ignore[arg-type]
                worst_kept=float(search.cumulative[kept].min()) if len(kept) else None,
                leader=int(survivors[np.argmax(search.score[survivors])]) if len(survivors) else None,
            )
        )
    return tuple(summaries)


def last_step(trace: Trace) -> int:
    """Number of steps of the search; 0 when it has no candidate."""
    return int(trace.search.step.max(initial=0))


def last_alive(trace: Trace) -> NDArray[np.int32]:
    """The last step at which some hypothesis still in play goes through each node.

    A finished or cut hypothesis stays in play to the end; a kept node is in play at its own step and as long
    as one of its descendants is; a pruned node only counts for its own step.

    Returns:
        int32 (N,), node id -> step, never less than the node's own step.
    """
    search = trace.search
    alive = search.step.astype(np.int32).copy()
    alive[(search.fate == Fate.FINISHED) | (search.fate == Fate.CUT)] = last_step(trace)
    for node in range(len(alive) - 1, 0, -1):  # parents precede children
        if search.fate[node] != Fate.PRUNED:
            parent = search.parent[node]
            alive[parent] = max(alive[parent], alive[node])
    return alive


class FateTeller:
    """Tells the fate of nodes of one trace; what all sentences need is computed once.

    Args:
        trace: any valid trace.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.steps = summarise_steps(trace)
        self.alive = last_alive(trace)
        self._places = {int(node): place for place, node in enumerate(trace.hypotheses, start=1)}
        self._through: dict[int, list[int]] = {}
        for end, place in self._places.items():
            for node in trace.ancestors(end):
                self._through.setdefault(node, []).append(place)
        ended = np.flatnonzero(np.isin(trace.search.fate, (Fate.FINISHED, Fate.CUT)))
        self._ended = {node for end in ended for node in trace.ancestors(int(end))}

    def why(self, node: int) -> str:
        """Why the node is where it is: "pruned: rank 12 of 25 at step 4, total −7.31; the beam kept 5, the
        worst kept −5.20"."""
        search = self._trace.search
        if node == 0:
            return "the start: every hypothesis begins here"
        if search.forced[node]:
            given = percent(search.logprob[node])
            return f"forced: the search had to go through this token (the model gave it {given})"
        summary = self.steps[int(search.step[node]) - 1]
        place = f"rank {int(search.rank[node]) + 1} of {summary.candidates} at step {summary.step}"
        total = number(search.cumulative[node])
        fate = int(search.fate[node])
        if fate == Fate.PRUNED:
            return f"pruned: {place}, total {total}; {self._pruned_by(node, summary)}"
        if fate == Fate.KEPT:
            return f"kept: {place}, total {total}; {self._afterwards(node)}"
        verb = "finished" if fate == Fate.FINISHED else "cut at the length limit"
        score = number(search.score[node], 3)
        if node in self._places:
            result = f"hypothesis {self._places[node]} of {len(self._places)}"
        else:
            result = "not among the hypotheses returned"
        return f"{verb}: {place}, total {total}, score {score}; {result}"

    def caption(self, step: int) -> str:
        """What the search did at ``step``, in one line."""
        if step <= 0:
            return "step 0: only the start mark; its continuations come next"
        summary = self.steps[step - 1]
        if self._forced(step):
            return f"step {step}: forced; the search proper begins after the forced beginning"
        kept, finished, pruned, cut = summary.counts
        parts = [f"{kept} kept", f"{finished} finished", f"{pruned} pruned"] + ([f"{cut} cut"] if cut else [])
        return f"step {step}: {summary.candidates} candidates: {', '.join(parts)}"

    def leader(self, step: int) -> str:
        """The best hypothesis in play after ``step``; of a long one the end; empty if there is none."""
        leader = self.steps[step - 1].leader if step > 0 else None
        if leader is None:
            return ""
        text = " ".join(map(visible, self._trace.text(leader).split(" ")))
        shown = text if len(text) <= _LEADER_LENGTH else "…" + text[1 - _LEADER_LENGTH :]
        if self._forced(step):
            return f"so far: “{shown}”"
        return f"leading, score {number(self._trace.search.score[leader])}: “{shown}”"

    def hover(self, node: int) -> tuple[str, ...]:
        """The lines of a node's hover: its token, the three numbers, its fate."""
        search = self._trace.search
        if node == 0:
            return (self._trace.labels[0], self.why(0))
        logprob, score = float(search.logprob[node]), float(search.score[node])
        return (
            self._trace.labels[node],
            f"log-probability {number(logprob, 3)} ({percent(logprob)})",
            f"running total {number(search.cumulative[node], 3)}, normalised score {number(score, 3)}",
            self.why(node),
        )

    def _forced(self, step: int) -> bool:
        """Whether the user, not the search, chose what happened at ``step``."""
        search = self._trace.search
        return bool(search.forced[search.step == step].all())

    def _pruned_by(self, node: int, summary: StepSummary) -> str:
        search = self._trace.search
        kept = summary.counts[Fate.KEPT] + summary.counts[Fate.CUT]
        finished = summary.counts[Fate.FINISHED]
        ending = int(search.token[node]) == self._trace.end_id
        if ending and (summary.worst_kept is None or search.cumulative[node] >= summary.worst_kept):
            beam = self._trace.header.settings.get("beam", "k")
            return f"an end mark finishes only among the best {beam} candidates, as many as the beam is wide"
        if summary.worst_kept is None:
            return "the beam kept none: the search ended here"
        closing = f"; {finished} finished" if finished else ""
        return f"the beam kept {kept}, the worst kept {number(summary.worst_kept)}{closing}"

    def _afterwards(self, node: int) -> str:
        search = self._trace.search
        if node in self._through:
            places = self._through[node]
            noun = "hypothesis" if len(places) == 1 else "hypotheses"
            return f"it led to {noun} {', '.join(map(str, places))}"
        if node in self._ended:
            return "it led to a hypothesis that ended, but was not among the best"
        last = int(self.alive[node])
        if last >= len(self.steps):
            return "it was still in play when the search ended"
        if last == int(search.step[node]):
            return f"all its continuations were pruned at step {last + 1}"
        return f"its last descendant in the beam was pruned at step {last + 1}"
