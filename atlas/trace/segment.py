"""Words of a sentence, found by character class alone (no language model, no dictionary).

A word is a run of letters, marks and digits. An apostrophe between two such runs belongs to the word
("didn't", "I'm", "aujourd'hui"), except after a French elision, which ends with its apostrophe ("l'" +
"animal", "qu'" + "il"). A run of punctuation or symbols, emoji included, is a word too. White space separates
words and is part of none.
"""

from __future__ import annotations

import unicodedata

APOSTROPHES = frozenset("'\u2019")
ELISIONS = frozenset(["c", "d", "j", "l", "m", "n", "s", "t", "qu", "jusqu", "lorsqu", "puisqu", "quoiqu"])

_SPACE, _WORD, _SYMBOL = range(3)


def word_spans(text: str) -> list[tuple[int, int]]:
    """Character spans ``[start, end)`` of the words of ``text``, in reading order, never overlapping."""
    classes = _classes(text)
    spans: list[tuple[int, int]] = []
    start = 0
    while start < len(text):
        if classes[start] == _SPACE:
            start += 1
            continue
        end = _run_end(classes, start)
        if classes[start] == _WORD:
            end = _past_apostrophes(text, classes, start, end)
        spans.append((start, end))
        start = end
    return spans


class WordCounter:
    """Numbers the words of a text in the order in which its pieces reach them."""

    def __init__(self, text: str) -> None:
        self._spans = word_spans(text)
        self._first = 0  # words before it end before every piece that is still to come
        self._current: int | None = None
        self._count = -1

    def index(self, start: int, end: int) -> int:
        """Word of the piece that spans ``[start, end)``: the one it shares most characters with.

        A piece of white space alone (or of the virtual space alone) is a word of its own.
        """
        while self._first < len(self._spans) and self._spans[self._first][1] <= start:
            self._first += 1
        best, shared = None, 0
        for number in range(self._first, len(self._spans)):
            low, high = self._spans[number]
            if low >= end:
                break
            if (common := min(end, high) - max(start, low)) > shared:
                best, shared = number, common
        if best is None or best != self._current:
            self._count += 1
            self._current = best
        return self._count


def _classes(text: str) -> list[int]:
    """One class a character; a mark takes the class of the character that it stands on."""
    classes: list[int] = []
    for character in text:
        major = unicodedata.category(character)[0]
        if character.isspace():
            classes.append(_SPACE)
        elif major == "M" and classes and classes[-1] != _SPACE:
            classes.append(classes[-1])
        else:
            classes.append(_WORD if major in "LMN" else _SYMBOL)
    return classes


def _run_end(classes: list[int], start: int) -> int:
    """End of the run of one class that begins at ``start``."""
    end = start
    while end < len(classes) and classes[end] == classes[start]:
        end += 1
    return end


def _past_apostrophes(text: str, classes: list[int], start: int, end: int) -> int:
    """End of the word whose first run of letters is ``[start, end)``, apostrophes considered."""
    while end + 1 < len(text) and text[end] in APOSTROPHES and classes[end + 1] == _WORD:
        if text[start:end].casefold() in ELISIONS:
            return end + 1
        end = _run_end(classes, end + 1)
    return end
