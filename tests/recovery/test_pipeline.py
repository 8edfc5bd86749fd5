"""The whole pipeline against ground truth, its options, and kill -9 with resume."""

import itertools
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

import riemtr
import riemtr.recovery.complement as complement
import riemtr.recovery.passes as passes
import riemtr.recovery.pipeline as pipeline
from riemtr.data import (
    BernoulliGaussian,
    Conditioned,
    ExactlySparse,
    Orthogonal,
    align,
    coefficient_error,
    dictionary_error,
)
from riemtr.data.blocks import Blocks
from riemtr.errors import OtherRunError
from riemtr.problems.surrogates import LogCosh
from riemtr.recovery import precondition, recover_dictionary, recover_row
from riemtr.recovery.rounding import Rounder
from riemtr.recovery.task import Plan
from riemtr.store import Store, StoreError, read_store


def draw(n=8, p=1000, theta=0.2, condition_number=10.0, seed=0, **options):
    dictionary = Conditioned(condition_number) if condition_number > 1 else Orthogonal()
    model = BernoulliGaussian(n=n, p=p, theta=theta, dictionary=dictionary, **options)
    return model.draw(seed)


def errors(found, sample):
    match = align(found.dictionary, sample.dictionary)
    return (
        dictionary_error(found.dictionary, sample.dictionary),
        coefficient_error(found.coefficients, sample.coefficients, match),
    )


def same(a, b):
    return all(
        np.array_equal(getattr(a, name), getattr(b, name))
        for name in ("dictionary", "coefficients", "directions", "unmixing")
    )


# --- ground truth --------------------------------------------------------------------------------


@pytest.mark.parametrize("condition_number", [1.0, 10.0, 1e4])
@pytest.mark.parametrize(("n", "theta"), [(2, 0.3), (3, 0.3), (10, 0.1), (10, 0.3), (15, 0.2)])
def test_exact_recovery(n, theta, condition_number):
    sample = draw(n, max(500, 8 * n * n), theta, condition_number, seed=n)
    found = recover_dictionary(sample.observations, rng=1)
    assert max(errors(found, sample)) < 1e-11 * condition_number
    assert found.certified
    assert found.trusted
    assert all(atom.exact for atom in found.atoms)
    assert np.count_nonzero(found.coefficients) == np.count_nonzero(sample.coefficients)


def test_dimension_one():
    found = recover_dictionary([[3.0, 0.0, -1.0, 2.0]], rng=0)
    np.testing.assert_array_equal(found.dictionary, [[1.0]])
    np.testing.assert_allclose(found.coefficients, [[3.0, 0.0, -1.0, 2.0]], rtol=1e-15)
    assert found.certified


def test_exactly_sparse_columns():
    sample = ExactlySparse(n=12, p=1500, k=3, dictionary=Conditioned(50.0)).draw(3)
    found = recover_dictionary(sample.observations, rng=0)
    assert max(errors(found, sample)) < 1e-11
    assert found.trusted


def test_noise_is_recovered_to_the_noise_and_called_plausible_not_exact():
    sample = draw(n=10, p=3000, noise=1e-3)
    found = recover_dictionary(sample.observations, rng=0)
    rounded = recover_dictionary(sample.observations, rng=0, refine=None)
    assert 1e-6 < errors(found, sample)[0] <= errors(rounded, sample)[0] < 5e-3
    assert rounded.certified
    assert not any(atom.exact for atom in (*found.atoms, *rounded.atoms))
    assert {atom.verdict for atom in found.atoms} == {"plausible"}
    assert np.all(found.standard_errors < 5e-3)


def test_normal_form():
    """Unit atoms, largest entry positive, rows by decreasing length, and Y = A X."""
    Y = draw(n=7).observations
    found = recover_dictionary(Y, rng=0)
    A, X = found.dictionary, found.coefficients
    np.testing.assert_allclose(np.linalg.norm(A, axis=0), 1, rtol=1e-14)
    assert (A[np.argmax(np.abs(A), axis=0), np.arange(7)] > 0).all()
    assert (np.diff(np.linalg.norm(X, axis=1)) <= 1e-12).all()
    np.testing.assert_allclose(A @ X, Y, atol=1e-12)
    np.testing.assert_allclose(A, Y @ X.T @ np.linalg.inv(X @ X.T), atol=1e-12)
    np.testing.assert_allclose(found.unmixing @ Y, X, atol=1e-12)
    np.testing.assert_allclose(found.unmixing @ A, np.eye(7), atol=1e-12)
    rows = found.directions.T @ precondition(Y).data
    np.testing.assert_allclose(np.linalg.norm(found.directions, axis=0), 1, rtol=1e-13)
    lengths = np.linalg.norm(X, axis=1, keepdims=True) / np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(rows * lengths, X, atol=1e-10)


def test_the_order_of_the_rows_does_not_depend_on_the_starts():
    Y = draw(n=6).observations
    first, second = (recover_dictionary(Y, rng=seed) for seed in (0, 1))
    np.testing.assert_allclose(first.dictionary, second.dictionary, atol=1e-12)


# --- data of all kinds ---------------------------------------------------------------------------


def test_rank_deficient_data_are_recovered_in_their_row_space():
    sample = draw(n=6, p=900)
    tall = np.random.default_rng(0).standard_normal((10, 6))
    Y = tall @ sample.observations
    with pytest.raises(ValueError, match="rank='auto'"):
        recover_dictionary(Y)
    for rank in ("auto", 6):
        found = recover_dictionary(Y, rng=0, rank=rank)
        assert found.dictionary.shape == (10, 6)
        assert found.coefficients.shape == (6, 900)
        assert dictionary_error(found.dictionary, tall @ sample.dictionary) < 1e-11
        np.testing.assert_allclose(found.dictionary @ found.coefficients, Y, atol=1e-11)


def test_samples_of_zero_count_among_the_zeros_of_every_row():
    sample = draw(n=6, p=900)
    Y = np.hstack([sample.observations, np.zeros((6, 100))])
    found = recover_dictionary(Y, rng=0)
    for row, atom in enumerate(found.atoms):
        zeros = found.count_zeros(row)
        assert zeros == np.count_nonzero(found.coefficients[row] == 0) >= atom.zeros + 100
        assert f"{zeros / 1000:.1%}" in found.summary().table.texts()[row]


def test_more_features_than_samples_is_an_error_with_the_remedy():
    Y = np.random.default_rng(0).standard_normal((9, 5))
    with pytest.raises(ValueError, match="transpose Y if its samples are rows"):
        recover_dictionary(Y)
    with pytest.raises(ValueError, match="transpose Y if its samples are rows"):
        recover_dictionary(Y, precondition=False)


@pytest.mark.parametrize("shape", [(3000, 12), (12, 12)])
@pytest.mark.parametrize("rank", ["auto", 12])
def test_samples_that_would_do_as_atoms_are_refused(shape, rank):
    Y = np.random.default_rng(0).standard_normal(shape)
    with pytest.raises(ValueError, match=r"samples themselves would do as atoms.*transpose Y"):
        recover_dictionary(Y, rank=rank)


def test_layouts_and_types(tmp_path):
    Y = draw(n=5, p=400).observations
    expected = recover_dictionary(Y, rng=0).dictionary
    np.save(tmp_path / "Y.npy", Y)
    frozen = Y.copy()
    frozen.flags.writeable = False
    strided = np.zeros((10, 1200))
    strided[::2, ::3] = Y
    for version in (
        np.asfortranarray(Y),
        frozen,
        strided[::2, ::3],
        np.load(tmp_path / "Y.npy", mmap_mode="r"),
        scipy.sparse.csr_matrix(Y),
    ):
        before = version.copy()
        np.testing.assert_allclose(recover_dictionary(version, rng=0).dictionary, expected, 1e-9)
        assert (before != version).sum() == 0
    single = recover_dictionary(Y.astype(np.float32), rng=0)
    assert single.dictionary.dtype == single.coefficients.dtype == np.float32
    np.testing.assert_allclose(np.abs(single.dictionary), np.abs(expected), atol=1e-4)


def test_integers_zero_columns_and_repeated_columns():
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, (4, 400)) * (rng.random((4, 400)) < 0.25)
    A = np.array([[2, 1, 0, 0], [0, 1, -1, 0], [0, 0, 1, 3], [1, 0, 0, 1]])
    found = recover_dictionary(A @ X, rng=0)
    assert dictionary_error(found.dictionary, A) < 1e-12
    assert found.certified


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_named(bad):
    Y = np.ones((2, 5))
    Y[1, 3] = bad
    with pytest.raises(ValueError, match="row 1, column 3"):
        recover_dictionary(Y)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"mu": 0.0}, "mu must be"),
        ({"mu": np.nan}, "mu must be"),
        ({"solver": "fast"}, "solver must have"),
        ({"rng": -1}, "rng must be"),
        ({"rng": "seed"}, "rng must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"rank": 0}, "rank must be"),
        ({"precondition": False, "rank": "auto"}, "rank must be None"),
        ({"surrogate": "l5"}, "surrogate must be"),
        ({"surrogate": abs}, "surrogate must be"),
        ({"order": "random"}, "order must be"),
        ({"order": "joint", "solver": riemtr.PracticalTRM()}, "order must be 'rows' or 'rounded'"),
        ({"refine": "fully"}, "refine must be"),
        ({"seeds": 0}, "seeds must be"),
        ({"seeds": 1.5}, "seeds must be"),
        ({"offset": "yes"}, "offset must be"),
        ({"offset": True, "precondition": False}, "offset must be"),
    ],
)
def test_options_are_checked(options, match):
    with pytest.raises(ValueError, match=match):
        recover_dictionary(np.random.default_rng(0).standard_normal((3, 50)), **options)


# --- parts in and out ----------------------------------------------------------------------------


def test_any_solver_can_be_put_in():
    sample = draw(n=5, p=400, theta=0.3)
    solver = riemtr.ExactTRM(radius=0.05, tolerance=1e-3)
    found = recover_dictionary(sample.observations, mu=0.1, rng=0, solver=solver)
    assert max(errors(found, sample)) < 1e-11
    assert found.trusted


def test_without_rounding_rows_are_near_and_not_certified():
    sample = draw(n=6, p=2000, condition_number=1.0)
    found = recover_dictionary(sample.observations, rng=0, rounding=False)
    assert errors(found, sample)[0] < 0.1
    assert not found.certified
    assert found.count("proved") == 0
    assert all(atom.rounding is None for atom in found.atoms)
    plain = recover_dictionary(sample.observations, rng=0, rounding=False, refine=None)
    assert errors(plain, sample)[0] < 0.1
    assert not any(atom.trusted for atom in plain.atoms)
    assert "standard error is not known" in plain.atoms[0].remark


def test_without_preconditioning_y_is_used_as_it_is_and_left_alone():
    sample = draw(n=6, p=900, condition_number=1.0)
    Y = sample.observations.copy()
    found = recover_dictionary(Y, rng=0, precondition=False)
    np.testing.assert_array_equal(Y, sample.observations)
    assert max(errors(found, sample)) < 1e-12
    np.testing.assert_allclose(found.directions, found.unmixing.T, atol=1e-12)
    assert found.condition_number == 1.0
    with pytest.raises(ValueError, match="full rank"):
        recover_dictionary(np.vstack([Y, Y[0]]), precondition=False)


def test_recover_row():
    sample = draw(n=6, p=900)
    atom = recover_row(sample.observations, rng=3)
    targets = np.linalg.inv(precondition(sample.observations).matrix @ sample.dictionary)
    targets /= np.linalg.norm(targets, axis=1, keepdims=True)
    assert np.abs(targets @ atom.direction).max() > 1 - 1e-12
    assert atom.exact
    assert atom.certified


@pytest.mark.parametrize("noise", [0.0, 0.05])
@pytest.mark.parametrize("order", ["joint", "rows", "rounded"])
def test_seeds_jobs_and_the_stored_seed_give_the_same_bits(monkeypatch, order, noise):
    monkeypatch.setattr("riemtr.recovery.pipeline._WORTH_THREADS", 0)
    monkeypatch.setattr("riemtr.data.blocks._IN_CACHE", 1000)
    Y = draw(n=7, p=500, noise=noise).observations
    one = recover_dictionary(Y, rng=5, order=order)
    assert same(one, recover_dictionary(Y, rng=5, order=order))
    for jobs in (2, 4):
        assert same(one, recover_dictionary(Y, rng=5, order=order, n_jobs=jobs))
    free = recover_dictionary(Y, order=order)
    assert same(free, recover_dictionary(Y, rng=free.seed, order=order))
    generators = [
        recover_dictionary(Y, rng=np.random.default_rng(1), order=order) for _ in range(2)
    ]
    assert same(*generators)


# --- robust by default ---------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [True, "auto"])
@pytest.mark.parametrize("size", [0.5, 10.0])
@pytest.mark.parametrize(("n", "theta"), [(5, 0.2), (12, 0.1)])
def test_an_offset_is_recovered_exactly(offset, size, n, theta):
    for seed in range(2):
        sample = draw(n=n, p=2500, theta=theta, seed=seed)
        b = size * np.random.default_rng(seed).standard_normal(n)
        found = recover_dictionary(sample.observations + b[:, None], rng=0, offset=offset)
        assert max(errors(found, sample)) < 1e-12 * max(1.0, 10 * size)
        np.testing.assert_allclose(found.offset, b, atol=1e-12 * max(1.0, 10 * size))
        assert found.count("proved") == n
        assert found.dictionary.shape == (n, n)
        assert found.coefficients.shape == (n, 2500)
        zeros = np.count_nonzero(found.coefficients == 0)
        assert zeros == np.count_nonzero(sample.coefficients == 0)


def test_under_noise_an_offset_is_recovered_to_the_noise():
    sample = draw(n=6, p=6000, noise=0.02, condition_number=1.0)
    b = np.arange(1.0, 7.0)
    for offset in (True, "auto"):
        found = recover_dictionary(sample.observations + b[:, None], rng=0, offset=offset)
        assert dictionary_error(found.dictionary, sample.dictionary) < 0.01
        np.testing.assert_allclose(found.offset, b, atol=0.1)


def test_where_there_is_no_offset_none_is_looked_for_unless_asked():
    sample = draw(n=6, p=1500)
    assert recover_dictionary(sample.observations, rng=0).offset is None
    found = recover_dictionary(sample.observations, rng=0, offset=True)
    np.testing.assert_allclose(found.offset, 0.0, atol=1e-12)
    assert max(errors(found, sample)) < 1e-12


@pytest.mark.parametrize("theta", [0.1, 0.2, 0.4])
def test_positive_coefficients_are_no_offset(theta):
    """Their mean is not zero, and no row is sparser by a constant."""
    rng = np.random.default_rng(0)
    X = rng.exponential(size=(6, 1500)) * (rng.random((6, 1500)) < theta)
    A = Conditioned(5.0).matrix(6, rng)
    found = recover_dictionary(A @ X, rng=0)
    assert dictionary_error(found.dictionary, A) < 1e-12
    assert found.offset is None
    assert found.mean_share > 0.03
    asked = recover_dictionary(A @ X, rng=0, offset=True)
    np.testing.assert_allclose(asked.offset, 0.0, atol=1e-10)


# --- constants that are added to rows ------------------------------------------------------------


SIZES = (1e-9, 1e-6, 1e-3, 0.1, 1.0, 1e3, 1e5)


@pytest.mark.parametrize(
    ("kind", "size"),
    [
        *itertools.product(["signed", "positive"], SIZES),
        *itertools.product(["heavy"], [0.1, 1e3]),  # a large one costs digits of small coefficients
    ],
)
def test_an_offset_of_any_size_changes_no_exact_dictionary(kind, size):
    rng = np.random.default_rng(1)
    p = 3000 if kind == "heavy" else 1500
    X = {
        "signed": rng.standard_normal((8, p)),
        "positive": rng.exponential(size=(8, p)),
        "heavy": rng.standard_cauchy((8, p)),
    }[kind] * (rng.random((8, p)) < 0.2)
    A = Conditioned(5.0).matrix(8, rng)
    b = size * rng.standard_normal(8)
    found = recover_dictionary(A @ X + b[:, None], rng=0)
    assert found.count("proved") == 8
    rounding = 1e-15 * max(1.0, size) * (1e4 if kind == "heavy" else 1e2)
    assert dictionary_error(found.dictionary, A) < 10 * rounding
    if found.offset is not None:
        np.testing.assert_allclose(found.offset, b, atol=rounding)
    else:
        assert size <= 1e-9


@pytest.mark.parametrize("decimals", range(3, 10))
def test_an_offset_is_found_in_printed_tables(decimals):
    for seed in range(3):
        sample = draw(n=8, p=2000, seed=seed)
        b = 3.0 * np.random.default_rng(seed).standard_normal(8)
        found = recover_dictionary(np.round(sample.observations + b[:, None], decimals), rng=0)
        assert dictionary_error(found.dictionary, sample.dictionary) < 5e-3
        np.testing.assert_allclose(found.offset, b, atol=0.2)


@pytest.mark.parametrize("kind", ["laplace", "pink"])
@pytest.mark.parametrize("size", [1.0, 1e2, 1e5])
def test_of_dense_rows_the_dictionary_is_that_of_the_centred_data(kind, size):
    rng = np.random.default_rng(0)
    n, p = 6, 6000
    X = rng.laplace(size=(n, p))
    if kind == "pink":
        powers = np.maximum(np.arange(p // 2 + 1), 1) ** -0.5
        X = np.fft.irfft((np.array([1, 1j]) @ rng.standard_normal((n, 2, p // 2 + 1))) * powers, p)
        X[0] = 5.0 * (rng.random(p) < 0.02)
    Y = rng.standard_normal((n, n)) @ (X / X.std(axis=1, keepdims=True))
    centred = recover_dictionary(Y - Y.mean(axis=1, keepdims=True), rng=0)
    moved = Y + size * rng.standard_normal((n, 1))
    found = recover_dictionary(moved, rng=0)
    # Rounding decides where fits of densities end, within a fraction of the standard errors.
    assert dictionary_error(found.dictionary, centred.dictionary) < 0.05
    np.testing.assert_allclose(found.offset, moved.mean(axis=1), rtol=1e-9)
    product = found.dictionary @ found.coefficients + found.offset[:, None]
    np.testing.assert_allclose(product, moved, atol=1e-9 * max(1.0, size))


@pytest.mark.parametrize("size", [0.0, 5.0, 1e4])
def test_a_dense_row_beside_sparse_ones_has_its_errors_with_any_offset(size):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6, 3000)) * (rng.random((6, 3000)) < 0.2)
    X[5] = rng.laplace(size=3000)
    A = rng.standard_normal((6, 6))
    Y = A @ X
    found = recover_dictionary(Y + size * rng.standard_normal((6, 1)), rng=0)
    plain = recover_dictionary(Y, rng=0)
    assert found.count("proved") == plain.count("proved") == 5
    assert dictionary_error(found.dictionary, plain.dictionary) < 1e-2
    np.testing.assert_allclose(found.standard_errors, plain.standard_errors, rtol=0.02)


def test_data_whose_rows_combine_to_a_constant_are_not_refused():
    """A constant row takes the place of one atom; parts of a whole add up to 1."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((10, 3000)) * (rng.random((10, 3000)) < 0.2)
    X[9] = 1.0
    A = rng.standard_normal((10, 10))
    for constant in (0.0, 1e4):
        b = constant * rng.standard_normal(10)
        found = recover_dictionary(A @ X + b[:, None], rng=0)
        assert found.count("proved") == 9
        assert dictionary_error(found.dictionary, A[:, :9]) < 1e-11
        np.testing.assert_allclose(found.offset, A[:, 9] + b, atol=1e-10)
    parts = rng.gamma(1.0, size=(6, 2000))
    parts /= parts.sum(axis=0)
    found = recover_dictionary(parts, rng=0)
    assert found.dictionary.shape == (6, 5)
    np.testing.assert_allclose(found.offset, parts.mean(axis=1))
    for options in ({"offset": False}, {"rank": 6}):
        found = recover_dictionary(parts, rng=0, **options)
        assert found.dictionary.shape == (6, 6)
        assert found.offset is None
    with pytest.raises(ValueError, match="the 6 features and 2000 samples of Y do not have rank 6"):
        recover_dictionary(parts, rng=0, rank=6, offset=True)
    with pytest.raises(ValueError, match=r"full rank; got shape \(3, 50\) with numerical rank 1"):
        recover_dictionary(np.ones((3, 50)), rng=0)


@pytest.mark.parametrize("p", [5, 6, 7])
def test_few_samples_are_not_refused_for_their_mean(p):
    Y = np.random.default_rng(0).standard_normal((4, p)) + 9.0
    assert recover_dictionary(Y, rng=0).dictionary.shape == (4, 4)


@pytest.mark.parametrize("seed", range(3))
def test_heavy_amplitudes_are_recovered_exactly(seed):
    """Cauchy amplitudes: a few samples have nearly all of the sum of squares."""
    rng = np.random.default_rng(seed)
    X = rng.standard_cauchy((12, 3000)) * (rng.random((12, 3000)) < 0.2)
    A = Conditioned(10.0).matrix(12, rng)
    found = recover_dictionary(A @ X, rng=0)
    assert found.count("proved") == 12
    assert dictionary_error(found.dictionary, A) < 1e-10


@pytest.mark.parametrize("kind", ["float32", "9 digits"])
@pytest.mark.parametrize(("n", "p"), [(6, 1500), (15, 6000)])
def test_rows_of_data_with_few_digits_are_all_proved(kind, n, p):
    sample = draw(n=n, p=p)
    Y = sample.observations
    Y = Y.astype(np.float32) if kind == "float32" else Y.round(9)
    found = recover_dictionary(Y, rng=0)
    assert found.count("proved") == n
    limit = 1e-5 if kind == "float32" else 1e-7
    assert dictionary_error(found.dictionary, sample.dictionary) < limit


@pytest.mark.parametrize("surrogate", ["log-cosh", "huber", "l4"])
def test_with_any_surrogate_exactly_sparse_data_are_recovered_exactly(surrogate):
    for order in ("joint", "rows"):
        sample = draw(n=8, p=2500)
        found = recover_dictionary(sample.observations, rng=0, surrogate=surrogate, order=order)
        assert max(errors(found, sample)) < 1e-12
        assert found.count("proved") == 8


class Pseudo:
    """sqrt(z^2 + 0.1^2), another smooth magnitude."""

    def derivatives(self, rows):
        root = np.sqrt(rows * rows + rows.dtype.type(0.01))
        return root, rows / root, rows.dtype.type(0.01) / root**3


class PseudoWithMu(Pseudo):
    """The same in a class that is no dataclass, and has an attribute mu."""

    mu = 0.1


@dataclass(frozen=True)
class FrozenPseudo:
    """The same in a dataclass, whose field has any name."""

    width: float = 0.1

    def derivatives(self, rows):
        square = rows.dtype.type(self.width**2)
        root = np.sqrt(rows * rows + square)
        return root, rows / root, square / root**3


@dataclass(frozen=True)
class FrozenPseudoWithMu(Pseudo):
    """The same in a dataclass with a field mu."""

    mu: float = 0.1


@dataclass(frozen=True)
class ScaledPseudo(FrozenPseudo):
    """The same, which follows the size of the rows."""

    def scaled(self, factor):
        return ScaledPseudo(self.width * factor)


@pytest.mark.parametrize("noise", [0.0, 0.01])
@pytest.mark.parametrize("precondition", [True, False])
@pytest.mark.parametrize(
    "kind", [Pseudo, PseudoWithMu, FrozenPseudo, FrozenPseudoWithMu, ScaledPseudo]
)
def test_a_surrogate_of_your_own_serves(kind, precondition, noise):
    condition_number = 10.0 if precondition else 1.0
    sample = draw(n=6, p=1500, condition_number=condition_number, noise=noise)
    Y, options = sample.observations, {"surrogate": kind(), "precondition": precondition}
    found = recover_dictionary(Y, rng=0, **options)
    assert dictionary_error(found.dictionary, sample.dictionary) < (0.1 if noise else 1e-12)
    rows = recover_dictionary(Y, rng=0, order="rows", **options)
    assert dictionary_error(rows.dictionary, sample.dictionary) < (0.1 if noise else 1e-12)


def test_a_surrogate_that_can_be_scaled_serves_in_any_unit():
    sample = draw(n=6, p=1500, condition_number=1.0)
    for unit in (1e-200, 1e-3, 1e3, 1e200):
        options = {"surrogate": ScaledPseudo(0.1 * unit), "precondition": False}
        found = recover_dictionary(unit * sample.observations, rng=0, **options)
        assert dictionary_error(found.dictionary, sample.dictionary) < 1e-12


def test_from_k_seeds_every_row_is_counted_in_the_others():
    Y = draw(n=6, p=6000, noise=0.005).observations
    for seeds in (1, 2, 4):
        found = recover_dictionary(Y, rng=0, seeds=seeds)
        assert {atom.starts for atom in found.atoms} == {seeds}
        assert {atom.came_back for atom in found.atoms} == {seeds - 1}
        assert found.trusted == (seeds > 1)
    default = recover_dictionary(Y, rng=0)
    assert {atom.starts for atom in default.atoms} == {3}
    noise = np.random.default_rng(0).standard_normal((8, 400))
    assert min(atom.came_back for atom in recover_dictionary(noise, rng=0, seeds=4).atoms) < 3


@pytest.mark.parametrize("dependent", [False, True])
def test_the_best_of_several_seeds_is_kept(dependent):
    """More seeds never end at a larger l1 norm of the rows solved for."""
    rng = np.random.default_rng(0)
    Y = rng.laplace(size=(6, 1500)) * (np.exp(rng.standard_normal(1500)) if dependent else 1.0)
    costs = [
        sum(atom.result.cost for atom in recover_dictionary(Y, rng=0, seeds=seeds).atoms)
        for seeds in (1, 2, 4)
    ]
    assert costs[0] >= costs[1] >= costs[2]


# --- checkpoints ---------------------------------------------------------------------------------


def test_a_checkpoint_changes_nothing_and_is_recalled(tmp_path, monkeypatch):
    Y, path = draw(n=6, p=500, noise=0.01).observations, tmp_path / "run.sqlite"
    plain = recover_dictionary(Y, rng=2)
    assert same(plain, recover_dictionary(Y, rng=2, checkpoint=path))
    for module, name in (
        (complement, "solve_deflated"),
        (complement, "solve_jointly"),
        (passes, "refine"),
    ):
        monkeypatch.setattr(module, name, lambda *_: pytest.fail("was known"))
    again = recover_dictionary(Y, rng=2, checkpoint=path)
    assert same(plain, again)
    np.testing.assert_array_equal(again.standard_errors, plain.standard_errors)
    assert again.atoms[0].result.status == plain.atoms[0].result.status


@pytest.mark.parametrize("order", ["joint", "rows", "rounded"])
def test_roundings_are_recalled_too(tmp_path, monkeypatch, order):
    Y, path = draw(n=5, p=400, noise=0.01).observations, tmp_path / "run.sqlite"
    options = {"rng": 2, "order": order, "refine": None}
    plain = recover_dictionary(Y, **options)
    assert same(plain, recover_dictionary(Y, checkpoint=path, **options))
    for name in ("solve_deflated", "solve_jointly"):
        monkeypatch.setattr(complement, name, lambda *_: pytest.fail("was known"))
    monkeypatch.setattr(Rounder, "round", lambda *_: pytest.fail("was known"))
    again = recover_dictionary(Y, checkpoint=path, **options)
    assert same(plain, again)
    gaps = [[atom.rounding.duality_gap for atom in each.atoms] for each in (plain, again)]
    assert gaps[0] == gaps[1]


def test_without_rng_the_checkpoint_keeps_the_seed(tmp_path):
    Y, path = draw(n=4, p=300, noise=0.01).observations, tmp_path / "run.sqlite"
    assert same(*(recover_dictionary(Y, checkpoint=path) for _ in range(2)))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"mu": 0.02}, "mu"),
        ({"rng": 3}, "seed"),
        ({"solver": riemtr.ExactTRM()}, "solver"),
        ({"rounding": False}, "rounding"),
        ({"rank": "auto"}, "rank"),
        ({"order": "rounded"}, "order"),
        ({"refine": None}, "refine"),
        ({"seeds": 2}, "seeds"),
        ({"offset": False}, "offset"),
        ({"surrogate": "huber"}, "surrogate"),
        ({}, "Y"),
    ],
)
def test_a_checkpoint_of_another_run_is_an_error(tmp_path, change, named):
    Y, path = draw(n=3, p=100).observations, tmp_path / "run.sqlite"
    recover_dictionary(Y, rng=2, checkpoint=path)
    before = path.read_bytes()
    if not change:
        Y = Y * (1 + 1e-15)
    with pytest.raises(ValueError, match=rf"another run \({named}: "):
        recover_dictionary(Y, **{"rng": 2, "checkpoint": path, **change})
    assert path.read_bytes() == before


def test_a_solver_is_recognised_in_another_process():
    """Its description must not contain an address in memory."""

    def settings_with(solver):
        plan = Plan(1e-2, LogCosh(1e-2), 0, solver=solver)
        return pipeline._settings(Blocks(np.ones((1, 1))), plan, True, "auto", None)

    settings = settings_with(riemtr.PracticalTRM())
    assert "0x" not in repr(settings)
    assert settings_with(riemtr.PracticalTRM(tolerance=1e-3))["solver"] != settings["solver"]


def test_a_solver_with_other_settings_is_not_taken_for_the_same(tmp_path):
    Y, path = draw(n=4, p=300).observations, tmp_path / "run.sqlite"

    class Mine:
        def __init__(self, limit):
            self.limit = limit

        def solve(self, problem, start, *, rng):
            return riemtr.PracticalTRM(max_iterations=self.limit).solve(problem, start)

    recover_dictionary(Y, rng=0, checkpoint=path, solver=Mine(1))
    recover_dictionary(Y, rng=0, checkpoint=path, solver=Mine(1))
    with pytest.raises(ValueError, match=r"solver, limit: 1 there, 500 here"):
        recover_dictionary(Y, rng=0, checkpoint=path, solver=Mine(500))


def test_a_disk_that_is_full_costs_the_checkpoint_and_not_the_recovery(tmp_path, monkeypatch):
    resource = pytest.importorskip("resource")
    Y, path = draw(n=30, p=3000, theta=0.1).observations, tmp_path / "run.sqlite"
    expected = recover_dictionary(Y, rng=0)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (14_000, limits[1]))
    try:
        with pytest.warns(UserWarning, match=r"run\.sqlite' cannot be written to"):
            found = recover_dictionary(Y, rng=0, checkpoint=path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert same(found, expected)
    assert os.listdir(tmp_path) == ["run.sqlite"]  # as it was when it could be written last
    assert same(recover_dictionary(Y, rng=0, checkpoint=path), expected)


def test_data_that_are_refused_leave_no_lock(tmp_path):
    with pytest.raises(ValueError, match="full rank"):
        recover_dictionary(np.ones((2, 9)), rng=0, checkpoint=tmp_path / "run.sqlite")
    assert os.listdir(tmp_path) == []


def test_an_interrupted_run_continues(tmp_path):
    """Ctrl-C inside a solve, which the solver survives, ends the run and poisons no record."""
    Y, path = draw(n=6, p=500, noise=0.01).observations, tmp_path / "run.sqlite"
    solves = []

    class Impatient:
        def __repr__(self):
            return "Impatient()"

        def solve(self, problem, start, *, rng):
            solves.append(problem.manifold.dim)

            def press(_):
                if len(solves) == 4:
                    raise KeyboardInterrupt

            return riemtr.PracticalTRM().solve(problem, start, observers=[press])

    with pytest.raises(KeyboardInterrupt):
        recover_dictionary(Y, rng=2, checkpoint=path, solver=Impatient())
    found = recover_dictionary(Y, rng=2, checkpoint=path, solver=Impatient())
    assert solves == [5, 4, 3, 2, 2, 1]
    assert same(found, recover_dictionary(Y, rng=2, solver=riemtr.PracticalTRM()))


@pytest.mark.parametrize("offset", [0.0, 1e-6, 10.0])
@pytest.mark.parametrize("stage", ["solve", "starts", "refine"])
def test_a_run_interrupted_in_any_stage_continues_bit_for_bit(tmp_path, stage, offset):
    """An offset that the mean does not show takes a second recovery in the same checkpoint."""
    noise = 0.0 if 0.0 < offset < 1.0 else 0.01
    Y, path = draw(n=5, p=500, noise=noise).observations + offset, tmp_path / "run.sqlite"

    def stop(progress):
        if progress.stage == stage:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match="the same call continues there"):
        recover_dictionary(Y, rng=2, checkpoint=path, progress=stop)
    found = recover_dictionary(Y, rng=2, checkpoint=path)
    expected = recover_dictionary(Y, rng=2)
    assert same(found, expected)
    np.testing.assert_array_equal(found.standard_errors, expected.standard_errors)


CHILD = """
import sys
import numpy as np
import riemtr.recovery.pipeline as pipeline
from riemtr.recovery import recover_dictionary

pipeline._WORTH_THREADS = 0
data, path, out, jobs = sys.argv[1:]
print("ready", flush=True)
found = recover_dictionary(np.load(data), rng=7, checkpoint=path, n_jobs=int(jobs))
np.savez(out, A=found.dictionary, X=found.coefficients, Q=found.directions)
"""


@pytest.mark.skipif(os.name != "posix", reason="kill -9")
@pytest.mark.parametrize("jobs", [1, 2])
def test_killed_at_random_moments_it_ends_bit_for_bit_where_it_would_have(tmp_path, jobs):
    Y = draw(n=16, p=2500, theta=0.3, noise=0.05).observations
    data, path, out = tmp_path / "Y.npy", tmp_path / "run.sqlite", tmp_path / "found.npz"
    np.save(data, Y)
    environment = {**os.environ, "PYTHONPATH": str(Path(riemtr.__file__).parents[1])}
    command = [sys.executable, "-c", CHILD, str(data), str(path), str(out), str(jobs)]
    rng = np.random.default_rng(jobs)
    expected = recover_dictionary(Y, rng=7)
    kills, patience = 0, min(expected.seconds / 3, 0.6)
    while not out.exists():
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as child:
            child.stdout.readline()
            if kills < 3:
                time.sleep(rng.uniform(0, patience))
                child.send_signal(signal.SIGKILL)
                kills += 1
            assert child.wait(timeout=60) in (0, -signal.SIGKILL)
    assert kills >= 2
    with np.load(out) as found:
        np.testing.assert_array_equal(found["A"], expected.dictionary)
        np.testing.assert_array_equal(found["X"], expected.coefficients)
        np.testing.assert_array_equal(found["Q"], expected.directions)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["Y.npy", "found.npz", "run.sqlite"]


INTERRUPTED_CHILD = """
import os, signal, sys, threading, time
import numpy as np
from riemtr.recovery import recover_dictionary

Y, folder = np.load(sys.argv[1]), sys.argv[2]


def recovered(delay, **options):
    timers = []

    def watch(now):
        if delay is not None and now.stage == "refine" and now.done == 0:
            timers.append(threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT)))
            timers[0].start()

    try:
        return recover_dictionary(Y, rng=0, progress=watch, **options)
    finally:
        for timer in timers:
            timer.cancel()
            timer.join()


whole = recovered(None)
raised = 0
for number, share in enumerate((0.0, 0.1, 0.2, 0.35, 0.5, 0.7)):
    path = f"{folder}/{number}.sqlite"
    try:
        found = recovered(share * whole.seconds, checkpoint=path)
    except KeyboardInterrupt:
        raised += 1
        found = recovered(None, checkpoint=path)
    assert found.dictionary.tobytes() == whole.dictionary.tobytes(), share
    assert found.coefficients.tobytes() == whole.coefficients.tobytes(), share
print(raised)
"""


@pytest.mark.skipif(os.name != "posix", reason="a signal that the process sends to itself")
def test_ctrl_c_during_the_refinement_is_raised_and_leaves_nothing_half_done(tmp_path):
    """The recovery raises, or it ends bit for bit as if nothing had happened."""
    np.save(tmp_path / "Y.npy", draw(n=24, p=20000, theta=0.1, noise=0.02).observations)
    environment = {**os.environ, "PYTHONPATH": str(Path(riemtr.__file__).parents[1])}
    command = [sys.executable, "-c", INTERRUPTED_CHILD, str(tmp_path / "Y.npy"), str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 2


@pytest.mark.parametrize(
    ("key", "change", "named"),
    [
        (
            "joint/0",
            {"points": np.ones((2, 2))},
            r"'points' must have shape \(5, 5\); got \(2, 2\)",
        ),
        ("joint/0", {"points": np.full((5, 5), np.nan)}, "'points' must have finite numbers only"),
        ("joint/0", {"status": 3}, "'status' must be a text; got 3"),
        ("joint/0", {"costs": None}, "'costs' must be an array of real numbers"),
        ("refine", {"directions": np.ones((5, 5), complex)}, "'directions' must be an array of re"),
        ("refine", {"iterations": "many"}, "'iterations' must be a whole number; got 'many'"),
    ],
)
def test_a_record_that_riemtr_did_not_write_is_refused_in_a_sentence(tmp_path, key, change, named):
    Y, path = draw(n=5, p=500, noise=0.01).observations, tmp_path / "run.sqlite"
    recover_dictionary(Y, rng=2, checkpoint=path)
    identity, records, _ = read_store(path, "checkpoint")
    records[key] = {**records[key], **change}
    path.unlink()
    with Store(path, identity) as store:
        store.keep(records)
    with pytest.raises(StoreError, match=f"{key}.*{named}.*remove the file"):
        recover_dictionary(Y, rng=2, checkpoint=path)


def test_interrupted_with_a_checkpoint_it_says_how_to_go_on(tmp_path):
    def stop(progress):
        if progress.stage == "inspect":
            raise KeyboardInterrupt

    Y, path = draw(n=4).observations, tmp_path / "run.sqlite"
    with pytest.raises(KeyboardInterrupt, match="the same call continues there"):
        recover_dictionary(Y, rng=0, checkpoint=path, progress=stop)
    assert same(recover_dictionary(Y, rng=0, checkpoint=path), recover_dictionary(Y, rng=0))
    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        recover_dictionary(Y, rng=0, progress=stop)


def test_a_checkpoint_of_other_data(tmp_path):
    Y, path = draw(n=4).observations, tmp_path / "run.sqlite"
    recover_dictionary(Y, rng=0, checkpoint=path)
    with pytest.raises(OtherRunError, match=r"\(Y: not the same\)"):
        recover_dictionary(2.0 * Y, rng=0, checkpoint=path)


def test_a_rank_beyond_the_rows():
    with pytest.raises(ValueError, match="rank must be at most 4, the number of rows of Y; got 99"):
        recover_dictionary(draw(n=4).observations, rank=99)


def few_values(values, seed, n=8, p=320, theta=0.3):
    rng = np.random.default_rng(seed)
    A = np.linalg.qr(rng.standard_normal((n, n)))[0]
    return A, A @ (rng.choice(values, (n, p)) * (rng.random((n, p)) < theta))


@pytest.mark.parametrize(("values", "least"), [([-1.0, 1.0], 6), ([1.0], 1)])
def test_coefficients_of_few_values_that_are_trusted_are_right(values, least):
    """Sums of rows are exactly sparse, too, and some are found in place of rows."""
    recovered = 0
    for seed in range(16):
        A, Y = few_values(values, seed)
        found = recover_dictionary(Y, rng=0)
        right = dictionary_error(found.dictionary, A) < 1e-9
        recovered += right
        assert found.count("proved") == 0
        assert right or not found.trusted
    assert recovered >= least


def test_more_sources_than_the_rank_kept_are_doubted():
    sample = BernoulliGaussian(n=8, p=1000, theta=0.2, dictionary=Conditioned(10.0)).draw(0)
    for rank in (2, 4, 6):
        found = recover_dictionary(sample.observations, rng=0, rank=rank)
        assert not any(atom.trusted for atom in found.atoms if atom.exact)


@pytest.mark.parametrize("factor", [1.0, -1.0, 2.0])
def test_copies_of_samples_prove_nothing(factor):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        A = rng.standard_normal((5, 5))
        Y = A @ (rng.standard_normal((5, 25)) * (rng.random((5, 25)) < 0.4))
        found = recover_dictionary(np.hstack([Y, factor * Y]), rng=0)
        assert not found.trusted or dictionary_error(found.dictionary, A) < 1e-9


def test_tiled_noise_is_not_trusted():
    noise = np.random.default_rng(0).standard_normal((10, 60))
    assert not recover_dictionary(np.tile(noise, 50), rng=0).trusted


def test_a_large_sample_does_no_harm():
    sample = draw(n=10, p=2000, theta=0.2)
    Y = sample.observations.copy()
    Y[:, 5] *= 100.0
    found = recover_dictionary(Y, rng=0)
    assert found.trusted
    assert dictionary_error(found.dictionary, sample.dictionary) < 1e-12


def test_a_row_that_was_replaced_has_no_evidence_left():
    rng = np.random.default_rng(289)
    n, p = 6, 60
    A = rng.standard_normal((n, n))
    X = rng.standard_cauchy((n, p)) * (rng.random((n, p)) < 0.3)
    X[0], X[1] = rng.standard_normal(p), rng.standard_normal(p)
    found = recover_dictionary(A @ X, rng=0)
    for atom, direction in zip(found.atoms, found.directions.T, strict=True):
        assert abs(atom.direction @ direction) == pytest.approx(1.0)
        assert not (atom.exact and atom.zeros == 0)
