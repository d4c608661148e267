"""A watched browser: one headless Chromium, pages with a clock in them, and the bytes that reach them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from atlas.errors import AtlasError

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, WebSocket

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
_FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync")
_QUIET = ("--disable-background-networking", "--disable-component-update")
_WATCH = resources.files(__package__).joinpath("screen_watch.js")


class ScreenError(AtlasError):
    """What the screen cannot be measured with: no browser, no peer, a page that failed."""


class GaveUp(ScreenError):
    """Nothing was painted within the time that a measurement may take."""


@contextmanager
def browser() -> Iterator[Browser]:
    """Headless Chromium.

    Raises:
        ScreenError: Playwright or Chromium is not here.
    """
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError as error:
        raise ScreenError(f"{error.name} is not installed: pip install 'attention-atlas[bench]'") from error
    if not Path(CHROMIUM).is_file():
        raise ScreenError(f"no browser at {CHROMIUM}: install Chromium, or name one in CHROMIUM")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=[*_FLAGS, *_QUIET])
        try:
            yield opened
        finally:
            opened.close()


class Watched:
    """A page of a visitor of its own, 1366 × 900.

    Attributes:
        page: the Playwright page.
        received: bytes that came over its web sockets, header bytes not counted.
    """

    def __init__(self, browser: Browser, patience: float) -> None:
        """Open an empty page; nothing on it may take more than ``patience`` seconds."""
        self.patience = patience
        # The application's security policy lets no text run as a script, which waiting for a condition needs.
        context = browser.new_context(viewport={"width": 1366, "height": 900}, bypass_csp=True)
        self.page: Page = context.new_page()
        self.page.set_default_timeout(patience * 1000)
        self.page.add_init_script(_WATCH.read_text(encoding="utf-8"))
        self.received = 0
        self._crashed = False
        self.page.on("websocket", self._listen)
        self.page.on("crash", lambda _: setattr(self, "_crashed", True))

    def _listen(self, socket: WebSocket) -> None:
        def count(frame: str | bytes) -> None:
            self.received += len(frame)

        socket.on("framereceived", count)

    def start(self, kind: str, wanted: str) -> None:
        """Start the clock with the next event of a kind (see ``screen_watch.js``)."""
        self.page.evaluate("([kind, wanted]) => measure.start(kind, wanted)", [kind, wanted])

    def milliseconds(self) -> float:
        """Wait until the wanted change has been painted, and say how long it took.

        Raises:
            GaveUp: it was not, within the patience.
        """
        from playwright.sync_api import Error, TimeoutError

        try:
            self.page.wait_for_function("measure.milliseconds !== null", polling=50)
            return float(self.page.evaluate("measure.milliseconds"))
        except TimeoutError as error:
            raise GaveUp(f"gave up after {self.patience:.0f} s") from error
        except Error as error:
            if self._crashed:
                raise GaveUp("the browser ended the page, which is out of memory") from error
            raise ScreenError(f"the page failed: {error.message.splitlines()[0]}") from error

    def rest(self) -> None:
        """Wait until no script of the app runs and nothing has arrived for a third of a second."""
        self.page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')
        seen = -1
        while seen != self.received:
            seen = self.received
            self.page.wait_for_timeout(350)

    def close(self) -> None:
        """Forget the visitor."""
        self.page.context.close()
