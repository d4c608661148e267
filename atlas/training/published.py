"""The metric of the published Multi30k scores: BLEU on lowercased, normalised, tokenised text."""

from __future__ import annotations

from collections.abc import Sequence

from atlas.text.moses import lowercased_tokens


def lowercased_tokenised_bleu(hypotheses: Sequence[str], references: Sequence[str], language: str) -> float:
    """BLEU as ``multi-bleu`` computes it: one reference, no smoothing, tokens as they are.

    Never to be compared with cased, detokenised sacreBLEU.

    Args:
        hypotheses: translations as they are written.
        references: the published ``lc.norm.tok`` lines.
        language: of both.
    """
    from sacrebleu.metrics import BLEU

    tokens = [lowercased_tokens(text, language) for text in hypotheses]
    metric = BLEU(tokenize="none", smooth_method="none", force=True)
    return float(metric.corpus_score(tokens, [[line.strip() for line in references]]).score)
