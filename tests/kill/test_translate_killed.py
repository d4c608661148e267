"""``atlas translate FILE -o OUT``, killed: OUT is never half a table, and no finished chunk is made again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from atlas.commands.kept_chunks import partial_file
from tests.conftest import ENGLISH
from tests.kill.killing import kill, moments
from tests.kill.works import command

CHUNK = 5


@pytest.fixture
def sentences(tmp_path: Path) -> Path:
    """Twenty sentences: four chunks."""
    file = tmp_path / "in.txt"
    texts = [f"{number} {ENGLISH[number % len(ENGLISH)]}" for number in range(20)]
    file.write_text("\n".join(texts), encoding="utf-8")
    return file


def call(bundle: Path, sentences: Path, out: Path) -> list[str]:
    options = ["--checkpoint", str(bundle), "--max-length", "6", "--beam", "2", "--out", str(out)]
    return ["translate", str(sentences), *options]


def chunks_in(partial: Path) -> int:
    return partial.read_bytes().count(b"\n") - 1 if partial.exists() and partial.stat().st_size else 0


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_at_every_change(ending: str, tiny_bundle: Path, sentences: Path, tmp_path: Path) -> None:
    whole = tmp_path / f"whole.{ending}"
    count = moments(command, call(tiny_bundle, sentences, whole), CHUNK, inside=tmp_path)
    assert count == 4 + 3  # four chunks are added; the table is written, gets its name, and they go
    done = []
    for change in range(1, count + 1):
        out = tmp_path / f"out-{change}.{ending}"
        out.write_text("the table of yesterday")
        arguments = (call(tiny_bundle, sentences, out), CHUNK)
        assert kill(command, *arguments, inside=tmp_path, change=change)
        assert out.read_bytes() in (b"the table of yesterday", whole.read_bytes())
        done.append(chunks_in(partial_file(out)))
        command(*arguments)
        assert out.read_bytes() == whole.read_bytes()
        assert not partial_file(out).exists()
    assert done == [0, 1, 2, 3, 4, 4, 4]


def test_in_the_middle_of_a_chunk(tiny_bundle: Path, sentences: Path, tmp_path: Path) -> None:
    """The line that was cut does not count; those before it do."""
    whole, out = tmp_path / "whole.csv", tmp_path / "out.csv"
    command(call(tiny_bundle, sentences, whole), CHUNK)
    arguments = (call(tiny_bundle, sentences, out), CHUNK)
    for size in (50, 5_000, 8_000):
        assert kill(command, *arguments, inside=tmp_path, size=size)
        assert not out.exists()
        lines = partial_file(out).read_bytes().splitlines(keepends=True)
        assert not lines[-1].endswith(b"\n") and sum(map(len, lines)) == size
        assert all(json.loads(line) for line in lines[:-1])
    assert len(lines) >= 3
    command(*arguments)
    assert out.read_bytes() == whole.read_bytes() and not partial_file(out).exists()
