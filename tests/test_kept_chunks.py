"""A bulk translation that is stopped goes on where it was; the tests in tests/kill end it the hard way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from atlas.cli import app
from atlas.commands import kept_chunks
from atlas.engine import Engine
from tests.conftest import ENGLISH


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_chunks, "CHUNK", 3)


@pytest.fixture
def sentences(tmp_path: Path) -> Path:
    """Eight sentences, an empty one and a damaged one: three chunks."""
    file = tmp_path / "in.txt"
    text = "\n".join([*ENGLISH[:4], "", *ENGLISH[4:], "half \ufffd a character"])
    file.write_text(text, encoding="utf-8")
    return file


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The sentences of every call to the engine."""
    calls: list[list[str]] = []
    translate = Engine.translate

    def counted(self: Engine, texts: list[str], *arguments: Any, **options: Any) -> Any:
        calls.append(list(texts))
        return translate(self, texts, *arguments, **options)

    monkeypatch.setattr(Engine, "translate", counted)
    return calls


def run(bundle: Path, file: Path, out: Path, *more: str) -> Result:
    options = ["--checkpoint", str(bundle), "--max-length", "6", "--beam", "2", "--out", str(out)]
    return CliRunner().invoke(app, ["translate", str(file), *options, *more])


def stop_after(chunks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine is interrupted once it has translated some chunks."""
    translate, calls = Engine.translate, []

    def interrupted(self: Engine, *arguments: Any, **options: Any) -> Any:
        calls.append(arguments)
        if len(calls) > chunks:
            raise KeyboardInterrupt
        return translate(self, *arguments, **options)

    monkeypatch.setattr(Engine, "translate", interrupted)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "tsv", "xlsx"])
def test_a_stopped_translation_goes_on(
    ending: str, tiny_bundle: Path, sentences: Path, asked: list, tmp_path: Path
) -> None:
    whole, out = tmp_path / f"whole.{ending}", tmp_path / f"out.{ending}"
    assert run(tiny_bundle, sentences, whole).exit_code == 0
    chunks = list(asked)
    assert [len(chunk) for chunk in chunks] == [3, 3, 3]
    assert sorted(map(len, sum(chunks, []))) == [len(text) for text in sum(chunks, [])]
    assert not kept_chunks.partial_file(whole).exists()
    out.write_text("the table of yesterday")
    with pytest.MonkeyPatch.context() as patch:
        stop_after(2, patch)
        assert run(tiny_bundle, sentences, out).exit_code != 0
    assert out.read_text() == "the table of yesterday"
    asked.clear()
    again = run(tiny_bundle, sentences, out)
    assert again.exit_code == 0 and "going on: 6 of 9 sentences were translated before" in again.stderr
    assert asked == chunks[2:]
    assert not kept_chunks.partial_file(out).exists()
    if ending != "xlsx":  # a workbook holds the time at which it was made
        assert out.read_bytes() == whole.read_bytes()


def test_the_numbers_are_the_same_to_the_bit(tiny_bundle: Path, sentences: Path, tmp_path: Path) -> None:
    def found(result: Result) -> list[dict[str, Any]]:
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)["translations"]

    more = ("--json", "--n-best", "2", "--prefix", "Il")
    whole = found(run(tiny_bundle, sentences, tmp_path / "whole.csv", *more))
    with pytest.MonkeyPatch.context() as patch:
        stop_after(1, patch)
        run(tiny_bundle, sentences, tmp_path / "out.csv", *more)
    assert found(run(tiny_bundle, sentences, tmp_path / "out.csv", *more)) == whole
    assert [len(item["hypotheses"]) for item in whole].count(2) >= 8
    assert [item["note"] for item in whole][4].startswith("the sentence is empty")


def stopped(bundle: Path, sentences: Path, out: Path) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        stop_after(2, patch)
        assert run(bundle, sentences, out).exit_code != 0
    return kept_chunks.partial_file(out)


@pytest.mark.parametrize("cut", [1, 40, -40, -1])
def test_a_line_that_was_cut_does_not_count(
    cut: int, tiny_bundle: Path, sentences: Path, asked: list, tmp_path: Path
) -> None:
    out = tmp_path / "out.csv"
    partial = stopped(tiny_bundle, sentences, out)
    data = partial.read_bytes()
    partial.write_bytes(data[:cut])
    asked.clear()
    assert run(tiny_bundle, sentences, out).exit_code == 0
    assert len(asked) == (3 if cut > 0 else 2)
    assert run(tiny_bundle, sentences, tmp_path / "whole.csv").exit_code == 0
    assert out.read_bytes() == (tmp_path / "whole.csv").read_bytes()


@pytest.mark.parametrize(
    ("more", "other"),
    [
        (("--beam", "3"), "beam"),
        (("--alpha", "0.5", "--stop", "first"), "alpha, stop"),
        (("--prefix", "Il"), "prefix"),
    ],
)
def test_another_translation_is_not_gone_on_with(
    more: tuple[str, ...], other: str, tiny_bundle: Path, sentences: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.csv"
    partial = stopped(tiny_bundle, sentences, out)
    kept = partial.read_bytes()
    refused = run(tiny_bundle, sentences, out, *more)
    assert refused.exit_code == 2 and refused.stderr.count("\n") == 1
    assert f"out.csv.partial: an unfinished translation with another {other};" in refused.stderr
    assert partial.read_bytes() == kept and not out.exists()
    assert run(tiny_bundle, sentences, out, *more, "--restart").exit_code == 0
    assert out.exists() and not partial.exists()


def test_another_input_or_model_is_not_gone_on_with(
    tiny_bundle: Path, recurrent_bundles: dict[str, Path], sentences: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.csv"
    stopped(tiny_bundle, sentences, out)
    assert "with another model;" in run(recurrent_bundles["dot"], sentences, out).stderr
    sentences.write_text(sentences.read_text("utf-8", "replace").replace("cat", "hat"))
    assert "with another input;" in run(tiny_bundle, sentences, out).stderr


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data.replace(b'"number": 1', b'"number": 0'),
        lambda data: data.replace(b'"note"', b'"mote"'),
        lambda data: data.replace(b"{", b"[", 1),
        lambda data: b'"text"\n' + data,
        lambda data: data + data[data.index(b"\n") + 1 :],
        lambda data: b"\xff\xfe\n" + data,
        lambda data: b"null\n",
    ],
)
def test_a_damaged_file_is_one_line(spoil: Any, tiny_bundle: Path, sentences: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    partial = stopped(tiny_bundle, sentences, out)
    partial.write_bytes(spoil(partial.read_bytes()))
    refused = run(tiny_bundle, sentences, out)
    assert refused.exit_code == 2 and refused.stderr.count("\n") == 1
    assert "out.csv.partial: damaged (" in refused.stderr and "--restart" in refused.stderr
    assert not out.exists()


def test_places_that_cannot_be_written_are_found_out_first(
    tiny_bundle: Path, sentences: Path, asked: list, tmp_path: Path
) -> None:
    missing = run(tiny_bundle, sentences, tmp_path / "no" / "out.csv")
    assert f"the folder {tmp_path / 'no'} does not exist" in " ".join(missing.stderr.split())
    (tmp_path / "folder.csv").mkdir()
    assert "a folder; --out names a file" in run(tiny_bundle, sentences, tmp_path / "folder.csv").stderr
    assert asked == []
    nothing_kept = CliRunner().invoke(app, ["translate", "It rains.", "--restart"])
    assert nothing_kept.exit_code == 2 and "--restart is for --out" in nothing_kept.stderr
