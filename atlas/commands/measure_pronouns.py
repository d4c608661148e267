"""``atlas measure pronouns``: do heads look from a pronoun at its noun?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from atlas.bundles import choose_bundle
from atlas.commands import options
from atlas.commands.options import load_engine
from atlas.commands.output import progress, say, say_json, tell
from atlas.errors import AtlasError

if TYPE_CHECKING:
    from atlas.analysis.antecedents import Example

_CORPORA = {"tatoeba": "tatoeba", "multi30k": "multi30k-en-fr"}
_NAMES = {"tatoeba": "Tatoeba", "multi30k": "Multi30k"}


def _held_out(corpus: str, folder: Path, trained_on: str | None) -> set[str]:
    """English sentences of a corpus that a model has not seen, in NFC.

    Args:
        corpus: ``tatoeba`` or ``multi30k``.
        trained_on: the corpus of the model's configuration. Of another corpus the training sentences are
            taken too, but for those that stand in both.
    """
    from atlas.text.corpora import Corpus, load_multi30k, load_tatoeba, multi30k_test

    loaded: Corpus = load_tatoeba(folder) if corpus == "tatoeba" else load_multi30k(folder)
    pairs = [*loaded.development, *loaded.test]
    if trained_on is not None and trained_on != _CORPORA[corpus]:
        pairs += loaded.train
    sentences = {pair.source for pair in pairs}
    if corpus == "multi30k":
        for name in ("multi30k-2017", "multi30k-mscoco"):
            sentences |= set(multi30k_test(folder, name)[0].sources)
    return sentences - (
        {pair.source for pair in loaded.train} if trained_on in (None, _CORPORA[corpus]) else set()
    )


def _examples(
    source: Path | None, trained_on: str | None, most: int
) -> tuple[list[Example], list[str], dict[str, int]]:
    """Sentences with a pronoun and its noun, at most ``most`` a pronoun, with the corpus of each.

    Those of the corpus that the model was trained on come first; chance chooses among the others.

    Raises:
        AtlasError: neither corpus is here.
    """
    import numpy as np

    from atlas.analysis.antecedents import FORMS, find_example
    from atlas.text.corpora import CorpusError
    from atlas.text.download import locate

    found: dict[str, list[tuple[str, Example]]] = {name: [] for name in FORMS}
    searched: dict[str, int] = {}
    missing = []
    for corpus, name in _NAMES.items():
        try:
            folder = locate(corpus, source)
        except CorpusError as error:
            missing.append(str(error))
            continue
        sentences = sorted(_held_out(corpus, folder, trained_on))
        searched[name] = len(sentences)
        for example in filter(None, map(find_example, sentences)):
            found[example.pronoun].append((name, example))
    if not searched:
        raise AtlasError(missing[0])
    for line in missing:
        tell(line)
    own = next((name for corpus, name in _NAMES.items() if _CORPORA[corpus] == trained_on), "")
    generator = np.random.default_rng(0)
    chosen: list[tuple[str, Example]] = []
    for pairs in found.values():
        shuffled = [pairs[place] for place in generator.permutation(len(pairs))]
        chosen += sorted(shuffled, key=lambda pair: pair[0] != own)[:most]
    return [example for _, example in chosen], [corpus for corpus, _ in chosen], searched


def _trained_on(folder: Path | None) -> str | None:
    """The corpus that a bundle says it was trained on."""
    from atlas.checkpoint import read_description

    if folder is None:
        return None
    corpus = read_description(folder)["training"].get("config", {}).get("corpus")
    return corpus if corpus in _CORPORA.values() else None


def _table(facts: dict[str, Any], arrays: dict[str, Any]) -> None:
    """The head that looks at the noun most often, for each group of sentences."""
    import numpy as np

    say(f"{'':10}{'sentences':>10}{'chance':>8}  head that looks there most often")
    for row, name in enumerate(facts["groups"]):
        if not facts["counts"][row]:
            continue
        top = arrays["top"][row]
        layer, head = np.unravel_index(int(np.nanargmax(top)), top.shape)
        place = (row, layer, head)
        say(
            f"{name:10}{facts['counts'][row]:>10,}{facts['chance'][row]:>8.1%}  layer {layer + 1} head "
            f"{head + 1}: {top[layer, head]:.1%} ({arrays['top_low'][place]:.1%} to "
            f"{arrays['top_high'][place]:.1%}), other words {arrays['others'][place]:.1%}; untrained "
            f"{np.nanmax(arrays['untrained_top'][row]):.1%} at most; weight {arrays['weight'][place]:.3f}, "
            f"same distance {arrays['distance'][place]:.3f}"
        )
    picked = facts["picked"]
    if picked is not None:
        say(
            f"chosen on {picked['chosen_on']:,} sentences: layer {picked['layer'] + 1} head "
            f"{picked['head'] + 1}; on the other {picked['judged_on']:,} it looks there in "
            f"{picked['top']:.1%} ({picked['top_low']:.1%} to {picked['top_high']:.1%}), other words of the "
            f"sentence {picked['special']:.1%} less often"
        )


def run(
    checkpoint: Annotated[str, typer.Argument(help="A folder, or the name of a bundle.")],
    source: Annotated[
        Path | None,
        typer.Option("--from", help="Folder with the corpora. Otherwise $ATLAS_DATA, then the cache."),
    ] = None,
    most: Annotated[int, typer.Option(help="Most sentences for each pronoun.", min=1)] = 500,
    as_json: options.Json = False,
) -> None:
    """Weights from pronouns to their nouns in every encoder head, over sentences that the model never saw.

    Sentences are from Tatoeba and Multi30k: development and test sentences, and the training sentences of the
    one that the model was not trained on. An untrained model of the same shape is measured beside it.
    """
    from atlas.analysis.pronouns import look, summarise, untrained
    from atlas.measurements import Measurement, save_measurement

    engine = load_engine(checkpoint)
    if engine.source_language != "en":
        raise AtlasError(f"{engine.name} reads {engine.source_language}; the rule for pronouns knows English")
    examples, corpora, searched = _examples(source, _trained_on(engine.folder), most)
    with progress("reading", "sentences") as report:
        trained = look(engine.model, engine.tokenizer, examples, report)
        random = look(untrained(engine.model), engine.tokenizer, examples)
    facts, arrays = summarise(examples, corpora, trained, random)
    facts["corpora"] = searched
    command = f"atlas measure pronouns {engine.name}" + ("" if most == 500 else f" --most {most}")
    save_measurement(choose_bundle(checkpoint), Measurement("pronouns", engine.hash, command, facts, arrays))
    if as_json:
        say_json({"model": engine.name, **facts, **{name: array.tolist() for name, array in arrays.items()}})
        return
    _table(facts, arrays)
