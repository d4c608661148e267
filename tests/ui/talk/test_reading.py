"""Tours from YAML: what is right is read, what is wrong is named by line, nothing else happens."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from atlas.ui.addresses import own_keys, view_keys
from atlas.ui.navigation import PAGES
from atlas.ui.talk.reading import LARGEST, read_tour
from atlas.ui.talk.tour import MOST_STOPS, Tour, TourError

GOOD = """\
title: A talk
state: {text: "The cat.", beam: 3}
stops:
  - page: attention
    state: {kind: cross, layer: 3, special: false, words: 1.2}
    note: >-
      Two lines
      of a note.
  - page: beam_search
    state:
      beam: 5
      node:
  - page: translate
"""


def problems(text: str | bytes, models: tuple[str, ...] = ()) -> list[str]:
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(TourError) as caught:
        read_tour("t.yaml", data, models)
    assert str(caught.value).startswith("t.yaml, line ")
    assert "\n" not in str(caught.value)
    return [line.removeprefix("t.yaml, ") for line in caught.value.lines()]


def test_a_tour_is_read() -> None:
    tour = read_tour("t.yaml", GOOD.encode())
    assert tour.title == "A talk"
    assert [(stop.page, stop.line) for stop in tour.stops] == [
        ("attention", 4),
        ("beam_search", 9),
        ("translate", 13),
    ]
    assert tour.stops[0].note == "Two lines of a note."
    assert tour.stops[0].values == {
        "text": "The cat.",
        "beam": "3",
        "kind": "cross",
        "layer": "3",
        "special": "0",
        "words": "1.2",
    }
    assert tour.stops[1].values == {"text": "The cat.", "beam": "5", "node": ""}
    assert tour.stops[2].values == {"text": "The cat.", "beam": "3"}


def test_a_byte_order_mark_and_windows_lines_are_no_trouble() -> None:
    assert read_tour("t.yaml", b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode()).title == "A talk"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "empty"),
        ("stops: [", 1, "not YAML"),
        ("title: a\nstops:\n- page: attention\n\tstate: 1", 4, "not YAML"),
        ("title: a\n--- \ntitle: b", 2, "not YAML"),
        ("- a", 1, "should be a map"),
        ("title: only", 1, "no stops"),
        ("title: a\nstops: []", 2, "at least one stop"),
        ("stops:\n- 3", 2, "a stop should be a map"),
        ("stops:\n- note: x", 2, "names no page"),
        ("stops:\n- page: attenton", 2, 'no page "attenton"; pages are translate, attention'),
        ("stops:\n- page: attention\n  state:\n    stage: 2", 4, '"stage" is not in the address of the page'),
        (
            "stops:\n- page: attention\n  state:\n    layer: 99",
            4,
            'layer="99" should be a whole number from 1',
        ),
        ("stops:\n- page: attention\n  state:\n    special: 2", 4, 'special="2" should be 0 or 1'),
        ("stops:\n- page: attention\n  state:\n    words: [1, 2]", 4, "words should be one plain value"),
        ("stops:\n- page: attention\n  state: layer", 3, "state should be a map"),
        ("stops:\n- page: attention\n  step: 1", 3, '"step" is not a part of a stop'),
        ("stops:\n- page: attention\n  page: heads", 3, "written twice, first in line 2"),
        ("state: {layer: 2}\nstops:\n- page: attention", 1, '"layer" is not in the address of every page'),
        ("title: &t a\nstops: *t", 1, "anchors and aliases"),
        ("stops:\n- page: !!python/name:os.system x", 2, "without a list, a map or a tag"),
        (
            "stops:\n- page: attention\n  state: {special: !!bool maybe}",
            3,
            "special should be one plain value",
        ),
        ("stops: !!python/object/apply:os.system [ls]", 1, "a stop should be a map"),
        ("title: a\nstops:\n- page: translate\n  note: " + "x" * 1001, 4, "at most 1,000"),
        ("a: \x07", 1, "U+0007"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text: str, line: int, words: str) -> None:
    [problem] = problems(text)
    assert problem.startswith(f"line {line}: ")
    assert words in problem


def test_every_problem_is_named_at_once() -> None:
    found = problems("stops:\n- page: attention\n  state: {layer: 0}\n- page: nowhere\n- page: heads\n  x: 1")
    assert [problem.split(":")[0] for problem in found] == ["line 3", "line 4", "line 6"]


def test_bytes_that_are_no_text_and_too_many_of_them() -> None:
    assert problems(b"title: a\nb: \xff") == ["line 2: this is not UTF-8 text"]
    assert "too large" in problems(b"#" * (LARGEST + 1))[0]
    many = "stops:\n" + "- page: heads\n" * (MOST_STOPS + 1)
    assert problems(many) == [f"line {MOST_STOPS + 2}: a tour has at most {MOST_STOPS} stops"]


@pytest.mark.parametrize("sign", ["[", "{", "- ", "? ", "{a: ", "[[a]: "])
def test_a_deep_pile_is_refused_before_it_is_put_together(sign: str) -> None:
    assert "inside each other" in problems(sign * (LARGEST // len(sign) - 1))[0]


def test_a_bomb_of_aliases_is_refused() -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b,*b,*b,*b]"
    assert problems(bomb)[0].startswith("line 1: anchors and aliases")


def test_a_model_is_checked_where_the_models_are_known() -> None:
    text = "stops:\n- page: heads\n  state: {model: mine}"
    assert read_tour("t.yaml", text.encode()).stops[0].values == {"model": "mine"}
    assert read_tour("t.yaml", text.encode(), ["mine"]).stops[0].values == {"model": "mine"}
    assert problems(text, ("en-fr",)) == ['line 3: model="mine" should be one of en-fr']


def test_the_template_is_a_tour() -> None:
    path = Path(read_tour.__code__.co_filename).with_name("new_tour.yaml")
    assert len(read_tour(path.name, path.read_bytes()).stops) == 2


def outcome(data: bytes) -> Tour | TourError:
    try:
        return read_tour("t.yaml", data)
    except TourError as error:
        lines = data.count(b"\n") + data.count(b"\r") + 1
        assert error.problems
        for problem in error.problems:
            # YAML also ends a line at U+0085, U+2028 and U+2029, which take two and three bytes.
            assert 1 <= problem.line <= lines + len(data) // 2
            assert "\n" not in problem.text
        return error


@given(st.binary(max_size=400))
def test_any_bytes_are_a_tour_or_a_line(data: bytes) -> None:
    outcome(data)


@given(st.text(alphabet=st.sampled_from("stops:page-[]{}&*!?|>'\"#%@` \n\t,0aé\u2028\x00"), max_size=300))
def test_anything_like_yaml_is_a_tour_or_a_line(text: str) -> None:
    outcome(text.encode())


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.dates()
NAMES = st.sampled_from(["title", "state", "stops", "page", "note", "text", "model", "layer", "beam", "kind"])
TREES = st.recursive(
    SCALARS | st.sampled_from([page.name for page in PAGES]),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(NAMES | st.text(max_size=8), inner, max_size=5)
    ),
    max_leaves=25,
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(TREES | st.fixed_dictionaries({"stops": st.lists(TREES, max_size=4)}), st.booleans())
def test_any_yaml_is_a_tour_or_a_line(tree: object, flow: bool) -> None:
    outcome(yaml.safe_dump(tree, default_flow_style=flow, allow_unicode=True).encode("utf-8", "replace"))


@st.composite
def written_tours(draw: st.DrawFn) -> tuple[dict[str, object], list[dict[str, str]]]:
    """A tour whose stops name some keys of their page with a value that the key allows."""
    stops, expected = [], []
    for page in draw(st.lists(st.sampled_from([page.name for page in PAGES]), min_size=1, max_size=5)):
        keys = {key.name: key for key in (*view_keys(["en-fr"]), *own_keys(page))}
        chosen = draw(st.lists(st.sampled_from(sorted(keys)), unique=True, max_size=6))
        values = {name: keys[name].write(keys[name].default) for name in chosen}
        stops.append({"page": page, "state": values, "note": draw(st.text(max_size=30))})
        expected.append(values)
    return {"title": "x", "stops": stops}, expected


@settings(deadline=None)
@given(written_tours())
def test_what_is_written_right_is_read_back(written: tuple[dict[str, object], list[dict[str, str]]]) -> None:
    tree, expected = written
    tour = read_tour("t.yaml", yaml.safe_dump(tree, allow_unicode=True).encode("utf-8", "replace"), ["en-fr"])
    assert [dict(stop.values) for stop in tour.stops] == expected
