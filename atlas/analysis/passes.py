"""One pass of the model over a sentence and a given translation, with every step of it kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from atlas.model.recorder import Edit, Recorder, check_edits
from atlas.model.transformer import Transformer
from atlas.text.tokenizer import START_ID

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class ForcedPass:
    """What a pass looked like.

    Attributes:
        source_ids: ``(S,)`` ids that the encoder read, end mark included.
        target_ids: ``(T,)`` ids that the decoder read: the start token and the translation.
        points: float32 arrays by name, as in :class:`~atlas.model.recorder.Recorder`, without the batch axis.
        logits: ``(T, V)``; row t predicts what follows ``target_ids[t]``.
    """

    source_ids: tuple[int, ...]
    target_ids: tuple[int, ...]
    points: Mapping[str, Floats]
    logits: Floats

    def __getitem__(self, name: str) -> Floats:
        return self.points[name]


@torch.inference_mode()
def forced_pass(
    model: Transformer,
    source: Sequence[int],
    target: Sequence[int],
    *,
    wanted: Iterable[str] | None = None,
    edits: Mapping[str, Edit] | None = None,
) -> ForcedPass:
    """Let the model read a sentence and a translation at once (teacher forcing) and keep what happened.

    Args:
        source: ids of the sentence, end mark included.
        target: ids of the translation without the start token; its end mark, if it is there, is read too.
        wanted: kinds of point to keep, such as ``("q", "k", "weights")``; all when None.
        edits: by name of a point, what it becomes on the way.

    Raises:
        TooLongError: the model has too few positions.
        EditError: the model has no point that is to be edited.
    """
    read = (START_ID, *target)
    made: set[str] = set()
    recorder = Recorder(wanted, edits, made)
    ids = torch.tensor([list(source)], device=model.device)
    logits = model(
        ids, torch.ones_like(ids, dtype=torch.bool), torch.tensor([read], device=model.device), recorder
    )
    check_edits(edits or {}, made)
    points = {name: _array(tensor) for name, tensor in recorder.points.items()}
    return ForcedPass(tuple(source), read, points, _array(logits))


def _array(tensor: torch.Tensor) -> Floats:
    return tensor[0].float().cpu().numpy()
