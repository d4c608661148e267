"""Which code steps a model."""

from __future__ import annotations

from atlas.decoding.edited import Edited
from atlas.decoding.protocol import StepModel
from atlas.decoding.search import Recording
from atlas.model.family import Model
from atlas.model.fused import FusedDecoder
from atlas.model.transformer import Transformer


def stepper(model: Model | Edited, recording: Recording | None = None) -> StepModel:
    """The fastest way to step a model: its fused decoder for a Transformer in evaluation mode that nothing
    edits, otherwise the model itself.
    """
    if isinstance(model, Transformer) and not model.training and not (recording and recording.edits):
        return FusedDecoder(model)
    return model
