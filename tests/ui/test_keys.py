"""Typed keys of the address."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas.ui import keys

KEYS = (
    keys.text("text", "hello", limit=20),
    keys.choice("kind", ["encoder", "decoder"], "encoder"),
    keys.integer("beam", 5, 1, 10),
    keys.decimal("alpha", 0.6, 0.0, 2.0),
    keys.flag("special", True),
    keys.integers("node"),
)


@given(
    st.fixed_dictionaries(
        {
            "text": st.text(max_size=20),
            "kind": st.sampled_from(["encoder", "decoder"]),
            "beam": st.integers(1, 10),
            "alpha": st.integers(0, 200).map(lambda hundredths: hundredths / 100),
            "special": st.booleans(),
            "node": st.lists(st.integers(0, 10**8), max_size=30).map(tuple),
        }
    )
)
def test_what_is_written_is_read_back(values: dict[str, object]) -> None:
    assert keys.read_address(keys.write_address(values, KEYS), KEYS) == (values, {})


@given(st.dictionaries(st.sampled_from([key.name for key in KEYS]), st.text(max_size=40)))
def test_any_address_gives_allowed_values(params: dict[str, str]) -> None:
    values, notices = keys.read_address(params, KEYS)
    assert set(values) == set(params)
    assert all(key.accepts(values[key.name]) for key in KEYS if key.name in values)
    assert all(values[name] == next(key.default for key in KEYS if key.name == name) for name in notices)


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("text", "x" * 21),
        ("kind", "Encoder"),
        ("beam", "0"),
        ("beam", "11"),
        ("beam", "3.0"),
        ("beam", "³"),
        ("beam", "1" * 5000),
        ("alpha", "inf"),
        ("alpha", "nan"),
        ("alpha", "-0.1"),
        ("special", "true"),
        ("node", "1..2"),
        ("node", "-1"),
        ("node", ".".join(["1"] * 601)),
    ],
)
def test_a_bad_value_is_said_and_replaced(name: str, raw: str) -> None:
    values, notices = keys.read_address({name: raw}, KEYS)
    key = next(key for key in KEYS if key.name == name)
    assert values == {name: key.default}
    assert f'{name}="' in notices[name]
    assert key.expected in notices[name]
    assert len(notices[name]) < 250


def test_unknown_parameters_are_left_alone() -> None:
    assert keys.read_address({"utm_source": "x"}, KEYS) == ({}, {})


@pytest.mark.parametrize("value", [None, "5", 5.5, 0, 11, [5], math.nan])
def test_accepts_only_what_it_allows(value: object) -> None:
    assert not keys.integer("beam", 5, 1, 10).accepts(value)
