"""A notebook that a forward pass writes into, and may be told to go on from, when one is handed in."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import torch
from torch import Tensor

from atlas.errors import AtlasError

Edit = Callable[[Tensor], Tensor]
"""What a point becomes: a tensor of any shape in, one of the same shape out."""


def point(kind: str, layer: int, what: str = "") -> str:
    """The name of a point of one attention sub-layer, such as ``decoder.2.cross.weights``; without ``what``,
    that of the sub-layer.

    Args:
        kind: ``encoder``, ``decoder`` or ``cross``.
        layer: counted from 0.
    """
    side, block = ("decoder", "cross") if kind == "cross" else (kind, "self")
    return f"{side}.{layer}.{block}" + (f".{what}" if what else "")


class EditError(AtlasError):
    """An edit of a point that the model does not have."""


def check_edits(edits: Iterable[str], made: Collection[str]) -> None:
    """See that every edit was made.

    Raises:
        EditError: naming the first that was not: the model has no such point.
    """
    for name in edits:
        if name not in made:
            raise EditError(f"nothing was changed at {name!r}: this model has no such point")


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
    ``encoder.0.self.heads``            ``(B, H, S, K)``       weighted sums of values, before W^O
    ``encoder.looked_up``               ``(B, S, D)``          rows of the embedding table
    ``encoder.scaled``                  ``(B, S, D)``          the same times sqrt(D)
    ``encoder.embedded``                ``(B, S, D)``          plus positions: the residual stream begins
    ``encoder.0.self.input``            ``(B, S, D)``          what a sub-layer reads (normed if pre-norm)
    ``encoder.0.ffn.hidden``            ``(B, S, F)``          the feed-forward units, after the activation
    ``encoder.0.self.change``           ``(B, S, D)``          what a sub-layer adds
    ``encoder.0.self.sum``              ``(B, S, D)``          the stream plus the change
    ``encoder.0.self.residual``         ``(B, S, D)``          the sum, normed if post-norm
    ``encoder.memory``                  ``(B, S, D)``          the encoder's output
    ``decoder.output``                  ``(B, T, D)``          what is multiplied with the vocabulary
    ==================================  =====================  ==========================================

    Args:
        wanted: the kinds of point to keep (the last part of a name, such as ``weights``); everything when
            None.
        edits: by name of a point, what it becomes before it is kept and before the model goes on with it.
        made: the names of edits that were made are added to it; several recorders may share one.
    """

    def __init__(
        self,
        wanted: Iterable[str] | None = None,
        edits: Mapping[str, Edit] | None = None,
        made: set[str] | None = None,
    ) -> None:
        self._wanted = None if wanted is None else frozenset(wanted)
        self._edits = dict(edits or {})
        self._made = set() if made is None else made
        self.points: dict[str, Tensor] = {}

    def __call__(self, name: str, value: Tensor) -> Tensor:
        """Edit ``value`` if an edit of this name was given, keep a detached reference to it if this kind of
        point is wanted, and return what the model is to go on with.
        """
        if name in self._edits:
            value = self._edits[name](value)
            self._made.add(name)
        if self.wants(name.rpartition(".")[2]):
            self.points[name] = value.detach()
        return value

    def wants(self, what: str) -> bool:
        """Whether this kind of point (the last part of a name) is kept."""
        return self._wanted is None or what in self._wanted

    def part(self) -> Recorder:
        """An empty recorder with the same wishes and edits, for one step of a pass made of steps."""
        return Recorder(self._wanted, self._edits, self._made)

    def gather(self, parts: Sequence[Recorder]) -> None:
        """Keep the points of steps as those of one pass, put together along the axis of time: the last but
        one (queries before keys, time before width).
        """
        for name in parts[0].points:
            self.points[name] = torch.cat([part.points[name] for part in parts], -2)

    def __getitem__(self, name: str) -> Tensor:
        return self.points[name]

    def layers(self, side: str, block: str, what: str, count: int) -> list[Tensor]:
        """The same point of layers 0 to ``count - 1``."""
        return [self.points[f"{side}.{layer}.{block}.{what}"] for layer in range(count)]
