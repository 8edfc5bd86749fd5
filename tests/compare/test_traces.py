"""When tolerances were reached, and the run as it went, from rows made up by hand."""

import numpy as np
import pytest

import riemtr
from riemtr.compare.entrants import Demands
from riemtr.compare.measuring import Task, oracle_calls, reached, trajectory
from riemtr.compare.starts import Start
from riemtr.problem import Counts

START = np.eye(4)[0]


@pytest.fixture
def task():
    case = riemtr.problems.build("rayleigh", rng=0, n=4)
    start = Start("random", START)
    return Task("rayleigh", case, 0, start, (0,), (1e-2, 1e-6), Demands(1e-6, 1e-6, 1.0))


def rows(*norms):
    """A row every tenth of a second, with one more gradient each."""
    return [(k / 10, 5.0 - k, norm, Counts(gradients=k)) for k, norm in enumerate(norms)]


def test_a_hessian_matrix_is_a_product_per_dimension(task):
    assert oracle_calls(Counts(1, 20, 300, 1000), task) == 1 + 20 + 300 + 3 * 1000


def test_for_good_is_when_it_stays_there(task):
    loose, tight = reached(task, rows(1e-3, 1.0, 1e-3, 1e-5, 1e-7))
    assert (loose.tolerance, loose.seconds, loose.oracles) == (1e-2, 0.2, 2)
    assert (tight.tolerance, tight.seconds, tight.counts["gradients"]) == (1e-6, 0.4, 4)


def test_what_is_not_reached_or_too_late_is_left_out(task):
    assert [one.tolerance for one in reached(task, rows(1.0, 1e-3))] == [1e-2]
    assert reached(task, rows(1e-3, float("nan"))) == ()
    assert reached(task, rows(*[1.0] * 11, 1e-9)) == ()


def test_the_last_digits_do_not_decide(task):
    assert len(reached(task, rows(1.0, 1e-6 * (1 + 1e-7)))) == 2


def test_a_trajectory_begins_at_the_start(task):
    here = task.case.problem.at(START)
    later = [(seconds + 7.0, *rest) for seconds, *rest in rows(1.0, 0.5)]
    drawn = trajectory(task, later, from_start=False)
    # Nothing is known of the time before: a step, and no slope from the start.
    assert drawn["seconds"][:3] == [0.0, later[0][0], later[0][0]]
    assert drawn["cost"] == [here.cost, here.cost, 5.0, 4.0]
    assert drawn["gradient_norm"] == [here.gradient_norm, here.gradient_norm, 1.0, 0.5]
    assert trajectory(task, rows(1.0, 0.5), from_start=True)["oracles"] == [0, 1]


def test_a_long_one_is_thinned_and_keeps_its_ends(task):
    drawn = trajectory(task, rows(*np.linspace(1, 0, 1000)), from_start=True)
    assert len(drawn["seconds"]) == 300
    assert (drawn["seconds"][0], drawn["seconds"][-1]) == (0.0, 99.9)
