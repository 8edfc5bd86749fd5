"""The passes over the rows: what the first one misses is solved for again, or reported."""

from __future__ import annotations

import numpy as np
import pytest

import riemtr
from riemtr.data import BernoulliGaussian, Conditioned, align, coefficient_error, dictionary_error
from riemtr.problems.surrogates import LogCosh
from riemtr.recovery import precondition, recover_dictionary
from riemtr.recovery.candidates import choose
from riemtr.recovery.passes import recover
from riemtr.recovery.report import Atom
from riemtr.recovery.rounding import Rounder
from riemtr.recovery.solving import Solve
from riemtr.recovery.task import ORDERS, Plan, Task


def draw(n, p, theta=0.2, seed=0):
    return BernoulliGaussian(n=n, p=p, theta=theta, dictionary=Conditioned(10.0)).draw(seed)


def errors(found, sample):
    match = align(found.dictionary, sample.dictionary)
    return (
        dictionary_error(found.dictionary, sample.dictionary),
        coefficient_error(found.coefficients, sample.coefficients, match),
    )


def task_of(Y, **options):
    plan = Plan(mu=1e-2, surrogate=LogCosh(1e-2), seed=0, **options)
    return Task.of(precondition(Y), plan)


# --- orders --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_all_orders_give_the_same_exact_dictionary(seed):
    sample = draw(n=8, p=1500, seed=seed)
    found = {order: recover_dictionary(sample.observations, rng=0, order=order) for order in ORDERS}
    for each in found.values():
        assert max(errors(each, sample)) < 1e-12
        assert each.count("proved") == 8
        assert each.certified
        np.testing.assert_allclose(each.dictionary, found["joint"].dictionary, atol=1e-12)
        np.testing.assert_array_equal(each.coefficients == 0, found["joint"].coefficients == 0)


def test_rows_are_solved_for_in_the_dimension_of_their_order():
    Y = draw(n=6, p=900).observations
    dimensions = {
        order: sorted(atom.result.dimension for atom in recover(task_of(Y, order=order)).atoms)
        for order in ORDERS
    }
    assert dimensions["joint"] == [6] * 6
    assert dimensions["rows"] == dimensions["rounded"] == [1, 2, 3, 4, 5, 6]


class Recording:
    """A solver that notes the data of every problem, and its dimension."""

    def __init__(self):
        self.data = []

    def solve(self, problem, start, *, rng):
        self.data.append(np.array(problem.cost.data))
        return riemtr.PracticalTRM().solve(problem, start, rng=rng)


@pytest.mark.parametrize("order", ["rows", "rounded"])
def test_in_the_order_of_the_paper_rows_are_rounded_before_the_next_is_solved_for(order):
    """Each is solved for on the complement of exact rows, and not of approximate ones."""
    sample, solver = draw(n=5, p=800), Recording()
    found = recover_dictionary(sample.observations, rng=0, order=order, solver=solver)
    white = precondition(sample.observations).data
    first = next(data for data in solver.data if len(data) == 4)
    exact = [atom.direction @ white for atom in found.atoms]
    # The row set aside first is the one that the data of the second problem are orthogonal to.
    overlaps = [np.abs(first @ row).max() / np.linalg.norm(row) ** 2 for row in exact]
    assert (min(overlaps) < 1e-10) == (order == "rounded")


# --- rows that are wanting -----------------------------------------------------------------------


def test_a_solver_that_does_nothing_is_repaired_or_doubted():
    """Random directions instead of minimizers: rounding and deflation still find rows."""

    class Lazy:
        def solve(self, problem, start, *, rng):
            result = riemtr.PracticalTRM(max_iterations=0).solve(problem, start)
            assert not result.converged
            return result

    for seed in range(3):
        sample = draw(n=8, p=1200, theta=0.1, seed=seed)
        found = recover_dictionary(sample.observations, rng=0, solver=Lazy())
        if found.trusted:
            assert max(errors(found, sample)) < 1e-11
        else:
            assert "did not converge" in repr(found) or "mix" in repr(found)
        np.testing.assert_allclose(
            found.dictionary @ found.coefficients, sample.observations, atol=1e-9
        )


def target_of(sample, number):
    white = precondition(sample.observations)
    row = np.linalg.inv(white.matrix @ sample.dictionary)[number]
    return row / np.linalg.norm(row)


def led_to(direction):
    return Solve(direction, len(direction), 0.0, 0.0, 1, 0.0, True, "as told")


class Idle:
    """A solver that stays at its start for so many calls, and solves afterwards."""

    def __init__(self, idle):
        self.idle, self.calls = idle, 0

    def solve(self, problem, start, *, rng):
        self.calls += 1
        limit = 0 if self.calls <= self.idle else 500
        return riemtr.PracticalTRM(max_iterations=limit).solve(problem, start, rng=rng)


def test_roundings_that_repeat_themselves_yield_no_repeated_row(monkeypatch):
    """Every rounding leads to the same row in the first pass; the others are solved for again."""
    sample = draw(n=6, p=900)
    target, solver, round_to = target_of(sample, 2), Idle(6), Rounder.round

    def same(self, direction, *rest):
        return round_to(self, target if solver.calls <= 6 else direction, *rest)

    monkeypatch.setattr(Rounder, "round", same)
    found = recover_dictionary(sample.observations, rng=0, solver=solver)
    assert max(errors(found, sample)) < 1e-11
    assert found.trusted
    assert sum(atom.attempt > 0 for atom in found.atoms) >= 2


def test_rows_that_stay_dependent_are_completed_and_reported(monkeypatch):
    sample = draw(n=5, p=600)
    target, round_to = target_of(sample, 0), Rounder.round
    monkeypatch.setattr(Rounder, "round", lambda self, r, *rest: round_to(self, target, *rest))
    found = recover_dictionary(
        sample.observations, rng=0, solver=Idle(10**9), order="rounded", refine=None
    )
    assert sum(atom.trusted for atom in found.atoms) == 1
    assert np.linalg.cond(found.directions) < 1e3
    A, X = found.dictionary, found.coefficients
    np.testing.assert_allclose(A @ X, sample.observations, atol=1e-10)
    assert "depends on better rows" in repr(found)
    assert "all rows but" in repr(found)


def test_rows_that_came_out_exact_are_set_aside_and_the_others_solved_for_on_their_complement():
    """Few samples: the first pass misses rows, which are found beside the others."""
    again = 0
    for seed in range(4):
        sample = BernoulliGaussian(n=60, p=200, theta=0.1, dictionary=Conditioned(10.0)).draw(seed)
        found = recover_dictionary(sample.observations, rng=seed)
        assert found.count("proved") == 60
        assert max(errors(found, sample)) < 1e-11
        again += sum(atom.attempt > 0 for atom in found.atoms)
    assert again > 0


def test_where_half_of_the_rows_follow_the_model_these_are_proved_and_nothing_is_solved_for_twice():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 1500))
    X[::2] *= rng.random((10, 1500)) < 0.2
    A = rng.standard_normal((20, 20))
    found = recover_dictionary(A @ X, rng=0)
    rows = found.unmixing @ A
    right = np.abs(rows).max(axis=1) > (1.0 - 1e-9) * np.linalg.norm(rows, axis=1)
    proved = np.array([atom.verdict == "proved" for atom in found.atoms])
    assert proved.sum() == 10
    assert right[proved].all()


# --- the choice ----------------------------------------------------------------------------------


def row(direction, zeros=0, attempt=0):
    q = np.asarray(direction, dtype=float)
    q = q / np.linalg.norm(q)
    return Atom(led_to(q), None, q, zeros=zeros, exact=zeros > 0, attempt=attempt)


def chosen(rows):
    task = task_of(np.random.default_rng(0).standard_normal((3, 60)))
    return choose(task, rows)


def test_of_two_equal_rows_the_better_stays_and_the_dictionary_is_completed():
    pool = [row([1, 0, 0]), row([1, 0.01, 0], zeros=6), row([0, 0, 1], zeros=6)]
    rows = chosen(pool)
    assert rows[:2] == pool[1:]
    assert rows[2].repeats > 0.999
    assert not rows[2].exact
    assert np.linalg.cond(np.column_stack([each.direction for each in rows])) < 1.1


def test_a_row_in_the_span_of_several_is_dependent_though_no_duplicate():
    pool = [row([1, 0, 0], 9), row([0, 1, 0], 8), row([1, 1, 0.01], 7), row([0, 0, 1], 6)]
    assert chosen(pool) == [pool[0], pool[1], pool[3]]


def test_the_sparsest_independent_rows_are_chosen_in_the_order_of_the_pool():
    pool = [row([1, 0, 0], 3), row([1, 1, 0], 9), row([0, 1, 0], 7), row([0, 0, 1], attempt=1)]
    assert chosen(pool) == pool[1:]
    assert chosen([*pool, row([0.1, 0, 1], 1)])[-1].zeros == 1


def test_a_candidate_never_changes():
    with pytest.raises(AttributeError, match="cannot assign"):
        row([1, 0, 0]).exact = True


# --- some samples for all of them ----------------------------------------------------------------


def test_many_samples_are_solved_for_on_some_and_the_result_is_of_all(monkeypatch):
    sample = draw(n=8, p=12_000)
    whole = recover_dictionary(sample.observations, rng=0)
    monkeypatch.setattr("riemtr.recovery.task._FEWEST_ENTRIES", 10)
    monkeypatch.setattr("riemtr.recovery.task._SAMPLES_PER_POWER", 60.0)
    assert task_of(sample.observations).share < 0.2
    found = recover_dictionary(sample.observations, rng=0)
    assert max(errors(found, sample)) < 1e-12
    assert found.certified
    assert [atom.zeros for atom in found.atoms] == [atom.zeros for atom in whole.atoms]
    for one, other in zip(found.atoms, whole.atoms, strict=True):
        assert one.rounding.objective == pytest.approx(other.rounding.objective, rel=1e-12)


@pytest.mark.parametrize("refine", ["auto", "orthogonal", "full", None])
def test_under_noise_all_samples_count_though_some_were_solved_for(monkeypatch, refine):
    sample = BernoulliGaussian(n=6, p=12_000, theta=0.3, noise=0.05).draw(0)
    whole = recover_dictionary(sample.observations, rng=0, refine=refine)
    monkeypatch.setattr("riemtr.recovery.task._FEWEST_ENTRIES", 10)
    monkeypatch.setattr("riemtr.recovery.task._SAMPLES_PER_POWER", 100.0)
    found = recover_dictionary(sample.observations, rng=0, refine=refine)
    one, other = (dictionary_error(each.dictionary, sample.dictionary) for each in (found, whole))
    assert one == pytest.approx(other, rel=0.1)
    if refine is not None:
        np.testing.assert_allclose(found.standard_errors, whole.standard_errors, rtol=0.1)
