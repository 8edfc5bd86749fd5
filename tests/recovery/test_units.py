"""The same answer in any units that the type can hold, and words where it cannot."""

from __future__ import annotations

import warnings

import dask.array as da
import numpy as np
import pytest

from riemtr.data import dictionary_error
from riemtr.data.blocks import Blocks
from riemtr.recovery import precondition, recover_dictionary, recover_row
from riemtr.recovery.rounding import round_direction
from riemtr.recovery.whitening import in_safe_units
from tests.recovery.l1_problems import sparse_rows


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1.0, 1e160, 1e200, 1e300])
@pytest.mark.parametrize(("n", "p"), [(2, 30), (6, 700)])
def test_rounding_in_parts_is_that_in_memory_at_any_scale(size: float, n: int, p: int) -> None:
    rng = np.random.default_rng(0)
    Y, r = rng.standard_normal((n, p)), rng.standard_normal(n)
    optimum = round_direction(Y, r, method="highs").objective
    for data in (size * Y, da.from_array(size * Y, chunks=(n, 100))):
        found = round_direction(data, r)
        assert found.certified
        assert found.objective / size == pytest.approx(optimum, rel=1e-10)


@pytest.mark.parametrize("size", [1e-290, 1e-170, 1e30, 1e155, 1e290])
@pytest.mark.parametrize("partitioned", [False, True])
def test_recovery_without_preconditioning_at_any_scale(size: float, partitioned: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5, 900)) * (rng.random((5, 900)) < 0.2)
    A = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    Y, mu = size * (A @ X), 1e-2 * size
    kept = Y.copy()
    data = da.from_array(Y, chunks=(5, 400)) if partitioned else Y
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = recover_dictionary(data, mu, 0, precondition=False)
    np.testing.assert_array_equal(Y, kept)
    assert found.certified
    assert found.trusted
    assert found.mu == mu
    assert dictionary_error(found.dictionary, A) < 1e-13
    coefficients = np.asarray(found.coefficients)
    np.testing.assert_allclose(found.unmixing @ (Y / size), coefficients / size, atol=1e-10)
    plain = recover_dictionary(A @ X, 1e-2, 0, precondition=False)
    for atom, expected in zip(found.atoms, plain.atoms, strict=True):
        assert atom.rounding.objective / size == pytest.approx(expected.rounding.objective)
        assert atom.result.cost / size == pytest.approx(expected.result.cost, rel=1e-2)
    row = recover_row(Y, mu, 0, precondition=False)
    assert row.exact
    assert row.rounding.objective / size < 1e4


@pytest.mark.parametrize("size", [6.7e-38, 3.3e38])
@pytest.mark.parametrize("whiten", [False, True])
def test_single_precision_says_where_its_range_ends(size: float, whiten: bool) -> None:
    Y = sparse_rows(5, 900, 0.0)[0]
    Y = (size / np.abs(Y).max() * Y).astype(np.float32)
    message = r"Y must have its largest entry between 8e-31 and 1e\+30 in float32; got .*float64"
    for data in (Y, da.from_array(Y, chunks=(5, 400))):
        with pytest.raises(ValueError, match=message):
            recover_dictionary(data, rng=0, precondition=whiten)
        with pytest.raises(ValueError, match=message):
            precondition(data)
    found = recover_dictionary(Y.astype(np.float64), rng=0)
    assert np.isfinite(found.unmixing).all()
    assert np.isfinite(found.coefficients).all()


@pytest.mark.parametrize("size", [1e-29, 1e-20, 1e20, 1e29])
@pytest.mark.parametrize("whiten", [False, True])
def test_within_it_single_precision_serves(size: float, whiten: bool) -> None:
    Y, _, atom = sparse_rows(5, 900, 0.0)
    mu = 1e-2 if whiten else 1e-2 * size
    found = recover_dictionary((size * Y).astype(np.float32), mu, 0, precondition=whiten)
    assert found.certified
    assert all(each.exact for each in found.atoms)
    assert np.max(np.abs(found.dictionary.T @ atom)) > 1 - 1e-6
    assert np.isfinite(found.unmixing).all()
    assert np.isfinite(found.coefficients).all()


@pytest.mark.parametrize("length", [1e308, 1e-300])
def test_directions_whose_solution_leaves_the_range_are_refused(length: float) -> None:
    Y = np.random.default_rng(0).standard_normal((4, 30))
    with pytest.raises(ValueError, match=r"r must have its largest entry between .*np.abs\(r\)"):
        round_direction(Y, length * np.ones(4))
    with pytest.raises(ValueError, match="r must have a length at which the objective"):
        round_direction(1e200 * Y, 1e-200 * np.ones(4))
    found = round_direction(Y, 1e280 * np.ones(4))
    assert found.solution @ np.full(4, 1e280) == pytest.approx(1.0)
    expected = round_direction(Y, np.ones(4)).objective
    assert found.objective * 1e280 == pytest.approx(expected)


def test_data_of_ordinary_size_are_not_copied() -> None:
    Y = np.ones((2, 3))
    data = Blocks(Y)
    same, unit = in_safe_units(data)
    assert same is data
    assert unit == 1.0
    scaled, unit = in_safe_units(Blocks(1e200 * Y))
    np.testing.assert_array_equal(scaled.array, 1e200 * unit * Y)
    assert 0.5 <= scaled.largest < 1.0


@pytest.mark.parametrize("form", ["auto", "orthogonal", "full"])
@pytest.mark.parametrize("size", [2.0**-600, 2.0**-20, 2.0**600])
def test_standard_errors_are_the_same_in_any_units(size: float, form: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5, 1500)) * (rng.random((5, 1500)) < 0.2)
    Y = rng.standard_normal((5, 5)) @ (X + 0.02 * rng.standard_normal(X.shape))
    expected = recover_dictionary(Y, rng=0, refine=form)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = recover_dictionary(size * Y, rng=0, refine=form)
    np.testing.assert_allclose(found.standard_errors, expected.standard_errors, rtol=1e-6)
    np.testing.assert_allclose(found.dictionary, expected.dictionary, atol=1e-6)
    assert [a.verdict for a in found.atoms] == [a.verdict for a in expected.atoms]
