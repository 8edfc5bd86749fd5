"""The passes over the rows: what the first one misses is solved for again, or reported."""

import numpy as np

import riemtr
import riemtr.recovery.passes as passes
from riemtr.data import BernoulliGaussian, Conditioned, align, coefficient_error, dictionary_error
from riemtr.recovery import precondition, recover_dictionary


def draw(n, p, theta=0.2):
    return BernoulliGaussian(n=n, p=p, theta=theta, dictionary=Conditioned(10.0)).draw(0)


def errors(found, sample):
    match = align(found.dictionary, sample.dictionary)
    return (
        dictionary_error(found.dictionary, sample.dictionary),
        coefficient_error(found.coefficients, sample.coefficients, match),
    )


def test_a_solver_that_does_nothing_is_repaired_or_doubted():
    """Random directions instead of minimizers: rounding and polishing still find the rows."""

    class Lazy:
        def solve(self, problem, start, *, rng):
            result = riemtr.PracticalTRM(max_iterations=0).solve(problem, start)
            assert not result.converged
            return result

    sample = draw(n=8, p=1200, theta=0.1)
    found = recover_dictionary(sample.observations, rng=0, solver=Lazy())
    if found.trusted:
        assert max(errors(found, sample)) < 1e-11
    else:
        assert "did not converge" in repr(found) or "mix" in repr(found)
    np.testing.assert_allclose(
        found.dictionary @ found.coefficients, sample.observations, atol=1e-9
    )


def test_a_solver_that_repeats_itself_yields_no_repeated_row():
    """Every start leads to the same place in the first pass; the rows are solved for again."""
    sample = draw(n=6, p=900)
    white = precondition(sample.observations)
    target = np.linalg.inv(white.matrix @ sample.dictionary)[2]
    calls = []

    def same_rounding(deflation, direction):
        calls.append(1)
        if len(calls) <= 3:
            direction = target
        return original(deflation, direction)

    original, passes.round_against = passes.round_against, same_rounding
    try:
        found = recover_dictionary(sample.observations, rng=0)
    finally:
        passes.round_against = original
    assert max(errors(found, sample)) < 1e-11
    assert found.trusted
    assert sum(atom.attempt > 0 for atom in found.atoms) >= 2


def test_rows_that_stay_dependent_are_completed_and_reported(monkeypatch):
    sample = draw(n=5, p=600)
    white = precondition(sample.observations)
    target = np.linalg.inv(white.matrix @ sample.dictionary)[0]
    original = passes.round_against
    monkeypatch.setattr(passes, "round_against", lambda d, r: original(d, target))
    found = recover_dictionary(sample.observations, rng=0)
    assert sum(atom.trusted for atom in found.atoms) == 1
    assert np.linalg.cond(found.directions) < 1e3
    A, X = found.dictionary, found.coefficients
    np.testing.assert_allclose(A @ X, sample.observations, atol=1e-10)
    assert "depends on better rows" in repr(found)
    assert "all rows but" in repr(found)
