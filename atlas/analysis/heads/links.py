"""Where each query looks most, kept so that a corpus can be searched by word, distance and weight.

The measurement ``head_links`` of a bundle. For each kind k with L layers of H heads, uint8 ``k.key`` and
``k.weight`` ``(L, H, N)`` over the N queries of all sentences one after the other: the strongest key and its
weight in 255ths; of target tokens those that the decoder reads, the start token first. Facts: ``corpus``,
``sentences`` and the ``digest`` of the sample; its sentences are not in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from atlas.analysis.english import PRONOUNS
from atlas.analysis.heads.reading import KINDS, attention, batches, layers_of
from atlas.analysis.heads.sample import HeldOut
from atlas.analysis.heads.subject import Subject
from atlas.errors import AtlasError
from atlas.measurements import Measurement
from atlas.text.tokenizer import SPECIAL_IDS, START_ID, Tokenizer
from atlas.trace.pieces import label_tokens
from atlas.trace.views import Kind
from atlas.trace.words import word_groups

NAME = "head_links"
LONGEST_TEXT = 200
_MARKS = re.compile(r"[^\w\s]+")
CLASSES: Final[Mapping[str, Callable[[str], bool]]] = {
    "pronouns": lambda word: word in PRONOUNS,
    "punctuation": lambda word: bool(_MARKS.fullmatch(word)),
    "control": lambda word: word in ("<s>", "</s>"),
    "words": lambda word: any(character.isalpha() for character in word) and word not in ("<s>", "</s>"),
}
"""What can be asked for instead of a word: ``[pronouns]`` and so on, by closed lists."""


class SearchError(AtlasError):
    """A search that cannot be made."""


@dataclass(frozen=True)
class Match:
    """One query that looks where the search says.

    Attributes:
        sentence: its number in the sample.
        query, key: places of the tokens; of the decoder's own tokens the start token is 0.
        query_word, key_word: the words that they are part of.
        weight: of the key, to 1/255.
    """

    sentence: int
    query: int
    key: int
    query_word: str
    key_word: str
    weight: float

    @property
    def distance(self) -> int:
        """Places from the query to the key; negative looks back."""
        return self.key - self.query


def _wanted(text: str) -> Callable[[str], bool]:
    """Whether a word is one of those that were asked for, separated by spaces or commas; all if none was.

    Raises:
        SearchError: an unknown class, or a text that is too long.
    """
    if len(text) > LONGEST_TEXT:
        raise SearchError(f"a search of {len(text)} characters; at most {LONGEST_TEXT}")
    asked = [part for part in re.split(r"[,\s]+", text.lower()) if part]
    classes, words = [], set()
    for part in asked:
        if len(part) > 2 and part[0] == "[" and part[-1] == "]":
            if part[1:-1] not in CLASSES:
                known = ", ".join(f"[{name}]" for name in CLASSES)
                raise SearchError(f"{part} is no class of words; known are {known}")
            classes.append(CLASSES[part[1:-1]])
        else:
            words.add(part)

    def fits(word: str) -> bool:
        return not asked or word.lower() in words or any(one(word.lower()) for one in classes)

    return fits


@dataclass(frozen=True)
class Links:
    """The measurement ``head_links`` with the words of its sample, to be searched.

    Attributes:
        arrays: of the measurement.
        sources: for each sentence and each source token the word that it is part of.
        targets: the same of the target tokens that the decoder reads.
    """

    arrays: Mapping[str, NDArray[Any]]
    sources: Sequence[Sequence[str]]
    targets: Sequence[Sequence[str]]

    @classmethod
    def of(cls, measurement: Measurement, sample: HeldOut, tokenizer: Tokenizer) -> Links:
        """What :func:`measure` found in a sample.

        Raises:
            SearchError: it was measured on other sentences.
        """
        if measurement.facts["digest"] != sample.digest:
            raise SearchError(
                f"{measurement.name}: measured on other sentences than these of {sample.corpus}"
            )
        return cls(
            measurement.arrays,
            [words_of(tokenizer, ids) for ids in sample.source_ids],
            [words_of(tokenizer, (START_ID, *ids[:-1])) for ids in sample.target_ids],
        )

    def words(self, kind: Kind, sentence: int) -> tuple[Sequence[str], Sequence[str]]:
        """The word of each query and of each key."""
        source, target = self.sources[sentence], self.targets[sentence]
        return (source if kind == "encoder" else target), (target if kind == "decoder" else source)

    def search(
        self,
        kind: Kind,
        layer: int,
        head: int,
        *,
        query: str = "",
        key: str = "",
        least_distance: int = 0,
        least_weight: float = 0.0,
        limit: int = 50,
    ) -> list[Match]:
        """Queries whose strongest key is what is asked for, the largest weights first.

        Args:
            query: words, separated by spaces or commas, any case, or classes such as ``[pronouns]``;
                empty for any.
            key: the same of the key.
            least_distance: places between them, in either direction; of cross-attention between a target
                and a source place.
            least_weight: of the key.
            limit: most matches.

        Raises:
            SearchError: the search names an unknown class.
        """
        asks, answers = _wanted(query), _wanted(key)
        keys = self.arrays[f"{kind}.key"][layer, head]
        weights = self.arrays[f"{kind}.weight"][layer, head].astype(np.float64) / 255
        found, start = [], 0
        for sentence in range(len(self.sources)):
            queries, sources = self.words(kind, sentence)
            for place, word in enumerate(queries):
                weight, seen = float(weights[start + place]), int(keys[start + place])
                if weight < least_weight or abs(seen - place) < least_distance:
                    continue
                if asks(word) and answers(sources[seen]):
                    found.append(Match(sentence, place, seen, word, sources[seen], weight))
            start += len(queries)
        return sorted(found, key=lambda match: -match.weight)[:limit]


def words_of(tokenizer: Tokenizer, ids: Sequence[int]) -> list[str]:
    """For each token the word that it is part of; control tokens stand for themselves."""
    tokens = label_tokens(None, tokenizer.pieces(list(ids)), ids, SPECIAL_IDS)
    text = tokenizer.decode(list(ids))
    words = [""] * len(tokens)
    for group in word_groups(tokens, text):
        for member in group.members:
            words[member] = group.text
    return words


def measure(
    engine: Subject,
    sample: HeldOut,
    *,
    work: Path,
    report: Callable[[int, int], None] | None = None,
) -> Measurement:
    """The strongest key of every query in every head.

    Args:
        work: unused; this takes seconds.
        report: called with the sentences done and all of them.
    """
    del work
    layers, heads = layers_of(engine.model), engine.model.config.heads
    lengths = {
        "encoder": [len(ids) for ids in sample.source_ids],
        "decoder": [len(ids) for ids in sample.target_ids],
        "cross": [len(ids) for ids in sample.target_ids],
    }
    starts = {kind: np.cumsum([0, *found]) for kind, found in lengths.items()}
    arrays = {
        f"{kind}.{name}": np.zeros((layers[kind], heads, starts[kind][-1]), np.uint8)
        for kind in KINDS
        for name in ("key", "weight")
    }
    done = 0
    for batch in batches(sample, engine.model.device):
        for kind, weights in attention(engine.model, batch).items():
            weight, key = (part.cpu() for part in weights.max(-1))  # (B, L, H, Q)
            for row, number in enumerate(batch.numbers.tolist()):
                place = slice(starts[kind][number], starts[kind][number + 1])
                count = lengths[kind][number]
                arrays[f"{kind}.key"][..., place] = key[row, ..., :count]
                arrays[f"{kind}.weight"][..., place] = (weight[row, ..., :count].float() * 255).round()
        done += len(batch.numbers)
        if report is not None:
            report(done, len(sample))
    facts = {"corpus": sample.corpus, "sentences": len(sample), "digest": sample.digest}
    return Measurement(NAME, engine.hash, sample.command(engine.name), facts, arrays)


def summary(measurement: Measurement) -> list[str]:
    """How many queries can be searched."""
    arrays = measurement.arrays
    return [f"{kind}: {arrays[f'{kind}.key'].shape[-1]:,} queries in every head" for kind in KINDS]
