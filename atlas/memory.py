"""What the process does with memory that it has freed."""

from __future__ import annotations

import ctypes
import sys

KEPT_BYTES = 256 * 2**20
"""Freed memory that the process may hold on to, rather than hand it back and ask for it again."""
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h


def keep_freed_memory(limit: int = KEPT_BYTES) -> bool:
    """Let the process reuse freed blocks of up to ``limit`` bytes instead of returning them to the system.

    The C library of Linux (glibc) returns large blocks at once, and the system clears every page of the next
    one anew. A trace of a long sentence, whose attention maps are blocks of megabytes, spent more time on
    that than on arithmetic. Meant for a process of ours (the command line, the application); the process of
    somebody who imports us is theirs.

    Returns:
        whether the C library took it; elsewhere than on glibc nothing is changed.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except AttributeError:  # another C library, which has other habits
        return False
    return all([mallopt(_M_TRIM_THRESHOLD, limit), mallopt(_M_MMAP_THRESHOLD, limit)])
