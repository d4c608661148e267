"""The whole search of one sentence: every candidate with its fate, and the attention of every pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from atlas.decoding.candidates import best_tokens
from atlas.model.recorder import Recorder
from atlas.text.tokenizer import START_ID
from atlas.trace import Fate

KEPT, FINISHED, PRUNED, CUT = Fate.KEPT, Fate.FINISHED, Fate.PRUNED, Fate.CUT
ALTERNATIVES = 10


@dataclass
class Pass:
    """What the model did when it read one node: arrays by point, ``(L, H, keys)`` for attention."""

    node: int
    points: dict[str, NDArray[np.float32]]
    top_ids: NDArray[np.int64]
    top_logprobs: NDArray[np.float64]


@dataclass
class SearchRecord:
    """Nodes by id (columns of equal length; node 0 is the start token) and one :class:`Pass` for each
    node that was read.
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
    passes: list[Pass] = field(default_factory=list)

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
    logits: torch.Tensor,
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
        source_lengths: real source tokens of each sentence; padding is cut off here.
        layers: of attention, by kind; where a model has none of a kind, its arrays have no layers and no
            heads.
        extras: ``scores``, ``q``, ``k``, ``v``, ``residual``, ``logits`` beside the weights.
    """
    top = best_tokens(logits, ALTERNATIVES)
    width = len(nodes[0])
    depth = max(
        record.step[node]
        for record, row_nodes in zip(records, nodes, strict=True)
        for node in row_nodes
        if node >= 0
    )
    no_self = (0, width * len(records), 0, 1, depth + 1)
    no_cross = (0, len(records), 0, width, max(source_lengths))
    own = {
        what: _stack(recorder, "self", what, layers["decoder"], no_self)
        for what in ("weights", *(e for e in extras if e in ("scores", "q", "k", "v")))
    }
    cross = {
        what: _stack(recorder, "cross", what, layers["cross"], no_cross)
        for what in ("weights", *(e for e in extras if e in ("scores", "q")))
    }
    residual = None
    if "residual" in extras:
        names = [
            name
            for name in recorder.points
            if name.startswith("decoder.") and name.endswith((".residual", ".embedded"))
        ]
        residual = (
            torch.stack([recorder[name][:, -1].norm(dim=-1) for name in names], -1).float().cpu().numpy()
        )
    raw = logits.float().cpu().numpy() if "logits" in extras else None
    for sentence, (record, row_nodes) in enumerate(zip(records, nodes, strict=True)):
        for beam, node in enumerate(row_nodes):
            if node < 0:
                continue
            row = sentence * width + beam
            points = {"decoder.weights": own["weights"][:, row, :, -1]}
            points["cross.weights"] = cross["weights"][:, sentence, :, beam, : source_lengths[sentence]]
            if "scores" in extras:
                points["decoder.scores"] = own["scores"][:, row, :, -1]
                points["cross.scores"] = cross["scores"][:, sentence, :, beam, : source_lengths[sentence]]
            for what in ("q", "k", "v"):
                if what in own:
                    points[f"decoder.{what}"] = own[what][:, row, :, -1]
            if "q" in cross:
                points["cross.q"] = cross["q"][:, sentence, :, beam]
            if residual is not None:
                points["decoder.residual_norm"] = residual[row]
            if raw is not None:
                points["logits"] = raw[row]
            record.passes.append(Pass(node, points, top.tokens[row], top.logprobs[row]))


def _stack(
    recorder: Recorder, block: str, what: str, layers: int, absent: tuple[int, ...]
) -> NDArray[np.float32]:
    """``(L, ...)`` float32 of the same point in every decoder layer; of shape ``absent`` without layers."""
    if not layers:
        return np.zeros(absent, np.float32)
    return torch.stack(recorder.layers("decoder", block, what, layers)).float().cpu().numpy()
