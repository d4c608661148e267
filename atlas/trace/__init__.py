"""What a run of the model looked like: plain dataclasses of NumPy arrays, saved to and read from one file.

This package stands at the bottom of the house: it imports NumPy and no other part of ours but the error base.
Any PyTorch model can feed the pictures by building a :class:`Trace`, and every picture can be tested without
a model.
"""

from atlas.trace.errors import TraceError
from atlas.trace.pieces import Token, decode_pieces, label_tokens, visible
from atlas.trace.schema import FATES, SCHEMA_VERSION, Fate, Header, Path, Search
from atlas.trace.trace import Trace
from atlas.trace.views import View, view
from atlas.trace.words import Group, piece_groups, word_groups

__all__ = [
    "FATES", "SCHEMA_VERSION", "Fate", "Group", "Header", "Path", "Search", "Token", "Trace", "TraceError",
    "View", "decode_pieces", "label_tokens", "piece_groups", "view", "visible", "word_groups",
]  # fmt: skip
