"""``atlas translate``: sentences in, translations out."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from atlas.commands import options
from atlas.commands.inputs import TABLES, Line, input_lines
from atlas.commands.kept_chunks import partial_file, translate_in_chunks
from atlas.commands.options import Method, Penalty, Stop, load_engine, search_options
from atlas.commands.output import progress, say, say_json, tell
from atlas.errors import AtlasError
from atlas.whole import whole_file

if TYPE_CHECKING:
    from atlas.engine import Engine, Translation


def _translate(engine: Engine, lines: list[Line], out: Path | None, **values: Any) -> list[Translation]:
    """Translate what can be, kept beside ``out`` as it goes; the rest gets an empty result that says why."""
    from atlas.engine import Translation

    with progress("translating", "sentences") as report:
        if out is not None:
            return translate_in_chunks(engine, lines, partial_file(out), report=report, **values)
        good = [line.text for line in lines if line.problem is None]
        done = iter(engine.translate(good, progress=report, **values))
    return [
        next(done) if line.problem is None else Translation(line.text, (), line.problem) for line in lines
    ]


def _check_out(out: Path | None, resume: bool) -> None:
    """Find out before the work, not after it, that there is no place for its result."""
    if out is None:
        if not resume:
            raise AtlasError("--restart is for --out; without a file nothing is kept to go on with")
        return
    if out.suffix.lower() not in TABLES:
        raise AtlasError(f"{out}: a table's name ends in {', '.join(TABLES)}")
    if out.is_dir():
        raise AtlasError(f"{out}: a folder; --out names a file")
    if not out.parent.is_dir():
        raise AtlasError(f"{out}: the folder {out.parent} does not exist")


def _as_json(line: Line, translation: Translation) -> dict[str, Any]:
    return {
        "line": line.number,
        "source": translation.source,
        "text": translation.text,
        "score": translation.score,
        "note": translation.note,
        "hypotheses": [asdict(hypothesis) for hypothesis in translation.hypotheses],
    }


def _write_table(out: Path, lines: list[Line], translations: list[Translation]) -> None:
    from atlas.text.tables import write_table

    columns: dict[str, list[object]] = {
        "line": [line.number for line in lines],
        "original": [translation.source for translation in translations],
        "translation": [translation.text for translation in translations],
        "score": [translation.score for translation in translations],
        "note": [translation.note or "" for translation in translations],
    }
    try:
        with whole_file(out) as file:
            file.write_bytes(write_table(columns, out.suffix.lower().removeprefix(".")))
    except OSError as error:
        raise AtlasError(f"{out}: {error.strerror or error}") from error


def _print(translations: list[Translation], several: bool) -> None:
    """Best translations, a line each; with ``several``, each source with its ranked hypotheses."""
    for translation in translations:
        if not several:
            say(translation.text)
            continue
        say(translation.source)
        for place, hypothesis in enumerate(translation.hypotheses, 1):
            say(f"{place:>4}  {hypothesis.score:9.4f}  {hypothesis.text}")


def run(
    text: Annotated[
        str | None,
        typer.Argument(help="A sentence; or several, one a line; or a file. Otherwise standard input."),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(help="Text, one sentence a line (- is standard input), or .csv .tsv .xlsx .jsonl."),
    ] = None,
    column: Annotated[
        str | None, typer.Option(help="Column of a table.", show_default="the likeliest")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write a .csv .tsv .xlsx .jsonl table.")
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume/--restart", help="Of an --out that was not finished: go on with it, or begin again."
        ),
    ] = True,
    prefix: Annotated[str | None, typer.Option(help="Begin every translation with these words.")] = None,
    checkpoint: options.Checkpoint = None,
    as_json: options.Json = False,
    method: options.MethodOption = Method.beam,
    beam: options.Beam = 5,
    n_best: options.NBest = 1,
    penalty: options.PenaltyOption = Penalty.gnmt,
    alpha: options.Alpha = 0.6,
    stop: options.StopOption = Stop.exact,
    max_length: options.MaxLength = None,
    sample: Annotated[
        bool, typer.Option("--sample", help="Short for --method sample.", rich_help_panel="Sampling")
    ] = False,
    temperature: options.Temperature = 1.0,
    top_k: options.TopK = 0,
    top_p: options.TopP = 1.0,
    seed: options.Seed = 0,
) -> None:
    """Translate a text, a file or standard input, one line out for each line in.

    With --out, what is done is kept in OUT.partial until the table is whole: the same command goes on from
    there after a stop or a crash.
    """
    _check_out(out, resume)
    lines = input_lines(text, file, column)
    settings = search_options(
        method=method,
        beam=beam,
        n_best=n_best,
        penalty=penalty,
        alpha=alpha,
        stop=stop,
        max_length=max_length,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        seed=seed,
    )
    if sample:
        settings = replace(settings, method="sample")
    engine = load_engine(checkpoint)
    start = time.perf_counter()
    if out is not None and not resume:
        partial_file(out).unlink(missing_ok=True)
    translations = _translate(engine, lines, out, options=settings, prefix=prefix)
    seconds = time.perf_counter() - start
    for line, translation in zip(lines, translations, strict=True):
        if translation.note:
            tell(f"line {line.number}: {translation.note}")
    if out is not None:
        _write_table(out, lines, translations)
        partial_file(out).unlink(missing_ok=True)
    if as_json:
        say_json(
            {
                "model": engine.name,
                "source_language": engine.source_language,
                "target_language": engine.target_language,
                "settings": asdict(settings),
                "seconds": seconds,
                "translations": [_as_json(*pair) for pair in zip(lines, translations, strict=True)],
            }
        )
    elif out is None:
        _print(translations, several=n_best > 1)
    else:
        tell(f"{out}: {len(lines)} lines")
