"""How good is a model? Development loss while it learns, BLEU and chrF on held-out sentences when it is
done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from atlas.model.family import Model
from atlas.text.batches import EncodedPairs
from atlas.training.loss import TeacherForcing


@dataclass(frozen=True)
class Scores:
    """Corpus scores with the signatures that say how they were computed (Post 2018)."""

    bleu: float
    chrf: float
    bleu_signature: str
    chrf_signature: str


def corpus_scores(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Scores:
    """Cased, detokenised sacreBLEU and chrF, each hypothesis against all of its references.

    Their number may differ from sentence to sentence; the signatures then say ``nrefs:var``.
    """
    from sacrebleu.metrics import BLEU, CHRF

    longest = max(len(group) for group in references)
    columns = [[group[i] if i < len(group) else None for group in references] for i in range(longest)]
    bleu, chrf = BLEU(), CHRF()
    bleu_score = bleu.corpus_score(hypotheses, columns)  # type: ignore[arg-type]
    chrf_score = chrf.corpus_score(hypotheses, columns)  # type: ignore[arg-type]
    return Scores(bleu_score.score, chrf_score.score, str(bleu.get_signature()), str(chrf.get_signature()))


@torch.no_grad()
def mean_loss(model: Model, pairs: EncodedPairs, tokens: int = 8000) -> float:
    """Plain negative log-likelihood of the targets, nats a token, in float32 without dropout."""
    was_training = model.training
    model.eval()
    forced = TeacherForcing(model, 0.0)
    total, count = 0.0, 0
    for numbers in pairs.order(tokens, seed=0, epoch=0):
        batch = pairs.batch(numbers).to(model.device)
        total += float(forced(batch)[1])
        count += batch.tokens
    model.train(was_training)
    return total / count
