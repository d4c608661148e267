"""The whole search of one sentence: every candidate with its fate, and the attention of every pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from atlas.decoding.candidates import Best, best_tokens
from atlas.decoding.passes import ALTERNATIVES, Passes, Step
from atlas.model.recorder import Recorder
from atlas.text.tokenizer import START_ID
from atlas.trace import Fate

KEPT, FINISHED, PRUNED, CUT = Fate.KEPT, Fate.FINISHED, Fate.PRUNED, Fate.CUT


@dataclass
class SearchRecord:
    """Nodes by id (columns of equal length; node 0 is the start token) and the passes of those that were
    read.
    """

    parent: list[int] = field(default_factory=lambda: [-1])
    token: list[int] = field(default_factory=lambda: [START_ID])
    logprob: list[float] = field(default_factory=lambda: [0.0])
    cumulative: list[float] = field(default_factory=lambda: [0.0])
    score: list[float] = field(default_factory=lambda: [0.0])
    step: list[int] = field(default_factory=lambda: [0])
    rank: list[int] = field(default_factory=lambda: [0])
    fate: list[int] = field(default_factory=lambda: [KEPT])
    forced: list[bool] = field(default_factory=lambda: [False])
    passes: Passes = field(default_factory=Passes)

    def add(
        self,
        parent: int,
        token: int,
        logprob: float,
        score: float,
        rank: int,
        fate: int,
        *,
        forced: bool = False,
    ) -> int:
        """A new candidate; returns its id."""
        self.parent.append(parent)
        self.token.append(token)
        self.logprob.append(logprob)
        self.cumulative.append(self.cumulative[parent] + logprob)
        self.score.append(score)
        self.step.append(self.step[parent] + 1)
        self.rank.append(rank)
        self.fate.append(fate)
        self.forced.append(forced)
        return len(self.parent) - 1

    def tokens(self, node: int) -> list[int]:
        """Ids from the first generated token to ``node``."""
        ids = []
        while node > 0:
            ids.append(self.token[node])
            node = self.parent[node]
        return ids[::-1]


def record_step(
    records: Sequence[SearchRecord],
    nodes: Sequence[Sequence[int]],
    recorder: Recorder,
    logits: Tensor,
    best: Best | None,
    source_lengths: Sequence[int],
    layers: Mapping[str, int],
    extras: Sequence[str],
) -> None:
    """Store what one step of the model showed.

    Args:
        records: one for each sentence of the batch.
        nodes: for each sentence, the node that each of its rows read; -1 for a row that is not in use.
        recorder: filled by the step: self-attention ``(rows, H, 1, keys)``, cross-attention ``(B, H, rows
            of a sentence, S)``.
        logits: ``(rows, V)``.
        best: at least :data:`ALTERNATIVES` of the likeliest tokens of every row, if the search has them.
        source_lengths: real source tokens of each sentence; padding is cut off here.
        layers: of attention, by kind; where a model has none of a kind, its arrays have no layers and no
            heads.
        extras: ``scores``, ``q``, ``k``, ``v``, ``residual``, ``logits`` beside the weights.
    """
    width, depth = len(nodes[0]), _depth(records, nodes)
    absent = {
        "self": (0, len(records) * width, 0, 1, depth + 1),
        "cross": (0, len(records), 0, width, max(source_lengths)),
    }
    points: dict[str, Tensor] = {}
    for kind, block, known in (("decoder", "self", "scores q k v"), ("cross", "cross", "scores q")):
        for what in ("weights", *(name for name in extras if name in known.split())):
            if layers[kind]:
                found = recorder.layers("decoder", block, what, layers[kind])
                if kind == "decoder" and what in ("k", "v"):  # of all tokens so far; the newest is new
                    found = [point[:, :, -1:] for point in found]
                points[f"{kind}.{what}"] = torch.stack(found)
            else:
                points[f"{kind}.{what}"] = logits.new_zeros(absent[block])
    if "residual" in extras:
        names = [
            name
            for name in recorder.points
            if name.startswith("decoder.") and name.endswith((".residual", ".embedded"))
        ]
        points["decoder.residual_norm"] = torch.stack(
            [recorder[name][:, -1].norm(dim=-1) for name in names], -1
        )
    if "logits" in extras:
        points["logits"] = logits
    step = Step(points, best_tokens(logits, ALTERNATIVES) if best is None else best)
    for place, (record, row_nodes) in enumerate(zip(records, nodes, strict=True)):
        record.passes.source = source_lengths[place]
        record.passes.add(step, place, row_nodes)


def _depth(records: Sequence[SearchRecord], nodes: Sequence[Sequence[int]]) -> int:
    """Tokens that every row has read after the start token."""
    return max(
        record.step[node]
        for record, row_nodes in zip(records, nodes, strict=True)
        for node in row_nodes
        if node >= 0
    )
