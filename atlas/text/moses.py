"""Text as the published Multi30k scores want it: lowercased, normalised, tokenised as Moses does.

The rules are those of the scripts ``normalize-punctuation`` and ``tokenizer`` of Moses (Koehn et al. 2007)
for English, French and German, with the part of their lists of abbreviations that lowercased text can meet.
"""

from __future__ import annotations

import re

from atlas.errors import AtlasError

LANGUAGES = ("en", "fr", "de")

_Rules = tuple[tuple[re.Pattern[str], str], ...]


def _rules(*pairs: tuple[str, str]) -> _Rules:
    return tuple((re.compile(pattern), replacement) for pattern, replacement in pairs)


_SPACE = r"[ \u00a0\u202f]"
_NORMALISE = _rules(
    (r"\(", " ("),
    (r"\)", ") "),
    (r" +", " "),
    (r"\) ([.!:?;,])", r")\1"),
    (r"\( ", "("),
    (r" \)", ")"),
    (r"(\d) %", r"\1%"),
    (r" ([:;])", r"\1"),
    (r"`", "'"),
    (r"''", ' " '),
    (r"[„“”]", '"'),
    (r"–", "-"),
    (r"—", " - "),
    (r"´", "'"),
    (r"([a-zA-Z])[‘’]([a-zA-Z])", r"\1'\2"),
    (r"[‘‚]", "'"),
    (r"’", '"'),
    (r"…", "..."),
    (rf"{_SPACE}?«{_SPACE}?", ' "'),
    (rf"{_SPACE}?»{_SPACE}?", '" '),
    (r"[\u00a0\u202f]([%:?!;])", r"\1"),
    (r"[\u00a0\u202f]", " "),
    (r" +", " "),
)
_QUOTED = {
    "en": _rules((r'"([,.]+)', r'\1"')),
    "fr": _rules((r',"', '",'), (r'(\.+)"(?!\s*<)', r'"\1')),
}
_APOSTROPHES = {
    "en": _rules(
        (r"(?<![^\W\d_])'(?![^\W\d_])", " ' "),
        (r"(?<![^\W_])'(?=[^\W\d_])", " ' "),
        (r"(?<=[^\W\d_])'(?![^\W\d_])", " ' "),
        (r"(?<=[^\W\d_])'(?=[^\W\d_])", " '"),
        (r"(?<=\d)'(?=s)", " '"),
    ),
    "fr": _rules(
        (r"(?<![^\W\d_])'", " ' "),
        (r"(?<=[^\W\d_])'(?![^\W\d_])", " ' "),
        (r"(?<=[^\W\d_])'(?=[^\W\d_])", "' "),
    ),
    "de": _rules((r"'", " ' ")),
}
_SEPARATE = _rules(
    (r"([^\w\s.'`,\-]|_)", r" \1 "),
    (r"(?<!\d),", " , "),
    (r",(?!\d)", " , "),
)
_FRENCH = """
art ann apr av auj lib boul ca cf chap contr dir éd env al etc ex fasc fém fig fr hab ibid id inf loc masc ms
pl pp sec sq sqq svp tél vol
"""
_ABBREVIATIONS = {
    "en": frozenset[str](),
    "fr": frozenset(_FRENCH.split()),
    "de": frozenset(str(number) for number in range(100)),
}
"""Words that keep their full stop; in German numbers, which are ordinals with one."""
_DOTS = re.compile(r"\.{2,}")
_ESCAPES = str.maketrans(
    {
        "&": "&amp;",
        "|": "&#124;",
        "<": "&lt;",
        ">": "&gt;",
        "'": "&apos;",
        '"': "&quot;",
        "[": "&#91;",
        "]": "&#93;",
    }
)


def _apply(rules: _Rules, text: str) -> str:
    for pattern, replacement in rules:
        text = pattern.sub(replacement, text)
    return text


def lowercased_tokens(text: str, language: str) -> str:
    """Lowercase, normalise and tokenise one sentence; tokens have one space between them, signs are escaped.

    Args:
        text: a sentence as it is written.
        language: one of :data:`LANGUAGES`.

    Raises:
        AtlasError: another language.
    """
    if language not in LANGUAGES:
        raise AtlasError(f"tokenised scores exist for {', '.join(LANGUAGES)}, not for {language!r}")
    text = _apply(_NORMALISE, text.lower())
    text = _apply(_QUOTED["en" if language == "en" else "fr"], text)
    text = _apply(_SEPARATE, f" {text} ")
    text = _DOTS.sub(lambda dots: f" {dots.group()} ", text)
    words = _apply(_APOSTROPHES[language], text).split()
    return " ".join(_full_stop(words, place, language) for place in range(len(words))).translate(_ESCAPES)


def _full_stop(words: list[str], place: int, language: str) -> str:
    """A word, its full stop set apart unless it belongs to the word."""
    word = words[place]
    stem = word[:-1]
    if not word.endswith(".") or not stem or set(stem) == {"."}:
        return word
    abbreviation = stem in _ABBREVIATIONS[language] or ("." in stem and any(map(str.isalpha, stem)))
    following = words[place + 1] if place + 1 < len(words) else ""
    return word if abbreviation or following[:1].islower() else f"{stem} ."
