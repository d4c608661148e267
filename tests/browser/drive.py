"""Driving the app as a process of its own, and a visitor's browser that is watched."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlparse

import pytest
from playwright.sync_api import Page, Request, WebSocket
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect
from websockets.typing import Subprotocol

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
QUIET_MS = 500
PATIENCE_MS = 60_000


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running_server(
    bundles: Path, log: Path, streamlit: tuple[str, ...] = ("-m", "streamlit")
) -> Iterator[str]:
    """The app as a process of its own, cold; yields its address and ends it by its process id.

    Args:
        bundles: a bundle, or a folder of bundles.
        log: what the server writes goes there.
        streamlit: what Python runs; a module or a script that takes the arguments of ``streamlit``.
    """
    port = free_port()
    command = [sys.executable, *streamlit, "run", str(ROOT / "app.py"), "--server.port", str(port)]
    command += ["--server.headless", "true", "--server.address", "127.0.0.1"]
    environment = os.environ | {
        "ATLAS_CHECKPOINTS": str(bundles),
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(ROOT),
    }
    with log.open("w") as output:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=output)
        try:
            wait_until_healthy(f"http://127.0.0.1:{port}", process, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(10)


def wait_until_healthy(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Return when the server answers; fail with its log when it ends or takes over 90 seconds."""
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    pytest.fail(f"the server did not start:\n{log.read_text()}")


def run_session(address: str, page: str) -> str:
    """What a tab does without drawing: one session over a web socket, until its script has finished.

    Returns:
        The HTML elements that the page sent, joined.
    """
    url = address.replace("http", "ws", 1) + "/_stcore/stream"
    parts: list[str] = []
    with connect(url, subprotocols=[Subprotocol("streamlit")], max_size=None) as tab:
        start = BackMsg()
        start.rerun_script.page_name = page
        tab.send(start.SerializeToString())
        while True:
            message = ForwardMsg()
            message.ParseFromString(tab.recv(timeout=PATIENCE_MS / 1000))
            if message.WhichOneof("type") == "delta":
                parts.append(message.delta.new_element.html.body)
            elif message.WhichOneof("type") == "script_finished":
                return "".join(parts)


class Visit:
    """A visitor: a page of a browser context of its own, watched.

    Attributes:
        page: the Playwright page.
        sent: how many messages the browser sent to the server over its web socket.
        outside: requests that tried to leave the machine.
        errors: uncaught errors of scripts in the page, and dialogs that opened.
        violations: what the content security policy refused.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.sent = 0
        self.outside: list[str] = []
        self.errors: list[str] = []
        self.violations: list[str] = []
        page.set_default_timeout(PATIENCE_MS)
        page.on("request", self._watch)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("dialog", lambda dialog: (self.errors.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("websocket", self._listen)
        page.on("console", lambda message: self._note_violation(message.text))

    def _watch(self, request: Request) -> None:
        if urlparse(request.url).hostname not in (None, "127.0.0.1", "localhost"):
            self.outside.append(request.url)

    def _note_violation(self, text: str) -> None:
        if "Content Security Policy" in text:
            self.violations.append(text)

    def _listen(self, socket: WebSocket) -> None:
        def count(_: object) -> None:
            self.sent += 1

        socket.on("framesent", count)

    def wait(self) -> Page:
        """Wait until no script runs and the page has stopped changing."""
        page = self.page
        page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')
        size, since = -1, time.monotonic()
        deadline = since + PATIENCE_MS / 1000
        busy = '[data-testid="stSkeleton"], [data-test-script-state="running"]'
        while time.monotonic() < deadline:
            now = page.evaluate("document.body.innerHTML.length")
            if now != size or page.locator(busy).count():
                size, since = now, time.monotonic()
            elif time.monotonic() - since > QUIET_MS / 1000:
                return page
            page.wait_for_timeout(50)
        raise AssertionError("the page never came to rest")

    def no_trouble(self) -> None:
        """No error box, no script error, nothing left the machine, nothing against the security policy."""
        boxes = self.page.locator('[data-testid="stException"], [role="dialog"]:has-text("Page not found")')
        assert [box.inner_text() for box in boxes.all()] == []
        assert self.errors == []
        assert self.outside == []
        assert self.violations == []
