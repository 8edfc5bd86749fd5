"""The paper's lifting agrees with the exact solver, with which it shares no code."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from riemtr.errors import MissingExtraError
from riemtr.subproblem.exact import solve_exact_dense
from riemtr.subproblem.sdp import _candidates, solve_lifted

clarabel = pytest.importorskip("clarabel")


def rotated(rng, eigenvalues, coefficients):
    basis = np.linalg.qr(rng.standard_normal((len(eigenvalues),) * 2))[0]
    hessian = (basis * eigenvalues) @ basis.T
    return 0.5 * (hessian + hessian.T), basis @ coefficients


def check_agreement(hessian, gradient, radius, same_vector=True, residual=1e-5):
    exact = solve_exact_dense(hessian, gradient, radius)
    lifted = solve_lifted(hessian, gradient, radius)
    assert np.linalg.norm(lifted.vector) <= radius * (1 + 1e-15)
    assert lifted.model_decrease == pytest.approx(exact.model_decrease, rel=1e-6)
    size = np.linalg.norm(hessian, 2) + np.linalg.norm(gradient) / radius
    assert lifted.multiplier == pytest.approx(exact.multiplier, abs=1e-6 * size)
    assert lifted.kkt_residual <= residual
    if same_vector:
        np.testing.assert_allclose(lifted.vector, exact.vector, atol=1e-4 * radius)
    return lifted


def test_random_sample():
    # Clarabel's first run stalls at numbers 74 and 160, with a residual of 5e-5.
    rng = np.random.default_rng(0)
    for _ in range(180):
        n = int(rng.integers(1, 12))
        hessian, gradient = rotated(rng, rng.standard_normal(n), rng.standard_normal(n))
        check_agreement(hessian, gradient, radius=10.0 ** rng.uniform(-1, 0.5), residual=2e-6)


def test_step_reaches_the_boundary():
    # The principal eigenvector's leading entries alone would be short by 1/sqrt(1 + radius^2).
    lifted = solve_lifted(np.diag([-1.0, 2.0]), np.array([1.0, 1.0]), 2.0)
    assert np.linalg.norm(lifted.vector) == pytest.approx(2.0, rel=1e-6)
    assert lifted.on_boundary
    assert not lifted.hard_case


def test_interior():
    lifted = check_agreement(np.diag([1.0, 3.0]), np.array([0.5, 0.5]), 2.0)
    assert not lifted.on_boundary


@pytest.mark.parametrize("multiplicity", [1, 2, 3])
def test_hard_case_has_rank_above_one_and_is_combined(multiplicity):
    rng = np.random.default_rng(multiplicity)
    eigenvalues = np.r_[np.full(multiplicity, -1.0), 0.5, 2.0]
    coefficients = np.r_[np.zeros(multiplicity), 0.3, 0.4]
    hessian, gradient = rotated(rng, eigenvalues, coefficients)
    lifted = check_agreement(hessian, gradient, 1.5, same_vector=False)
    assert lifted.hard_case
    assert np.linalg.norm(lifted.vector) == pytest.approx(1.5, rel=1e-6)


def test_zero_gradient():
    lifted = check_agreement(np.diag([1.0, -2.0, 0.5]), np.zeros(3), 1.0, same_vector=False)
    np.testing.assert_allclose(np.abs(lifted.vector), [0.0, 1.0, 0.0], atol=1e-4)
    assert lifted.hard_case
    assert np.linalg.norm(solve_lifted(np.eye(3), np.zeros(3), 1.0).vector) <= 1e-4


def test_semidefinite():
    rng = np.random.default_rng(7)
    hessian, gradient = rotated(rng, np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.0, 0.5]))
    check_agreement(hessian, gradient, 1.0, same_vector=False)
    hessian, gradient = rotated(rng, np.array([0.0, 0.5, 1.0]), np.array([1.0, 0.2, 0.5]))
    check_agreement(hessian, gradient, 1.0)


def test_nearly_hard():
    rng = np.random.default_rng(8)
    for exponent in (-1, -2, -4, -8):
        coefficients = np.array([10.0**exponent, 0.3, 0.4])
        hessian, gradient = rotated(rng, np.array([-1.0, 0.5, 2.0]), coefficients)
        check_agreement(hessian, gradient, 1.5, same_vector=exponent > -4, residual=1e-3)


@pytest.mark.parametrize(("h", "r"), [(1e150, 1e-100), (1e-150, 1e100), (1e-100, 1e-100)])
def test_scales(h, r):
    hessian, gradient = rotated(np.random.default_rng(9), np.array([-1.0, 0.5, 2.0]), np.ones(3))
    reference = solve_lifted(hessian, gradient, 1.0)
    scaled = solve_lifted(hessian * h, gradient * (h * r), r)
    np.testing.assert_allclose(scaled.vector / r, reference.vector, atol=1e-5)
    assert scaled.multiplier / h == pytest.approx(reference.multiplier, rel=1e-6)


def test_without_the_extra_the_error_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(MissingExtraError, match=r"riemtr\[sdp\]"):
        solve_lifted(np.eye(2), np.ones(2), 1.0)


def test_extraction_divides_by_the_last_entry():
    lifted = np.array([0.6, -1.1, 0.2, 1.0])
    vector, combined = _candidates(np.outer(lifted, lifted), radius=2.0)[0]
    np.testing.assert_allclose(vector, lifted[:-1], rtol=1e-12)
    assert not combined


def test_a_conic_solver_that_fails_is_no_check(monkeypatch):
    monkeypatch.setattr("riemtr.subproblem.sdp._USABLE", ())
    with pytest.raises(np.linalg.LinAlgError, match="did not solve the lifted problem"):
        solve_lifted(np.eye(2), np.ones(2), 1.0)
