"""Forward pass: from text to the next token, a stage at a time, and round again."""

from __future__ import annotations

from atlas.errors import AtlasError
from atlas.ui.forward.maths import show_maths
from atlas.ui.forward.state import shown_pass
from atlas.ui.forward.stream import show_overview
from atlas.ui.forward.walk import show_stage, show_stepper, show_written
from atlas.ui.page import open_page

page = open_page(
    "forward_pass",
    "Forward pass",
    "From text to the next token, a stage at a time. Walk with the arrow keys, then go round again.",
    needs="model",
)
try:
    shown = shown_pass(page)
    show_written(shown)
    show_stepper(shown)
    show_stage(shown)
    show_overview(shown)
    show_maths(shown)
except AtlasError as error:
    page.stop(error)
