"""``atlas trace``: keep a whole translation, every head and every candidate, in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from atlas.commands import options
from atlas.commands.options import Method, Penalty, Stop, load_engine, search_options
from atlas.commands.output import say, say_json
from atlas.errors import AtlasError


def run(
    text: Annotated[str, typer.Argument(help="The sentence.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="File to write; the application opens it without the model.")
    ],
    target: Annotated[str | None, typer.Option(help="Follow this translation instead of searching.")] = None,
    prefix: Annotated[str | None, typer.Option(help="Begin the translation with these words.")] = None,
    record: Annotated[
        list[str] | None,
        typer.Option(
            help="More to keep than weights: scores, q, k, v, residual, logits; may be repeated.",
            show_default="scores",
        ),
    ] = None,
    checkpoint: options.Checkpoint = None,
    as_json: options.Json = False,
    method: options.MethodOption = Method.beam,
    beam: options.Beam = 5,
    n_best: options.NBest = 1,
    penalty: options.PenaltyOption = Penalty.gnmt,
    alpha: options.Alpha = 0.6,
    stop: options.StopOption = Stop.exact,
    max_length: options.MaxLength = None,
    temperature: options.Temperature = 1.0,
    top_k: options.TopK = 0,
    top_p: options.TopP = 1.0,
    seed: options.Seed = 0,
) -> None:
    """Translate one sentence and save its trace: attention of every layer and head, and the whole search."""
    if target is not None and prefix is not None:
        raise AtlasError("give --target or --prefix, not both")
    if not out.absolute().parent.is_dir():
        raise AtlasError(f"{out}: the folder {out.absolute().parent} does not exist")
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
    engine = load_engine(checkpoint)
    trace = engine.trace(
        text, options=settings, target=target, prefix=prefix, record=tuple(record or ("scores",))
    )
    try:
        trace.save(out)
    except OSError as error:
        raise AtlasError(f"{out}: {error.strerror or error}") from error
    best = int(trace.hypotheses[0])
    summary: dict[str, Any] = {
        "file": str(out),
        "bytes": out.stat().st_size,
        "model": trace.header.model_name,
        "source": trace.source,
        "translation": trace.text(best),
        "score": float(trace.search.score[best]),
        "source_tokens": len(trace.source_tokens),
        "nodes": len(trace.search.parent),
        "hypotheses": len(trace.hypotheses),
        "rows_kept": trace.rows_kept,
        "extras": sorted(trace.extras),
    }
    if as_json:
        say_json(summary)
    else:
        say(summary["translation"])
        say(
            f"{out}: {summary['bytes'] / 1e6:.2f} MB, {summary['nodes']} nodes of the search, "
            f"{summary['hypotheses']} hypotheses"
        )
