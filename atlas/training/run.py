"""From a configuration to a bundle: the whole of ``atlas train``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from atlas.checkpoint import STORED, Bundle, load_bundle, save_bundle
from atlas.errors import AtlasError
from atlas.model import pick_device
from atlas.model.family import Model, build_model, config_from_dict
from atlas.text.batches import EncodedPairs
from atlas.text.corpora import (
    Corpus,
    Pair,
    group_references,
    load_file,
    load_multi30k,
    load_tatoeba,
    unify_typography,
)
from atlas.text.tokenizer import Tokenizer
from atlas.training.cards import training_card
from atlas.training.config import TrainingConfig
from atlas.training.distributed import Processes
from atlas.training.evaluation import corpus_scores, mean_loss
from atlas.training.loop import Sentences, Trainer, translate_greedily
from atlas.training.report import Reporter
from atlas.training.state import RunFolder, history_csv


def load_corpus(config: TrainingConfig, source: Path | None = None) -> Corpus:
    """The corpus that a configuration names, from a local copy (``source``, else ``ATLAS_DATA``) or the
    download cache.

    Raises:
        CorpusError: it is not there.
    """
    from atlas.text.download import locate

    if config.corpus == "tatoeba":
        return load_tatoeba(locate("tatoeba", source))
    if config.corpus in ("multi30k-en-fr", "multi30k-en-de"):
        return load_multi30k(locate("multi30k", source), config.corpus[-2:])
    return load_file(Path(config.corpus), config.source_language, config.target_language)


def corpus_of(bundle: Bundle, source: Path | None = None) -> Corpus:
    """The corpus that a bundle learnt from, as its training read it (see :func:`tidy`).

    Raises:
        AtlasError: the bundle does not say which it was, or it is not there.
    """
    if "config" not in bundle.training:
        raise AtlasError(f"{bundle.name}: its config.json does not say how it was trained")
    return tidy(load_corpus(TrainingConfig.from_dict(bundle.training["config"]), source))


def with_one_typography(pairs: Sequence[Pair]) -> list[Pair]:
    """Pairs as a model that was trained here expects them (see
    :func:`~atlas.text.corpora.unify_typography`).
    """
    return [Pair(unify_typography(pair.source), unify_typography(pair.target)) for pair in pairs]


def tidy(corpus: Corpus) -> Corpus:
    """Training and development sides with one typography; the test side stays as published."""
    return replace(
        corpus,
        train=with_one_typography(corpus.train),
        development=with_one_typography(corpus.development),
    )


def _new_tokenizer(config: TrainingConfig, corpus: Corpus, init: Path | None) -> Tokenizer:
    """Learnt from the training side, or that of a bundle."""
    if init is not None:
        return load_bundle(init).tokenizer
    texts = [text for pair in corpus.train for text in (pair.source, pair.target)]
    return Tokenizer.train(texts, config.vocabulary)


def _new_model(config: TrainingConfig, vocabulary: int, init: Path | None) -> Model:
    """Random weights that follow from the seed, or those of a bundle."""
    torch.manual_seed(config.seed)
    model = build_model(config_from_dict({"vocabulary": vocabulary, **config.model_options()}))
    if init is not None:
        other = load_bundle(init).model
        if {**model.config.to_dict(), "dropout": other.config.dropout} != other.config.to_dict():
            raise AtlasError(
                f"{init}: this bundle's model is not the one in the configuration; make their model "
                f"options equal"
            )
        model.load_state_dict(other.state_dict())
    return model


def train_from_config(
    config: TrainingConfig,
    *,
    out: Path,
    run: Path,
    source: Path | None = None,
    init: Path | None = None,
    device: str | None = None,
    max_minutes: float | None = None,
    restart: bool = False,
    quiet: bool = False,
) -> Path | None:
    """Train and write a bundle.

    Args:
        out: the bundle's folder, replaced when training ends.
        run: the folder of the run's states; a run found there is resumed.
        source: a local copy of the corpus.
        init: a bundle to go on from, with a fresh optimiser.
        max_minutes: stop after this much training, over all sittings.
        restart: throw a run found there away instead.

    Returns:
        ``out``; None in every process but the first, which alone writes the bundle.

    Raises:
        AtlasError: the corpus is missing, or ``run`` or ``init`` do not fit the configuration.
    """
    where = pick_device(device)
    processes = Processes.join(where)
    report = Reporter(quiet=quiet or not processes.first)
    folder = RunFolder(run)
    if restart and processes.first:
        folder.discard()
    corpus = tidy(load_corpus(config, source))
    report.say(f"{corpus.name}: {corpus.report}")
    if processes.first and not folder.exists():
        folder.begin(_new_tokenizer(config, corpus, init))
    processes.wait()
    tokenizer = folder.load_tokenizer()
    # A run that was stopped before its first state begins again from the same weights.
    model = _new_model(config, len(tokenizer), None if folder.exists() else init)
    model.to(where)
    sentences = _sentences(config, corpus, tokenizer)
    report.say(
        f"{len(sentences.train):,} training pairs ({sentences.train.dropped} longer than "
        f"{config.longest} tokens left out), {len(sentences.development):,} development pairs, "
        f"{sum(p.numel() for p in model.parameters()):,} parameters on {where}"
    )
    trainer = Trainer(model, tokenizer, sentences, config, folder, processes, report)
    if trainer.progress.step:
        report.say(f"resumed at step {trainer.progress.step:,}")
    trainer.run(max_minutes)
    processes.leave()
    if not processes.first:
        return None
    bundle = _finished(trainer, corpus, init, report)
    save_bundle(bundle, out, folder.snapshots(trainer.progress.step))
    report.say(f"wrote {out}")
    return out


def _sentences(config: TrainingConfig, corpus: Corpus, tokenizer: Tokenizer) -> Sentences:
    """What the run learns from and is measured on."""
    check = group_references("development", corpus.development)
    check = replace(
        check,
        sources=check.sources[: config.evaluate_sentences],
        references=check.references[: config.evaluate_sentences],
    )
    sentences = Sentences(
        EncodedPairs(corpus.train, tokenizer, config.longest),
        EncodedPairs(corpus.development, tokenizer, config.longest),
        check,
    )
    if not len(sentences.train) or not len(sentences.development):
        raise AtlasError(
            f"{corpus.name}: {len(sentences.train)} training and {len(sentences.development)} development "
            f"pairs of at most {config.longest} tokens; both are needed"
        )
    return sentences


def _finished(trainer: Trainer, corpus: Corpus, init: Path | None, report: Reporter) -> Bundle:
    """The bundle of a run that has ended: its better weights, as rounded as they will be on disk, and its
    card.
    """
    config, progress = trainer.config, trainer.progress
    chosen = _average_if_better(trainer, report)
    rounding = _round_to_half(trainer, report)
    bundle = Bundle(
        config.name,
        corpus.source_language,
        corpus.target_language,
        trainer.model.eval(),
        trainer.tokenizer,
        history=history_csv(progress.history),
        training={
            "config": config.to_dict(),
            "steps": progress.step,
            "target_tokens": progress.target_tokens,
            "minutes": round(progress.seconds / 60, 1),
            "precision": progress.precision,
            "weights": chosen,
            "rounding": rounding,
            "corpus": corpus.files,
            "init": None if init is None else init.name,
        },
    )
    bundle.card = training_card(bundle, corpus)
    return bundle


def _average_if_better(trainer: Trainer, report: Reporter) -> str:
    """Leave the mean of the last checkpoints in the model if its development loss is lower; say which was
    taken.
    """
    model, development = trainer.model, trainer.sentences.development
    last = {name: tensor.detach().clone() for name, tensor in model.named_parameters()}
    mean, count = trainer.folder.average(trainer.progress.step, trainer.config.average)
    before = mean_loss(model, development)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(mean[name])
    after = mean_loss(model, development)
    report.say(
        f"development loss: last weights {before:.4f}, mean of the last {count} checkpoints {after:.4f}"
    )
    if after <= before:
        return f"mean of the last {count} checkpoints"
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(last[name])
    return "last"


def _round_to_half(trainer: Trainer, report: Reporter) -> dict[str, float]:
    """Round the model to what the bundle stores, and measure whether that costs anything."""
    model, sentences = trainer.model, trainer.sentences

    def measure() -> tuple[float, float]:
        texts = translate_greedily(model, trainer.tokenizer, sentences.check.sources)
        return mean_loss(model, sentences.development), corpus_scores(texts, sentences.check.references).bleu

    model.eval()
    loss, bleu = measure()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter.to(STORED))
    half_loss, half_bleu = measure()
    report.say(
        f"rounded to {str(STORED).removeprefix('torch.')}: development loss {loss:.5f} -> {half_loss:.5f}, "
        f"greedy BLEU {bleu:.2f} -> {half_bleu:.2f}"
    )
    return {"loss": loss, "bleu": bleu, "half_loss": half_loss, "half_bleu": half_bleu}
