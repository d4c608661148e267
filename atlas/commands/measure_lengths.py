"""``atlas measure lengths``: scores by the length of the sentence, within training's lengths and beyond."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from atlas.commands import options
from atlas.commands.options import Method, load_engine, search_options
from atlas.commands.output import progress, say, say_json
from atlas.errors import AtlasError

if TYPE_CHECKING:
    from atlas.engine import Engine

_TESTS = ("multi30k-2016", "multi30k-2017", "multi30k-2018")


def _pairs(folder: Path, language: str) -> tuple[list[str], list[str]]:
    """Sources and references of the test sets, in NFC.

    Raises:
        AtlasError: a file is missing, or two sides differ in length.
    """
    from atlas.text.corpora import MULTI30K_TESTS, CorpusError, read_lines
    from atlas.text.tokenizer import normalise

    sources: list[str] = []
    references: list[str] = []
    for name in _TESTS:
        left, right = (read_lines(folder / f"{MULTI30K_TESTS[name]}.{side}.gz") for side in ("en", language))
        if len(left) != len(right):
            raise CorpusError(f"{name}: {len(left)} sentences and {len(right)} references; they must pair up")
        sources += map(normalise, left)
        references += map(normalise, right)
    return sources, references


def _longest(engine: Engine) -> int:
    """Tokens of the longest training sentence, as a bundle's configuration says.

    Raises:
        AtlasError: it does not say.
    """
    longest = engine.bundle.training.get("config", {}).get("longest")
    if not isinstance(longest, int):
        raise AtlasError(f"{engine.name}: it does not say how long its longest training sentence was")
    return longest


def _table(name: str, facts: dict[str, Any], arrays: dict[str, Any]) -> None:
    from atlas.analysis.length_scores import interval

    say(f"{name}, trained on up to {facts['longest']} tokens")
    for row, group in enumerate(facts["groups"]):
        if facts["counts"][row]:
            bleu = interval(float(arrays["bleu"][row]), arrays["bleu_draws"][row])
            say(
                f"  {group:18}{facts['counts'][row]:>6,} sentences  BLEU {bleu.value:5.2f} "
                f"({bleu.low:5.2f} to {bleu.high:5.2f})  chrF {arrays['chrf'][row]:5.2f}  "
                f"length {arrays['ratio'][row]:.2f} of the reference"
            )


def run(
    bundles: Annotated[list[str], typer.Argument(help="Folders, or names of bundles.")],
    source: options.Source = None,
    limit: Annotated[
        int | None, typer.Option(help="Only the first sentences.", min=1, show_default="all")
    ] = None,
    as_json: options.Json = False,
    method: options.MethodOption = Method.beam,
    beam: options.Beam = 5,
) -> None:
    """BLEU and chrF by the number of source tokens, on the Multi30k test sets of 2016, 2017 and 2018.

    With 1,000 resamples of the sentences, the same for every bundle with the same tokenizer.
    """
    from sacrebleu.metrics import BLEU, CHRF

    from atlas.analysis.length_scores import scores_by_length
    from atlas.measurements import Measurement, save_measurement
    from atlas.text.download import locate

    settings = search_options(method=method, beam=beam)
    engines = [load_engine(name) for name in bundles]
    for engine in engines:
        if engine.source_language != "en" or engine.target_language not in ("fr", "de"):
            raise AtlasError(
                f"{engine.name} translates {engine.source_language} to {engine.target_language}; "
                "Multi30k is from en to fr or de"
            )
    folder = locate("multi30k", source)
    printed = []
    for engine in engines:
        sources, references = (side[:limit] for side in _pairs(folder, engine.target_language))
        tokens = [len(engine.tokenizer.source(text)) for text in sources]
        with progress(f"translating with {engine.name}", "sentences") as report:
            done = engine.translate(sources, settings, progress=report)
        facts, arrays = scores_by_length(
            tokens, [translation.text for translation in done], references, _longest(engine)
        )
        bleu, chrf = BLEU(), CHRF()
        bleu.corpus_score(["a"], [["a"]])
        chrf.corpus_score(["a"], [["a"]])
        facts |= {
            "tests": list(_TESTS),
            "search": f"beam {settings.width}" if method is Method.beam else method.value,
            "signature": f"BLEU {bleu.get_signature()}; chrF {chrf.get_signature()}",
        }
        if limit is not None:
            facts["limit"] = limit
        command = f"atlas measure lengths {engine.name}"
        command += "" if method is Method.beam else f" --method {method.value}"
        command += f" --beam {beam}" if method is Method.beam and beam != 5 else ""
        command += "" if limit is None else f" --limit {limit}"
        save_measurement(engine.folder, Measurement("lengths", engine.hash, command, facts, arrays))
        if not as_json:
            _table(engine.name, facts, arrays)
        printed.append(
            {"model": engine.name, **facts} | {n: arrays[n].tolist() for n in ("bleu", "chrf", "ratio")}
        )
    if as_json:
        say_json({"bundles": printed})
