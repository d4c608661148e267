import gzip
import os
from pathlib import Path

import pytest

from atlas.errors import AtlasError
from atlas.text.moses import lowercased_tokens


@pytest.mark.parametrize(
    ("language", "text", "tokens"),
    [
        ("fr", "L'animal n'a pas traversé la rue.", "l&apos; animal n&apos; a pas traversé la rue ."),
        ("fr", "Un vidéo-club, à 5,300 m !", "un vidéo-club , à 5,300 m !"),
        ("fr", "Il dit « oui » ; elle aussi.", "il dit &quot; oui &quot; ; elle aussi ."),
        ("fr", "Une galerie d'art.", "une galerie d&apos; art."),
        ("en", "The man's dog didn't bark...", "the man &apos;s dog didn &apos;t bark ..."),
        ("en", "It's 3.5 m & <b>.", "it &apos;s 3.5 m &amp; &lt; b &gt; ."),
        ("de", "Der Spieler mit der Nummer 10.", "der spieler mit der nummer 10."),
        ("de", "Ein U.S. Spieler (groß) läuft.", "ein u.s. spieler ( groß ) läuft ."),
        ("en", "", ""),
    ],
)
def test_as_the_scripts_do(language, text, tokens):
    assert lowercased_tokens(text, language) == tokens


def test_other_languages_are_refused():
    with pytest.raises(AtlasError, match="not for 'ja'"):
        lowercased_tokens("x", "ja")


@pytest.mark.skipif("ATLAS_DATA" not in os.environ, reason="needs Multi30k: set ATLAS_DATA")
@pytest.mark.parametrize("language", ["en", "fr", "de"])
@pytest.mark.parametrize("stem", ["test_2016_flickr", "test_2017_flickr", "test_2017_mscoco"])
def test_the_published_references_come_out(stem, language):
    folder = Path(os.environ["ATLAS_DATA"]) / "multi30k"
    raw, tokenised = (
        gzip.decompress((folder / f"{stem}.{middle}{language}.gz").read_bytes()).decode().splitlines()
        for middle in ("", "lc.norm.tok.")
    )
    assert [lowercased_tokens(line, language) for line in raw] == [line.strip() for line in tokenised]
