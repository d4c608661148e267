"""How the numbers beside the forward pass are written."""

from __future__ import annotations

import pytest

from atlas.ui.forward.stream import norm_words


@pytest.mark.parametrize(
    ("norm", "words"),
    [
        (0.0, "0.00"),
        (9.876, "9.88"),
        (99.994, "99.99"),
        (99.996, "100.0"),
        (999.96, "1,000"),
        (12345.6, "12,346"),
    ],
)
def test_a_norm_has_fewer_decimals_the_larger_it_is(norm: float, words: str) -> None:
    assert norm_words(norm) == words
    assert len(words) <= 6
