"""What measured times depend on beside the code: the machine, and the versions of what ran."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_CPUINFO = Path("/proc/cpuinfo")


def processor() -> str:
    """The processor's name, as Linux gives it; elsewhere what Python knows."""
    if _CPUINFO.is_file():
        for line in _CPUINFO.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def versions(packages: Sequence[str]) -> dict[str, str]:
    """The version of each distribution that is installed; one that is not has no entry."""
    found = {}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def machine(device: Any = None, packages: Sequence[str] = ("torch",)) -> dict[str, Any]:
    """The machine and the versions, to be filed with every measurement.

    Args:
        device: a ``torch.device`` when something ran on one; threads are PyTorch's then.
        packages: distributions that took part.

    Returns:
        plain values; ``load`` is the average number of busy processes in the minute before.
    """
    told: dict[str, Any] = {"processor": processor(), "cores": os.cpu_count()}
    if device is not None:
        import torch

        told["device"] = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
        told["threads"] = torch.get_num_threads()
    told["load"] = round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None
    told["python"] = platform.python_version()
    return told | versions(("attention-atlas", *packages))


def use_threads(count: int | None) -> None:
    """Let PyTorch use ``count`` threads on the CPU; None leaves what it chose."""
    if count is not None:
        import torch

        torch.set_num_threads(count)


def wait(device: Any) -> None:
    """Until a ``torch.device`` has done everything that it was given."""
    import torch

    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()
