"""Build hook: an installed wheel carries the application and the training configurations inside the package.

In a checkout they live at the top (`app.py`, `pages/`, `.streamlit/`, `configs/`). A wheel has one top-level
folder, `atlas`, so they go under it. An editable install uses the checkout itself and gets no copies, which
would go stale.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLACES = {
    "app.py": "atlas/application/app.py",
    "pages": "atlas/application/pages",
    ".streamlit/config.toml": "atlas/application/.streamlit/config.toml",
    "configs": "atlas/configs",
}


class ApplicationFiles(BuildHookInterface):
    """Adds the files of `PLACES` to a standard wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        for source, place in PLACES.items():
            build_data["force_include"][str(Path(self.root) / source)] = place
