"""The app, with a line in the server's log for each engine that is loaded, and a load that takes a second."""

import sys
import time
from pathlib import Path

from atlas.engine import Engine
from atlas.ui import models


class CountingEngine(Engine):
    @classmethod
    def load(cls, path: str | Path, device: str | None = None) -> Engine:
        time.sleep(1)
        sys.stderr.write("engine loaded\n")
        return Engine.load(path, device)


models.Engine = CountingEngine
