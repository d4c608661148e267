"""Take a picture or its numbers away: CSV, JSON, PNG, SVG.

Pictures are rendered by kaleido (the ``export`` extra), which drives a Chromium that it finds on the machine;
without either, :class:`ExportError` says so in one line. No picture is fetched or sent anywhere: mathematics
in labels is switched off, since the library that draws it would be downloaded.
"""

from __future__ import annotations

import csv
import io
import json
import math
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go

from atlas.errors import AtlasError
from atlas.figures import style
from atlas.figures.heatmap import HeadMap

FORMATS: Final[dict[str, str]] = {"png": "image/png", "svg": "image/svg+xml"}
"""Picture formats and their media types."""


class ExportError(AtlasError):
    """A picture could not be made; the message is one line that says what is missing."""


def _number(value: float) -> float | None:
    """A float that JSON can hold: infinities and NaN have no JSON form and become null."""
    return float(value) if math.isfinite(value) else None


def head_csv(head: HeadMap) -> bytes:
    """The numbers of one head, one line a (query, key) pair.

    Columns: ``query_index``, ``query``, ``key_index``, ``key``, ``weight``, ``score`` (empty where there is
    none), ``rank``. Indices count from 0. Nine significant digits carry a float32 exactly. UTF-8 with a
    byte-order mark, so that spreadsheets read accents right.
    """
    ranks = head.ranks
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["query_index", "query", "key_index", "key", "weight", "score", "rank"])
    for row, query in enumerate(head.queries):
        for column, key in enumerate(head.keys):
            weight = float(head.weights[row, column])
            score = "" if head.scores is None else f"{float(head.scores[row, column]):.9g}"
            shown = "" if math.isnan(weight) else f"{weight:.9g}"
            writer.writerow([row, query, column, key, shown, score, int(ranks[row, column])])
    return text.getvalue().encode("utf-8-sig")


def head_json(head: HeadMap, **about: Any) -> bytes:
    """The numbers of one head as one JSON object.

    Args:
        head: the (Q, K) weights with labels.
        about: further fields put first, such as sentence, model and settings; JSON-able.

    Returns:
        UTF-8 JSON with ``kind``, ``name``, ``rows``, ``queries``, ``keys``, ``weights`` (Q lists of K, null
        in an empty row) and ``scores`` (null where masked) or null.
    """
    scores = None if head.scores is None else [[_number(value) for value in row] for row in head.scores]
    content = about | {
        "kind": head.kind,
        "name": head.name,
        "rows": head.rows,
        "queries": list(head.queries),
        "keys": list(head.keys),
        "weights": [[_number(value) for value in row] for row in np.asarray(head.weights, dtype=float)],
        "scores": scores,
    }
    return json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False).encode()


def picture(
    figure: go.Figure, form: str, *, width: int = 1000, scale: float = 2.0, dark: bool = False
) -> bytes:
    """Render a figure as it would look on a page, on an opaque background.

    Args:
        figure: not changed.
        form: a key of :data:`FORMATS`.
        width: pixels; the height is the figure's own.
        scale: pixels of the PNG for each pixel of the page.
        dark: whether the figure was made for a dark page.

    Returns:
        The file's bytes. The first picture of a process takes some seconds: a browser is started.

    Raises:
        ExportError: no kaleido, no browser, or the browser failed.
        ValueError: a format that does not exist.
    """
    if form not in FORMATS:
        raise ValueError(f"a picture is one of {', '.join(FORMATS)}, not {form!r}")
    try:
        import kaleido
        from kaleido.errors import BrowserClosedError, BrowserFailedError, ChromeNotFoundError, KaleidoError
    except ImportError:
        raise ExportError(
            'PNG and SVG need the export extra: pip install "attention-atlas[export]"'
        ) from None
    sheet = go.Figure(figure)
    sheet.update_layout(paper_bgcolor=style.background(dark), plot_bgcolor=style.background(dark))
    height = int(sheet.layout.height or 500)
    try:
        return bytes(
            kaleido.calc_fig_sync(
                sheet.to_dict(),
                opts={"format": form, "width": width, "height": height, "scale": scale},
                kopts={"mathjax": False},
            )
        )
    except ChromeNotFoundError:
        raise ExportError("PNG and SVG need Chrome or Chromium on this machine, and none was found") from None
    except (BrowserFailedError, BrowserClosedError, KaleidoError, TimeoutError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ExportError(
            f"the browser that draws PNG and SVG failed: {reason or type(error).__name__}"
        ) from error
