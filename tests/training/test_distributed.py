"""Two processes are one: the same loss and the same weights as a single process on the same data."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from atlas.text.batches import EncodedPairs
from atlas.text.corpora import load_file as load_pairs
from atlas.text.tokenizer import Tokenizer
from atlas.training.distributed import Processes
from tests.training.small import outcome, settings, train

ROOT = Path(__file__).parents[2]
SCRIPT = """
import json, sys
from pathlib import Path
import torch
torch.set_num_threads(1)
from atlas.training.config import TrainingConfig
from atlas.training.run import train_from_config
folder = Path(sys.argv[1])
config = TrainingConfig.from_dict(json.loads(sys.argv[2]))
(folder / "run").mkdir(parents=True, exist_ok=True)
(folder / "run" / "tokenizer.json").write_text("of a run that is thrown away")
written = train_from_config(config, out=folder / "bundle", run=folder / "run", device="cpu", restart=True)
print("bundle" if written else "nothing")
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_two_gloo_processes_reach_the_loss_of_one(corpus: Path, tmp_path: Path):
    config = settings(corpus, steps=24, evaluate_every=12, save_every=12, model={"dropout": 0.0})
    script = tmp_path / "two.py"
    script.write_text(SCRIPT)
    launch = ["--nproc-per-node", "2", "--master-addr", "127.0.0.1", "--master-port", str(free_port())]
    arguments = [str(script), str(tmp_path / "two"), json.dumps(config.to_dict())]
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", *launch, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("evaluation at step 24") == 1, "only the first process talks"
    assert sorted(done.stdout.split()) == ["bundle", "nothing"], "and only it hands on the bundle"
    train(config, tmp_path / "one")

    tokenizer = Tokenizer.load(tmp_path / "one" / "run" / "tokenizer.json")
    encoded = EncodedPairs(load_pairs(corpus, "en", "fr").train, tokenizer, config.longest)
    sizes = [len(batch) for batch in encoded.order(config.tokens, config.seed, 0)]
    assert 1 in sizes[: config.steps], "a batch with fewer rows than processes is part of this test"
    assert len(sizes) < config.steps, "so is a second epoch"

    one, two = outcome(tmp_path / "one"), outcome(tmp_path / "two")
    assert len(one.history) == len(two.history) == 2
    for a, b in zip(one.history, two.history, strict=True):
        assert (a["step"], a["target_tokens"]) == (b["step"], b["target_tokens"])
        assert a["train_loss"] == pytest.approx(b["train_loss"], abs=1e-4)
        assert a["development_loss"] == pytest.approx(b["development_loss"], abs=1e-4)
    name = "run/state-24/model.safetensors"
    for key, tensor in one.tensors[name].items():
        # A key's bias moves all scores of a row alike, so its gradient is rounding, which Adam scales up.
        used = {"kv.bias": slice(32, None), "qkv.bias": [*range(32), *range(64, 96)]}
        places = next((part for end, part in used.items() if key.endswith(f".{end}")), slice(None))
        assert torch.allclose(tensor[places], two.tensors[name][key][places], atol=2e-4), key


def test_one_process_stands_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    alone = Processes.join(torch.device("cpu"))
    assert alone == Processes(0, 1) and alone.first
    assert alone.sum(2.5) == 2.5 and alone.any(True) and not alone.any(False)
    alone.wait()
