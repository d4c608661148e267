"""Many sentences: sorted by length, in batches of about equal size, given back in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor

from atlas.decoding.beam import beam_search
from atlas.decoding.edited import Edited
from atlas.decoding.options import SearchOptions
from atlas.decoding.sampling import sample
from atlas.decoding.search import Found, Recording, SearchResult
from atlas.decoding.stepper import stepper
from atlas.model.family import Model

BATCH_TOKENS = 6000
"""Padded source tokens times beams in one batch."""


def search(
    model: Model | Edited,
    sources: Sequence[Sequence[int]],
    options: SearchOptions,
    *,
    prefix: Sequence[int] = (),
    recording: Recording | None = None,
    positions: Tensor | None = None,
) -> SearchResult:
    """One batch, by whatever method the options name; arguments as in
    :func:`~atlas.decoding.beam.beam_search`.
    """
    find = sample if options.method == "sample" else beam_search
    return find(
        stepper(model, recording),
        sources,
        options,
        prefix=prefix,
        recording=recording,
        positions=positions,
        device=model.device,
        longest=model.config.max_length,
    )


def translate_ids(
    model: Model | Edited,
    sources: Sequence[Sequence[int]],
    options: SearchOptions,
    *,
    prefix: Sequence[int] = (),
    positions: Tensor | None = None,
    batch_tokens: int = BATCH_TOKENS,
    progress: Callable[[int, int], None] | None = None,
) -> list[list[Found]]:
    """The hypotheses of every sentence, in the order of ``sources``.

    Args:
        sources: ids of each sentence, end mark included.
        progress: called with the number of sentences done and of all, before the first batch and after each.
    """
    results: list[list[Found]] = [[] for _ in sources]
    order = sorted(range(len(sources)), key=lambda index: len(sources[index]))
    first = 0
    if progress is not None:
        progress(0, len(order))
    while first < len(order):
        last = first + 1
        while (
            last < len(order)
            and len(sources[order[last]]) * (last - first + 1) * options.width <= batch_tokens
        ):
            last += 1
        chosen = order[first:last]
        found = search(
            model, [sources[index] for index in chosen], options, prefix=prefix, positions=positions
        )
        for index, hypotheses in zip(chosen, found.hypotheses, strict=True):
            results[index] = hypotheses
        first = last
        if progress is not None:
            progress(first, len(order))
    return results
