"""A model made of a function, and the design's search written in the plainest words, to compare with."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from atlas.decoding import Recording, SearchOptions
from atlas.model.recorder import Recorder
from atlas.text.tokenizer import END_ID, PAD_ID, START_ID

Logits = Callable[[tuple[int, ...], tuple[int, ...]], Sequence[float]]
"""Source ids and the tokens generated so far -> one logit for each token of the vocabulary."""

NEVER = -1e9
A, B, C = 3, 4, 5
SOURCE = (7, 8, END_ID)


@dataclass
class Paths:
    """The memory of the stand-in: what every row has read, start token first."""

    sources: list[tuple[int, ...]]
    rows: list[tuple[int, ...]]
    beams: int = 1

    def expand(self, beams: int) -> None:
        assert self.beams == 1
        self.rows = [row for row in self.rows for _ in range(beams)]
        self.beams = beams

    def reorder(self, rows: Tensor) -> None:
        chosen = rows.tolist()
        assert len(chosen) == len(self.rows)
        homes = [row // self.beams for row in chosen]
        assert homes == [place // self.beams for place in range(len(chosen))], "rows left their sentence"
        self.rows = [self.rows[row] for row in chosen]

    def keep(self, sentences: Tensor) -> None:
        chosen = sentences.tolist()
        self.sources = [self.sources[place] for place in chosen]
        self.rows = [
            row for place in chosen for row in self.rows[place * self.beams : (place + 1) * self.beams]
        ]


class PathModel:
    """A :class:`~atlas.decoding.protocol.StepModel` whose logits are a function of source and path.

    What it shows a recorder are fingerprints: decoder weights are the ids that the row has read, cross
    weights the source ids plus 100 times :func:`fingerprint`.
    """

    state = Paths

    def __init__(self, logits: Logits, dtype: torch.dtype = torch.float64) -> None:
        self.logits, self.dtype = logits, dtype
        self.steps = 0
        self.rows = 0

    def begin(
        self,
        source: Tensor,
        mask: Tensor,
        recorder: Recorder | None = None,
        *,
        positions: Tensor | None = None,
    ) -> Paths:
        sources = [tuple(row[real].tolist()) for row, real in zip(source, mask, strict=True)]
        return self.state(sources, [()] * len(sources))

    def step(self, tokens: Tensor, cache: Paths, recorder: Recorder | None = None) -> Tensor:
        assert tokens.shape == (len(cache.rows), 1)
        self.steps += 1
        self.rows += len(cache.rows)
        cache.rows = [(*row, int(token)) for row, token in zip(cache.rows, tokens, strict=True)]
        if recorder is not None:
            recorder("decoder.0.self.weights", torch.tensor(cache.rows, dtype=torch.float64)[:, None, None])
            longest = max(map(len, cache.sources))
            cross = [
                [[*source, *[PAD_ID] * (longest - len(source))] for _ in range(cache.beams)]
                for source in cache.sources
            ]
            marks = torch.tensor([fingerprint(row) for row in cache.rows]).view(-1, cache.beams, 1)
            recorder("decoder.0.cross.weights", (torch.tensor(cross) + 100.0 * marks)[:, None])
        return torch.tensor(
            [self._row(cache.sources[place // cache.beams], row[1:]) for place, row in enumerate(cache.rows)],
            dtype=self.dtype,
        )

    def _row(self, source: tuple[int, ...], path: tuple[int, ...]) -> Sequence[float]:
        if PAD_ID in path:  # a row that is not in use: what it says would win if anyone listened
            return [1e3] * len(self.logits(source, ()))
        return self.logits(source, path)


class ForgetfulPaths(Paths):
    """A cache that is not reordered with the beams."""

    def reorder(self, rows: Tensor) -> None:
        """Do nothing."""


class ForgetfulModel(PathModel):
    state = ForgetfulPaths


def fingerprint(row: Sequence[int]) -> float:
    """A number that tells paths of these tests apart, the start token counted."""
    return float(functools.reduce(lambda mark, token: (mark * 7 + token) % 65521, row, 0))


def table(rows: dict[tuple[int, ...], dict[int, float]], vocabulary: int) -> Logits:
    """Probabilities by path; what is not named has none."""

    def logits(source: tuple[int, ...], path: tuple[int, ...]) -> list[float]:
        row = [NEVER] * vocabulary
        for token, probability in rows[path].items():
            row[token] = float(np.log(probability))
        return row

    return logits


def random_logits(seed: int, vocabulary: int, *, scale: float = 1.5, grain: float = 0.0) -> Logits:
    """Normal logits, different for every source and path; rounded to multiples of ``grain`` if it is set,
    which makes ties.
    """

    @functools.cache
    def logits(source: tuple[int, ...], path: tuple[int, ...]) -> tuple[float, ...]:
        random = np.random.default_rng([seed, len(path), *source, *path])
        row = random.normal(size=vocabulary) * scale
        return tuple(np.round(row / grain) * grain if grain else row)

    return logits


def log_probabilities(logits: Logits, source: tuple[int, ...], path: tuple[int, ...]) -> list[float]:
    row = torch.tensor([logits(source, path)], dtype=torch.float64)
    return (row - row.logsumexp(-1, keepdim=True))[0].tolist()


def penalty(options: SearchOptions, length: int) -> float:
    """What a sum of log-probabilities is divided by."""
    return {"none": 1.0, "average": float(length), "gnmt": ((5 + length) / 6) ** options.alpha}[
        options.penalty
    ]


@dataclass(frozen=True)
class Plain:
    """A hypothesis of the plain searches."""

    ids: tuple[int, ...]
    total: float
    score: float


def exhaustive(logits: Logits, source: tuple[int, ...], options: SearchOptions, limit: int) -> list[Plain]:
    """Every finished text of at most ``limit`` tokens, best first."""
    vocabulary = len(logits(source, ()))
    words = [token for token in range(vocabulary) if token not in (PAD_ID, START_ID, END_ID)]
    found = []
    for length in range(1, limit + 1):
        for body in itertools.product(words, repeat=length - 1):
            ids = (*body, END_ID)
            total = sum(log_probabilities(logits, source, ids[:i])[ids[i]] for i in range(length))
            found.append(Plain(ids, total, total / penalty(options, length)))
    return sorted(found, key=lambda item: -item.score)


@dataclass
class PlainSearch:
    """What :func:`plain_search` saw: ``candidates`` are (step, rank, ids, fate) in order."""

    hypotheses: list[Plain]
    finished: bool
    candidates: list[tuple[int, int, tuple[int, ...], str]]


def plain_search(logits: Logits, source: tuple[int, ...], options: SearchOptions, limit: int) -> PlainSearch:
    """Beam search by the letter of the design: lists, sorting, nothing shared with the real one."""
    width = options.width
    live: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    finished: list[Plain] = []
    candidates = []
    for length in range(1, limit + 1):
        grown = [
            (total + logprob, parent, token)
            for parent, (ids, total) in enumerate(live)
            for token, logprob in enumerate(log_probabilities(logits, source, ids))
            if token not in (PAD_ID, START_ID)
        ]
        grown.sort(key=lambda item: (-item[0], item[1], item[2]))
        following = []
        for rank, (total, parent, token) in enumerate(grown[: 2 * width]):
            ids, fate = (*live[parent][0], token), "pruned"
            if token == END_ID:
                if rank < width:
                    fate = "finished"
                    finished.append(Plain(ids, total, total / penalty(options, length)))
            elif len(following) < width:
                fate = "cut" if length == limit else "kept"
                following.append((ids, total))
            candidates.append((length, rank, ids, fate))
        live = following
        finished.sort(key=lambda item: -item.score)
        if len(finished) >= width:
            best_possible = max(total for _, total in live) / penalty(options, limit)
            if options.stop == "first" or width == 1 or finished[width - 1].score >= best_possible:
                break
    if finished:
        return PlainSearch(finished[: options.n_best], True, candidates)
    cut = [Plain(ids, total, total / penalty(options, len(ids))) for ids, total in live]
    return PlainSearch(cut[: options.n_best], False, candidates)


def recording(layers: int = 1, extras: tuple[str, ...] = ()) -> Recording:
    """Ask for a record of a model with as many layers of attention of each kind."""
    return Recording({"encoder": layers, "decoder": layers, "cross": layers}, extras)
