"""The passes over the rows: what the first one misses is solved for again, or reported."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import riemtr
from riemtr.data import BernoulliGaussian, Conditioned, align, coefficient_error, dictionary_error
from riemtr.problems.surrogates import LogCosh
from riemtr.recovery import precondition, recover_dictionary, round_direction
from riemtr.recovery.passes import ORDERS, Plan, Run
from riemtr.recovery.rounding import Rounder, Rounding
from riemtr.recovery.solving import Solve


def draw(n, p, theta=0.2, seed=0):
    return BernoulliGaussian(n=n, p=p, theta=theta, dictionary=Conditioned(10.0)).draw(seed)


def errors(found, sample):
    match = align(found.dictionary, sample.dictionary)
    return (
        dictionary_error(found.dictionary, sample.dictionary),
        coefficient_error(found.coefficients, sample.coefficients, match),
    )


def run_of(Y, **options):
    plan = Plan(mu=1e-2, surrogate=LogCosh(1e-2), seed=0, **options)
    return Run(precondition(Y), plan)


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
        order: sorted(atom.result.dimension for atom in run_of(Y, order=order).recover())
        for order in ORDERS
    }
    assert dimensions["joint"] == [6] * 6
    assert dimensions["rows"] == dimensions["rounded"] == [1, 2, 3, 4, 5, 6]


def test_in_the_order_of_the_paper_rows_are_rounded_before_the_next_is_solved_for():
    """Each is solved for on the complement of exact rows, and not of approximate ones."""
    sample = draw(n=5, p=800)
    run = run_of(sample.observations, order="rounded")
    rows = run.recover()
    for before, after in pairwise(rows):
        assert abs(before.direction @ after.result.direction) < 1e-9
    other = run_of(sample.observations, order="rows").recover()
    for before, after in pairwise(other):
        assert abs(before.result.direction @ after.result.direction) < 1e-9


# --- rows that are wanting -----------------------------------------------------------------------


def test_a_solver_that_does_nothing_is_repaired_or_doubted():
    """Random directions instead of minimizers: rounding and polishing still find the rows."""

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
    found = recover_dictionary(sample.observations, rng=0, solver=Idle(10**9))
    assert sum(atom.trusted for atom in found.atoms) == 1
    assert np.linalg.cond(found.directions) < 1e3
    A, X = found.dictionary, found.coefficients
    np.testing.assert_allclose(A @ X, sample.observations, atol=1e-10)
    assert "depends on better rows" in repr(found)
    assert "all rows but" in repr(found)


# --- polishing -----------------------------------------------------------------------------------


def test_rounding_again_descends_past_mixtures_to_an_exact_row():
    sample = BernoulliGaussian(n=12, p=2000, theta=0.2).draw(0)
    run = run_of(sample.observations)
    exact = run._row(led_to(target_of(sample, 4)), None, 0)
    assert exact.exact
    far = np.random.default_rng(3).standard_normal(12)
    far = round_direction(run.samples, far / np.linalg.norm(far))
    rows = [exact, run._row(led_to(far.direction), far, 0)]
    assert not rows[1].exact
    polished = run._polish(list(rows), 1)
    assert polished[0] is exact
    before, after = (np.abs(each.direction @ run.samples).sum() for each in (rows[1], polished[1]))
    assert after < before
    assert polished[1].exact
    targets = np.column_stack([target_of(sample, i) for i in range(12)])
    assert np.abs(targets.T @ polished[1].direction).max() > 1 - 1e-12


def test_a_direction_that_no_longer_moves_is_rounded_once_more_and_not_again(monkeypatch):
    """A mixture that is its own optimum, beside an exact row."""
    sample = BernoulliGaussian(n=6, p=800, theta=0.2).draw(0)
    run = run_of(sample.observations)
    exact = run._row(led_to(target_of(sample, 0)), None, 0)
    direction = np.random.default_rng(1).standard_normal(6)
    mixture = run._row(led_to(direction / np.linalg.norm(direction)), None, 0)
    assert not mixture.exact
    calls = []
    still = round_direction(run.samples, mixture.direction)

    def round_to_itself(name, direction):
        calls.append(name)
        return Rounding(direction, direction, 1.0, 0.0, np.empty(0), 1, still.method)

    monkeypatch.setattr(run, "_round", round_to_itself)
    run._polish([exact, mixture], 1)
    assert calls == ["polish/1/1/0"]


def test_without_an_exact_row_nothing_is_polished(monkeypatch):
    run = run_of(np.random.default_rng(0).standard_normal((4, 400)))
    rows = [run._row(led_to(q), None, 0) for q in np.eye(4)]
    monkeypatch.setattr(run, "_round", lambda *_: pytest.fail("nothing to polish"))
    assert run._polish(list(rows), 1) == rows


# --- some samples for all of them ----------------------------------------------------------------


def test_many_samples_are_solved_for_on_some_and_the_result_is_of_all(monkeypatch):
    sample = draw(n=8, p=12_000)
    whole = recover_dictionary(sample.observations, rng=0)
    monkeypatch.setattr("riemtr.recovery.passes._FEWEST_ENTRIES", 10)
    monkeypatch.setattr("riemtr.recovery.passes._SAMPLES_PER_POWER", 60.0)
    run = run_of(sample.observations)
    assert run.share < 0.2
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
    monkeypatch.setattr("riemtr.recovery.passes._FEWEST_ENTRIES", 10)
    monkeypatch.setattr("riemtr.recovery.passes._SAMPLES_PER_POWER", 100.0)
    found = recover_dictionary(sample.observations, rng=0, refine=refine)
    one, other = (dictionary_error(each.dictionary, sample.dictionary) for each in (found, whole))
    assert one == pytest.approx(other, rel=0.1)
    if refine is not None:
        np.testing.assert_allclose(found.standard_errors, whole.standard_errors, rtol=0.1)
