"""Each registered problem: its derivatives are right and its truth is true."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import subspace_angles

import riemtr
from riemtr.problems import build

SMALL = {
    "rayleigh": {"n": 12},
    "dictionary-learning": {"n": 8, "p": 1500},
    "invariant-subspace": {"n": 9, "k": 3},
    "brockett": {"n": 7, "k": 3},
    "covariance": {"n": 4, "samples": 30},
    "singular-vectors": {"m": 7, "n": 5},
    "low-rank": {"m": 6, "n": 5, "rank": 2},
}


def truth_point(case):
    """A global minimizer, from what the problem was made of."""
    details = case.truth.details
    if case.name == "rayleigh":
        return details["eigenvectors"][:, 0]
    if case.name == "dictionary-learning":
        return details["dictionary"][:, 0]
    if case.name == "invariant-subspace":
        return details["eigenvectors"][:, : case.parameters["k"]]
    if case.name == "brockett":
        return np.linalg.eigh(details["matrix"])[1][:, : case.parameters["k"]]
    if case.name == "covariance":
        return details["second_moment"]
    left, values, right = np.linalg.svd(details["matrix"], full_matrices=False)
    if case.name == "singular-vectors":
        return [left[:, 0], right[0]]
    rank = case.parameters["rank"]
    return (left[:, :rank], values[:rank], right[:rank])


@pytest.mark.parametrize("name", SMALL)
def test_derivatives(name):
    case = build(name, rng=1, **SMALL[name])
    if name == "dictionary-learning":  # smooth enough for steps of order 1
        case = build(name, rng=1, mu=0.5, **SMALL[name])
    assert riemtr.check_gradient(case.problem, case.start, rng=2).ok
    assert riemtr.check_hessian(case.problem, case.start, rng=2).ok


@pytest.mark.parametrize("name", sorted(set(SMALL) - {"dictionary-learning"}))
@pytest.mark.parametrize("seed", [0, 1])
def test_the_true_cost_is_attained_and_never_beaten(name, seed):
    case = build(name, rng=seed, **SMALL[name])
    there = case.problem.at(truth_point(case))
    assert there.cost == pytest.approx(case.truth.cost, rel=1e-12)
    assert there.gradient_norm < 1e-9
    assert case.truth.distance(there.point) < 1e-6
    assert case.truth.distance(case.start) > 1e-2
    for start_seed in range(5):
        result = riemtr.PracticalTRM(tolerance=1e-8).solve(case.problem, rng=start_seed)
        assert result.cost >= case.truth.cost - 1e-10
        # None of these problems has a minimizer that is not global.
        assert result.certificate.verdict == "minimizer"
        assert result.cost == pytest.approx(case.truth.cost, abs=1e-9)
        assert case.truth.distance(result.point) < 1e-5


def test_brocketts_order_and_weights():
    case = build("brockett", rng=3, n=6, k=2)
    matrix, weights = case.truth.details["matrix"], case.truth.details["weights"]
    np.testing.assert_array_equal(weights, [2.0, 1.0])
    result = riemtr.PracticalTRM(tolerance=1e-9).solve(case.problem, case.start)
    vectors = np.linalg.eigh(matrix)[1]
    for column in range(2):
        angle = subspace_angles(result.point[:, [column]], vectors[:, [column]])[0]
        assert angle < 1e-6


@pytest.mark.parametrize("options", [{}, {"k": 2}, {"dictionary": "identity"}])
def test_dictionary_learning_finds_an_atom(options):
    case = build("dictionary-learning", rng=4, n=8, p=3000, **options)
    sample = case.truth.details
    np.testing.assert_allclose(sample["dictionary"].T @ sample["dictionary"], np.eye(8), atol=1e-12)
    np.testing.assert_allclose(
        case.problem.cost.data, sample["dictionary"] @ sample["coefficients"], atol=1e-12
    )
    for seed in range(5):
        result = riemtr.PracticalTRM().solve(case.problem, rng=seed)
        assert result.certificate.verdict == "minimizer"
        assert case.truth.distance(result.point) <= 1e-2
    np.testing.assert_allclose(case.truth.distance(sample["dictionary"][:, 3]), 0.0, atol=1e-12)


def test_sparsity_is_what_was_asked_for():
    coefficients = build("dictionary-learning", rng=0, n=10, p=4000, theta=0.3).truth.details[
        "coefficients"
    ]
    assert np.mean(coefficients != 0) == pytest.approx(0.3, abs=0.02)
    coefficients = build("dictionary-learning", rng=0, n=10, p=500, k=3).truth.details[
        "coefficients"
    ]
    np.testing.assert_array_equal(np.count_nonzero(coefficients, axis=0), 3)


def test_paper_sample_size_is_the_default():
    case = build("dictionary-learning", rng=0, n=5)
    assert case.problem.cost.data.shape[1] == pytest.approx(5 * 25 * np.log(5), abs=1)


def test_image_patches_are_white():
    pytest.importorskip("skimage")
    case = build("dictionary-learning", rng=0, image="camera", scale=0.5)
    data = case.problem.cost.data
    assert data.shape == (64, 4096)
    np.testing.assert_allclose(data @ data.T / 4096, 0.25 * np.eye(64), atol=1e-10)
    assert case.truth is None


def test_rank_deficient_image_is_white_in_its_row_space():
    pytest.importorskip("skimage")
    data = build("dictionary-learning", rng=0, image="moon").problem.cost.data
    n, p = data.shape
    assert n <= 64
    np.testing.assert_allclose(data @ data.T / p, np.eye(n), atol=1e-8)


def test_wrong_parameters():
    with pytest.raises(ValueError, match="dictionary must be one of 'identity', 'orthogonal'"):
        build("dictionary-learning", n=5, p=50, dictionary="complete")
    with pytest.raises(ValueError, match="samples must exceed n"):
        build("covariance", n=5, samples=5)
    with pytest.raises(ValueError, match="n must be"):
        build("rayleigh", n=0)


def test_smallest_sizes():
    assert build("rayleigh", rng=0, n=1).truth.cost is not None
    case = build("singular-vectors", rng=0, m=2, n=1)
    result = riemtr.PracticalTRM().solve(case.problem, rng=0)
    assert result.cost == pytest.approx(case.truth.cost)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("rayleigh", {"n": "abc"}, "n must be an integer of at least 1; got 'abc'"),
        ("rayleigh", {"n": -5}, "n must be an integer of at least 1; got -5"),
        ("rayleigh", {"n": 2.5}, "n must be an integer of at least 1; got 2.5"),
        ("brockett", {"k": 20}, "k must be an integer from 1 to 10; got 20"),
        ("invariant-subspace", {"k": 0}, "k must be an integer from 1 to 20; got 0"),
        ("covariance", {"samples": "x"}, "samples must be an integer of at least 1; got 'x'"),
        ("singular-vectors", {"m": 0}, "m must be an integer of at least 1; got 0"),
        ("low-rank", {"rank": 7}, "rank must be an integer from 1 to 6; got 7"),
        ("dictionary-learning", {"scale": 2.0}, "scale must be left out where no image is given"),
    ],
)
def test_parameters_are_refused_by_name(name, parameters, message):
    with pytest.raises((ValueError, TypeError), match=message):
        build(name, rng=0, **parameters)


@pytest.mark.parametrize(
    "parameters", [{"n": 10}, {"p": 100}, {"theta": 0.1}, {"k": 2}, {"dictionary": "identity"}]
)
def test_an_image_settles_what_its_data_are(parameters):
    (name,) = parameters
    with pytest.raises(ValueError, match=f"^{name} must be left out where image is given"):
        build("dictionary-learning", rng=0, image="camera", **parameters)


def test_the_second_moment_is_of_the_size_that_was_drawn():
    moment = riemtr.problems.build("covariance", rng=0, n=4, samples=4000).truth.details[
        "second_moment"
    ]
    deviations = np.sqrt(moment.diagonal())
    assert np.all((deviations > 0.45) & (deviations < 2.1))


def test_patches_of_size_zero_are_refused():
    with pytest.raises(ValueError, match="scale must be a positive finite number; got 0"):
        riemtr.problems.build("dictionary-learning", rng=0, image="camera", scale=0.0)
