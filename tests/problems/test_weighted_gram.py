"""Weighted Gram matrices against their definition; floors against eigenvalues."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import riemtr
from riemtr import Sphere, dictionary_problem
from riemtr.data import blocks
from riemtr.problems import weighted_gram as module
from riemtr.problems.dictionary_learning import DictionaryCost
from riemtr.problems.weighted_gram import WeightedGram, floor_of_gram, weighted_gram


def example(seed, n, p, share=1.0):
    """Data, and weights of which a share is not negligible."""
    rng = np.random.default_rng(seed)
    weights = rng.random(p)
    active = rng.random(p) < share
    return rng.standard_normal((n, p)), np.where(active, weights, 1e-20), active


def naive(data, weights):
    return (data * weights.astype(np.longdouble)) @ data.T.astype(np.longdouble)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.6, 0.7, 1.0])
@pytest.mark.parametrize(("dtype", "accuracy"), [(np.float64, 1e-13), (np.float32, 1e-5)])
def test_gram_is_its_definition(dtype, accuracy, share, order):
    data, weights, active = example(0, 7, 900, share)
    gram = weighted_gram(np.array(data, order=order), weights, active, np.dtype(dtype))
    expected = naive(data, weights).astype(float)
    assert gram.matrix.dtype == dtype
    np.testing.assert_allclose(
        gram.matrix, expected, atol=accuracy * np.abs(expected).max() + 1e-15
    )
    np.testing.assert_array_equal(gram.matrix, gram.matrix.T)
    # The weights are those that went into the matrix.
    gathered = share < module._WORTH_GATHERING
    np.testing.assert_array_equal(gram.weights, np.where(active | (not gathered), weights, 0.0))


@pytest.mark.parametrize("share", [0.3, 1.0])
@pytest.mark.parametrize("entries", [1, 70, 1000])
def test_blocks_add_up(share, entries, monkeypatch):
    data, weights, active = example(1, 7, 333, share)
    monkeypatch.setattr(blocks, "_IN_CACHE", entries)
    matrix = weighted_gram(data, weights, active, data.dtype).matrix
    np.testing.assert_allclose(matrix, naive(data, weights).astype(float), rtol=1e-12, atol=1e-11)


def test_more_columns_than_one_block_holds():
    data, weights, active = example(2, 4, blocks._IN_CACHE // 4 + 1000, 0.5)
    matrix = weighted_gram(data, weights, active, data.dtype).matrix
    np.testing.assert_allclose(matrix, naive(data, weights).astype(float), rtol=1e-10, atol=1e-8)


@given(st.integers(0, 10**6), st.integers(1, 8), st.floats(0.0, 3.0), st.sampled_from("CF"))
@settings(max_examples=60, deadline=None)
def test_the_matrix_nowhere_falls_below_its_floor(seed, n, change, order):
    rng = np.random.default_rng(seed)
    p = int(rng.integers(1, 200))
    data = np.array(rng.standard_normal((n, p)), order=order)
    before = rng.random(p) * (rng.random(p) < 0.9)
    after = before * np.exp(change * rng.standard_normal(p) * (rng.random(p) < 0.3))
    earlier = WeightedGram(naive(data, before).astype(float), before)
    floor = floor_of_gram(data, after, earlier)
    if floor is None:
        lost = np.mean(after < 0.97 * before)
        correction = naive(data, np.maximum(0.97 * before - after, 0.0)).astype(float)
        size = np.linalg.norm(0.97 * earlier.matrix)
        assert lost > 0.25 or np.linalg.norm(correction) > 0.499 * size
        return
    difference = (naive(data, after) - floor).astype(float)
    assert np.linalg.eigvalsh(difference)[0] >= -1e-12 * np.abs(earlier.matrix).max()


def test_where_nothing_changed_the_floor_is_close():
    data, weights, active = example(3, 6, 500)
    earlier = weighted_gram(data, weights, active, data.dtype)
    np.testing.assert_allclose(floor_of_gram(data, weights, earlier), 0.97 * earlier.matrix)
    gone = weights.copy()
    gone[:20] = 0.0
    floor = floor_of_gram(data, gone, earlier)
    np.testing.assert_allclose(
        floor, 0.97 * naive(data, gone).astype(float), rtol=1e-10, atol=1e-10
    )


def test_too_many_columns_or_too_much_of_the_matrix_lost():
    data, weights, active = example(4, 5, 400)
    earlier = weighted_gram(data, weights, active, data.dtype)
    assert floor_of_gram(data, 0.9 * weights, earlier) is None
    data[:, 0] *= 1e4  # one column that is nearly all
    earlier = weighted_gram(data, weights, active, data.dtype)
    gone = weights.copy()
    gone[0] = 0.0
    assert floor_of_gram(data, gone, earlier) is None


def sparse_problem(seed=0, n=12, p=3000, mu=5e-2):
    rng = np.random.default_rng(seed)
    return dictionary_problem(rng.standard_normal((n, p)) * (rng.random((n, p)) < 0.25), mu)


@pytest.mark.parametrize("distance", [0.0, 1e-4, 1e-3, 1e-2, 0.1])
def test_with_a_record_the_sign_of_the_curvature_is_still_the_truth(distance):
    # Points all over the sphere: minimizers, saddles, and what is in between.
    problem, sphere = sparse_problem(), Sphere(12)
    rng = np.random.default_rng(1)
    seen = set()
    for _ in range(60):
        sharpness = rng.random() * 12
        q = sphere.random_point(rng)
        q = np.sign(q) * np.abs(q) ** (1 + sharpness)
        q /= np.linalg.norm(q)
        before = problem.at(q)
        before.step_matrix()
        moved = sphere.exp(q, distance * sphere.random_tangent_vector(q, rng))
        truth = np.linalg.eigvalsh(problem.at(moved).hessian_matrix())[0] >= -1e-6
        here = problem.at(moved)
        here.follow(before)
        assert here.is_positive_to(1e-6) == truth
        seen.add(bool(truth))
    assert seen == {True, False}


def test_a_floor_mostly_saves_the_last_matrix_of_a_solve(monkeypatch):
    formed, bounds = [], []
    whole, floor = DictionaryCost.at.__globals__["weighted_gram"], floor_of_gram

    def noted(record, function):
        return lambda *arguments: record.append(function(*arguments)) or record[-1]

    home = "riemtr.problems.dictionary_learning."
    monkeypatch.setattr(home + "weighted_gram", noted(formed, whole))
    monkeypatch.setattr(home + "floor_of_gram", noted(bounds, floor))
    saved = 0
    for seed in range(10):
        formed.clear()
        bounds.clear()
        result = riemtr.PracticalTRM(tolerance=1e-10).solve(sparse_problem(seed), rng=seed)
        assert result.converged
        assert len(bounds) == 1  # or None, where the last matrix was formed too far away
        found = bounds[0] is not None
        assert result.counts.hessian_matrices == len(formed) + found  # in whole or in part
        assert result.certificate.verdict == "minimizer"
        saved += found
    assert saved >= 6


def test_records_of_other_data_are_of_no_use():
    first, second = sparse_problem(0), sparse_problem(1)
    q = Sphere(12).random_point(0)
    here = first.at(q)
    here.step_matrix()
    assert first.cost.at(q).hessian_floor(here.hessian_record) is not None
    assert second.cost.at(q).hessian_floor(here.hessian_record) is None
    narrow = [easier for easier, _ in first.easier()][-1]
    assert narrow.cost.at(q).hessian_floor(here.hessian_record) is not None


def test_points_without_a_matrix_pass_the_record_on():
    problem = sparse_problem()
    q = Sphere(12).random_point(0)
    here = problem.at(q)
    assert here.hessian_record is None
    here.hessian_matrix()
    there = problem.at(q)
    there.follow(here)
    assert there.hessian_record is here.hessian_record is not None
    there.hessian_matrix()
    assert there.hessian_record is not here.hessian_record


def test_floors_keep_their_guard_where_squares_overflow_in_single_precision():
    for trial in range(30):
        rng = np.random.default_rng(trial)
        p, size = 2000, 10.0 ** rng.uniform(12.25, 12.85)
        data = np.zeros((2, p))
        data[0, : p // 8] = size * rng.uniform(0.5, 1.5, p // 8)
        data[1, p // 8 :] = size * rng.uniform(0.5, 1.5, p - p // 8)
        problem = dictionary_problem(data, 1e-8 * size)
        pole, aside = np.array([0.0, 1.0]), np.array([np.sin(0.1), np.cos(0.1)])
        before, here = problem.at(pole), problem.at(aside)
        before.step_matrix()
        here.follow(before)
        assert problem.at(aside).hessian_matrix()[0, 0] < -1.0
        assert not here.is_positive_to(1e-6)


def test_the_certificate_knows_what_a_floor_has_proved():
    # In single precision the Hessian's own rounding exceeds the tolerance here.
    data = np.random.default_rng(0).standard_normal((10, 1)).astype(np.float32)
    problem = dictionary_problem(data, 4e-4)
    proved = 0
    for seed in range(20):
        result = riemtr.PracticalTRM().solve(problem, rng=seed)
        if result.converged:
            assert result.certificate.verdict == "minimizer"
            proved += riemtr.certify(problem, result.point).verdict == "unresolved"
    assert proved > 0


def test_records_of_other_costs_are_passed_over():
    matrix = np.diag(np.arange(1.0, 13.0))

    class Other:
        def at(self, x):
            point = type("Point", (), {})()
            point.value, point.gradient = x @ matrix @ x, 2.0 * matrix @ x
            point.hessian = lambda v: 2.0 * matrix @ v
            point.hessian_matrix = lambda: 2.0 * matrix
            point.hessian_record = ("mine", matrix)
            return point

    other = riemtr.Problem(Sphere(12), Other())
    solver = riemtr.TrustRegion(
        subproblem=riemtr.HybridSubproblem(), warm_up=lambda problem: [(other, 1e-3)]
    )
    for seed in range(3):
        assert solver.solve(sparse_problem(), rng=seed).converged


def test_the_correction_is_formed_in_blocks(monkeypatch):
    data, weights, active = example(5, 6, 2000)
    earlier = weighted_gram(data, weights, active, data.dtype)
    after = weights * np.where(np.arange(2000) % 5, 1.0, 0.5)
    expected = floor_of_gram(data, after, earlier)
    widths, whole = [], module._gram

    def gram(columns, *rest):
        widths.append(columns.shape[1])
        return whole(columns, *rest)

    monkeypatch.setattr(module, "_gram", gram)
    monkeypatch.setattr(blocks, "_IN_CACHE", 600)
    np.testing.assert_allclose(floor_of_gram(data, after, earlier), expected, atol=1e-10)
    assert max(widths) <= 100
