"""``atlas measure pronouns``: do heads look from a pronoun at its noun?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from atlas.commands import options
from atlas.commands.options import load_engine
from atlas.commands.output import progress, say, say_json, tell
from atlas.errors import AtlasError

if TYPE_CHECKING:
    from atlas.analysis.antecedents import Example
    from atlas.engine import Engine
    from atlas.text.corpora import Corpus

_NAMES = {"tatoeba": "Tatoeba", "multi30k-en-fr": "Multi30k"}
"""Name of a corpus in a configuration -> what it is called in the measurement."""


def _corpora(source: Path | None) -> list[Corpus]:
    """Whichever of the two corpora is here; a line on standard error for one that is not.

    Raises:
        AtlasError: neither is here, or one is damaged.
    """
    from atlas.text.corpora import CorpusError, load_multi30k, load_tatoeba
    from atlas.text.download import locate

    found, missing = [], []
    for name, load in (("tatoeba", load_tatoeba), ("multi30k", load_multi30k)):
        try:
            folder = locate(name, source)
        except CorpusError as error:
            missing.append(error)
            continue
        found.append(load(folder))
    if not found:
        raise missing[0]
    for line in missing:
        tell(line)
    return found


def _unseen(corpora: list[Corpus], trained_on: str | None) -> dict[str, list[str]]:
    """English sentences that a model was not trained on, sorted, by the name of their corpus.

    Args:
        corpora: development and test sentences are taken; of a corpus that the model does not know, the
            training sentences too.
        trained_on: the corpus of the model's configuration; None if it is neither of them, or unknown.
    """
    seen: set[str] = set()
    found: dict[str, list[str]] = {}
    for corpus in corpora:
        if trained_on in (None, corpus.name):
            seen |= {pair.source for pair in corpus.train}
    for corpus in corpora:
        pairs = [*corpus.development, *corpus.test]
        if trained_on not in (None, corpus.name):
            pairs += corpus.train
        found[_NAMES[corpus.name]] = sorted({pair.source for pair in pairs} - seen)
    return found


def _examples(sentences: dict[str, list[str]], own: str, most: int) -> tuple[list[Example], list[str]]:
    """Sentences with a pronoun and its noun, at most ``most`` a pronoun, and the corpus of each.

    Those of the corpus ``own`` come first; chance chooses among the others.
    """
    import numpy as np

    from atlas.analysis.antecedents import FORMS, find_example

    found: dict[str, list[tuple[str, Example]]] = {name: [] for name in FORMS}
    for corpus, texts in sentences.items():
        for example in filter(None, map(find_example, texts)):
            found[example.pronoun].append((corpus, example))
    generator = np.random.default_rng(0)
    chosen: list[tuple[str, Example]] = []
    for pairs in found.values():
        shuffled = [pairs[place] for place in generator.permutation(len(pairs))]
        chosen += sorted(shuffled, key=lambda pair: pair[0] != own)[:most]
    return [example for _, example in chosen], [corpus for corpus, _ in chosen]


def _trained_on(engine: Engine) -> str | None:
    """The corpus that a bundle says it was trained on, if it is one that is known here."""
    corpus = engine.bundle.training.get("config", {}).get("corpus")
    return corpus if corpus in _NAMES else None


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
    source: options.Source = None,
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
    model = engine.model
    trained_on = _trained_on(engine)
    sentences = _unseen(_corpora(source), trained_on)
    examples, corpora = _examples(sentences, _NAMES.get(trained_on or "", ""), most)
    with progress("reading", "sentences") as report:
        trained = look(model, engine.tokenizer, examples, report)
        random = look(untrained(model), engine.tokenizer, examples)
    facts, arrays = summarise(examples, corpora, trained, random)
    facts["corpora"] = {name: len(texts) for name, texts in sentences.items()}
    command = f"atlas measure pronouns {engine.name}" + ("" if most == 500 else f" --most {most}")
    save_measurement(engine.folder, Measurement("pronouns", engine.hash, command, facts, arrays))
    if as_json:
        say_json({"model": engine.name, **facts, **{name: array.tolist() for name, array in arrays.items()}})
        return
    _table(facts, arrays)
