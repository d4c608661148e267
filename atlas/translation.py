"""What the engine answers with, and what it refuses."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from atlas.errors import AtlasError
from atlas.text.tokenizer import Tokenizer, TokenizerError, normalise


class EmptySentence(AtlasError):
    """There is nothing to translate."""


class SentenceTooLong(AtlasError):
    """A sentence with more tokens than the model has positions."""


def read_sentence(
    sentence: str, tokenizer: Tokenizer, longest: int
) -> tuple[str, list[int], AtlasError | None]:
    """A sentence's NFC text, its ids with the end mark, and why it cannot be translated, if so.

    Args:
        longest: tokens that the model can read.
    """
    text = normalise(sentence)
    if not text.strip():
        return text, [], EmptySentence("the sentence is empty; type some words")
    try:
        ids = tokenizer.source(text)
    except TokenizerError as error:
        return text, [], error
    if len(ids) > longest:
        problem = f"the sentence has {len(ids):,} tokens; this model reads at most {longest:,}"
        return text, ids, SentenceTooLong(problem)
    return text, ids, None


@dataclass(frozen=True)
class Hypothesis:
    """One translation.

    ``ids`` and ``logprobs`` (nats) hold one entry for each token, the end mark included if it is
    ``finished``; ``logprob`` is their sum and ``score`` that sum after the length penalty.
    """

    text: str
    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    logprob: float
    score: float
    finished: bool

    def _repr_html_(self) -> str:
        """What a notebook shows: a table of one row."""
        return _table([self])


@dataclass(frozen=True)
class Translation:
    """What became of one sentence: its hypotheses, best first; ``note`` says why there is none, or a cut."""

    source: str
    hypotheses: tuple[Hypothesis, ...]
    note: str | None = None

    @property
    def text(self) -> str:
        """The best translation, empty if there is none."""
        return self.hypotheses[0].text if self.hypotheses else ""

    @property
    def score(self) -> float:
        """The best translation's score; not a number if there is none."""
        return self.hypotheses[0].score if self.hypotheses else float("nan")

    def _repr_html_(self) -> str:
        """What a notebook shows: the sentence, its hypotheses as a table, and the note, if any."""
        note = f"<p>{html.escape(self.note)}</p>" if self.note else ""
        return f"<p><b>{html.escape(self.source)}</b></p>{_table(self.hypotheses)}{note}"


def _table(hypotheses: Sequence[Hypothesis]) -> str:
    """Hypotheses as HTML, best first; what users and models wrote is escaped."""
    if not hypotheses:
        return ""
    titles = ("", "translation", "score", "log-probability", "tokens", "")
    rows = "".join(
        f"<tr><td>{place}</td><td style='text-align:left'>{html.escape(one.text)}</td>"
        f"<td>{one.score:.3f}</td><td>{one.logprob:.3f}</td><td>{len(one.ids)}</td>"
        f"<td>{'' if one.finished else 'cut at the limit'}</td></tr>"
        for place, one in enumerate(hypotheses, 1)
    )
    head = "".join(f"<th>{title}</th>" for title in titles)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
