from collections import Counter

import pytest

from riemtr.sweep.cells import make_cells
from riemtr.sweep.crews import Died
from riemtr.sweep.outcomes import Outcome
from riemtr.sweep.schedule import run_all

CELLS = make_cells("t", {"n": range(12)}, seeds=[0])


class FragileCrew:
    """All of its cells die together as soon as one of the deadly ones is among them."""

    workers, room = 2, 4

    def __init__(self, deadly=(), times=10**9, interrupt_after=None):
        self.deadly, self.times = set(deadly), times
        self.given, self.given_out = [], Counter()
        self.interrupt_after, self.collected = interrupt_after, 0

    def submit(self, cell):
        self.given.append(cell)
        self.given_out[cell.settings["n"]] += 1
        assert len(self.given) <= self.room

    def collect(self, wait):
        if wait and self.collected == self.interrupt_after:
            raise KeyboardInterrupt
        self.collected += 1
        if self.times and any(cell.settings["n"] in self.deadly for cell in self.given):
            self.times -= 1
            ended = [Died(cell, "it died") for cell in self.given]
            self.given = []
            return ended
        return [Outcome(self.given.pop(0), {})]

    def close(self):
        pass


def run(crew, tries=3):
    kept = []
    run_all(CELLS, crew, kept.extend, tries)
    assert sorted(o.cell.settings["n"] for o in kept) == list(range(12))  # each of them once
    return {o.cell.settings["n"]: o.failure for o in kept if o.failure}


def test_the_order_is_kept():
    crew, kept = FragileCrew(), []
    run_all(CELLS[::-1], crew, kept.extend, 3)
    assert [outcome.cell for outcome in kept] == CELLS[::-1]


@pytest.mark.parametrize("deadly", [[0], [5], [11], [3, 4], [0, 5, 11], list(range(12))])
def test_only_those_that_kill_their_worker_fail(deadly):
    crew = FragileCrew(deadly)
    failures = run(crew)
    assert sorted(failures) == deadly
    assert all("died 3 times in succession" in str(failure) for failure in failures.values())
    innocent = set(range(12)) - set(deadly)
    assert all(crew.given_out[n] <= 1 + len(deadly) for n in innocent)


def test_a_worker_that_dies_by_accident_costs_no_cell():
    assert run(FragileCrew([5], times=1)) == {}
    assert run(FragileCrew([5], times=3)) == {}  # once among others, twice alone


def test_the_number_of_tries_counts_those_alone():
    crew = FragileCrew([5])
    assert "died once when it ran this cell alone: it died" in str(run(crew, tries=1)[5])
    assert crew.given_out[5] == 2


def test_ctrl_c_keeps_what_had_ended():
    crew, kept = FragileCrew(interrupt_after=5), []
    with pytest.raises(KeyboardInterrupt):
        run_all(CELLS, crew, kept.extend, 3)
    assert [outcome.cell for outcome in kept] == CELLS[:6]  # the last one collected on the way out


class SlowlyDyingCrew(FragileCrew):
    """The deaths of cells that died together are noticed one after the other."""

    def __init__(self, deadly):
        super().__init__(deadly)
        self.dead = []

    def collect(self, wait):
        if not self.dead:
            ended = super().collect(wait)
            if isinstance(ended[0], Outcome):
                return ended
            self.dead = ended
        return [self.dead.pop(0)]


@pytest.mark.parametrize("deadly", [[0], [10], [11], [9, 11]])
def test_deaths_noticed_late_are_not_taken_for_deaths_alone(deadly):
    assert sorted(run(SlowlyDyingCrew(deadly), tries=1)) == deadly
