"""What can be asked for, and the one line that refuses the rest."""

from __future__ import annotations

import dataclasses
import math
import re

import pytest

from atlas.decoding import OptionsError, SearchOptions
from atlas.errors import AtlasError


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        ({"method": "magic"}, "method must be one of beam, greedy, sample, not 'magic'"),
        ({"penalty": "length"}, "penalty must be one of gnmt, average, none, not 'length'"),
        ({"stop": "never"}, "stop must be one of exact, first, not 'never'"),
        ({"beam": 0}, "beam must be a whole number from 1 to 100, not 0"),
        ({"beam": 101}, "beam must be a whole number from 1 to 100, not 101"),
        ({"beam": 2.0}, "beam must be a whole number from 1 to 100, not 2.0"),
        ({"beam": True}, "beam must be a whole number from 1 to 100, not True"),
        ({"n_best": 0}, "n_best must be a whole number from 1 to 100, not 0"),
        ({"max_length": 0}, "max_length must be a whole number of at least 1, not 0"),
        ({"min_length": -1}, "min_length must be a whole number of at least 0, not -1"),
        ({"min_length": 9, "max_length": 8}, "min_length is 9, above max_length, which is 8"),
        ({"top_k": -1}, "top_k must be a whole number of at least 0, not -1"),
        ({"seed": "x"}, "seed must be a whole number of at least 0, not 'x'"),
        ({"temperature": 0}, "temperature must be a number above 0, not 0"),
        ({"temperature": math.nan}, "temperature must be a number above 0, not nan"),
        ({"temperature": math.inf}, "temperature must be a number above 0, not inf"),
        ({"top_p": 0.0}, "top_p must be above 0 and at most 1, not 0.0"),
        ({"top_p": 1.1}, "top_p must be above 0 and at most 1, not 1.1"),
        ({"alpha": -0.1}, "alpha must lie between 0 and 10, not -0.1"),
        ({"alpha": "1"}, "alpha must lie between 0 and 10, not '1'"),
        (
            {"beam": 4, "n_best": 5},
            "n_best is 5, but a beam of 4 finds at most 4 translations; widen the beam",
        ),
        ({"method": "greedy", "n_best": 2}, "greedy search finds one translation; n_best must be 1, not 2"),
    ],
)
def test_a_wrong_value_is_named_in_one_line(wrong: dict[str, object], line: str):
    with pytest.raises(OptionsError, match=f"^{re.escape(line)}$") as caught:
        SearchOptions(**wrong)
    assert isinstance(caught.value, AtlasError)


def test_the_defaults_are_those_of_the_design():
    options = SearchOptions()
    assert (options.method, options.beam, options.penalty, options.alpha) == ("beam", 5, "gnmt", 0.6)
    assert options.stop == "exact"
    assert options.to_dict() == dataclasses.asdict(options)
    with pytest.raises(dataclasses.FrozenInstanceError):
        options.beam = 3


def test_width_by_method():
    assert SearchOptions(beam=7).width == 7
    assert SearchOptions(method="greedy", beam=7).width == 1
    assert SearchOptions(method="sample", beam=2, n_best=9).width == 9


def test_length_penalties():
    assert SearchOptions(penalty="none").normalise(-3.0, 7) == -3.0
    assert SearchOptions(penalty="average").normalise(-3.0, 4) == -0.75
    assert SearchOptions(alpha=1.0).normalise(-3.0, 1) == -3.0
    assert SearchOptions(alpha=1.0).normalise(-3.0, 7) == -1.5
    assert SearchOptions(alpha=0.6).normalise(-3.0, 7) == pytest.approx(-3.0 / 2**0.6)
    assert SearchOptions(alpha=0.0).normalise(-3.0, 7) == -3.0
