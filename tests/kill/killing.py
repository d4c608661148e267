"""Work that is done in another process and killed at one chosen moment.

A moment is the n-th time that the process is about to change the file system (open a file for writing, make,
rename or remove one), which Python's audit events tell; or the moment at which a file would grow past a size,
which the kernel's limit on file sizes ends in the middle of a write, in whatever library that happens. The
product knows nothing of either.

Processes come from a server that has imported the heavy libraries and done nothing else, so a moment costs
what the work costs.
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

Work = Callable[..., None]
_CHANGES = ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate", "os.link", "os.symlink")
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["tests.kill.preload"])


def _started(target: Callable[..., None], *arguments: Any) -> ForkServerProcess:
    """A process that does not run the main module again, which may be a page that a test of the app left."""
    process = _context.Process(target=target, args=arguments)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "__main__", ModuleType("__main__"))
        process.start()
    return process


def moments(work: Work, *arguments: Any, inside: Path) -> int:
    """How often the work changes something in a folder when nothing disturbs it."""
    receiver, sender = _context.Pipe(duplex=False)
    process = _started(_count, work, arguments, inside, sender)
    sender.close()
    try:
        counted: int = receiver.recv()
    finally:
        process.join()
    assert process.exitcode == 0
    return counted


def kill(
    work: Work, *arguments: Any, inside: Path, change: int | None = None, size: int | None = None
) -> bool:
    """Do the work in a process that is killed right before its n-th change (from 1) of something in a folder,
    or when a file would grow past ``size`` bytes.

    Returns:
        whether it was killed; False if it had ended before.
    """
    process = _started(_doomed, work, arguments, inside, change, size)
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL, -signal.SIGXFSZ), process.exitcode
    return process.exitcode != 0


def some(count: int, most: int) -> Iterator[int]:
    """``most`` of the numbers 1 to ``count``, evenly, the first and the last among them."""
    step = max(1.0, (count - 1) / max(1, most - 1))
    yield from dict.fromkeys(min(count, 1 + round(number * step)) for number in range(min(most, count)))


def _watch(inside: Path, act: Callable[[], None]) -> None:
    """Call ``act`` right before every change of something in a folder. Names relative to an open folder, as
    ``shutil.rmtree`` uses them, count too.
    """
    prefix = str(inside)

    def hook(event: str, values: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = values
            changes = bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
        else:
            path, changes = (values or ("",))[0], event in _CHANGES
        if changes and isinstance(path, str | os.PathLike):
            name = os.fspath(path)
            if isinstance(name, str) and (name.startswith(prefix) or not os.path.isabs(name)):
                act()

    sys.addaudithook(hook)


def _quietly(work: Work, arguments: tuple[Any, ...]) -> None:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        work(*arguments)


def _count(work: Work, arguments: tuple[Any, ...], inside: Path, sender: Connection) -> None:
    counted = 0

    def count() -> None:
        nonlocal counted
        counted += 1

    _watch(inside, count)
    _quietly(work, arguments)
    sender.send(counted)


def _doomed(
    work: Work, arguments: tuple[Any, ...], inside: Path, change: int | None, size: int | None
) -> None:
    left = change or 0

    def act() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    if size is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python turns it into an error, which would be handled
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    _watch(inside, act)
    _quietly(work, arguments)
