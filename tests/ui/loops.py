"""Running coroutines in tests that may share a process with tests of the browser."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def in_a_loop(work: Coroutine[Any, Any, None]) -> None:
    """Run it in a thread of its own: tests of the browser leave a loop running in theirs."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, work).result()
