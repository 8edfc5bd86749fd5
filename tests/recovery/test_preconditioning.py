import tracemalloc

import dask.array as da
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from riemtr.data import (
    BernoulliGaussian,
    Conditioned,
    Orthogonal,
    blocks,
    load_image,
    patches,
)
from riemtr.recovery.whitening import numerical_rank, precondition


def conditioned_data(n, p, condition_number, seed=0):
    dictionary = Conditioned(condition_number) if n > 1 else Orthogonal()
    return BernoulliGaussian(n=n, p=p, theta=0.3, dictionary=dictionary).draw(seed).observations


def low_rank(n, p, values, seed=0):
    """Return U diag(values) V' with random orthonormal U, V, and U."""
    rng = np.random.default_rng(seed)
    left = np.linalg.qr(rng.standard_normal((n, len(values))))[0]
    right = np.linalg.qr(rng.standard_normal((p, len(values))))[0]
    return (left * values) @ right.T, left


def deviation(white):
    """Return the largest entry of |data data' / scale^2 - I|."""
    data = white.data.astype(np.float64)
    return np.abs(data @ data.T / white.scale**2 - np.eye(white.rank)).max()


# --- the mathematics -----------------------------------------------------------------------------


@pytest.mark.parametrize("condition_number", [1.0, 10.0, 1e3])
def test_it_is_the_papers_formula(condition_number):
    Y = conditioned_data(12, 500, condition_number)
    expected = np.linalg.inv(scipy.linalg.sqrtm(Y @ Y.T)) @ Y
    white = precondition(Y)
    np.testing.assert_allclose(white.data, np.sqrt(500) * expected, atol=1e-8)
    with_theta = precondition(Y, theta=0.3)
    np.testing.assert_allclose(with_theta.data, np.sqrt(500 * 0.3) * expected, atol=1e-8)
    assert (white.scale, with_theta.scale) == pytest.approx((500**0.5, 150**0.5))


@pytest.mark.parametrize("condition_number", [1.0, 30.0, 1e3, 1e6, 1e8, 1e10])
@pytest.mark.parametrize("n", [2, 16, 64])
def test_rows_are_orthonormal_at_any_condition_number(n, condition_number):
    Y = conditioned_data(n, 1500, condition_number)
    white = precondition(Y)
    assert deviation(white) < 1e-13
    assert white.rank == n
    assert np.abs(white.inverse @ white.data - Y).max() < 1e-13 * np.abs(Y).max()
    np.testing.assert_allclose(white.matrix, white.matrix.T, atol=1e-12 * abs(white.matrix).max())
    rounding = 1e-13 * condition_number
    np.testing.assert_allclose(white.matrix @ Y, white.data, atol=rounding * 10)
    np.testing.assert_allclose(white.matrix @ white.inverse, np.eye(n), atol=1e-14 + rounding)
    singular_values = np.linalg.svd(Y, compute_uv=False)
    np.testing.assert_allclose(white.singular_values, singular_values, rtol=1e-14 + rounding)
    assert white.condition_number == pytest.approx(
        singular_values[0] / singular_values[-1], rel=1e-14 + rounding
    )


def test_a_complete_dictionary_becomes_nearly_orthogonal():
    """The paper's section III.B: W A approaches an orthogonal matrix times the scale of X."""
    sample = BernoulliGaussian(n=10, p=200_000, theta=0.2, dictionary=Conditioned(100.0)).draw(0)
    white = precondition(sample.observations, theta=0.2)
    dictionary = white.matrix @ sample.dictionary
    np.testing.assert_allclose(dictionary.T @ dictionary, np.eye(10), atol=0.03)


def test_orthogonal_dictionaries_are_equivariant():
    """Whitening Q Y gives Q times the whitened Y: the form is symmetric, as in the paper."""
    Y = conditioned_data(8, 300, 50.0)
    Q = Orthogonal().matrix(8, np.random.default_rng(1))
    np.testing.assert_allclose(precondition(Q @ Y).data, Q @ precondition(Y).data, atol=1e-11)


@pytest.mark.parametrize("factor", [1e-300, 1e-160, 1e-5, 1e7, 1e160, 1e300])
def test_units_do_not_matter(factor):
    Y = conditioned_data(6, 200, 100.0)
    white = precondition(Y * factor)
    np.testing.assert_allclose(white.data, precondition(Y).data, atol=1e-11)
    assert white.condition_number == pytest.approx(precondition(Y).condition_number)
    np.testing.assert_allclose(white.inverse @ white.data / factor, Y, atol=1e-11)
    np.testing.assert_allclose(white.matrix @ white.inverse, np.eye(6), atol=1e-11)


def test_default_scale_gives_unit_mean_square_in_every_direction():
    white = precondition(conditioned_data(15, 800, 1e4))
    q = np.random.default_rng(0).standard_normal(15)
    q /= np.linalg.norm(q)
    assert np.mean((q @ white.data) ** 2) == pytest.approx(1, rel=1e-12)


def test_maps_of_directions_and_dictionaries():
    sample = BernoulliGaussian(n=6, p=4000, theta=0.3, dictionary=Conditioned(10.0)).draw(2)
    white = precondition(sample.observations)
    row = np.linalg.inv(white.matrix @ sample.dictionary)[2]
    np.testing.assert_allclose(row @ white.data, sample.coefficients[2], atol=1e-10)
    np.testing.assert_allclose(
        (white.matrix.T @ row) @ sample.observations, sample.coefficients[2], atol=1e-10
    )
    np.testing.assert_allclose(
        white.inverse @ (white.matrix @ sample.dictionary), sample.dictionary, atol=1e-11
    )


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 25),
    p=st.integers(1, 80),
    exponent=st.floats(0, 9),
    seed=st.integers(0, 2**32),
    data=st.data(),
)
def test_auto_rank_finds_the_row_space(n, p, exponent, seed, data):
    r = data.draw(st.integers(1, min(n, p)))
    values = np.geomspace(1, 10.0**-exponent, r)
    Y, left = low_rank(n, p, values, seed)
    white = precondition(Y, rank="auto")
    assert white.rank == numerical_rank(Y) == r
    assert deviation(white) < 1e-12
    assert np.abs(white.inverse @ white.data - Y).max() < 1e-13
    np.testing.assert_allclose(white.singular_values, values, rtol=1e-13 * 10.0**exponent)
    projector = white.basis @ white.basis.T
    np.testing.assert_allclose(projector, left @ left.T, atol=1e-13 * 10.0**exponent)


@pytest.mark.parametrize("r", [1, 3, 7, 12])
@pytest.mark.parametrize("smallest", [0.1, 1e-8])
def test_integer_rank_keeps_the_leading_principal_directions(r, smallest):
    values = np.geomspace(1, smallest, 12)
    Y, left = low_rank(12, 300, values)
    white = precondition(Y, rank=r)
    assert white.rank == r
    assert white.data.shape == (r, 300)
    assert deviation(white) < 1e-13
    assert white.condition_number == pytest.approx(1 / values[r - 1], rel=1e-6)
    leading = left[:, :r] @ (left[:, :r].T @ Y)
    np.testing.assert_allclose(white.inverse @ white.data, leading, atol=1e-13)
    np.testing.assert_allclose(white.matrix @ Y, white.data, atol=1e-13 / smallest)
    pseudo_inverse = white.matrix @ white.inverse
    np.testing.assert_allclose(pseudo_inverse, np.eye(r), atol=1e-13 / smallest)


def test_signs_are_not_left_to_rounding():
    rng = np.random.default_rng(11)
    Y = rng.standard_normal((7, 4)) @ rng.standard_normal((4, 300))
    for data in (Y, Y[:, ::-1], Y[:, rng.permutation(300)], -Y):
        basis = precondition(data, rank=3).basis
        assert np.all(basis[np.argmax(np.abs(basis), axis=0), np.arange(3)] > 0)


def test_moon_is_rank_deficient():
    Y = patches(load_image("moon"))
    with pytest.raises(ValueError, match=r"numerical rank 16 .*rank='auto'"):
        precondition(Y)
    white = precondition(Y, rank="auto")
    assert white.rank == np.linalg.matrix_rank(Y) == 16
    assert deviation(white) < 1e-13
    np.testing.assert_allclose(white.inverse @ white.data, Y, atol=1e-13)


# --- what people pass ----------------------------------------------------------------------------

Y0 = conditioned_data(5, 120, 1e3)


def memory_mapped(path):
    mapped = np.lib.format.open_memmap(path / "Y.npy", mode="w+", dtype=np.float64, shape=Y0.shape)
    mapped[:] = Y0
    mapped.flush()
    return np.load(path / "Y.npy", mmap_mode="r")


def read_only(_):
    Y = Y0.copy()
    Y.flags.writeable = False
    return Y


VARIANTS = {
    "Fortran order": lambda _: np.asfortranarray(Y0),
    "transposed": lambda _: Y0.T.copy().T,
    "every other column": lambda _: np.repeat(Y0, 2, axis=1)[:, ::2],
    "every other row": lambda _: np.repeat(Y0, 2, axis=0)[::2],
    "reversed": lambda _: Y0[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": read_only,
    "memory-mapped": memory_mapped,
    "list of lists": lambda _: Y0.tolist(),
    "big-endian": lambda _: Y0.astype(">f8"),
    "long double": lambda _: Y0.astype(np.longdouble),
    "objects": lambda _: Y0.astype(object),
    "csr": lambda _: scipy.sparse.csr_matrix(Y0),
    "csc array": lambda _: scipy.sparse.csc_array(Y0),
    "unmasked masked array": lambda _: np.ma.masked_array(Y0),
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("entries", [64, 2**20])
def test_every_kind_of_array_gives_the_same(variant, entries, tmp_path, monkeypatch):
    expected = precondition(Y0).data
    monkeypatch.setattr(blocks, "_FULL_SPEED", entries)
    monkeypatch.setattr(blocks, "_NARROWEST", 16)
    white = precondition(VARIANTS[variant](tmp_path))
    assert white.data.dtype == np.float64
    assert type(white.data) is np.ndarray
    np.testing.assert_allclose(white.data, expected, atol=1e-11)


@pytest.mark.parametrize("condition_number", [2.0, 1e3, 1e8])
def test_the_data_are_never_modified(condition_number):
    Y = conditioned_data(8, 400, condition_number)
    before = Y.copy()
    white = precondition(Y)
    np.testing.assert_array_equal(Y, before)
    assert not np.shares_memory(Y, white.data)
    precondition(Y, rank=3)
    np.testing.assert_array_equal(Y, before)


def test_integers_and_booleans():
    rng = np.random.default_rng(0)
    for Y in (rng.integers(-9, 9, (5, 200)), rng.random((5, 200)) < 0.4):
        np.testing.assert_array_equal(precondition(Y).data, precondition(Y.astype(np.float64)).data)


@pytest.mark.parametrize("condition_number", [3.0, 1e3])
def test_float32_in_float32_out(condition_number):
    Y = conditioned_data(20, 2000, condition_number).astype(np.float32)
    white = precondition(Y)
    for field in ("data", "matrix", "inverse", "basis", "singular_values"):
        assert getattr(white, field).dtype == np.float32
    assert deviation(white) < 1e-6
    # Computed in double precision: only the result is rounded.
    exact = precondition(Y.astype(np.float64))
    np.testing.assert_allclose(white.data, exact.data, atol=3e-7 * np.abs(exact.data).max() * 10)
    assert white.condition_number == pytest.approx(exact.condition_number, rel=1e-5)


def test_float32_rank_is_judged_at_its_own_precision():
    Y, _ = low_rank(30, 500, np.geomspace(1, 1e-3, 10))
    assert precondition(Y.astype(np.float32), rank="auto").rank == 10


def test_half_precision_becomes_single():
    assert precondition(Y0.astype(np.float16)).data.dtype == np.float32


def test_zero_columns_carry_nothing():
    padded = np.hstack([Y0, np.zeros((5, 40))])
    white = precondition(padded)
    assert not white.data[:, 120:].any()
    np.testing.assert_allclose(
        white.data[:, :120] / white.scale, precondition(Y0).data / np.sqrt(120), atol=1e-12
    )


def test_zero_rows_need_a_rank():
    padded = np.vstack([Y0[:2], np.zeros(120), Y0[2:]])
    with pytest.raises(
        ValueError, match=r"full rank; .* rank 5 \(row 2 is zero\); pass rank='auto'"
    ):
        precondition(padded)
    white = precondition(padded, rank="auto")
    assert white.rank == 5
    np.testing.assert_allclose(white.basis[2], 0, atol=1e-12)
    np.testing.assert_allclose(white.inverse @ white.data, padded, atol=1e-12)


def test_constant_data_have_rank_one():
    Y = np.full((4, 50), 3.0)
    with pytest.raises(ValueError, match="numerical rank 1"):
        precondition(Y)
    white = precondition(Y, rank="auto")
    np.testing.assert_allclose(np.abs(white.data), np.ones((1, 50)), atol=1e-13)


def test_fewer_samples_than_features():
    Y = np.random.default_rng(0).standard_normal((20, 7))
    with pytest.raises(ValueError, match="20 features and 7 samples; transpose Y"):
        precondition(Y)
    white = precondition(Y, rank="auto")
    assert white.rank == 7
    np.testing.assert_allclose(white.inverse @ white.data, Y, atol=1e-13)


def test_one_feature():
    y = np.random.default_rng(0).standard_normal((1, 30))
    white = precondition(y)
    np.testing.assert_allclose(white.data, y / np.sqrt(np.mean(y**2)))
    assert white.condition_number == 1


def test_same_input_same_result_bit_for_bit():
    one, two = precondition(Y0), precondition(Y0.copy())
    assert one.data.tobytes() == two.data.tobytes()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("smallest", [1e-4, 1e-7, 1e-12, 1e-14])
def test_the_numerical_rank_is_that_of_whitening_in_any_precision_and_in_parts(smallest, dtype):
    Y = low_rank(20, 400, [*np.geomspace(1, 1e-3, 19), smallest])[0].astype(dtype)
    expected = precondition(Y, rank="auto").rank
    assert numerical_rank(Y) == numerical_rank(da.from_array(Y, chunks=(20, 150))) == expected
    assert expected == (20 if smallest > (1e-13 if dtype is np.float64 else 1e-5) else 19)


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize("Y", [np.ones(5), [[1.0, np.nan]], [["a"]], Y0 * 1j])
def test_data_are_checked(Y):
    for function in (precondition, numerical_rank):
        with pytest.raises((ValueError, TypeError), match="Y must"):
            function(Y)


def test_zero_data_are_refused():
    for rank in (None, "auto", 1):
        with pytest.raises(ValueError, match="Y must not be zero everywhere"):
            precondition(np.zeros((3, 10)), rank=rank)


@pytest.mark.parametrize("rank", [0, -1, 2.5, "all", True])
def test_bad_rank(rank):
    with pytest.raises(ValueError, match="rank must be None, 'auto' or an integer of at least 1"):
        precondition(Y0, rank=rank)


def test_rank_above_the_numerical_rank():
    with pytest.raises(ValueError, match=r"rank must be at most 5, the number of rows of Y; got 6"):
        precondition(Y0, rank=6)
    deficient = np.vstack([Y0, Y0[:1] + Y0[1:2]])
    with pytest.raises(ValueError, match=r"rank at least 6, the rank asked for; .*rank 5"):
        precondition(deficient, rank=6)


@pytest.mark.parametrize("theta", [0, 1.5, np.nan])
def test_bad_theta(theta):
    with pytest.raises(ValueError, match="theta must be"):
        precondition(Y0, theta=theta)


# --- memory --------------------------------------------------------------------------------------


@pytest.mark.parametrize("condition_number", [1.0, 1e8])
@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_is_that_of_the_result(condition_number, order, monkeypatch):
    monkeypatch.setattr(blocks, "_FULL_SPEED", 2**14)
    monkeypatch.setattr(blocks, "_IN_CACHE", 2**16)
    Y = np.asarray(conditioned_data(40, 50_000, condition_number), order=order)
    tracemalloc.start()
    try:
        precondition(Y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.05 * Y.nbytes


def test_the_rank_of_well_conditioned_data_takes_no_copy(monkeypatch):
    monkeypatch.setattr(blocks, "_FULL_SPEED", 2**14)
    Y = conditioned_data(40, 50_000, 2.0)
    tracemalloc.start()
    try:
        assert numerical_rank(Y) == 40
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.05 * Y.nbytes
