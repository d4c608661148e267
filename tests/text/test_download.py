"""Corpora fetched from a server on this machine that cuts, refuses, changes and lies as real ones do."""

from __future__ import annotations

import gzip
import hashlib
import io
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from atlas.text import download as module
from atlas.text.corpora import CorpusError
from atlas.text.download import FileReport, cache_folder, download, fetch, locate, progress_bar, verify
from atlas.text.origins import CORPORA, Origin


def archive(text: bytes = b"Go.\tVa !\n" * 20_000, stored: bool = True) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED) as target:
        target.writestr("fra-eng/fra.txt", text)
    return buffer.getvalue()


@dataclass
class Server:
    """What is served, how it misbehaves, and what was asked."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    tag: str | None = '"one"'
    cuts: list[int] = field(default_factory=list)
    """Bytes after which each of the next answers is cut off."""
    says_length: bool = True
    asked: list[dict[str, str]] = field(default_factory=list)

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        self.asked.append({name.lower(): value for name, value in request.headers.items()})
        if request.headers.get("User-Agent", "Python-urllib").startswith("Python-urllib"):
            request.send_error(406)
            return
        content = self.files.get(request.path)
        if content is None:
            request.send_error(404)
            return
        start = 0
        asked = request.headers.get("Range")
        if asked and request.headers.get("If-Range") == self.tag:
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            if start >= len(content):
                request.send_response(416)
                if self.says_length:
                    request.send_header("Content-Range", f"bytes */{len(content)}")
                request.send_header("Content-Length", "0")
                request.end_headers()
                return
            request.send_response(206)
            request.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        else:
            request.send_response(200)
        if self.tag:
            request.send_header("ETag", self.tag)
        if self.says_length:
            request.send_header("Content-Length", str(len(content) - start))
        request.end_headers()
        body = content[start:]
        request.wfile.write(body[: self.cuts.pop(0)] if self.cuts else body)
        request.close_connection = True


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.answer(self)

        def log_message(self, format: str, *arguments: object) -> None:
            return None

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        state.url = f"http://127.0.0.1:{http.server_address[1]}"
        thread = threading.Thread(target=http.serve_forever, args=(0.02,))
        thread.start()
        yield state
        http.shutdown()
        thread.join()


def origin(server: Server, content: bytes, **options: object) -> Origin:
    server.files["/fra-eng.zip"] = content
    sha256 = hashlib.sha256(content).hexdigest()
    return Origin("fra-eng.zip", f"{server.url}/fra-eng.zip", **{"sha256": sha256, **options})


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != "fra-eng.zip")


def test_a_download_is_whole_known_and_reported(server: Server, tmp_path: Path) -> None:
    content = archive()
    seen: list[tuple[str, int, int | None]] = []
    report = fetch(origin(server, content), tmp_path / "new", lambda *state: seen.append(state))
    path = tmp_path / "new" / "fra-eng.zip"
    assert report == FileReport(path, len(content), hashlib.sha256(content).hexdigest(), True, fetched=True)
    assert path.read_bytes() == content
    assert seen[-1] == ("fra-eng.zip", len(content), len(content))
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)
    assert leftovers(path.parent) == []
    assert "attention-atlas" in server.asked[0]["user-agent"]


def test_a_file_that_is_there_is_checked_and_not_fetched_again(server: Server, tmp_path: Path) -> None:
    source = origin(server, archive())
    fetch(source, tmp_path)
    report = fetch(source, tmp_path)
    assert (report.fetched, report.known, len(server.asked)) == (False, True, 1)


def test_a_cut_is_resumed_within_one_call(server: Server, tmp_path: Path) -> None:
    content = archive()
    server.cuts = [70_000]
    report = fetch(origin(server, content), tmp_path)
    assert report.known
    assert (tmp_path / "fra-eng.zip").read_bytes() == content
    assert server.asked[1]["range"] == "bytes=70000-"
    assert server.asked[1]["if-range"] == '"one"'


def test_a_download_cut_again_and_again_goes_on_in_a_later_call(server: Server, tmp_path: Path) -> None:
    content = archive()
    source = origin(server, content)
    server.cuts = [50_000, 20_000, 10_000]
    with pytest.raises(CorpusError, match="cut off after 80,000 bytes; try again"):
        fetch(source, tmp_path)
    assert not (tmp_path / "fra-eng.zip").exists()
    assert (tmp_path / "fra-eng.zip.part").stat().st_size == 80_000
    assert fetch(source, tmp_path).known
    assert server.asked[-1]["range"] == "bytes=80000-"
    assert (tmp_path / "fra-eng.zip").read_bytes() == content
    assert leftovers(tmp_path) == []


def test_a_file_that_changed_between_two_tries_starts_anew(server: Server, tmp_path: Path) -> None:
    server.cuts = [50_000, 0, 0]
    with pytest.raises(CorpusError, match="cut off"):
        fetch(origin(server, archive()), tmp_path)
    newer = archive(b"Hi.\tSalut !\n" * 30_000)
    server.tag = '"two"'
    assert fetch(origin(server, newer), tmp_path).known
    assert (tmp_path / "fra-eng.zip").read_bytes() == newer


def test_without_a_validator_nothing_is_glued_together(server: Server, tmp_path: Path) -> None:
    server.tag = None
    server.cuts = [50_000]
    assert fetch(origin(server, archive()), tmp_path).known
    assert all("range" not in headers for headers in server.asked)


@pytest.mark.parametrize("says_length", [True, False])
def test_a_whole_part_that_was_not_renamed_is_recovered(
    server: Server, tmp_path: Path, says_length: bool
) -> None:
    """Without a word about the length it is fetched again."""
    server.says_length = says_length
    content = archive()
    (tmp_path / "fra-eng.zip.part").write_bytes(content)
    (tmp_path / "fra-eng.zip.part.validator").write_text('"one"')
    assert fetch(origin(server, content), tmp_path).known
    assert leftovers(tmp_path) == []
    assert [headers.get("range") for headers in server.asked] == [
        f"bytes={len(content)}-",
        *([] if says_length else [None]),
    ]


def test_leftovers_beside_a_whole_file_are_cleared(server: Server, tmp_path: Path) -> None:
    source = origin(server, archive())
    fetch(source, tmp_path)
    (tmp_path / "fra-eng.zip.part.validator").write_text('"one"')
    (tmp_path / "fra-eng.zip.part").write_bytes(b"PK")
    assert not fetch(source, tmp_path).fetched
    assert leftovers(tmp_path) == []


def test_plain_text_of_unsaid_length_is_whole_only_if_known(server: Server, tmp_path: Path) -> None:
    """A cut line would look like the end of the file."""
    server.says_length = False
    text = b"a man in a cafe .\n" * 1000
    server.files["/test.fr"] = text
    known = Origin("fr.gz", f"{server.url}/test.fr", hashlib.sha256(text).hexdigest(), plain=True)
    server.cuts = [5000]
    report = fetch(known, tmp_path)
    assert report.known and gzip.decompress(report.path.read_bytes()) == text
    report.path.unlink()
    with pytest.raises(CorpusError, match="cut off after 18,000 bytes"):
        fetch(Origin(known.name, known.url, None, plain=True), tmp_path)
    assert leftovers(tmp_path) == ["fr.gz.part", "fr.gz.part.validator"]


def test_an_unknown_checksum_is_reported_and_accepted(server: Server, tmp_path: Path) -> None:
    report = fetch(origin(server, archive(), sha256="0" * 64), tmp_path)
    assert report.known is False
    assert "differs from the known copy" in str(report)
    unknown = fetch(origin(server, archive(), sha256=None), tmp_path / "other")
    assert unknown.known is None
    assert unknown.sha256 in str(unknown)


@pytest.mark.parametrize("content", [b"<html>Please log in</html>", archive()[:-30]])
def test_what_is_no_archive_is_thrown_away(server: Server, tmp_path: Path, content: bytes) -> None:
    with pytest.raises(CorpusError, match="not the corpus"):
        fetch(origin(server, content), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_archive_member_is_noticed(server: Server, tmp_path: Path) -> None:
    content = bytearray(archive())
    content[len(content) // 2] ^= 0xFF
    with pytest.raises(CorpusError, match="not the corpus"):
        fetch(origin(server, bytes(content)), tmp_path)


def test_bombs_are_refused(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_UNPACKED_BYTES", 1_000_000)
    with pytest.raises(CorpusError, match="unpacks to more than 1,000,000 bytes"):
        fetch(origin(server, archive(b"x" * 2_000_000, stored=False)), tmp_path)
    monkeypatch.setattr(module, "MAX_FILE_BYTES", 100_000)
    with pytest.raises(CorpusError, match="the limit is 100,000"):
        fetch(origin(server, archive()), tmp_path)


def test_refusals_name_the_address_and_the_answer(server: Server, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"127.0.0.1:\d+/missing: the server answered 404"):
        fetch(Origin("fra-eng.zip", f"{server.url}/missing"), tmp_path)
    with pytest.raises(CorpusError, match=r"cannot be reached .* --from"):
        fetch(Origin("fra-eng.zip", "http://127.0.0.1:1/x"), tmp_path)


def test_a_host_that_refuses_python_is_served(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fetch(origin(server, archive()), tmp_path / "one").fetched
    monkeypatch.setattr(module, "_USER_AGENT", "Python-urllib/3.11")
    with pytest.raises(CorpusError, match="answered 406"):
        fetch(origin(server, archive()), tmp_path / "two")


def test_a_folder_that_cannot_be_made(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CorpusError, match="cannot be written"):
        fetch(origin(server, archive()), tmp_path / "file")


@pytest.fixture
def corpora(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """A corpus of one compressed and one plain file on the local server."""
    lines = "a man in a café .\n".encode()
    packed = gzip.compress(lines, mtime=7)
    server.files |= {"/raw/test.fr.gz": packed, "/tok/test.lc.fr": lines}
    monkeypatch.setitem(
        CORPORA,
        "multi30k",
        (
            Origin("test.fr.gz", f"{server.url}/raw/test.fr.gz", hashlib.sha256(packed).hexdigest()),
            Origin(
                "test.lc.fr.gz", f"{server.url}/tok/test.lc.fr", hashlib.sha256(lines).hexdigest(), plain=True
            ),
        ),
    )
    return server


def test_a_corpus_of_packed_and_plain_files(
    corpora: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATLAS_CACHE", str(tmp_path))
    monkeypatch.delenv("ATLAS_DATA", raising=False)
    with pytest.raises(CorpusError, match="`atlas data multi30k`"):
        locate("multi30k")
    with progress_bar() as progress:
        reports = download("multi30k", progress=progress)
    assert [(report.path.name, report.known, report.fetched) for report in reports] == [
        ("test.fr.gz", True, True),
        ("test.lc.fr.gz", True, True),
    ]
    folder = locate("multi30k")
    assert folder == tmp_path / "multi30k"
    assert {gzip.decompress(path.read_bytes()) for path in folder.iterdir()} == {
        "a man in a café .\n".encode()
    }
    assert [report.known for report in verify("multi30k", folder)] == [True, True]
    (folder / "test.fr.gz").write_bytes(b"\x1f\x8b\x08damaged")
    with pytest.raises(CorpusError, match="not a whole .gz archive"):
        verify("multi30k", folder)


def test_where_a_corpus_is_looked_for(tmp_path: Path) -> None:
    for place in ("source", "data/tatoeba", "cache/tatoeba"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "fra-eng.zip").write_bytes(archive())
    both = {"ATLAS_DATA": str(tmp_path / "data"), "ATLAS_CACHE": str(tmp_path / "cache")}
    assert locate("tatoeba", tmp_path / "source", both) == tmp_path / "source"
    assert locate("tatoeba", None, both) == tmp_path / "data" / "tatoeba"
    assert locate("tatoeba", None, {"ATLAS_CACHE": both["ATLAS_CACHE"]}) == tmp_path / "cache" / "tatoeba"
    elsewhere = {**both, "ATLAS_DATA": str(tmp_path / "nowhere")}
    assert locate("tatoeba", None, elsewhere) == tmp_path / "cache" / "tatoeba"
    with pytest.raises(CorpusError, match="fra-eng.zip is not in .*empty;"):
        locate("tatoeba", tmp_path / "empty", both)
    with pytest.raises(CorpusError, match="no corpus 'wmt'; known are tatoeba, multi30k"):
        locate("wmt")
    assert cache_folder({}).parts[-2:] == (".cache", "attention-atlas")


def test_the_known_origins_are_public_and_have_one_name_each() -> None:
    for origins in CORPORA.values():
        assert len({entry.name for entry in origins}) == len(origins)
        for entry in origins:
            assert entry.url.startswith("https://")
            assert entry.sha256 is None or len(entry.sha256) == 64
            assert entry.plain == (not entry.url.endswith(entry.name))
