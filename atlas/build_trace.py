"""From a recorded search to a trace: padding removed, arrays in the shapes of the schema."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import atlas
from atlas.decoding.passes import Passes
from atlas.decoding.record import SearchRecord
from atlas.decoding.search import Found
from atlas.model.recorder import Recorder
from atlas.text.tokenizer import END_ID, SPECIAL_IDS, Tokenizer
from atlas.trace import SCHEMA_VERSION, Header, Search, Trace, label_tokens

MAX_BYTES = 64_000_000
"""Past this size a trace keeps the rows of its n-best paths alone."""


def build_trace(
    *,
    record: SearchRecord,
    hypotheses: Sequence[Found],
    encoder: Recorder,
    row: int,
    layers: Mapping[str, int],
    source: str,
    source_ids: Sequence[int],
    tokenizer: Tokenizer,
    header: dict[str, Any],
    extras: Sequence[str],
) -> Trace:
    """The trace of one sentence of a batch.

    Args:
        encoder: what the encoder showed for the whole batch; ``row`` is this sentence in it.
        layers: of attention, by kind.
        source: the NFC sentence; ``source_ids``: its S tokens, end mark included.
        header: model and language names, hash and settings.
        extras: the kinds of point that were asked for beside the weights.

    Returns:
        a trace with every pass, or only those of the hypotheses where it would pass :data:`MAX_BYTES`.
    """
    length, passes = len(source_ids), record.passes
    parent = np.array(record.parent, np.int32)
    ends = np.array([found.node for found in hypotheses], np.int32)
    once = {"encoder": _encoder(encoder, "weights", layers["encoder"], row, length)}
    once |= _encoder_extras(encoder, row, layers, length, extras)
    used = sorted({*record.token, *passes.top()[0].flatten().tolist(), *SPECIAL_IDS})
    columns: dict[str, NDArray[Any]] = {
        "parent": parent,
        "token": np.array(record.token, np.int32),
        "logprob": np.array(record.logprob),
        "cumulative": np.array(record.cumulative),
        "score": np.array(record.score),
        "step": np.array(record.step, np.int32),
        "rank": np.array(record.rank, np.int32),
        "fate": np.array(record.fate, np.int8),
        "forced": np.array(record.forced, bool),
        "expanded": np.full(len(parent), -1, np.int32),
    }
    whole = sum(array.nbytes for array in (ends, *once.values(), *columns.values())) + _pass_bytes(passes)
    wanted = None if whole <= MAX_BYTES else np.isin(passes.nodes, _ancestors(parent, ends))
    read = np.array(passes.nodes) if wanted is None else np.array(passes.nodes)[wanted]
    columns["expanded"][read] = np.arange(len(read), dtype=np.int32)
    top_ids, top_logprobs = passes.top(wanted)
    search = Search(
        **columns,
        cross=passes.gather("cross.weights", wanted),
        decoder=passes.gather("decoder.weights", wanted),
        top_ids=top_ids,
        top_logprobs=top_logprobs,
    )
    more = {
        point: passes.gather(point, wanted, -np.inf if point == "decoder.scores" else 0.0)
        for point in passes.points
        if point not in ("cross.weights", "decoder.weights")
    }
    return Trace(
        header=Header(schema_version=SCHEMA_VERSION, package_version=atlas.__version__, **header),
        source=source,
        source_tokens=label_tokens(source, tokenizer.pieces(source_ids), source_ids, SPECIAL_IDS),
        encoder=once.pop("encoder"),
        search=search,
        hypotheses=ends,
        vocabulary={number: tokenizer.piece(number) for number in used},
        special_ids=frozenset(SPECIAL_IDS),
        end_id=END_ID,
        extras=once | more,
        rows_kept="all" if wanted is None else "n-best",
    )


def _pass_bytes(passes: Passes) -> int:
    """Bytes of everything that is kept of every pass: float32, as the ids and log-probabilities of the
    likeliest tokens.
    """
    points = sum(math.prod(passes.shape(point)) for point in passes.points)
    ids, logprobs = passes.top()
    return 4 * len(passes) * points + ids.nbytes + logprobs.nbytes


def _ancestors(parent: NDArray[np.int32], nodes: NDArray[np.int32]) -> list[int]:
    """Every node on a path from the root to one of ``nodes``."""
    found: set[int] = set()
    for node in nodes.tolist():
        while node >= 0 and node not in found:
            found.add(node)
            node = int(parent[node])
    return sorted(found)


def _encoder(recorder: Recorder, what: str, layers: int, row: int, length: int) -> NDArray[np.float32]:
    """``(L, H, S, S)`` of weights and scores, ``(L, H, S, K)`` of the others, free of padding."""
    if not layers:
        return np.zeros((0, 0, length, length), np.float32)
    points = recorder.layers("encoder", "self", what, layers)
    found = torch.stack([point[row] for point in points]).float().cpu().numpy()[:, :, :length]
    return found[..., :length] if what in ("weights", "scores") else found


def _encoder_extras(
    encoder: Recorder, row: int, layers: Mapping[str, int], length: int, wanted: Sequence[str]
) -> dict[str, NDArray[np.float32]]:
    """What was asked for and belongs to the sentence, not to a pass of the search."""
    found: dict[str, NDArray[np.float32]] = {}
    for what in ("scores", "q", "k", "v"):
        if what in wanted:
            found[f"encoder.{what}"] = _encoder(encoder, what, layers["encoder"], row, length)
    for what in ("k", "v"):
        if what in wanted:
            stacked = torch.stack(
                [encoder[f"decoder.{layer}.cross.memory.{what}"][row] for layer in range(layers["cross"])]
            )
            found[f"cross.{what}"] = stacked.float().cpu().numpy()[..., :length, :]
    if "residual" in wanted:
        names = [
            name
            for name in encoder.points
            if name.startswith("encoder.") and name.endswith((".residual", ".embedded"))
        ]
        found["encoder.residual_norm"] = (
            torch.stack([encoder[name][row].norm(dim=-1) for name in names]).float().cpu().numpy()[:, :length]
        )
    return found
