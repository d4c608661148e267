"""What a given translation costs a model: reading the translation itself, and reading its own words instead.

Under teacher forcing the model that predicts token t has read tokens 1 to t-1 of the given translation.
When it generates it reads what it wrote itself, which it never did in training: exposure bias (Ranzato et
al. 2016, "Sequence Level Training with Recurrent Neural Networks"). All costs are in nats.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from atlas.decoding.candidates import NEVER, log_probabilities
from atlas.model.transformer import Transformer
from atlas.text.batches import Batch, pad
from atlas.text.tokenizer import END_ID, PAD_ID, START_ID
from atlas.training.loss import TeacherForcing, smoothed_cross_entropy


@dataclass(frozen=True)
class Exposure:
    """The same T tokens, end mark included, predicted after two different beginnings.

    Attributes:
        target: ``(T,)`` ids to be predicted.
        forced: float64 ``(T,)`` nats under teacher forcing.
        expected: ``(T,)`` ids that the model thought likeliest under teacher forcing.
        own: float64 ``(T,)`` nats after the model's own tokens.
        written: ``(T,)`` ids that the model wrote itself; it read ``written[:t]`` when it predicted token
            t. The end mark is never among them, because after it there is nothing to predict.
    """

    target: tuple[int, ...]
    forced: NDArray[np.float64]
    expected: tuple[int, ...]
    own: NDArray[np.float64]
    written: tuple[int, ...]

    @property
    def parted(self) -> int:
        """How many tokens at the beginning are the same in what was given and in what the model wrote."""
        pairs = zip(self.target, self.written, strict=True)
        return next((place for place, (given, own) in enumerate(pairs) if given != own), len(self.target))


@torch.inference_mode()
def expose(model: Transformer, source: Sequence[int], target: Sequence[int]) -> Exposure:
    """Predict every token of ``target`` and the end mark twice: after the given tokens, after the model's
    own.

    Args:
        model: in evaluation mode.
        source: ids of the sentence, end mark included.
        target: ids of the translation, without control tokens.

    Raises:
        TooLongError: the model has too few positions.
    """
    asked = (*target, END_ID)
    ids = torch.tensor([list(source)], device=model.device)
    mask = torch.ones_like(ids, dtype=torch.bool)
    memory = model.encode(ids, mask)
    read = torch.tensor([[START_ID, *target]], device=model.device)
    logprobs = log_probabilities(model.logits(model.decode(read, memory, mask))[0])
    forced = -logprobs[torch.arange(len(asked)), torch.tensor(asked)]
    cache, token = model.start(memory, mask), START_ID
    written: list[int] = []
    own: list[float] = []
    for following in asked:
        logprob = log_probabilities(model.step(torch.tensor([[token]], device=model.device), cache)[0])
        own.append(-float(logprob[following]))
        token = int(logprob.index_fill(0, torch.tensor([*NEVER, END_ID]), -math.inf).argmax())
        written.append(token)
    return Exposure(asked, forced.numpy(), tuple(logprobs.argmax(-1).tolist()), np.array(own), tuple(written))


@dataclass(frozen=True)
class LossCheck:
    """One mean cross-entropy, computed in several ways, and what padding does to the last of them.

    Attributes:
        ours: the loss that trains models here, in nats a token.
        torch: ``torch.nn.functional.cross_entropy``.
        article: minus the mean of the gathered log-softmax, as the fragment in part 4 of LLM Atlas
            computes it.
        padded_ours: ours, after padding was put behind the sentence.
        padded_article: the fragment's, which counts the padded places too.
        padding: padded places.
    """

    ours: float
    torch: float
    article: float
    padded_ours: float
    padded_article: float
    padding: int

    @property
    def difference(self) -> float:
        """The largest difference between the three without padding."""
        three = (self.ours, self.torch, self.article)
        return max(three) - min(three)


def gathered_mean(logits: Tensor, labels: Tensor) -> Tensor:
    """Minus the mean log-probability of the labels over *all* places, padded or not.

    Args:
        logits: ``(..., V)``; labels: ``(...)`` ids.
    """
    chosen = torch.gather(torch.log_softmax(logits, dim=-1), -1, labels[..., None])
    return chosen.mean().neg()


@torch.inference_mode()
def check_loss(model: Transformer, source: Sequence[int], target: Sequence[int], padding: int) -> LossCheck:
    """Compare our loss with PyTorch's and with the article's fragment, with ``padding`` tokens behind or
    none.

    Raises:
        TooLongError: the model has too few positions.
    """
    row = [START_ID, *target, END_ID]
    batch = Batch(pad([list(source)]), pad([row])).to(model.device)
    longer = Batch(batch.source, functional.pad(batch.target, (0, padding), value=PAD_ID))
    logits, labels = _logits(model, batch), batch.target[0, 1:]
    forced = TeacherForcing(model, 0.0)
    return LossCheck(
        ours=float(smoothed_cross_entropy(logits, labels, 0.0)[0]) / len(labels),
        torch=float(functional.cross_entropy(logits, labels)),
        article=float(gathered_mean(logits, labels)),
        padded_ours=float(forced(longer)[1]) / longer.tokens,
        padded_article=float(gathered_mean(_logits(model, longer), longer.target[0, 1:])),
        padding=padding,
    )


def _logits(model: Transformer, batch: Batch) -> Tensor:
    """``(T, V)`` for a batch of one sentence."""
    mask = batch.source != PAD_ID
    return model(batch.source, mask, batch.target[:, :-1])[0]
