"""Training speed: our model beside the same one made of ``nn.Transformer``, in our training loop."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch

from atlas.bench.machine import machine, wait
from atlas.bench.report import Column, Report
from atlas.bench.rounds import in_turns, ratio
from atlas.bench.torch_transformer import TorchTransformer
from atlas.errors import AtlasError
from atlas.model import PRESETS, Transformer, TransformerConfig
from atlas.model.family import Model
from atlas.text.batches import Batch, EncodedPairs
from atlas.text.tokenizer import SPECIAL_IDS
from atlas.training.config import Precision, TrainingConfig
from atlas.training.distributed import Processes
from atlas.training.loop import Trainer
from atlas.training.report import Reporter
from atlas.training.state import RunFolder

PAIRS = 20_000
SOURCE_LENGTHS = (2.168, 0.303)
"""Mean and standard deviation of the logarithm of the source's tokens, end mark included, in the English and
French of Tatoeba, by the shipped tokenizer (20,000 pairs)."""
TARGET_SHARES = (0.125, 0.186)
"""The same of the target's tokens over the source's."""
OURS, PEER = "ours", "nn.Transformer"


class TrainingBenchError(AtlasError):
    """A measurement of training that cannot be made."""


def everyday_pairs(vocabulary: int, count: int = PAIRS, seed: int = 0) -> EncodedPairs:
    """Random words in sentences as long as those of Tatoeba (log-normal, source and target together)."""
    random = np.random.default_rng(seed)
    logs = random.normal(*SOURCE_LENGTHS, count)
    sources = np.maximum(np.rint(np.exp(logs)), 2).astype(int)
    targets = np.maximum(np.rint(np.exp(logs + random.normal(*TARGET_SHARES, count))), 2).astype(int)
    first = max(SPECIAL_IDS) + 1

    def words(lengths: np.ndarray) -> list[list[int]]:
        ids = random.integers(first, vocabulary, int(lengths.sum() - len(lengths)))
        return [part.tolist() for part in np.split(ids, np.cumsum(lengths - 1)[:-1])]

    return EncodedPairs.of_ids(words(sources), words(targets))


def some_batches(pairs: EncodedPairs, tokens: int, count: int) -> list[Batch]:
    """``count`` batches of an epoch, evenly chosen from the shortest sentences to the longest."""
    batches = sorted(
        (pairs.batch(numbers) for numbers in pairs.order(tokens, 0, 0)), key=lambda b: b.target.shape[1]
    )
    if count > len(batches):
        raise TrainingBenchError(f"{count} batches; an epoch of this measurement has {len(batches)}")
    return [batches[int((place + 0.5) * len(batches) / count)] for place in range(count)]


class Contender:
    """A model in the training loop, with an optimiser of its own.

    Args:
        run: a folder that stays empty.
    """

    def __init__(self, model: Model, precision: Precision, tokens: int, run: Path) -> None:
        config = TrainingConfig("bench", "bench", tokens=tokens, precision=precision)
        nothing = cast(Any, None)  # a tokenizer and sentences serve evaluation alone
        self.trainer = Trainer(
            model, nothing, nothing, config, RunFolder(run), Processes(), Reporter(quiet=True)
        )
        self.trainer.progress.precision = precision
        model.train()
        self.device = model.device

    def work(self, batches: Sequence[Batch]) -> None:
        """An update with each batch; over when the device is done."""
        for batch in batches:
            self.trainer.update(batch)
        wait(self.device)

    def peak(self, batches: Sequence[Batch]) -> float | None:
        """Most memory that the device held during :meth:`work`, in MB; None where it does not say."""
        if self.device.type != "cuda":
            return None
        torch.cuda.reset_peak_memory_stats(self.device)
        self.work(batches)
        return torch.cuda.max_memory_allocated(self.device) / 1e6


@contextmanager
def contenders(
    preset: str, precision: Precision, vocabulary: int, tokens: int, device: torch.device
) -> Iterator[dict[str, Contender]]:
    """Ours and the peer, from the same weights."""
    torch.manual_seed(0)
    config = TransformerConfig(vocabulary=vocabulary, **{**PRESETS[preset], "norm": "pre"})
    model = Transformer(config)
    peer = cast(Model, TorchTransformer(model))
    with tempfile.TemporaryDirectory() as folder:
        yield {
            name: Contender(one.to(device), precision, tokens, Path(folder) / name)
            for name, one in ((OURS, model), (PEER, peer))
        }


COLUMNS = (
    Column("ours (target tokens/s)"),
    Column("nn.Transformer (target tokens/s)"),
    Column("ours / nn.Transformer", 2),
    Column("ours (ms an update)"),
    Column("ours (peak MB)"),
    Column("nn.Transformer (peak MB)"),
)


def _no_card(device: torch.device) -> tuple[str, ...]:
    if device.type == "cuda":
        return ()
    where = "was not chosen" if torch.cuda.is_available() else "is not here"
    return (f"A CUDA device {where}: a step of the base model in bfloat16 was not timed on one.",)


def training_speed(
    *,
    presets: Sequence[str] = ("small",),
    precisions: Sequence[Precision] = ("float32", "bfloat16"),
    vocabulary: int = 8000,
    tokens: int = 4000,
    batches: int = 4,
    rounds: int = 7,
    device: torch.device,
    command: str,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Time updates (loss with label smoothing, gradient, clipping, AdamW) in turns.

    Args:
        presets: sizes of the model, pre-norm all of them: ``nn.Transformer`` normalises once more after a
            post-norm stack.
        precisions: ``float32``, or ``bfloat16`` by autocast.
        tokens: padded size of a batch on its longer side.
        batches: updates in a round.
        device: where the models run.
        command: that prints the report again.
        progress: called with rounds done and rounds in all, over all rows.

    Raises:
        TrainingBenchError: fewer batches exist than asked for.
    """
    some = some_batches(everyday_pairs(vocabulary), tokens, batches)
    total = sum(batch.tokens for batch in some)
    cases = [(preset, precision) for preset in presets for precision in precisions]
    rows: list[tuple[str, tuple[float | None, ...]]] = []
    kept: dict[str, list[float]] = {}
    for place, (preset, precision) in enumerate(cases):

        def report(done: int, _: int, before: int = place * rounds) -> None:
            if progress is not None:
                progress(before + done, rounds * len(cases))

        name = f"{preset}, {precision}"
        with contenders(preset, precision, vocabulary, tokens, device) as both:
            jobs = {who: (lambda one=one: one.work(some)) for who, one in both.items()}
            seconds = in_turns(jobs, rounds, progress=report)
            peaks = {who: one.peak(some) for who, one in both.items()}
        ours, peer = seconds[OURS], seconds[PEER]
        rows.append(
            (
                name,
                (
                    total / float(np.median(ours)),
                    total / float(np.median(peer)),
                    ratio(peer, ours),
                    1000 * float(np.median(ours)) / batches,
                    peaks[OURS],
                    peaks[PEER],
                ),
            )
        )
        kept |= {f"{name}: {who}": times.tolist() for who, times in seconds.items()}
    padded = sum(math.prod(batch.target[:, 1:].shape) for batch in some)
    return Report(
        "training",
        command,
        machine(device),
        {"target tokens a round": total, "padding": f"{1 - total / padded:.0%}", "rounds": rounds},
        COLUMNS,
        tuple(rows),
        (
            "The same loop, loss, optimiser, batches, precision and first weights; the peer is PyTorch's "
            "nn.Transformer, pre-norm, with dropout at the places where ours has it. Sentences are random "
            "words, as long as those of Tatoeba.",
            *_no_card(device),
        ),
        kept,
    )
