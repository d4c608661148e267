"""A real server and a real browser. Every visit asserts that no request left the machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.browser.drive import CHROMIUM, FLAGS, PATIENCE_MS, Visit, running_server

expect.set_options(timeout=PATIENCE_MS)

Visitor = Callable[..., Visit]
Serve = Callable[[Path], str]
OpenPage = Callable[..., Page]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder drives a browser."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One headless Chromium for all tests; each visit has a context of its own."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def server(tiny_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of one server on the tiny bundle, for all tests that need no cold one."""
    with running_server(tiny_bundle, tmp_path_factory.mktemp("server") / "log.txt") as address:
        yield address


@pytest.fixture(scope="module")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """Starts a fresh server on a folder of bundles and gives its address; it ends with the test module."""
    with ExitStack() as running:

        def start(bundles: Path) -> str:
            log = tmp_path_factory.mktemp("server") / "log.txt"
            return running.enter_context(running_server(bundles, log))

        yield start


def new_context(chromium: Browser, *, dark: bool, width: int = 1366) -> BrowserContext:
    """A browser that nobody has used before."""
    return chromium.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if dark else "light",
        accept_downloads=True,
    )


@pytest.fixture
def visitor(chromium: Browser, server: str) -> Iterator[Visitor]:
    """Opens ``/path?query`` as a new visitor; at the end no visitor may have had any trouble."""
    visits: list[Visit] = []

    def open_page(
        path: str = "", *, at: str = "", dark: bool = False, width: int = 1366, **query: str
    ) -> Visit:
        visit = Visit(new_context(chromium, dark=dark, width=width).new_page())
        visits.append(visit)
        visit.page.goto(f"{at or server}/{path}" + (f"?{urlencode(query)}" if query else ""))
        visit.wait()
        return visit

    yield open_page
    for visit in visits:
        visit.no_trouble()
        visit.page.context.close()


@pytest.fixture
def visit(chromium: Browser) -> Iterator[OpenPage]:
    """Opens a whole address as a new visitor, gives the page, and sees that no request left the machine."""
    visits: list[Visit] = []

    def open_page(url: str, *, dark: bool = False) -> Page:
        visits.append(Visit(new_context(chromium, dark=dark).new_page()))
        visits[-1].page.goto(url)
        return visits[-1].page

    yield open_page
    for one in visits:
        assert one.outside == []
        assert one.violations == []
        one.page.context.close()
