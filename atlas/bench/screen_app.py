"""What a visitor of the application waits for, measured in a real browser on a real server."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

from atlas.bench.screen_browser import GaveUp, ScreenError, Watched
from atlas.bundles import ENVIRONMENT

ACTIONS: Final[dict[str, str]] = {
    "translate": "Translate pressed, the model runs: all heads",
    "again": "Translate pressed, translated before: all heads",
    "head": "a head clicked: its heatmap and lines",
    "hover": "a word pointed at: its lines lit",
    "page": "Beam search clicked: the tree",
}
"""What is measured, in the words of the report; each ends with what has been painted."""

_START_S = 120


@contextmanager
def served(bundle: Path) -> Iterator[str]:
    """The application on a bundle, as a process of its own; yields its address.

    Raises:
        ScreenError: it ended, or did not answer.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [sys.executable, "-m", "atlas.cli", "app", "--headless", "--port", str(port)]
    environment = os.environ | {ENVIRONMENT: str(bundle)}
    with tempfile.TemporaryFile() as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            _wait(server, port)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _wait(server: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise ScreenError(f"the application ended with {server.returncode}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise ScreenError(f"the application did not answer within {_START_S} s")


class Visitor:
    """One visitor of the Attention page who does each of :data:`ACTIONS`.

    Attributes:
        known: the sentence of the first page, which stays translated.
    """

    def __init__(self, watched: Watched, address: str, known: str) -> None:
        """Open the page on a sentence and wait until it rests."""
        self.known = known
        self._tab = watched
        self._page = watched.page
        self._turn = 0
        self._page.goto(f"{address}/attention?{urlencode({'text': known})}")
        self._page.locator(".mosaic .option").first.wait_for()
        watched.rest()

    def round(self, sentence: str) -> dict[str, tuple[float, int]]:
        """Each action once.

        Args:
            sentence: as long as the known one, and never seen by the server.

        Returns:
            by action: seconds, and bytes that came over the web socket until the page rested.
        """
        self._turn += 1
        found = {
            "translate": self._action("translate", "click", "heads", lambda: self._translate(sentence)),
            "again": self._action("again", "click", "heads", lambda: self._translate(self.known)),
            "head": self._action("head", "click", "head", self._choose),
            "hover": self._hover(),
            "page": self._action("page", "click", "search", lambda: self._go("Beam search")),
        }
        self._go("Attention")
        self._page.locator(".mosaic .option").first.wait_for()
        self._tab.rest()
        return found

    def _action(self, name: str, kind: str, wanted: str, do: Callable[[], None]) -> tuple[float, int]:
        before = self._tab.received
        self._tab.start(kind, wanted)
        do()
        try:
            seconds = self._tab.milliseconds() / 1000
        except GaveUp as error:
            raise ScreenError(f"{ACTIONS[name]}: {error}") from error
        self._tab.rest()
        return seconds, self._tab.received - before

    def _translate(self, sentence: str) -> None:
        """Type it and press the button. The box tells the server when it is left, so both are one event."""
        self._page.get_by_role("textbox", name="Sentence").fill(sentence)
        self._page.get_by_role("button", name="Translate", exact=True).click()

    def _choose(self) -> None:
        layer, head = self._turn % 2, 1 + self._turn % 3
        self._page.locator(f"#tile-{layer}-{head}").click()

    def _hover(self) -> tuple[float, int]:
        word = self._page.locator(".lines .word.query").nth(2)
        word.scroll_into_view_if_needed()
        self._page.mouse.move(2, 2)
        self._page.wait_for_timeout(200)
        found = self._action("hover", "pointerover", "lit", lambda: self._over(word.bounding_box()))
        self._page.mouse.move(2, 2)
        return found

    def _over(self, box: object) -> None:
        if not isinstance(box, dict):
            raise ScreenError("a word of the lines is not on the page")
        self._page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

    def _go(self, title: str) -> None:
        self._page.get_by_test_id("stSidebarNavLink").filter(has_text=title).click()
