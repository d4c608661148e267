"""Attention Atlas: a small Transformer, trained from scratch, to be looked into while it translates."""

__version__ = "0.1.0"
