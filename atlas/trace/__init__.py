"""What a run of the model looked like: plain dataclasses of NumPy arrays, saved to and read from one file.

This package stands at the bottom of the house: it imports NumPy and no other part of ours but the error base.
Any PyTorch model can feed the pictures by building a :class:`Trace`, and every picture can be tested without
a model.
"""

from atlas.trace.errors import TraceError
from atlas.trace.pieces import Token, decode_pieces, label_tokens, visible
from atlas.trace.schema import FATES, SCHEMA_VERSION, Fate, Header, Path, Search
from atlas.trace.trace import Trace

__all__ = [
    "FATES", "SCHEMA_VERSION", "Fate", "Header", "Path", "Search", "Token", "Trace", "TraceError",
    "decode_pieces", "label_tokens", "visible",
]  # fmt: skip
