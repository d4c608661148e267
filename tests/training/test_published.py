import pytest

from atlas.training.published import lowercased_tokenised_bleu

REFERENCES = ["un chien noir court sur l&apos; herbe .", "deux femmes jouent de la harpe , dehors ."]


def test_case_and_spacing_do_not_count():
    texts = ["Un chien noir court sur l'herbe.", "Deux femmes jouent de la harpe, dehors."]
    assert lowercased_tokenised_bleu(texts, REFERENCES, "fr") == pytest.approx(100)


def test_no_smoothing_and_brevity():
    assert lowercased_tokenised_bleu(["Un chat.", "Une fille."], REFERENCES, "fr") == 0
    half = lowercased_tokenised_bleu(["Un chien noir court sur l'herbe.", ""], REFERENCES, "fr")
    # 8 of 17 tokens, all n-grams right: exp(1 - 17/8).
    assert half == pytest.approx(100 * 2.718281828 ** (1 - 17 / 8), rel=1e-6)
