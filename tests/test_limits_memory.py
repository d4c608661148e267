"""What one request takes at the limits, in a process of its own: no more than docs/limits.md states."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from atlas import limits

ROOT = Path(__file__).resolve().parents[1]

SCRIPT = """
import json, resource, sys
import torch
from atlas.decoding import SearchOptions
from atlas.engine import Engine
from atlas.ui.models import SharedEngine

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

torch.set_num_threads(1)
path, tokens, beam = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
engine = SharedEngine(Engine.load(path))
engine.trace("I love you.", SearchOptions(beam=2, n_best=2))
text = "The cat" + " cat" * (tokens - 4)
before = peak()
trace = engine.trace(text, SearchOptions(beam=beam, n_best=beam))
json.dump({
    "source": len(trace.source_tokens), "length": int(trace.search.step.max()), "peak": peak() - before,
    "trace": trace.nbytes,
}, sys.stdout)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ru_maxrss is in kilobytes on Linux alone")
@pytest.mark.parametrize("beam", [5, 10])
def test_the_largest_request_stays_within_what_the_document_states(shipped: Path, beam: int) -> None:
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(shipped), str(limits.TOKENS.value), str(beam)],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    found = json.loads(run.stdout)
    assert found["source"] > limits.TOKENS.value - 5
    assert found["length"] == limits.SEARCH.value // beam, "random words are translated up to the limit"
    stated = re.search(r"at most \*\*([\d.]+) GB\*\*", (ROOT / "docs" / "limits.md").read_text("utf-8"))
    assert stated is not None
    assert found["peak"] < float(stated[1]) * 10**9
    assert found["trace"] < limits.CACHE.value, "the largest trace can be kept for the next page"
