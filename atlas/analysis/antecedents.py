"""Third-person pronouns of English sentences and the one noun that each can stand for, found by word lists.

No parser and no model is asked, so that everybody can check the rule by reading it (lists in
:mod:`atlas.analysis.english`):

1. Words are those of :func:`atlas.trace.segment.word_spans`; ``it's`` counts as ``it``. A sentence gives at
   most one example: its first third-person pronoun. Where that one stands for nothing ("it is raining", "it
   is hard to ...", "it seems"), the sentence gives none.
2. The candidates are all words before the pronoun that agree with it:

   - ``he`` (``him his himself``) and ``she`` (``her hers herself``): a name or a noun of its sex (``MALE``,
     ``FEMALE``), a person of either sex (``PERSONS``: "doctor", "child"), or an animal (``ANIMALS``);
   - ``they`` (``them their theirs themselves``): a plural of ``MANY`` ("people", "boys"), or the head of a
     plural phrase ("two red trucks");
   - ``it`` (``its itself``): an animal, or the head of a singular phrase that names no person and no time.

   A phrase is a determiner, then adjectives, then its head. What follows the head must show that the phrase
   has ended: a mark such as a comma, a pronoun, a function word, or a word in ``-ing``, ``-ed``, ``-s`` or
   ``-ly``. A phrase that does not end so ("the tennis ball") is not understood; the sentence is not used.
3. There is exactly one candidate, and at least two other words before the pronoun to look at instead.

What the lists miss costs examples, not correctness. Where the rule errs, the pronoun means something else
than the noun of the right kind that stands before it.
"""

from __future__ import annotations

from dataclasses import dataclass

from atlas.analysis.english import (
    ADJECTIVES,
    ANIMALS,
    DETERMINERS,
    DUMMY_VERBS,
    DUMMY_WORDS,
    FEMALE,
    FORMS,
    FUNCTION,
    MALE,
    MANY,
    PERSONS,
    PLURAL_ONLY,
    TIMES,
)
from atlas.trace.segment import APOSTROPHES, word_spans


@dataclass(frozen=True)
class Example:
    """A sentence with a pronoun and its only possible antecedent.

    Attributes:
        sentence: NFC text.
        pronoun: ``it``, ``he``, ``she`` or ``they``, whichever form stands there.
        spans: ``(W, 2)`` character spans of the sentence's words.
        at: number of the pronoun's word.
        antecedent: number of the antecedent's word, before ``at``.
        content: numbers of the content words before the pronoun besides the antecedent.
        words: numbers of all words of the sentence, punctuation left out.
    """

    sentence: str
    pronoun: str
    spans: tuple[tuple[int, int], ...]
    at: int
    antecedent: int
    content: tuple[int, ...]
    words: tuple[int, ...]

    @property
    def distance(self) -> int:
        """How many places the antecedent stands before the pronoun, words and punctuation marks counted."""
        return self.at - self.antecedent

    @property
    def earlier(self) -> int:
        """How many words stand before the pronoun, punctuation left out."""
        return sum(word < self.at for word in self.words)


def find_example(sentence: str) -> Example | None:
    """The example that a sentence gives by the rule of this module; None if it gives none."""
    spans = tuple(word_spans(sentence))
    words = [_plain(sentence[start:end]) for start, end in spans]
    place = next((number for number, word in enumerate(words) if _kind(word)), None)
    if place is None or place == 0:
        return None
    pronoun = _kind(words[place])
    assert pronoun is not None
    if pronoun == "it" and _dummy(words, place):
        return None
    found = _candidates(words, place, pronoun)
    if found is None or len(found) != 1:
        return None
    (antecedent,) = found
    kept = tuple(number for number, word in enumerate(words) if word[0].isalnum())
    content = tuple(n for n in kept if n < place and n != antecedent and words[n] not in FUNCTION)
    example = Example(sentence, pronoun, spans, place, antecedent, content, kept)
    return example if example.earlier >= 3 else None


def _plain(word: str) -> str:
    """Lowercase, with a straight apostrophe."""
    return "".join("'" if character in APOSTROPHES else character for character in word).lower()


def _kind(word: str) -> str | None:
    """The pronoun that a word is a form of."""
    stem = word.partition("'")[0]
    return next((name for name, forms in FORMS.items() if stem in forms), None)


def _dummy(words: list[str], place: int) -> bool:
    """Whether ``it`` stands for nothing."""
    after = words[place + 1 : place + 5]
    if "'" in words[place]:
        return not DUMMY_WORDS.isdisjoint(after)
    return (
        bool(after)
        and after[0] in DUMMY_VERBS
        and (after[0] not in ("is", "was") or not DUMMY_WORDS.isdisjoint(after))
    )


def _candidates(words: list[str], place: int, pronoun: str) -> list[int] | None:
    """Numbers of the words before ``place`` that the pronoun can stand for; None if a phrase is unclear."""
    if pronoun in ("he", "she"):
        own = MALE if pronoun == "he" else FEMALE
        return [number for number in range(place) if words[number] in own | PERSONS | ANIMALS]
    found: list[int] = []
    number = 0
    while number < place:
        word = words[number]
        if word in (ANIMALS if pronoun == "it" else MANY):
            found.append(number)
        elif word in DETERMINERS:
            head = number + 1
            while head < place and words[head] in ADJECTIVES:
                head += 1
            if (
                head >= place
                or words[head] in DETERMINERS
                or len(words[head]) < 2
                or not words[head][0].isalpha()
            ):
                number = max(head, number + 1)
                continue
            plural = _plural(words[head], word)
            if words[head] not in MALE | FEMALE | PERSONS | TIMES and words[head] not in FUNCTION:
                if not _ended(words, head):
                    return None
                if plural == (pronoun == "they"):
                    found.append(head)
            elif plural and pronoun == "they" and words[head] in MANY:
                found.append(head)
            number = head
        number += 1
    return found


def _plural(word: str, determiner: str) -> bool:
    singular_ends = word.endswith(("ss", "us", "is"))
    return determiner in PLURAL_ONLY or word in MANY or (word.endswith("s") and not singular_ends)


def _ended(words: list[str], head: int) -> bool:
    """Whether the word after ``head`` shows that a phrase ends with ``head``."""
    after = words[head + 1]
    return (
        after[:1] in set(',;:.!?)"')
        or _kind(after) is not None
        or after in FUNCTION
        or after.endswith(("ing", "ed", "s", "ly"))
    )
