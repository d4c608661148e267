"""Tours from strangers: any bytes are a tour or problems with their lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas.ui.talk.reading import read_tour
from atlas.ui.talk.tour import TourError
from tests.fuzz.conftest import FUZZ
from tests.fuzz.strategies import WORST, file_bytes, sentences

BOMBS = {
    "laughs": b"a: &a [x]\nb: &b [*a,*a,*a,*a]\nc: [*b,*b,*b,*b]\n",
    "code": b"stops: !!python/object/apply:os.system ['touch /tmp/atlas-was-here']\n",
    "deep": b"[" * 30_000,
    "wide": b"stops:\n" + b"- page: attention\n" * 3_000,
    "large": b"#" * (64 * 1024 + 1),
    "many documents": b"---\nstops: []\n" * 1_000,
    "a key twice": b"title: a\ntitle: b\nstops:\n- page: attention\n",
    "a merge": b"<<: {a: b}\nstops: []\n",
    "a number of digits": b"title: " + b"9" * 60_000,
    "tabs": b"stops:\n\t- page: attention\n",
}


def read(data: bytes) -> None:
    try:
        tour = read_tour("talk.yaml", data, ["tiny"])
    except TourError as error:
        assert str(error).strip() and len(str(error)) < 20_000
        return
    assert tour.stops and tour.title


@pytest.mark.parametrize("what", BOMBS)
def test_bombs(what: str) -> None:
    read(BOMBS[what])


@given(data=file_bytes)
@FUZZ
def test_any_bytes(data: bytes) -> None:
    read(data)


@given(
    page=st.sampled_from(["attention", "translate", "nowhere"]),
    key=st.sampled_from(["layer", "text", "beam", "nobody"]),
    value=st.one_of(st.sampled_from(list(WORST.values())), sentences),
    note=sentences,
)
@FUZZ
def test_any_value_of_a_stop(page: str, key: str, value: str, note: str) -> None:
    text = f"stops:\n- page: {page}\n  state:\n    {key}: {value}\n  note: {note}\n"
    read(text.encode("utf-8", "surrogatepass"))
    quoted = f"stops:\n- page: {page}\n  state: {{{key}: '{value}'}}\n  note: '{note}'\n"
    read(quoted.encode("utf-8", "surrogatepass"))
