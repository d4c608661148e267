"""Opening every stop of a tour as the app would, to find what only the model and its trace can tell: a layer
that it lacks, a node of another search, a page that stops with a line."""

from __future__ import annotations

import html
import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from atlas.ui.talk.library import ENVIRONMENT, load_tour, tour_name
from atlas.ui.talk.tour import Stop

_ALERT: Final = re.compile(r'<div role="alert"[^>]*>(.*?)</div>', re.DOTALL)
_PATIENCE: Final = 600.0  # seconds for one stop: a large model on a slow machine


def rehearse(path: Path, application: Path) -> Iterator[tuple[Stop, list[str]]]:
    """Open the stops one after another, each as its first visitor does.

    Args:
        path: of the tour.
        application: ``app.py``.

    Yields:
        A stop, and what its page complains about, a line each.

    Raises:
        AtlasError: the file is no tour.
    """
    from streamlit.testing.v1 import AppTest

    tour, name = load_tour(path.resolve()), tour_name(path)
    with _offered(path.resolve()):
        for number, stop in enumerate(tour.stops, 1):
            visit = AppTest.from_file(str(application), default_timeout=_PATIENCE)
            visit.query_params.update({"talk": "1", "tour": name, "stop": str(number)})
            visit.run()
            shown = "\n".join(element.proto.body for element in visit.get("html"))
            complaints = [html.unescape(text) for text in _ALERT.findall(shown)]
            yield stop, [*complaints, *(error.message for error in visit.exception)]


@contextmanager
def _offered(path: Path) -> Iterator[None]:
    """The tour is one of those that the app finds; Streamlit does not remark that no browser is there."""
    before, disabled = os.environ.get(ENVIRONMENT), logging.root.manager.disable
    os.environ[ENVIRONMENT] = str(path)
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(disabled)
        if before is None:
            del os.environ[ENVIRONMENT]
        else:
            os.environ[ENVIRONMENT] = before
