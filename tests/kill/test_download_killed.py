"""A download that is killed: never half a file under the final name, and it goes on from what had arrived."""

from __future__ import annotations

import gzip
import hashlib
import random
from pathlib import Path

import pytest

from atlas.text.download import fetch
from atlas.text.origins import Origin
from tests.kill.killing import kill, moments
from tests.kill.works import download
from tests.text.test_download import Server, archive, origin, server

assert server  # a fixture
TEXT = random.Random(0).randbytes(300_000).hex().encode()


@pytest.mark.parametrize("plain", [False, True])
def test_at_every_change_of_the_folder(plain: bool, server: Server, tmp_path: Path) -> None:
    """Packed as it is, or plain text that is packed here."""
    content = TEXT if plain else archive(TEXT)
    if plain:
        server.files["/a.fr"] = content
        source = Origin("a.gz", f"{server.url}/a.fr", hashlib.sha256(content).hexdigest(), plain=True)
    else:
        source = origin(server, content)
    count = moments(download, source, tmp_path / "counted", inside=tmp_path)
    final = {name.name: name.read_bytes() for name in (tmp_path / "counted").iterdir()}
    assert list(final) == [source.name] and count >= 5
    for change in range(1, count + 1):
        folder = tmp_path / str(change)
        assert kill(download, source, folder, inside=tmp_path, change=change)
        if (folder / source.name).exists():
            assert (folder / source.name).read_bytes() == final[source.name]
        report = fetch(source, folder)
        assert report.known and {name.name: name.read_bytes() for name in folder.iterdir()} == final
    if plain:
        assert gzip.decompress(final[source.name]) == TEXT


@pytest.mark.parametrize("size", [65_536, 200_000, 599_999])
def test_while_bytes_arrive(size: int, server: Server, tmp_path: Path) -> None:
    """Only what is missing is asked for; at most one chunk that was not yet written comes again."""
    content = archive(TEXT)
    source = origin(server, content)
    assert kill(download, source, tmp_path, inside=tmp_path, size=size)
    assert not (tmp_path / source.name).exists()
    have = (tmp_path / f"{source.name}.part").stat().st_size
    assert size - 65_536 <= have <= size
    assert fetch(source, tmp_path).known
    assert server.asked[-1]["range"] == f"bytes={have}-"
    assert (tmp_path / source.name).read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == [source.name]
