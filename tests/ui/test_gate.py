"""Turns at the model: order, bounds, and visitors who leave."""

from __future__ import annotations

import threading
import time
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

import pytest

from atlas import limits
from atlas.ui.gate import Gate, NoTurn


def wait_for(gate: Gate, waiting: int) -> None:
    while gate.waiting != waiting:
        time.sleep(0.001)


class Guest(threading.Thread):
    """Asks for a turn in a thread; ``trouble`` says why there was none."""

    def __init__(
        self, gate: Gate, visitor: Hashable = None, served: list | None = None, patient: bool = False
    ):
        super().__init__(daemon=True)
        self.gate, self.visitor, self.patient = gate, visitor, patient
        self.served = [] if served is None else served
        self.trouble = ""
        before = gate.waiting
        self.start()
        while self.is_alive() and gate.waiting == before and not self.trouble:
            time.sleep(0.001)

    def run(self) -> None:
        try:
            with self.gate.turn(self.visitor, patient=self.patient):
                self.served.append(self.visitor)
        except NoTurn as error:
            self.trouble = str(error)


@contextmanager
def busy(gate: Gate) -> Iterator[None]:
    """Someone of ours is at work."""
    with gate.turn():
        yield


def test_callers_are_served_in_order_of_arrival() -> None:
    gate, served = Gate(), []
    with busy(gate):
        guests = [Guest(gate, number, served) for number in range(5)]
    for guest in guests:
        guest.join()
    assert served == [0, 1, 2, 3, 4]


def test_a_greedy_caller_does_not_starve_the_others() -> None:
    gate = Gate()
    turns = []

    def hog() -> None:
        for _ in range(100):
            with gate.turn("hog", patient=True):
                turns.append("hog")
                time.sleep(0.002)

    thread = threading.Thread(target=hog)
    thread.start()
    time.sleep(0.01)
    with gate.turn():
        turns.append("guest")
    thread.join()
    assert turns.index("guest") < 50


def test_the_gate_opens_after_an_error() -> None:
    gate = Gate()
    with pytest.raises(ValueError, match="no"), gate.turn("a"):
        raise ValueError("no")
    guest = Guest(gate, "b")
    guest.join(5)
    assert guest.served == ["b"]


def test_one_tab_asks_for_a_bounded_number_of_things(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.ENVIRONMENT, "work=2")
    gate = Gate()
    with busy(gate):
        guests = [Guest(gate, "tab"), Guest(gate, "tab")]
        with pytest.raises(NoTurn, match=r"this tab already has 2 requests at work or waiting .* the limit"):
            gate.turn("tab").__enter__()
        other = Guest(gate, "other tab")
        wait_for(gate, 3)
    for guest in (*guests, other):
        guest.join(5)
        assert guest.served == [guest.visitor]
    with gate.turn("tab"):
        pass


def test_the_queue_is_bounded_but_not_for_work_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.ENVIRONMENT, "queue=2")
    gate = Gate()
    with busy(gate):
        guests = [Guest(gate, number) for number in range(2)]
        with pytest.raises(NoTurn, match="the model is busy: 2 requests wait for it, the limit"):
            gate.turn("late").__enter__()
        guests.append(Guest(gate, "file", patient=True))
        wait_for(gate, 3)
    for guest in guests:
        guest.join(5)
        assert guest.served == [guest.visitor]


def test_who_waited_long_enough_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.ENVIRONMENT, "wait=1")
    gate = Gate(poll=0.01)
    with busy(gate):
        guest, patient = Guest(gate, "guest"), Guest(gate, "file", patient=True)
        guest.join(20)
        assert "the model was busy for 1 seconds, the limit" in guest.trouble
        assert gate.waiting == 1
    patient.join(5)
    assert patient.served == ["file"]


def test_a_visitor_who_left_gives_its_place_to_the_next() -> None:
    there = {"gone", "here"}
    gate = Gate(there.__contains__, poll=0.01, grace=0.05)
    with busy(gate):
        gone, here = Guest(gate, "gone"), Guest(gate, "here")
        there.remove("gone")
        gone.join(20)
        assert gone.trouble == "the visitor went away"
        assert gate.waiting == 1
    here.join(5)
    assert (gone.served, here.served) == ([], ["here"])


def test_a_page_that_is_loaded_again_keeps_its_place() -> None:
    there = {"tab"}
    gate = Gate(there.__contains__, poll=0.01, grace=3600)
    with busy(gate):
        guest = Guest(gate, "tab")
        there.clear()
        time.sleep(0.05)
        assert not guest.trouble and gate.waiting == 1
    guest.join(5)
    assert guest.served == ["tab"]
