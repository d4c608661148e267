"""Beam search over a batch, as a state that is stepped, with a record of everything that it looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from atlas.decoding.candidates import NEVER, Best, best_tokens, log_probabilities
from atlas.decoding.options import SearchOptions
from atlas.decoding.passes import ALTERNATIVES
from atlas.decoding.protocol import StepModel
from atlas.decoding.record import CUT, FINISHED, KEPT, PRUNED, SearchRecord, record_step
from atlas.decoding.search import (
    Found,
    Recording,
    SearchResult,
    check_forced,
    length_limits,
    read_sources,
    step_recorder,
)
from atlas.text.tokenizer import END_ID, PAD_ID, START_ID


@dataclass
class _Live:
    """A hypothesis that may still grow."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    total: float
    node: int
    row: int = 0
    """Its row in the model's state, counted within the sentence."""


@dataclass
class _Sentence:
    """The search of one sentence: live and finished hypotheses apart."""

    index: int
    source_length: int
    limit: int
    prefix: tuple[int, ...]
    live: list[_Live] = field(default_factory=lambda: [_Live((), (), 0.0, 0)])
    finished: list[Found] = field(default_factory=list)
    record: SearchRecord | None = None
    done: bool = False


@torch.inference_mode()
def beam_search(
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
    """The best translations of a batch.

    Each step looks at the ``2 k`` best candidates of a sentence (k is the beam). An end mark among the
    first k of them finishes its hypothesis; the first k others live
    on. Ties go to the higher score, then the earlier parent, then the lower token. The first step grows
    from one row. Width 1 is greedy search.

    Args:
        sources: ids of each sentence, end mark included.
        prefix: target ids that every hypothesis must begin with; they do not count for length or score.
        recording: keep every candidate, and the attention of every pass.
        positions: ``(P, D)`` used instead of the encoder's position table.
        longest: positions that the model has for the target; the limit is cut to fit.

    Raises:
        OptionsError: the prefix holds a control token, or leaves no room.
    """
    check_forced(prefix, "beginning")
    limits = length_limits(sources, options, prefix, longest)
    state, encoder = read_sources(model, sources, recording, positions, device)
    width = options.width
    sentences = [
        _Sentence(index, len(ids), limit, tuple(prefix), record=SearchRecord() if recording else None)
        for index, (ids, limit) in enumerate(zip(sources, limits, strict=True))
    ]
    results: list[list[Found]] = [[] for _ in sources]
    records = [sentence.record for sentence in sentences if sentence.record is not None]
    beams, tokens = 1, torch.full((len(sentences), 1), START_ID, device=device)
    read: list[list[int]] = [[0] for _ in sentences]
    offered = 2 * width if recording is None else max(2 * width, ALTERNATIVES)
    depth = 0
    while sentences:
        recorder = step_recorder(recording)
        logits = model.step(tokens, state, recorder)
        best = None
        early = depth - len(prefix) < options.min_length
        if depth >= len(prefix):
            best = best_tokens(logits, offered, (*NEVER, END_ID) if early else NEVER)
        if recorder is not None and recording is not None:
            record_step(
                [s.record for s in sentences if s.record is not None],
                read,
                recorder,
                logits,
                None if early else best,
                [s.source_length for s in sentences],
                recording.layers,
                recording.extras,
            )
        if best is None:
            _force(sentences, logits, prefix[depth], options)
        else:
            for sentence, candidates in zip(
                sentences, _candidates(sentences, best, beams, width), strict=True
            ):
                _advance(sentence, candidates, options, width)
        depth += 1
        for sentence in sentences:
            if sentence.done:
                results[sentence.index] = _ranked(sentence, options)
        staying = _staying(sentences)
        if len(staying) < len(sentences):
            sentences = [sentences[place] for place in staying]
            if not sentences:
                break
            state.keep(torch.tensor(staying, device=device))
        if beams < width and depth > len(prefix):
            state.expand(width)
            beams = width
        if beams > 1 and depth > len(prefix) + 1:
            state.reorder(torch.tensor(_rows(sentences, beams), device=device))
        tokens = torch.tensor(
            [
                [ids]
                for sentence in sentences
                for ids in _padded([h.ids[-1] for h in sentence.live], beams, PAD_ID)
            ],
            device=device,
        )
        read = [_padded([h.node for h in sentence.live], beams, -1) for sentence in sentences]
    return SearchResult(results, records, encoder)


def _padded(values: list[int], count: int, filler: int) -> list[int]:
    return values + [filler] * (count - len(values))


def _rows(sentences: list[_Sentence], beams: int) -> list[int]:
    return [
        place * beams + row
        for place, sentence in enumerate(sentences)
        for row in _padded([h.row for h in sentence.live], beams, 0)
    ]


def _force(sentences: list[_Sentence], logits: Tensor, token: int, options: SearchOptions) -> None:
    """Make the next token of every sentence ``token``; its log-probability is the model's own."""
    chosen = log_probabilities(logits)[:, token].tolist()
    for sentence, logprob in zip(sentences, chosen, strict=True):
        old = sentence.live[0]
        node = 0
        if sentence.record is not None:
            node = sentence.record.add(old.node, token, logprob, 0.0, 0, KEPT, forced=True)
        sentence.live = [_Live((*old.ids, token), (*old.logprobs, logprob), 0.0, node)]


_Candidate = tuple[int, int, float]
"""The row that a candidate grows from, counted within its sentence; its token; its log-probability."""


def _candidates(sentences: list[_Sentence], best: Best, beams: int, width: int) -> list[list[_Candidate]]:
    """The at most ``2 width`` best candidates of each sentence, best first."""
    totals = np.full((len(sentences), beams, 1), -np.inf)
    for place, sentence in enumerate(sentences):
        totals[place, : len(sentence.live), 0] = [hypothesis.total for hypothesis in sentence.live]
    shape = (len(sentences), -1)
    sums = (best.logprobs.reshape(len(sentences), beams, -1) + totals).reshape(shape)
    order = np.argsort(-sums, axis=-1, kind="stable")[:, : 2 * width]
    here = np.arange(len(sentences))[:, None]
    columns = (
        order // best.tokens.shape[-1],
        best.tokens.reshape(shape)[here, order],
        best.logprobs.reshape(shape)[here, order],
    )
    possible = (sums[here, order] > -np.inf).sum(-1).tolist()
    return [
        list(zip(*rows, strict=True))[:count]
        for *rows, count in zip(*(column.tolist() for column in columns), possible, strict=True)
    ]


def _staying(sentences: list[_Sentence]) -> list[int]:
    """Places of the sentences whose search goes on; the last ones fill the places that become free, so that
    little has to move.
    """
    going = [place for place, sentence in enumerate(sentences) if not sentence.done]
    count = len(going)
    last = iter(reversed([place for place in going if place >= count]))
    return [next(last) if sentences[place].done else place for place in range(count)]


def _advance(sentence: _Sentence, candidates: list[_Candidate], options: SearchOptions, width: int) -> None:
    """One step of one sentence: give each candidate its fate, see whether the search is over."""
    length = len(sentence.live[0].ids) - len(sentence.prefix) + 1
    last = length >= sentence.limit
    grown: list[_Live] = []
    for rank, (row, token, logprob) in enumerate(candidates):
        old = sentence.live[row]
        total = old.total + logprob
        score = options.normalise(total, length)
        ended = token == END_ID
        fate = PRUNED
        if ended and rank < width:
            fate = FINISHED
        elif not ended and len(grown) < width:
            fate = CUT if last else KEPT
        node = (
            sentence.record.add(old.node, token, logprob, score, rank, fate)
            if sentence.record is not None
            else -1
        )
        if fate == FINISHED:
            sentence.finished.append(Found((*old.ids, token), (*old.logprobs, logprob), score, True, node))
        elif fate in (KEPT, CUT):
            grown.append(_Live((*old.ids, token), (*old.logprobs, logprob), total, node, row))
    sentence.live = grown
    sentence.finished = (
        sorted(sentence.finished, key=lambda found: -found.score)[:width]
        if options.stop == "exact"
        else sentence.finished
    )
    sentence.done = last or not grown or _over(sentence, options, width)


def _over(sentence: _Sentence, options: SearchOptions, width: int) -> bool:
    """May the search stop? With ``exact``: only when the best live hypothesis, at the length limit's
    penalty, cannot beat the worst finished one.
    """
    if len(sentence.finished) < width:
        return False
    if options.stop == "first" or width == 1:
        return True
    bound = options.normalise(max(h.total for h in sentence.live), sentence.limit)
    return min(found.score for found in sentence.finished) >= bound


def _ranked(sentence: _Sentence, options: SearchOptions) -> list[Found]:
    """The finished hypotheses, best first; if none has finished, the live ones that the limit cut."""
    found = sorted(sentence.finished, key=lambda item: -item.score)
    if not found:
        length = len(sentence.live[0].ids) - len(sentence.prefix) if sentence.live else 0
        found = [
            Found(h.ids, h.logprobs, options.normalise(h.total, length), False, h.node) for h in sentence.live
        ]
    return found[: options.n_best]
