"""Files and folders that appear whole or not at all, at whatever moment the process is killed."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_AT_FDCWD, _EXCHANGE = -100, 2
"""Linux: paths are relative to the working folder; swap the two (``renameat2``)."""
_SWAP = 2
"""macOS: swap the two (``renamex_np``)."""
_CANNOT = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A path beside ``path`` to write to. What is there when the block ends takes the place of ``path`` in
    one step; after an error nothing is left of it, and what a killed process left is written over.
    """
    partial = path.with_name(f".{path.name}.new")
    try:
        yield partial
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A folder beside ``path`` to fill. It takes the place of ``path`` in one step when the block ends; after
    an error nothing is left of it. What killed processes left behind is cleared away first.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    restore(path)
    _sweep(path)
    folder = Path(tempfile.mkdtemp(prefix=_prefix(path), dir=path.parent))
    lock = _lock(folder)
    try:
        yield folder
        _put(folder, path)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        if lock is not None:
            os.close(lock)


def restore(path: Path) -> None:
    """Bring back the old folder of a process that was killed between the two renames of a file system that
    cannot swap (see :func:`whole_folder`). Elsewhere there is never anything to bring back.
    """
    if not path.exists() and _old(path).is_dir():
        _old(path).rename(path)


def _old(path: Path) -> Path:
    return path.with_name(f".{path.name}.old")


def _prefix(path: Path) -> str:
    return f".{path.name}.new-"


def _put(folder: Path, path: Path) -> None:
    if not path.exists():
        folder.rename(path)
        return
    if _exchanged(folder, path):
        shutil.rmtree(folder, ignore_errors=True)  # now the old one; what stays is swept next time
        return
    old = _old(path)
    path.rename(old)
    try:
        folder.rename(path)
    except BaseException:
        old.rename(path)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _exchanged(one: Path, other: Path) -> bool:
    """Swap two folders in one step; False where the system or the file system cannot."""
    if os.name != "posix":
        return False
    library = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(one), os.fsencode(other)
    if sys.platform == "darwin":
        failed = library.renamex_np(*names, _SWAP)
    elif hasattr(library, "renameat2"):
        failed = library.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _EXCHANGE)
    else:
        return False
    if failed and ctypes.get_errno() not in _CANNOT:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(other))
    return not failed


def _lock(folder: Path) -> int | None:
    """Mark a folder as being worked on, by a lock that ends with the process; None if somebody else does, or
    where folders cannot be locked.
    """
    if os.name != "posix":
        return None
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def _sweep(path: Path) -> None:
    """Delete what dead processes left of earlier attempts at ``path``; what is being written now stays."""
    if path.exists():
        shutil.rmtree(_old(path), ignore_errors=True)
    for left in path.parent.iterdir():
        if left.name.startswith(_prefix(path)):
            with suppress(FileNotFoundError):  # another process swept it
                lock = _lock(left)
                if lock is not None:
                    shutil.rmtree(left, ignore_errors=True)
                    os.close(lock)
