"""How a trace shows itself in a notebook.

The trace stands at the bottom of the house and knows no picture, and must not: it is what other projects
import with NumPy alone. So the viewer is looked up by its name at the moment a notebook asks, as a plug-in
would be; where Plotly, which the viewer needs, is not installed, the notebook writes the trace as text.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

VIEWER: Final = "atlas.figures.notebook"
"""The module whose ``trace_html`` draws a trace."""


def trace_html(trace: Any) -> str | None:
    """The trace as HTML, or None where nothing here can draw it."""
    if find_spec("plotly") is None:
        return None
    html: str = import_module(VIEWER).trace_html(trace)
    return html
