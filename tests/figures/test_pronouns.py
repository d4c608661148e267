import numpy as np
import pytest

from atlas.figures import pronouns

NAMES = ("top", "weight", "beyond", "special")
SHAPE = (2, 3, 4)
rng = np.random.default_rng(0)
ARRAYS = {
    name: rng.random(SHAPE).astype(np.float32)
    for name in (
        *(n + end for n in NAMES for end in ("", "_low", "_high")),
        *(f"untrained_{n}" for n in NAMES),
        "content",
        "distance",
        "others",
    )
}
ARRAYS["special_low"] = np.where(np.arange(12).reshape(3, 4) % 5 == 0, 0.1, -0.1)[None].repeat(2, axis=0)
ARRAYS["beyond_low"] = -ARRAYS["special_low"]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("measure", pronouns.SHOWN)
def test_the_map_holds_the_group_asked_for(measure: str, dark: bool) -> None:
    figure = pronouns.pronoun_map(ARRAYS, 1, chance=0.2, measure=measure, dark=dark)
    heat, ring = figure.data
    np.testing.assert_array_equal(heat.z, ARRAYS[measure][1])
    assert list(figure.layout.xaxis.ticktext) == ["1", "2", "3", "4"]
    assert list(figure.layout.yaxis.ticktext) == ["1", "2", "3"]
    low = ARRAYS["special_low" if measure in ("top", "special") else "beyond_low"][1]
    assert {(int(y), int(x)) for x, y in zip(ring.x, ring.y, strict=True)} == {
        (int(y), int(x)) for y, x in zip(*np.nonzero(low > 0), strict=True)
    }


def test_chance_is_the_middle_of_shares_and_nothing_is_that_of_differences() -> None:
    shares = pronouns.pronoun_map(ARRAYS, 0, chance=0.2).data[0]
    assert shares.zmin + shares.zmax == pytest.approx(0.4)
    gaps = pronouns.pronoun_map(ARRAYS, 0, chance=0.2, measure="special").data[0]
    assert gaps.zmin == -gaps.zmax
    assert pronouns.pronoun_map(ARRAYS, 0, chance=0.2, measure="weight").data[0].zmin == 0


def test_hover_names_head_numbers_and_chance() -> None:
    heat = pronouns.pronoun_map(ARRAYS, 0, chance=0.152).data[0]
    assert "chance 15.2%" in heat.hovertemplate
    cell = heat.customdata[2, 3]
    shown = {name: cell[place] for place, name in enumerate(pronouns.HOVERED)}
    for name in ("top", "top_low", "weight_high", "content", "distance", "untrained_top", "others"):
        assert shown[name] == pytest.approx(ARRAYS[name][0, 2, 3])
    assert (cell[-2], cell[-1]) == (3, 4)


def test_a_group_without_sentences_is_drawn_empty() -> None:
    empty = {name: np.full(SHAPE, np.nan) for name in ARRAYS}
    heat, ring = pronouns.pronoun_map(empty, 0, chance=0.2).data
    assert np.isnan(heat.z).all()
    assert len(ring.x) == 0


def test_what_does_not_exist_is_refused() -> None:
    with pytest.raises(KeyError):
        pronouns.pronoun_map(ARRAYS, 0, chance=0.2, measure="bottom")
    with pytest.raises(IndexError):
        pronouns.pronoun_map(ARRAYS, 2, chance=0.2)
