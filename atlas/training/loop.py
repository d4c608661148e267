"""The training loop: one process or many, stopped at any moment and resumed to the same numbers."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from atlas.decoding.bulk import translate_ids
from atlas.decoding.options import SearchOptions
from atlas.model.family import Model
from atlas.text.batches import Batch, EncodedPairs
from atlas.text.corpora import TestSet
from atlas.text.tokenizer import Tokenizer
from atlas.training.config import TrainingConfig
from atlas.training.distributed import Processes
from atlas.training.evaluation import corpus_scores, mean_loss
from atlas.training.loss import TeacherForcing
from atlas.training.report import Reporter
from atlas.training.schedule import learning_rate
from atlas.training.state import HistoryRow, Progress, RunFolder


@dataclass(frozen=True)
class Sentences:
    """What a run learns from and is measured on."""

    train: EncodedPairs
    development: EncodedPairs
    check: TestSet
    """Development sentences that are translated at every evaluation."""


class Trainer:
    """Updates a model until its steps, its minutes or its patience run out.

    Args:
        folder: where states go; a run that is found there goes on.
        processes: this process among those of the run.
        report: told of every step and every evaluation.
    """

    def __init__(
        self,
        model: Model,
        tokenizer: Tokenizer,
        sentences: Sentences,
        config: TrainingConfig,
        folder: RunFolder,
        processes: Processes,
        report: Reporter,
    ) -> None:
        self.model, self.tokenizer, self.sentences = model, tokenizer, sentences
        self.config, self.folder, self.processes, self.report = config, folder, processes, report
        decayed = [p for p in model.parameters() if p.dim() > 1]
        others = [p for p in model.parameters() if p.dim() <= 1]
        self.optimizer = torch.optim.AdamW(
            [
                {"params": decayed, "weight_decay": config.weight_decay},
                {"params": others, "weight_decay": 0.0},
            ],
            lr=0.0,
            betas=config.betas,
            eps=config.epsilon,
            fused=True,
        )
        self.progress = Progress()
        if folder.exists():
            self.progress = folder.load(model, self.optimizer, config.to_dict())
            if processes.first:
                folder.tidy(self.progress.step, config.average)
        forced = TeacherForcing(model, config.label_smoothing)
        self.forced: nn.Module = DistributedDataParallel(forced) if processes.world > 1 else forced

    def run(self, max_minutes: float | None = None, on_evaluation: Callable[[], None] | None = None) -> None:
        """Train to the end, or until ``max_minutes`` of training (all sittings added up) are over."""
        progress, config = self.progress, self.config
        if progress.since_best >= config.patience:  # a run that had stopped by itself is opened again
            return
        if not progress.precision:
            progress.precision = self._choose_precision()
        self.model.train()
        order = self.sentences.train.order(config.tokens, config.seed, progress.epoch)
        started = time.monotonic() - progress.seconds
        while progress.step < config.steps:
            if progress.position == len(order):
                progress.epoch, progress.position = progress.epoch + 1, 0
                order = self.sentences.train.order(config.tokens, config.seed, progress.epoch)
            self.update(self.sentences.train.batch(order[progress.position]))
            progress.position += 1
            progress.seconds = time.monotonic() - started
            self.report.step(progress, config.steps)
            last = self.processes.any(
                progress.step == config.steps
                or (max_minutes is not None and progress.seconds >= 60 * max_minutes)
            )
            if last or progress.step % config.evaluate_every == 0:
                last = self._evaluate(len(order)) or last
                if on_evaluation is not None and self.processes.first:
                    on_evaluation()
                progress.seconds = time.monotonic() - started
            self._keep(last)
            if last:
                break

    def _keep(self, last: bool) -> None:
        if not self.processes.first:
            return
        step, config = self.progress.step, self.config
        if step % config.average_every == 0 or last:
            self.folder.keep_for_average(self.model, step)
        if step in config.snapshots:
            self.folder.snapshot(self.model, step)
        if step % config.save_every == 0 or last:
            self.folder.save(self.model, self.optimizer, self.progress, config.to_dict())

    def _autocast(self, precision: str) -> torch.autocast | nullcontext[None]:
        if precision == "float32":
            return nullcontext()
        return torch.autocast(self.model.device.type, torch.bfloat16)

    def _losses(self, batch: Batch, precision: str) -> tuple[Tensor, Tensor]:
        mine = batch.rows(self.processes.rank, self.processes.world)
        empty = mine.source.shape[0] == 0  # a batch with fewer rows than processes: take part, add nothing
        mine = (batch.rows(0, len(batch.source)) if empty else mine).to(self.model.device)
        with self._autocast(precision):
            loss, nll = self.forced(mine)
        return (loss * 0, nll * 0) if empty else (loss, nll)

    def update(self, batch: Batch) -> None:
        """One step: the loss of a batch, its gradient, and what the optimiser makes of it.

        The precision is that of ``progress``; the model must be in training mode.
        """
        progress, config = self.progress, self.config
        progress.step += 1
        torch.manual_seed(
            config.seed * 1_000_003 + progress.step * self.processes.world + self.processes.rank
        )
        rate = learning_rate(config, progress.step)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        tokens = batch.tokens
        loss, nll = self._losses(batch, progress.precision)
        # DistributedDataParallel takes the mean over processes; each holds a part of the sum over the batch.
        (loss * (self.processes.world / tokens)).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), config.clip, error_if_nonfinite=True)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        progress.loss_sum += self.processes.sum(float(nll))
        progress.loss_tokens += tokens
        progress.target_tokens += tokens

    def _choose_precision(self) -> str:
        """Time three batches of each precision (forward and backward, no update) and take the faster."""
        if self.config.precision != "auto":
            return self.config.precision
        if self.model.device.type == "cuda":
            return "bfloat16"
        train, seconds = self.sentences.train, {}
        order = train.order(self.config.tokens, self.config.seed, 0)[:3]
        self.model.train()
        for precision in ("float32", "bfloat16", "float32", "bfloat16"):
            start = time.monotonic()
            for numbers in order:
                self._losses(train.batch(numbers), precision)[0].backward()
                self.optimizer.zero_grad(set_to_none=True)
            seconds[precision] = time.monotonic() - start
        means = [self.processes.sum(seconds[name]) for name in ("float32", "bfloat16")]
        choice = "bfloat16" if means[1] < means[0] else "float32"
        self.report.say(
            f"precision: {choice} (three batches took {means[0]:.2f} s in float32, {means[1]:.2f} s "
            f"in bfloat16)"
        )
        return choice

    def _evaluate(self, batches: int) -> bool:
        """Measure, add a line to the history; True when the development loss has not fallen for
        ``patience`` evaluations.
        """
        progress = self.progress
        if self.processes.first:
            loss = mean_loss(self.model, self.sentences.development)
            self.model.eval()
            hypotheses = translate_greedily(self.model, self.tokenizer, self.sentences.check.sources)
            self.model.train()
            scores = corpus_scores(hypotheses, self.sentences.check.references)
            train_loss = progress.loss_sum / max(1, progress.loss_tokens)
            row = HistoryRow(
                progress.step,
                progress.epoch + progress.position / batches,
                progress.target_tokens,
                progress.seconds / 60,
                learning_rate(self.config, progress.step),
                train_loss,
                math.exp(train_loss),
                loss,
                math.exp(loss),
                scores.bleu,
                scores.chrf,
            )
            progress.history.append(row)
            self.report.evaluation(row, list(zip(self.sentences.check.sources, hypotheses, strict=True))[:3])
            progress.since_best = 0 if loss < progress.best else progress.since_best + 1
            progress.best = min(progress.best, loss)
        progress.loss_sum, progress.loss_tokens = 0.0, 0
        return self.processes.any(progress.since_best >= self.config.patience)


def translate_greedily(model: Model, tokenizer: Tokenizer, sources: Sequence[str]) -> list[str]:
    """Greedy translations of sentences, as text."""
    found = translate_ids(model, [tokenizer.source(text) for text in sources], SearchOptions(method="greedy"))
    return [tokenizer.decode(hypotheses[0].ids) for hypotheses in found]
