"""Where the corpora come from: public addresses, and the checksums of the copies that were measured here."""

from __future__ import annotations

from dataclasses import dataclass

_MULTI30K = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1"


@dataclass(frozen=True)
class Origin:
    """One file of a corpus.

    Attributes:
        name: its name in the corpus's folder.
        url: where the public copy is.
        sha256: the checksum of the known copy of what `url` serves; None where none is known.
        plain: whether the public copy is not compressed, while `name` is its gzip form.
    """

    name: str
    url: str
    sha256: str | None = None
    plain: bool = False


_RAW = {
    "train.de": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    "train.en": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "train.fr": "622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c",
    "val.de": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    "val.en": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    "val.fr": "ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9",
    "test_2016_flickr.de": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    "test_2016_flickr.en": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
    "test_2016_flickr.fr": "6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90",
    "test_2017_flickr.de": "a2c89666db00c495cd8513b9d708d5a3acc205d7de312ef2bf5fb7ebc1540aee",
    "test_2017_flickr.en": "76a444ee25172e72695cddb13ae4a3bda59430617be88e0bb46b60504f054074",
    "test_2017_flickr.fr": "3ba671ceb2299f3304ffafefea7a833d08632fbaf0ba18546f8a2ec2391af496",
    "test_2017_mscoco.de": "799e4854c25d601cb6cb6be29eabe5667734c61ace2f495e03e429031a0bc338",
    "test_2017_mscoco.en": "aab300bfb4427697987e02cd0aacd44bfe8aa50456231b6474c08038bbed2b58",
    "test_2017_mscoco.fr": "754f3072ba9f124569ba5258b32730fc1d214bbf8e0c6dfb2b74401676220db0",
    "test_2018_flickr.de": "ddd0130c7d97482dc5197a02141dae8dd79f20f03586c480d675c09a32daf608",
    "test_2018_flickr.en": "ef4f4844037d4c5dea75c9a8ed5fd78905967a26f67c255e230cc9780032654d",
    "test_2018_flickr.fr": "fb2b83fcceb937a4f7e3e93c1c51c22aba92f1e342391e6b5ba392b16a920501",
}
_TOKENISED: dict[str, str | None] = {
    "test_2016_flickr.de": "c6a33d39d48f9f510de147651316cd9d918e09ad0219df734a2f16b6baccacc4",
    "test_2016_flickr.en": "5b7f32627cf99eced828311b955dae9800bb52bc8b91cf8b6526829e605b29d2",
    "test_2016_flickr.fr": "1463bd5960f9bfe098ec3cd752d3df0c49c84dc646fb518964a29232658cd836",
    "test_2017_flickr.de": "02067e4a9402786a4fcb8c1b6f4307e4a5073ced64800abead5273b54f5f31f6",
    "test_2017_flickr.en": "c9d1dfd7a26add989382e534af235af9f0f658b2a30e7eb0efdaf142496ee54f",
    "test_2017_flickr.fr": "c0583117a47b31e8a6c6a97cfe8de153e462074668f4e994764fcc80b21d33b4",
    "test_2017_mscoco.de": "e2825990b8a4e5289d2cdba801d57c187810bab9b4f5d87a30c35800a0d871b6",
    "test_2017_mscoco.en": "fe69ae004d71c42ead0301e70c57de5b1b6b5fb7f52210d42b22801e98e656f3",
    "test_2017_mscoco.fr": "0b6a4620f02b6b9acf7811fda23f90fed9c6baa0b96aa224db50a273078c84d1",
    "test_2018_flickr.de": None,
    "test_2018_flickr.en": None,
    "test_2018_flickr.fr": None,
}


def _tokenised(stem: str, sha256: str | None) -> Origin:
    test, language = stem.split(".")
    name = f"{test}.lc.norm.tok.{language}"
    return Origin(f"{name}.gz", f"{_MULTI30K}/tok/{name}", sha256, plain=True)


CORPORA: dict[str, tuple[Origin, ...]] = {
    # Rebuilt by its maker from time to time, so that another checksum is to be expected.
    "tatoeba": (
        Origin(
            "fra-eng.zip",
            "https://www.manythings.org/anki/fra-eng.zip",
            "161c93f18da3a7e6df611ed961426613260de8af06ccf8c79c977afe5135ac44",
        ),
    ),
    "multi30k": (
        *(Origin(f"{stem}.gz", f"{_MULTI30K}/raw/{stem}.gz", sha256) for stem, sha256 in _RAW.items()),
        *(_tokenised(stem, sha256) for stem, sha256 in _TOKENISED.items()),
    ),
}
"""The files of each corpus, by its name (which is also the name of its folder)."""
