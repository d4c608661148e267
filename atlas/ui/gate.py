"""A semaphore of one that serves in order of arrival."""

from __future__ import annotations

import threading
from collections import deque


class Gate:
    """Lets one caller in at a time, first come first served.

    ``threading.Semaphore`` promises no order: the translation of a long file, which leaves and asks again
    within microseconds, would keep everyone else waiting until its end.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[threading.Event] = deque()
        self._busy = False

    def __enter__(self) -> None:
        with self._lock:
            if not self._busy:
                self._busy = True
                return
            turn = threading.Event()
            self._waiting.append(turn)
        turn.wait()

    def __exit__(self, *_: object) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._busy = False
