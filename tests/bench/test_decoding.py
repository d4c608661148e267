"""``atlas bench decoding`` on a tiny model: who takes part, what is counted, what the ratios are."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from atlas.bench.decoding import Floor, Ours, moved, sources_of
from atlas.checkpoint import load_bundle
from atlas.cli import app
from atlas.model import Transformer
from atlas.text.tokenizer import END_ID, PAD_ID, START_ID


@pytest.fixture(scope="module")
def model(tiny_bundle: Path) -> Transformer:
    return load_bundle(tiny_bundle).transformer.eval().requires_grad_(False)


def test_the_sources_are_real_tokens_and_the_same_every_time():
    sources = sources_of(3, 7, 50)
    assert sources == sources_of(3, 7, 50)
    assert [len(source) for source in sources] == [7, 7, 7]
    assert all(source[-1] == END_ID for source in sources)
    assert not {PAD_ID, START_ID, END_ID} & {token for source in sources for token in source[:-1]}


@pytest.mark.parametrize("beam", [1, 3])
def test_ours_writes_as_many_tokens_as_it_is_told(model: Transformer, beam: int):
    sources = sources_of(4, 6, model.config.vocabulary)
    assert Ours(model).translate_fixed(sources, beam, 9) == [9] * 4


def test_the_floor_counts_what_a_step_reads(model: Transformer):
    """A layer: q, k, v, o of itself, q and o of the source, two maps, three norms; then the vocabulary."""
    config = model.config
    width, ffn = config.width, config.ffn
    layer = 6 * width * width + 6 * width + 2 * width * ffn + ffn + width + 6 * width
    floor = Floor.of(model)
    assert floor.weights == config.decoder_layers * layer + config.vocabulary * width
    assert floor.size == 4
    bound = floor.weights * 4 / 1e9
    assert floor.seconds(1, read=1e9, multiply=1e15) == pytest.approx(bound)
    assert floor.seconds(100, read=1e15, multiply=1e9) == pytest.approx(2 * floor.weights * 100 / 1e9)


def test_what_moves_is_counted(model: Transformer):
    sources = sources_of(5, 6, model.config.vocabulary)
    assert moved(model, model, sources) == (0, 0.0)
    torch.manual_seed(1)
    differ, most = moved(model, Transformer(model.config).eval(), sources)
    assert differ == 5 and most == 0.0


def test_a_run_compares_with_both_peers(tiny_bundle: Path, tmp_path: Path):
    pytest.importorskip("transformers", reason="needs the extra bench")
    command = ["bench", "decoding", "--checkpoint", str(tiny_bundle), "--rounds", "2"]
    command += ["--source", "4", "--target", "3", "-o", str(tmp_path / "out.json"), "--json"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told == json.loads((tmp_path / "out.json").read_text())
    assert [row[0] for row in told["rows"]] == [
        "greedy, batch 1", "beam 5, batch 1", "greedy, batch 32", "beam 5, batch 32",
    ]  # fmt: skip
    assert {"torch", "ctranslate2", "transformers", "processor", "threads"} <= set(told["machine"])
    for (case, ours, theirs, marian, *ratios), batch in zip(told["rows"], (1, 1, 32, 32), strict=True):
        times = {name: told["seconds"][f"{case}: {name}"] for name in ("ours", "CTranslate2", "Marian")}
        assert all(len(seconds) == 2 for seconds in times.values())
        for rate, seconds in zip((ours, theirs, marian), times.values(), strict=True):
            assert rate == pytest.approx(batch * 3 / np.median(seconds))
        assert ratios[0] == pytest.approx(np.median(np.divide(times["CTranslate2"], times["ours"])))
        assert ratios[1] == pytest.approx(np.median(np.divide(times["Marian"], times["ours"])))


def test_without_the_peers_it_is_one_line(tiny_bundle: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(__import__("sys").modules, "transformers", None)
    done = CliRunner().invoke(app, ["bench", "decoding", "--checkpoint", str(tiny_bundle), "--rounds", "1"])
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert 'pip install "attention-atlas[bench]"' in done.stderr
