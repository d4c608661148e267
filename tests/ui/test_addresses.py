"""What every page keeps in its address, without opening it."""

from __future__ import annotations

import pytest

from atlas.ui.addresses import _OWN, own_keys, shared_keys
from atlas.ui.keys import read_address, write_address
from atlas.ui.navigation import PAGES


def test_every_page_of_the_navigation_is_known() -> None:
    assert sorted(_OWN) == sorted(page.name for page in PAGES)


@pytest.mark.parametrize("page", [page.name for page in PAGES])
def test_the_keys_of_a_page_can_stand_beside_the_shared_ones(page: str) -> None:
    keys = (*shared_keys(["en-fr"], ["story"]), *own_keys(page))
    assert len({key.name for key in keys}) == len(keys)
    assert all(key.accepts(key.default) for key in keys)


@pytest.mark.parametrize("page", [page.name for page in PAGES])
def test_an_address_of_defaults_is_read_back(page: str) -> None:
    keys = (*shared_keys(["en-fr"]), *own_keys(page))
    defaults = {key.name: key.default for key in keys}
    values, complaints = read_address(write_address(defaults, keys), keys)
    assert complaints == {}
    assert values == defaults


def test_talk_and_tour_stand_in_the_address_only_while_they_are_on() -> None:
    keys = shared_keys(["en-fr"], ["story"])
    values = {key.name: key.default for key in keys}
    assert not {"talk", "tour", "stop"} & set(write_address(values, keys))
    said = write_address(values | {"talk": True, "tour": "story", "stop": 3}, keys)
    assert (said["talk"], said["tour"], said["stop"]) == ("1", "story", "3")


def test_an_address_that_does_not_name_them_turns_them_off_and_an_empty_one_says_nothing() -> None:
    keys = shared_keys(["en-fr"], ["story"])
    assert read_address({"beam": "3"}, keys)[0] == {"beam": 3, "talk": False, "tour": "", "stop": 0}
    assert read_address({}, keys)[0] == {}
