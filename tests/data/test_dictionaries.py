import numpy as np
import pytest

from riemtr.data import Conditioned, Dictionary, Identity, Orthogonal


@pytest.mark.parametrize("part", [Identity(), Orthogonal(), Conditioned(30.0)])
@pytest.mark.parametrize("n", [2, 7, 40])
def test_contract_of_every_dictionary(part, n):
    assert isinstance(part, Dictionary)
    matrix = part.matrix(n, np.random.default_rng(0))
    assert matrix.shape == (n, n)
    assert np.linalg.matrix_rank(matrix) == n
    np.testing.assert_array_equal(matrix, part.matrix(n, np.random.default_rng(0)))


def test_identity():
    np.testing.assert_array_equal(Identity().matrix(4, np.random.default_rng(0)), np.eye(4))


@pytest.mark.parametrize("n", [1, 2, 50])
def test_orthogonal_has_orthonormal_columns(n):
    Q = Orthogonal().matrix(n, np.random.default_rng(1))
    np.testing.assert_allclose(Q.T @ Q, np.eye(n), atol=1e-13)


def test_orthogonal_is_haar():
    """Under the Haar measure on O(3): E[Q]=0, det is +-1 evenly, E[tr^2]=1, E[q_ij^4]=1/5."""
    rng = np.random.default_rng(2)
    draws = np.array([Orthogonal().matrix(3, rng) for _ in range(8000)])
    traces = np.trace(draws, axis1=1, axis2=2)
    assert np.abs(draws.mean(axis=0)).max() < 0.03
    assert abs(np.mean(np.linalg.det(draws))) < 0.05
    assert abs(np.mean(traces**2) - 1) < 0.06
    np.testing.assert_allclose(np.mean(draws**4, axis=0), 1 / 5, atol=0.015)


@pytest.mark.parametrize("condition_number", [1.0, 10.0, 1e3, 1e8])
def test_conditioned_has_the_condition_number(condition_number):
    A = Conditioned(condition_number).matrix(20, np.random.default_rng(3))
    s = np.linalg.svd(A, compute_uv=False)
    assert s[0] / s[-1] == pytest.approx(condition_number, rel=1e-6)
    np.testing.assert_allclose(s[:-1] / s[1:], condition_number ** (1 / 19), rtol=1e-6)


def test_conditioned_errors_name_the_parameter():
    with pytest.raises(ValueError, match="condition_number must be a number of at least 1"):
        Conditioned(0.5)
    with pytest.raises(ValueError, match="condition_number must be 1 where n = 1"):
        Conditioned(2.0).matrix(1, np.random.default_rng(0))
    assert abs(Conditioned(1.0).matrix(1, np.random.default_rng(0))[0, 0]) == pytest.approx(1)
