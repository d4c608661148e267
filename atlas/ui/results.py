"""A cache of results that every session shares, bounded by bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Future
from dataclasses import fields, is_dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from atlas.ui.gate import NoTurn

T = TypeVar("T")
_SMALL = 64
"""Bytes that anything is counted for, so that many small results are bounded too."""


def held_bytes(result: Any) -> int:
    """About how many bytes a result holds: the arrays and texts in it, through containers and dataclasses."""
    if isinstance(result, np.ndarray):
        return _SMALL + int(result.nbytes)
    if isinstance(result, str | bytes):
        return _SMALL + len(result)
    if is_dataclass(result) and not isinstance(result, type):
        return _SMALL + sum(held_bytes(getattr(result, item.name)) for item in fields(result))
    if isinstance(result, Mapping):
        return _SMALL + sum(held_bytes(key) + held_bytes(value) for key, value in result.items())
    if isinstance(result, list | tuple | set | frozenset):
        return _SMALL + sum(map(held_bytes, result))
    return _SMALL


class _NotComputed(Exception):
    """Someone else was to compute a result, and did not get to it."""


class BoundedCache(Generic[T]):
    """Least recently used results are forgotten when the total grows beyond a bound.

    Thread-safe. A result that is being computed is computed once: others who ask for it wait for it. An error
    is told to all who wait and is not kept; only where the one who computed was not let in, the next one
    who waits tries for himself.

    Args:
        limit: bytes kept at most. A result that is larger than that is returned and not kept.
        size: bytes of a result.
    """

    def __init__(self, limit: int, size: Callable[[T], int]) -> None:
        self._limit = limit
        self._size = size
        self._kept: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self._running: dict[Hashable, Future[T]] = {}
        self._total = 0
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        """Bytes kept now."""
        return self._total

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: Hashable, compute: Callable[[], T]) -> T:
        """The result for ``key``, from the cache or computed now."""
        while True:
            try:
                return self._once(key, compute)
            except _NotComputed:
                continue

    def _once(self, key: Hashable, compute: Callable[[], T]) -> T:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][0]
            running = self._running.get(key)
            mine = running is None
            if running is None:
                running = self._running[key] = Future()
        if not mine:
            try:
                return running.result()
            except NoTurn as error:
                raise _NotComputed from error
        try:
            result = compute()
        except BaseException as error:
            with self._lock:
                del self._running[key]
            running.set_exception(error)
            raise
        with self._lock:
            self._keep(key, result)
            del self._running[key]
        running.set_result(result)
        return result

    def _keep(self, key: Hashable, result: T) -> None:
        size = self._size(result)
        if size > self._limit:
            return
        self._kept[key] = (result, size)
        self._total += size
        while self._total > self._limit:
            _, (_, freed) = self._kept.popitem(last=False)
            self._total -= freed
