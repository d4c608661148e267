"""Translating at a fixed length: our decoder beside CTranslate2 and Hugging Face's Marian, and the floor.

All translate the same random sources into the same number of tokens, with a beam that ends when as many
hypotheses have finished as it is wide, in turns, in one process. CTranslate2 has our weights; Marian has
random ones of the same shape. The floor is what a decoding step cannot do without: every weight of the
decoder read once and multiplied with every row, at the speed at which this machine, in the same rounds, adds
up an array of as many bytes and multiplies large matrices.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray

from atlas.analysis.heads.own import PAIRS
from atlas.bench.machine import machine, wait
from atlas.bench.report import Column, Report
from atlas.bench.rounds import in_turns, ratio
from atlas.decoding import SearchOptions
from atlas.decoding.bulk import search, translate_ids
from atlas.engine import Engine
from atlas.errors import AtlasError
from atlas.model import Transformer
from atlas.model.layers import DecoderLayer
from atlas.text.tokenizer import END_ID, SPECIAL_IDS

SOURCE, TARGET = 14, 20
"""Tokens of every source and of every translation, as in the project's first measurements."""
CASES = ((1, 1), (1, 5), (32, 1), (32, 5))
"""Batch and beam."""
_SIDE, _FLOAT32 = 1024, 4
COLUMNS = (
    Column("ours, tokens/s"),
    Column("CTranslate2"),
    Column("Marian"),
    Column("of CTranslate2", 2),
    Column("of Marian", 2),
    Column("floor, tokens/s"),
    Column("of the floor", 2),
)


class PeerMissing(AtlasError):
    """A library to be compared with is not installed."""


class Peer(Protocol):
    """Something that translates a batch of ids into a fixed number of tokens."""

    def translate_fixed(self, sources: Sequence[Sequence[int]], beam: int, length: int) -> list[int]:
        """How many tokens were written for each sentence."""


class Ours:
    """The project's own search."""

    def __init__(self, model: Transformer) -> None:
        self.model = model

    def translate_fixed(self, sources: Sequence[Sequence[int]], beam: int, length: int) -> list[int]:
        """Translate a batch into ``length`` tokens each."""
        options = SearchOptions(beam=beam, stop="first", penalty="none", min_length=length, max_length=length)
        found = search(self.model, sources, options)
        return [len(hypotheses[0].ids) for hypotheses in found.hypotheses]


@dataclass(frozen=True)
class Floor:
    """What one step must do: read ``weights`` numbers of ``size`` bytes, and multiply each with every row."""

    weights: int
    size: int

    @classmethod
    def of(cls, model: Transformer) -> Floor:
        """The decoder and the matrix to the vocabulary; source keys and values are computed once, before."""
        source = {
            id(weight)
            for layer in model.decoder
            for weight in cast(DecoderLayer, layer).cross_attention.kv.parameters()
        }
        counted = [weight for weight in model.decoder.parameters() if id(weight) not in source]
        numbers = sum(weight.numel() for weight in counted) + model.unembedding.numel()
        return cls(numbers, model.unembedding.element_size())

    def seconds(self, rows: int, read: float, multiply: float) -> float:
        """Of one step, at ``read`` bytes and ``multiply`` operations a second."""
        return max(self.weights * self.size / read, 2 * self.weights * rows / multiply)


def sources_of(count: int, length: int, vocabulary: int) -> list[list[int]]:
    """Random sentences of ``length`` ids, end mark included; the same every time."""
    random = np.random.default_rng(0)
    words = random.integers(max(SPECIAL_IDS) + 1, vocabulary, (count, length - 1))
    return [[*row, END_ID] for row in words.tolist()]


def _peers(engine: Engine, model: Transformer, folder: Path, threads: int) -> dict[str, Peer]:
    """Everything that takes part.

    Raises:
        PeerMissing: the extra ``bench`` is not installed.
    """
    try:
        from atlas.bench.ctranslate import Oracle
        from atlas.bench.marian import Marian

        theirs = Oracle.of(engine.model, engine.tokenizer, folder, device=engine.device.type, threads=threads)
        marian = Marian(engine.model.config, engine.device)
    except ImportError as error:
        raise PeerMissing(_missing(error)) from error
    return {"ours": Ours(model), "CTranslate2": theirs, "Marian": marian}


def _missing(error: ImportError) -> str:
    return f'{error.name} is not installed; it comes with: pip install "attention-atlas[bench]"'


def _limits(floor: Floor, device: torch.device) -> dict[str, Callable[[], object]]:
    """Jobs that show how fast the machine reads (four times as many float32 numbers as there are weights) and
    multiplies (two square matrices of :data:`_SIDE`).
    """
    array = torch.ones(floor.weights, dtype=torch.float32, device=device)
    left, right, out = (torch.ones(_SIDE, _SIDE, dtype=torch.float32, device=device) for _ in range(3))

    def read() -> None:
        for _ in range(4):
            array.sum()
        wait(device)

    def multiply() -> None:
        torch.mm(left, right, out=out)
        wait(device)

    return {"read": read, "multiply": multiply}


def moved(model: Transformer, narrow: Transformer, sentences: Sequence[Sequence[int]]) -> tuple[int, float]:
    """What another precision changes in translations by a beam of 5.

    Returns:
        how many sentences come out differently, and the largest change (nats) of the log-probability of one
        that does not.
    """
    options = SearchOptions()
    pairs = zip(*(translate_ids(each, sentences, options) for each in (model, narrow)), strict=True)
    best = [(ours[0], theirs[0]) for ours, theirs in pairs]
    same = [abs(one.logprob - other.logprob) for one, other in best if one.ids == other.ids]
    return len(best) - len(same), max(same, default=0.0)


def decoding(
    engine: Engine,
    *,
    command: str,
    precision: str = "float32",
    rounds: int = 15,
    cases: Sequence[tuple[int, int]] = CASES,
    source: int = SOURCE,
    target: int = TARGET,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Measure every case.

    Args:
        engine: of a Transformer.
        command: that measures the same again.
        precision: of our weights and products, ``float32`` or ``bfloat16``; the peers stay in float32.
        rounds: how often each is timed.
        cases: batch and beam.
        source: tokens of every source, end mark included.
        target: tokens of every translation.
        progress: called with rounds done and rounds in all.

    Raises:
        PeerMissing: the extra ``bench`` is not installed.
    """
    device, model, notes = engine.device, engine.model, []
    if precision == "bfloat16":
        model = copy.deepcopy(model).bfloat16()
        texts = [engine.tokenizer.source(pair.source) for pair in PAIRS]
        differ, most = moved(engine.model, model, texts)
        notes.append(
            f"Beside float32, {differ} of {len(texts)} sentences of the project's own come out differently; "
            f"log-probabilities of the others move by up to {most:.3f} nats."
        )
    floor = Floor.of(model)
    threads = torch.get_num_threads()
    rows: list[tuple[str, tuple[float | None, ...]]] = []
    seconds: dict[str, list[float]] = {}
    with TemporaryDirectory() as folder:
        peers = _peers(engine, model, Path(folder), threads)
        for place, (batch, beam) in enumerate(cases):

            def report(done: int, total: int, before: int = place) -> None:
                if progress is not None:
                    progress(before * total + done, len(cases) * total)

            sources = sources_of(batch, source, model.config.vocabulary)
            times = _times(peers, sources, beam, target, floor, device, rounds, report)
            case = f"{'greedy' if beam == 1 else f'beam {beam}'}, batch {batch}"
            rows.append((case, _row(times, floor, batch, beam, target)))
            seconds |= {f"{case}: {name}": taken.tolist() for name, taken in times.items()}
    return Report(
        "decoding",
        command,
        machine(device, ("torch", "ctranslate2", "transformers")),
        {
            "model": engine.name,
            "rounds": rounds,
            "source tokens": source,
            "target tokens": target,
            "our precision": precision,
        },
        COLUMNS,
        tuple(rows),
        (
            "Ratios are medians over the rounds of the ratio within a round; above 1, ours is faster.",
            f"The floor of a step: {floor.weights * floor.size / 1e6:.1f} MB of weights read once, "
            f"{2 * floor.weights / 1e6:.1f} million operations a row; encoder, attention and search come on "
            "top.",
            *notes,
        ),
        seconds,
    )


def _times(
    peers: Mapping[str, Peer],
    sources: Sequence[Sequence[int]],
    beam: int,
    target: int,
    floor: Floor,
    device: torch.device,
    rounds: int,
    progress: Callable[[int, int], None],
) -> dict[str, NDArray[np.float64]]:
    """Seconds of every round of every peer, and of what shows how fast the machine is."""
    for name, peer in peers.items():
        written = peer.translate_fixed(sources, beam, target)
        if written != [target] * len(sources):
            raise RuntimeError(f"{name} wrote {written} tokens instead of {target} each")
    jobs: dict[str, Callable[[], object]] = {
        name: _job(peer, sources, beam, target, device) for name, peer in peers.items()
    }
    return in_turns(jobs | _limits(floor, device), rounds, progress=progress)


def _row(
    times: Mapping[str, NDArray[np.float64]], floor: Floor, batch: int, beam: int, target: int
) -> tuple[float, ...]:
    """The numbers of :data:`COLUMNS`."""
    middle = {name: float(np.median(taken)) for name, taken in times.items()}
    speeds = (4.0 * floor.weights * _FLOAT32 / middle["read"], 2.0 * _SIDE**3 / middle["multiply"])
    least, tokens = target * floor.seconds(batch * beam, *speeds), batch * target
    return (
        *(tokens / middle[name] for name in ("ours", "CTranslate2", "Marian")),
        ratio(times["CTranslate2"], times["ours"]),
        ratio(times["Marian"], times["ours"]),
        tokens / least,
        least / middle["ours"],
    )


def _job(
    peer: Peer, sources: Sequence[Sequence[int]], beam: int, target: int, device: torch.device
) -> Callable[[], Any]:
    def job() -> None:
        peer.translate_fixed(sources, beam, target)
        wait(device)

    return job
