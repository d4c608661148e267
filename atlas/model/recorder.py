"""A notebook that a forward pass writes into, when one is handed in."""

from __future__ import annotations

from collections.abc import Iterable

from torch import Tensor


class Recorder:
    """Named tensors of one forward pass.

    A recorder is passed as an argument, so two people who use one model at once never see each other's
    numbers.
    Names are ``{side}.{layer}.{block}.{what}`` with ``side`` encoder or decoder and ``block`` self, cross
    or ffn:

    ==================================  =====================  ==========================================
    name                                shape                  what
    ==================================  =====================  ==========================================
    ``encoder.0.self.weights``          ``(B, H, S, S)``       attention after softmax, before dropout
    ``encoder.0.self.scores``           ``(B, H, S, S)``       ``q k^T / sqrt(K)``, hidden keys at ``-inf``
    ``encoder.0.self.q`` (``k``, ``v``) ``(B, H, S, K)``       queries, keys, values
    ``decoder.0.self.weights``          ``(B, H, T, T)``       the same for decoder self-attention
    ``decoder.0.cross.weights``         ``(B, H, T, S)``       and for attention to the source
    ``encoder.embedded``                ``(B, S, D)``          residual stream after the embedding
    ``encoder.0.self.residual``         ``(B, S, D)``          residual stream after a sub-layer
    ``encoder.memory``                  ``(B, S, D)``          the encoder's output
    ==================================  =====================  ==========================================

    Args:
        wanted: the kinds of point to keep (the last part of a name, such as ``weights``); everything when
            None.
    """

    def __init__(self, wanted: Iterable[str] | None = None) -> None:
        self._wanted = None if wanted is None else frozenset(wanted)
        self.points: dict[str, Tensor] = {}

    def __call__(self, name: str, value: Tensor) -> None:
        """Keep a detached reference to ``value`` under ``name`` if this kind of point is wanted."""
        if self._wanted is None or name.rpartition(".")[2] in self._wanted:
            self.points[name] = value.detach()

    def __getitem__(self, name: str) -> Tensor:
        return self.points[name]

    def layers(self, side: str, block: str, what: str, count: int) -> list[Tensor]:
        """The same point of layers 0 to ``count - 1``."""
        return [self.points[f"{side}.{layer}.{block}.{what}"] for layer in range(count)]
