"""Freed memory is reused: counted in pages that the system had to clear, not in time."""

from __future__ import annotations

import subprocess
import sys

import pytest

from atlas.memory import keep_freed_memory

PAGES = """
import resource, sys
from atlas.memory import keep_freed_memory
if sys.argv[1] == "kept":
    assert keep_freed_memory()

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def work():
    blocks = [bytearray(8 * 2**20) for _ in range(4)]
    for block in blocks:
        block[::4096] = b'1' * (len(block) // 4096)

work()
before = faults()
for _ in range(5):
    work()
print(faults() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's habit")
def test_blocks_of_megabytes_are_not_fetched_from_the_system_again() -> None:
    if not keep_freed_memory():
        pytest.skip("another C library than glibc")
    new = {
        how: int(
            subprocess.run(
                [sys.executable, "-c", PAGES, how], check=True, capture_output=True, text=True
            ).stdout
        )
        for how in ("kept", "returned")
    }
    touched = 5 * 4 * 8 * 2**20 // 4096
    assert new["kept"] < touched / 100
    assert new["returned"] > touched / 2


def test_other_systems_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert keep_freed_memory() is False
