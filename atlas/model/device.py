"""Where a model runs."""

from __future__ import annotations

import os

import torch

from atlas.errors import AtlasError


class DeviceError(AtlasError):
    """A device that was asked for and is not there."""


def pick_device(name: str | None = None) -> torch.device:
    """The device to run on: ``name``, else the environment variable ``ATLAS_DEVICE``, else CUDA, then MPS,
    then CPU.

    Raises:
        DeviceError: the device that was named does not exist here.
    """
    wanted = name or os.environ.get("ATLAS_DEVICE") or ""
    if not wanted:
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(wanted)
    except RuntimeError as error:
        raise DeviceError(f"no such device: {wanted!r}; use cuda, cuda:0, mps or cpu") from error
    available = {
        "cpu": True,
        "cuda": torch.cuda.is_available() and (device.index or 0) < torch.cuda.device_count(),
        "mps": torch.backends.mps.is_available(),
    }
    if not available.get(device.type, False):
        raise DeviceError(
            f"the device {wanted!r} is not available on this machine; use cpu, or leave ATLAS_DEVICE unset"
        )
    return device
