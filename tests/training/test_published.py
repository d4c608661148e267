import gzip
import os
from pathlib import Path

import pytest

from atlas.training.published import lowercased_tokenised_bleu, lowercased_tokens

REFERENCES = ["un chien noir court sur l&apos; herbe .", "deux femmes jouent de la harpe , dehors ."]


def test_case_and_spacing_do_not_count():
    texts = ["Un chien noir court sur l'herbe.", "Deux femmes jouent de la harpe, dehors."]
    assert lowercased_tokenised_bleu(texts, REFERENCES, "fr") == pytest.approx(100)


def test_no_smoothing_and_brevity():
    assert lowercased_tokenised_bleu(["Un chat.", "Une fille."], REFERENCES, "fr") == 0
    half = lowercased_tokenised_bleu(["Un chien noir court sur l'herbe.", ""], REFERENCES, "fr")
    # 8 of 17 tokens, all n-grams right: exp(1 - 17/8).
    assert half == pytest.approx(100 * 2.718281828 ** (1 - 17 / 8), rel=1e-6)


@pytest.mark.skipif("ATLAS_DATA" not in os.environ, reason="needs Multi30k: set ATLAS_DATA")
@pytest.mark.parametrize("language", ["fr", "de"])
@pytest.mark.parametrize("stem", ["test_2016_flickr", "test_2017_flickr", "test_2017_mscoco"])
def test_the_distributed_references_come_out(stem, language):
    """Of 4,922 lines one differs: a full stop before a closing quotation mark."""
    folder = Path(os.environ["ATLAS_DATA"]) / "multi30k"
    raw, tokenised = (
        gzip.decompress((folder / f"{stem}.{middle}{language}.gz").read_bytes()).decode().splitlines()
        for middle in ("", "lc.norm.tok.")
    )
    different = [
        (ours, theirs)
        for ours, theirs in zip(lowercased_tokens(raw, language), map(str.strip, tokenised), strict=True)
        if ours != theirs
    ]
    assert all(ours.endswith(". &quot;") and theirs.endswith("&quot; .") for ours, theirs in different)
    assert len(different) <= 1
