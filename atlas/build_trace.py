"""From a recorded search to a trace: padding removed, arrays in the shapes of the schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import atlas
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
    """
    length = len(source_ids)
    expanded = np.full(len(record.parent), -1, np.int32)
    for number, step in enumerate(record.passes):
        expanded[step.node] = number
    longest = max(step.points["decoder.weights"].shape[-1] for step in record.passes)
    search = Search(
        parent=np.array(record.parent, np.int32),
        token=np.array(record.token, np.int32),
        logprob=np.array(record.logprob),
        cumulative=np.array(record.cumulative),
        score=np.array(record.score),
        step=np.array(record.step, np.int32),
        rank=np.array(record.rank, np.int32),
        fate=np.array(record.fate, np.int8),
        forced=np.array(record.forced, bool),
        expanded=expanded,
        cross=_passes(record, "cross.weights"),
        decoder=_ragged(record, "decoder.weights", longest, 0.0),
        top_ids=np.stack([step.top_ids for step in record.passes]).astype(np.int32),
        top_logprobs=np.stack([step.top_logprobs for step in record.passes]).astype(np.float32),
    )
    used = sorted({*record.token, *search.top_ids.flatten().tolist(), *SPECIAL_IDS})
    trace = Trace(
        header=Header(schema_version=SCHEMA_VERSION, package_version=atlas.__version__, **header),
        source=source,
        source_tokens=label_tokens(source, tokenizer.pieces(source_ids), source_ids, SPECIAL_IDS),
        encoder=_encoder(encoder, "weights", layers["encoder"], row, length),
        search=search,
        hypotheses=np.array([found.node for found in hypotheses], np.int32),
        vocabulary={token: tokenizer.piece(token) for token in used},
        special_ids=frozenset(SPECIAL_IDS),
        end_id=END_ID,
        extras=_extras(record, encoder, row, layers, length, longest, extras),
    )
    return trace if trace.nbytes <= MAX_BYTES else trace.with_n_best_rows_only()


def _passes(record: SearchRecord, point: str) -> NDArray[np.float32]:
    return np.stack([step.points[point] for step in record.passes]).astype(np.float32)


def _ragged(record: SearchRecord, point: str, longest: int, filler: float) -> NDArray[np.float32]:
    """``(E, L, H, longest)``: rows of growing length, filled up beyond their end."""
    first = record.passes[0].points[point]
    out = np.full((len(record.passes), *first.shape[:2], longest), filler, np.float32)
    for number, step in enumerate(record.passes):
        row = step.points[point]
        out[number, :, :, : row.shape[-1]] = row
    return out


def _encoder(recorder: Recorder, what: str, layers: int, row: int, length: int) -> NDArray[np.float32]:
    """``(L, H, S, S)`` of weights and scores, ``(L, H, S, K)`` of the others, free of padding."""
    if not layers:
        return np.zeros((0, 0, length, length), np.float32)
    points = recorder.layers("encoder", "self", what, layers)
    found = torch.stack([point[row] for point in points]).float().cpu().numpy()[:, :, :length]
    return found[..., :length] if what in ("weights", "scores") else found


def _extras(
    record: SearchRecord,
    encoder: Recorder,
    row: int,
    layers: Mapping[str, int],
    length: int,
    longest: int,
    wanted: Sequence[str],
) -> dict[str, NDArray[np.float32]]:
    found: dict[str, NDArray[np.float32]] = {}
    if "scores" in wanted:
        found["encoder.scores"] = _encoder(encoder, "scores", layers["encoder"], row, length)
        found["decoder.scores"] = _ragged(record, "decoder.scores", longest, -np.inf)
        found["cross.scores"] = _passes(record, "cross.scores")
    for what in ("q", "k", "v"):
        if what in wanted:
            found[f"encoder.{what}"] = _encoder(encoder, what, layers["encoder"], row, length)
            found[f"decoder.{what}"] = _passes(record, f"decoder.{what}")
    if "q" in wanted:
        found["cross.q"] = _passes(record, "cross.q")
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
        found["decoder.residual_norm"] = _passes(record, "decoder.residual_norm")
    if "logits" in wanted:
        found["logits"] = _passes(record, "logits")
    return found
