"""What a run is asked for: first or second order, tolerances of any scale, and to go on later."""

from __future__ import annotations

import math

import autograd.numpy as anp
import numpy as np
import pytest

import riemtr
from riemtr.solvers import GradientNorm, Status


def quadratic(scale: float = 1.0, n: int = 30) -> riemtr.Problem:
    matrix = np.diag(np.arange(1.0, n + 1.0))
    return riemtr.Problem(
        riemtr.Sphere(n),
        lambda x: scale * float(x @ matrix @ x),
        euclidean_gradient=lambda x: scale * 2.0 * matrix @ x,
        euclidean_hessian=lambda x, v: scale * 2.0 * matrix @ v,
    )


class Looks:
    """Counts how often the curvature is asked for."""

    def __init__(self, monkeypatch):
        self.count = 0
        side = riemtr.problem.Curvature.side

        def counted(curvature, threshold):
            self.count += 1
            return side(curvature, threshold)

        monkeypatch.setattr(riemtr.problem.Curvature, "side", counted)


@pytest.mark.parametrize("kind", [riemtr.PracticalTRM, riemtr.ExactTRM])
def test_to_first_order_no_curvature_is_looked_at(kind, monkeypatch):
    looks = Looks(monkeypatch)
    result = kind(goal="first-order").solve(quadratic(), rng=0)
    assert result.status is Status.FIRST_ORDER
    assert result.converged
    assert looks.count == 0
    assert result.certificate.strict  # if asked for
    assert looks.count > 0


def test_to_first_order_a_saddle_is_an_end_and_its_certificate_says_so():
    result = riemtr.PracticalTRM(goal="first-order").solve(quadratic(), start=np.eye(30)[3])
    assert result.iterations == 0
    assert result.certificate.verdict == "saddle"
    assert not result.certified


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6])
def test_criteria_and_observers_stop_a_run_before_any_curvature(tolerance, monkeypatch):
    looks = Looks(monkeypatch)
    solver = riemtr.PracticalTRM(tolerance=1e-6)
    result = solver.solve(quadratic(), rng=0, stop=GradientNorm(tolerance))
    assert result.status is Status.FIRST_ORDER
    result = solver.solve(quadratic(), rng=0, observers=lambda it: it.gradient_norm <= tolerance)
    assert result.status is Status.STOPPED
    assert looks.count == 0


def test_goals_are_named():
    with pytest.raises(ValueError, match="goal must be one of second-order, first-order"):
        riemtr.PracticalTRM(goal="third-order")


class Scaled:
    """A cost times a factor; also what it is at one point."""

    def __init__(self, cost, factor):
        self._cost, self._factor = cost, factor

    def at(self, point):
        return Scaled(self._cost.at(point), self._factor)

    @property
    def value(self):
        return self._factor * self._cost.value

    @property
    def gradient(self):
        return self._factor * np.asarray(self._cost.gradient)

    def hessian(self, vector):
        return self._factor * np.asarray(self._cost.hessian(vector))


@pytest.mark.parametrize("name", ["rayleigh", "brockett", "dictionary-learning", "covariance"])
def test_a_factor_before_the_cost_changes_nothing(name):
    case = riemtr.problems.build(name, rng=3)
    solver = riemtr.TrustRegion(subproblem=riemtr.TruncatedCG())
    results = {
        factor: solver.solve(
            riemtr.Problem(case.problem.manifold, Scaled(case.problem.cost, factor)), case.start
        )
        for factor in (1.0, 1e-8, 1e8)
    }
    alone = results[1.0]
    for factor, scaled in results.items():
        assert scaled.converged
        assert scaled.iterations == pytest.approx(alone.iterations, abs=1)
        assert scaled.certificate.verdict == "minimizer"
        assert scaled.certificate.strict == alone.certificate.strict
        assert scaled.cost == pytest.approx(factor * alone.cost, rel=1e-6)


def test_relative_and_absolute_tolerances():
    problem = quadratic(1e4)
    tight = riemtr.PracticalTRM(relative_tolerance=1e-12).solve(problem, rng=0)
    loose = riemtr.PracticalTRM(relative_tolerance=1e-2).solve(problem, rng=0)
    fixed = riemtr.PracticalTRM(tolerance=1e-3).solve(problem, rng=0)
    assert tight.gradient_norm < 1e-5 < loose.gradient_norm
    assert fixed.gradient_norm <= 1e-3
    with pytest.raises(ValueError, match="relative_tolerance must be a nonnegative number"):
        riemtr.PracticalTRM(relative_tolerance=-1.0)


@pytest.mark.parametrize(
    ("cost", "low"),
    [
        (lambda x: x[0] ** 2 - x[1] ** 4 + x[1] ** 6, 0.0),
        (lambda x: x[0] ** 3 - 3.0 * x[0] * x[1] ** 2 + anp.sum(x**4), 0.0),  # monkey saddle
        (lambda x: x[0] ** 2 + x[1] ** 3 + x[1] ** 4, 0.0),
    ],
)
@pytest.mark.parametrize("solver", [riemtr.PracticalTRM(), riemtr.ExactTRM(0.1)], ids=str)
def test_a_degenerate_saddle_is_left(cost, low, solver):
    problem = riemtr.Problem(riemtr.Euclidean(2), cost)
    result = solver.solve(problem, np.zeros(2))
    assert result.converged
    assert result.cost < low - 1e-3
    assert result.certificate.verdict == "minimizer"
    assert result.history["escaped"].any()


def test_certificates_end_with_their_time(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(riemtr.problem.Clock, "seconds", property(lambda self: now[0]))
    values = np.logspace(0, 6, 300)

    def product(x, v):
        now[0] += 0.1
        return values * v

    problem = riemtr.Problem(
        riemtr.Euclidean(300),
        lambda x: 0.5 * float(values @ x**2),
        euclidean_gradient=lambda x: values * x,
        euclidean_hessian=product,
    )
    cut = riemtr.certify(problem, np.zeros(300), max_seconds=2.0)
    assert cut.verdict == "unresolved"
    assert now[0] < 4.0
    assert cut.min_eigenvalue >= values[0]  # it keeps what it has learnt
    assert cut.min_eigenvalue < 1e6
    assert riemtr.certify(problem, np.zeros(300)).verdict == "minimizer"


@pytest.mark.parametrize(
    ("call", "name", "right"),
    [
        (lambda p: riemtr.PracticalTRM(tol=1e-3), "tol", "tolerance"),
        (lambda p: riemtr.PracticalTRM(maxiter=3), "maxiter", "max_iterations"),
        (lambda p: riemtr.ExactTRM(verbose=1), "verbose", "LiveTable"),
        (lambda p: riemtr.PracticalTRM().solve(p, x0=np.ones(3)), "x0", "start"),
        (lambda p: riemtr.PracticalTRM().solve(p, callback=print), "callback", "observers"),
        (lambda p: riemtr.PracticalTRM().solve(p, seed=1), "seed", "rng"),
        (
            lambda p: riemtr.Problem(riemtr.Sphere(3), sum, gradient=sum),
            "gradient",
            "euclidean_gradient",
        ),
    ],
)
def test_names_of_other_libraries_are_answered_with_ours(call, name, right):
    with pytest.raises(TypeError, match=rf"no argument '{name}'; use .*{right}"):
        call(quadratic())


@pytest.mark.parametrize("named", [False, True])
def test_a_saved_result_goes_on_where_it_was(named, tmp_path):
    factors = [riemtr.Sphere(6), riemtr.Stiefel(5, 2)]
    manifold = riemtr.Product({"x": factors[0], "y": factors[1]} if named else factors)
    problem = riemtr.Problem(
        manifold,
        lambda x, y: anp.sum(anp.arange(6.0) * x**2) + anp.sum(anp.arange(10.0) * y.ravel() ** 2),
    )
    whole = riemtr.PracticalTRM().solve(problem, rng=0)
    half = riemtr.PracticalTRM(max_iterations=3).solve(problem, rng=0)
    half.save(tmp_path / "half.npz")
    loaded = riemtr.load_result(tmp_path / "half.npz")
    assert loaded.status is Status.MAX_ITERATIONS
    assert loaded.radius == half.radius
    np.testing.assert_array_equal(loaded.history["cost"], half.history["cost"])
    np.testing.assert_array_equal(
        loaded.point[0] if not named else loaded.point["x"], half.point[0]
    )
    rest = riemtr.PracticalTRM().solve(problem, start=loaded)
    assert rest.converged
    assert rest.history["radius"][0] == half.radius
    assert rest.cost == pytest.approx(whole.cost, abs=1e-9)
    assert rest.iterations < whole.iterations
    with pytest.raises(FileExistsError, match=r"half\.npz"):
        half.save(tmp_path / "half.npz")


def test_a_saved_certificate_is_loaded_with_its_result(tmp_path):
    result = riemtr.PracticalTRM().solve(quadratic(), rng=0)
    assert result.certified
    result.save(tmp_path / "run.npz")
    loaded = riemtr.load_result(tmp_path / "run.npz")
    assert loaded.certificate.strict
    assert loaded.certificate.flat_directions == 0
    np.testing.assert_array_equal(loaded.certificate.direction, result.certificate.direction)
    bare = riemtr.PracticalTRM().solve(quadratic(), rng=1)
    bare.save(tmp_path / "bare.npz")
    with pytest.raises(ValueError, match=r"riemtr\.certify"):
        riemtr.load_result(tmp_path / "bare.npz").certificate  # noqa: B018


def test_no_file_is_a_result_but_a_saved_one(tmp_path):
    (tmp_path / "other.npz").write_bytes(b"PK\x03\x04 no archive")
    with pytest.raises(ValueError, match="must be a result saved by"):
        riemtr.load_result(tmp_path / "other.npz")
    np.savez(tmp_path / "array.npz", x=np.ones(3))
    with pytest.raises(ValueError, match="must be a result saved by"):
        riemtr.load_result(tmp_path / "array.npz")


def test_an_infinite_curvature_tolerance_certifies_nothing():
    for call in (
        lambda: riemtr.PracticalTRM(curvature_tolerance=math.inf),
        lambda: riemtr.certify(quadratic(), np.eye(30)[3], curvature_tolerance=math.inf),
    ):
        with pytest.raises(
            ValueError, match=r'curvature_tolerance must be finite.*goal="first-order"'
        ):
            call()
