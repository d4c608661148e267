"""Gated recurrent cells, one step and whole sequences, one direction and two."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from atlas.model.recurrent_config import Cell

GATES: dict[Cell, int] = {"gru": 3, "lstm": 4}


class Recurrence(nn.Module):
    """N independent chains of gated cells that run side by side (two for a bidirectional encoder).

    A chain's memory is one tensor ``(N, B, M)``: the hidden state, and for an LSTM the cell state behind it
    (M is R, or 2 R). What the inputs contribute to the gates is computed for all steps at once, outside the
    loop over time; only what depends on the state is inside.

    The order of gates and of biases is that of ``torch.nn.GRU`` and ``torch.nn.LSTM``.
    """

    def __init__(self, cell: Cell, inputs: int, state: int, chains: int = 1) -> None:
        super().__init__()
        self.cell: Cell = cell
        self.state = state
        gates = GATES[cell] * state
        self.input_weight = nn.Parameter(torch.empty(chains, inputs, gates))
        self.input_bias = nn.Parameter(torch.zeros(chains, 1, gates))
        self.state_weight = nn.Parameter(torch.empty(chains, state, gates))
        self.state_bias = nn.Parameter(torch.zeros(chains, 1, gates))
        for weight, initialise in (
            (self.input_weight, nn.init.xavier_uniform_),
            (self.state_weight, nn.init.orthogonal_),
        ):
            for chain in weight.data:
                for block in chain.split(state, dim=1):
                    initialise(block)

    def project(self, inputs: Tensor) -> Tensor:
        """What inputs add to the gates, for any number of steps: ``(N, B, T, I)`` -> ``(N, B, T, G R)``."""
        batch, length = inputs.shape[1:3]
        flat = torch.baddbmm(self.input_bias, inputs.flatten(1, 2), self.input_weight)
        return flat.unflatten(1, (batch, length))

    def start(self, hidden: Tensor) -> Tensor:
        """The memory that begins with a hidden state, ``(N, B, R)`` -> ``(N, B, M)``; an LSTM's cell state
        begins at zero.
        """
        return hidden if self.cell == "gru" else torch.cat((hidden, torch.zeros_like(hidden)), -1)

    def hidden(self, memory: Tensor) -> Tensor:
        """The hidden state in a memory: ``(..., M)`` -> ``(..., R)``."""
        return memory[..., : self.state]

    def step(self, projected: Tensor, memory: Tensor) -> Tensor:
        """One step: gates' inputs ``(N, B, G R)`` and memory ``(N, B, M)`` -> the next memory."""
        hidden = self.hidden(memory)
        recurrent = torch.baddbmm(self.state_bias, hidden, self.state_weight)
        if self.cell == "gru":
            sizes = (2 * self.state, self.state)
            (own_gates, own), (other_gates, other) = projected.split(sizes, -1), recurrent.split(sizes, -1)
            reset, update = torch.sigmoid(own_gates + other_gates).chunk(2, -1)
            new = torch.tanh(own + reset * other)
            return new + update * (hidden - new)
        enter, forget, new, leave = (projected + recurrent).chunk(4, -1)
        cell = torch.sigmoid(forget) * memory[..., self.state :] + torch.sigmoid(enter) * torch.tanh(new)
        return torch.cat((torch.sigmoid(leave) * torch.tanh(cell), cell), -1)

    def forward(self, projected: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
        """All steps.

        Args:
            projected: ``(N, B, T, G R)`` from :meth:`project`.
            memory: ``(N, B, M)`` to begin with.
            mask: ``(N, B, T)``, True at real steps; at others the memory stays as it is.

        Returns:
            ``(N, B, T, M)``, the memory after each step.
        """
        after = []
        for index, inputs in enumerate(projected.unbind(2)):
            moved = self.step(inputs, memory)
            memory = moved if mask is None else torch.where(mask[:, :, index, None], moved, memory)
            after.append(memory)
        return torch.stack(after, 2)
