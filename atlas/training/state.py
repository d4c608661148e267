"""A training run on disk: saved whole or not at all, resumed to the same numbers."""

from __future__ import annotations

import csv
import io
import json
import math
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
from atlas.whole import whole_file

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
        """Throw the whole run away, if there is one. Killed on the way, it leaves no run to resume.

        Raises:
            RunError: the folder is there and is not one of a run.
        """
        if not self.path.exists():
            return
        if not (self.path / "tokenizer.json").is_file() and any(self.path.iterdir()):
            raise RunError(f"{self.path}: not the folder of a run, so it is not thrown away")
        (self.path / "latest").unlink(missing_ok=True)
        self._clear()
        (self.path / "tokenizer.json").unlink(missing_ok=True)

    def begin(self, tokenizer: Tokenizer) -> None:
        """Start a run with this tokenizer. What a run without a state left does not go into it."""
        self.path.mkdir(parents=True, exist_ok=True)
        self._clear()
        with whole_file(self.path / "tokenizer.json") as partial:
            partial.write_text(tokenizer.to_json(), encoding="utf-8")

    def _clear(self) -> None:
        for folder in ("average", "snapshots", "state-*"):
            for path in self.path.glob(folder):
                shutil.rmtree(path)

    def load_tokenizer(self) -> Tokenizer:
        """The run's tokenizer.

        Raises:
            TokenizerError: it is missing or damaged.
        """
        return Tokenizer.load(self.path / "tokenizer.json")

    def save(
        self, model: Model, optimizer: torch.optim.Optimizer, progress: Progress, config: dict[str, Any]
    ) -> None:
        """Keep the state of this step, then drop the previous one and the weights that no average needs."""
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
        with whole_file(self.path / "latest") as pointer:
            pointer.write_text(folder.name)
        self.tidy(progress.step, config["average"])

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

    def tidy(self, step: int, average: int) -> None:
        """Drop what nobody who goes on from the state of ``step`` needs: older states, weights that are too
        old for a mean of ``average``, and weights of later steps, which are made again.
        """
        for state in self.path.glob("state-*"):
            if state.name != f"state-{step}":
                shutil.rmtree(state)
        for folder, kept in (
            ("average", self._averaged(step)[-average:]),
            ("snapshots", self.snapshots(step).values()),
        ):
            for file in (self.path / folder).glob("*.safetensors"):
                if file not in kept:
                    file.unlink()

    def keep_for_average(self, model: Model, step: int) -> None:
        """Keep this step's weights for the average. Those that it no longer needs go when a state is saved:
        a run that goes on from the state before still needs them.
        """
        (self.path / "average").mkdir(parents=True, exist_ok=True)
        with whole_file(self.path / "average" / f"{step:08d}.safetensors") as partial:
            save_file(_parameters(model), partial)

    def _averaged(self, upto: int) -> list[Path]:
        files = sorted((self.path / "average").glob("[0-9]*.safetensors"))
        return [file for file in files if int(file.stem) <= upto]

    def average(self, upto: int, count: int) -> tuple[dict[str, Tensor], int]:
        """The mean of the last ``count`` kept weights up to a step, in float64, and how many they were."""
        files = self._averaged(upto)[-count:]
        total: dict[str, Tensor] = {}
        for file in files:
            for name, tensor in load_file(file).items():
                total[name] = total[name] + tensor.double() if name in total else tensor.double()
        return {name: (tensor / len(files)).float() for name, tensor in total.items()}, len(files)

    def snapshot(self, model: Model, step: int) -> None:
        """Keep half-precision weights of this step for good."""
        from atlas.checkpoint import half_weights

        (self.path / "snapshots").mkdir(parents=True, exist_ok=True)
        with whole_file(self.path / "snapshots" / f"step-{step:06d}.safetensors") as partial:
            save_file(half_weights(model), partial)

    def snapshots(self, upto: int) -> dict[str, Path]:
        """The kept snapshots by file name."""
        files = sorted((self.path / "snapshots").glob("step-*.safetensors"))
        return {file.name: file for file in files if int(file.stem.split("-")[1]) <= upto}
