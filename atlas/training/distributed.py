"""One process, or several started by ``torchrun``."""

from __future__ import annotations

import os
from dataclasses import dataclass

import torch
from torch import distributed


@dataclass(frozen=True)
class Processes:
    """This process (``rank``) among ``world``."""

    rank: int = 0
    world: int = 1

    @property
    def first(self) -> bool:
        """The one that measures, saves and talks."""
        return self.rank == 0

    def sum(self, value: float) -> float:
        """The sum of a number over all processes."""
        if self.world == 1:
            return value
        device = "cuda" if distributed.get_backend() == "nccl" else "cpu"
        total = torch.tensor(value, dtype=torch.float64, device=device)
        distributed.all_reduce(total)
        return float(total)

    def any(self, value: bool) -> bool:
        """Does any process say yes? All get the same answer."""
        return self.sum(float(value)) > 0

    def wait(self) -> None:
        """Go on when every process has come this far."""
        if self.world > 1:
            distributed.barrier()

    def leave(self) -> None:
        """Called by every process once nothing is left to be done together."""
        if self.world > 1:
            distributed.destroy_process_group()

    @classmethod
    def join(cls, device: torch.device) -> Processes:
        """Join the group that ``torchrun`` announces (gloo on a CPU, NCCL on CUDA), or stand alone."""
        world = int(os.environ.get("WORLD_SIZE", "1"))
        if world == 1:
            return cls()
        if not distributed.is_initialized():
            if device.type == "cuda":
                torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
            distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
        return cls(distributed.get_rank(), world)
