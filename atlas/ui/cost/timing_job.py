"""Timing in the background: a thread that takes the model for short slices, can be watched and stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from atlas.errors import AtlasError

SLICE_SECONDS = 0.25


class Timed(Protocol):
    """Work that is done in slices."""

    @property
    def done(self) -> int:
        """Steps finished."""

    @property
    def total(self) -> int:
        """Steps in all."""

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to do."""


class TimingJob:
    """Runs slices of work until it is finished, stopped, or nobody is there any more.

    Args:
        work: what is being done.
        advance: does one slice; called from the thread, and takes the model for itself meanwhile.
        wanted: whether anyone still looks at it.
    """

    def __init__(
        self, work: Timed, advance: Callable[[], None], wanted: Callable[[], bool] = lambda: True
    ) -> None:
        self._work = work
        self._advance = advance
        self._wanted = wanted
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="atlas-timing", daemon=True)
        self.error: str | None = None

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End after the slice that is at work; what was timed stays."""
        self._stop.set()

    def join(self, timeout: float | None = None) -> None:
        """Wait for the end, at most ``timeout`` seconds."""
        self._thread.join(timeout)

    @property
    def running(self) -> bool:
        """Whether it is at work."""
        return self._thread.is_alive()

    @property
    def stopped(self) -> bool:
        """Whether it was told to stop."""
        return self._stop.is_set()

    @property
    def done(self) -> int:
        """Steps finished."""
        return self._work.done

    @property
    def share(self) -> float:
        """How much of it is done, from 0 to 1."""
        return self._work.done / self._work.total

    def _run(self) -> None:
        try:
            while not self._work.finished and not self._stop.is_set() and self._wanted():
                self._advance()
        except AtlasError as error:
            self.error = str(error)
        except Exception as error:  # noqa: BLE001  # a thread has no caller: the page shows it
            self.error = f"{type(error).__name__}: {error}"
            raise
