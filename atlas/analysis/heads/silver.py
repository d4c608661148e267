"""Silver alignments: links between the words of a sentence and of its translation, by a statistical aligner.

eflomal (Östling and Tiedemann 2016) reads the pairs in both directions. Links that both directions find are
sure, those of either possible. No person made or checked them.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from subprocess import SubprocessError
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atlas.analysis.heads.costs import write_whole
from atlas.analysis.heads.sample import HeldOut
from atlas.errors import AtlasError
from atlas.text.corpora import Pair

ALIGNER = "eflomal 2.0.0"
_WORD = re.compile(r"\w+'(?=\w)|\w+|[^\w\s]")

Link = tuple[int, int]
"""A source word and a target word, from 0."""
Links = frozenset[Link]


class AlignmentError(AtlasError):
    """Alignments that cannot be made."""


class NoAligner(AlignmentError):
    """The statistical aligner is not installed."""


@dataclass(frozen=True)
class Silver:
    """Reference alignments of one sentence; the sure ones are possible too."""

    sure: Links
    possible: Links


def spans(text: str) -> list[tuple[int, int]]:
    """The words of a text as spans of characters: runs of letters and digits, with an apostrophe that joins
    them to what follows (``l'`` ``homme``), and every mark by itself."""
    return [match.span() for match in _WORD.finditer(text)]


def words_in(text: str) -> list[str]:
    """The words that :func:`spans` finds."""
    return [text[start:end] for start, end in spans(text)]


def symmetrise(forward: str, backward: str) -> Silver:
    """Both directions of one sentence in Pharaoh's format (``0-0 1-2``): sure where they agree.

    Raises:
        AlignmentError: a line is in another format.
    """
    try:
        one, other = (
            frozenset((int(s), int(t)) for s, t in (link.split("-") for link in line.split()))
            for line in (forward, backward)
        )
    except ValueError as error:
        raise AlignmentError(f"not links such as 0-0 1-2: {error}") from error
    return Silver(one & other, one | other)


def silver_of(pairs: Sequence[Pair], training: Sequence[Pair]) -> list[Silver]:
    """Alignments of ``pairs`` by eflomal, which reads them after the ``training`` pairs.

    Raises:
        NoAligner: eflomal is not installed.
        AlignmentError: it ended with an error.
    """
    try:
        eflomal: Any = import_module("eflomal")
    except ImportError as error:
        raise NoAligner(
            "alignments need eflomal and a C compiler to build it: pip install eflomal==2.0.0"
        ) from error
    everything = [*training, *pairs]
    sides = [
        [" ".join(words_in(text)) + "\n" for text in side]
        for side in ([pair.source for pair in everything], [pair.target for pair in everything])
    ]
    with TemporaryDirectory() as folder:
        files = [str(Path(folder) / name) for name in ("forward", "backward")]
        try:
            eflomal.Aligner().align(*sides, links_filename_fwd=files[0], links_filename_rev=files[1])
            forward, backward = (Path(file).read_text().split("\n")[: len(everything)] for file in files)
        except (OSError, RuntimeError, ValueError, SubprocessError) as error:
            raise AlignmentError(f"eflomal ended with an error: {error}") from error
    start = len(training)
    return [symmetrise(*both) for both in zip(forward[start:], backward[start:], strict=True)]


def pack(links: Iterable[Links]) -> NDArray[np.uint16]:
    """``(N, 3)``: sentence, source word, target word."""
    rows = [(number, *link) for number, found in enumerate(links) for link in sorted(found)]
    return np.array(rows, np.uint16).reshape(-1, 3)


def unpack(sure: NDArray[np.uint16], rest: NDArray[np.uint16], sentences: int) -> list[Silver]:
    """What :func:`pack` made of the sure links and of the possible ones that are not sure."""
    sets: list[tuple[set[Link], set[Link]]] = [(set(), set()) for _ in range(sentences)]
    for which, rows in enumerate((sure, rest)):
        for number, source, target in rows.tolist():
            sets[number][which].add((source, target))
    return [Silver(frozenset(one), frozenset(one | other)) for one, other in sets]


def kept_silver(work: Path, sample: HeldOut, training: Sequence[Pair]) -> list[Silver]:
    """:func:`silver_of` the sample, from ``work`` where an earlier run left it there."""
    file = work / "silver.npz"
    if file.is_file():
        try:
            with np.load(file, allow_pickle=False) as stored:
                return unpack(stored["sure"], stored["rest"], len(sample))
        except (OSError, ValueError, KeyError, IndexError, EOFError, zipfile.BadZipFile) as error:
            raise AlignmentError(f"{file}: cannot be read ({error}); run again with --restart") from error
    silver = silver_of(sample.pairs, training)
    write_whole(file, sure=pack(s.sure for s in silver), rest=pack(s.possible - s.sure for s in silver))
    return silver
