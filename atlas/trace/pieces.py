"""From byte-level pieces to what a reader sees: text, character spans, words and labels.

A byte-level BPE writes each byte as one printable character (the alphabet of GPT-2, Radford et al. 2019): a
space is "Ġ", and a character outside ASCII may be split over several pieces. Everything here works from the
bytes of the pieces alone, so the source and any hypothesis are labelled by the same code. One virtual space
stands before every sentence; it belongs to the first piece and to no character of the text.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from atlas.trace.errors import TraceError
from atlas.trace.segment import WordCounter


def _byte_alphabet() -> dict[str, int]:
    """Character -> byte, as GPT-2 defines it: printable Latin-1 as itself, the other 68 from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + n): byte for n, byte in enumerate(hidden)}


CHARACTER_TO_BYTE = _byte_alphabet()
BYTE_TO_CHARACTER = {byte: character for character, byte in CHARACTER_TO_BYTE.items()}

_NAMED = {
    " ": "␣", "\t": "⇥", "\n": "↵", "\r": "␍", "\x7f": "␡",
    "\u00a0": "‹NBSP›", "\u202f": "‹NNBSP›", "\u00ad": "‹SHY›", "\u034f": "‹CGJ›", "\u200b": "‹ZWSP›",
    "\u200c": "‹ZWNJ›", "\u200d": "‹ZWJ›", "\u200e": "‹LRM›", "\u200f": "‹RLM›",
    "\u2060": "‹WJ›", "\ufeff": "‹BOM›",
}  # fmt: skip
# The replacement mark, Hangul fillers, Khmer inherent vowels, blank Braille: letters and signs without ink.
_UNSEEN = frozenset("\ufffd\u115f\u1160\u3164\uffa0\u17b4\u17b5\u2800")


@dataclass(frozen=True)
class Token:
    """One piece and what it stands for.

    Attributes:
        id: number in the vocabulary of its side.
        piece: the piece as the tokenizer writes it, such as ``"Ġanimal"`` or ``"</s>"``.
        text: ``sentence[start:end]``; of a special token its name.
        start, end: span in characters of the sentence; empty for a special token. Each piece of a split
            character spans that whole character. The space before a word is not part of the span.
        word: index of its word in the sentence, counted from 0; -1 for a special token.
        special: whether it is a control token.
        label: what a picture shows: white space and zero-width characters visible, split characters numbered.
    """

    id: int
    piece: str
    text: str
    start: int
    end: int
    word: int
    special: bool
    label: str


class _Unit(NamedTuple):
    """One character of the text, or one run of bytes that spell none."""

    first: int  # byte span
    last: int
    start: int  # character span in the decoded text
    text: str
    valid: bool

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def encode_text(text: str) -> str:
    """``text`` in the byte alphabet, one printable character a byte, without the virtual space."""
    return "".join(BYTE_TO_CHARACTER[byte] for byte in text.encode())


def piece_bytes(piece: str) -> bytes:
    """The bytes that a byte-level piece (never a control token) stands for.

    Raises:
        TraceError: a character of the piece is not in the byte alphabet.
    """
    try:
        return bytes([CHARACTER_TO_BYTE[character] for character in piece])
    except KeyError as error:
        raise TraceError(f"piece {piece!r} is not byte-level: {error.args[0]!r} stands for no byte") from None


def decode_pieces(pieces: Sequence[str]) -> str:
    """The text that byte-level pieces (no control tokens) spell, without the virtual space.

    Bytes that spell no character, such as those of a character cut in the middle, read as ``‹F0 9F›``.
    """
    data = b"".join(map(piece_bytes, pieces))
    return "".join(unit.text for unit in _units(data[data.startswith(b" ") :]))


def visible(text: str) -> str:
    """``text`` with every character that the eye would miss written out: ``"a \\n"`` becomes ``"a␣↵"``."""
    if text.isascii() and text.isprintable() and " " not in text:
        return text
    shown: list[str] = []
    before = "Cc"  # category of the character before
    for character in text:
        category = unicodedata.category(character)
        if character in _NAMED:
            shown.append(_NAMED[character])
        elif character < " ":
            shown.append(chr(0x2400 + ord(character)))  # Unicode's control pictures
        elif category[0] in "CZ" or character in _UNSEEN:
            shown.append(f"‹U+{ord(character):04X}›")
        elif unicodedata.name(character, "").startswith("VARIATION SELECTOR"):
            shown.append(character if before[0] in "NPS" or before == "Lo" else f"‹U+{ord(character):04X}›")
        elif category[0] == "M" and before[0] in "CZ":
            shown.append(f"◌{character}")
        else:
            shown.append(character)
        before = category
    return "".join(shown)


def label_tokens(
    text: str | None, pieces: Sequence[str], ids: Sequence[int], special_ids: Collection[int]
) -> tuple[Token, ...]:
    """Tokens with spans, words and labels.

    Args:
        text: the NFC sentence that the pieces must spell, or ``None`` for whatever they spell (a hypothesis).
        pieces: (T,) pieces, control tokens included.
        ids: (T,) their ids.
        special_ids: ids of control tokens. A typed ``"</s>"`` has other ids and is text.

    Raises:
        TraceError: the pieces do not spell ``text``, or one is not byte-level.
    """
    if len(pieces) != len(ids):
        raise TraceError(f"{len(pieces)} pieces have {len(ids)} ids")
    chunks = [
        b"" if number in special_ids else piece_bytes(piece)
        for piece, number in zip(pieces, ids, strict=True)
    ]
    data = b"".join(chunks)
    virtual = int(data.startswith(b" "))
    units = _units(data[virtual:])
    spelt = "".join(unit.text for unit in units)
    if text is not None and spelt != text:
        raise TraceError(f"the pieces spell {spelt!r} and not the text {text!r}")
    bounds = _bounds(chunks, virtual)
    owners = _owners(bounds, units)
    words = WordCounter(spelt)
    tokens: list[Token] = []
    for index, (piece, number) in enumerate(zip(pieces, ids, strict=True)):
        if number in special_ids:
            place = tokens[-1].end if tokens else 0
            tokens.append(Token(number, piece, piece, place, place, -1, True, piece))
            continue
        held = _without_leading_space(_held(bounds[index], units))
        place = tokens[-1].end if tokens else 0
        start, end = (held[0].start, held[-1].end) if held else (place, place)
        label = _label(index, bounds[index], held, owners) if held else _NAMED[" "]
        tokens.append(
            Token(number, piece, spelt[start:end], start, end, words.index(start, end), False, label)
        )
    return tuple(tokens)


def _units(data: bytes) -> list[_Unit]:
    """Characters of UTF-8 bytes; bytes that spell none are gathered into runs, written ``‹F0 9F›``."""
    units: list[_Unit] = []
    place = start = broken = 0

    def close() -> None:
        nonlocal start
        if broken < place:
            units.append(_Unit(broken, place, start, f"‹{data[broken:place].hex(' ').upper()}›", False))
            start = units[-1].end

    while place < len(data):
        lead = data[place]
        size = 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
        try:
            character = data[place : place + size].decode()
        except UnicodeDecodeError:
            place += 1
            continue
        close()
        units.append(_Unit(place, place + size, start, character, True))
        start += 1
        place = broken = place + size
    close()
    return units


def _bounds(chunks: Sequence[bytes], virtual: int) -> list[tuple[int, int]]:
    """Byte span of each chunk in the text, the virtual space taken off."""
    bounds, place = [], -virtual
    for chunk in chunks:
        bounds.append((max(place, 0), max(place + len(chunk), 0)))
        place += len(chunk)
    return bounds


def _held(bound: tuple[int, int], units: Sequence[_Unit]) -> list[_Unit]:
    """Units of which a byte lies in ``bound``, found by bisection."""
    low, high = 0, len(units)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if units[middle].last <= bound[0] else (low, middle)
    held = []
    while low < len(units) and units[low].first < bound[1]:
        held.append(units[low])
        low += 1
    return held


def _without_leading_space(held: list[_Unit]) -> list[_Unit]:
    """The space before a word goes without saying; white space alone stays."""
    if len(held) > 1 and held[0].text == " " and not all(unit.text.isspace() for unit in held):
        return held[1:]
    return held


def _owners(bounds: Sequence[tuple[int, int]], units: Sequence[_Unit]) -> dict[int, list[int]]:
    """First byte of each split unit -> the pieces that share it."""
    owners: dict[int, list[int]] = {}
    for index, bound in enumerate(bounds):
        for unit in _held(bound, units):
            if unit.first < bound[0] or unit.last > bound[1]:
                owners.setdefault(unit.first, []).append(index)
    return owners


def _label(index: int, bound: tuple[int, int], held: Sequence[_Unit], owners: dict[int, list[int]]) -> str:
    """Whole characters as they are, parts as ``🦊 1/4``, bytes that spell nothing as ``‹F0›``."""
    shown: list[str] = []
    whole = ""
    for unit in held:
        if unit.valid and unit.first not in owners:
            whole += unit.text
            continue
        if whole:
            shown.append(visible(whole))
            whole = ""
        if unit.valid:
            sharers = owners[unit.first]
            shown.append(f"{visible(unit.text)} {sharers.index(index) + 1}/{len(sharers)}")
        else:
            own = unit.text[1:-1].split(" ")[max(bound[0] - unit.first, 0) : bound[1] - unit.first]
            shown.append(f"‹{' '.join(own)}›")
    return " ".join([*shown, visible(whole)] if whole else shown)
