"""Build hook: an installed wheel carries the Streamlit application next to the package.

In a checkout the application lives at the top (`app.py`, `pages/`, `configs/`, `.streamlit/`), where
Streamlit looks for it. A wheel has one top-level folder, `atlas`, so the same files go under it; the
application into a folder of its own, because Streamlit puts that folder on `sys.path`, where `atlas/trace`
would hide the standard library's `trace`. An editable install uses the checkout itself and gets no copies,
which would go stale.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

APPLICATION = {
    "app.py": "application/app.py",
    "pages": "application/pages",
    ".streamlit/config.toml": "application/.streamlit/config.toml",
    "configs": "configs",
}


class ApplicationFiles(BuildHookInterface):
    """Adds the application and the training configurations to a standard wheel, under `atlas/`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        for name, place in APPLICATION.items():
            build_data["force_include"][str(Path(self.root) / name)] = f"atlas/{place}"
