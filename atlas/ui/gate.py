"""One at a time, in order of arrival, with a bounded queue that nobody can fill alone."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from atlas import limits
from atlas.errors import AtlasError


class NoTurn(AtlasError):
    """A caller is not let in: too many wait, it has too much at work, it waited too long, or it went away."""


@dataclass(eq=False)
class _Place:
    """A place in the queue; ``turn`` is set when it is this caller's turn."""

    visitor: Hashable
    turn: threading.Event = field(default_factory=threading.Event)


class Gate:
    """Lets one caller in at a time, first come first served.

    ``threading.Semaphore`` promises no order: the translation of a long file, which leaves and asks again
    within microseconds, would keep everyone else waiting until its end.

    Args:
        present: whether a visitor is still there. One that was away for ``grace`` seconds loses its place.
        poll: seconds between two looks at who is still there.
        grace: seconds that a visitor may be away, as when a page is loaded again.
    """

    def __init__(
        self,
        present: Callable[[Hashable], bool] = lambda visitor: True,
        *,
        poll: float = 1.0,
        grace: float = 10.0,
    ) -> None:
        self._present = present
        self._poll = poll
        self._grace = grace
        self._lock = threading.Lock()
        self._waiting: deque[_Place] = deque()
        self._requests: Counter[Hashable] = Counter()
        self._busy = False

    @property
    def waiting(self) -> int:
        """How many callers wait now."""
        return len(self._waiting)

    @contextmanager
    def turn(self, visitor: Hashable = None, *, patient: bool = False) -> Iterator[None]:
        """Wait for one's turn; the block is run alone.

        Args:
            visitor: who asks; None for one of our own, whose requests are not counted.
            patient: for work in the background, which is bounded and watched by whoever started it: it waits
                as long as it takes and is never sent away.

        Raises:
            NoTurn: one of ``limits.WORK``, ``limits.QUEUE`` and ``limits.WAIT`` is reached, or the visitor
                went away.
        """
        place = self._arrive(visitor, patient)
        try:
            if place is not None:
                self._wait(place, patient)
            try:
                yield
            finally:
                with self._lock:
                    self._pass_on()
        finally:
            with self._lock:
                self._requests[visitor] -= 1
                if not self._requests[visitor]:
                    del self._requests[visitor]

    def _arrive(self, visitor: Hashable, patient: bool) -> _Place | None:
        """A place in the queue; None where nobody is at work."""
        with self._lock:
            if visitor is not None and not patient and self._requests[visitor] >= limits.WORK.value:
                raise NoTurn(
                    f"this tab already has {limits.WORK.shown} at work or waiting for this model, the limit; "
                    f"wait until one is done"
                )
            if self._busy and not patient and len(self._waiting) >= limits.QUEUE.value:
                raise NoTurn(
                    f"the model is busy: {limits.QUEUE.shown} wait for it, the limit; try again in a moment"
                )
            self._requests[visitor] += 1
            if not self._busy:
                self._busy = True
                return None
            self._waiting.append(_Place(visitor))
            return self._waiting[-1]

    def _wait(self, place: _Place, patient: bool) -> None:
        arrived = seen = time.monotonic()
        try:
            while not place.turn.wait(self._poll):
                now = time.monotonic()
                if patient or place.visitor is None or self._present(place.visitor):
                    seen = now
                if now - seen >= self._grace:
                    raise NoTurn("the visitor went away")
                if not patient and now - arrived >= limits.WAIT.value:
                    raise NoTurn(
                        f"the model was busy for {limits.WAIT.shown}, the limit; try again in a moment"
                    )
        except BaseException:
            with self._lock:
                if place in self._waiting:
                    self._waiting.remove(place)
                else:
                    self._pass_on()
            raise

    def _pass_on(self) -> None:
        if self._waiting:
            self._waiting.popleft().turn.set()
        else:
            self._busy = False
