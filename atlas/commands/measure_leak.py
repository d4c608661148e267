"""``atlas measure leak``: what a model learns that was trained without the causal mask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from atlas.commands import options
from atlas.commands.output import Report, progress, say, say_json, tell

if TYPE_CHECKING:
    from atlas.analysis.leak import LeakStudy, Side
    from atlas.engine import Engine
    from atlas.text.corpora import Pair

BASELINE = "multi30k-en-fr"


def study(
    without: Engine,
    baseline: Engine,
    pairs: list[Pair],
    corpus: str,
    report: Report = lambda done, total: None,
) -> LeakStudy:
    """Measure both models on the same development pairs and let both translate the same sentences.

    Args:
        without: trained without a causal mask; baseline: trained with one.
        pairs: of the corpus called ``corpus``.
        report: called with pairs measured and pairs in all, over both models.

    Raises:
        LeakError: the two do not differ in the mask, a history is not one, or there are no pairs.
    """
    from atlas.analysis.histories import read_history
    from atlas.analysis.leak import SENTENCES, LeakStudy, Side, check_comparable, curves, next_token
    from atlas.decoding import SearchOptions
    from atlas.text.batches import EncodedPairs

    check_comparable(without.model, baseline.model)
    sides: list[Side] = []
    for place, engine in enumerate((without, baseline)):

        def said(done: int, total: int, place: int = place) -> None:
            report(place * total + done, 2 * total)

        history = curves(read_history(engine.name, engine.history))
        found = next_token(engine.model, EncodedPairs(pairs, engine.tokenizer), report=said)
        greedy, beam = (
            tuple(one.text for one in engine.translate(list(SENTENCES), SearchOptions(method=method)))
            for method in ("greedy", "beam")
        )
        sides.append(Side(engine.name, engine.hash, int(history["step"][-1]), found, history, greedy, beam))
    return LeakStudy(sides[0], sides[1], SENTENCES, corpus)


def run(
    without: Annotated[str, typer.Argument(help="Bundle trained without the mask: a folder or a name.")],
    baseline: Annotated[
        str, typer.Option(help="Bundle trained with it; the measurement is kept there.")
    ] = BASELINE,
    source: options.Source = None,
    limit: Annotated[
        int | None, typer.Option(help="Only the first development pairs.", min=1, show_default="all")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Compare a model trained without the causal mask with one that has it, and keep the numbers.

    Loss and next-token accuracy with the answer visible and hidden, the share of random tokens that are
    copied, both histories, and both models' translations of the same eight sentences.
    """
    from atlas.analysis.leak import NAME
    from atlas.measurements import save_measurement
    from atlas.training.run import corpus_of

    engines = options.load_engine(without), options.load_engine(baseline)
    corpus = corpus_of(engines[1].bundle, source)
    pairs = list(corpus.development)[:limit]
    with progress("measuring", "sentences") as report:
        found = study(*engines, pairs, corpus.name, report)
    command = f"atlas measure {NAME} {engines[0].name} --baseline {engines[1].name}"
    file = save_measurement(
        engines[1].folder, found.measurement(command + (f" --limit {limit}" if limit else ""))
    )
    tell(f"kept in {file}")
    if as_json:
        say_json(
            {
                "corpus": found.corpus,
                "sentences": found.sentences,
                "without": _plain(found.without),
                "baseline": _plain(found.baseline),
            }
        )
        return
    for side in (found.without, found.baseline):
        _print(side)
    for place, sentence in enumerate(found.sentences):
        say(sentence)
        say(f"  without  {found.without.greedy[place]}")
        say(f"  with     {found.baseline.greedy[place]}")


def _plain(side: Side) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(side) | {"history": {name: column.tolist() for name, column in side.history.items()}}


def _print(side: Side) -> None:
    found = side.next
    say(f"{side.name}: {side.steps:,} updates, {found.pairs:,} pairs, {found.tokens:,} tokens")
    say(f"  answer visible: loss {found.loss_visible:.4f}, right {found.right_visible:.2%}")
    say(f"  answer hidden:  loss {found.loss_hidden:.4f}, right {found.right_hidden:.2%}")
    say(f"  random tokens copied: {found.copied:.2%}")
