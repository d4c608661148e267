"""A trace: one run of the model on one sentence, and the paths that can be read from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from atlas.trace.errors import TraceError
from atlas.trace.pieces import Token, decode_pieces, label_tokens
from atlas.trace.schema import Header, Path, Search

#: Extra points whose first axis is the pass.
PASS_EXTRAS = frozenset(
    [
        "decoder.scores",
        "cross.scores",
        "decoder.q",
        "decoder.k",
        "decoder.v",
        "cross.q",
        "decoder.residual_norm",
        "logits",
    ]
)


@dataclass(frozen=True, eq=False)
class Trace:
    """A run of the model on one sentence.

    Attributes:
        header: where it comes from.
        source: the NFC sentence.
        source_tokens: S tokens of it, the end mark last.
        encoder: (L, H, S, S) float32, encoder self-attention.
        search: every candidate.
        hypotheses: (n,) int32 end nodes, best first, each finished or cut.
        vocabulary: target id -> piece, for every id in ``search``.
        special_ids: target ids of control tokens.
        end_id: the one that ends a hypothesis.
        extras: named points recorded on request; ``atlas.trace.validate.EXTRA_SHAPES`` lists them.
        rows_kept: ``"all"``, or ``"n-best"`` when only the rows of ``hypotheses`` were kept.
    """

    header: Header
    source: str
    source_tokens: tuple[Token, ...]
    encoder: NDArray[np.float32]
    search: Search
    hypotheses: NDArray[np.int32]
    vocabulary: Mapping[int, str]
    special_ids: frozenset[int]
    end_id: int
    extras: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    rows_kept: Literal["all", "n-best"] = "all"

    def ancestors(self, node: int) -> list[int]:
        """Node ids from the root to ``node``, both included.

        Raises:
            TraceError: there is no such node.
        """
        if not 0 <= node < len(self.search):
            raise TraceError(f"node {node} is not in this search, which has {len(self.search)} nodes")
        lineage: list[int] = []
        while node >= 0:
            lineage.append(int(node))
            node = int(self.search.parent[node])
        return lineage[::-1]

    def token_path(self, node: int) -> tuple[int, ...]:
        """Token ids from the first generated token to ``node``: names it across runs; empty for the root."""
        return tuple(int(self.search.token[member]) for member in self.ancestors(node)[1:])

    def node_for(self, tokens: Sequence[int]) -> int:
        """The node whose token path is ``tokens``.

        Raises:
            TraceError: the search never met that path.
        """
        node = 0
        for token in tokens:
            found = [child for child in self.search.children[node] if self.search.token[child] == token]
            if not found:
                raise TraceError(f"the search never met the token path {'.'.join(map(str, tokens))}")
            node = found[0]
        return node

    def target_tokens(self, node: int) -> tuple[Token, ...]:
        """Tokens from the start token to ``node``, both included, with spans in ``text(node)``."""
        ids = [int(self.search.token[member]) for member in self.ancestors(node)]
        return label_tokens(None, [self.vocabulary[number] for number in ids], ids, self.special_ids)

    def token(self, node: int) -> Token:
        """Token of ``node`` as the last of its own path."""
        return self.target_tokens(node)[-1]

    def text(self, node: int) -> str:
        """What the path to ``node`` spells, control tokens left out."""
        ids = [number for number in self.token_path(node) if number not in self.special_ids]
        return decode_pieces([self.vocabulary[number] for number in ids])

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """(N,) label of every node, as in ``token(node).label``, found without walking whole paths."""
        return tuple(
            label_tokens(None, *self._tail(node), self.special_ids)[-1].label
            for node in range(len(self.search))
        )

    def _tail(self, node: int) -> tuple[list[str], list[int]]:
        """Pieces and ids of the last few nodes, which may share a character of at most 4 bytes."""
        ids = [int(self.search.token[node])]
        size = 0
        node = int(self.search.parent[node])
        while node >= 0 and size < 3:
            ids.append(int(self.search.token[node]))
            if ids[-1] not in self.special_ids:
                size += len(self.vocabulary[ids[-1]])
            node = int(self.search.parent[node])
        ids.reverse()
        return [self.vocabulary[number] for number in ids], ids

    def path(self, node: int | None = None) -> Path:
        """Attention along the path to ``node`` (default: the best hypothesis), pruned nodes included.

        Raises:
            TraceError: no such node, or a row on its path was not kept.
        """
        node = int(self.hypotheses[0]) if node is None else node
        lineage = self.ancestors(node)
        nodes = np.array(lineage[1:], np.int32)
        rows = self.search.expanded[lineage[:-1]].astype(np.int32)
        if (rows < 0).any():
            raise TraceError(
                f"the attention of node {node} was not kept: this trace holds only that of its n-best paths"
            )
        tokens = self.target_tokens(node)
        length = len(nodes)

        def assemble(points: NDArray[np.float32], keys: int) -> NDArray[np.float32]:
            """(E, L, H, >= keys) -> (L, H, T, keys)"""
            return np.ascontiguousarray(points[rows, :, :, :keys].transpose(1, 2, 0, 3))

        sources = len(self.source_tokens)
        cross_scores, decoder_scores = self.extras.get("cross.scores"), self.extras.get("decoder.scores")
        return Path(
            nodes=nodes,
            rows=rows,
            inputs=tokens[:-1],
            outputs=tokens[1:],
            text=self.text(node),
            logprobs=self.search.logprob[nodes],
            cross=assemble(self.search.cross, sources),
            decoder=assemble(self.search.decoder, length),
            cross_scores=None if cross_scores is None else assemble(cross_scores, sources),
            decoder_scores=None if decoder_scores is None else assemble(decoder_scores, length),
        )

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of attention that the model has: of ``encoder``, ``decoder`` and ``cross`` those with a
        layer. A recurrent model has ``cross`` alone, or none.
        """
        layers = {
            "encoder": self.encoder.shape[0],
            "decoder": self.search.decoder.shape[1],
            "cross": self.search.cross.shape[1],
        }
        return tuple(kind for kind, count in layers.items() if count)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays in memory."""
        arrays = [self.encoder, self.hypotheses, *vars(self.search).values(), *self.extras.values()]
        return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))

    def with_n_best_rows_only(self) -> Trace:
        """The same search with the attention of the n-best paths alone; ``rows_kept`` says so."""
        wanted = sorted({member for node in self.hypotheses.tolist() for member in self.ancestors(node)})
        read = [node for node in wanted if self.search.expanded[node] >= 0]
        rows = self.search.expanded[read]
        expanded = np.full_like(self.search.expanded, -1)
        expanded[read] = np.arange(len(read), dtype=np.int32)
        search = self.search
        kept = replace(
            search,
            expanded=expanded,
            cross=search.cross[rows],
            decoder=search.decoder[rows],
            top_ids=search.top_ids[rows],
            top_logprobs=search.top_logprobs[rows],
        )
        extras = {
            name: points[rows] if name in PASS_EXTRAS else points for name, points in self.extras.items()
        }
        return replace(self, search=kept, extras=extras, rows_kept="n-best")

    def validate(self) -> None:
        """Check every promise of the schema.

        Raises:
            TraceError: one line naming the field that is wrong and how.
        """
        from atlas.trace.validate import validate

        validate(self)

    def save(self, target: str | PathLike[str] | BinaryIO) -> None:
        """Write one ``.npz`` file without pickle; see :mod:`atlas.trace.storage`."""
        from atlas.trace.storage import save

        save(self, target)

    def _repr_html_(self) -> str | None:
        """What a notebook shows: see :mod:`atlas.trace.notebook`."""
        from atlas.trace.notebook import trace_html

        return trace_html(self)

    @classmethod
    def load(cls, source: str | PathLike[str] | BinaryIO) -> Trace:
        """Read and validate such a file; the model is not needed.

        Raises:
            TraceError: the file is damaged, foreign, too large, or of another schema version.
        """
        from atlas.trace.storage import load

        return load(source)
