"""What the server of processes imports before it makes any (see :mod:`tests.kill.killing`)."""

from __future__ import annotations

import sacrebleu  # noqa: F401
import torch

import atlas.analysis.heads.costs  # noqa: F401
import atlas.analysis.heads.pruning  # noqa: F401
import atlas.analysis.heads.record  # noqa: F401
import atlas.cli  # noqa: F401
import atlas.engine  # noqa: F401
import atlas.text.download  # noqa: F401
import atlas.text.tables  # noqa: F401
import atlas.training.run  # noqa: F401

torch.set_num_threads(1)
