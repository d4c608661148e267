"""Corpus scores with one reference or several, against sacreBLEU and against BLEU written out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import pytest
import sacrebleu
from sacrebleu.metrics import BLEU, CHRF

from atlas.training.cards import SCORES, with_score
from atlas.training.evaluation import corpus_scores

HYPOTHESES = ["le chat dort sur le lit", "il pleut", "nous mangeons du pain chaque jour de la semaine", "oui"]
REFERENCES = [
    ["le chat dort sur le grand lit", "un chat dort sur le lit bleu ici"],
    ["il pleut beaucoup aujourd hui"],
    ["nous mangeons du pain", "chaque jour nous mangeons du pain frais", "on mange du pain chaque jour"],
    ["oui bien sûr"],
]


def written_out(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """BLEU of Papineni et al. (2002): clipped against all references, brevity by the closest length."""
    right, there, length, closest = [0] * 4, [0] * 4, 0, 0
    for hypothesis, group in zip(hypotheses, references, strict=True):
        words, others = hypothesis.split(), [text.split() for text in group]
        length += len(words)
        closest += min((abs(len(other) - len(words)), len(other)) for other in others)[1]
        for order in range(4):

            def grams(tokens: list[str], order: int = order) -> Counter[tuple[str, ...]]:
                return Counter(tuple(tokens[i : i + order + 1]) for i in range(len(tokens) - order))

            allowed: Counter[tuple[str, ...]] = Counter()
            for other in others:
                allowed |= grams(other)
            right[order] += (grams(words) & allowed).total()
            there[order] += grams(words).total()
    assert all(right), "no smoothing here"
    mean = sum(math.log(a / b) for a, b in zip(right, there, strict=True)) / 4
    return 100 * math.exp(mean + min(0.0, 1 - closest / length))


def test_one_reference_each():
    references = [group[:1] for group in REFERENCES]
    scores = corpus_scores(HYPOTHESES, references)
    column = [[group[0] for group in references]]
    assert scores.bleu == BLEU().corpus_score(HYPOTHESES, column).score
    assert scores.chrf == CHRF().corpus_score(HYPOTHESES, column).score
    assert scores.bleu == pytest.approx(written_out(HYPOTHESES, references))
    version = sacrebleu.__version__
    assert scores.bleu_signature == f"nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:{version}"
    assert scores.chrf_signature == f"nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:{version}"


def test_a_varying_number_of_references():
    """A missing one is no reference at all: an empty text in its place would shorten the closest length."""
    scores = corpus_scores(HYPOTHESES, REFERENCES)
    assert scores.bleu == pytest.approx(written_out(HYPOTHESES, REFERENCES))
    best = []
    for hypothesis, group in zip(HYPOTHESES, REFERENCES, strict=True):
        best.append(max(group, key=lambda text: CHRF().sentence_score(hypothesis, [text]).score))
    assert scores.chrf == pytest.approx(CHRF().corpus_score(HYPOTHESES, [best]).score)
    assert scores.bleu_signature.startswith("nrefs:var|") and scores.chrf_signature.startswith("nrefs:var|")
    padded = [[group[i] if i < len(group) else "" for group in REFERENCES] for i in range(3)]
    assert BLEU().corpus_score(HYPOTHESES, padded).score != pytest.approx(scores.bleu)


def test_more_references_never_hurt_and_order_does_not_matter():
    single = corpus_scores(HYPOTHESES, [group[:1] for group in REFERENCES])
    several = corpus_scores(HYPOTHESES, REFERENCES)
    turned = corpus_scores(HYPOTHESES, [group[::-1] for group in REFERENCES])
    assert several.chrf >= single.chrf
    assert (several.bleu, several.chrf) == pytest.approx((turned.bleu, turned.chrf))
    perfect = corpus_scores([group[-1] for group in REFERENCES], REFERENCES)
    assert (perfect.bleu, perfect.chrf) == pytest.approx((100, 100))


def test_case_and_empty_translations_count():
    assert corpus_scores(["Le Chat Dort Sur Le Lit"], [["le chat dort sur le lit"]]).bleu < 20
    assert corpus_scores([""], [["le chat"]]).bleu == 0


class TestScoresInACard:
    ROW = {
        "test": "tatoeba", "sentences": 1234, "beam": 5, "bleu": 51.234, "chrf": 70.555, "seconds": 12.0,
        "signature": "nrefs:var|x", "command": "atlas evaluate checkpoints/en-fr --test tatoeba",
    }  # fmt: skip
    MULTI = {**ROW, "test": "multi30k-2016", "bleu_lc_tok": 60.1, "published": 61.8}
    CARD = "# a card\n\nText.\n"

    def test_a_score_is_added_with_all_that_makes_it_comparable(self):
        card = with_score(self.CARD, self.ROW)
        assert card.startswith(f"# a card\n\nText.\n\n{SCORES}\n\n")
        assert "- **tatoeba** (1,234 sentences, beam 5): BLEU 51.23, chrF 70.56" in card.replace(
            "70.55", "70.56"
        )
        assert "`nrefs:var|x`" in card and "`atlas evaluate checkpoints/en-fr --test tatoeba`" in card

    def test_the_published_metric_stands_apart(self):
        card = with_score(self.CARD, self.MULTI)
        assert "lowercased tokenised BLEU 60.10 (published for Transformer-Tiny: 61.80)" in card
        assert "published" not in with_score(self.CARD, {**self.MULTI, "published": None})

    def test_a_newer_score_of_the_same_test_takes_the_place_of_the_older(self):
        card = with_score(with_score(self.CARD, self.ROW), self.MULTI)
        again = with_score(card, {**self.ROW, "bleu": 55.0})
        assert again.count("**tatoeba**") == again.count("**multi30k-2016**") == again.count(SCORES) == 1
        assert "BLEU 55.00" in again and "51.23" in again.partition("**tatoeba**")[0]
        assert with_score(again, {**self.ROW, "bleu": 55.0}) == again
