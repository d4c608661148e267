"""A joint byte-level byte-pair encoding: nothing is unknown, and every token knows its characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

from tokenizers import Regex, decoders, models, pre_tokenizers, trainers
from tokenizers import Tokenizer as _Backend

from atlas.errors import AtlasError

PAD, START, END = "<pad>", "<s>", "</s>"
PAD_ID, START_ID, END_ID = 0, 1, 2
SPECIAL_IDS = (PAD_ID, START_ID, END_ID)

# A word with the space before it, an elided word with its apostrophe (l', qu'), one digit, a run of
# symbols, or space.
_SPLIT = r" ?\p{L}+['’](?=\p{L})| ?\p{L}+| ?\p{N}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


class TokenizerError(AtlasError):
    """A tokenizer file that this project did not write, or damaged."""


def normalise(text: str) -> str:
    """NFC: "é" typed as one code point or as two is the same text. Offsets refer to what this returns."""
    return unicodedata.normalize("NFC", text)


def _prepared(text: str) -> str:
    """NFC, with the space before it; raises TokenizerError for half a character (a lone surrogate)."""
    text = " " + normalise(text)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise TokenizerError(
            f"the text holds half a character (a lone surrogate, place {error.start})"
        ) from error
    return text


class Tokenizer:
    """Byte-level BPE (Sennrich et al. 2016; bytes as in Radford et al. 2019) with one vocabulary for both
    languages.

    One space is put before every text, so that a word has the same pieces wherever it stands; decoding
    takes exactly one
    away. Control tokens typed by a user are text: the ids 0, 1, 2 never come out of :meth:`encode`.
    """

    def __init__(self, backend: _Backend) -> None:
        for token, number in ((PAD, PAD_ID), (START, START_ID), (END, END_ID)):
            if backend.token_to_id(token) != number:
                raise TokenizerError(
                    f"the tokenizer must hold {token} as id {number}; it says {backend.token_to_id(token)}"
                )
        backend.encode_special_tokens = True
        backend.no_padding()
        backend.no_truncation()
        self._backend = backend

    @classmethod
    def train(cls, texts: Iterable[str], size: int) -> Tokenizer:
        """Learn ``size`` pieces (256 bytes and 3 control tokens among them) from texts of both languages."""
        backend = _Backend(models.BPE())
        backend.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(_SPLIT), behavior="isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
        backend.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=size,
            special_tokens=[PAD, START, END],
            show_progress=False,
            min_frequency=2,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        )
        backend.train_from_iterator((_prepared(text) for text in texts), trainer)
        return cls(backend)

    @classmethod
    def load(cls, path: Path) -> Tokenizer:
        """Read ``tokenizer.json``.

        Raises:
            TokenizerError: the file is missing, unreadable or not ours.
        """
        try:
            return cls.from_json(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise TokenizerError(f"{path}: cannot be read as a tokenizer: {error}") from error
        except TokenizerError as error:
            raise TokenizerError(f"{path}: {error}") from error

    @classmethod
    def from_json(cls, text: str) -> Tokenizer:
        """Build from the text of a ``tokenizer.json``."""
        try:
            backend = _Backend.from_str(text)
        except Exception as error:  # the library raises bare Exception
            raise TokenizerError(f"not a tokenizer: {error}") from error
        return cls(backend)

    def to_json(self) -> str:
        """The text of ``tokenizer.json``."""
        return self._backend.to_str()

    def __len__(self) -> int:
        return self._backend.get_vocab_size()

    def encode(self, text: str) -> list[int]:
        """Ids of ``text`` (normalised here), without control tokens.

        Raises:
            TokenizerError: the text holds a lone surrogate, which is no character.
        """
        return self._backend.encode(_prepared(text), add_special_tokens=False).ids

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """:meth:`encode` for many texts at once."""
        prepared = [_prepared(text) for text in texts]
        return [item.ids for item in self._backend.encode_batch_fast(prepared, add_special_tokens=False)]

    def source(self, text: str) -> list[int]:
        """What the encoder reads: the pieces and the end mark."""
        return [*self.encode(text), END_ID]

    def piece(self, token: int) -> str:
        """The vocabulary's name of an id, such as ``Ġdog``.

        Raises:
            TokenizerError: there is no such id.
        """
        piece = self._backend.id_to_token(token) if 0 <= token < len(self) else None
        if piece is None:
            raise TokenizerError(f"no token has the id {token}; ids go from 0 to {len(self) - 1}")
        return piece

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """:meth:`piece` for several ids."""
        return [self.piece(token) for token in ids]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids, control tokens left out; the exact inverse of :meth:`encode` for NFC text.

        Ids that do not form whole characters (a model may stop inside one) keep their bytes as ``‹F0 9F›``.
        """
        from atlas.trace.pieces import decode_pieces

        return decode_pieces([self.piece(token) for token in ids if token not in SPECIAL_IDS])
