"""Training beside ``nn.Transformer``: the two are one model, and the table follows from the times."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from atlas.bench.torch_transformer import PeerError, TorchTransformer
from atlas.bench.training import (
    OURS,
    PEER,
    TrainingBenchError,
    contenders,
    everyday_pairs,
    some_batches,
    training_speed,
)
from atlas.cli import app
from atlas.model import Transformer, TransformerConfig
from atlas.text.batches import EncodedPairs
from atlas.text.tokenizer import END_ID, PAD_ID, START_ID
from atlas.training.loss import TeacherForcing

CPU = torch.device("cpu")
CONFIG = TransformerConfig(60, encoder_layers=2, decoder_layers=3, heads=4, width=16, ffn=32, norm="pre")


def batches(count: int = 2, tokens: int = 300):
    return some_batches(everyday_pairs(60, 400), tokens, count)


def test_the_peer_is_the_same_model() -> None:
    """Loss and gradient of a padded batch, with the dropout of both switched off."""
    torch.manual_seed(1)
    ours = Transformer(CONFIG).double().eval()
    peer = TorchTransformer(ours).double().eval()
    batch = batches()[1]
    assert (batch.source == PAD_ID).any() and (batch.target == PAD_ID).any()
    losses = []
    for model in (ours, peer):
        loss, nll = TeacherForcing(model, 0.1)(batch)
        loss.backward()
        losses.append((loss.item(), nll.item()))
    assert losses[0] == pytest.approx(losses[1], abs=1e-9)
    assert sum(p.numel() for p in ours.parameters()) == sum(p.numel() for p in peer.parameters())
    torch.testing.assert_close(ours.source_embedding.weight.grad, peer.embedding.weight.grad)
    torch.testing.assert_close(
        ours.decoder[2].cross_attention.query.weight.grad,
        peer.core.decoder.layers[2].multihead_attn.in_proj_weight.grad[:16],
    )


def test_the_peer_drops_as_often_as_ours() -> None:
    """With sub-layers and embedding alone dropped, both lose the same share and draw at the same places."""
    ours = Transformer(CONFIG)
    peer = TorchTransformer(ours)
    rates = [m.p for m in peer.modules() if isinstance(m, torch.nn.Dropout) and m.p]
    assert rates == [CONFIG.dropout] * (1 + 2 * 2 + 3 * 3)
    assert all(m.dropout == 0 for m in peer.modules() if isinstance(m, torch.nn.MultiheadAttention))


@pytest.mark.parametrize("options", [{"norm": "post"}, {"tied": False}, {"positions": "learned"}])
def test_another_model_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(PeerError, match="pre-norm models with tied embeddings"):
        TorchTransformer(Transformer(TransformerConfig(60, 1, 1, 2, 8, 16, **{"norm": "pre", **options})))


def test_both_learn_in_the_loop() -> None:
    with contenders("tiny", "float32", 60, 300, CPU) as both:
        some = batches()
        for one in both.values():
            losses = []
            for _ in range(12):
                one.trainer.progress.loss_sum, one.trainer.progress.loss_tokens = 0.0, 0
                one.work(some)
                losses.append(one.trainer.progress.loss_sum / one.trainer.progress.loss_tokens)
            assert losses[-1] < losses[0]
            assert one.trainer.progress.step == 24


def test_sentences_are_as_long_as_those_of_tatoeba() -> None:
    pairs = everyday_pairs(8000)
    sources = np.array([len(row) for row in pairs.source])
    targets = np.array([len(row) - 1 for row in pairs.target])
    assert (sources.mean(), targets.mean()) == pytest.approx((9.2, 10.5), abs=0.2)
    assert np.percentile(targets, [5, 50, 95]) == pytest.approx([6, 10, 17], abs=1)
    assert np.corrcoef(sources, targets)[0, 1] > 0.75
    assert pairs.source[0][-1] == END_ID and pairs.target[0][0] == START_ID
    assert min(min(row[1:-1], default=3) for row in pairs.target) == 3


def test_batches_go_from_short_to_long_and_there_are_no_more_than_there_are() -> None:
    some = batches(4)
    widths = [batch.target.shape[1] for batch in some]
    assert widths == sorted(widths) and len(set(widths)) == 4
    assert all(batch.tokens <= 300 for batch in some)
    with pytest.raises(TrainingBenchError, match="500 batches; an epoch of this measurement has"):
        batches(500)


def test_pairs_of_ids_are_those_of_a_text() -> None:
    pairs = EncodedPairs.of_ids([[5, 6], [7] * 9], [[8], [9]], longest=5)
    assert (pairs.source, pairs.target, pairs.dropped) == ([[5, 6, END_ID]], [[START_ID, 8, END_ID]], 1)


def test_every_number_follows_from_the_times_that_are_kept() -> None:
    report = training_speed(
        presets=["tiny"], vocabulary=60, tokens=300, batches=2, rounds=3, device=CPU, command="here"
    )
    assert [name for name, _ in report.rows] == ["tiny, float32", "tiny, bfloat16"]
    tokens = report.settings["target tokens a round"]
    for name, (ours, peer, share, update, *peaks) in report.rows:
        mine, other = (np.array(report.seconds[f"{name}: {who}"]) for who in (OURS, PEER))
        assert len(mine) == len(other) == 3
        assert (ours, peer) == (tokens / np.median(mine), tokens / np.median(other))
        assert share == np.median(other / mine)
        assert update == 1000 * np.median(mine) / 2
        assert peaks == [None, None]
    assert any("a step of the base model" in note for note in report.notes)


def test_the_command_prints_and_keeps_the_same(tmp_path: Path) -> None:
    kept = tmp_path / "training.json"
    words = ["--preset", "tiny", "--precision", "float32", "--tokens", "64", "--batches", "1"]
    done = CliRunner().invoke(app, ["bench", "training", *words, "--rounds", "1", "-o", str(kept), "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told == json.loads(kept.read_text(encoding="utf-8"))
    assert told["command"] == f"atlas bench training {' '.join(words)} --rounds 1 --device cpu"


def test_a_device_that_is_not_here_is_one_line() -> None:
    done = CliRunner().invoke(app, ["bench", "training", "--device", "cuda:7"])
    assert done.exit_code == 2
    assert done.stderr.startswith("atlas: the device 'cuda:7' is not available on this machine")
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
def test_a_step_of_the_base_model_on_a_card() -> None:
    report = training_speed(
        presets=["base"], precisions=["bfloat16"], rounds=1, device=torch.device("cuda"), command=""
    )
    (name, (ours, peer, _, _, mine, other)) = report.rows[0]
    assert name == "base, bfloat16" and ours and peer and mine and other
