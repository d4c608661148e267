"""Which words two sentences do not share."""

from __future__ import annotations

from difflib import SequenceMatcher

MarkedWords = list[tuple[str, bool]]
"""Words in order; ``True`` marks one that the other sentence does not have in that place."""


def word_differences(left: str, right: str) -> tuple[MarkedWords, MarkedWords]:
    """Split two sentences at white space and mark the words outside their longest common runs.

    The alignment is the matching of Ratcliff and Obershelp (``difflib``) over words, so a word that moved is
    marked on one side or both, and a repeated word is not matched twice.

    Returns:
        the words of ``left`` and of ``right``, each with its mark.
    """
    words = left.split(), right.split()
    same: tuple[set[int], set[int]] = set(), set()
    for block in SequenceMatcher(None, *words, autojunk=False).get_matching_blocks():
        same[0].update(range(block.a, block.a + block.size))
        same[1].update(range(block.b, block.b + block.size))
    marked = [
        [(word, i not in known) for i, word in enumerate(side)]
        for side, known in zip(words, same, strict=True)
    ]
    return marked[0], marked[1]
