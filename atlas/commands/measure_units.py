"""``atlas measure units``: which tokens wake each feed-forward unit, on held-out sentences."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from atlas.bundles import choose_bundle
from atlas.commands import options
from atlas.commands.output import progress, say, say_json, tell

if TYPE_CHECKING:
    from atlas.analysis.units import Units
    from atlas.checkpoint import Bundle
    from atlas.text.corpora import Pair

NAME = "units"
_KEPT = 8
_LEAST = 3


def _held_out(bundle: Bundle, source: Path | None, count: int) -> tuple[list[Pair], str]:
    """Pairs of the bundle's corpus that its training did not see, drawn the same way every time, with one
    typography, and the name of the corpus.

    Raises:
        AtlasError: the corpus is missing, or the bundle does not say which it was.
    """
    import numpy as np

    from atlas.training.run import corpus_of, with_one_typography

    corpus = corpus_of(bundle, source)
    pairs = [*corpus.development, *with_one_typography(corpus.test)]
    if len(pairs) > count:
        chosen = np.random.default_rng(0).choice(len(pairs), count, replace=False)
        pairs = [pairs[place] for place in sorted(chosen.tolist())]
    return pairs, corpus.name


def run(
    checkpoint: Annotated[str, typer.Argument(help="A folder, or the name of a bundle.")],
    source: options.Source = None,
    sentences: Annotated[int, typer.Option(help="Sentences to read, at most.", min=1)] = 1000,
    as_json: options.Json = False,
) -> None:
    """Read held-out sentences with their translations and keep, for every feed-forward unit, the tokens that
    wake it most and how often it is silent.

    Only token numbers and activations are kept, no sentence.
    """
    from atlas.analysis.units import measure_units, to_arrays
    from atlas.checkpoint import load_bundle
    from atlas.measurements import Measurement, save_measurement
    from atlas.text.batches import EncodedPairs

    start = time.perf_counter()
    path = choose_bundle(checkpoint)
    bundle = load_bundle(path)
    pairs, corpus = _held_out(bundle, source, sentences)
    model = bundle.transformer.eval()
    longest = min(model.config.max_length - 1, 128)
    encoded = EncodedPairs(pairs, bundle.tokenizer, longest)
    targets = [row[:-1] for row in encoded.target]
    with progress(f"reading with {bundle.name}", "sentences") as report:
        units = measure_units(model, encoded.source, targets, kept=_KEPT, least=_LEAST, progress=report)
    facts: dict[str, Any] = {
        "corpus": corpus,
        "sentences": len(encoded),
        "source_tokens": int(units.counts["encoder"].sum()),
        "target_tokens": int(units.counts["decoder"].sum()),
        "least": _LEAST,
        "activation": model.config.activation,
    }
    command = f"atlas measure units {bundle.name}"
    if sentences != 1000:
        command += f" --sentences {sentences}"
    file = save_measurement(path, Measurement(NAME, bundle.hash, command, facts, to_arrays(units)))
    if as_json:
        shares = {
            f"{side}.{layer}": float(found.silent.mean()) for (side, layer), found in units.layers.items()
        }
        never = {
            f"{side}.{layer}": int((found.silent == 1).sum()) for (side, layer), found in units.layers.items()
        }
        seconds = time.perf_counter() - start
        say_json(facts | {"silent": shares, "never": never, "file": str(file), "seconds": seconds})
        return
    _print(units, facts)
    tell(f"kept in {file}")


def _print(units: Units, facts: dict[str, Any]) -> None:
    say(
        f"{facts['corpus']}: {facts['sentences']:,} held-out sentences, {facts['source_tokens']:,} source "
        f"and {facts['target_tokens']:,} target tokens"
    )
    for (side, layer), found in units.layers.items():
        say(
            f"  {side} layer {layer + 1}: {found.silent.mean():.1%} silent on average, "
            f"{(found.silent == 1).sum()} of {len(found.silent)} units always"
        )
