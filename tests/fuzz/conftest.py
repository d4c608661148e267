"""How hard the fuzz tests try.

As they are, every run tries the same examples (derandomised, nothing kept between runs), so a failure is the
same on every machine. ``ATLAS_FUZZ=deep`` tries 40 times as many, chosen anew each time, and keeps those that
failed in ``.hypothesis/`` to be tried first.
"""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import HealthCheck, settings

DEEP = os.environ.get("ATLAS_FUZZ") == "deep"
_SHARED = {
    "deadline": None,
    "suppress_health_check": [
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.function_scoped_fixture,
        HealthCheck.filter_too_much,
    ],
}
FUZZ = (
    settings(max_examples=1000, **_SHARED)
    if DEEP
    else settings(max_examples=25, derandomize=True, database=None, **_SHARED)
)
"""The settings of every test in this folder."""
ROOT = Path(__file__).resolve().parents[2]
