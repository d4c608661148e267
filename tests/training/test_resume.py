"""Stopped at any moment, a run goes on to the same numbers, to the bit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import atlas.training.state as state_module
from atlas.model import Transformer, TransformerConfig
from atlas.text.tokenizer import TokenizerError
from atlas.training.config import TrainingConfig
from atlas.training.state import RunError, RunFolder
from tests.training.small import Stopped, equal, outcome, settings, state_of, train

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("step", [1, 3, 4, 7, 12])
def test_an_exception_at_any_step(step: int, corpus: Path, whole: Path, tmp_path: Path):
    """Before the first state, right after one, at an evaluation, between states, at the very end."""
    train(settings(corpus), tmp_path, stop=step)
    train(settings(corpus), tmp_path)
    assert outcome(tmp_path).same(outcome(whole))


def test_twice_in_a_row_and_after_the_end(corpus: Path, whole: Path, tmp_path: Path):
    config = settings(corpus)
    for step in (5, 8):
        train(config, tmp_path, stop=step)
    train(config, tmp_path)
    (tmp_path / "bundle" / "config.json").unlink()
    train(config, tmp_path)
    assert outcome(tmp_path).same(outcome(whole))


def test_a_process_that_is_killed(corpus: Path, whole: Path, tmp_path: Path):
    script = (
        "import json, os, signal, sys\n"
        "from pathlib import Path\n"
        "import torch\n"
        "torch.set_num_threads(1)\n"
        "import atlas.training.run as run\n"
        "from tests.training.small import stopping_at, train_from_config\n"
        "from atlas.training.config import TrainingConfig\n"
        "run.Reporter = stopping_at(8, lambda: os.kill(os.getpid(), signal.SIGKILL))\n"
        "folder = Path(sys.argv[1])\n"
        "config = TrainingConfig.from_dict(json.loads(sys.argv[2]))\n"
        "train_from_config(config, out=folder / 'bundle', run=folder / 'run', quiet=True, device='cpu')\n"
    )
    config = settings(corpus)
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path), json.dumps(config.to_dict())],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert state_of(tmp_path)["progress"]["step"] == 6
    train(config, tmp_path)
    assert outcome(tmp_path).same(outcome(whole))


@pytest.mark.parametrize("file", ["model.safetensors", "optimizer.safetensors"])
def test_while_a_state_is_being_written(file: str, corpus: Path, whole: Path, tmp_path: Path):
    """The half-written state is not taken for one: the run goes on from the one before."""
    config, save_file = settings(corpus), state_module.save_file

    def fails(tensors: dict[str, torch.Tensor], path: Path) -> None:
        if path.parent.name == "state-6" and path.name == file:
            path.write_bytes(b"half")
            raise Stopped
        save_file(tensors, path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(state_module, "save_file", fails)
        with pytest.raises(Stopped):
            train(config, tmp_path)
    assert (tmp_path / "run" / "state-6" / file).read_bytes() == b"half"
    assert state_of(tmp_path)["progress"]["step"] == 3
    train(config, tmp_path)
    assert outcome(tmp_path).same(outcome(whole))


@pytest.mark.parametrize(
    "change",
    [
        {"learning_rate": 1e-3},
        {"seed": 2},
        {"tokens": 300},
        {"model": {"dropout": 0.2}},
        {"betas": [0.9, 0.99]},
    ],
)
def test_a_changed_configuration_is_refused_in_one_line(change: dict, corpus: Path, whole: Path):
    (name,) = change
    with pytest.raises(RunError) as caught:
        train(settings(corpus, **change), whole)
    message = str(caught.value)
    assert message.startswith(f"{whole / 'run'}: this run has {name} = ")
    assert message.endswith("; use another --run folder to start anew") and "\n" not in message


def test_more_steps_may_be_asked_for_on_the_way(corpus: Path, whole: Path, tmp_path: Path):
    train(settings(corpus, steps=7), tmp_path)
    assert state_of(tmp_path)["progress"]["step"] == 7
    train(settings(corpus), tmp_path)
    for name, tensors in outcome(whole).tensors.items():
        if "average" not in name:  # the end at 7 is one more point to average over
            assert equal(tensors, outcome(tmp_path).tensors[name]), name
    steps = [row["step"] for row in outcome(tmp_path).history]
    assert steps == [4, 7, 8, 12]


def test_a_damaged_state_is_named(corpus: Path, tmp_path: Path):
    train(settings(corpus), tmp_path, stop=5)
    file = tmp_path / "run" / "state-3" / "optimizer.safetensors"
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(RunError, match="state-3: this state cannot be read: "):
        train(settings(corpus), tmp_path)


def test_a_missing_tokenizer_is_named(corpus: Path, tmp_path: Path):
    train(settings(corpus), tmp_path, stop=5)
    (tmp_path / "run" / "tokenizer.json").unlink()
    with pytest.raises(TokenizerError, match="tokenizer.json: cannot be read"):
        train(settings(corpus), tmp_path)


def test_only_the_newest_state_is_kept_with_all_of_the_optimiser(whole: Path):
    assert [path.name for path in (whole / "run").glob("state-*")] == ["state-12"]
    folder = whole / "run" / "state-12"
    moments = load_file(folder / "optimizer.safetensors")
    names = set(load_file(folder / "model.safetensors"))
    assert {name.rpartition("/")[0] for name in moments} == names
    assert {name.rpartition("/")[2] for name in moments} == {"step", "exp_avg", "exp_avg_sq"}
    assert {float(tensor) for name, tensor in moments.items() if name.endswith("/step")} == {12.0}


def test_a_restart_throws_the_run_away_and_nothing_else(corpus: Path, whole: Path, tmp_path: Path):
    config = settings(corpus)
    train(config, tmp_path, stop=5)
    train(settings(corpus, seed=2), tmp_path, stop=5, restart=True)
    assert state_of(tmp_path)["config"]["seed"] == 2
    train(config, tmp_path, restart=True)
    assert outcome(tmp_path).same(outcome(whole))

    diary = tmp_path / "other" / "run" / "diary.txt"
    diary.parent.mkdir(parents=True)
    diary.write_text("dear me")
    with pytest.raises(RunError, match="run: not the folder of a run, so it is not thrown away"):
        train(config, tmp_path / "other", restart=True)
    assert diary.read_text() == "dear me"


def test_all_of_a_state_goes_back_to_where_the_weights_are(whole: Path):
    """The step counters too: the fused optimiser of a graphics card refuses them on the CPU."""
    config = TrainingConfig.from_dict(state_of(whole)["config"])
    vocabulary = len(RunFolder(whole / "run").load_tokenizer())
    with torch.device("meta"):  # stands for any other device
        model = Transformer(TransformerConfig(vocabulary=vocabulary, **config.model_options()))
    optimizer = torch.optim.AdamW(model.parameters())
    RunFolder(whole / "run").load(model, optimizer, config.to_dict())
    devices = {value.device.type for state in optimizer.state.values() for value in state.values()}
    assert devices == {"meta"}


def test_what_was_kept_for_the_average_outlives_a_stop(corpus: Path, tmp_path: Path):
    """Weights go when a state is saved without which nobody can go back to where they are needed."""
    folder, undisturbed = tmp_path / "stopped", tmp_path / "undisturbed"
    long = {"save_every": 6, "average": 2, "average_every": 1, "steps": 12}
    train(settings(corpus, **long), folder, stop=11)
    kept = sorted(int(file.stem) for file in (folder / "run" / "average").iterdir())
    assert kept == [5, 6, 7, 8, 9, 10]
    train(settings(corpus, **{**long, "steps": 7}), folder)
    train(settings(corpus, **{**long, "steps": 7}), undisturbed)
    assert outcome(folder).same(outcome(undisturbed))
    assert sorted(file.stem for file in (folder / "run" / "average").iterdir()) == ["00000006", "00000007"]


def test_what_a_run_without_a_state_left_is_not_taken_for_the_next(corpus: Path, tmp_path: Path):
    folder, undisturbed = tmp_path / "stopped", tmp_path / "undisturbed"
    train(settings(corpus, save_every=12, snapshots=(1, 2)), folder, stop=6)
    assert (folder / "run" / "average").is_dir() and not (folder / "run" / "latest").exists()
    other = settings(corpus, seed=2, average_every=12)
    train(other, folder)
    train(other, undisturbed)
    assert outcome(folder).same(outcome(undisturbed))


def test_settings_that_move_no_weight_may_change_on_the_way(corpus: Path, whole: Path, tmp_path: Path):
    train(settings(corpus, steps=7), tmp_path)
    other = settings(corpus, save_every=3, evaluate_sentences=2, snapshots=(8,), patience=9)
    train(other, tmp_path)
    for name, tensors in outcome(whole).tensors.items():
        if "average" not in name and "snapshot" not in name:
            assert equal(tensors, outcome(tmp_path).tensors[name]), name
