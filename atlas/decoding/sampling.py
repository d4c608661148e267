"""Drawing a translation instead of searching for one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from atlas.decoding.candidates import NEVER, log_probabilities
from atlas.decoding.options import SearchOptions
from atlas.decoding.protocol import StepModel
from atlas.decoding.record import CUT, FINISHED, KEPT, SearchRecord, record_step
from atlas.decoding.search import (
    Found,
    Recording,
    SearchResult,
    check_forced,
    length_limits,
    read_sources,
    step_recorder,
)
from atlas.text.tokenizer import END_ID, START_ID


def sampling_distribution(logprobs: NDArray[np.float64], options: SearchOptions) -> NDArray[np.float64]:
    """The distribution that a token is drawn from.

    ``temperature`` divides the log-probabilities; then ``top_k`` keeps the k likeliest (Fan et al. 2018),
    then ``top_p`` the fewest whose probabilities reach p, the one that crosses
    it included (Holtzman et al. 2020). At least one token always stays. Equal tokens are kept in order of
    their id.

    Args:
        logprobs: ``(V,)``, nats; ``-inf`` for tokens that may not be drawn.

    Returns:
        ``(V,)`` probabilities, summing to 1.
    """
    scaled = logprobs / options.temperature
    probabilities = np.exp(scaled - scaled.max())
    probabilities /= probabilities.sum()
    order = np.argsort(-probabilities, kind="stable")
    keep = len(order) if options.top_k == 0 else min(options.top_k, len(order))
    ranked = probabilities[order[:keep]]
    if options.top_p < 1.0:
        before = np.cumsum(ranked / ranked.sum()) - ranked / ranked.sum()
        keep = max(1, int((before < options.top_p).sum()))
    kept = np.zeros_like(probabilities)
    kept[order[:keep]] = probabilities[order[:keep]]
    return kept / kept.sum()


def token_at(distribution: NDArray[np.float64], uniform: float) -> int:
    """The token that a uniform number from [0, 1) draws: where the running sum of ``(V,)`` passes it."""
    place = np.searchsorted(np.cumsum(distribution), uniform, side="right")
    return int(min(place, np.flatnonzero(distribution)[-1]))  # sums may end a little below 1


@torch.inference_mode()
def sample(
    model: StepModel,
    sources: Sequence[Sequence[int]],
    options: SearchOptions,
    *,
    prefix: Sequence[int] = (),
    recording: Recording | None = None,
    positions: Tensor | None = None,
    device: torch.device | None = None,
    longest: int | None = None,
) -> SearchResult:
    """``n_best`` random translations of each sentence, best score first, those that came out alike given
    once; arguments as in :func:`~atlas.decoding.beam.beam_search`.

    Draw number i of a sentence uses its own random stream (``seed``, i), so results do not depend on the
    batch. Log-probabilities are the model's own, whatever the temperature.
    """
    check_forced(prefix, "beginning")
    limits = length_limits(sources, options, prefix, longest)
    state, encoder = read_sources(model, sources, recording, positions, device)
    width = options.n_best
    if width > 1:
        state.expand(width)
    draws = [
        [_Draw(np.random.default_rng([options.seed, number]), len(prefix) + limit) for number in range(width)]
        for limit in limits
    ]
    trees = [_Tree() for _ in sources] if recording else []
    tokens = torch.full((len(sources) * width, 1), START_ID, device=device)
    while any(draw.going for group in draws for draw in group):
        recorder = step_recorder(recording)
        logits = model.step(tokens, state, recorder)
        if recorder is not None and recording is not None:
            record_step(
                [tree.record for tree in trees],
                [tree.unread(group) for tree, group in zip(trees, draws, strict=True)],
                recorder,
                logits,
                None,
                [len(ids) for ids in sources],
                recording.layers,
                recording.extras,
            )
        own = log_probabilities(logits).numpy()
        for place, group in enumerate(draws):
            for number, draw in enumerate(group):
                if draw.going:
                    draw.extend(own[place * width + number], options, prefix)
                    if trees:
                        trees[place].add(draw, number, options, len(prefix))
        tokens = torch.tensor([[draw.ids[-1]] for group in draws for draw in group], device=device)
    return SearchResult(
        [_ranked(group, options, len(prefix)) for group in draws], [tree.record for tree in trees], encoder
    )


@dataclass
class _Draw:
    """One translation that is being drawn; ``limit`` counts the forced beginning."""

    random: np.random.Generator
    limit: int
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    node: int = -1

    @property
    def finished(self) -> bool:
        return bool(self.ids) and self.ids[-1] == END_ID

    @property
    def going(self) -> bool:
        return not self.finished and len(self.ids) < self.limit

    def extend(self, logprobs: NDArray[np.float64], options: SearchOptions, prefix: Sequence[int]) -> None:
        """Take the next forced token, or draw one from ``(V,)`` log-probabilities."""
        depth = len(self.ids)
        if depth < len(prefix):
            token = prefix[depth]
        else:
            offered = logprobs.copy()
            early = depth - len(prefix) < options.min_length
            offered[[*NEVER, END_ID] if early else [*NEVER]] = -np.inf
            token = token_at(sampling_distribution(offered, options), self.random.random())
        self.ids.append(token)
        self.logprobs.append(float(logprobs[token]))

    def score(self, options: SearchOptions, forced: int) -> float:
        """Normalised; the ``forced`` first tokens do not count."""
        return options.normalise(sum(self.logprobs[forced:]), max(0, len(self.ids) - forced))


@dataclass
class _Tree:
    """The record of one sentence's draws; those that begin alike share their nodes."""

    record: SearchRecord = field(default_factory=SearchRecord)
    children: dict[tuple[int, int], int] = field(default_factory=dict)
    read: set[int] = field(default_factory=set)

    def unread(self, draws: Sequence[_Draw]) -> list[int]:
        """For each draw the node whose pass is still to be stored, else -1; they count as read from now
        on.
        """
        nodes = []
        for draw in draws:
            node = max(draw.node, 0)
            nodes.append(node if draw.going and node not in self.read else -1)
            self.read.add(node)
        return nodes

    def add(self, draw: _Draw, number: int, options: SearchOptions, forced: int) -> None:
        """Move ``draw``, the ``number``-th of its sentence, to the node of its newest token."""
        parent, token = max(draw.node, 0), draw.ids[-1]
        if (parent, token) not in self.children:
            fate = KEPT if draw.going else FINISHED if draw.finished else CUT
            self.children[parent, token] = self.record.add(
                parent,
                token,
                draw.logprobs[-1],
                draw.score(options, forced),
                number,
                fate,
                forced=len(draw.ids) <= forced,
            )
        draw.node = self.children[parent, token]


def _ranked(draws: Sequence[_Draw], options: SearchOptions, forced: int) -> list[Found]:
    """What was drawn, best score first, each translation once."""
    found = {
        tuple(draw.ids): Found(
            tuple(draw.ids), tuple(draw.logprobs), draw.score(options, forced), draw.finished, draw.node
        )
        for draw in draws
    }
    return sorted(found.values(), key=lambda item: -item.score)
