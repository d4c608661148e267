"""BertViz's model view and head view of the same attention, in the same browser.

BertViz (Vig 2019, "A Multiscale Visualization of Attention in the Transformer Model") makes an HTML text that
loads three libraries from a content delivery network. They are answered here from a folder, so nothing leaves
the machine.
"""

from __future__ import annotations

import functools
import http.server
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from atlas.bench.screen_browser import GaveUp, ScreenError, Watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

LIBRARIES: Final[dict[str, str]] = {
    "require.min.js": "requirejs/require.js",
    "d3.min.js": "d3/dist/d3.min.js",
    "jquery.min.js": "jquery/dist/jquery.min.js",
}
"""What the HTML asks for, and where npm puts it under ``node_modules``."""

INSTALL: Final = "npm install --prefix FOLDER requirejs@2.3.6 d3@5.7.0 jquery@2.1.4"

VIEWS: Final[dict[str, tuple[str, str]]] = {"model": ("thumbnails", ""), "head": ("arcs", "visible")}
"""By view: what is waited for after opening it, and after pointing at a word ("" where none is shown yet)."""


@dataclass(frozen=True)
class Shown:
    """One view of one sentence.

    Attributes:
        bytes: of the HTML in UTF-8, the libraries not counted.
        made: seconds that Python took to write it.
        painted: seconds from opening it until it was painted; None where no libraries are here.
        hover: seconds from pointing at a word until its lines are lit; None where there is no such thing.
        trouble: why it was not painted, or "".
    """

    bytes: int
    made: float
    painted: float | None = None
    hover: float | None = None
    trouble: str = ""


def libraries(folder: Path) -> dict[str, Path]:
    """The files of :data:`LIBRARIES` that npm installed under a folder.

    Raises:
        ScreenError: one is not there.
    """
    found = {name: folder / "node_modules" / place for name, place in LIBRARIES.items()}
    for path in found.values():
        if not path.is_file():
            raise ScreenError(f"{path} is not there; {INSTALL.replace('FOLDER', str(folder))}")
    return found


def views() -> Mapping[str, Callable[..., Any]]:
    """BertViz's two views by the names of :data:`VIEWS`.

    Raises:
        ScreenError: BertViz is not installed.
    """
    try:
        from bertviz import head_view, model_view
    except ModuleNotFoundError as error:
        raise ScreenError(f"{error.name} is not installed: pip install 'attention-atlas[bench]'") from error
    return {"model": model_view, "head": head_view}


def written(view: Callable[..., Any], weights: NDArray[np.float32], tokens: Sequence[str]) -> str:
    """The HTML that a view makes of self-attention (L, H, S, S) between S tokens."""
    import torch

    layers = [torch.from_numpy(np.array(layer))[None] for layer in weights]
    page = view(attention=layers, tokens=list(tokens), html_action="return").data
    return f'<!doctype html><html><head><meta charset="utf-8"></head><body>{page}</body></html>'


def show(
    browser: Browser,
    name: str,
    weights: NDArray[np.float32],
    tokens: Sequence[str],
    *,
    scripts: Mapping[str, Path] | None,
    patience: float,
) -> Shown:
    """Write a view of the attention (L, H, S, S), open it, and point at a word where it has any.

    Args:
        browser: that opens it.
        name: of :data:`VIEWS`.
        weights: float32 (L, H, S, S).
        tokens: S labels.
        scripts: see :func:`libraries`; without them it is written only.
        patience: seconds that opening it may take.
    """
    began = time.perf_counter()
    html = written(views()[name], weights, tokens)
    made = time.perf_counter() - began
    size = len(html.encode("utf-8"))
    if scripts is None:
        return Shown(size, made)
    with _at(html) as address:
        watched = Watched(browser, patience)
        try:
            painted = _open(watched, address, name, scripts)
            return Shown(size, made, painted, _hover(watched, name))
        except GaveUp as error:
            return Shown(size, made, trouble=str(error))
        finally:
            watched.close()


def _open(watched: Watched, address: str, name: str, scripts: Mapping[str, Path]) -> float:
    from playwright.sync_api import Error

    def answer(route: Route) -> None:
        wanted = route.request.url.rpartition("/")[2]
        if wanted in scripts:
            route.fulfill(path=scripts[wanted], content_type="text/javascript")
        else:
            route.abort()

    watched.page.route(lambda url: not url.startswith(address.rpartition("/")[0]), answer)
    watched.page.add_init_script(f"measure.sincePageBegan({VIEWS[name][0]!r})")
    try:
        watched.page.goto(address, wait_until="commit")
    except Error as error:
        raise GaveUp(f"gave up after {watched.patience:.0f} s") from error
    return watched.milliseconds() / 1000


def _hover(watched: Watched, name: str) -> float | None:
    wanted = VIEWS[name][1]
    if not wanted:
        return None
    box = watched.page.locator("#vis #left text").nth(2).bounding_box()
    if box is None:
        raise ScreenError("BertViz's head view has no words")
    watched.page.mouse.move(2, 2)
    watched.start("mouseover", wanted)
    watched.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    return watched.milliseconds() / 1000


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def _at(html: str) -> Iterator[str]:
    """The text as a page of a server of its own, because hundreds of megabytes pass no other way."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "view.html").write_text(html, encoding="utf-8")
        handler = functools.partial(_Quiet, directory=folder)
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            try:
                yield f"http://127.0.0.1:{server.server_address[1]}/view.html"
            finally:
                server.shutdown()
