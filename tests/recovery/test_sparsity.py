"""X has the zeros of the truth, at any condition number, and those that are reported."""

import dask.array as da
import numpy as np
import pytest

from riemtr.data import BernoulliGaussian, Conditioned, align
from riemtr.recovery import recover_dictionary


def assert_counted(found):
    """What is counted as zero is zero in X."""
    X = np.asarray(found.coefficients)
    counts = np.count_nonzero((X == 0) & np.any(X != 0, axis=0), axis=1)
    assert [atom.zeros for atom in found.atoms] == counts.tolist()


@pytest.mark.parametrize("condition", [1e2, 1e6, 1e7, 1e8, 1e10])
@pytest.mark.parametrize("partitioned", [False, True])
def test_zeros_are_those_of_the_truth_at_any_condition_number(condition, partitioned):
    model = BernoulliGaussian(n=8, p=1500, theta=0.2, dictionary=Conditioned(condition))
    sample = model.draw(1)
    Y = da.from_array(sample.observations, chunks=(8, 700)) if partitioned else sample.observations
    found = recover_dictionary(Y, rng=0)
    order = align(found.dictionary, sample.dictionary).permutation
    X = np.asarray(found.coefficients)
    np.testing.assert_array_equal(X[order] == 0, sample.coefficients == 0)
    assert all(atom.exact for atom in found.atoms)
    assert_counted(found)


@pytest.mark.parametrize("condition", [1.0, 1e8, 1e12])
def test_ill_conditioned_dense_data_do_not_pass_for_sparse(condition):
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    Y = turn @ (np.geomspace(1.0, 1.0 / condition, 6)[:, None] * rng.standard_normal((6, 4000)))
    found = recover_dictionary(Y, rng=0)
    assert not any(atom.exact for atom in found.atoms)
    assert_counted(found)


@pytest.mark.parametrize("partitioned", [False, True])
def test_zeros_of_rows_that_are_not_exactly_sparse_are_zeros_too(partitioned):
    rng = np.random.default_rng(0)
    sparse = BernoulliGaussian(n=6, p=1000, theta=0.2).draw(0).observations
    for Y in (rng.standard_normal((12, 20)), rng.laplace(size=(5, 300)), sparse + 10.0):
        data = da.from_array(Y, chunks=(len(Y), 200)) if partitioned else Y
        found = recover_dictionary(data, rng=0)
        assert any(not atom.exact for atom in found.atoms)
        assert min(atom.zeros for atom in found.atoms) >= len(Y) - 1  # as any vertex has
        assert_counted(found)
