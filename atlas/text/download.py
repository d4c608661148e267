"""Corpora onto this machine: found where they are, or fetched from their public origin.

A download goes into `NAME.part`, is resumed from there after a cut (only if the server confirms by its
validator that the file is still the same), is checked as an archive, and then takes its place in one step.
Checksums are computed and compared with the known ones; an unknown one is reported, since public corpora
are rebuilt from time to time.
"""

from __future__ import annotations

import gzip
import hashlib
import http.client
import os
import ssl
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from atlas import __version__
from atlas.text.corpora import CorpusError
from atlas.text.origins import CORPORA, Origin
from atlas.whole import whole_file

MAX_FILE_BYTES = 200_000_000
MAX_UNPACKED_BYTES = 1_000_000_000
# Some hosts answer 406 to Python's own name.
_USER_AGENT = f"Mozilla/5.0 (compatible; attention-atlas/{__version__})"
_CHUNK = 1 << 16
_ATTEMPTS = 3
_TIMEOUT_SECONDS = 30
_BAD_ZIP = (zipfile.BadZipFile, NotImplementedError, RuntimeError)
_BAD_GZIP = (gzip.BadGzipFile, EOFError, zlib.error)

Progress = Callable[[str, int, int | None], None]
"""Called with a file's name, its bytes so far, and its bytes in all (None if the server does not say)."""


@dataclass(frozen=True)
class FileReport:
    """A corpus file on this machine.

    Attributes:
        path: where it is.
        size: its bytes.
        sha256: the checksum of what the public origin serves under this name.
        known: whether that is the known checksum; None where none is known.
        fetched: whether it was downloaded now.
    """

    path: Path
    size: int
    sha256: str
    known: bool | None
    fetched: bool = False

    def __str__(self) -> str:
        verdict = {True: "known", False: "differs from the known copy", None: "no known copy to compare with"}
        return f"{self.path.name}: {self.size:,} bytes, SHA-256 {self.sha256} ({verdict[self.known]})"


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Where downloads go: `ATLAS_CACHE`, else `~/.cache/attention-atlas`."""
    named = environment.get("ATLAS_CACHE")
    return Path(named) if named else Path.home() / ".cache" / "attention-atlas"


def locate(corpus: str, source: Path | None = None, environment: Mapping[str, str] = os.environ) -> Path:
    """The folder that holds a corpus.

    Args:
        corpus: a name in `CORPORA`.
        source: a folder with the corpus's files, or with a folder of its name; then only this is looked at.
        environment: without `source`, `ATLAS_DATA` in it names such a folder and is looked at before the
            cache.

    Raises:
        CorpusError: it is in none of these places; the line says how to get it.
    """
    origins = _origins(corpus)
    if source is not None:
        places = [source]
    else:
        named = environment.get("ATLAS_DATA")
        places = [*([Path(named)] if named else []), cache_folder(environment)]
    for place in places:
        for folder in (place / corpus, place):
            if any((folder / origin.name).is_file() for origin in origins):
                return folder
    looked = " or ".join(str(place) for place in places)
    raise CorpusError(
        f"{corpus}: {origins[0].name} is not in {looked};"
        f" get it with `atlas data {corpus}`, or name a folder that has it"
    )


def verify(corpus: str, folder: Path) -> list[FileReport]:
    """What there is of a corpus in a folder, with checksums.

    Raises:
        CorpusError: a file is there but damaged.
    """
    found = [(origin, folder / origin.name) for origin in _origins(corpus)]
    return [_report(origin, path) for origin, path in found if path.is_file()]


def download(corpus: str, dest: Path | None = None, progress: Progress | None = None) -> list[FileReport]:
    """Fetch a corpus from its public origin. Files that are there already are checked and kept.

    Args:
        corpus: a name in `CORPORA`.
        dest: the folder for its files; the cache's when not given.
        progress: told while bytes arrive; `progress_bar` makes one.

    Raises:
        CorpusError: no connection, a refusal, a download that is cut again and again, or something else
            than the corpus. What had arrived is kept for the next try.
    """
    folder = cache_folder() / corpus if dest is None else dest
    return [fetch(origin, folder, progress) for origin in _origins(corpus)]


def fetch(origin: Origin, folder: Path, progress: Progress | None = None) -> FileReport:
    """Fetch one file unless it is there. See `download`."""
    path = folder / origin.name
    part = folder / f"{origin.name}.part"
    try:
        if path.is_file():
            _clear(part)
            return _report(origin, path)
        folder.mkdir(parents=True, exist_ok=True)
        if not any(_continue(origin, part, progress) for _ in range(_ATTEMPTS)):
            have = part.stat().st_size if part.is_file() else 0
            raise CorpusError(f"{origin.url}: cut off after {have:,} bytes; try again to go on from there")
        report = _take(origin, part, path)
    except OSError as error:
        raise CorpusError(f"{path}: cannot be written: {error.strerror or error}") from error
    return FileReport(path, report.size, report.sha256, report.known, fetched=True)


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """A progress bar on the terminal's error stream, one line a file."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        TaskID,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True)) as bar:
        tasks: dict[str, TaskID] = {}

        def advance(name: str, done: int, total: int | None) -> None:
            if name not in tasks:
                tasks[name] = bar.add_task(name)
            bar.update(tasks[name], completed=done, total=total)

        yield advance


def _origins(corpus: str) -> tuple[Origin, ...]:
    if corpus not in CORPORA:
        raise CorpusError(f"no corpus {corpus!r}; known are {', '.join(CORPORA)}")
    return CORPORA[corpus]


def _validator_file(part: Path) -> Path:
    return part.with_name(f"{part.name}.validator")


def _continue(origin: Origin, part: Path, progress: Progress | None) -> bool:
    """One request that begins or continues a partial file; whether the file is whole after it."""
    validator = _validator_file(part)
    have = part.stat().st_size if part.is_file() and validator.is_file() else 0
    headers = {"User-Agent": _USER_AGENT, "Accept-Encoding": "identity"}
    if have:
        headers |= {"Range": f"bytes={have}-", "If-Range": validator.read_text()}
    request = urllib.request.Request(origin.url, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as response:
            continued = response.headers.get("Content-Range", "").startswith(f"bytes {have}-")
            if response.status != 206 or not continued:
                have = 0
            length = response.headers.get("Content-Length")
            total = have + int(length) if length else None
            with part.open("ab" if have else "wb") as file:
                if not have:
                    _remember_validator(validator, response)
                done = _receive(origin, response, file, have, total, progress)
        if total is not None:
            return done == total
        # Nothing says where it ends: an archive shows a cut by itself, plain text by its known checksum only.
        return not origin.plain or hashlib.sha256(part.read_bytes()).hexdigest() == origin.sha256
    except urllib.error.HTTPError as error:
        if error.code == 416 and have:  # nothing is left to send: it is whole, or not the same file
            if error.headers.get("Content-Range") == f"bytes */{have}":
                return True
            part.unlink()
            return False
        raise CorpusError(f"{origin.url}: the server answered {error.code} {error.reason}") from error
    except (TimeoutError, ConnectionError, ssl.SSLError, http.client.HTTPException):
        return False
    except urllib.error.URLError as error:
        raise CorpusError(
            f"{origin.url}: cannot be reached ({error.reason}); use a local copy with --from, or ATLAS_DATA"
        ) from error


def _remember_validator(file: Path, response: http.client.HTTPResponse) -> None:
    """Keep the server's word for this version of the file; without one a cut download starts anew."""
    tag = response.headers.get("ETag")
    word = tag if tag and not tag.startswith("W/") else response.headers.get("Last-Modified")
    if word:
        file.write_text(word)
    else:
        file.unlink(missing_ok=True)


def _receive(
    origin: Origin,
    response: http.client.HTTPResponse,
    file: BinaryIO,
    done: int,
    total: int | None,
    progress: Progress | None,
) -> int:
    """Write what arrives; how many bytes the file has then."""
    if total is not None and total > MAX_FILE_BYTES:
        raise CorpusError(f"{origin.url}: has {total:,} bytes; the limit is {MAX_FILE_BYTES:,}")
    while chunk := response.read(_CHUNK):
        done += len(chunk)
        if done > MAX_FILE_BYTES:
            raise CorpusError(f"{origin.url}: has more than {MAX_FILE_BYTES:,} bytes, the limit")
        file.write(chunk)
        if progress is not None:
            progress(origin.name, done, total)
    return done


def _take(origin: Origin, part: Path, path: Path) -> FileReport:
    """Give a finished download its name. One that is no archive is thrown away."""
    try:
        if origin.plain:
            with whole_file(path) as packed:
                packed.write_bytes(gzip.compress(part.read_bytes(), mtime=0))
                report = _report(origin, packed)
        else:
            report = _report(origin, part)
            os.replace(part, path)
    except CorpusError as error:
        _clear(part)
        raise CorpusError(
            f"{origin.url}: what was sent is not the corpus, and was thrown away ({error})"
        ) from error
    _clear(part)
    return report


def _clear(part: Path) -> None:
    """Throw away what only an unfinished download needs."""
    part.unlink(missing_ok=True)
    _validator_file(part).unlink(missing_ok=True)


def _report(origin: Origin, path: Path) -> FileReport:
    """Check that a file is the whole archive that it should be, and compute its checksum."""
    try:
        if origin.name.endswith(".zip"):
            _check_zip(path)
            unpacked = None
        else:
            unpacked = _unpacked_checksum(path)
    except (*_BAD_ZIP, *_BAD_GZIP) as error:
        kind = Path(origin.name).suffix
        raise CorpusError(f"{path}: is not a whole {kind} archive ({error})") from error
    served = unpacked if origin.plain and unpacked else hashlib.sha256(path.read_bytes()).hexdigest()
    known = None if origin.sha256 is None else served == origin.sha256
    return FileReport(path, path.stat().st_size, served, known)


def _check_zip(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        if sum(part.file_size for part in archive.infolist()) > MAX_UNPACKED_BYTES:
            raise CorpusError(f"{path}: unpacks to more than {MAX_UNPACKED_BYTES:,} bytes, the limit")
        damaged = archive.testzip()
        if damaged is not None:
            raise zipfile.BadZipFile(f"{damaged} is damaged")


def _unpacked_checksum(path: Path) -> str:
    digest, size = hashlib.sha256(), 0
    with gzip.open(path) as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
            if size > MAX_UNPACKED_BYTES:
                raise CorpusError(f"{path}: unpacks to more than {MAX_UNPACKED_BYTES:,} bytes, the limit")
    return digest.hexdigest()
