"""Sentence pairs: reading them, splitting them, and saying what was wrong with the rest."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import re
import unicodedata
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from atlas.errors import AtlasError
from atlas.text.tokenizer import normalise

#: What the zip reader lets through from a file that is damaged or is no archive.
_ZIP_ERRORS = (OSError, EOFError, zipfile.BadZipFile, zlib.error, ValueError, RuntimeError)


class CorpusError(AtlasError):
    """A corpus that is missing or cannot be used."""


@dataclass(frozen=True)
class Pair:
    """One sentence and one translation of it, NFC."""

    source: str
    target: str


@dataclass
class Report:
    """What became of the lines of a file; line numbers count from 1."""

    lines: int = 0
    kept: int = 0
    empty: list[int] = field(default_factory=list)
    broken: list[int] = field(default_factory=list)

    def __str__(self) -> str:
        parts = [f"{self.lines:,} lines, {self.kept:,} pairs"]
        for name, numbers in (("with an empty side", self.empty), ("without two columns", self.broken)):
            if numbers:
                first = ", ".join(str(number) for number in numbers[:3])
                parts.append(
                    f"{len(numbers):,} {name} skipped (line {first}{', …' if len(numbers) > 3 else ''})"
                )
        return "; ".join(parts)


@dataclass(frozen=True)
class TestSet:
    """Held-out sentences, each with every known translation."""

    name: str
    sources: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]


@dataclass
class Corpus:
    """Training, development and test sentences of one language pair."""

    name: str
    source_language: str
    target_language: str
    train: list[Pair]
    development: list[Pair]
    test: list[Pair]
    report: Report
    files: dict[str, str]
    """SHA-256 of every file that was read, by name."""


def unify_typography(text: str) -> str:
    """French no-break spaces become spaces and curly apostrophes straight ones: corpora mix them without
    a rule.
    """
    return re.sub(r"[\u00a0\u202f]", " ", text).replace("’", "'")


def split_key(text: str) -> str:
    """What makes two sentences the same for the split: letters and digits, lowercased."""
    kept = (c if unicodedata.category(c)[0] in "LN" else " " for c in normalise(text).lower())
    return " ".join("".join(kept).split())


def split_of(text: str, *, test: float = 0.015, development: float = 0.01) -> str:
    """``test``, ``development`` or ``train``, by a hash of :func:`split_key`: every translation of a
    sentence, and its
    variants in case and punctuation, fall on one side."""
    digest = hashlib.sha256(split_key(text).encode()).digest()
    point = int.from_bytes(digest[:8], "big") / 2**64
    if point < test:
        return "test"
    return "development" if point < test + development else "train"


def read_lines(path: Path) -> list[str]:
    """The lines of a UTF-8 file, plain or ``.gz``, without their ends (LF, CRLF) and without a byte-order
    mark.

    Raises:
        CorpusError: the file is missing, damaged or not UTF-8.
    """
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        text = data.decode("utf-8-sig")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise CorpusError(f"{path}: cannot be read as UTF-8 text: {error}") from error
    lines = text.replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines and lines[-1] == "" else lines


def parse_pairs(rows: Iterable[list[str]]) -> tuple[list[Pair], Report]:
    """Pairs from rows of columns; extra columns (attributions) are ignored, bad rows are counted."""
    pairs: list[Pair] = []
    report = Report()
    for number, row in enumerate(rows, 1):
        report.lines = number
        if len(row) < 2:
            (report.broken if any(cell.strip() for cell in row) else report.empty).append(number)
            continue
        source, target = (" ".join(normalise(cell).split()) for cell in row[:2])
        if not source or not target:
            report.empty.append(number)
            continue
        pairs.append(Pair(source, target))
    report.kept = len(pairs)
    return pairs, report


def read_pairs(path: Path) -> tuple[list[Pair], Report]:
    """Pairs of a user's own file: ``.csv`` with two columns, or anything else with a tab between the two
    sides.

    Raises:
        CorpusError: the file cannot be read, or holds no pair at all.
    """
    lines = read_lines(path)
    if path.name.removesuffix(".gz").endswith(".csv"):
        rows: Iterator[list[str]] = csv.reader(
            io.StringIO("".join(f"{line}\n" for line in lines)), strict=True
        )
    else:
        rows = (line.split("\t") for line in lines)
    try:
        pairs, report = parse_pairs(rows)
    except csv.Error as error:
        raise CorpusError(f"{path}: cannot be read as comma-separated text: {error}") from error
    if not pairs:
        raise CorpusError(
            f"{path}: no sentence pair found ({report}); each line needs a sentence, a tab and its "
            f"translation"
        )
    return pairs, report


def _checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _split(pairs: Iterable[Pair]) -> dict[str, list[Pair]]:
    sides: dict[str, list[Pair]] = {"train": [], "development": [], "test": []}
    for pair in pairs:
        sides[split_of(pair.source)].append(pair)
    return sides


def load_tatoeba(folder: Path) -> Corpus:
    """Tatoeba English-French as packed by manythings.org: ``fra-eng.zip`` in ``folder``.

    Raises:
        CorpusError: the file is missing or is not that archive.
    """
    path = folder / "fra-eng.zip"
    try:
        with zipfile.ZipFile(path) as archive:
            names = [n for n in archive.namelist() if n.split("/")[-1] == "fra.txt" and "__MACOSX" not in n]
            if not names:
                raise CorpusError(f"{path}: not the Tatoeba English-French archive: no fra.txt in it")
            text = archive.read(names[0]).decode("utf-8-sig")
    except CorpusError:
        raise
    except _ZIP_ERRORS as error:
        raise CorpusError(f"{path}: not the Tatoeba English-French archive: {error}") from error
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    pairs, report = parse_pairs(line.split("\t") for line in lines)
    sides = _split(pairs)
    return Corpus(
        "tatoeba",
        "en",
        "fr",
        sides["train"],
        sides["development"],
        sides["test"],
        report,
        {path.name: _checksum(path)},
    )


MULTI30K_TESTS = {
    "multi30k-2016": "test_2016_flickr",
    "multi30k-2017": "test_2017_flickr",
    "multi30k-mscoco": "test_2017_mscoco",
    "multi30k-2018": "test_2018_flickr",
}


def _zip_sides(folder: Path, stem: str, source: str, target: str) -> tuple[list[str], list[str]]:
    left, right = (read_lines(folder / f"{stem}.{language}.gz") for language in (source, target))
    if len(left) != len(right):
        raise CorpusError(
            f"{folder / stem}: {len(left)} lines in {source} and {len(right)} in {target}; they must pair up"
        )
    return left, right


def load_multi30k(folder: Path, target_language: str = "fr") -> Corpus:
    """Multi30k captions (Elliott et al. 2016), English to ``fr`` or ``de``: ``train``, ``val`` and test 2016.

    Raises:
        CorpusError: a file is missing, or two sides differ in length.
    """
    if target_language not in ("fr", "de"):
        raise CorpusError(f"Multi30k has no {target_language!r}; use 'fr' or 'de'")
    sides: dict[str, list[Pair]] = {}
    files: dict[str, str] = {}
    report = Report()
    for name, stem in (("train", "train"), ("development", "val"), ("test", "test_2016_flickr")):
        left, right = _zip_sides(folder, stem, "en", target_language)
        sides[name], part = parse_pairs([a, b] for a, b in zip(left, right, strict=True))
        report.lines, report.kept = report.lines + part.lines, report.kept + part.kept
        report.empty += part.empty
        for language in ("en", target_language):
            files[f"{stem}.{language}.gz"] = _checksum(folder / f"{stem}.{language}.gz")
    for path in sorted(folder.glob("test_*.gz")):
        if path.name.split(".")[-2] in ("en", target_language):
            files[path.name] = _checksum(path)
    return Corpus(
        f"multi30k-en-{target_language}",
        "en",
        target_language,
        sides["train"],
        sides["development"],
        sides["test"],
        report,
        files,
    )


def load_file(path: Path, source_language: str, target_language: str) -> Corpus:
    """A user's own pairs, split like Tatoeba."""
    pairs, report = read_pairs(path)
    sides = _split(pairs)
    return Corpus(
        path.stem,
        source_language,
        target_language,
        sides["train"],
        sides["development"],
        sides["test"],
        report,
        {path.name: _checksum(path)},
    )


def group_references(name: str, pairs: Iterable[Pair]) -> TestSet:
    """Each source sentence once, with all of its references."""
    found: dict[str, list[str]] = {}
    for pair in pairs:
        found.setdefault(pair.source, []).append(pair.target)
    return TestSet(name, tuple(found), tuple(tuple(dict.fromkeys(v)) for v in found.values()))


def multi30k_test(folder: Path, name: str, target_language: str = "fr") -> tuple[TestSet, TestSet]:
    """One Multi30k test set twice: as published text, and with lowercased, normalised, tokenised references.

    Raises:
        CorpusError: there is no such test set, or its files are missing.
    """
    if name not in MULTI30K_TESTS:
        raise CorpusError(f"no test set {name!r}; known are {', '.join(MULTI30K_TESTS)}")
    stem = MULTI30K_TESTS[name]
    left, right = _zip_sides(folder, stem, "en", target_language)
    tokenised = read_lines(folder / f"{stem}.lc.norm.tok.{target_language}.gz")
    if len(tokenised) != len(left):
        raise CorpusError(
            f"{folder / stem}: {len(left)} sentences and {len(tokenised)} tokenised references; "
            f"they must pair up"
        )
    sources = tuple(normalise(line) for line in left)
    return (
        TestSet(name, sources, tuple((normalise(line),) for line in right)),
        TestSet(name, sources, tuple((line,) for line in tokenised)),
    )
