"""The smallest Hessian eigenvalue: decided, never computed twice, kept when time is up."""

from __future__ import annotations

import math

import numpy as np
import pymanopt.manifolds as pm
import pytest

from riemtr import Problem, Sphere
from riemtr.problem import Clock, Threshold
from tests.problem.quadratics import quadratic

TOLERANCES = {np.float64: 1e-6, np.float32: 1e-3}
N = 7


class Tallied:
    """x'Ax/2 that offers its matrix, and a rough one, and says how often it formed them."""

    def __init__(self, matrix, rough=None):
        self.matrix, self.rough, self.formed = matrix, rough, []

    def at(self, x):
        point = type("Point", (), {})()
        point.value, point.gradient = 0.5 * x @ self.matrix @ x, self.matrix @ x
        point.hessian = lambda v: self.matrix @ v
        point.hessian_matrix = self._form
        point.rounds_matrix = self.rough is not None
        return point

    def _form(self, accuracy=None):
        self.formed.append("matrix" if accuracy is None else "rough")
        return self.matrix if accuracy is None else self.rough


def with_spectrum(spectrum, seed=1):
    frame = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(spectrum),) * 2))[0]
    return (frame * spectrum) @ frame.T


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_from_the_matrix_it_is_the_eigendecomposition(dtype):
    rng = np.random.default_rng(4)
    here, values = quadratic("sphere", rng.standard_normal(40), rng, dtype)
    here.hessian_matrix()
    products = here.counts.hessian_products
    found, threshold = here.curvature, Threshold(TOLERANCES[dtype])
    assert found.side(threshold) == -1
    assert here.counts.hessian_products == products + 1  # which confirms the factorization
    found.estimate(threshold)
    assert here.counts.hessian_products == products + 2  # which confirms the eigenvector
    assert found.min_eigenvalue == pytest.approx(values[0], abs=found.doubt)
    assert found.max_eigenvalue == pytest.approx(values[-1], abs=found.doubt)
    assert found.doubt < 1e3 * here.precision * np.abs(values).max()
    direction = found.direction
    assert direction.dtype == dtype
    assert here.inner(direction, here.hessian(direction)) == pytest.approx(
        values[0], abs=found.doubt
    )
    np.testing.assert_allclose(found.eigenvalues(), values, atol=found.doubt)


@pytest.mark.parametrize(
    ("smallest", "lower_bound", "doubt", "tolerance", "side"),
    [
        (1.0, 0.5, 0.0, 1e-6, 1),
        (0.0, -1e-7, 0.0, 1e-6, 1),
        (0.0, -1e-5, 0.0, 1e-6, 0),
        (-1e-7, -1e-5, 0.0, 1e-6, 0),
        (-1e-5, -1e9, 0.0, 1e-6, -1),
        (-1e-5, -1e9, 1e-4, 1e-6, 0),
        (1.0, -math.inf, 0.0, 1e-6, 0),
        (1.0, -math.inf, 0.0, math.inf, 0),
        (0.0, 0.0, 0.0, 0.0, 1),
    ],
)
def test_sides(smallest, lower_bound, doubt, tolerance, side):
    here, _ = quadratic("euclidean", np.ones(3), np.random.default_rng(0))
    curvature = here.curvature
    curvature.min_eigenvalue, curvature.lower_bound = smallest, lower_bound
    curvature.doubt = doubt
    assert curvature.known_side(Threshold(tolerance)) == side


def test_a_threshold_is_the_larger_of_absolute_and_relative():
    assert Threshold(1e-6).at(1e3) == 1e-6
    assert Threshold(1e-6, 1e-8).at(1e3) == pytest.approx(1e-5)
    assert Threshold(1e-6, 1e-8).at(1.0) == 1e-6
    assert Threshold(1e-6, 1e-8).at(math.nan) == 1e-6


@pytest.mark.parametrize("smallest", [-1.0, -1e-3, -1e-9, 0.0, 1e-3, 1.0])
@pytest.mark.parametrize("offers", [True, False])
def test_sides_agree_with_the_eigenvalues(smallest, offers):
    matrix = with_spectrum(np.concatenate([[smallest], np.linspace(1.5, 3.0, N - 1)]))
    problem = Problem(pm.Euclidean(N), Tallied(matrix))
    if not offers:
        problem = Problem(
            pm.Euclidean(N),
            lambda x: 0.5 * x @ matrix @ x,
            euclidean_gradient=lambda x: matrix @ x,
            euclidean_hessian=lambda x, v: matrix @ v,
        )
    for tolerance in (1e-6, 1e-2):
        curvature = problem.at(np.ones(N)).curvature
        assert curvature.side(Threshold(tolerance)) == (1 if smallest >= -tolerance else -1)
        assert curvature.lower_bound <= smallest + 1e-12
        assert smallest < 0.0 or not curvature.is_negative or smallest == 0.0
        assert curvature.is_negative or smallest >= -tolerance
    if abs(smallest) > 1e-6:
        assert problem.at(np.ones(N)).curvature.side(Threshold()) == np.sign(smallest)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_sphere_with_one_curvature_only(sign):
    # -x1 at the pole: the Hessian is the identity; at the other pole minus that.
    n = 50
    here = Problem(Sphere(n), lambda x: -x[0]).at(sign * np.eye(n)[0])
    assert here.curvature.side(Threshold(1e-6)) == sign
    assert here.curvature.min_eigenvalue == pytest.approx(sign, rel=1e-12)
    assert here.curvature.max_eigenvalue == pytest.approx(sign, rel=1e-12)
    assert here.counts.hessian_products <= 3


def test_dimension_zero_and_one():
    nothing = Problem(Sphere(1), lambda x: x[0]).at(np.ones(1)).curvature
    assert nothing.side(Threshold(1e-6)) == 1
    assert nothing.min_eigenvalue == nothing.lower_bound == math.inf
    assert nothing.direction is None
    one = Problem(Sphere(2), lambda x: 2.0 * x[0]).at(np.eye(2)[0]).curvature
    assert one.side(Threshold(1e-6)) == -1
    assert one.min_eigenvalue == pytest.approx(-2.0)
    np.testing.assert_allclose(np.abs(one.direction), [0.0, 1.0], atol=1e-15)


@pytest.mark.parametrize(
    ("smallest", "formed"),
    [
        (1.0, ["rough"]),
        (-0.1, ["rough"]),
        (1e-7, ["rough", "matrix"]),
        (-3e-6, ["rough", "matrix"]),
    ],
)
def test_the_rough_matrix_decides_what_its_accuracy_allows(smallest, formed):
    rng = np.random.default_rng(3)
    matrix = with_spectrum(np.append(np.linspace(1.5, 3.0, N - 1), smallest), seed=3)
    error = rng.standard_normal((N, N))
    cost = Tallied(matrix, matrix + 1e-6 * (error + error.T))
    curvature = Problem(pm.Euclidean(N), cost).at(np.ones(N)).curvature
    assert curvature.side(Threshold(1e-6)) == (1 if smallest >= -1e-6 else -1)
    assert cost.formed == formed
    if smallest < -1e-6:  # whoever wants to escape gets a direction from what was formed already
        assert curvature.direction is not None
        assert curvature.min_eigenvalue == pytest.approx(smallest, abs=1e-10)
        assert cost.formed == formed
        curvature.estimate(Threshold(1e-6))  # a certificate needs the matrix itself
        assert curvature.min_eigenvalue == pytest.approx(smallest, abs=1e-12)
        assert curvature.max_eigenvalue == pytest.approx(3.0, abs=1e-12)
        assert cost.formed == ["rough", "matrix"]


def test_curvature_lost_in_rounding_is_left_open():
    cost = Tallied(np.diag([1e12, -1e-6]), np.diag([1e12, -1e-6]))
    here = Problem(pm.Euclidean(2), cost).at(np.ones(2))
    assert here.curvature.side(Threshold(1e-6)) == 0


def test_a_matrix_that_contradicts_the_products_decides_nothing():
    wrong = np.diag([1.0, 2.0, -1.0])

    class Inconsistent(Tallied):
        def at(self, x):
            point = super().at(x)
            point.hessian = lambda v: v
            return point

    here = Problem(pm.Euclidean(3), Inconsistent(wrong, wrong)).at(np.ones(3))
    assert here.curvature.side(Threshold(1e-6)) == 0


@pytest.mark.parametrize("offers", [True, False])
def test_nothing_is_known_of_a_hessian_of_nan(offers):
    nan = np.full((2, 2), np.nan)
    problem = Problem(pm.Euclidean(2), Tallied(nan, nan))
    if not offers:
        problem = Problem(
            pm.Euclidean(2),
            lambda x: 0.0,
            euclidean_gradient=lambda x: np.zeros(2),
            euclidean_hessian=lambda x, v: nan @ v,
        )
    here = problem.at(np.ones(2))
    assert here.curvature.side(Threshold(1e-6)) == 0
    assert here.curvature.lower_bound == -math.inf
    assert "NaN or infinite" in here.curvature.limited
    with pytest.raises(ValueError, match="NaN or infinite"):
        here.step_matrix()


def test_differences_widen_the_bound():
    rng = np.random.default_rng(5)
    exact, values = quadratic("sphere", rng.standard_normal(20), rng)
    here = Problem(
        Sphere(20), lambda x: 0.0, riemannian_gradient=lambda x: exact.problem.at(x).gradient
    ).at(exact.point)
    here.hessian_matrix()
    curvature = here.curvature
    curvature.estimate(Threshold(1e-6))
    assert curvature.lower_bound <= values[0]
    assert curvature.doubt > 1e-12
    assert abs(curvature.min_eigenvalue - values[0]) <= curvature.doubt


@pytest.mark.parametrize("scale", [1e-160, 1e-8, 1.0, 1e8, 1e140])
@pytest.mark.parametrize("offers", [True, False])
@pytest.mark.parametrize("smallest", [-1e-2, -1e-5, 0.0, 1e-2])
def test_the_side_of_a_relative_threshold_does_not_depend_on_the_unit(scale, offers, smallest):
    matrix = scale * with_spectrum(np.append(np.linspace(1.5, 3.0, 29), smallest))
    plain = {
        "euclidean_gradient": lambda x: matrix @ x,
        "euclidean_hessian": lambda x, v: matrix @ v,
    }
    cost = Tallied(matrix) if offers else lambda x: 0.5 * x @ matrix @ x
    here = Problem(pm.Euclidean(30), cost, **({} if offers else plain)).at(np.ones(30))
    curvature = here.curvature
    assert curvature.side(Threshold(relative=1e-4)) == (-1 if smallest < -1e-3 else 1)
    assert 1e-5 * scale < curvature.tolerated(Threshold(relative=1e-4)) < 1e-3 * scale


# Nothing is computed twice


@pytest.mark.parametrize("smallest", [-1e-2, 1e-2])
@pytest.mark.parametrize("n", [30, 300])
def test_asked_twice_it_costs_no_product(smallest, n):
    rng = np.random.default_rng(6)
    here, _ = quadratic("euclidean", np.append(rng.uniform(0.5, 5.0, n - 1), smallest), rng)
    side = here.curvature.side(Threshold(1e-6))
    here.curvature.estimate(Threshold(1e-6))
    known = here.counts.snapshot(), here.curvature.min_eigenvalue, here.curvature.lower_bound
    for threshold in (Threshold(1e-6), Threshold(1e-3), Threshold(relative=1e-5)):
        assert here.curvature.side(threshold) == side == np.sign(smallest)
        here.curvature.estimate(threshold)
        assert here.curvature.direction is not None
    again = here.counts.snapshot(), here.curvature.min_eigenvalue, here.curvature.lower_bound
    assert again == known
    assert here.curvature.products == here.counts.hessian_products


@pytest.mark.parametrize("kind", ["matrix", "few products", "lanczos"])
def test_undecided_it_is_not_computed_again(kind):
    spectrum = np.append(np.linspace(1.0, 1e12, 399 if kind == "lanczos" else 9), -1e-6)
    matrix = with_spectrum(spectrum)
    plain = {
        "euclidean_gradient": lambda x: matrix @ x,
        "euclidean_hessian": lambda x, v: matrix @ v,
    }
    offers = kind == "matrix"
    cost = Tallied(matrix) if offers else lambda x: 0.5 * x @ matrix @ x
    here = Problem(pm.Euclidean(len(matrix)), cost, **({} if offers else plain)).at(
        np.zeros(len(matrix))
    )
    curvature = here.curvature
    assert curvature.side(Threshold(1e-6)) == 0
    known = here.counts.snapshot(), curvature.min_eigenvalue, curvature.lower_bound, curvature.doubt
    for _ in range(3):
        assert curvature.limited == "rounding"
        assert curvature.side(Threshold(1e-6)) == 0
        curvature.estimate(Threshold(1e-6))
    again = here.counts.snapshot(), curvature.min_eigenvalue, curvature.lower_bound, curvature.doubt
    assert again == known
    # What is known decides a question that is easier.
    assert curvature.side(Threshold(1e3)) == 1
    assert here.counts.hessian_products <= known[0].hessian_products + 1


def test_a_harder_question_goes_on_where_the_easier_one_ended():
    rng = np.random.default_rng(7)
    spectrum = np.append(np.geomspace(1e-3, 1.0, 399), 0.0)
    here, values = quadratic("euclidean", spectrum, rng)
    assert here.curvature.side(Threshold(0.1)) == 1
    first = here.counts.hessian_products
    assert here.curvature.side(Threshold(1e-3)) == 1
    both = here.counts.hessian_products
    alone = here.problem.at(here.point)
    assert alone.curvature.side(Threshold(1e-3)) == 1
    assert first < alone.counts.hessian_products
    assert both <= alone.counts.hessian_products + 1  # which confirmed the first answer
    assert here.curvature.lower_bound <= values[0]


@pytest.mark.parametrize("smallest", [-1e-2, 1e-2])
def test_out_of_time_it_keeps_what_it_knew_and_resumes(smallest):
    rng = np.random.default_rng(8)
    here, values = quadratic("euclidean", np.append(rng.uniform(0.5, 5.0, 299), smallest), rng)
    alone = here.problem.at(here.point)
    assert alone.curvature.side(Threshold(1e-6)) == np.sign(smallest)

    class Budget(Clock):
        """Time for so many questions."""

        left = 8

        @property
        def expired(self):
            self.left -= 1
            return self.left < 0

    here.clock = Budget()
    curvature = here.curvature
    assert curvature.side(Threshold(1e-6)) == 0
    assert curvature.limited == "out of time"
    assert 4 <= here.counts.hessian_products <= 10
    # An estimate of the eigenvalue, from above.
    assert values[0] <= curvature.min_eigenvalue < 1.0
    assert curvature.lower_bound <= values[0]
    assert curvature.direction is not None
    assert curvature.side(Threshold(1e-6)) == 0  # still no time
    assert here.counts.hessian_products <= 10

    here.clock = Clock()
    assert curvature.side(Threshold(1e-6)) == np.sign(smallest)
    assert curvature.limited == ""
    assert curvature.min_eigenvalue == pytest.approx(alone.curvature.min_eigenvalue)
    assert here.counts.hessian_products <= alone.counts.hessian_products + 1


def test_a_matrix_that_takes_too_long_is_out_of_time():
    rng = np.random.default_rng(9)
    here, _ = quadratic("euclidean", np.append(np.linspace(1.0, 1e12, 20), -1e-6), rng)
    here.clock = Clock(0.0)
    assert here.curvature.side(Threshold(1e-6)) == 0
    assert here.curvature.limited == "out of time"
    assert not here.has_matrix


def test_an_unsymmetric_hessian_is_told():
    rng = np.random.default_rng(10)
    skew = rng.standard_normal((20, 20))
    symmetric = with_spectrum(np.linspace(1.0, 2.0, 20))
    for matrix, told in ((symmetric, False), (symmetric + 0.1 * (skew - skew.T), True)):
        here = Problem(
            pm.Euclidean(20),
            lambda x: 0.0,
            euclidean_gradient=lambda x, m=matrix: m @ x,
            euclidean_hessian=lambda x, v, m=matrix: m @ v,
        ).at(np.ones(20))
        here.curvature.side(Threshold(1e-6))
        assert here.curvature.is_unsymmetric == told


def test_a_direction_to_follow_costs_less_than_one_for_a_certificate():
    rng = np.random.default_rng(8)
    here, values = quadratic("euclidean", np.append(rng.uniform(0.5, 9.0, 999), -1.0), rng)
    assert here.curvature.side(Threshold(1e-6)) == -1
    first, direction = here.counts.hessian_products, here.curvature.direction
    # No curvature that is negative by chance: the product with it says so.
    bend = here.inner(direction, here.curvature.image)
    assert bend < -1e-2
    np.testing.assert_allclose(here.curvature.image, here.hessian(direction), atol=1e-12)
    here.curvature.estimate(Threshold(1e-6))
    assert here.curvature.min_eigenvalue == pytest.approx(values[0], rel=1e-3)
    assert here.counts.hessian_products > first
    assert here.curvature.direction is not direction


def test_less_than_a_positive_number_is_not_negative():
    rng = np.random.default_rng(0)
    here, values = quadratic("euclidean", np.geomspace(1e-9, 1.0, 6), rng)
    here.hessian_matrix()
    assert here.curvature.side(Threshold(-2e-9)) == -1
    assert not here.curvature.is_negative
    assert here.curvature.min_eigenvalue == pytest.approx(values[0], rel=1e-5)
