"""Runs a Python program and tells on it: what it writes, whom it calls, what it starts and unpickles.

    python tests/watched.py LOG -m atlas translate "I love you."
    python tests/watched.py LOG script.py argument

One JSON list a line goes to LOG: what happened, and to what.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from typing import Any

CHANGES = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate")
CALLS = ("socket.connect", "socket.sendto", "socket.getaddrinfo")
STARTS = ("subprocess.Popen", "os.system", "os.posix_spawn", "os.exec")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC


def watch(log: str) -> None:
    """Write down from now on, in every thread, what this process does to the world."""
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = args
            by_mode = isinstance(mode, str) and any(sign in mode for sign in "wax+")
            by_flags = isinstance(flags, int) and flags & _WRITING
            if isinstance(path, str | bytes) and (by_mode or by_flags):
                os.write(file, (json.dumps(["write", os.path.abspath(os.fsdecode(path))]) + "\n").encode())
        elif event in CHANGES:
            path = args[1] if event in ("os.rename", "os.link", "os.symlink") else args[0]
            os.write(file, (json.dumps(["write", os.path.abspath(os.fsdecode(path))]) + "\n").encode())
        elif event in (*CALLS, *STARTS, "pickle.find_class"):
            os.write(file, (json.dumps([event, str(args)[:300]]) + "\n").encode())

    sys.addaudithook(note)


if __name__ == "__main__":
    watch(sys.argv[1])
    sys.argv = sys.argv[2:]
    if sys.argv[0] == "-m":
        sys.argv = sys.argv[1:]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(sys.argv[0], run_name="__main__")
