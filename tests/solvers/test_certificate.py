"""Certificates: right, and honest about what is not known."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import autograd.numpy as anp
import numpy as np
import pymanopt.manifolds as pm
import pytest
from pymanopt.manifolds import Euclidean, Grassmann, Product, PSDFixedRank, Stiefel

import riemtr
from riemtr.problem import Clock
from riemtr.solvers.certificate import certify_evaluation, default_tolerances


def euclidean(hessian: np.ndarray, gradient: np.ndarray | None = None) -> riemtr.Problem:
    slope = np.zeros(len(hessian)) if gradient is None else gradient
    return riemtr.Problem(
        Euclidean(len(hessian)),
        lambda x: float(slope @ x + 0.5 * x @ hessian @ x),
        euclidean_gradient=lambda x: slope + hessian @ x,
        euclidean_hessian=lambda x, v: hessian @ v,
    )


@pytest.mark.parametrize(
    ("eigenvalues", "verdict", "strict"),
    [
        ([1.0, 2.0, 3.0], "minimizer", True),
        ([0.0, 2.0, 3.0], "minimizer", False),
        ([0.0, 0.0, 0.0], "minimizer", False),
        ([-1e-8, 1.0, 2.0], "unresolved", False),  # to tolerance, but the cost itself falls
        ([-1e-3, 1.0, 2.0], "saddle", False),
        ([-3.0, -2.0, -1.0], "maximizer", False),
        ([-3.0, -2.0, 0.0], "maximizer", False),
    ],
)
def test_verdicts(eigenvalues, verdict, strict):
    basis, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))
    hessian = (basis * np.array(eigenvalues)) @ basis.T
    certificate = riemtr.certify(euclidean(hessian), np.zeros(3))
    assert certificate.verdict == verdict
    assert certificate.strict == strict
    assert certificate.min_eigenvalue == pytest.approx(eigenvalues[0], abs=1e-12)
    direction = certificate.direction
    assert np.linalg.norm(direction) == pytest.approx(1.0)
    assert direction @ hessian @ direction == pytest.approx(eigenvalues[0], abs=1e-9)


def test_not_critical_where_the_gradient_is_large():
    certificate = riemtr.certify(euclidean(np.eye(2), np.array([1e-3, 0.0])), np.zeros(2))
    assert certificate.verdict == "not-critical"
    assert math.isnan(certificate.min_eigenvalue)
    looser = riemtr.certify(
        euclidean(np.eye(2), np.array([1e-3, 0.0])), np.zeros(2), tolerance=1e-2
    )
    assert looser.verdict == "minimizer"


def test_unresolved_where_the_error_bound_straddles_the_threshold():
    # Rounding of a Hessian of size 1e12 hides whether -1e-7 is there.
    hessian = np.diag([0.0, 1e12])
    certificate = riemtr.certify(euclidean(hessian), np.zeros(2), curvature_tolerance=1e-9)
    assert certificate.verdict == "unresolved"
    assert certificate.error_bound > 1e-9


def test_a_run_that_cannot_be_resolved_says_so():
    result = riemtr.PracticalTRM(curvature_tolerance=1e-9).solve(
        euclidean(np.diag([0.0, 1e12])), np.zeros(2)
    )
    assert result.status is riemtr.Status.UNRESOLVED
    assert not result.converged
    assert "curvature_tolerance" in str(result.status)


def test_dimension_zero_is_a_strict_minimizer():
    certificate = riemtr.certify(riemtr.dictionary_problem(np.ones((1, 5))), np.array([1.0]))
    assert certificate.verdict == "minimizer"
    assert certificate.strict
    assert certificate.min_eigenvalue == math.inf


def test_certifies_the_endpoint_of_any_solver():
    import pymanopt
    from pymanopt.optimizers import SteepestDescent

    manifold = Stiefel(5, 2)
    matrix = np.diag(np.arange(5.0))

    @pymanopt.function.autograd(manifold)
    def cost(x):
        import autograd.numpy as anp

        return anp.trace(x.T @ matrix @ x)

    problem = pymanopt.Problem(manifold, cost)
    saddle = np.eye(5)[:, 1:3]
    # Not exactly there: pymanopt divides by the gradient norm.
    nudge = 1e-9 * np.random.default_rng(0).standard_normal((5, 2))
    nearby = manifold.retraction(saddle, manifold.projection(saddle, nudge))
    stuck = SteepestDescent(verbosity=0).run(problem, initial_point=nearby).point
    assert riemtr.certify(problem, stuck).verdict == "saddle"
    free = riemtr.PracticalTRM().solve(problem, saddle)
    assert free.certificate.verdict == "minimizer"
    # Rotations of the frame leave the cost alone: not strict.
    assert not free.certificate.strict


def test_finite_differences_widen_the_error_bound():
    hessian = np.diag([1.0, 2.0])
    exact = euclidean(hessian)
    approximate = riemtr.Problem(
        Euclidean(2),
        lambda x: float(0.5 * x @ hessian @ x),
        riemannian_gradient=lambda x: hessian @ x,
    )
    sharp, wide = (riemtr.certify(p, np.zeros(2)) for p in (exact, approximate))
    assert wide.verdict == sharp.verdict == "minimizer"
    assert wide.error_bound > 100 * sharp.error_bound


def test_prints_well():
    text = repr(riemtr.certify(euclidean(np.eye(2)), np.zeros(2)))
    assert "minimizer, strict" in text


@pytest.mark.parametrize("option", ["tolerance", "curvature_tolerance"])
def test_bad_tolerances_are_named(option):
    with pytest.raises(ValueError, match=option):
        riemtr.certify(euclidean(np.eye(2)), np.zeros(2), **{option: -1.0})


def test_a_saddle_with_one_rising_direction_is_no_maximizer():
    matrix = np.diag([1.0, 2.0, 3.0, 3.0])
    problem = riemtr.Problem(
        riemtr.Sphere(4),
        lambda x: float(x @ matrix @ x),
        euclidean_gradient=lambda x: 2 * matrix @ x,
        euclidean_hessian=lambda x, v: 2 * matrix @ v,
    )
    verdicts = [riemtr.certify(problem, point).verdict for point in np.eye(4)]
    assert verdicts == ["minimizer", "saddle", "maximizer", "maximizer"]


@pytest.mark.parametrize("seed", range(20))
def test_every_eigenvector_gets_its_verdict(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 40))
    case = riemtr.problems.build("rayleigh", rng=rng, n=n)
    for column, vector in enumerate(case.truth.details["eigenvectors"].T):
        expected = {0: "minimizer", n - 1: "maximizer"}.get(column, "saddle")
        assert riemtr.certify(case.problem, vector).verdict == expected


def test_differences_do_not_report_false_saddles():
    result = riemtr.PracticalTRM().solve(riemtr.problems.build("low-rank", rng=0).problem, rng=0)
    assert result.converged
    assert not result.history["escaped"].any()


@pytest.mark.parametrize("curvature", [-1.5e-6, -1e-5, -1e-3])
def test_flat_directions_do_not_hide_a_saddle(curvature):
    # Nearly all eigenvalues are zero; one is barely negative, in a random direction.
    for seed in range(10):
        rng = np.random.default_rng(seed)
        basis, _ = np.linalg.qr(rng.standard_normal((300, 6)))
        values = np.array([1.0, 2.0, 3.0, 4.0, 5.0, curvature])
        problem = riemtr.Problem(
            Euclidean(300),
            lambda x: 0.0,
            euclidean_gradient=lambda x: 0.0 * x,
            euclidean_hessian=lambda x, v, b=basis, d=values: b @ (d * (b.T @ v)),
        )
        assert riemtr.certify(problem, np.zeros(300)).verdict != "minimizer"


def test_coarse_differences_are_noticed():
    # The gradient turns within 1e-5, which differences over 6e-6 cannot see.
    width = 1e-5

    def cost(x):
        return float(width * np.logaddexp(x[0] / width, -x[0] / width) + x[1] ** 2)

    problem = riemtr.Problem(
        Euclidean(2),
        cost,
        riemannian_gradient=lambda x: np.array([np.tanh(x[0] / width), 2 * x[1]]),
    )
    assert riemtr.certify(problem, np.zeros(2)).verdict in ("minimizer", "unresolved")


@pytest.mark.parametrize("dense", [True, False])
def test_an_unsymmetric_hessian_is_not_certified(dense):
    matrix = np.diag([1.0, 2.0, 3.0])
    matrix[0, 2] = 5.0
    problem = riemtr.Problem(
        Euclidean(3),
        lambda x: float(x @ x),
        euclidean_gradient=lambda x: 2 * x,
        euclidean_hessian=lambda x, v: matrix @ v,
    )
    here = problem.at(np.zeros(3))
    if dense:
        here.hessian_matrix()
    certificate = certify_evaluation(here, default_tolerances(here.precision))
    assert certificate.verdict == "unresolved"
    assert "not symmetric" in certificate.contradiction


def test_points_off_the_manifold_are_refused():
    manifold = Stiefel(5, 2)
    problem = riemtr.Problem(
        manifold, lambda x: float(np.sum(x)), euclidean_gradient=lambda x: np.ones((5, 2))
    )
    for point in (np.zeros((5, 2)), np.ones((5, 2)), np.eye(5)[:, :3]):
        with pytest.raises(ValueError, match="point"):
            riemtr.certify(problem, point)


def test_a_nan_hessian_leaves_the_verdict_open():
    problem = riemtr.Problem(
        Euclidean(3),
        lambda x: float(x @ x),
        euclidean_gradient=lambda x: 2 * x,
        euclidean_hessian=lambda x, v: np.full(3, np.nan),
    )
    assert riemtr.certify(problem, np.zeros(3)).verdict == "unresolved"
    result = riemtr.ExactTRM().solve(problem, np.ones(3))
    assert result.status is riemtr.Status.STALLED
    assert "find out where with riemtr.check_hessian" in str(result.reason)
    np.testing.assert_array_equal(result.point, np.ones(3))


def test_cancellation_in_the_riemannian_hessian_widens_the_bound():
    # A large multiple of |x|^2 is constant on the sphere, but its terms drown the rest.
    matrix = np.diag(np.linspace(1.0, 2.0, 20))
    for size in (1e8, 1e12):
        problem = riemtr.Problem(
            riemtr.Sphere(20),
            lambda x, s=size: float(s * (x @ x) + 0.5 * x @ matrix @ x),
            euclidean_gradient=lambda x, s=size: 2 * s * x + matrix @ x,
            euclidean_hessian=lambda x, v, s=size: 2 * s * v + matrix @ v,
        )
        certificate = riemtr.certify(problem, np.eye(20)[0], tolerance=1.0)
        truth = 1.0 / 19.0
        assert abs(certificate.min_eigenvalue - truth) <= certificate.error_bound


def test_words_about_the_curvature():
    matrix = np.diag([1.0, 2.0, 3.0])
    problem = riemtr.Problem(riemtr.Sphere(3), lambda x: x @ matrix @ x)
    lowest, middle, highest = (riemtr.certify(problem, point) for point in np.eye(3))
    assert lowest.verdict_in_words == "minimizer, strict"
    assert lowest.curvature_in_words.startswith("smallest eigenvalue 2.000e+00 (error bound")
    assert middle.curvature_in_words == "smallest eigenvalue at most -2.000e+00"
    assert highest.curvature_in_words == "smallest eigenvalue at most -4.000e+00"
    elsewhere = riemtr.certify(problem, np.ones(3) / np.sqrt(3.0))
    assert elsewhere.curvature_in_words == "curvature not looked at"


def test_products_with_rotations():
    """pymanopt's product takes tangent vectors of its factors for embedded ones."""
    rigid = pm.Product([pm.SpecialOrthogonalGroup(2), pm.Euclidean(2)])
    problem = riemtr.Problem(rigid, lambda x, t: -(x[0, 0] ** 2) + anp.sum(t**2))
    quarter = [np.array([[0.0, -1.0], [1.0, 0.0]]), np.zeros(2)]
    certificate = riemtr.certify(problem, quarter)
    assert certificate.verdict == "saddle"
    assert certificate.min_eigenvalue == pytest.approx(-1.0, abs=1e-12)
    for solver in (riemtr.PracticalTRM(), riemtr.ExactTRM()):
        result = solver.solve(problem, quarter)
        assert result.certificate.verdict == "minimizer"
        assert result.cost == pytest.approx(-1.0, abs=1e-10)


@pytest.mark.parametrize("smallest", [1e-3, 1e-6, 1e-8])
def test_far_out_among_the_positive_definite_matrices(smallest):
    """Directions that count in the metric there are next to nothing in the surrounding space."""
    diagonal = np.array([smallest, 1.0, 1.0, 1.0])
    bends = np.ones((4, 4)) + np.diag([0.5, 0.3, 0.1, -2.0])
    scale = np.sqrt(np.outer(diagonal, diagonal))
    problem = riemtr.Problem(
        pm.SymmetricPositiveDefinite(4),
        lambda x: 0.5 * anp.sum(bends * (x / scale - np.eye(4)) ** 2),
    )
    certificate = riemtr.certify(problem, np.diag(diagonal))
    assert certificate.verdict == "saddle"
    assert certificate.min_eigenvalue == pytest.approx(-1.0, rel=0.03)


DIAGONAL = np.diag([1.0, 2.0, 3.0, 4.0])


def quadratic(gradient_factor: float, hessian_factor: float, shift: float) -> riemtr.Problem:
    return riemtr.Problem(
        riemtr.Sphere(4),
        lambda x: float(x @ DIAGONAL @ x),
        euclidean_gradient=lambda x: gradient_factor * DIAGONAL @ x,
        euclidean_hessian=lambda x, v: hessian_factor * DIAGONAL @ v + shift * v,
    )


@pytest.mark.parametrize(
    ("derivatives", "end", "bend"),
    [
        ((2.0, 2.0, 20.0), 3, -6.0),  # a shifted Hessian, at the maximizer
        ((-2.0, -2.0, 0.0), 3, -2.0),  # signs of another cost
        ((1.0, 1.0, 0.0), 0, 2.0),  # a forgotten factor
    ],
)
def test_wrong_derivatives_are_contradicted_by_the_cost(derivatives, end, bend):
    certificate = riemtr.certify(quadratic(*derivatives), np.eye(4)[end])
    assert certificate.verdict == "unresolved"
    assert not certificate.strict
    assert f"the cost bends by {bend:.3g} " in certificate.contradiction
    assert "check_hessian" in repr(certificate)


def test_right_derivatives_are_not_contradicted():
    """Rounding, large values and steep fourth orders leave the verdict to the Hessian."""
    cases = [
        (lambda x: anp.sum(anp.abs(x - 1.0)) + 0.5 * anp.sum(x**2), np.zeros(3) + 1.0, None),
        (lambda x: 1e12 + anp.sum(x**2), np.zeros(3), "minimizer"),
        (lambda x: anp.sum(x**4), np.zeros(3), "minimizer"),
        (lambda x: anp.sum((x - 1e9) ** 2), np.full(3, 1e9), "minimizer"),
        (lambda x: anp.sum(anp.log(anp.cosh(x / 1e-5))) * 1e-5, np.zeros(3), "minimizer"),
    ]
    for cost, point, verdict in cases:
        problem = riemtr.Problem(Euclidean(3), cost)
        certificate = riemtr.certify(problem, point, tolerance=10.0)
        # Where there is no second derivative nothing is claimed.
        assert ("not smooth" in certificate.contradiction) == (verdict is None)
        assert verdict is None or certificate.verdict == verdict


def test_the_cost_confirms_certificates_far_out_in_an_invariant_metric():
    target = np.diag([1e6, 1.0, 1e-6])
    manifold = pm.SymmetricPositiveDefinite(3)
    inverse = np.linalg.inv(target)
    problem = riemtr.Problem(
        manifold,
        lambda x: anp.trace(anp.dot(inverse, x)) - anp.linalg.slogdet(x)[1],
    )
    certificate = riemtr.certify(problem, target)
    assert certificate.verdict == "minimizer"
    assert certificate.min_eigenvalue == pytest.approx(1.0, rel=1e-6)


def test_what_the_cost_loses_to_rounding_contradicts_nothing():
    radius = 6.371e6
    for cost in (
        lambda x: radius**2 * anp.sum(1 - anp.cos(x / radius)),
        lambda x: 1e12 * anp.sum(anp.sqrt(1 + (x / 1e6) ** 2) - 1),
        lambda x: 1e10 * anp.sum(anp.log(anp.cosh(x / 1e5))),
    ):
        assert (
            riemtr.certify(riemtr.Problem(Euclidean(2), cost), np.zeros(2)).verdict == "minimizer"
        )


@pytest.mark.parametrize(
    ("manifold", "cost", "point"),
    [
        (riemtr.Sphere(4), lambda x: -anp.sum(anp.abs(x)), np.eye(4)[0]),
        (Euclidean(2), lambda x: x[0] ** 2 - anp.abs(x[1]), np.zeros(2)),
    ],
)
def test_a_cost_that_falls_off_a_kink_has_no_minimizer_there(manifold, cost, point):
    certificate = riemtr.certify(riemtr.Problem(manifold, cost), point)
    assert certificate.verdict == "unresolved"
    assert re.search("a kink here, which bends it down|the cost falls", certificate.contradiction)


def test_directions_that_a_wrong_hessian_hides_are_probed():
    true, given = np.array([1.0, -2.0, 5.0]), np.array([1.0, 3.0, 5.0])
    problem = riemtr.Problem(
        Euclidean(3),
        lambda x: float(0.5 * x @ (true * x) + 0.25 * np.sum(x**4)),
        euclidean_gradient=lambda x: true * x + x**3,
        euclidean_hessian=lambda x, v: given * v,
    )
    assert riemtr.certify(problem, np.zeros(3)).verdict == "unresolved"


def test_a_gradient_that_vanishes_where_the_cost_does_not_level_off_is_contradicted():
    problem = riemtr.Problem(
        Euclidean(2),
        lambda x: float(x @ x + x[0]),
        euclidean_gradient=lambda x: 2 * x,
        euclidean_hessian=lambda x, v: 2 * v,
    )
    certificate = riemtr.certify(problem, np.zeros(2))
    assert certificate.verdict == "unresolved"
    assert "slope" in certificate.contradiction


def test_certificates_and_results_compare_by_identity():
    problem = quadratic(2.0, 2.0, 0.0)
    certificate = riemtr.certify(problem, np.eye(4)[0])
    result = riemtr.PracticalTRM().solve(problem, rng=0)
    for one, other in (
        (certificate, riemtr.certify(problem, np.eye(4)[0])),
        (result, riemtr.PracticalTRM().solve(problem, rng=0)),
        (riemtr.check_gradient(problem, rng=0), riemtr.check_gradient(problem, rng=0)),
    ):
        assert one == one
        assert one != other
        assert len({one, other}) == 2


@pytest.mark.parametrize("power", [3, 4])
def test_on_the_way_to_a_degenerate_point_nothing_is_strict(power):
    problem = riemtr.Problem(Euclidean(2), lambda x: x[0] ** power + x[1] ** 2)
    solver = riemtr.PracticalTRM(tolerance=1e-6, curvature_tolerance=1e-9)
    result = solver.solve(problem, np.ones(2))
    assert result.certificate.min_eigenvalue > 1e-6
    assert not result.certificate.strict
    # Behind the point of inflection the cost falls, and that is seen.
    assert result.certificate.verdict == ("unresolved" if power == 3 else "minimizer")
    assert ("falls" if power == 3 else "flat") in repr(result.certificate)


@pytest.mark.parametrize(
    "cost",
    [
        lambda x: (x @ x) ** 2,
        lambda x: (x @ x) ** 3,
        lambda x: (x[0] ** 2 + x[1] ** 2) ** 2 + x[2] ** 2,
    ],
)
@pytest.mark.parametrize("tolerance", [1e-6, 1e-8])
def test_minima_that_are_flat_all_around_are_not_strict(cost, tolerance):
    # The least curvature is along the circle there, on which the gradient is zero.
    result = riemtr.PracticalTRM(tolerance=tolerance).solve(
        riemtr.Problem(Euclidean(3), cost), np.array([1.0, 0.7, 0.4])
    )
    assert result.certificate.verdict == "minimizer"
    assert not result.certificate.strict


@pytest.mark.parametrize("tolerance", [1e-6, 1e-8])
@pytest.mark.parametrize(
    "cost",
    [
        lambda x: anp.sum(x**3),
        lambda x: x[0] ** 3 + anp.sum(x[1:] ** 2),
        lambda x: anp.sum(x**3 + x**4),
    ],
)
def test_points_of_inflection_are_no_minimizers_when_approached(cost, tolerance):
    result = riemtr.PracticalTRM(tolerance=tolerance).solve(
        riemtr.Problem(Euclidean(2), cost), np.ones(2)
    )
    assert result.certificate.min_eigenvalue > 0.0
    assert result.certificate.verdict == "unresolved"
    assert "falls" in result.certificate.contradiction


@pytest.mark.parametrize("n", [10, 30, 100])
def test_hessians_that_are_wrong_in_few_directions_prove_nothing(n):
    # Gauss and Newton's, whose missing term makes this saddle one.
    basis, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((n, 2)))
    target = basis @ np.diag([2.0, 1.0]) @ basis.T
    functions = {
        "cost": lambda x: 0.25 * float(np.sum((np.outer(x, x) - target) ** 2)),
        "euclidean_gradient": lambda x: (x @ x) * x - target @ x,
    }
    saddle = basis[:, 1]
    exact = riemtr.Problem(
        Euclidean(n),
        **functions,
        euclidean_hessian=lambda x, v: (x @ x) * v + 2.0 * (x @ v) * x - target @ v,
    )
    assert riemtr.certify(exact, saddle).verdict == "saddle"
    rough = riemtr.Problem(
        Euclidean(n), **functions, euclidean_hessian=lambda x, v: (x @ x) * v + (x @ v) * x
    )
    certificate = riemtr.certify(rough, saddle)
    assert certificate.verdict == "unresolved"
    assert "where its Hessian says" in certificate.contradiction


def traces(weights):
    """Costs that tell the columns of a basis apart by their weights, on quotient manifolds."""
    matrix = np.diag([4.0, 3.0, 2.0, 1.0])

    def trace(x):
        return anp.sum((x @ np.diag(weights)) * (matrix @ x))

    return {
        Grassmann(4, 2): trace,
        Product([Euclidean(1), Grassmann(4, 2)]): lambda t, x: t[0] ** 2 + trace(x),
        PSDFixedRank(4, 2): lambda x: trace(x) + anp.sum((x.T @ x - 9.0 * np.eye(2)) ** 2),
    }


def test_a_cost_that_tells_arrays_for_the_same_point_apart_is_none():
    solver = riemtr.PracticalTRM(tolerance=1e-8)
    for manifold, cost in traces([1.0, 1.0]).items():
        assert solver.solve(riemtr.Problem(manifold, cost), rng=0).certified
    for manifold, cost in traces([1.0, 2.0]).items():
        result = solver.solve(riemtr.Problem(manifold, cost), rng=0)
        assert result.certificate.verdict in ("unresolved", "not-critical")
        assert result.certificate.verdict == "not-critical" or (
            "other arrays for the same point" in result.certificate.contradiction
        )


def test_a_gradient_just_below_tolerance_leaves_a_strict_minimizer_strict():
    for seed in range(10):
        case = riemtr.problems.build("rayleigh", rng=seed, n=10)
        result = riemtr.PracticalTRM(tolerance=1e-2).solve(case.problem, rng=seed)
        assert result.certificate.strict


@pytest.mark.parametrize(
    ("manifold", "cost", "point"),
    [
        (riemtr.Sphere(3), lambda x: -(x[0] ** 4 + x[1] ** 4), np.array([0.0, 0.0, 1.0])),
        (Euclidean(2), lambda x: -anp.sum(x**4), np.zeros(2)),
        (Euclidean(2), lambda x: x[0] ** 3 - 3.0 * x[0] * x[1] ** 2, np.zeros(2)),
        (Euclidean(2), lambda x: x[0] ** 3 + x[1] ** 2, np.zeros(2)),
    ],
)
def test_a_fall_of_higher_order_is_no_minimizer(manifold, cost, point):
    certificate = riemtr.certify(riemtr.Problem(manifold, cost), point)
    assert certificate.verdict == "unresolved"
    assert "along a flat direction" in repr(certificate)


@pytest.mark.parametrize(
    ("cost", "point"),
    [
        (lambda x: anp.sum(x**4), np.zeros(2)),
        (lambda x: x[0] ** 2 + 0.0 * x[1], np.zeros(2)),
        (lambda x: (anp.sum(x**2) - 1.0) ** 2, np.array([1.0, 0.0])),
    ],
)
def test_flat_directions_along_which_nothing_falls_leave_a_minimizer(cost, point):
    certificate = riemtr.certify(riemtr.Problem(Euclidean(2), cost), point)
    assert certificate.verdict == "minimizer"
    assert not certificate.strict


@pytest.mark.parametrize("mu", [1e-3, 1e-5])
def test_costs_that_are_sharp_beside_single_precision_are_not_contradicted(mu):
    for seed in range(5):
        case = riemtr.problems.build("dictionary-learning", rng=seed, n=8, p=800, theta=0.25, mu=mu)
        problem = riemtr.dictionary_problem(case.problem.cost.data.astype(np.float32), mu)
        result = riemtr.PracticalTRM().solve(problem, rng=seed)
        # At a sharpness of 1e-5 seven digits do not suffice to see the curvature.
        hidden = "neither costs nor gradients" in result.certificate.contradiction
        assert result.converged == bool(result.certified) or (hidden and mu < 1e-4)


def test_probes_off_the_domain_of_a_cost_leave_the_verdict_to_the_rest():
    def cost(x):
        return (math.log(x[0]) - math.log(1e4)) ** 2 + math.log(x[1]) ** 2

    def gradient(x):
        return np.array([2 * (math.log(x[0]) - math.log(1e4)) / x[0], 2 * math.log(x[1]) / x[1]])

    problem = riemtr.Problem(
        Euclidean(2),
        cost,
        euclidean_gradient=gradient,
        euclidean_hessian=lambda x, v: np.array([2 / x[0] ** 2, 2 / x[1] ** 2]) * v,
    )
    assert riemtr.certify(problem, np.array([1e4, 1.0])).verdict == "minimizer"


def test_quadratics_of_a_wide_spectrum_are_strict():
    values = np.geomspace(1e-5, 1e5, 10)
    for seed in range(10):
        turn = np.linalg.qr(np.random.default_rng(seed).standard_normal((10, 10)))[0]
        matrix = turn @ (values[:, None] * turn.T)
        problem = riemtr.Problem(
            Euclidean(10),
            lambda x, a=matrix: float(0.5 * (x - 1.0) @ a @ (x - 1.0)),
            euclidean_gradient=lambda x, a=matrix: a @ (x - 1.0),
            euclidean_hessian=lambda x, v, a=matrix: a @ v,
        )
        solver = riemtr.PracticalTRM(tolerance=1e-9, curvature_tolerance=1e-6)
        result = solver.solve(problem, rng=seed)
        assert result.certificate.strict or not result.converged


def test_a_barrier_nearby_protects_a_minimizer_however_far_out_it_is():
    problem = riemtr.Problem(Euclidean(2), lambda x: (x[0] - 1000.0) ** 2 + x[1] ** 4 - x[1] ** 6)
    assert riemtr.certify(problem, np.array([1000.0, 0.0])).verdict == "minimizer"


def max_cut(n: int, k: int, seed: int) -> tuple[riemtr.Problem, riemtr.Problem]:
    """The relaxation of a cut, with rows up to rotation, and with unit columns as they are."""
    graph = np.triu((np.random.default_rng(seed).random((n, n)) < 0.5).astype(float), 1)
    graph += graph.T
    quotient = riemtr.Problem(
        pm.Elliptope(n, k),
        lambda y: float(np.sum(y * (graph @ y))),
        euclidean_gradient=lambda y: 2 * graph @ y,
        euclidean_hessian=lambda y, v: 2 * graph @ v,
    )
    plain = riemtr.Problem(
        pm.Oblique(k, n),
        lambda y: float(np.sum(y * (y @ graph))),
        euclidean_gradient=lambda y: 2 * y @ graph,
        euclidean_hessian=lambda y, v: 2 * v @ graph,
    )
    return quotient, plain


@pytest.mark.parametrize("seed", range(4))
def test_solutions_of_less_rank_than_the_elliptope_allows_are_certified(seed):
    quotient, plain = max_cut(20, 8, seed)
    exact = riemtr.TrustRegion(subproblem=riemtr.ExactSubproblem())
    for solver in (riemtr.PracticalTRM(), exact):
        result = solver.solve(quotient, rng=seed)
        assert np.linalg.svd(result.point, compute_uv=False)[-1] < 1e-3  # it lacks rank
        assert result.certified
        # Where rank is missing, rows that are no quotient leave a slow way to go.
        plainly = solver.solve(plain, result.point.T.copy())
        assert plainly.certified
        assert np.linalg.norm(plainly.point - result.point.T) < 1e-2


def test_a_cut_is_left_that_no_rotation_but_a_further_column_improves():
    quotient, plain = max_cut(20, 8, 0)
    signs = np.zeros((20, 8))
    signs[:, 0] = np.sign(np.random.default_rng(0).standard_normal(20))
    assert riemtr.certify(quotient, signs).verdict == "saddle"
    result = riemtr.PracticalTRM().solve(quotient, signs)
    best = min(riemtr.PracticalTRM().solve(plain, rng=s).cost for s in range(3))
    assert result.certified
    assert result.cost == pytest.approx(best, rel=1e-8)


@pytest.mark.parametrize("size", [1.0, 1e2, 1e4])
def test_a_forgotten_linear_term_is_seen_beside_any_curvature(size):
    problem = riemtr.Problem(
        pm.Euclidean(2),
        lambda x: float(0.5 * size * x @ x + 1e-4 * size * np.sum(x)),
        euclidean_gradient=lambda x: size * x,
        euclidean_hessian=lambda x, v: size * v,
    )
    certificate = riemtr.certify(problem, np.zeros(2))
    assert certificate.verdict == "unresolved"
    assert "slope" in certificate.contradiction
    assert not riemtr.PracticalTRM().solve(problem, np.ones(2)).certified


def test_where_all_curvature_is_within_tolerance_a_maximum_is_no_minimizer():
    matrix = np.diag([1.0, 2.0, 3.0])
    problem = riemtr.Problem(riemtr.Sphere(3), lambda x: 1e-8 * (x @ matrix @ x))

    def verdict(x, **tolerances):
        return riemtr.certify(problem, x, **tolerances)

    relative = [verdict(x).verdict for x in np.eye(3)]
    assert relative == ["minimizer", "saddle", "maximizer"]
    absolute = [verdict(x, curvature_tolerance=1e-6).verdict for x in np.eye(3)]
    assert absolute == ["minimizer", "unresolved", "unresolved"]
    told = verdict(np.eye(3)[2], curvature_tolerance=1e-6)
    assert "curvature_tolerance" in told.contradiction
    assert verdict(np.eye(3)[2], curvature_tolerance=1e-10).verdict == "maximizer"


def test_where_a_squared_hinge_begins_there_is_no_second_derivative():
    problem = riemtr.Problem(
        pm.Euclidean(2), lambda x: anp.sum(anp.maximum(x, 0.0) ** 2 + 0.01 * x**2)
    )
    certificate = riemtr.certify(problem, np.zeros(2))
    assert certificate.verdict == "unresolved"
    assert "no second derivative" in certificate.contradiction
    wrong = riemtr.Problem(  # but the same Hessian of an even cost does
        pm.Euclidean(2), lambda x: 0.51 * float(x @ x), euclidean_gradient=lambda x: 0.25 * x
    )
    assert riemtr.certify(wrong, np.zeros(2)).verdict == "unresolved"


def rotations_of_frames(n: int, k: int, seed: int = 0, symmetric: bool = True) -> riemtr.Problem:
    """Averages n rotations from noisy ratios of all pairs: only their ratios are determined."""
    rng = np.random.default_rng(seed)
    manifold = riemtr.Rotations(k, n)
    truth = manifold.random_point(rng)
    ratios = np.einsum("iab,jcb->ijac", truth, truth)
    ratios += 0.05 * rng.standard_normal(ratios.shape)
    ratios = 0.5 * (ratios + ratios.transpose(1, 0, 3, 2))

    def gradient(x):
        return -2.0 * np.einsum("ijac,jcb->iab", ratios, x)

    def symmetries(x):
        for a in range(k):
            for b in range(a):
                skew = np.zeros((k, k))
                skew[a, b], skew[b, a] = 1.0, -1.0
                yield np.broadcast_to(skew, x.shape)  # x_i skew, as the manifold writes vectors

    return riemtr.Problem(
        manifold,
        lambda x: float(-np.einsum("iab,ijac,jcb->", x, ratios, x)),
        euclidean_gradient=gradient,
        euclidean_hessian=lambda x, v: gradient(v),
        symmetries=symmetries if symmetric else None,
    )


@pytest.mark.parametrize("n", [6, 90])  # by Lanczos alone, and with the matrix at hand
def test_symmetries_are_counted_and_looked_across(n):
    plain, told = (rotations_of_frames(n, 3, symmetric=symmetric) for symmetric in (False, True))
    flat = riemtr.PracticalTRM().solve(plain, rng=0)
    strict = riemtr.PracticalTRM().solve(told, rng=0)
    assert not flat.certificate.strict
    assert flat.certificate.flat_directions == 3
    assert flat.certificate.symmetries == 0
    certificate = strict.certificate
    assert certificate.strict
    assert certificate.symmetries == certificate.flat_directions == 3
    assert "up to 3 symmetric directions" in repr(certificate)
    assert "up to 1 symmetric direction\n" in repr(replace(certificate, symmetries=1))
    values = np.linalg.eigvalsh(plain.at(strict.point).hessian_matrix())
    assert certificate.min_eigenvalue == pytest.approx(values[3], rel=0.1)
    assert certificate.min_eigenvalue - certificate.error_bound <= values[3]
    assert strict.counts.hessian_products <= flat.counts.hessian_products


def test_symmetries_that_are_none_are_told():
    problem = riemtr.Problem(
        Euclidean(3),
        lambda x: float(x @ x),
        euclidean_gradient=lambda x: 2.0 * x,
        euclidean_hessian=lambda x, v: 2.0 * v,
        symmetries=lambda x: [np.array([1.0, 0.0, 0.0])],
    )
    certificate = riemtr.certify(problem, np.zeros(3))
    assert certificate.verdict == "unresolved"
    assert "symmetries" in certificate.contradiction


def test_printing_a_certificate_counts_no_flat_directions():
    result = riemtr.PracticalTRM().solve(rotations_of_frames(6, 3, symmetric=False), rng=0)
    certificate = result.certificate
    before = result.evaluation.counts.snapshot()
    assert "it has flat directions" in repr(certificate)
    assert result.evaluation.counts == before
    assert certificate.flat_directions == 3
    assert "it has 3 flat directions" in repr(certificate)


# -- derivatives that are wrong, costs that have none ----------------------------------------------


def form_on_sphere(matrix: np.ndarray, product: np.ndarray | None = None) -> riemtr.Problem:
    """x'Ax with a Hessian product of another matrix, if one is given."""
    given = matrix if product is None else product
    return riemtr.Problem(
        riemtr.Sphere(len(matrix)),
        lambda x: float(x @ matrix @ x),
        euclidean_gradient=lambda x: 2.0 * (matrix @ x),
        euclidean_hessian=lambda x, v: 2.0 * (given @ v),
    )


def rounded_symmetric(rng: np.random.Generator, n: int) -> np.ndarray:
    matrix = np.round(2.0 * rng.standard_normal((n, n)))
    return 0.5 * (matrix + matrix.T)


def test_half_a_symmetric_matrix_for_a_hessian_is_not_strict_at_a_saddle():
    matrix = np.array(
        [[0, -1, 1.5, 2.5], [-1, -2, -2.5, -3.5], [1.5, -2.5, -2, 2.5], [2.5, -3.5, 2.5, -2]]
    )
    problem = form_on_sphere(matrix, np.triu(matrix))
    saddle = np.linalg.eigh(matrix)[1][:, 1]
    certificate = riemtr.certify(problem, saddle)
    assert certificate.verdict == "unresolved"
    assert not certificate.strict
    assert not riemtr.PracticalTRM().solve(problem, saddle).certified


def test_no_unsymmetric_hessian_is_strict():
    for seed in range(150):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 7))
        matrix = rounded_symmetric(rng, n)
        skew = rng.standard_normal((n, n)) * 10.0 ** rng.uniform(-2.0, 1.0)
        wrong = np.triu(matrix) if seed % 2 else matrix + skew - skew.T
        if np.allclose(wrong, matrix):
            continue
        problem = form_on_sphere(matrix, wrong)
        for point in np.linalg.eigh(matrix)[1].T[1:]:
            certificate = riemtr.certify(problem, point)
            assert certificate.verdict != "minimizer"
            assert not certificate.strict


def wrong_matrix(rng: np.random.Generator, matrix: np.ndarray, kind: str) -> np.ndarray:
    n = len(matrix)
    if kind == "scaled":
        return matrix * rng.choice([0.5, 0.9, 1.1, 2.0, -1.0])
    if kind == "entry":
        wrong = matrix.copy()
        wrong[tuple(rng.integers(n, size=2))] += rng.choice([-1.0, 1.0]) * rng.uniform(1.0, 5.0)
        return wrong
    if kind == "diagonal":  # of a Hessian whose other entries were forgotten
        return np.diag(np.diag(matrix))
    direction = rng.standard_normal(n)
    error = 10.0 ** rng.uniform(-1.0, 1.0) * np.outer(direction, direction)
    return matrix + rng.choice([-1.0, 1.0]) * error


@pytest.mark.parametrize("kind", ["scaled", "entry", "diagonal", "low-rank"])
def test_no_wrong_hessian_is_strict_at_a_saddle(kind):
    for seed in range(100):
        rng = np.random.default_rng(seed)
        matrix = rounded_symmetric(rng, int(rng.integers(3, 9)))
        values, vectors = np.linalg.eigh(matrix)
        problem = form_on_sphere(matrix, wrong_matrix(rng, matrix, kind))
        for point in vectors.T[values > values[0] + 1e-6]:
            assert riemtr.certify(problem, point).verdict != "minimizer"


@pytest.mark.parametrize("depth", [1e-1, 1e-3, 1e-5])
def test_a_hessian_that_hides_just_the_direction_that_leads_down_proves_nothing(depth):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        basis = np.linalg.qr(rng.standard_normal((12, 12)))[0]
        values = np.linspace(0.5, 1.0, 12)
        values[0], values[1] = -depth, 0.5 * depth
        true = (basis * values) @ basis.T
        hidden = true + 2.0 * depth * np.outer(basis[:, 0], basis[:, 0])
        problem = riemtr.Problem(
            Euclidean(12),
            lambda x, a=true: 0.5 * float(x @ a @ x),
            euclidean_gradient=lambda x, a=true: a @ x,
            euclidean_hessian=lambda x, v, a=hidden: a @ v,
        )
        certificate = riemtr.certify(problem, np.zeros(12))
        assert certificate.verdict == "unresolved"
        assert not certificate.strict


def test_a_hessian_of_few_digits_is_trusted_as_far_as_they_go():
    for smallest, verdict in ((1.0, "minimizer"), (0.0, "unresolved")):
        rng = np.random.default_rng(0)
        basis = np.linalg.qr(rng.standard_normal((6, 6)))[0]
        true = (basis * np.array([smallest, 2.0, 3.0, 4.0, 5.0, 6.0])) @ basis.T
        rounded = true.astype(np.float32).astype(float)
        problem = riemtr.Problem(
            Euclidean(6),
            lambda x, a=true: 0.5 * float(x @ a @ x),
            euclidean_gradient=lambda x, a=true: a @ x,
            euclidean_hessian=lambda x, v, a=rounded: a @ v,
        )
        certificate = riemtr.certify(problem, np.zeros(6))
        assert certificate.verdict == verdict
        assert certificate.strict == (verdict == "minimizer")
        if smallest == 0.0:
            assert "curvature_tolerance" in certificate.contradiction
            raised = riemtr.certify(problem, np.zeros(6), curvature_tolerance=1e-2)
            assert raised.verdict == "minimizer"


@pytest.mark.parametrize("n", [2, 3])  # of dimension 1, and of more
@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_constant_cost_with_a_wrong_hessian_is_nothing_strict(n, factor):
    # All costs are the same, and all gradients vanish: only these say that the Hessian is wrong.
    certificate = riemtr.certify(form_on_sphere(np.eye(n), factor * np.eye(n)), np.eye(n)[0])
    assert certificate.verdict == "unresolved"


@pytest.mark.parametrize("height", [1.0, 1e-3])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_right_beside_a_jump_down_there_is_no_minimizer(side, height):
    matrix = np.diag([1.0, 2.0, 3.0])
    problem = riemtr.Problem(
        riemtr.Sphere(3),
        lambda x: x @ matrix @ x - (height if side * x[1] > 0 else 0.0),
        euclidean_gradient=lambda x: 2 * matrix @ x,
    )
    certificate = riemtr.certify(problem, np.eye(3)[0])
    assert certificate.verdict == "unresolved"
    assert "jumps down" in certificate.contradiction


@pytest.mark.parametrize("n", [2, 3, 7])
def test_the_corner_of_an_l1_norm_is_no_maximizer(n):
    problem = riemtr.Problem(
        riemtr.Sphere(n), lambda x: np.abs(x).sum(), euclidean_gradient=np.sign
    )
    for sign in (1.0, -1.0):
        verdict = riemtr.certify(problem, sign * np.eye(n)[0]).verdict
        assert verdict not in ("maximizer", "saddle")


@pytest.mark.parametrize("noise", [1e-10, 1e-8])
def test_noise_of_the_cost_contradicts_nothing(noise):
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 8))
        basis = np.linalg.qr(rng.standard_normal((n, n)))[0]
        matrix = (basis * np.arange(1.0, n + 1.0)) @ basis.T
        problem = riemtr.Problem(
            riemtr.Sphere(n),
            lambda x, a=matrix: float(x @ a @ x) + noise * math.sin(1e12 * float(np.sum(x))),
            euclidean_gradient=lambda x, a=matrix: 2.0 * (a @ x),
            euclidean_hessian=lambda x, v, a=matrix: 2.0 * (a @ v),
        )
        assert riemtr.certify(problem, basis[:, 0].copy()).strict


# -- tolerances, scales, symmetries ----------------------------------------------------------------


@pytest.mark.parametrize("tolerance", [5.0, 1e3, 1e300])
def test_a_tolerance_of_the_size_of_all_curvature_leaves_it_to_the_sign(tolerance):
    problem = form_on_sphere(np.diag([1.0, 2.0, 3.0]))
    verdicts = [
        riemtr.certify(problem, point, curvature_tolerance=tolerance).verdict for point in np.eye(3)
    ]
    assert verdicts == ["minimizer", "unresolved", "unresolved"]


def test_certified_tells_strict_from_second_order():
    def solve(cost):
        return riemtr.PracticalTRM().solve(riemtr.Problem(Euclidean(2), cost), np.zeros(2))

    assert solve(lambda x: x[0] ** 2 + x[1] ** 2).certified is riemtr.Certified.STRICT
    for cost in (
        lambda x: (x[1] - x[0] ** 2) * (x[1] - 2.0 * x[0] ** 2),  # Peano's
        lambda x: x[0] ** 2 + x[1] ** 4,
    ):
        assert solve(cost).certified is riemtr.Certified.TO_SECOND_ORDER
    assert solve(lambda x: x[0] ** 2 + x[1] ** 5).certified is not riemtr.Certified.STRICT


@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_the_unit_of_a_cost_changes_no_verdict_and_no_run(factor):
    matrix = np.diag([1.0, 2.0, 3.0, 5.0])
    plain, scaled = form_on_sphere(matrix), form_on_sphere(factor * matrix)
    for point in np.eye(4):
        verdicts = [riemtr.certify(problem, point).verdict for problem in (plain, scaled)]
        assert verdicts[0] == verdicts[1]
    for seed in range(10):
        one, two = (riemtr.PracticalTRM().solve(each, rng=seed) for each in (plain, scaled))
        assert one.iterations == two.iterations
        assert one.certified is two.certified is riemtr.Certified.STRICT


@pytest.mark.parametrize("depth", [1e-5, 1e-2])
@pytest.mark.parametrize("offset", [0.0, 5e-8])
def test_the_way_down_is_no_symmetry(depth, offset):
    values = np.array([-depth, 1.0, 2.0])
    problem = riemtr.Problem(
        Euclidean(3),
        lambda x: 0.5 * float(values @ (x - 1.0) ** 2),
        euclidean_gradient=lambda x: values * (x - 1.0),
        euclidean_hessian=lambda x, v: values * v,
        symmetries=lambda x: [np.array([1.0, 0.0, 0.0])],
    )
    # With a slope left in other directions the curvature alone might be that of an orbit.
    certificate = riemtr.certify(problem, np.full(3, 1.0 + offset))
    assert certificate.verdict == "unresolved"
    assert "symmetries" in certificate.contradiction


def test_a_hessian_that_is_all_rounding_makes_no_saddle():
    for seed in range(200):
        rng = np.random.default_rng(seed)
        basis = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        matrix = rng.uniform(0.1, 10.0) * np.eye(3)
        problem = riemtr.Problem(
            riemtr.Stiefel(3, 3),
            lambda x, a=matrix: float(np.sum(x * (a @ x))),
            euclidean_gradient=lambda x, a=matrix: 2.0 * (a @ x),
            euclidean_hessian=lambda x, v, a=matrix: 2.0 * (a @ v),
        )
        assert riemtr.certify(problem, basis).verdict in ("minimizer", "unresolved")


def test_a_distance_that_time_cut_short_is_known_once_there_is_time():
    weights = np.geomspace(1e-3, 1.0, 40)
    problem = riemtr.Problem(
        Euclidean(40),
        lambda x: float(0.5 * weights @ (x - 1.0) ** 2),
        euclidean_gradient=lambda x: weights * (x - 1.0),
        euclidean_hessian=lambda x, v: weights * v,
    )
    here = problem.at(np.full(40, 2.0), clock=Clock(0.0))
    tolerances = default_tolerances(here.precision)
    assert tolerances.nearness(here).near is None
    assert here.newton.limited == "out of time"
    here.clock.limit = math.inf
    assert tolerances.nearness(here).near is False
    assert here.newton.limited == ""


def test_a_smaller_chance_of_failure_takes_more_products():
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.01, 1.0, 300)
    problem = riemtr.Problem(
        Euclidean(300),
        lambda x: float(0.5 * weights @ x**2),
        euclidean_gradient=lambda x: weights * x,
        euclidean_hessian=lambda x, v: weights * v,
    )
    known = [
        riemtr.certify(problem, np.zeros(300), failure_probability=chance).evaluation
        for chance in (1e-2, 1e-4, 1e-8)
    ]
    counts = [here.counts.hessian_products for here in known]
    assert counts == sorted(set(counts))
    assert all(here.curvature.lower_bound <= weights.min() for here in known)
    assert riemtr.certify(problem, np.zeros(300)).evaluation.counts == known[1].counts
    with pytest.raises(ValueError, match="failure_probability must be between 0 and 1"):
        riemtr.certify(problem, np.zeros(300), failure_probability=0.0)


def test_a_minimizer_that_no_time_is_left_to_look_for_is_not_called_one():
    weights = np.append(np.ones(39), 1e-9)
    problem = riemtr.Problem(
        Euclidean(40),
        lambda x: float(0.5 * weights @ (x - 1.0) ** 2),
        euclidean_gradient=lambda x: weights * (x - 1.0),
        euclidean_hessian=lambda x, v: weights * v,
    )
    here = problem.at(np.append(np.ones(39), 3.0), clock=Clock())
    tolerances = default_tolerances(here.precision)
    assert here.curvature.side(tolerances.curvature) == 1
    here.clock.limit = 0.0
    assert certify_evaluation(here, tolerances).verdict == "unresolved"
    here.clock.limit = math.inf
    assert certify_evaluation(here, tolerances).verdict == "not-critical"
