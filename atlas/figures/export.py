"""Take a picture away as PNG or SVG. (Its numbers: :meth:`atlas.trace.views.View.to_csv` and ``to_json``.)

Pictures are rendered by kaleido (the ``export`` extra), which drives a Chromium that it finds on the machine;
without either, :class:`ExportError` says so in one line. No picture is fetched or sent anywhere: mathematics
in labels is switched off, since the library that draws it would be downloaded.

An SVG holds no pixels: text is text, and the cells of heatmaps are paths (:mod:`atlas.figures.vector`), up to
:data:`atlas.figures.vector.MOST` of them.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

import plotly.graph_objects as go

from atlas.errors import AtlasError
from atlas.figures import style
from atlas.figures.vector import with_cells, without_pixels

FORMATS: Final[dict[str, str]] = {"png": "image/png", "svg": "image/svg+xml"}
"""Picture formats and their media types."""


class ExportError(AtlasError):
    """A picture could not be made; the message is one line that says what is missing."""


def picture_trouble() -> str | None:
    """What is missing to make pictures on this machine, as one line; None when nothing is."""
    if find_spec("kaleido") is None:
        return 'PNG and SVG need the export extra: pip install "attention-atlas[export]"'
    from choreographer.browsers.chromium import Chromium

    if Chromium.find_browser(skip_local=False) is None:
        return "PNG and SVG need Chrome or Chromium on this machine, and none was found"
    return None


def picture(
    figure: go.Figure, form: str, *, width: int = 1000, scale: float = 2.0, dark: bool = False
) -> bytes:
    """Render a figure as it would look on a page, on an opaque background.

    Args:
        figure: not changed.
        form: a key of :data:`FORMATS`.
        width: pixels, for a figure that has no width of its own; the height is the figure's.
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
    trouble = picture_trouble()
    if trouble:
        raise ExportError(trouble)
    import kaleido
    from kaleido.errors import BrowserClosedError, BrowserFailedError, ChromeNotFoundError, KaleidoError

    sheet = _sheet(figure, dark)
    vectors = with_cells(sheet, style.background(dark)) if form == "svg" else None
    height = int(sheet.layout.height or 500)
    try:
        drawn = bytes(
            kaleido.calc_fig_sync(
                (vectors or sheet).to_dict(),
                opts={
                    "format": form,
                    "width": int(sheet.layout.width or width),
                    "height": height,
                    "scale": scale if form == "png" else 1,
                },
                kopts={"mathjax": False},
            )
        )
    except (ChromeNotFoundError, BrowserFailedError, BrowserClosedError, KaleidoError, TimeoutError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ExportError(
            f"the browser that draws PNG and SVG failed: {reason or type(error).__name__}"
        ) from error
    return drawn if vectors is None else without_pixels(drawn)


def _sheet(figure: go.Figure, dark: bool) -> go.Figure:
    """A copy on an opaque background, with grid lines that show on it as on a page."""
    sheet = go.Figure(figure)
    sheet.update_layout(
        template="plotly_dark" if dark else "plotly_white",
        paper_bgcolor=style.background(dark),
        plot_bgcolor=style.background(dark),
    )
    sheet.layout.updatemenus, sheet.layout.sliders = (), ()  # nothing on paper can be pressed
    return sheet
