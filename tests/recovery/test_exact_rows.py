"""Exactly sparse rows: snapped onto their zeros from nearby, and proved by a dual."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest

from riemtr.data import BernoulliGaussian, Conditioned
from riemtr.data.blocks import Blocks, column_lengths
from riemtr.data.dask_arrays import partition
from riemtr.recovery import precondition, recover_dictionary, round_direction
from riemtr.recovery.exact_rows import FEWEST_DIGITS, Units, prove, snap


def sparse(n, p, theta, seed=0, amplitudes="gaussian"):
    rng = np.random.default_rng(seed)
    values = {
        "gaussian": rng.standard_normal,
        "cauchy": rng.standard_cauchy,
        "uniform": lambda size: rng.uniform(0.5, 1.5, size),
    }[amplitudes]((n, p))
    return values * (rng.random((n, p)) < theta)


def rotated(X, seed=0):
    """Samples in other coordinates, and the directions of the rows there."""
    turn = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(X), len(X))))[0]
    return turn @ X, turn


def perturbed(directions, size, seed=7):
    noise = np.random.default_rng(seed).standard_normal(directions.shape)
    near = directions + size * noise / np.linalg.norm(noise, axis=0)
    return near / np.linalg.norm(near, axis=0)


def sines(directions, targets):
    cosines = np.abs(np.einsum("ij,ij->j", directions, targets))
    outside = directions - targets * np.einsum("ij,ij->j", directions, targets)
    return np.where(cosines > 0.5, np.linalg.norm(outside, axis=0), 1.0)


# --- snapping ------------------------------------------------------------------------------------


@pytest.mark.parametrize("amplitudes", ["gaussian", "cauchy", "uniform"])
@pytest.mark.parametrize(
    ("n", "p", "theta"), [(4, 2000, 0.3), (5, 1500, 0.2), (20, 4000, 0.3), (30, 3000, 0.1)]
)
def test_rows_are_found_from_directions_nearby(n, p, theta, amplitudes):
    Y, rows = rotated(sparse(n, p, theta, amplitudes=amplitudes))
    found = snap(Units.of(Y, column_lengths(Y)), perturbed(rows, 2e-3))
    right = sines(found.directions, rows) < 1e-12
    assert np.mean(right) >= 0.95 if amplitudes != "cauchy" else np.mean(right) >= 0.8
    np.testing.assert_array_equal(found.largest < 1e-12, right)
    np.testing.assert_allclose(np.linalg.norm(found.directions, axis=0), 1.0, rtol=1e-14)
    for direction, zeros, levers, largest in zip(
        found.directions.T, found.zeros, found.leverages, found.largest, strict=True
    ):
        units = Y[:, zeros] / column_lengths(Y)[zeros]
        assert np.abs(direction @ units).max() == pytest.approx(largest, abs=1e-15)
        assert len(zeros) == len(levers) > n
        assert levers.max() < 1.0 + 1e-9


@pytest.mark.parametrize("theta", [0.1, 0.3])
def test_the_farther_the_direction_the_fewer_rows_and_never_a_false_one(theta):
    Y, rows = rotated(sparse(12, 2000, theta))
    for size in (0.02, 0.05, 0.2, 0.5, 1.0):
        found = snap(Units.of(Y, column_lengths(Y)), perturbed(rows, size))
        claimed = found.largest <= 1e-12
        nearest = rows[:, np.abs(rows.T @ found.directions).argmax(axis=0)]
        assert sines(found.directions, nearest)[claimed].max(initial=0.0) < 1e-12
        assert claimed.all() or size > 0.02


@pytest.mark.parametrize("kind", ["gaussian", "laplace", "t3", "noisy sparse", "few samples"])
def test_nothing_is_claimed_on_dense_data(kind):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        Y = {
            "gaussian": lambda rng: rng.standard_normal((6, 2000)),
            "laplace": lambda rng: rng.laplace(size=(6, 2000)),
            "t3": lambda rng: rng.standard_t(3, (6, 2000)),
            "noisy sparse": lambda rng: (
                rng.standard_normal((6, 2000)) * (rng.random((6, 2000)) < 0.2)
                + 1e-3 * rng.standard_normal((6, 2000))
            ),
            "few samples": lambda rng: rng.standard_normal((6, 40)),
        }[kind](rng)
        found = snap(Units.of(Y, column_lengths(Y)), np.eye(6))
        assert (found.largest > FEWEST_DIGITS).all()


def test_too_few_samples_determine_nothing():
    Y = np.random.default_rng(0).standard_normal((6, 9))
    found = snap(Units.of(Y, column_lengths(Y)), np.eye(6))
    assert np.isinf(found.largest).all()
    np.testing.assert_array_equal(found.directions, np.eye(6))


def test_samples_of_zero_and_copies_do_not_count():
    X = sparse(5, 600, 0.2)
    Y, rows = rotated(np.hstack([X, np.zeros((5, 200)), np.repeat(X[:, :3], 300, axis=1)]))
    found = snap(Units.of(Y, column_lengths(Y)), perturbed(rows, 0.02))
    assert sines(found.directions, rows).max() < 1e-13


@pytest.mark.parametrize("digits", [5, 7, 9])
def test_data_of_few_digits_are_snapped_to_these_digits(digits):
    Y, rows = rotated(sparse(8, 3000, 0.2))
    Y = Y.round(digits)
    found = snap(Units.of(Y, column_lengths(Y)), perturbed(rows, 2e-3))
    assert sines(found.directions, rows).max() < 5.0 * 10.0**-digits
    assert (found.largest > 1e-13).all()


# --- proving -------------------------------------------------------------------------------------


def proof_of(Y, directions, vanishing=1e-11, share=1.0):
    step = round(1.0 / share)
    samples = np.ascontiguousarray(Y[:, ::step])
    limits = np.full(directions.shape[1], vanishing)
    return prove(Blocks(Y), Blocks(samples), samples.shape[1] / Y.shape[1], directions, limits)


def true_gaps(Y, directions):
    """How far each direction is from the optimum of its own linear program, by HiGHS."""
    gaps = []
    for q in directions.T:
        size = np.abs(q @ Y)
        size[size < 1e-11 * column_lengths(Y)] = 0.0
        optimum = round_direction(Y, q, method="highs").objective
        gaps.append((size.sum() - optimum) / size.sum())
    return np.array(gaps)


@pytest.mark.parametrize(("n", "p", "theta"), [(1, 40, 0.5), (3, 200, 0.3), (10, 1000, 0.2)])
def test_exact_rows_have_no_gap(n, p, theta):
    X = sparse(n, p, theta)
    Y, rows = rotated(X)
    proof = proof_of(Y, rows)
    there = np.any(X != 0, axis=0)
    np.testing.assert_array_equal(proof.zeros, np.count_nonzero(X[:, there] == 0, axis=1))
    np.testing.assert_allclose(proof.objectives, np.abs(X).sum(axis=1), rtol=1e-12)
    assert proof.gaps.max() < 1e-12
    assert np.abs(true_gaps(Y, rows)).max() < 1e-9
    rounding = proof.rounding(0, rows[:, 0])
    assert rounding.certified
    np.testing.assert_array_equal(rounding.solution, rows[:, 0])


@pytest.mark.parametrize("share", [1.0, 0.5, 0.25])
@pytest.mark.parametrize("kind", ["mixtures", "random", "vertices", "hardly sparse", "few"])
def test_no_gap_is_claimed_below_the_true_one(kind, share):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        theta, p = (0.95, 400) if kind == "hardly sparse" else (0.3, 24 if kind == "few" else 400)
        X = sparse(6, p, theta, seed)
        Y, rows = rotated(X)
        if kind == "mixtures":
            both = [np.flatnonzero(X[i] * X[i - 1])[0] for i in range(6)]
            pairs = [
                X[i - 1, b] * rows[:, i] - X[i, b] * rows[:, i - 1] for i, b in enumerate(both)
            ]
            rows = np.column_stack(pairs)
        elif kind == "random":
            rows = rng.standard_normal((6, 6))
        elif kind == "vertices":
            starts = rng.standard_normal((3, 6))
            rows = np.column_stack([round_direction(Y, r).direction for r in starts])
        rows = rows / np.linalg.norm(rows, axis=0)
        proof, true = proof_of(Y, rows, share=share), true_gaps(Y, rows)
        assert (proof.gaps >= true - 1e-9).all()
        assert (proof.gaps <= 1.0).all()


def largest_of_the_duals(Y, q, step):
    """The largest entry of the guess alone, and of the dual with its correction, densely."""
    lengths = column_lengths(Y)
    zero = (np.abs(q @ Y) <= 1e-11 * lengths) & (lengths > 0.0)
    units, held, sampled = Y[:, zero] / lengths[zero], Y[:, zero], np.flatnonzero(zero) % step == 0
    across = np.eye(len(q)) - np.outer(q, q)
    wanted = across @ Y[:, ~zero] @ np.sign(q @ Y[:, ~zero])
    guess = wanted * (len(q) - 1) / lengths[zero].sum()
    dual = guess @ units
    alone = np.abs(dual).max()
    matrix = units[:, sampled] @ held[:, sampled].T
    left = across @ (wanted - held @ dual)
    dual[sampled] += (
        np.linalg.pinv(across @ matrix @ across, hermitian=True) @ left @ units[:, sampled]
    )
    np.testing.assert_allclose(across @ held @ dual, wanted, atol=1e-9 * lengths.sum())
    return alone, np.abs(dual).max()


def test_a_row_is_proved_if_the_guess_and_the_correction_together_are_a_dual():
    refused = proved = 0
    for seed in range(12):
        Y, rows = rotated(sparse(5, 240, 0.6, seed))
        gaps = proof_of(Y, rows, share=0.25).gaps
        for q, gap in zip(rows.T, gaps, strict=True):
            alone, together = largest_of_the_duals(Y, q, step=4)
            if alone <= 1.0:
                assert (gap < 1.0) == (together <= 1.0)
                refused += together > 1.0
                proved += together <= 1.0
    assert min(refused, proved) >= 10


@pytest.mark.parametrize("share", [1.0, 0.5, 0.1])
@pytest.mark.parametrize("n", [4, 8])
def test_at_many_samples_exact_rows_are_proved_from_some_of_them(n, share):
    Y, rows = rotated(sparse(n, 100_000, 0.2))
    proof = proof_of(Y, rows, share=share)
    assert proof.gaps.max() < 1e-10


@pytest.mark.usefixtures("chunks_as_they_come")
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_with_dask_the_proof_is_that_in_memory(share):
    Y, rows = rotated(sparse(5, 3000, 0.3))
    expected = proof_of(Y, rows, share=share)
    samples = np.ascontiguousarray(Y[:, :: round(1 / share)])
    parts = partition(da.from_array(Y, chunks=(5, 700)))
    found = prove(parts, Blocks(samples), share, rows, np.full(5, 1e-11))
    np.testing.assert_array_equal(found.zeros, expected.zeros)
    np.testing.assert_allclose(found.objectives, expected.objectives, rtol=1e-12)
    assert found.gaps.max() < 1e-12


def test_a_row_of_zeros_costs_nothing():
    Y = np.vstack([np.random.default_rng(0).standard_normal((2, 50)), np.zeros(50)])
    proof = proof_of(Y, np.eye(3)[:, 2:])
    assert proof.gaps[0] == 0.0
    assert proof.zeros[0] == 50


# --- in the pipeline -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
def test_exact_rows_of_200000_samples_are_certified(seed):
    """Summation alone leaves a gap of 1e-9 there, to a linear program's dual."""
    model = BernoulliGaussian(n=8, p=200_000, theta=0.2, dictionary=Conditioned(10.0))
    sample = model.draw(seed)
    found = recover_dictionary(sample.observations, rng=0)
    assert found.certified
    assert found.count("proved") == 8
    assert max(atom.rounding.duality_gap for atom in found.atoms) < 1e-11
    zeros = np.count_nonzero(found.coefficients == 0)
    assert zeros == np.count_nonzero(sample.coefficients == 0)


def test_rows_solved_on_some_samples_are_proved_on_all_of_them(monkeypatch):
    monkeypatch.setattr("riemtr.recovery.task._FEWEST_ENTRIES", 10)
    monkeypatch.setattr("riemtr.recovery.task._SAMPLES_PER_POWER", 40.0)
    sample = BernoulliGaussian(n=6, p=6000, theta=0.2, dictionary=Conditioned(10.0)).draw(0)
    found = recover_dictionary(sample.observations, rng=0)
    assert found.count("proved") == 6
    assert found.certified
    white = precondition(sample.observations).data
    for atom, row in zip(found.atoms, found.coefficients, strict=True):
        assert atom.zeros == np.count_nonzero((row == 0) & (sample.observations != 0).any(axis=0))
        objective = np.abs(atom.direction @ white).sum()
        assert atom.rounding.objective == pytest.approx(objective, rel=1e-9)
    assert np.count_nonzero(found.coefficients) == np.count_nonzero(sample.coefficients)
