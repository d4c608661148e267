"""The metric of the published Multi30k scores, and those scores."""

from __future__ import annotations

from collections.abc import Sequence

TRANSFORMER_TINY = {"multi30k-2016": 61.80, "multi30k-2017": 53.46, "multi30k-mscoco": 44.52}
"""Lowercased tokenised BLEU of text-only Transformer-Tiny, English to French (Wu et al. 2021, table 2)."""


def lowercased_tokens(texts: Sequence[str], language: str) -> list[str]:
    """Texts as the distributed references: lowercased, punctuation normalised, Moses tokens."""
    from sacremoses import MosesPunctNormalizer, MosesTokenizer

    normalizer, tokenizer = MosesPunctNormalizer(language), MosesTokenizer(language)
    return [tokenizer.tokenize(normalizer.normalize(text.lower()), return_str=True) for text in texts]


def lowercased_tokenised_bleu(hypotheses: Sequence[str], references: Sequence[str], language: str) -> float:
    """BLEU as ``multi-bleu`` computes it: one reference, no smoothing, tokens as they are.

    Never to be compared with cased, detokenised sacreBLEU.

    Args:
        hypotheses: translations as they are written.
        references: the published ``lc.norm.tok`` lines.
        language: of both.
    """
    from sacrebleu.metrics import BLEU

    metric = BLEU(tokenize="none", smooth_method="none", force=True)
    tokens = lowercased_tokens(hypotheses, language)
    return float(metric.corpus_score(tokens, [[line.strip() for line in references]]).score)
