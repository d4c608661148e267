"""Attention Atlas: a small Transformer, trained from scratch, that you can look inside while it translates."""

__version__ = "0.1.0"
