"""Proofs of semidefiniteness, against spectra that are known and arithmetic that is exact."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import aslinearoperator

from riemtr.problem import definite
from riemtr.problem.definite import prove, sum_rounded_down
from riemtr.problem.relaxation import Relaxation


def with_spectrum(rng, values, kind=float):
    n = len(values)
    drawn = rng.standard_normal((n, n)).astype(kind)
    if kind is complex:
        drawn = drawn + 1j * rng.standard_normal((n, n))
    frame = np.linalg.qr(drawn)[0]
    matrix = (frame * values) @ frame.conj().T
    return 0.5 * (matrix + matrix.conj().T)


FORMS = {
    "dense": np.asarray,
    "sparse": scipy.sparse.csr_matrix,
    "operator": aslinearoperator,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("least", [-1.0, -1e-3, 0.0, 0.5])
def test_the_shift_bounds_the_smallest_eigenvalue_and_is_near_it(form, kind, least, monkeypatch):
    monkeypatch.setattr(definite, "DENSE_ROWS", 10)  # sparse matrices have sparse factors
    rng = np.random.default_rng(1)
    values = np.concatenate([[least], rng.uniform(max(least, 0.0), 5.0, 39)])
    matrix = with_spectrum(rng, values, kind)
    proof = prove(FORMS[form](matrix), np.ones(40), 40, enough=1e-9)
    true = float(np.linalg.eigvalsh(matrix)[0])
    assert -proof.shift - proof.rounding <= true + 1e-14
    assert proof.shift <= 1.5 * max(-true, 0.0) + 1e-8
    assert proof.rounding < 1e-9
    assert (proof.failure_probability > 0.0) == (form == "operator")


@pytest.mark.parametrize("rows", [2500, 1])  # dense, sparse
def test_rounding_is_accounted_for_in_exact_arithmetic(rows, monkeypatch):
    # The smallest eigenvalue is negative by less than any factorization sees.
    monkeypatch.setattr(definite, "DENSE_ROWS", rows)
    above = 1.0 + 2.0**-52
    matrix = np.array([[1.0, above], [above, 1.0]])
    proof = prove(scipy.sparse.csr_matrix(matrix), np.ones(2), 2, enough=0.0)
    exact = 2 * Fraction(1) - 2 * Fraction(above)  # <M, X> for X = [[1, -1], [-1, 1]]
    assert exact >= -2 * Fraction(proof.shift) - Fraction(proof.rounding)


@pytest.mark.parametrize("rows", [2500, 1])
def test_random_matrices_in_exact_arithmetic(rows, monkeypatch):
    monkeypatch.setattr(definite, "DENSE_ROWS", rows)
    rng = np.random.default_rng(0)
    for _ in range(20):
        factor = rng.standard_normal((6, 3))
        matrix = factor @ factor.T
        matrix = 0.5 * (matrix + matrix.T)  # singular but for rounding
        proof = prove(scipy.sparse.csr_matrix(matrix), np.ones(6), 6, enough=0.0)
        for _ in range(20):
            signs = rng.choice([-1, 1], 6)
            form = sum(
                Fraction(matrix[i, j]) * int(signs[i] * signs[j])
                for i in range(6)
                for j in range(6)
            )
            assert form >= -6 * Fraction(proof.shift) - Fraction(proof.rounding)


def test_rows_that_are_not_shifted():
    # Eliminating the last row leaves 1 - 4/2 = -1 in the first.
    matrix = np.array([[1.0, 2.0], [2.0, 2.0]])
    proof = prove(matrix, np.array([1.0, 10.0]), 1, enough=1e-9)
    assert 1.0 <= proof.shift < 1.5


def test_nothing_is_semidefinite():
    proof = prove(np.zeros((3, 3)), np.ones(3), 3, enough=0.0)
    assert (proof.shift, proof.rounding) == (0.0, 0.0)


def test_a_sum_is_rounded_downwards():
    rng = np.random.default_rng(3)
    for _ in range(500):
        terms = rng.standard_normal(rng.integers(1, 9)) * 10.0 ** rng.integers(-20, 20)
        terms = np.concatenate([terms, rng.standard_normal(3)]).tolist()
        exact = sum(map(Fraction, terms))
        below = sum_rounded_down(terms)
        assert Fraction(below) <= exact < Fraction(math.nextafter(below, math.inf))


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix])
def test_the_bound_of_a_matrix_with_one_value_is_not_above_it(form, kind):
    """All feasible X have the same value where C is diagonal, or X is a single block."""
    rng = np.random.default_rng(4)
    for draw in range(60):
        rows = int(rng.integers(1, 9))
        diagonal = rng.standard_normal(rows) * 10.0 ** rng.integers(-6, 6)
        if draw % 2:
            matrix, block = with_spectrum(rng, diagonal, kind), rows
        else:
            matrix, block = np.diag(diagonal).astype(kind), 1
        value = sum(map(Fraction, matrix.diagonal().real.tolist()))
        found = Relaxation(form(matrix), block).bound(np.eye(rows))
        assert Fraction(found.lower_bound) <= value
        assert found.lower_bound == pytest.approx(float(value), abs=1e-12 * abs(diagonal).sum())
