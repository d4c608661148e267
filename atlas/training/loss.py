"""Cross-entropy with label smoothing (Szegedy et al. 2016, section 7; Vaswani et al. 2017, section 5.4)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from atlas.model.family import Model
from atlas.text.batches import Batch
from atlas.text.tokenizer import PAD_ID


class _SmoothedCrossEntropy(torch.autograd.Function):
    """Both losses from one pass over the logits; the gradient is ``softmax - smoothed target``."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, labels: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
        scores = logits.float()
        normaliser = scores.logsumexp(-1)
        nll = normaliser - scores.gather(-1, labels.unsqueeze(-1)).squeeze(-1)
        uniform = normaliser - scores.mean(-1)
        ctx.save_for_backward(logits, labels, normaliser)
        ctx.smoothing = smoothing
        ctx.mark_non_differentiable(nll)
        return ((1 - smoothing) * nll + smoothing * uniform).sum(), nll

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        logits, labels, normaliser = ctx.saved_tensors
        gradient = (logits - normaliser.unsqueeze(-1)).exp_().sub_(ctx.smoothing / logits.shape[-1])
        rows = torch.arange(len(labels), device=labels.device)
        gradient[rows, labels] -= 1 - ctx.smoothing
        return gradient.mul_(gradients[0]).to(logits.dtype), None, None


def smoothed_cross_entropy(logits: Tensor, labels: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """Label-smoothed loss and plain negative log-likelihood, in nats.

    Args:
        logits: ``(N, V)``.
        labels: ``(N,)`` ids.
        smoothing: share of the target spread evenly over all V tokens, the right one included.

    Returns:
        the smoothed loss summed over N (a scalar with a gradient), and ``(N,)`` plain losses without one.
    """
    return _SmoothedCrossEntropy.apply(logits, labels, smoothing)


class TeacherForcing(nn.Module):
    """A model with its loss: batch in, summed losses out. One ``forward``, so that
    DistributedDataParallel can wrap it.
    """

    def __init__(self, model: Model, smoothing: float) -> None:
        super().__init__()
        self.model = model
        self.smoothing = smoothing

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Smoothed and plain loss, each summed over the real target tokens; logits are computed at those
        alone.
        """
        mask = batch.source != PAD_ID
        read = batch.target[:, :-1]
        memory = self.model.encode(batch.source, mask)
        stream = self.model.decode(read, memory, mask, target_mask=read != PAD_ID)
        labels = batch.target[:, 1:]
        real = labels != PAD_ID
        loss, nll = smoothed_cross_entropy(self.model.logits(stream[real]), labels[real], self.smoothing)
        return loss, nll.sum()
