"""Recurrent encoder-decoders, the Transformer's ancestors: with and without attention, one contract."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from atlas.errors import AtlasError
from atlas.model.attention import weigh
from atlas.model.layers import fast_dropout
from atlas.model.recorder import Recorder
from atlas.model.recurrence import Recurrence
from atlas.model.recurrent_config import RecurrentConfig

CROSS = "decoder.0.cross"


@dataclass
class RecurrentState:
    """Everything that one more decoding step needs. Rows are hypotheses, a sentence's rows side by side.

    ``memory``: ``(rows, M)``, of the decoder's cell. ``source``: ``(B, S, R)``, the encoder's output;
    ``keys``: ``(B, S, R)``, what is compared with the state; ``mask``: ``(B, S)``, True at real source
    tokens; ``summary``: ``(B, R)``, the whole sentence in one vector. Nothing of the source is copied for
    each beam. ``length``: tokens read so far.
    """

    memory: Tensor
    source: Tensor
    keys: Tensor
    mask: Tensor
    summary: Tensor
    beams: int = 1
    length: int = 0

    def expand(self, beams: int) -> None:
        """Turn one row for each sentence into ``beams`` equal rows."""
        self.memory = self.memory.repeat_interleave(beams, 0)
        self.beams = beams

    def reorder(self, rows: Tensor) -> None:
        """Make row ``i`` continue what row ``rows[i]`` was; ``rows``: ``(B * beams,)``."""
        self.memory = self.memory[rows]

    def keep(self, sentences: Tensor) -> None:
        """Drop every sentence but ``sentences`` (``(B',)``, positions in the batch), with all of its rows."""
        self.memory = self.memory.unflatten(0, (-1, self.beams))[sentences].flatten(0, 1)
        for name in ("source", "keys", "mask", "summary"):
            setattr(self, name, getattr(self, name)[sentences])


class RecurrentTranslator(nn.Module):
    """A bidirectional encoder and a decoder that reads the source in one of three ways.

    ``none`` (Cho et al. 2014): the encoder's last states are one vector c; every decoder step reads c beside
    the previous word. ``additive`` (Bahdanau et al. 2015, section 3.1): before each step, the state s asks
    ``e_j = v^T tanh(W s + U h_j)`` and the step reads the weighted sum of the h_j. ``dot`` (Luong et al.
    2015, section 3.1, without input feeding): after each step, ``e_j = s^T h_j``. In all three, the next word
    is read from state, context and previous word together (Bahdanau et al. 2015, appendix A.2.2, with tanh
    for maxout) through an embedding-wide layer.

    As with :class:`~atlas.model.transformer.Transformer`, nothing about a pass stays on the module.
    """

    position_table = None

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        self.config = config
        width, state, attention = config.width, config.state, config.attention
        self.source_embedding = nn.Embedding(config.vocabulary, width)
        self.target_embedding = (
            self.source_embedding if config.tied else nn.Embedding(config.vocabulary, width)
        )
        self.unembedding = (
            self.source_embedding.weight
            if config.tied
            else nn.Parameter(torch.empty(config.vocabulary, width))
        )
        for matrix in {
            id(w): w for w in (self.source_embedding.weight, self.target_embedding.weight, self.unembedding)
        }.values():
            nn.init.normal_(matrix, std=width**-0.5)
        self.encoder = Recurrence(config.cell, width, state // 2, chains=2)
        self.decoder = Recurrence(config.cell, width if attention == "dot" else width + state, state)
        self.first_state = nn.Linear(state, state)
        self.readout = nn.Linear(2 * state + width, width)
        for layer in (self.first_state, self.readout):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
        if attention == "additive":
            self.ask = nn.Linear(state, state, bias=False)
            self.offer = nn.Linear(state, state)
            self.score = nn.Linear(state, 1, bias=False)
            for layer in (self.ask, self.offer, self.score):
                nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(self.offer.bias)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.source_embedding.weight.device

    def _embed(self, embedding: nn.Embedding, ids: Tensor, recorder: Recorder | None, side: str) -> Tensor:
        """``(B, T)`` ids -> ``(B, T, D)``, times sqrt(D) as in the Transformer."""
        stream = embedding(ids) * self.config.width**0.5
        if self.training:
            stream = fast_dropout(stream, self.config.dropout)
        return stream if recorder is None else recorder(f"{side}.embedded", stream)

    def encode(
        self,
        source: Tensor,
        mask: Tensor,
        recorder: Recorder | None = None,
        *,
        positions: Tensor | None = None,
    ) -> Tensor:
        """Read the source in both directions.

        Args:
            source: ``(B, S)`` ids; mask: ``(B, S)``, True at real tokens, which come first.

        Returns:
            ``(B, S, R)``: at each token, the state of what reads forward and of what reads backward.

        Raises:
            AtlasError: ``positions`` were given; a recurrent model has none.
        """
        if positions is not None:
            raise AtlasError("a recurrent model has no position encoding to replace")
        stream = self._embed(self.source_embedding, source, recorder, "encoder")
        both = torch.stack((stream, stream.flip(1)))
        seen = torch.stack((mask, mask.flip(1)))
        zero = stream.new_zeros(2, len(source), self.encoder.state)
        states = self.encoder(self.encoder.project(both), self.encoder.start(zero), seen)
        forward, backward = self.encoder.hidden(states)
        memory = torch.cat((forward, backward.flip(1)), -1)
        if self.training:
            memory = fast_dropout(memory, self.config.dropout)
        return memory if recorder is None else recorder("encoder.memory", memory)

    def summary(self, memory: Tensor, mask: Tensor) -> Tensor:
        """The sentence in one vector: where each direction ended, ``(B, S, R)`` -> ``(B, R)``."""
        half = self.encoder.state
        last = mask.sum(1) - 1
        rows = torch.arange(len(memory), device=memory.device)
        return torch.cat((memory[rows, last, :half], memory[:, 0, half:]), -1)

    def start(self, memory: Tensor, mask: Tensor) -> RecurrentState:
        """Make ready to decode; what the source offers is computed here, once.

        Args:
            memory: ``(B, S, R)`` from :meth:`encode`; mask: ``(B, S)``.
        """
        summary = self.summary(memory, mask)
        keys = self.offer(memory) if self.config.attention == "additive" else memory
        first = self.decoder.start(torch.tanh(self.first_state(summary))[None])[0]
        return RecurrentState(first, memory, keys, mask, summary)

    def begin(
        self,
        source: Tensor,
        mask: Tensor,
        recorder: Recorder | None = None,
        *,
        positions: Tensor | None = None,
    ) -> RecurrentState:
        """Read the source and make ready to decode: :meth:`encode`, then :meth:`start`."""
        return self.start(self.encode(source, mask, recorder, positions=positions), mask)

    def _look(self, hidden: Tensor, state: RecurrentState, recorder: Recorder | None) -> Tensor:
        """The context of states ``(B, Q, R)``, Q of them for each sentence -> ``(B, Q, R)``."""
        if self.config.attention == "none":
            return state.summary[:, None].expand(-1, hidden.shape[1], -1)
        if self.config.attention == "dot":
            scores = hidden @ state.keys.transpose(1, 2)
        else:
            mixed = self.ask(hidden)[:, :, None] + state.keys[:, None]
            scores = self.score(torch.tanh(mixed)).squeeze(-1)
        seen = state.mask[:, None, None]
        return weigh(scores[:, None], state.source[:, None], seen, recorder, CROSS)[:, 0]

    def _advance(
        self, gates: Tensor, state: RecurrentState, recorder: Recorder | None
    ) -> tuple[Tensor, Tensor]:
        """One step of every row: what is known to enter the gates, ``(rows, G R)`` -> hidden state and
        context, ``(rows, R)`` each; the state's memory moves on.
        """
        if self.config.attention == "additive":
            before = self.decoder.hidden(state.memory).unflatten(0, (-1, state.beams))
            context = self._look(before, state, recorder).flatten(0, 1)
            gates = gates + context @ self.decoder.input_weight[0, self.config.width :]
        state.memory = self.decoder.step(gates[None], state.memory[None])[0]
        hidden = self.decoder.hidden(state.memory)
        if self.config.attention != "additive":
            after = hidden.unflatten(0, (-1, state.beams))
            context = self._look(after, state, recorder).flatten(0, 1)
        return hidden, context

    def _gates(self, stream: Tensor, state: RecurrentState) -> Tensor:
        """What enters the decoder's gates and is known before the first step: the words, and without
        attention the sentence's one vector; ``(rows, T, D)`` -> ``(rows, T, G R)``.
        """
        weight = self.decoder.input_weight[0]
        gates = stream @ weight[: self.config.width] + self.decoder.input_bias[0]
        if self.config.attention == "none":
            summary = state.summary @ weight[self.config.width :]
            gates = gates + summary.repeat_interleave(state.beams, 0)[:, None]
        return gates

    def _output(self, hidden: Tensor, context: Tensor, stream: Tensor, recorder: Recorder | None) -> Tensor:
        """State, context and previous word -> ``(..., D)``, to be compared with every word."""
        output = torch.tanh(self.readout(torch.cat((hidden, context, stream), -1)))
        if self.training:
            output = fast_dropout(output, self.config.dropout)
        return output if recorder is None else recorder("decoder.output", output)

    def decode(
        self,
        target: Tensor,
        memory: Tensor,
        mask: Tensor,
        recorder: Recorder | None = None,
        *,
        target_mask: Tensor | None = None,
    ) -> Tensor:
        """Read a whole target (teacher forcing); a step sees only what came before it, by construction.

        Args:
            target: ``(B, T)`` ids, beginning with the start token.
            memory: ``(B, S, R)`` from :meth:`encode`; mask: ``(B, S)``, True at real source tokens.
            target_mask: not needed: padding comes last.

        Returns:
            ``(B, T, D)``, to be read by :meth:`logits`.
        """
        del target_mask
        state = self.start(memory, mask)
        stream = self._embed(self.target_embedding, target, recorder, "decoder")
        gates = self._gates(stream, state)
        if self.config.attention != "additive":
            hidden = self.decoder.hidden(self.decoder(gates[None], state.memory[None])[0])
            return self._output(hidden, self._look(hidden, state, recorder), stream, recorder)
        hiddens, contexts, parts = [], [], []
        for entering in gates.unbind(1):
            part = None if recorder is None else recorder.part()
            hidden, context = self._advance(entering, state, part)
            hiddens.append(hidden)
            contexts.append(context)
            parts.append(part)
        if recorder is not None:
            recorder.gather([part for part in parts if part is not None])
        return self._output(torch.stack(hiddens, 1), torch.stack(contexts, 1), stream, recorder)

    def step(self, tokens: Tensor, state: RecurrentState, recorder: Recorder | None = None) -> Tensor:
        """Read the next tokens of every row and predict what follows.

        Args:
            tokens: ``(rows, T)`` ids, T >= 1.

        Returns:
            ``(rows, V)`` logits after the last of them.
        """
        stream = self._embed(self.target_embedding, tokens, recorder, "decoder")
        for entering in self._gates(stream, state).unbind(1):
            hidden, context = self._advance(entering, state, recorder)
        state.length += tokens.shape[1]
        return self.logits(self._output(hidden, context, stream[:, -1], recorder))

    def logits(self, stream: Tensor) -> Tensor:
        """``(..., D)`` -> ``(..., V)``: unnormalised log-probabilities of the next token."""
        return linear(stream, self.unembedding)

    def forward(
        self, source: Tensor, mask: Tensor, target: Tensor, recorder: Recorder | None = None
    ) -> Tensor:
        """``(B, S)`` source ids and ``(B, T)`` target ids -> ``(B, T, V)`` logits."""
        return self.logits(self.decode(target, self.encode(source, mask, recorder), mask, recorder))
