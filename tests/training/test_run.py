"""A run from configuration to bundle: what it learns, when it stops, what it leaves and what it says."""

from __future__ import annotations

import csv
import io
import math
import re
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from atlas.checkpoint import load_bundle
from atlas.errors import AtlasError
from atlas.model import Transformer
from atlas.text.batches import EncodedPairs
from atlas.text.corpora import CorpusError
from atlas.text.corpora import load_file as load_pairs
from atlas.training import report as report_module
from atlas.training.evaluation import mean_loss
from atlas.training.report import Reporter
from atlas.training.state import HistoryRow, Progress, RunFolder, history_csv
from tests.training.small import outcome, settings, state_of, train

COLUMNS = (
    "step,epoch,target_tokens,minutes,learning_rate,train_loss,train_perplexity,development_loss,"
    "development_perplexity,bleu,chrf"
)


def development(corpus: Path, bundle: Path) -> float:
    """The development loss of a bundle, measured anew."""
    opened = load_bundle(bundle)
    return mean_loss(opened.model, EncodedPairs(load_pairs(corpus, "en", "fr").development, opened.tokenizer))


def test_the_history_of_a_run(corpus: Path, whole: Path):
    text = (whole / "bundle" / "history.csv").read_text()
    assert text.splitlines()[0] == COLUMNS
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["step"] for row in rows] == ["4", "8", "12"]
    for row in rows:
        for kind in ("train", "development"):
            loss, perplexity = float(row[f"{kind}_loss"]), float(row[f"{kind}_perplexity"])
            assert perplexity == pytest.approx(math.exp(loss), rel=1e-4)
        assert 0 <= float(row["bleu"]) <= 100 and 0 <= float(row["chrf"]) <= 100
    assert float(rows[-1]["development_loss"]) < float(rows[0]["development_loss"])
    assert [float(row["learning_rate"]) for row in rows] == pytest.approx(
        [3e-3, 3e-3 * math.sqrt(4 / 8), 3e-3 * math.sqrt(4 / 12)], rel=1e-4
    )
    tokens = [int(row["target_tokens"]) for row in rows]
    assert tokens == sorted(set(tokens)) and tokens[-1] == state_of(whole)["progress"]["target_tokens"]


def test_losses_are_means_since_the_last_evaluation():
    row = HistoryRow(1, 0.5, 10, 0.1, 1e-3, 2.0, math.exp(2), 3.0, math.exp(3), 1.25, 30.0)
    assert history_csv([row]).splitlines() == [COLUMNS, "1,0.5,10,0.1,0.001,2,7.38906,3,20.0855,1.25,30"]


def test_it_learns(corpus: Path, tmp_path: Path):
    """Sixty steps on 480 sentences made of 24 phrases."""
    train(settings(corpus, steps=60, evaluate_every=20, save_every=60, model={"dropout": 0.0}), tmp_path)
    losses = [row["development_loss"] for row in outcome(tmp_path).history]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0] - 0.8


def test_going_on_from_a_bundle_has_a_fresh_optimiser_and_gets_better(
    corpus: Path, whole: Path, tmp_path: Path
):
    before = development(corpus, whole / "bundle")
    config = settings(corpus, name="more", steps=10, warmup=2, model={"dropout": 0.0})
    train(config, tmp_path, init=whole / "bundle")
    assert development(corpus, tmp_path / "bundle") < before - 0.1
    state = tmp_path / "run" / "state-10"
    moments = load_file(state / "optimizer.safetensors")
    assert {float(tensor) for name, tensor in moments.items() if name.endswith("/step")} == {10.0}
    opened = load_bundle(tmp_path / "bundle")
    assert opened.tokenizer.to_json() == load_bundle(whole / "bundle").tokenizer.to_json()
    assert "Went on from the bundle `bundle` with a fresh optimiser." in opened.card
    assert "`atlas train configs/more.toml --out checkpoints/more --init checkpoints/bundle`" in opened.card


def test_going_on_from_a_bundle_survives_a_stop_before_the_first_state(
    corpus: Path, whole: Path, tmp_path: Path
):
    """The weights of the bundle, not new ones, are where it begins again."""
    config = settings(corpus, steps=4)
    for folder, stops in ((tmp_path / "a", ()), (tmp_path / "b", (2,))):
        for step in stops:
            train(config, folder, stop=step, init=whole / "bundle")
        train(config, folder, init=whole / "bundle")
    assert outcome(tmp_path / "a").same(outcome(tmp_path / "b"))


def test_a_bundle_of_another_shape_is_refused(corpus: Path, whole: Path, tmp_path: Path):
    with pytest.raises(AtlasError, match="this bundle's model is not the one in the configuration"):
        train(settings(corpus, model={"ffn": 128}), tmp_path, init=whole / "bundle")


def test_early_stopping(corpus: Path, tmp_path: Path):
    """Without learning the loss never falls again: one evaluation sets it, two more lose patience."""
    config = settings(corpus, learning_rate=0.0, steps=50, evaluate_every=2, patience=2)
    train(config, tmp_path)
    state = state_of(tmp_path)["progress"]
    assert (state["step"], state["since_best"]) == (6, 2)
    first = outcome(tmp_path)
    assert "6 of 50 updates" in (tmp_path / "bundle" / "card.md").read_text()
    train(config, tmp_path)
    assert outcome(tmp_path).same(first), "a run that has stopped by itself was taken up again"


def test_a_time_limit(corpus: Path, tmp_path: Path):
    train(settings(corpus, steps=1000), tmp_path, max_minutes=0.0)
    assert state_of(tmp_path)["progress"]["step"] == 1
    train(settings(corpus, steps=1000), tmp_path, max_minutes=1e-9)
    assert state_of(tmp_path)["progress"]["step"] == 2
    assert "2 of 1,000 updates" in (tmp_path / "bundle" / "card.md").read_text()


class TestAveraging:
    def test_is_the_mean_of_the_last_ones_in_float64(self, tokenizer, tmp_path: Path):
        from tests.conftest import tiny_model

        folder = RunFolder(tmp_path)
        models = [tiny_model(tokenizer, seed=seed) for seed in range(5)]
        for step, model in enumerate(models, 1):
            folder.keep_for_average(model, step)
        for upto, chosen in ((5, models[2:]), (4, models[1:4]), (2, models[:2])):
            mean, count = folder.average(upto, 3)
            assert count == len(chosen)
            for name, tensor in mean.items():
                stacked = torch.stack([dict(m.named_parameters())[name].detach().double() for m in chosen])
                assert tensor.dtype == torch.float32
                assert torch.equal(tensor, (stacked.sum(0) / count).float())

    def test_is_taken_where_it_is_better_and_the_card_says_so(self, corpus: Path, whole: Path):
        said = outcome(whole).training["weights"]
        run = RunFolder(whole / "run")
        mean, count = run.average(12, 3)
        assert count == 3
        last = load_file(whole / "run" / "state-12" / "model.safetensors")
        losses = {}
        for name, weights in ((f"mean of the last {count} checkpoints", mean), ("last", last)):
            model = load_bundle(whole / "bundle").model
            with torch.no_grad():
                for key, parameter in model.named_parameters():
                    parameter.copy_(weights[key])
            losses[name] = mean_loss(
                model,
                EncodedPairs(
                    load_pairs(corpus, "en", "fr").development, load_bundle(whole / "bundle").tokenizer
                ),
            )
        assert losses[said] == min(losses.values())
        assert f"weights: {said}." in (whole / "bundle" / "card.md").read_text()
        assert development(corpus, whole / "bundle") == pytest.approx(losses[said], abs=1e-3)


def test_snapshots_are_half_precision_and_travel_with_the_bundle(whole: Path, corpus: Path):
    names = ["step-000002.safetensors", "step-000005.safetensors"]
    assert sorted(file.name for file in (whole / "run" / "snapshots").iterdir()) == names
    for name in names:
        kept = load_file(whole / "bundle" / "snapshots" / name)
        assert {tensor.dtype for tensor in kept.values()} == {torch.float16}
        assert kept.keys() == {name for name, _ in load_bundle(whole / "bundle").model.named_parameters()}
    assert not torch.equal(
        *(load_file(whole / "bundle" / "snapshots" / name)["unembedding"] for name in names)
    )


def test_what_a_card_states(corpus: Path, whole: Path):
    opened = load_bundle(whole / "bundle")
    read = load_pairs(corpus, "en", "fr")
    for said in (
        "# small\n",
        "trained from scratch by Attention Atlas",
        "- pairs: a file of the user.",
        "- Weights: as the training data.",
        f"- Read: 481 lines, 481 pairs. Training {len(read.train)}, development {len(read.development)}, "
        f"test {len(read.test)} pairs.",
        f"- `pairs.tsv`: SHA-256 `{read.files['pairs.tsv']}`",
        "- 1+1 layers, width 32, feed-forward 64, 2 heads, pre-norm, sinusoidal positions, relu, tied",
        "- all 12 updates, ",
        "learning_rate 0.003",
    ):
        assert said in opened.card, said
    assert f"{sum(p.numel() for p in opened.model.parameters()):,} parameters" in opened.card
    assert re.search(r"float16.*development loss [\d.]+ to [\d.]+", opened.card)


def test_a_corpus_that_cannot_be_used(tmp_path: Path, corpus: Path):
    with pytest.raises(CorpusError, match="nowhere.tsv: cannot be read"):
        train(settings(tmp_path / "nowhere.tsv"), tmp_path)
    few = tmp_path / "few.tsv"
    few.write_text("A cat.\tUn chat.\n")
    with pytest.raises(
        AtlasError, match="few: . training and . development pairs of at most 128 tokens; both"
    ):
        train(settings(few), tmp_path)
    with pytest.raises(AtlasError, match="pairs: 0 training and 0 development pairs of at most 1 tokens"):
        train(settings(corpus, longest=1), tmp_path)


def test_no_number_that_is_not_finite_enters_the_weights(corpus: Path, tmp_path: Path):
    def overflow(model: Transformer, *inputs: torch.Tensor) -> torch.Tensor:
        return inputs[0] @ model.source_embedding.weight.T * float("inf")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Transformer, "logits", overflow)
        with pytest.raises(RuntimeError, match="non-finite"):
            train(settings(corpus), tmp_path)


class Screen(io.StringIO):
    """A stream that says whether it is a terminal."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


class TestProgressLine:
    LINE = "step 1,200/4,500  epoch 3  loss 2.000  perplexity 7.4  2,500 target tokens/s  22 min left"

    def reported(self, monkeypatch: pytest.MonkeyPatch, screen: Screen, **options: object) -> str:
        clock = iter([0.0, 0.0, 40.0, 40.0, 41.0, 41.0])
        monkeypatch.setattr(report_module.time, "monotonic", lambda: next(clock))
        reporter = Reporter(screen, **options)
        progress = Progress(step=1100, epoch=2, target_tokens=1_000_000, loss_sum=100.0, loss_tokens=50)
        reporter.step(progress, 4500)
        progress.step, progress.target_tokens = 1200, 1_100_000
        reporter.step(progress, 4500)
        return screen.getvalue()

    def test_in_a_log(self, monkeypatch: pytest.MonkeyPatch):
        assert self.reported(monkeypatch, Screen(False)) == self.LINE + "\n"

    def test_on_a_terminal_it_stays_in_place(self, monkeypatch: pytest.MonkeyPatch):
        assert self.reported(monkeypatch, Screen(True)) == "\r\033[K" + self.LINE

    def test_quiet(self, monkeypatch: pytest.MonkeyPatch):
        assert self.reported(monkeypatch, Screen(False), quiet=True) == ""

    def test_an_evaluation_shows_numbers_and_samples(self):
        screen = Screen(False)
        row = HistoryRow(250, 1.5, 10, 3.25, 1e-3, 2.0, math.exp(2), 1.5, math.exp(1.5), 33.33, 55.55)
        Reporter(screen).evaluation(row, [("A cat.", "Un chat.")])
        assert screen.getvalue().splitlines() == [
            "evaluation at step 250 (epoch 1.50, 3.2 min): train loss 2.000, development loss 1.500 "
            "(perplexity 4.48), greedy BLEU 33.3, chrF 55.5",
            "    A cat. -> Un chat.",
        ]


def test_weights_of_a_state_can_be_read_by_any_safetensors_reader(whole: Path, tmp_path: Path):
    tensors = load_file(whole / "run" / "state-12" / "model.safetensors")
    save_file(tensors, tmp_path / "again.safetensors")
    assert {tensor.dtype for tensor in tensors.values()} == {torch.float32}
