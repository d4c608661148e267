"""How good is a model? Development loss while it learns, BLEU and chrF on held-out sentences when it is
done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from atlas.model.transformer import Transformer
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
    """Cased, detokenised sacreBLEU and chrF, each hypothesis against all of its references (their number
    may differ).
    """
    from sacrebleu.metrics import BLEU, CHRF

    longest = max(len(group) for group in references)
    columns = [[group[i] if i < len(group) else None for group in references] for i in range(longest)]
    bleu, chrf = BLEU(), CHRF()
    bleu_score = bleu.corpus_score(hypotheses, columns)  # type: ignore[arg-type]
    # chrF has no notion of a missing reference: repeating one changes nothing, since it takes the best.
    filled = [[group[min(i, len(group) - 1)] for group in references] for i in range(longest)]
    chrf_score = chrf.corpus_score(hypotheses, filled)
    return Scores(bleu_score.score, chrf_score.score, str(bleu.get_signature()), str(chrf.get_signature()))


@torch.no_grad()
def mean_loss(model: Transformer, pairs: EncodedPairs, tokens: int = 8000) -> float:
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


def published_tokens(texts: Sequence[str], language: str) -> list[str]:
    """Texts as the published Multi30k references: lowercased, punctuation normalised, Moses tokens."""
    from sacremoses import MosesPunctNormalizer, MosesTokenizer

    normalizer, tokenizer = MosesPunctNormalizer(language), MosesTokenizer(language)
    return [tokenizer.tokenize(normalizer.normalize(text.lower()), return_str=True) for text in texts]


def lowercased_tokenised_bleu(hypotheses: Sequence[str], references: Sequence[str], language: str) -> float:
    """The metric of the published Multi30k table; never to be mixed with cased sacreBLEU.

    Args:
        hypotheses: plain text, tokenised here by :func:`published_tokens`.
        references: lowercased tokenised references as distributed with the corpus.
    """
    from sacrebleu.metrics import BLEU

    bleu = BLEU(tokenize="none", force=True)
    return float(bleu.corpus_score(published_tokens(hypotheses, language), [list(references)]).score)
