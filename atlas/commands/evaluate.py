"""``atlas evaluate``: scores on held-out sentences."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from atlas.bundles import choose_bundle
from atlas.commands import options
from atlas.commands.options import Method, Penalty, Stop, load_engine, search_options
from atlas.commands.output import progress, say, say_json
from atlas.errors import AtlasError
from atlas.whole import whole_file

if TYPE_CHECKING:
    from atlas.decoding import SearchOptions
    from atlas.engine import Engine
    from atlas.text.corpora import TestSet


class Test(StrEnum):
    """A test set that is known."""

    tatoeba = "tatoeba"
    multi30k_2016 = "multi30k-2016"
    multi30k_2017 = "multi30k-2017"
    multi30k_mscoco = "multi30k-mscoco"


def _test_sets(
    test: Test, source: Path | None, engine: Engine, limit: int | None
) -> tuple[TestSet, TestSet | None]:
    """The test set, or its first sentences, and its lowercased tokenised twin where there is one.

    Raises:
        AtlasError: the corpus is missing, or the model translates other languages.
    """
    from atlas.text.corpora import group_references, load_tatoeba, multi30k_test
    from atlas.text.download import locate

    languages = ("fr",) if test is Test.tatoeba else ("fr", "de")
    if engine.source_language != "en" or engine.target_language not in languages:
        raise AtlasError(
            f"{engine.name} translates {engine.source_language} to {engine.target_language}; "
            f"{test.value} is from en to {' or '.join(languages)}"
        )
    if test is Test.tatoeba:
        corpus = load_tatoeba(locate("tatoeba", source))
        return _first(group_references(test.value, corpus.test), limit), None
    whole, tokenised = multi30k_test(locate("multi30k", source), test.value, engine.target_language)
    return _first(whole, limit), _first(tokenised, limit)


def _first(test: TestSet, limit: int | None) -> TestSet:
    return replace(test, sources=test.sources[:limit], references=test.references[:limit])


def _scores(texts: list[str], test: TestSet, tokenised: TestSet | None, language: str) -> dict[str, Any]:
    from atlas.training.evaluation import corpus_scores
    from atlas.training.published import lowercased_tokenised_bleu

    scores = corpus_scores(texts, test.references)
    result: dict[str, Any] = {
        "bleu": scores.bleu,
        "chrf": scores.chrf,
        "signature": f"BLEU {scores.bleu_signature}; chrF {scores.chrf_signature}",
    }
    if tokenised is not None:
        references = [group[0] for group in tokenised.references]
        result["bleu_lc_tok"] = lowercased_tokenised_bleu(texts, references, language)
    return result


def _write_card(checkpoint: str, settings: SearchOptions, result: dict[str, Any]) -> None:
    """Put the result into the card, with the command that prints it again."""
    from atlas.checkpoint import CARD
    from atlas.decoding import SearchOptions
    from atlas.training.cards import with_score
    from atlas.training.published import TRANSFORMER_TINY

    changed = {
        name: value for name, value in asdict(settings).items() if value != getattr(SearchOptions(), name)
    }
    extra = "".join(f" --{name.replace('_', '-')} {value}" for name, value in changed.items())
    command = f"atlas evaluate {result['model']} --test {result['test']}{extra}"
    published = TRANSFORMER_TINY.get(result["test"]) if result["target_language"] == "fr" else None
    path = choose_bundle(checkpoint) / CARD
    row = {**result, "beam": settings.width, "command": command, "published": published}
    with whole_file(path) as file:
        file.write_text(with_score(path.read_text(encoding="utf-8"), row), encoding="utf-8")


def run(
    checkpoint: Annotated[str, typer.Argument(help="A folder, or the name of a bundle.")],
    test: Annotated[Test, typer.Option(help="Held-out sentences to translate.")],
    source: options.Source = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the translations, a line each.")
    ] = None,
    card: Annotated[
        bool,
        typer.Option("--card", help="Write the result into the bundle's card, in place of an older one."),
    ] = False,
    limit: Annotated[
        int | None, typer.Option(help="Only the first sentences.", min=1, show_default="all")
    ] = None,
    as_json: options.Json = False,
    method: options.MethodOption = Method.beam,
    beam: options.Beam = 5,
    penalty: options.PenaltyOption = Penalty.gnmt,
    alpha: options.Alpha = 0.6,
    stop: options.StopOption = Stop.exact,
    max_length: options.MaxLength = None,
) -> None:
    """Translate a held-out test set and score it: sacreBLEU and chrF against all references.

    For Multi30k also the published metric, BLEU on lowercased tokenised text: never compare the two.
    """
    settings = search_options(
        method=method, beam=beam, penalty=penalty, alpha=alpha, stop=stop, max_length=max_length
    )
    if card and limit is not None:
        raise AtlasError("a card states scores of whole test sets: leave out --limit or --card")
    engine = load_engine(checkpoint)
    whole, tokenised = _test_sets(test, source, engine, limit)
    start = time.perf_counter()
    with progress(f"translating {test.value}", "sentences") as report:
        done = engine.translate(list(whole.sources), settings, progress=report)
    seconds = time.perf_counter() - start
    texts = [translation.text for translation in done]
    if out is not None:
        try:
            with whole_file(out) as file:
                file.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
        except OSError as error:
            raise AtlasError(f"{out}: {error.strerror or error}") from error
    result = {
        "test": test.value,
        "model": engine.name,
        "hash": engine.hash,
        "target_language": engine.target_language,
        "sentences": len(texts),
        **_scores(texts, whole, tokenised, engine.target_language),
        "seconds": seconds,
        "settings": asdict(settings),
    }
    if card:
        _write_card(checkpoint, settings, result)
    if as_json:
        say_json(result)
        return
    say(f"{test.value}: {len(texts):,} sentences in {seconds:.1f} s")
    say(f"  BLEU {result['bleu']:.2f}, chrF {result['chrf']:.2f}")
    if "bleu_lc_tok" in result:
        say(f"  lowercased tokenised BLEU {result['bleu_lc_tok']:.2f}")
    say(f"  {result['signature']}")
