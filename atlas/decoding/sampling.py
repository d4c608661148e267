"""Drawing a translation instead of searching for one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from atlas.decoding.beam import Found, Recording, SearchResult
from atlas.decoding.candidates import NEVER
from atlas.decoding.options import OptionsError, SearchOptions, default_limit
from atlas.decoding.protocol import StepModel
from atlas.decoding.record import CUT, FINISHED, KEPT, SearchRecord, record_step
from atlas.model.recorder import Recorder
from atlas.text.batches import pad
from atlas.text.tokenizer import END_ID, PAD_ID, START_ID


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
    if any(token in (*NEVER, END_ID) for token in prefix):
        raise OptionsError("a forced beginning cannot contain control tokens")
    source = pad(sources).to(device)
    mask = source != PAD_ID
    encoder = (
        Recorder(("weights", "residual", "embedded", "memory", *recording.extras)) if recording else None
    )
    state = model.begin(source, mask, encoder, positions=positions)
    width = options.n_best
    if width > 1:
        state.expand(width)
    randoms = [np.random.default_rng([options.seed, draw]) for _ in sources for draw in range(width)]
    limits = [options.max_length or default_limit(len(ids)) for ids in sources]
    if longest is not None:
        limits = [min(limit, longest - len(prefix)) for limit in limits]
        if min(limits) < 1:
            raise OptionsError(
                f"the forced beginning has {len(prefix)} tokens; this model takes at most {longest - 1}"
            )
    records = [SearchRecord() for _ in sources] if recording else []
    rows = len(sources) * width
    ids: list[list[int]] = [[] for _ in range(rows)]
    logprobs: list[list[float]] = [[] for _ in range(rows)]
    nodes = [0] * rows
    going = [True] * rows
    known: list[dict[tuple[int, int], int]] = [{} for _ in sources]
    seen: list[set[int]] = [set() for _ in sources]
    tokens = torch.full((rows, 1), START_ID, device=device)
    while any(going):
        recorder = Recorder(("weights", "residual", "embedded", *recording.extras)) if recording else None
        logits = model.step(tokens, state, recorder)
        if recorder is not None and recording is not None:
            read = [
                _unread(nodes[s * width : (s + 1) * width], going[s * width : (s + 1) * width], seen[s])
                for s in range(len(sources))
            ]
            record_step(
                records, read, recorder, logits, [len(s) for s in sources], recording.layers, recording.extras
            )
        own = logits.double().log_softmax(-1).cpu().numpy()
        for row in range(rows):
            if not going[row]:
                continue
            depth, limit = len(ids[row]), limits[row // width] + len(prefix)
            if depth < len(prefix):
                token = prefix[depth]
            else:
                offered = own[row].copy()
                offered[list(NEVER)] = -np.inf
                distribution = sampling_distribution(offered, options)
                token = int(
                    min(
                        np.searchsorted(np.cumsum(distribution), randoms[row].random(), side="right"),
                        np.flatnonzero(distribution)[-1],
                    )
                )
            ids[row].append(token)
            logprobs[row].append(float(own[row, token]))
            ended, cut = token == END_ID, depth + 1 >= limit
            going[row] = not (ended or cut)
            if recording:
                score = options.normalise(sum(logprobs[row][len(prefix) :]), max(0, depth + 1 - len(prefix)))
                fate = FINISHED if ended else CUT if cut else KEPT
                record, edge = records[row // width], (nodes[row], token)
                if edge not in known[row // width]:  # draws that begin alike share their nodes
                    known[row // width][edge] = record.add(
                        nodes[row],
                        token,
                        logprobs[row][-1],
                        score,
                        row % width,
                        fate,
                        forced=depth < len(prefix),
                    )
                nodes[row] = known[row // width][edge]
        tokens = torch.tensor([[row[-1]] for row in ids], device=device)
    results = []
    for sentence in range(len(sources)):
        found: dict[tuple[int, ...], Found] = {}
        for row in range(sentence * width, (sentence + 1) * width):
            score = options.normalise(sum(logprobs[row][len(prefix) :]), len(ids[row]) - len(prefix))
            found[tuple(ids[row])] = Found(
                tuple(ids[row]),
                tuple(logprobs[row]),
                score,
                ids[row][-1] == END_ID,
                nodes[row] if recording else -1,
            )
        results.append(sorted(found.values(), key=lambda item: -item.score))
    return SearchResult(results, records, encoder)


def _unread(nodes: list[int], going: list[bool], seen: set[int]) -> list[int]:
    """The nodes whose pass is still to be stored, -1 elsewhere; they count as seen from now on."""
    read = []
    for node, alive in zip(nodes, going, strict=True):
        read.append(node if alive and node not in seen else -1)
        seen.add(node)
    return read
