"""Teacher forcing: what the model thinks of a translation that someone else wrote."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from atlas.decoding.candidates import log_probabilities
from atlas.decoding.options import OptionsError, SearchOptions
from atlas.decoding.record import FINISHED, KEPT, SearchRecord, record_step
from atlas.decoding.search import Found, Recording, SearchResult, check_forced, read_sources, step_recorder
from atlas.decoding.stepper import stepper
from atlas.model.family import Model
from atlas.text.tokenizer import END_ID, START_ID


@torch.inference_mode()
def force_target(
    model: Model,
    source: Sequence[int],
    target: Sequence[int],
    options: SearchOptions,
    recording: Recording,
) -> SearchResult:
    """Read ``target`` (no control tokens; the end mark is added) token by token and record what the model
    expected instead.

    The record is a chain of forced nodes; the score is that of the whole target under the length penalty of
    ``options``.

    Raises:
        OptionsError: the target holds a control token, or is longer than the model has positions.
    """
    check_forced(target, "translation")
    if len(target) + 1 > model.config.max_length:
        raise OptionsError(
            f"the forced translation has {len(target)} tokens; this model takes at most "
            f"{model.config.max_length - 1}"
        )
    stepped = stepper(model, recording)
    state, encoder = read_sources(stepped, [source], recording, device=model.device)
    record, node, token = SearchRecord(), 0, START_ID
    logprobs: list[float] = []
    for place, following in enumerate((*target, END_ID), 1):
        recorder = step_recorder(recording)
        assert recorder is not None
        logits = stepped.step(torch.tensor([[token]], device=model.device), state, recorder)
        record_step(
            [record], [[node]], recorder, logits, None, [len(source)], recording.layers, recording.extras
        )
        logprobs.append(float(log_probabilities(logits)[0, following]))
        score = options.normalise(sum(logprobs), place)
        node = record.add(
            node, following, logprobs[-1], score, 0, FINISHED if following == END_ID else KEPT, forced=True
        )
        token = following
    found = Found((*target, END_ID), tuple(logprobs), record.score[node], True, node)
    return SearchResult([[found]], [record], encoder)
