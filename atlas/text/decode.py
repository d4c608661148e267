"""Bytes of an uploaded text file to text, with the encoding found and said.

No character is ever replaced by U+FFFD: bytes that the encoding cannot read become `\\xNN`, behind a mark
that lets the reader of a row know (`UNDECODABLE`). The order of the questions, from certain to likely:

1. a byte-order mark;
2. zeros in every second byte: UTF-16 without a mark;
3. valid UTF-8, or UTF-8 but for a few damaged lines;
4. Western text in Windows-1252: every high byte is a letter or sign that Western languages use, where they
   use it. Statistics cannot tell this in a file with three accents, and this is what old spreadsheets
   write;
5. what `charset-normalizer` finds most likely among the encodings that text files really have.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from dataclasses import dataclass

from atlas.errors import AtlasError

UNDECODABLE = "\U0010fffe"
"""Stands before the `\\xNN` of bytes that could not be read: a noncharacter, never part of a text."""

_SAMPLE_BYTES = 64_000
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8", "UTF-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32-be", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16"),
)
_NOT_TEXT = (
    (b"PK\x03\x04", "a ZIP archive or a spreadsheet"),
    (b"\xd0\xcf\x11\xe0", "an old or password-protected Office file"),
    (b"%PDF", "a PDF file"),
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"\x1f\x8b", "a gzip archive"),
)
_LEGACY_CODECS = (
    *("cp1252", "cp1250", "cp1251", "koi8_r", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258"),
    *("mac_roman", "cp850", "cp932", "gb18030", "big5", "euc_jp", "cp949"),
)
_WESTERN_LETTERS = set("àáâãäåæçèéêëìíîïñòóôõöøœùúûüýÿßðþÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØŒÙÚÛÜÝŸÐÞªº")
_WESTERN_SIGNS = set("\xa0«»“”‘’„‚‹›…–—•·¿¡€£¥¢§©®™°±²³µ¶¼½¾×÷†‡´¨")
_INSIDE_WORDS = set("’‘–—·\xa0…")


class FileProblem(AtlasError):
    """An uploaded file cannot be read, or a table cannot be written: one line saying which and why."""


@dataclass(frozen=True)
class Decoded:
    """A file's text (`UNDECODABLE` before each escaped byte), its encoding, and how that was found."""

    text: str
    encoding: str
    note: str


def decode(name: str, data: bytes) -> Decoded:
    """Read the bytes of a text file.

    Args:
        name: the file's name, for messages.
        data: its bytes.

    Raises:
        FileProblem: the bytes are no text (an archive, a picture), or no encoding fits them.
    """
    for magic, kind in _NOT_TEXT:
        if data.startswith(magic):
            raise FileProblem(f"{name} is not a text file: it begins like {kind}.")
    for mark, codec, label in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            text = _escape_decode(data[len(mark) :], codec)
            return Decoded(
                text, label, f"Encoding: {label} (said by the file's byte-order mark, which was removed)."
            )
    if b"\x00" in data:
        utf16 = _unmarked_utf16(data)
        if utf16 is None:
            raise FileProblem(f"{name} is not a text file: it contains zero bytes.")
        return Decoded(
            _escape_decode(data, utf16), "UTF-16", "Encoding: UTF-16 (detected, no byte-order mark)."
        )
    if data.isascii():
        return Decoded(data.decode("ascii"), "UTF-8", "Encoding: UTF-8 (plain ASCII).")
    if _is_utf8(data):
        return Decoded(_escape_decode(data, "utf-8"), "UTF-8", "Encoding: UTF-8.")
    codec = _single_byte_codec(name, data)
    label = _label(codec)
    return Decoded(_escape_decode(data, codec), label, f"Encoding: {label} (detected), converted to Unicode.")


def _escape_bytes(error: UnicodeError) -> tuple[str, int]:
    """Codec error handler: undecodable bytes become a mark and `\\xNN`."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    lost = error.object[error.start : error.end]
    return UNDECODABLE + "".join(f"\\x{byte:02x}" for byte in lost), error.end


codecs.register_error("atlas.escape", _escape_bytes)


def _escape_decode(data: bytes, codec: str) -> str:
    return data.decode(codec, errors="atlas.escape")


def _unmarked_utf16(data: bytes) -> str | None:
    """The byte order of UTF-16 without a mark, seen by where the zeros of its ASCII characters stand."""
    sample = data[:_SAMPLE_BYTES]
    first, second = sample[0::2].count(0), sample[1::2].count(0)
    half = max(1, len(sample) // 2)
    if second / half > 0.3 and first / half < 0.05:
        return "utf-16-le"
    if first / half > 0.3 and second / half < 0.05:
        return "utf-16-be"
    return None


def _is_utf8(data: bytes) -> bool:
    """Whether the lines with high bytes are UTF-8, but for fewer damaged ones than good ones.

    Text in another encoding hardly ever forms a valid UTF-8 sequence by accident, so good lines are strong
    evidence.
    """
    good = damaged = 0
    for line in re.split(rb"[\r\n]+", data):
        if not line.isascii():
            try:
                line.decode("utf-8")
                good += 1
            except UnicodeDecodeError:
                damaged += 1
    return good > damaged


def _single_byte_codec(name: str, data: bytes) -> str:
    """The most likely legacy encoding of bytes that are not Unicode."""
    import charset_normalizer

    lines = [line for line in re.split(rb"[\r\n]+", data) if not line.isascii()]
    sample = b"\n".join(lines)[:_SAMPLE_BYTES]
    matches = list(charset_normalizer.from_bytes(sample, cp_isolation=list(_LEGACY_CODECS)))
    best = min(
        matches,
        key=lambda match: (match.chaos - match.coherence / 3, _LEGACY_CODECS.index(match.encoding)),
        default=None,
    )
    if _reads_as_western(sample):
        western = [match.coherence for match in matches if match.encoding == "cp1252"]
        if best is None or not western or best.coherence <= max(western):
            return "cp1252"
    if best is None:
        raise FileProblem(f"{name}: the text encoding was not recognised; save the file as UTF-8.")
    return best.encoding


def _reads_as_western(sample: bytes) -> bool:
    """Whether the bytes, read as Windows-1252, look like a Western European language.

    Every character above ASCII must be a letter or sign that these languages use, a sign must not stand
    between two letters ("caf‚s" is another encoding's "cafés"), and no word has three such letters in a row
    (as every word of Russian or Greek would).
    """
    try:
        text = sample.decode("cp1252")
    except UnicodeDecodeError:
        return False
    for position, character in enumerate(text):
        if character.isascii() or character in _WESTERN_LETTERS or character in _INSIDE_WORDS:
            continue
        if character not in _WESTERN_SIGNS:
            return False
        if text[position - 1 : position].isalpha() and text[position + 1 : position + 2].isalpha():
            return False
    return all(sum(map(str.isalpha, run)) < 3 for run in re.findall(r"[^\x00-\x7f]+", text))


def _label(codec: str) -> str:
    """The name that people know an encoding by."""
    if codec.startswith("cp125"):
        return f"Windows-{codec[2:]}"
    return codecs.lookup(codec).name.upper().replace("_", "-")


def problem_in(text: str) -> str | None:
    """Why a text is damaged, if it is: undecodable bytes, an old U+FFFD, a lone surrogate."""
    if UNDECODABLE in text:
        return "undecodable bytes, shown as \\xNN"
    if "\ufffd" in text:
        return "a character was lost (U+FFFD) before the upload"
    if any(unicodedata.category(character) == "Cs" for character in text):
        return "half a character (a lone surrogate), shown as \\uNNNN"
    return None


def shown(text: str) -> str:
    """A damaged text in characters that can be written: surrogates and U+FFFD escaped, the mark gone."""
    text = text.replace(UNDECODABLE, "").replace("\ufffd", "\\ufffd")
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
