"""``atlas export``: a saved trace as one page that opens anywhere, without a network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from atlas.commands import options
from atlas.commands.output import say, say_json
from atlas.errors import AtlasError
from atlas.whole import whole_file


def run(
    trace: Annotated[Path, typer.Argument(help="A file written by `atlas trace` or downloaded in the app.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Page to write (.html); one of that name is replaced.")
    ],
    heatmap: Annotated[
        bool,
        typer.Option(
            "--heatmap/--no-heatmap", help="Carry plotly.js, 2 MB, which draws a head as a heatmap."
        ),
    ] = True,
    as_json: options.Json = False,
) -> None:
    """Write a trace as one self-contained page: heads, lines, heatmap and search tree, no network needed."""
    if not out.absolute().parent.is_dir():
        raise AtlasError(f"{out}: the folder {out.absolute().parent} does not exist")

    from atlas.figures.page.document import trace_page
    from atlas.trace import Trace

    try:
        page = trace_page(Trace.load(trace), heatmap=heatmap).encode("utf-8", "backslashreplace")
    except AtlasError as error:
        raise AtlasError(f"{trace}: {error}") from error
    except OSError as error:
        raise AtlasError(f"{trace}: {error.strerror or error}") from error
    try:
        with whole_file(out) as partial:
            partial.write_bytes(page)
    except OSError as error:
        raise AtlasError(f"{out}: {error.strerror or error}") from error
    if as_json:
        say_json({"file": str(out), "bytes": len(page), "trace": str(trace)})
    else:
        say(f"{out}: {len(page) / 1e6:.2f} MB")
