"""Properties computed once per instance, and the clock of a run."""

from __future__ import annotations

import time

import pytest

from riemtr.problem.books import Clock, forget, is_known, lazy, provide


class Squares:
    def __init__(self, value):
        self.value = value
        self.calls = 0

    @lazy
    def square(self):
        """The square."""
        self.calls += 1
        return self.value**2


def test_computed_once_per_instance():
    three, four = Squares(3), Squares(4)
    assert [three.square, three.square, four.square, three.square] == [9, 9, 16, 9]
    assert (three.calls, four.calls) == (1, 1)


def test_not_computed_until_asked_for():
    three = Squares(3)
    assert three.calls == 0
    assert "square" not in vars(three)


def test_failure_is_not_kept():
    nothing = Squares(None)
    with pytest.raises(TypeError):
        _ = nothing.square
    nothing.value = 5
    assert nothing.square == 25


def test_on_the_class_it_shows_itself():
    assert isinstance(Squares.square, lazy)
    assert Squares.square.__doc__ == "The square."


def test_what_is_kept_can_be_asked_for_provided_and_forgotten():
    class Square:
        side = 3.0

        @lazy
        def area(self):
            return self.side**2

    square = Square()
    assert not is_known(square, "area")
    provide(square, area=1.0)
    assert is_known(square, "area")
    assert square.area == 1.0
    forget(square, "area")
    assert square.area == 9.0


def test_time_passes_but_for_pauses():
    clock = Clock()
    time.sleep(0.01)
    before = clock.seconds
    assert before >= 0.01
    with clock.paused():
        time.sleep(0.05)
    assert before <= clock.seconds < before + 0.04


def test_a_limit_and_none():
    assert Clock(0.0).expired
    assert not Clock(1e3).expired
    assert not Clock().expired
