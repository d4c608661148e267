"""``streamlit`` with a line in its log for each engine that the app loads, and a load that takes a second."""

import sys
import time
from pathlib import Path

from streamlit.web.cli import main

from atlas.engine import Engine
from atlas.ui import models


class CountingEngine(Engine):
    @classmethod
    def load(cls, path: str | Path, device: str | None = None) -> Engine:
        time.sleep(1)
        sys.stderr.write("engine loaded\n")
        return Engine.load(path, device)


if __name__ == "__main__":
    models.Engine = CountingEngine
    main()
