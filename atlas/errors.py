"""The root of every error that a user may see."""

from __future__ import annotations

import re

_NOT_ONE_LINE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_LONGEST = 2_000


class AtlasError(ValueError):
    """Wrong input, said in one clear line: what was wrong, where, and what would be right."""

    def __str__(self) -> str:
        """The message. It is one line that any terminal shows, whatever was quoted in it: names of files and
        messages of other libraries hold line ends, escape sequences and half characters too.
        """
        return one_line(super().__str__())


def one_line(text: str) -> str:
    """A text without control characters and line ends, in characters that can be written, of a length that
    can be read.
    """
    text = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return _NOT_ONE_LINE.sub(" ", text).encode("utf-8", "backslashreplace").decode()
