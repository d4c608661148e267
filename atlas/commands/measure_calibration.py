"""``atlas measure calibration``: what label smoothing does to a model, on held-out sentences."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from atlas.bundles import choose_bundle
from atlas.commands import options
from atlas.commands.output import progress, say, say_json, tell
from atlas.errors import AtlasError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from atlas.analysis.calibration import Intervals, Predictions, Summary
    from atlas.checkpoint import Bundle
    from atlas.text.batches import EncodedPairs

NAME = "calibration"
_HISTOGRAM = 40
_ROWS = {
    "accuracy": "right tokens",
    "confidence": "mean confidence",
    "ece": "expected calibration error",
    "loss": "cross-entropy (nats a token)",
    "entropy": "entropy (nats a token)",
    "norm": "norm of the centred logits",
    "top": "largest centred logit",
    "slope": "gradient norm at the logits",
}


def _load(checkpoint: str, step: int | None) -> Bundle:
    """A bundle with its weights in float32 on the CPU.

    Raises:
        AtlasError: it is damaged, or has no such snapshot.
    """
    from atlas.checkpoint import load_bundle

    return load_bundle(choose_bundle(checkpoint), step=step)


def _smoothing(bundle: Bundle) -> float:
    """The α that a bundle was trained with.

    Raises:
        AtlasError: its description does not say.
    """
    found = bundle.training.get("config", {}).get("label_smoothing")
    if not isinstance(found, int | float):
        raise AtlasError(
            f"{bundle.name}: its config.json does not say with which label smoothing it was trained"
        )
    return float(found)


def _pairs(
    source: Path | None, limit: int | None, smoothed: Bundle, plain: Bundle
) -> tuple[str, EncodedPairs, EncodedPairs]:
    """Name of the corpus of both; its development and training sentences as ids.

    Raises:
        AtlasError: the corpus is missing, or the two models learnt from others or read different pieces.
    """
    from atlas.text.batches import EncodedPairs
    from atlas.training.run import corpus_of

    if smoothed.tokenizer.to_json() != plain.tokenizer.to_json():
        raise AtlasError(
            f"{smoothed.name} and {plain.name} have different tokenizers: no token can be compared"
        )
    corpus, other = corpus_of(smoothed, source), corpus_of(plain, source)
    if corpus.name != other.name:
        raise AtlasError(
            f"{smoothed.name} learnt from {corpus.name} and {plain.name} from {other.name}: they are no twins"
        )
    development, train = (
        EncodedPairs(pairs[:limit], smoothed.tokenizer) for pairs in (corpus.development, corpus.train)
    )
    return corpus.name, development, train


def _model_facts(bundle: Bundle, step: int | None, summary: Summary, alpha: float) -> dict[str, Any]:
    return {
        "name": bundle.name,
        "hash": bundle.hash,
        "step": step if step is not None else bundle.training.get("steps"),
        "smoothing": alpha,
        **asdict(summary),
    }


def _arrays(
    predictions: dict[str, Predictions], gradients: dict[str, NDArray[np.float64]]
) -> dict[str, NDArray[Any]]:
    """Reliability, and histograms of entropy and of logit norms on edges that both models share."""
    import numpy as np

    from atlas.analysis.calibration import reliability

    arrays: dict[str, NDArray[Any]] = {}
    for name, found in predictions.items():
        bins = reliability(found.confidence, found.correct)
        arrays |= {
            f"{name}.counts": bins.counts,
            f"{name}.confidence": bins.confidence,
            f"{name}.accuracy": bins.accuracy,
        }
    for what in ("entropy", "norm"):
        last = max(float(getattr(found, what).max()) for found in predictions.values())
        edges = np.linspace(0.0, last, _HISTOGRAM + 1)
        arrays[f"{what}.edges"] = edges
        for name, found in predictions.items():
            arrays[f"{name}.{what}"] = np.histogram(getattr(found, what), edges)[0]
    return arrays | {f"{name}.gradients": norms for name, norms in gradients.items()}


def run(
    unsmoothed: Annotated[
        str, typer.Argument(help="Bundle trained without label smoothing: folder or name.")
    ],
    baseline: Annotated[
        str, typer.Option(help="Its twin trained with label smoothing; the numbers are kept in this bundle.")
    ] = "multi30k-en-fr",
    baseline_step: Annotated[
        int | None,
        typer.Option(help="Snapshot of the twin that has seen as much.", show_default="its final weights"),
    ] = None,
    source: options.Source = None,
    limit: Annotated[
        int | None, typer.Option(help="Only the first sentences.", min=2, show_default="all")
    ] = None,
    batches: Annotated[int, typer.Option(help="Training batches for the gradient norms.", min=1)] = 32,
    batch_tokens: Annotated[int, typer.Option(help="Tokens of such a batch.", min=1)] = 2048,
    as_json: options.Json = False,
) -> None:
    """Compare a model trained without label smoothing with its twin trained with it.

    On the development sentences of Multi30k under teacher forcing: reliability, calibration error,
    entropy, sizes of logits. On training batches with dropout on: gradient norms under both losses. With
    95% intervals over sentences.
    """
    from atlas.analysis.calibration import bootstrap, gradient_norms, predict, summarise
    from atlas.measurements import Measurement, save_measurement

    start = time.perf_counter()
    smoothed, plain = _load(baseline, baseline_step), _load(unsmoothed, None)
    alphas = {"smoothed": _smoothing(smoothed), "plain": _smoothing(plain)}
    if not alphas["smoothed"] > 0 or alphas["plain"] != 0:
        raise AtlasError(
            f"{smoothed.name} was trained with label smoothing {alphas['smoothed']:g} and {plain.name} with "
            f"{alphas['plain']:g}; this compares one above 0 with one of 0"
        )
    corpus, development, train = _pairs(source, limit, smoothed, plain)
    models = {"smoothed": smoothed, "plain": plain}
    found, gradients = {}, {}
    for name, bundle in models.items():
        with progress(f"reading with {bundle.name}", "batches") as report:
            found[name] = predict(bundle.transformer, development, progress=report)
        for loss, alpha in alphas.items():
            with progress(f"gradients of {bundle.name}", "batches") as report:
                gradients[f"{name}.{loss}"] = gradient_norms(
                    bundle.transformer, train, alpha, tokens=batch_tokens, batches=batches, progress=report
                )
    summaries = {name: summarise(predictions) for name, predictions in found.items()}
    intervals = bootstrap(found["smoothed"], found["plain"])
    step = "" if baseline_step is None else f" --baseline-step {baseline_step}"
    facts: dict[str, Any] = {
        "corpus": f"{corpus}, development sentences",
        "sentences": len(development),
        "tokens": len(found["plain"]),
        "gradient_batches": len(gradients["plain.plain"]),
        "gradient_tokens": batch_tokens,
        "clip": smoothed.training.get("config", {}).get("clip"),
        "intervals": asdict(intervals),
        "history": plain.history,
    } | {
        name: _model_facts(
            bundle, baseline_step if name == "smoothed" else None, summaries[name], alphas[name]
        )
        for name, bundle in models.items()
    }
    command = f"atlas measure calibration {plain.name} --baseline {smoothed.name}{step}"
    file = save_measurement(
        smoothed.folder, Measurement(NAME, smoothed.hash, command, facts, _arrays(found, gradients))
    )
    if as_json:
        say_json(facts | {"file": str(file), "seconds": time.perf_counter() - start})
        return
    _print(summaries, intervals, gradients, facts)
    tell(f"kept in {file}")


def _print(
    summaries: dict[str, Summary],
    intervals: Intervals,
    gradients: dict[str, NDArray[np.float64]],
    facts: dict[str, Any],
) -> None:
    import numpy as np

    say(f"{facts['corpus']}: {facts['sentences']:,} sentences, {facts['tokens']:,} tokens")
    say(f"{'':30}{'smoothed':>10}{'plain':>10}{'difference':>12}   95% over sentences")
    for name, words in _ROWS.items():
        first, second = (getattr(summaries[model], name) for model in ("smoothed", "plain"))
        low, high = intervals.difference[name]
        say(f"{words:30}{first:10.4f}{second:10.4f}{first - second:12.4f}   {low:.4f} to {high:.4f}")
    say(f"gradient norms on {facts['gradient_batches']} training batches, dropout on: median (largest)")
    for name, norms in gradients.items():
        model, loss = name.split(".")
        say(f"  {model} model, {loss} loss: {np.median(norms):.3f} ({norms.max():.3f})")
