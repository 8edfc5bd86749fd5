"""The loop: optima from any start, statuses, counters, determinism."""

from __future__ import annotations

import math
import signal
import warnings

import autograd.numpy as anp
import numpy as np
import pymanopt.manifolds as pm
import pytest
from pymanopt.manifolds import Euclidean, Grassmann

import riemtr
from riemtr.errors import NonFiniteCostError
from riemtr.solvers import (
    AdaptiveRadius,
    AlwaysAccept,
    CostBelow,
    FixedRadius,
    GradientNorm,
    MaxIterations,
    MaxProducts,
    RatioTest,
    Status,
)

PARTS = {
    "exact": riemtr.ExactSubproblem(),
    "near-exact": riemtr.NearExactSubproblem(),
    "tcg": riemtr.TruncatedCG(),
    "hybrid": riemtr.HybridSubproblem(),
}


def log_cosh_identity(n: int = 4, mu: float = 0.1) -> riemtr.Problem:
    """The log-cosh cost with Y = I: its critical points have entries of equal magnitude."""
    return riemtr.dictionary_problem(np.eye(n), mu)


def test_leaves_the_saddles_of_the_log_cosh_cost_it_starts_at_and_those_it_lands_at():
    landed = 0
    for seed in range(1000, 1060):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(5, 41))
        support = rng.choice(n, size=int(rng.integers(2, n + 1)), replace=False)
        start = np.zeros(n)
        start[support] = rng.choice([-1.0, 1.0], size=len(support)) / math.sqrt(len(support))
        problem = riemtr.dictionary_problem(np.eye(n), 0.05)
        result = riemtr.PracticalTRM().solve(problem, start)
        assert result.status is Status.CONVERGED
        assert riemtr.certify(problem, result.point).verdict == "minimizer"
        landed += result.history["escaped"].sum() > 1
    assert landed > 0


@pytest.mark.parametrize("solver", [riemtr.ExactTRM(0.3), riemtr.PracticalTRM()], ids=str)
@pytest.mark.parametrize("n", [2, 3, 10, 40])
def test_leaves_every_eigenvector_for_the_smallest(solver, n):
    case = riemtr.problems.build("rayleigh", rng=n, n=n)
    vectors = case.truth.details["eigenvectors"]
    for column in range(1, n):
        result = solver.solve(case.problem, vectors[:, column])
        assert result.status is Status.CONVERGED
        assert result.certificate.verdict == "minimizer"
        assert result.cost == pytest.approx(case.truth.cost, abs=1e-10)
        assert result.history["escaped"].any()


@pytest.mark.parametrize("solver", [riemtr.ExactTRM(0.05), riemtr.PracticalTRM()], ids=str)
def test_leaves_exact_saddles_of_the_log_cosh_cost(solver):
    problem = log_cosh_identity()
    for support in (2, 3, 4):
        saddle = np.zeros(4)
        saddle[:support] = 1 / math.sqrt(support)
        assert riemtr.certify(problem, saddle).verdict in ("saddle", "maximizer")
        result = solver.solve(problem, saddle)
        assert result.certificate.verdict == "minimizer"
        assert result.cost < problem.at(saddle).cost


@pytest.mark.parametrize("name", sorted(set(riemtr.problems.available()) - {"distance-to-pole"}))
@pytest.mark.parametrize("part", sorted(PARTS))
def test_every_subproblem_solves_every_problem(name, part):
    small = {"dictionary-learning": {"n": 6, "p": 2000}, "rayleigh": {"n": 12}}
    case = riemtr.problems.build(name, rng=1, **small.get(name, {}))
    solver = riemtr.TrustRegion(subproblem=PARTS[part])
    result = solver.solve(case.problem, case.start)
    assert result.converged, result
    assert result.certificate.verdict == "minimizer"
    if case.truth.cost is not None:
        assert result.cost == pytest.approx(case.truth.cost, abs=1e-9)
    if case.truth.distance is not None:
        assert case.truth.distance(result.point) < (1e-2 if name == "dictionary-learning" else 1e-4)


@pytest.mark.parametrize("solver", [riemtr.ExactTRM(0.05), riemtr.PracticalTRM()], ids=str)
@pytest.mark.parametrize("name", sorted(set(riemtr.problems.available()) - {"distance-to-pole"}))
def test_both_methods_solve_every_problem(name, solver):
    small = {
        "dictionary-learning": {"n": 6, "p": 2000, "mu": 0.1},
        "low-rank": {"m": 4, "n": 3, "rank": 1},
        "matrix-completion": {"m": 10, "n": 8, "rank": 1},
        "max-cut": {"n": 10},
        "rayleigh": {"n": 12},
        "rotation-averaging": {"k": 6},
    }
    case = riemtr.problems.build(name, rng=2, **small.get(name, {}))
    result = solver.solve(case.problem, case.start)
    if isinstance(solver, riemtr.ExactTRM) and name in ("max-cut", "packing", "thomson"):
        # All points may be turned at once, and not along a geodesic: steps of a fixed length in
        # such a flat direction lead up again, which the method says.
        assert result.status is Status.CYCLING
        return
    assert result.converged, result
    assert result.certificate.verdict == "minimizer"
    if case.truth.cost is not None:
        assert result.cost == pytest.approx(case.truth.cost, abs=1e-8)


class Counting:
    """A cost with at(point) that counts how often each point is asked for what."""

    def __init__(self, matrix):
        self.matrix = matrix
        self.values = 0
        self.gradients = 0

    def at(self, point):
        owner = self

        class Point:
            @property
            def value(self):
                owner.values += 1
                return float(point @ owner.matrix @ point)

            @property
            def gradient(self):
                owner.gradients += 1
                return 2 * owner.matrix @ point

            def hessian(self, vector):
                return 2 * owner.matrix @ vector

        return Point()


@pytest.mark.parametrize("part", sorted(PARTS))
def test_one_cost_and_one_gradient_per_visited_point(part):
    rng = np.random.default_rng(3)
    matrix = rng.standard_normal((15, 15))
    cost = Counting(matrix + matrix.T)
    problem = riemtr.Problem(riemtr.Sphere(15), cost)
    visited = []

    def remember(iteration):
        visited.append(iteration.number)

    result = riemtr.TrustRegion(subproblem=PARTS[part]).solve(problem, rng=0, observers=[remember])
    points = result.iterations + 1  # the start, and one trial point an iteration
    assert cost.values == result.counts.costs <= points
    assert cost.gradients == result.counts.gradients <= points
    assert visited == list(range(points))
    before = result.counts.snapshot()
    result.certificate.direction  # noqa: B018 - asking later must not change the counts
    assert result.counts == before
    # Two beside the point in each of two directions, to confirm the derivatives.
    assert cost.values == result.counts.costs + 4
    # One after the Newton step, to tell whether it is strict, and two beside the point in each of
    # two directions, against which the Hessian is held.
    assert cost.gradients <= result.counts.gradients + 5


def test_rejected_steps_reuse_hessian_products():
    # Sharp enough that long steps are rejected.
    case = riemtr.problems.build("dictionary-learning", rng=0, n=10, p=1000, mu=1e-3)
    solver = riemtr.TrustRegion(subproblem=riemtr.TruncatedCG())
    result = solver.solve(case.problem, case.start)
    assert result.converged
    history = result.history
    rejected = np.flatnonzero(~history["accepted"])
    assert len(rejected) > 3
    for row in rejected:
        assert history["step_norm"][row + 1] < history["step_norm"][row]
        assert history["hessian_products"][row + 1] == history["hessian_products"][row]


def test_same_seed_same_result_bit_for_bit():
    case = riemtr.problems.build("dictionary-learning", rng=0, n=8, p=1500)
    for solver in (riemtr.PracticalTRM(), riemtr.ExactTRM(0.02)):
        first, second = (solver.solve(case.problem, rng=5) for _ in range(2))
        np.testing.assert_array_equal(first.point, second.point)
        for column in set(first.history) - {"seconds"}:
            np.testing.assert_array_equal(first.history[column], second.history[column])


def test_fixed_radius_too_large_is_reported_with_the_remedy():
    case = riemtr.problems.build("dictionary-learning", rng=0, n=10, p=2000)
    result = riemtr.ExactTRM(radius=0.5).solve(case.problem, case.start)
    assert result.status is Status.CYCLING
    assert "smaller radius" in str(result.status)
    assert not result.converged
    assert result.cost == result.history["cost"].min()


def test_nonfinite_start_is_an_error_that_says_so():
    problem = riemtr.Problem(Euclidean(2), lambda x: math.nan, euclidean_gradient=lambda x: x)
    with pytest.raises(NonFiniteCostError, match="start is nan"):
        riemtr.PracticalTRM().solve(problem, np.zeros(2))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize(
    "solver",
    [riemtr.PracticalTRM(), riemtr.ExactTRM(1.0)],
    ids=["practical", "exact"],
)
def test_nonfinite_cost_on_the_way_shrinks_the_radius(bad, solver):
    # Finite only close to the solution side of the start: long steps land outside.
    def cost(x):
        return float(x @ x) if x[0] > -0.5 else bad

    # The Hessian is understated, so that the first steps overshoot.
    problem = riemtr.Problem(
        Euclidean(2),
        cost,
        euclidean_gradient=lambda x: 2 * x,
        euclidean_hessian=lambda x, v: 0.5 * v,
    )
    result = solver.solve(problem, np.array([0.4, 0.0]))
    assert (~result.history["accepted"]).any()
    assert np.all(np.diff(result.history["radius"][~result.history["accepted"]]) <= 0)
    assert math.isfinite(result.cost)


def test_float32_in_float32_out():
    case = riemtr.problems.build("dictionary-learning", rng=0, n=8, p=3000)
    data = case.problem.cost.data.astype(np.float32)
    problem = riemtr.dictionary_problem(data)
    for solver in (riemtr.PracticalTRM(), riemtr.ExactTRM(0.01)):
        result = solver.solve(problem, case.start.astype(np.float32))
        assert result.point.dtype == np.float32
        assert result.converged, result
        assert result.certificate.verdict == "minimizer"
        assert case.truth.distance(result.point.astype(float)) < 1e-2


@pytest.mark.parametrize(
    ("dtype", "exponent"),
    [(np.float64, e) for e in (-160, -120, -30, -12, 12, 30, 110, 150)]
    + [(np.float32, e) for e in (-12, 8, 14, 20, 30)],
)
@pytest.mark.parametrize("method", [riemtr.PracticalTRM, lambda **k: riemtr.ExactTRM(0.3, **k)])
def test_cost_of_any_scale(method, dtype, exponent):
    case = riemtr.problems.build("rayleigh", rng=0, n=10)
    scale = 10.0**exponent
    matrix = (scale * case.truth.details["matrix"]).astype(dtype)
    problem = riemtr.Problem(
        riemtr.Sphere(10),
        lambda x: float(x @ matrix @ x),
        euclidean_gradient=lambda x: 2 * matrix @ x,
        euclidean_hessian=lambda x, v: 2 * matrix @ v,
    )
    roundings = np.finfo(dtype).eps * scale
    solver = method(tolerance=1e2 * roundings, curvature_tolerance=1e4 * roundings)
    result = solver.solve(problem, case.start.astype(dtype))
    assert result.converged, result
    assert result.certificate.verdict == "minimizer"
    assert case.truth.distance(result.point.astype(float)) < 1e4 * np.finfo(dtype).eps


def test_dimension_zero_and_one():
    for n in (1, 2):
        problem = riemtr.dictionary_problem(np.random.default_rng(0).standard_normal((n, 50)))
        for solver in (riemtr.PracticalTRM(), riemtr.ExactTRM(0.01)):
            result = solver.solve(problem, rng=0)
            assert result.converged
            assert result.certificate.verdict == "minimizer"
    assert result.certificate.direction is not None


def test_constant_cost_is_a_flat_minimizer():
    problem = riemtr.Problem(
        riemtr.Sphere(4),
        lambda x: 3.0,
        euclidean_gradient=lambda x: 0 * x,
        euclidean_hessian=lambda x, v: 0 * v,
    )
    result = riemtr.PracticalTRM().solve(problem, rng=0)
    assert result.converged
    assert result.iterations == 0
    assert result.certificate.verdict == "minimizer"
    assert not result.certificate.strict


def test_tolerance_below_rounding_stalls_rather_than_running_on():
    case = riemtr.problems.build("rayleigh", rng=0, n=10)
    result = riemtr.PracticalTRM(tolerance=0.0).solve(case.problem, case.start)
    assert result.status is Status.STALLED
    assert result.cost == pytest.approx(case.truth.cost, abs=1e-14)


def test_interrupt_returns_the_best_point_so_far():
    case = riemtr.problems.build("rayleigh", rng=0, n=30)

    def interrupt(iteration):
        if iteration.number == 3:
            signal.raise_signal(signal.SIGINT)

    result = riemtr.PracticalTRM().solve(case.problem, rng=0, observers=[interrupt])
    assert result.status is Status.INTERRUPTED
    assert result.iterations == 3
    assert result.cost == result.history["cost"].min()


def test_interrupt_while_warming_up_is_judged_by_the_real_problem():
    case = riemtr.problems.build("dictionary-learning", rng=0, n=6, p=500)

    def interrupt(iteration):
        if iteration.number == 1:
            raise KeyboardInterrupt

    result = riemtr.PracticalTRM().solve(case.problem, rng=0, observers=[interrupt])
    assert result.status is Status.INTERRUPTED
    assert result.cost == pytest.approx(case.problem.at(result.point).cost)


def test_limits_and_criteria_end_a_run():
    case = riemtr.problems.build("rayleigh", rng=0, n=50)
    solver = riemtr.PracticalTRM()
    assert solver.solve(case.problem, rng=0, stop=MaxIterations(2)).iterations == 2
    assert riemtr.PracticalTRM(max_iterations=3).solve(case.problem, rng=0).status is (
        Status.MAX_ITERATIONS
    )
    assert riemtr.PracticalTRM(max_seconds=0.0).solve(case.problem, rng=0).status is (
        Status.MAX_SECONDS
    )
    loose = solver.solve(case.problem, rng=0, stop=GradientNorm(0.1))
    assert loose.status is Status.FIRST_ORDER
    assert 1e-6 < loose.gradient_norm <= 0.1
    assert loose.certificate.verdict == "not-critical"
    low = solver.solve(case.problem, rng=0, stop=CostBelow(-0.1))
    assert low.status is Status.STOPPED
    assert low.cost <= -0.1
    few = solver.solve(case.problem, rng=0, stop=MaxProducts(5))
    assert few.status is Status.STOPPED
    both = solver.solve(case.problem, rng=0, stop=GradientNorm(0.5) & MaxIterations(4))
    assert both.iterations >= 4


def test_max_iterations_holds_over_all_stages():
    case = riemtr.problems.build("dictionary-learning", rng=0, n=10, p=2000)
    result = riemtr.PracticalTRM(max_iterations=3).solve(case.problem, rng=0)
    assert result.iterations == 3
    assert result.status is Status.MAX_ITERATIONS
    assert result.cost == pytest.approx(case.problem.at(result.point).cost)


def test_history_is_a_table():
    case = riemtr.problems.build("rayleigh", rng=0, n=10)
    result = riemtr.ExactTRM(0.2).solve(case.problem, rng=0)
    assert {len(column) for column in result.history.values()} == {result.iterations + 1}
    assert result.history["cost"][-1] == result.cost
    assert np.all(np.diff(result.history["seconds"]) >= 0)
    assert result.history["hessian_products"][-1] <= result.counts.hessian_products


def test_a_step_is_at_most_the_radius_long():
    case = riemtr.problems.build("invariant-subspace", rng=0)
    for part in PARTS.values():
        history = riemtr.TrustRegion(subproblem=part).solve(case.problem, case.start).history
        assert np.all(history["step_norm"][1:] <= history["radius"][:-1] * (1 + 1e-9))


def test_quadratic_convergence_of_the_last_exact_steps():
    case = riemtr.problems.build("rayleigh", rng=4, n=20)
    norms = (
        riemtr.ExactTRM(0.3, tolerance=1e-12)
        .solve(case.problem, case.start)
        .history["gradient_norm"]
    )
    last = norms[norms > 1e-13][-3:]
    assert last[2] <= 10 * last[1] ** 2


def test_pymanopt_problem_in_place_of_a_problem():
    import autograd.numpy as anp
    import pymanopt

    manifold = Grassmann(6, 2)
    matrix = np.diag(np.arange(6.0))

    @pymanopt.function.autograd(manifold)
    def cost(x):
        return anp.trace(x.T @ matrix @ x)

    problem = pymanopt.Problem(manifold, cost)
    result = riemtr.PracticalTRM().solve(problem, rng=0)
    assert result.cost == pytest.approx(1.0)
    assert riemtr.certify(problem, result.point).verdict == "minimizer"
    with pytest.raises(TypeError, match=r"riemtr\.Problem"):
        riemtr.PracticalTRM().solve("rayleigh")


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (np.ones(3), "norm"),
        (np.array([1.0, 0.0]), "shape"),
        (np.array([math.nan, 0.0, 1.0]), "finite"),
        (np.array([1j, 0, 0]), "real"),
        (["a", "b", "c"], "numbers"),
    ],
)
def test_bad_starts_are_named(start, message):
    problem = riemtr.dictionary_problem(np.eye(3))
    with pytest.raises(ValueError, match=f"start must .*{message}"):
        riemtr.PracticalTRM().solve(problem, start)


@pytest.mark.parametrize(
    ("make", "parameter"),
    [
        (lambda: riemtr.ExactTRM(radius=0.0), "radius"),
        (lambda: riemtr.ExactTRM(radius=math.inf), "radius"),
        (lambda: FixedRadius(-1.0), "radius"),
        (lambda: AdaptiveRadius(start=-1.0), "start"),
        (lambda: AdaptiveRadius(largest=0.0), "largest"),
        (lambda: AdaptiveRadius(poor=0.9), "poor"),
        (lambda: AdaptiveRadius(shrink=2.0), "shrink"),
        (lambda: RatioTest(threshold=0.5), "threshold"),
        (lambda: RatioTest(regularization=-1.0), "regularization"),
        (lambda: riemtr.PracticalTRM(tolerance=-1.0), "tolerance"),
        (lambda: riemtr.PracticalTRM(curvature_tolerance=math.nan), "curvature_tolerance"),
        (lambda: riemtr.PracticalTRM(max_iterations=-1), "max_iterations"),
        (lambda: riemtr.PracticalTRM(max_seconds=-1.0), "max_seconds"),
        (lambda: riemtr.TruncatedCG(kappa=1.5), "kappa"),
        (lambda: riemtr.TruncatedCG(theta=-1.0), "theta"),
        (lambda: riemtr.TruncatedCG(max_products=0), "max_products"),
    ],
)
def test_bad_options_are_named(make, parameter):
    with pytest.raises(ValueError, match=parameter):
        make()


def test_any_crossing_of_parts():
    case = riemtr.problems.build("rayleigh", rng=0, n=10)
    for part in PARTS.values():
        for radius in (FixedRadius(0.3), AdaptiveRadius()):
            for acceptance in (AlwaysAccept(), RatioTest()):
                solver = riemtr.TrustRegion(part, radius, acceptance)
                result = solver.solve(case.problem, case.start)
                assert result.cost == pytest.approx(case.truth.cost, abs=1e-10)


def test_a_stalled_run_returns_the_point_with_the_smallest_gradient():
    case = riemtr.problems.build("rayleigh", rng=0, n=30)
    result = riemtr.PracticalTRM(tolerance=1e-16).solve(case.problem, case.start)
    assert result.status is Status.STALLED
    assert result.gradient_norm < 1e-12


def test_criteria_on_the_cost_wait_for_the_real_cost():
    case = riemtr.problems.build("dictionary-learning", rng=0, n=8, p=500)
    end = riemtr.PracticalTRM().solve(case.problem, rng=0)
    target = 1.02 * end.cost
    result = riemtr.PracticalTRM().solve(case.problem, rng=0, stop=CostBelow(target))
    assert result.cost <= target


def test_a_looser_second_order_criterion_is_not_convergence():
    from riemtr.solvers import SecondOrder

    case = riemtr.problems.build("rayleigh", rng=0, n=20)
    result = riemtr.PracticalTRM().solve(case.problem, rng=0, stop=SecondOrder(0.5, 10.0))
    assert result.status is Status.STOPPED
    assert not result.converged


def test_a_fixed_radius_at_the_level_of_rounding_stalls_rather_than_cycles():
    case = riemtr.problems.build("rayleigh", rng=0, n=10)
    result = riemtr.ExactTRM(0.3, tolerance=0.0).solve(case.problem, case.start)
    assert result.status is Status.STALLED


def test_results_pickle_whatever_the_cost():
    import pickle

    result = riemtr.PracticalTRM().solve(
        riemtr.Problem(riemtr.Sphere(3), lambda x: x[0] ** 2 + 2 * x[1] ** 2), rng=0
    )
    again = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(again.point, result.point)
    np.testing.assert_array_equal(again.history["cost"], result.history["cost"])
    assert again.certificate.verdict == result.certificate.verdict
    assert repr(again) == repr(result)


@pytest.mark.parametrize("shape", [(1,), (1, 1), ()])
def test_costs_may_return_arrays_of_one_number(shape):
    problem = riemtr.Problem(
        Euclidean(2),
        lambda x: np.reshape(x @ x, shape),
        euclidean_gradient=lambda x: 2 * x,
        euclidean_hessian=lambda x, v: 2 * v,
    )
    assert riemtr.PracticalTRM().solve(problem, np.ones(2)).cost == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("cost", "gradient", "message"),
    [
        (lambda x: None, lambda x: x, "one real number"),
        (lambda x: x, lambda x: x, "one real number"),
        (lambda x: 1.0, lambda x: 1.0, "shape of the point"),
        (lambda x: 1.0, lambda x: x[:, None], "shape of the point"),
    ],
)
def test_ill_shaped_values_are_named(cost, gradient, message):
    problem = riemtr.Problem(Euclidean(2), cost, euclidean_gradient=gradient)
    with pytest.raises(ValueError, match=message):
        riemtr.PracticalTRM().solve(problem, np.ones(2))


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"radius": 0.1}, "radius"),
        ({"subproblem": "exact"}, "subproblem"),
        ({"subproblem": riemtr.TruncatedCG}, "subproblem"),
        ({"acceptance": None}, "acceptance"),
    ],
)
def test_what_is_no_part_is_named(options, parameter):
    with pytest.raises(ValueError, match=f"{parameter} must be a part"):
        riemtr.TrustRegion(**options)


def test_what_is_no_criterion_or_observer_is_named():
    case = riemtr.problems.build("rayleigh", rng=0, n=5)
    with pytest.raises(ValueError, match=r"observers=\[condition\]"):
        riemtr.PracticalTRM().solve(case.problem, stop=lambda iteration: True)
    with pytest.raises(ValueError, match="observers"):
        riemtr.PracticalTRM().solve(case.problem, observers=3)


def test_one_callable_serves_as_observers():
    case = riemtr.problems.build("rayleigh", rng=0, n=5)
    seen = []
    result = riemtr.PracticalTRM().solve(case.problem, rng=0, observers=seen.append)
    assert len(seen) == result.iterations + 1


@pytest.mark.parametrize("part", sorted(PARTS))
def test_a_gradient_of_the_wrong_sign_is_not_called_converged(part):
    matrix = np.diag([3.0, 2.0, 1.0, -1.0])
    mistaken = riemtr.Problem(
        riemtr.Sphere(4),
        lambda x: float(x @ matrix @ x),
        euclidean_gradient=lambda x: -2.0 * matrix @ x,
        euclidean_hessian=lambda x, v: -2.0 * matrix @ v,
    )
    always = riemtr.TrustRegion(
        subproblem=PARTS[part], radius=FixedRadius(0.3), acceptance=AlwaysAccept()
    )
    for seed in range(5):
        result = always.solve(mistaken, rng=seed)
        assert result.status is Status.INCONSISTENT
        assert not result.converged
        assert "check_gradient" in str(result.status)
        assert result.gradient_norm <= 1e-6
        # A ratio test takes no such step in the first place.
        assert not riemtr.PracticalTRM().solve(mistaken, rng=seed).converged


def test_steps_that_overshoot_on_the_way_are_no_inconsistency():
    case = riemtr.problems.build("rayleigh", rng=3, n=12)
    rose = 0
    for seed in range(20):
        result = riemtr.ExactTRM(radius=1.5).solve(case.problem, rng=seed)
        rose += bool((np.diff(result.history["cost"]) > 1e-6).any())
        assert result.status in (Status.CONVERGED, Status.CYCLING)
    assert rose > 0


class TestWrongGradients:
    """A gradient that vanishes where the cost's own does not must not be called converged."""

    @pytest.fixture
    def forgotten(self):
        """Brockett's cost with a gradient that lacks its weights."""
        rng = np.random.default_rng(3)
        matrix, weights = rng.standard_normal((8, 8)), np.diag([3.0, 2.0, 1.0])
        matrix = matrix + matrix.T
        return riemtr.Problem(
            pm.Stiefel(8, 3),
            lambda x: anp.trace(x.T @ matrix @ x @ weights),
            euclidean_gradient=lambda x: 2.0 * matrix @ x,
        )

    def test_exact(self, forgotten):
        results = [riemtr.ExactTRM().solve(forgotten, rng=seed) for seed in range(8)]
        assert {result.status for result in results} == {Status.INCONSISTENT}
        assert "check_gradient" in str(results[0].reason)

    def test_practical(self, forgotten):
        results = [riemtr.PracticalTRM().solve(forgotten, rng=seed) for seed in range(20)]
        assert not any(result.converged for result in results)
        assert sum(result.status is Status.INCONSISTENT for result in results) >= 5

    def test_a_run_that_gets_nowhere_says_so(self):
        matrix = np.random.default_rng(3).standard_normal((6, 6))
        matrix, kept = matrix + matrix.T, np.array([1.0, 1.0, 0.0, 1.0, 1.0, 1.0])
        problem = riemtr.Problem(
            riemtr.Sphere(6),
            lambda x: x @ matrix @ x,
            euclidean_gradient=lambda x: 2.0 * kept * (matrix @ x),
        )
        results = [riemtr.PracticalTRM().solve(problem, rng=seed) for seed in range(10)]
        assert not any(result.converged for result in results)
        assert any("does not change as its gradient says" in str(r.reason) for r in results)

    @pytest.mark.parametrize("tolerance", [1e-1, 1e-3, 1e-8])
    @pytest.mark.parametrize("mu", [1e-1, 1e-2, 1e-3])
    def test_right_ones_are_not_doubted(self, mu, tolerance):
        case = riemtr.problems.build("dictionary-learning", rng=0, n=6, p=400, theta=0.3, mu=mu)
        for seed in range(10):
            result = riemtr.PracticalTRM(tolerance=tolerance).solve(case.problem, rng=seed)
            assert result.converged

    def test_long_steps_between_critical_points_are_no_contradiction(self):
        """From a maximizer right to a minimizer: no slope at either end."""
        circle = riemtr.Problem(riemtr.Sphere(2), lambda x: x[0] ** 2 + 2.0 * x[1] ** 2)
        result = riemtr.ExactTRM(radius=np.pi / 2).solve(circle, np.array([0.0, 1.0]))
        assert result.converged
        line = riemtr.Problem(pm.Euclidean(1), lambda x: anp.sum((x**2 - 0.04) ** 2))
        assert riemtr.PracticalTRM().solve(line, np.zeros(1)).converged

    @pytest.mark.parametrize("manifold", [pm.Grassmann(12, 2), pm.Stiefel(12, 2)])
    def test_costs_that_cancel_are_no_contradiction(self, manifold):
        for seed in range(15):
            rng = np.random.default_rng(seed)
            matrix = 10.0 * rng.standard_normal((12, 2)) @ rng.standard_normal((2, 9))
            total = np.sum(matrix**2)
            problem = riemtr.Problem(
                manifold, lambda x, a=matrix, b=total: b - anp.sum((x.T @ a) ** 2)
            )
            result = riemtr.PracticalTRM().solve(problem, rng=seed)
            assert result.converged, result
            assert result.certificate.verdict == "minimizer"


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("part", [riemtr.ExactSubproblem(), riemtr.NearExactSubproblem()])
def test_exact_steps_do_not_drift_along_symmetries(part, dtype):
    """The cost is the same for all bases of a subspace, whose model bends down until the end."""
    for seed in range(10):
        matrix = np.random.default_rng(seed).standard_normal((8, 8)).astype(dtype)
        matrix = matrix + matrix.T
        problem = riemtr.Problem(pm.Stiefel(8, 2), lambda x, a=matrix: anp.sum(x * (a @ x)))
        start = problem.random_point(seed).astype(dtype)
        result = riemtr.TrustRegion(subproblem=part).solve(problem, start)
        assert result.converged, result
        expected = np.linalg.eigvalsh(matrix.astype(float))[:2].sum()
        assert result.cost == pytest.approx(expected, rel=1e-4 if dtype == np.float32 else 1e-9)


def test_a_nan_hessian_matrix_ends_in_a_result():
    class Point:
        def __init__(self, x):
            self.value, self.gradient = float(x @ x[::-1]), 2.0 * x[::-1]

        def hessian(self, v):
            return 2.0 * v[::-1]

        def hessian_matrix(self):
            return np.full((4, 4), np.nan)

    class Cost:
        at = staticmethod(Point)

    result = riemtr.PracticalTRM().solve(riemtr.Problem(riemtr.Sphere(4), Cost()), rng=0)
    assert result.status is Status.STALLED
    assert "NaN or infinite" in str(result.reason)


def test_a_gradient_that_is_not_tangent_is_refused():
    shift = np.random.default_rng(0).standard_normal((3, 3))
    for manifold in (pm.Symmetric(3), pm.SkewSymmetric(3)):
        problem = riemtr.Problem(
            manifold,
            lambda x: 0.5 * anp.sum(x**2) + anp.sum(shift * x),
            riemannian_gradient=lambda x: x + shift,
        )
        assert not riemtr.check_gradient(problem, rng=0).ok
        with pytest.raises(ValueError, match="riemannian_gradient must be tangent"):
            riemtr.PracticalTRM().solve(problem, rng=0)


def test_a_factor_of_dimension_zero_does_no_harm():
    pair = pm.Product([pm.SpecialOrthogonalGroup(1), riemtr.Sphere(3)])
    problem = riemtr.Problem(pair, lambda y, z: y[0, 0] + z[0])
    assert riemtr.check_gradient(problem, rng=0).ok
    for solver in (riemtr.PracticalTRM(), riemtr.ExactTRM(0.3)):
        result = solver.solve(problem, rng=0)
        assert result.converged
        assert result.point[1] == pytest.approx([-1.0, 0.0, 0.0], abs=1e-6)


def test_functions_may_overwrite_what_they_get():
    def spoiled(function):
        def call(*arrays):
            value = function(*arrays)
            for array in arrays:
                array[:] = np.nan
            return value

        return call

    matrix = np.diag([1.0, 2.0, 3.0, 4.0])
    problem = riemtr.Problem(
        riemtr.Sphere(4),
        spoiled(lambda x: x @ matrix @ x),
        euclidean_gradient=spoiled(lambda x: 2.0 * matrix @ x),
        euclidean_hessian=spoiled(lambda x, v: 2.0 * matrix @ v),
    )
    result = riemtr.PracticalTRM().solve(problem, rng=0)
    assert result.converged
    assert result.cost == pytest.approx(1.0)


@pytest.mark.parametrize("product", [lambda v: v[:1], lambda v: 2.0, lambda v: v[:, None]])
def test_hessian_products_of_another_shape_are_refused(product):
    for sphere in (riemtr.Sphere(4), pm.Sphere(4)):
        problem = riemtr.Problem(
            sphere,
            lambda x: x @ x[::-1],
            euclidean_gradient=lambda x: 2.0 * x[::-1],
            euclidean_hessian=lambda x, v: product(v),
        )
        with pytest.raises(ValueError, match=r"a Hessian product must have the shape of the point"):
            riemtr.PracticalTRM().solve(problem, rng=0)


@pytest.mark.parametrize(
    "cost", [lambda x: x[0], lambda x: x[0] ** 3 + x[1], lambda x: -anp.sum(x**2)]
)
def test_a_cost_without_a_minimum_is_named(cost):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = riemtr.PracticalTRM().solve(riemtr.Problem(pm.Euclidean(2), cost), rng=0)
    assert result.status is Status.UNBOUNDED
    assert not result.converged
    # A low one is no such thing, where it starts as low.
    deep = riemtr.Problem(pm.Euclidean(2), lambda x: 1e40 * (anp.sum(x**2) - 1.0))
    assert riemtr.PracticalTRM(tolerance=1e34).solve(deep, np.full(2, 0.1)).converged


@pytest.mark.parametrize(
    "cost",
    [
        lambda x: -1.0 / (1.0 - anp.sum(x**2)),
        lambda x: -x[0],
        lambda x: (x[0] - 1.2) ** 2 + x[1] ** 2,
    ],
)
@pytest.mark.parametrize("solver", [riemtr.PracticalTRM(tolerance=0.0), riemtr.ExactTRM(1.0)])
def test_no_step_leaves_a_manifold_that_ends(cost, solver):
    ball = pm.PoincareBall(2)
    problem = riemtr.Problem(ball, cost)
    start = np.array([0.1, 0.2])
    result = solver.solve(problem, start)
    assert np.linalg.norm(result.point) < 1.0
    assert result.cost <= problem.at(start).cost
    assert riemtr.certify(problem, result.point).verdict != "saddle"


def test_a_cost_without_bottom_at_the_end_of_a_manifold_has_no_minimizer():
    problem = riemtr.Problem(pm.PoincareBall(2), lambda x: -1.0 / (1.0 - anp.sum(x**2)))
    assert not riemtr.PracticalTRM().solve(problem, np.array([0.1, 0.2])).certified


def test_costs_undefined_beside_their_minimum_are_undecided_not_an_error():
    def inside(x):
        if x[0] < -1e-7:
            raise np.linalg.LinAlgError("outside the domain")

    def cost(x):
        inside(x)
        return float(x @ x)

    def gradient(x):
        inside(x)
        return 2.0 * x

    problem = riemtr.Problem(pm.Euclidean(3), cost, euclidean_gradient=gradient)
    result = riemtr.PracticalTRM().solve(problem, np.ones(3))
    # Its minimum is seen wherever differences are shorter than the way to the end of the domain.
    assert result.status in (riemtr.Status.UNRESOLVED, riemtr.Status.CONVERGED)
    np.testing.assert_allclose(result.point, 0.0, atol=1e-6)


def test_solving_again_changes_no_bit_where_only_a_gradient_is_given():
    """Whether autograd sees the cost is decided at no point of a run."""
    problem = riemtr.Problem(
        pm.Euclidean(8),
        lambda x: anp.sum(x**4) / 4 - anp.sum(x[:3] ** 2) / 2 + anp.sum(x[3:] ** 2),
        euclidean_gradient=lambda x: x**3 + np.concatenate([-x[:3], 2 * x[3:]]),
    )
    first, again = (riemtr.PracticalTRM().solve(problem, np.zeros(8)) for _ in range(2))
    np.testing.assert_array_equal(first.point, again.point)
    assert first.counts == again.counts
    assert first.certified


def test_ctrl_c_before_anything_is_known_is_passed_on():
    calls = []

    def cost(x):
        calls.append(x)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        riemtr.PracticalTRM().solve(riemtr.Problem(riemtr.Sphere(3), cost), rng=0)
    assert len(calls) == 1


def test_the_last_row_of_the_history_counts_the_curvature():
    case = riemtr.problems.build("rayleigh", rng=0, n=20)
    result = riemtr.PracticalTRM().solve(case.problem, rng=0)
    assert result.history["hessian_products"][-1] == result.counts.hessian_products


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_the_size_of_a_preconditioner_does_not_matter(size):
    matrix = np.diag(np.arange(1.0, 9.0))
    problem = riemtr.Problem(
        riemtr.Sphere(8), lambda x: x @ matrix @ x, preconditioner=lambda x, v: size * v
    )
    solver = riemtr.TrustRegion(subproblem=riemtr.TruncatedCG(remembered=0))
    assert solver.solve(problem, rng=0).certified


def test_the_last_row_of_the_history_has_all_that_was_counted():
    matrix = np.diag(np.arange(1.0, 7.0))
    wrong = riemtr.Problem(
        riemtr.Sphere(6), lambda x: x @ matrix @ x, euclidean_gradient=lambda x: 5.0 * matrix @ x
    )
    right = riemtr.Problem(riemtr.Sphere(6), lambda x: x @ matrix @ x)
    flat = riemtr.Problem(Euclidean(2), lambda x: 0.0 * x[0])
    statuses = set()
    for problem in (wrong, right, flat):
        for solver in (riemtr.ExactTRM(0.1, max_iterations=300), riemtr.PracticalTRM()):
            for stop in (None, MaxIterations(2), riemtr.solvers.SecondOrder(1e-1, 1e-1)):
                result = solver.solve(problem, rng=1, stop=stop)
                statuses.add(result.status)
                last = {name: result.history[name][-1] for name in result.counts.as_dict()}
                assert last == result.counts.as_dict()
    assert len(statuses) >= 4


@pytest.mark.parametrize("solver", [riemtr.PracticalTRM(), riemtr.ExactTRM(0.3)], ids=str)
def test_steps_to_where_the_cost_raises_are_rejected(solver):
    problem = riemtr.Problem(
        Euclidean(1),
        lambda x: 10 * float(x[0]) - math.log(x[0]),  # ValueError at 0 and below
        euclidean_gradient=lambda x: np.array([10 - 1 / x[0]]),
        euclidean_hessian=lambda x, v: v / x[0] ** 2,
    )
    result = solver.solve(problem, np.array([1.0]))
    assert result.certified
    assert result.point[0] == pytest.approx(0.1, abs=1e-7)


def test_what_a_cost_raises_wherever_the_solver_looks_is_named():
    def cost(x):
        if x[0] != 1.0:
            raise ValueError("no data but at the start")
        return 0.0

    problem = riemtr.Problem(
        Euclidean(1), cost, euclidean_gradient=np.ones_like, euclidean_hessian=lambda x, v: v
    )
    result = riemtr.PracticalTRM().solve(problem, np.ones(1))
    assert result.status is Status.STALLED
    assert "ValueError: no data but at the start" in str(result.reason)


def test_a_gradient_of_the_wrong_sign_is_named():
    matrix = np.diag([1.0, 2.0, 3.0])
    problem = riemtr.Problem(
        riemtr.Sphere(3), lambda x: x @ matrix @ x, euclidean_gradient=lambda x: -2 * matrix @ x
    )
    result = riemtr.PracticalTRM().solve(problem, rng=0)
    assert result.status is Status.INCONSISTENT
    assert "sign" in result.reason.detail


class SlowProducts:
    """A quadratic with a flat direction, whose clock advances with every Hessian product."""

    def __init__(self, n: int):
        self.diagonal = np.append(0.0, np.linspace(1e-5, 10.0, n - 1))
        self.now = 0.0

    def product(self, x, v):
        self.now += 1.0
        return self.diagonal * v


def test_a_test_of_curvature_ends_when_time_is_up(monkeypatch):
    slow = SlowProducts(400)
    problem = riemtr.Problem(
        Euclidean(400),
        lambda x: float(0.5 * x @ (slow.diagonal * x)),
        euclidean_gradient=lambda x: slow.diagonal * x,
        euclidean_hessian=slow.product,
    )
    monkeypatch.setattr("time.perf_counter", lambda: slow.now)
    start = np.zeros(400)  # critical at once: all time goes into the curvature
    for solver, stop in (
        (riemtr.PracticalTRM(max_seconds=20.0), None),
        (riemtr.PracticalTRM(), riemtr.solvers.MaxSeconds(20.0)),
    ):
        slow.now = 0.0
        result = solver.solve(problem, start, stop=stop)
        assert result.status is Status.MAX_SECONDS
        assert result.counts.hessian_products <= 23
        assert result.certificate.verdict == "unresolved"
        assert slow.now < 30.0  # asked for by someone in a hurry
    assert riemtr.certify(problem, start).verdict == "minimizer"


def test_ill_conditioned_costs_take_a_few_matrices_of_products():
    n = 100
    diagonal = 10.0 ** np.linspace(-6, 4, n)
    quadratic = riemtr.Problem(
        Euclidean(n),
        lambda x: float(0.5 * x @ (diagonal * x) - diagonal @ x),
        euclidean_gradient=lambda x: diagonal * x - diagonal,
        euclidean_hessian=lambda x, v: diagonal * v,
    )
    result = riemtr.PracticalTRM().solve(quadratic, rng=0)
    assert result.certified
    assert result.counts.hessian_products <= 5 * n
    rotation, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((30, 30)))
    values = 10.0 ** np.linspace(-6, 4, 30)
    matrix = rotation * values @ rotation.T
    weights = np.array([3.0, 2.0, 1.0])
    brockett = riemtr.Problem(pm.Stiefel(30, 3), lambda x: anp.sum(x * (matrix @ x) * weights))
    # A gradient norm of 1e-9 is what was asked for; beside curvature of 1e-6 it may be far away.
    result = riemtr.PracticalTRM(tolerance=1e-9).solve(brockett, rng=0)
    assert result.converged
    assert result.certificate.verdict == "minimizer"
    assert result.cost == pytest.approx(weights @ values[:3], rel=1e-3)
    assert result.counts.hessian_products <= 20 * 84


def test_a_hessian_that_is_not_finite_is_named():
    for value in (np.nan, np.inf):
        problem = riemtr.Problem(
            Euclidean(2),
            lambda x: float(x @ x + x[0] ** 4),
            euclidean_gradient=lambda x: 2 * x + np.array([4 * x[0] ** 3, 0.0]),
            euclidean_hessian=lambda x, v, value=value: v * (2 if x[0] > 1.5 else value),
        )
        result = riemtr.PracticalTRM().solve(problem, np.array([2.0, 1.0]))
        assert result.status is Status.STALLED
        assert "NaN or infinite" in str(result.reason)


def test_parts_that_lack_something_are_refused_at_once():
    class Halving:
        def initial(self, problem):
            return 1.0

        def update(self, radius, verdict, step):
            return radius / 2

    with pytest.raises(ValueError, match=r"radius must be a part with .*lacks adapts, limit"):
        riemtr.TrustRegion(radius=Halving())
    with pytest.raises(ValueError, match="subproblem must be a part with at"):
        riemtr.TrustRegion(subproblem=riemtr.TruncatedCG)


@pytest.mark.parametrize("gap", [2e-6, 1e-5, 1e-3])
@pytest.mark.parametrize("n", [3, 6, 50])
def test_no_saddle_is_hidden_from_where_a_run_came(gap, n):
    # The way down from the maximizer is along what a random start has seen; the next start must
    # not be the same one, to which the rest is nearly orthogonal there.
    values = np.array([3.0] + [1.0] * (n - 2) + [1.0 - gap])
    problem = riemtr.Problem(riemtr.Sphere(n), lambda x: anp.sum(values * x**2))
    result = riemtr.PracticalTRM().solve(problem, np.eye(n)[0])
    assert result.certified
    smallest = np.linalg.eigvalsh(problem.at(result.point).hessian_matrix())[0]
    assert smallest >= -1e-6
    certificate = result.certificate
    assert certificate.min_eigenvalue - certificate.error_bound <= smallest + 1e-12


@pytest.mark.parametrize("dimension", [2, 5, 50])
def test_the_brim_of_a_hat_is_flat(dimension):
    problem = riemtr.Problem(Euclidean(dimension), lambda x: -(x @ x) + 0.1 * (x @ x) ** 2)
    result = riemtr.PracticalTRM().solve(problem, np.zeros(dimension))
    assert result.cost == pytest.approx(-2.5)
    assert result.certified
    assert not result.certificate.strict


class SmoothedDeviations:
    """Smoothed least absolute deviations, with their Hessian matrix: sharp, and ill-conditioned."""

    def __init__(self, seed, n=20, mu=1e-3):
        rng = np.random.default_rng(seed)
        self.data = rng.standard_normal((5 * n, n)) * np.logspace(0, -2, n)
        self.goal = np.sign(rng.standard_normal(5 * n))
        self.start, self.mu = rng.standard_normal(n), mu

    def at(self, x):
        rest = self.data @ x - self.goal
        sizes = np.sqrt(rest**2 + self.mu**2)
        bends = self.mu**2 / sizes**3 / len(rest)
        point = type("Point", (), {})()
        point.value = float(sizes.mean())
        point.gradient = self.data.T @ (rest / sizes) / len(rest)
        point.hessian = lambda v: self.data.T @ (bends * (self.data @ v))
        point.hessian_matrix = lambda: (self.data.T * bends) @ self.data
        return point


@pytest.mark.parametrize("seed", range(4))
def test_steps_along_the_boundary_do_not_keep_the_matrix_from_being_formed(seed):
    cost = SmoothedDeviations(seed)
    result = riemtr.PracticalTRM().solve(riemtr.Problem(Euclidean(20), cost), cost.start)
    assert result.converged
    assert result.counts.hessian_matrices > 0


@pytest.mark.parametrize("size", [0.0, 1e-100, 1e-230, 1e-300])
def test_a_saddle_is_left_however_small_the_gradient_there(size):
    matrix = np.diag([1.0, 2.0, 3.0])
    problem = riemtr.Problem(riemtr.Sphere(3), lambda x: x @ matrix @ x)
    result = riemtr.PracticalTRM().solve(problem, np.array([0.0, size, 1.0]))
    assert result.cost == pytest.approx(1.0)


@pytest.mark.parametrize(
    "solver", [riemtr.PracticalTRM(max_seconds=1.0), riemtr.ExactTRM(max_seconds=1.0)], ids=str
)
def test_time_ends_between_products_as_well(monkeypatch, solver):
    n, clock = 100, [0.0]
    curvatures = np.logspace(0, 8, n)
    monkeypatch.setattr(riemtr.problem.Clock, "seconds", property(lambda self: clock[0]))

    def product(x, v):
        clock[0] += 0.1
        return curvatures * v

    problem = riemtr.Problem(
        Euclidean(n),
        lambda x: 0.5 * float(curvatures @ x**2),
        euclidean_gradient=lambda x: curvatures * x,
        euclidean_hessian=product,
    )
    result = solver.solve(problem, np.ones(n))
    assert result.status is Status.MAX_SECONDS
    assert result.counts.hessian_products <= 11


def test_newton_steps_that_cycle_are_told():
    problem = riemtr.Problem(Euclidean(1), lambda x: anp.sum(anp.sqrt(1.0 + x**2)))
    result = riemtr.ExactTRM(radius=10.0).solve(problem, np.ones(1))
    assert result.status is Status.CYCLING


@pytest.mark.parametrize("far", [1e14, 1e16, -1e20, 1e80])
def test_starts_far_out_find_back(far):
    problem = riemtr.Problem(Euclidean(2), lambda x: anp.sum((x - 1.0) ** 2))
    result = riemtr.PracticalTRM().solve(problem, np.array([far, 0.0]))
    assert result.converged
    # Roundings of places where the run has been are no lengths.
    np.testing.assert_allclose(result.point, np.ones(2), atol=1e-16 * abs(far))


@pytest.mark.parametrize(
    ("manifold", "cost"),
    [
        (pm.SymmetricPositiveDefinite(2), lambda x: -anp.linalg.slogdet(x)[1]),
        (pm.Positive(3, 1), lambda x: -anp.sum(anp.log(x))),
    ],
)
def test_points_that_go_to_infinity_show_that_there_is_no_minimum(manifold, cost):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = riemtr.PracticalTRM(tolerance=1e-300).solve(riemtr.Problem(manifold, cost), rng=0)
    assert result.status is Status.UNBOUNDED
    assert "grew" in result.reason.detail


def test_a_gradient_of_the_wrong_sign_is_told_from_a_kink():
    matrix = np.random.default_rng(0).standard_normal((6, 6))
    matrix = matrix + matrix.T
    flipped = riemtr.Problem(
        riemtr.Sphere(6), lambda x: x @ matrix @ x, euclidean_gradient=lambda x: -2.0 * matrix @ x
    )
    kinked = riemtr.Problem(riemtr.Sphere(6), lambda x: anp.sum(anp.abs(x)))
    for seed in range(10):
        result = riemtr.PracticalTRM().solve(flipped, rng=seed)
        assert result.status is Status.INCONSISTENT
        assert "sign" in result.reason.detail
        assert riemtr.PracticalTRM().solve(kinked, rng=seed).status is not Status.INCONSISTENT


def test_whatever_a_cost_raises_on_the_way_the_step_is_rejected():
    def cost(x):
        if x[0] < 0.0:
            raise RuntimeError("the simulation failed")
        return x[0]

    result = riemtr.PracticalTRM().solve(riemtr.Problem(riemtr.Sphere(3), cost), [0.6, 0.8, 0.0])
    assert "the simulation failed" in result.reason.detail
    assert result.cost < 0.6


@pytest.mark.parametrize("error", [NotImplementedError, RecursionError])
def test_what_no_shorter_step_cures_is_raised(error):
    def cost(x):
        if x[0] < 0.5:
            raise error("unfinished")
        return x[0]

    problem = riemtr.Problem(
        riemtr.Sphere(3), cost, euclidean_gradient=lambda x: np.array([1.0, 0.0, 0.0])
    )
    with pytest.raises(error, match="unfinished"):
        riemtr.PracticalTRM().solve(problem, np.array([0.6, 0.8, 0.0]))


def test_observers_that_return_arrays_are_told_so():
    problem = riemtr.problems.build("rayleigh", rng=0, n=5).problem
    for solver in (riemtr.PracticalTRM(), riemtr.LBFGS(), riemtr.solvers.ScipyLBFGSB()):
        with pytest.raises(ValueError, match="observers must return whether to stop"):
            solver.solve(problem, rng=0, observers=[lambda iteration: np.zeros(3)])
