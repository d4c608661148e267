"""What the What if page writes into the address, and what it refuses to read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas.analysis.ablation import HeadChange, RowEdit
from atlas.ui.what_if.address import KEYS, read_changes, read_row, tidy, tidy_row, write_changes, write_row
from atlas.ui.what_if.lab import painted, summary
from atlas.ui.what_if.row import Axes, with_weight
from atlas.ui.what_if.switches import payload

KINDS = st.sampled_from(["encoder", "decoder", "cross"])
FACTORS = st.one_of(st.none(), st.integers(0, 40).map(lambda n: n / 20))
CHANGES = st.lists(
    st.builds(HeadChange, KINDS, st.integers(0, 11), st.integers(0, 15), FACTORS),
    unique_by=lambda change: (change.kind, change.layer, change.head),
    max_size=30,
)


@given(CHANGES)
def test_heads_survive_the_address(changes: list[HeadChange]) -> None:
    kept = tidy(changes)
    assert read_changes(write_changes(kept)) == kept
    assert {change for change in changes if change.factor != 1} == set(kept)


def test_heads_are_written_as_they_are_said() -> None:
    raw = "e1.3:0,d1.1:1.5,c2.5:u"
    assert read_changes(raw) == (
        HeadChange("encoder", 0, 2, 0.0),
        HeadChange("decoder", 0, 0, 1.5),
        HeadChange("cross", 1, 4, None),
    )
    assert write_changes(read_changes("c2.5:u,e1.3:0,d1.1:1.5,d1.2:1")) == raw
    assert read_changes("") == ()


@pytest.mark.parametrize(
    "raw",
    [
        "e1.3",
        "x1.1:0",
        "e0.1:0",
        "e1.0:0",
        "e1.1:3",
        "e1.1:-1",
        "e1.1:nan",
        "e1.1:0,",
        "e1.1:0,e1.1:u",
        "e1.1:1e0",
    ],
)
def test_bad_heads_are_refused(raw: str) -> None:
    with pytest.raises(ValueError):
        read_changes(raw)


def test_a_row_survives_the_address() -> None:
    row = read_row("c2.3@5:2=0.9,4=0.05")
    assert row == RowEdit("cross", 1, 2, 4, {1: 0.9, 3: 0.05})
    assert write_row(row) == "c2.3@5:2=0.9,4=0.05"
    assert tidy_row("e1.1@1:3=0.5,1=0.25") == "e1.1@1:1=0.25,3=0.5"
    assert read_row("") is None and write_row(None) == ""
    assert read_row("d1.1@3:") == RowEdit("decoder", 0, 0, 2, {})


@pytest.mark.parametrize(
    "raw",
    [
        "c2.3@5",
        "c2.3@0:",
        "d1.1@2:3=0.5",
        "c1.1@1:1=0.7,2=0.7",
        "c1.1@1:1=0.5,1=0.2",
        "c1.1@1:1=2",
        "c1.1@1:a",
    ],
)
def test_bad_rows_are_refused(raw: str) -> None:
    with pytest.raises(ValueError):
        read_row(raw)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 20)), min_size=1, max_size=12))
def test_any_sequence_of_weights_can_be_written(moves: list[tuple[int, int]]) -> None:
    row = RowEdit("cross", 0, 0, 0, {})
    for key, twentieth in moves:
        row = with_weight(row, key, twentieth / 20)
        assert row.weights[key] == pytest.approx(twentieth / 20, abs=1e-3)
        assert sum(row.weights.values()) <= 1 + 1e-9
        assert read_row(write_row(row)) == row


def test_the_others_make_room_in_proportion() -> None:
    row = RowEdit("cross", 0, 0, 0, {0: 0.6, 1: 0.2})
    assert with_weight(row, 2, 0.1).weights == {0: 0.6, 1: 0.2, 2: 0.1}
    assert with_weight(row, 2, 0.6).weights == {0: 0.3, 1: 0.1, 2: 0.6}


def test_a_brush_paints_and_gives_back() -> None:
    one = painted((), "cross", 1, [2], 0.0)
    assert one == (HeadChange("cross", 1, 2, 0.0),)
    layer = painted(one, "cross", 1, range(4), 0.0)
    assert [change.head for change in layer] == [0, 1, 2, 3]
    assert painted(layer, "cross", 1, range(4), 0.0) == ()
    assert painted(layer, "cross", 1, [0], None)[0] == HeadChange("cross", 1, 0, None)
    assert painted(layer, "cross", 1, [0], 1.0) == layer[1:]
    assert painted(one, "cross", 1, [2], 0.0) == ()


def test_the_switches_say_what_is_done() -> None:
    changes = read_changes("e1.1:0,e1.2:u,e1.3:0.5,e1.4:1.5")
    grids = payload(changes, {"encoder": 1, "decoder": 2}, 5)["grids"]
    assert grids[0]["rows"] == [
        [
            ["off", "0", "off"],
            ["uniform", "u", "uniform"],
            ["less", "0.5", "times 0.5"],
            ["more", "1.5", "times 1.5"],
            ["trained", "5", "as trained"],
        ]
    ]
    assert len(grids[1]["rows"]) == 2
    assert summary(changes[:2], RowEdit("cross", 1, 2, 4, {1: 0.9})) == (
        "Changed: encoder 1.1 off, encoder 1.2 uniform, row 5 of cross 2.3 by hand"
    )
    assert summary(changes * 3, None).endswith("and 4 more")


def test_what_fits_a_sentence() -> None:
    labels = {"encoder": ("a", "b"), "decoder": ("x", "y"), "cross": ("x", "y")}
    seen = {"encoder": ("a", "b"), "decoder": ("<s>", "x"), "cross": ("a", "b")}
    axes = Axes(labels, seen, dict.fromkeys(labels, 1), 2)
    assert axes.has(None) and axes.has(read_row("c1.2@2:2=1"))
    for bad in ("c2.1@1:", "c1.3@1:", "c1.1@3:", "c1.1@1:3=1"):
        assert not axes.has(read_row(bad))
    assert axes.visible(RowEdit("decoder", 0, 0, 0, {})) == 1
    assert axes.visible(RowEdit("cross", 0, 0, 0, {})) == 2


def test_every_default_can_be_written() -> None:
    for key in KEYS:
        assert key.accepts(key.default), key.name
