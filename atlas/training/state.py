"""A training run on disk: saved whole or not at all, resumed to the same numbers."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from atlas.errors import AtlasError
from atlas.model.family import Model
from atlas.text.tokenizer import Tokenizer
from atlas.training.config import TrainingConfig
from atlas.training.schedule import learning_rate

MAY_CHANGE = frozenset(
    ["steps", "cooldown", "snapshots", "save_every", "average", "average_every", "patience", "evaluate_every"]
    + ["evaluate_sentences", "licence"]
)
"""Settings that a resumed run may change. ``steps`` and ``cooldown`` move the end of a schedule: they may, as
long as the learning rate of the last step that was done stays what it was.
"""


class RunError(AtlasError):
    """A run folder that cannot be continued."""


@dataclass
class HistoryRow:
    """One line of ``history.csv``. Losses are nats a token without smoothing, so perplexity is
    ``exp(loss)``.
    """

    step: int
    epoch: float
    target_tokens: int
    minutes: float
    learning_rate: float
    train_loss: float
    train_perplexity: float
    development_loss: float
    development_perplexity: float
    bleu: float
    chrf: float


@dataclass
class Progress:
    """Where a run stands. ``epoch`` and ``position`` name the next batch; everything random follows from
    the seed and the step.
    """

    step: int = 0
    epoch: int = 0
    position: int = 0
    target_tokens: int = 0
    seconds: float = 0.0
    precision: str = ""
    best: float = float("inf")
    since_best: int = 0
    loss_sum: float = 0.0
    loss_tokens: int = 0
    history: list[HistoryRow] = field(default_factory=list)


def history_csv(rows: Sequence[HistoryRow]) -> str:
    """The text of ``history.csv``."""
    out = io.StringIO()
    writer = csv.DictWriter(out, [item.name for item in fields(HistoryRow)], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow(
            {key: f"{value:.6g}" if isinstance(value, float) else value for key, value in asdict(row).items()}
        )
    return out.getvalue()


def _parameters(model: Model) -> dict[str, Tensor]:
    return {name: tensor.detach().cpu().contiguous() for name, tensor in model.named_parameters()}


class RunFolder:
    """The folder of one run: ``state-STEP`` folders (the newest whole one counts), ``average/`` and
    ``snapshots/``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def exists(self) -> bool:
        """Is there a state to resume from?"""
        return (self.path / "latest").is_file()

    def discard(self) -> None:
        """Throw the whole run away, if there is one.

        Raises:
            RunError: the folder is there and is not one of a run.
        """
        if not self.path.exists():
            return
        if not (self.path / "tokenizer.json").is_file():
            raise RunError(f"{self.path}: not the folder of a run, so it is not thrown away")
        shutil.rmtree(self.path)

    def save_tokenizer(self, tokenizer: Tokenizer) -> None:
        """Keep the run's tokenizer, whole or not at all."""
        self.path.mkdir(parents=True, exist_ok=True)
        partial = self.path / "tokenizer.new"
        partial.write_text(tokenizer.to_json(), encoding="utf-8")
        os.replace(partial, self.path / "tokenizer.json")

    def load_tokenizer(self) -> Tokenizer:
        """The run's tokenizer.

        Raises:
            TokenizerError: it is missing or damaged.
        """
        return Tokenizer.load(self.path / "tokenizer.json")

    def save(
        self, model: Model, optimizer: torch.optim.Optimizer, progress: Progress, config: dict[str, Any]
    ) -> None:
        """Keep the state of this step, then drop the previous one."""
        folder = self.path / f"state-{progress.step}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        save_file(_parameters(model), folder / "model.safetensors")
        names = {id(parameter): name for name, parameter in model.named_parameters()}
        moments = {
            f"{names[id(parameter)]}/{key}": value.detach().cpu().contiguous()
            for parameter, values in optimizer.state.items()
            for key, value in values.items()
        }
        save_file(moments, folder / "optimizer.safetensors")
        (folder / "state.json").write_text(json.dumps({"progress": asdict(progress), "config": config}))
        pointer = self.path / "latest.new"
        pointer.write_text(folder.name)
        os.replace(pointer, self.path / "latest")
        for old in self.path.glob("state-*"):
            if old != folder:
                shutil.rmtree(old)

    def load(self, model: Model, optimizer: torch.optim.Optimizer, config: dict[str, Any]) -> Progress:
        """Put the newest state back.

        Raises:
            RunError: the run was started with other settings (only :data:`MAY_CHANGE` may change on the
                way), its learning rate would jump, or its files are damaged.
        """
        folder = self.path / (self.path / "latest").read_text().strip()
        try:
            saved = json.loads((folder / "state.json").read_text())
            weights, moments = (
                load_file(folder / "model.safetensors"),
                load_file(folder / "optimizer.safetensors"),
            )
        except (OSError, ValueError, SafetensorError) as error:
            raise RunError(f"{folder}: this state cannot be read: {error}") from error
        for key, value in config.items():
            if key not in MAY_CHANGE and saved["config"].get(key) != value:
                raise RunError(
                    f"{self.path}: this run has {key} = {saved['config'].get(key)!r}, the "
                    f"configuration says {value!r}; use another --run folder to start anew"
                )
        done = saved["progress"]["step"]
        rates = [
            learning_rate(TrainingConfig.from_dict(settings), done) for settings in (saved["config"], config)
        ]
        if not math.isclose(*rates, rel_tol=1e-9):
            raise RunError(
                f"{self.path}: the learning rate of step {done} was {rates[0]:.6g}, these steps and this "
                f"cooldown make it {rates[1]:.6g}; use another --run folder with --init"
            )
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter.copy_(weights[name])
                # The fused optimiser wants its step counter on the parameter's device too.
                optimizer.state[parameter] = {
                    key.split("/")[1]: value.to(parameter.device)
                    for key, value in moments.items()
                    if key.split("/")[0] == name
                }
        values = saved["progress"]
        return Progress(**{**values, "history": [HistoryRow(**row) for row in values["history"]]})

    def keep_for_average(self, model: Model, step: int, count: int) -> None:
        """Add this step's weights to the last ``count``."""
        folder = self.path / "average"
        folder.mkdir(parents=True, exist_ok=True)
        partial = folder / "partial"
        save_file(_parameters(model), partial)
        os.replace(partial, folder / f"{step:08d}.safetensors")
        for old in sorted(folder.glob("*.safetensors"))[:-count]:
            old.unlink()

    def average(self, upto: int) -> tuple[dict[str, Tensor], int]:
        """The mean of the kept weights up to a step, in float64, and how many they were."""
        files = [
            file for file in sorted((self.path / "average").glob("*.safetensors")) if int(file.stem) <= upto
        ]
        total: dict[str, Tensor] = {}
        for file in files:
            for name, tensor in load_file(file).items():
                total[name] = total[name] + tensor.double() if name in total else tensor.double()
        return {name: (tensor / len(files)).float() for name, tensor in total.items()}, len(files)

    def snapshot(self, model: Model, step: int) -> None:
        """Keep half-precision weights of this step for good."""
        from atlas.checkpoint import half_weights

        folder = self.path / "snapshots"
        folder.mkdir(parents=True, exist_ok=True)
        save_file(half_weights(model), folder / "partial")
        os.replace(folder / "partial", folder / f"step-{step:06d}.safetensors")

    def snapshots(self, upto: int) -> dict[str, Path]:
        """The kept snapshots by file name."""
        files = sorted((self.path / "snapshots").glob("step-*.safetensors"))
        return {file.name: file for file in files if int(file.stem.split("-")[1]) <= upto}
