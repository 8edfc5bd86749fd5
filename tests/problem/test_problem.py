"""Every way to state a problem gives the same derivatives; every wrong way says the remedy."""

from __future__ import annotations

import autograd.numpy as anp
import numpy as np
import pymanopt.manifolds as pm
import pytest

import riemtr
from riemtr import PracticalTRM, Problem, Sphere
from riemtr.manifolds import adapt
from riemtr.problem import Counts, as_problem

N = 6
RNG = np.random.default_rng(0)
MATRIX = RNG.standard_normal((N, N))
MATRIX += MATRIX.T
LINEAR = RNG.standard_normal(N)


def cost(x):
    return x @ MATRIX @ x + LINEAR @ x + anp.sum(x**4)


def untraceable(x):
    return float(x @ MATRIX @ x + LINEAR @ x + np.sum(x**4))


def euclidean_gradient(x):
    return 2 * MATRIX @ x + LINEAR + 4 * x**3


def euclidean_hessian(x, v):
    return 2 * MATRIX @ v + 12 * x**2 * v


def projector(x):
    return np.eye(N) - np.outer(x, x)


def riemannian_gradient(x):
    return projector(x) @ euclidean_gradient(x)


def riemannian_hessian(x, v):
    return projector(x) @ (euclidean_hessian(x, v) - (x @ euclidean_gradient(x)) * v)


class Shared:
    """The same cost as one object."""

    def __init__(self, offers=("value", "gradient", "hessian")):
        self.offers = offers

    def at(self, x):
        point = type("Point", (), {})()
        point.value, point.gradient = untraceable(x), euclidean_gradient(x)
        if "hessian" in self.offers:
            point.hessian = lambda v: euclidean_hessian(x, v)
        if "matrix" in self.offers:
            point.hessian_matrix = lambda: 2 * MATRIX + 12 * np.diag(x**2)
        return point


GRADIENTS = {
    "none": {},
    "euclidean": {"euclidean_gradient": euclidean_gradient},
    "riemannian": {"riemannian_gradient": riemannian_gradient},
}
HESSIANS = {
    "none": {},
    "euclidean": {"euclidean_hessian": euclidean_hessian},
    "riemannian": {"riemannian_hessian": riemannian_hessian},
}
WAYS = {
    f"{'traced' if function is cost else 'opaque'}-{gradient}-{hessian}": (
        function,
        GRADIENTS[gradient] | HESSIANS[hessian],
    )
    for function in (cost, untraceable)
    for gradient, hessian in [
        ("none", "none"),
        ("euclidean", "none"),
        ("euclidean", "euclidean"),
        ("euclidean", "riemannian"),
        ("riemannian", "none"),
        ("riemannian", "riemannian"),
    ]
    if (function, gradient) != (untraceable, "none")
} | {
    "shared": (Shared(), {}),
    "shared-matrix": (Shared(("value", "gradient", "hessian", "matrix")), {}),
    "shared-gradient-only": (Shared(("value", "gradient")), {}),
}
APPROXIMATE = {
    "traced-riemannian-none",
    "opaque-euclidean-none",
    "opaque-riemannian-none",
    "shared-gradient-only",
}


@pytest.mark.parametrize("manifold", [Sphere(N), pm.Sphere(N)], ids=["riemtr", "pymanopt"])
@pytest.mark.parametrize("way", WAYS)
def test_all_ways_agree(way, manifold):
    function, derivatives = WAYS[way]
    problem = Problem(manifold, function, **derivatives)
    rng = np.random.default_rng(3)
    x = problem.random_point(rng)
    here = problem.at(x)
    v = here.space.random(rng)
    accuracy = 1e-8 if way in APPROXIMATE else 1e-12
    assert here.cost == pytest.approx(untraceable(x), rel=1e-13)
    np.testing.assert_allclose(here.gradient, riemannian_gradient(x), atol=1e-12)
    np.testing.assert_allclose(here.hessian(v), riemannian_hessian(x, v), atol=accuracy * 100)
    assert (here.hessian_kind == "differences") == (way in APPROXIMATE)
    frame = np.array([here.basis.vector(unit) for unit in np.eye(N - 1)]).T
    expected = frame.T @ np.array([riemannian_hessian(x, u) for u in frame.T]).T
    np.testing.assert_allclose(here.hessian_matrix(), expected, atol=accuracy * 100)
    assert riemtr.check_gradient(problem, rng=1).ok
    assert riemtr.check_hessian(problem, rng=1).ok


@pytest.mark.parametrize("way", WAYS)
def test_all_ways_reach_the_same_minimum(way):
    function, derivatives = WAYS[way]
    x = Sphere(N).random_point(7)
    reference = PracticalTRM().solve(Problem(Sphere(N), Shared()), x)
    result = PracticalTRM().solve(Problem(Sphere(N), function, **derivatives), x)
    assert result.certificate.verdict == "minimizer"
    assert result.cost == pytest.approx(reference.cost, abs=1e-10)


class SharedOnStiefel:
    """trace X'AX D, with the ambient Hessian matrix D (x) A in the order of ravel()."""

    matrix = np.diag([1.0, 2.0, 5.0, 7.0])
    weights = np.array([2.0, 1.0])

    def __init__(self, offers_matrix):
        self.offers_matrix = offers_matrix
        self.matrices = 0

    def at(self, x):
        point = type("Point", (), {})()
        point.gradient = 2 * self.matrix @ x * self.weights
        point.value = 0.5 * np.sum(x * point.gradient)
        point.hessian = lambda v: 2 * self.matrix @ v * self.weights
        if self.offers_matrix:
            point.hessian_matrix = self._hessian_matrix
        return point

    def _hessian_matrix(self):
        self.matrices += 1
        return 2 * np.kron(self.matrix, np.diag(self.weights))


@pytest.mark.parametrize("solver", [riemtr.PracticalTRM(), riemtr.ExactTRM(radius=0.3)])
def test_shared_work_with_a_matrix_on_another_manifold(solver):
    manifold = pm.Stiefel(4, 2)
    x = adapt(manifold).random_point(0)
    offering, plain = (Problem(manifold, SharedOnStiefel(offers)) for offers in (True, False))
    np.testing.assert_allclose(
        offering.at(x).hessian_matrix(), plain.at(x).hessian_matrix(), atol=1e-13
    )
    here = offering.at(x)
    here.hessian_matrix()
    here.hessian_matrix()
    assert here.counts.hessian_matrices == 1
    assert here.counts.hessian_products == 0
    result = solver.solve(offering, x)
    assert result.cost == pytest.approx(2 * 1.0 + 1 * 2.0, abs=1e-9)
    assert offering.cost.matrices > 1


def test_a_matrix_is_not_used_where_the_manifold_cannot_convert_it():
    class SquaredNorm:
        def at(self, x):
            point = type("Point", (), {})()
            point.value, point.gradient = float(np.trace(x @ x).real), 2 * x
            point.hessian = lambda v: 2 * v
            point.hessian_matrix = lambda: 2 * np.eye(x.size)
            return point

    class NoHessians(pm.SpecialHermitianPositiveDefinite):
        """With a conversion of its own, which does not take riemtr's."""

        euclidean_to_riemannian_hessian = pm.manifold.Manifold.euclidean_to_riemannian_hessian

    # Of all matrices of determinant 1 the identity has the smallest norm.
    for manifold in (pm.SpecialHermitianPositiveDefinite(2), NoHessians(2)):
        problem = Problem(manifold, SquaredNorm())
        start = problem.random_point(0)
        assert problem.at(start).offers_matrix == (not isinstance(manifold, NoHessians))
        for solver in (riemtr.ExactTRM(radius=0.2), riemtr.PracticalTRM()):
            result = solver.solve(problem, start)
            assert result.converged
            np.testing.assert_allclose(result.point, np.eye(2), atol=1e-6)


def test_product_with_every_kind_of_derivative():
    rng = np.random.default_rng(1)
    matrix = rng.standard_normal((4, 3))
    manifold = pm.Product([Sphere(4), pm.Sphere(3)])
    largest = np.linalg.svd(matrix, compute_uv=False)[0]

    def tangent(q, w):
        return w - (q @ w) * q

    def hessian(u, v, du, dv):
        return [
            tangent(u, -matrix @ dv + (u @ matrix @ v) * du),
            tangent(v, -matrix.T @ du + (u @ matrix @ v) * dv),
        ]

    def gradient(u, v):
        return [tangent(u, -matrix @ v), tangent(v, -matrix.T @ u)]

    ways = [
        {},
        {"euclidean_gradient": lambda u, v: [-matrix @ v, -matrix.T @ u]},
        {
            "euclidean_gradient": lambda u, v: (-matrix @ v, -matrix.T @ u),
            "euclidean_hessian": lambda u, v, du, dv: (-matrix @ dv, -matrix.T @ du),
        },
        {"riemannian_gradient": gradient},
        {"riemannian_gradient": gradient, "riemannian_hessian": hessian},
    ]
    point = adapt(manifold).random_point(rng)
    vector = adapt(manifold).random_tangent_vector(point, rng)
    for way in ways:
        problem = Problem(manifold, lambda u, v: -(u @ matrix @ v), **way)
        here = problem.at(point)
        product = here.space.unpack(here.hessian(here.space.pack(vector)))
        for mine, expected in zip(product, hessian(*point, *vector), strict=True):
            np.testing.assert_allclose(mine, expected, atol=1e-8)
        result = PracticalTRM().solve(problem, rng=2)
        assert result.cost == pytest.approx(-largest, abs=1e-9)


def test_riemannian_gradient_on_a_manifold_of_several_arrays():
    manifold = pm.FixedRankEmbedded(5, 4, 2)
    target = np.random.default_rng(3).standard_normal((5, 4))
    values = np.linalg.svd(target, compute_uv=False)

    def gradient(u, s, vt):
        step = (u * s) @ vt - target
        up = step @ vt.T
        m = u.T @ up
        return up - u @ m, m, step.T @ u - vt.T @ m.T

    problem = Problem(
        manifold,
        lambda u, s, vt: 0.5 * np.sum(((u * s) @ vt - target) ** 2),
        riemannian_gradient=gradient,
    )
    assert riemtr.check_gradient(problem, rng=0).ok
    result = PracticalTRM().solve(problem, rng=0)
    assert result.cost == pytest.approx(0.5 * np.sum(values[2:] ** 2), rel=1e-9)


def test_complex_manifold_smallest_eigenvector():
    rng = np.random.default_rng(4)
    matrix = rng.standard_normal((5, 5)) + 1j * rng.standard_normal((5, 5))
    matrix = matrix + matrix.conj().T
    problem = Problem(
        pm.ComplexGrassmann(5, 2),
        lambda x: anp.real(anp.sum(anp.conj(x) * anp.dot(matrix, x))),
    )
    assert riemtr.check_hessian(problem, rng=0).ok
    result = PracticalTRM().solve(problem, rng=0)
    assert result.cost == pytest.approx(np.linalg.eigvalsh(matrix)[:2].sum(), rel=1e-10)


@pytest.mark.parametrize(
    "opaque",
    [
        lambda x: float(np.linalg.eigvalsh(np.outer(x, x) + np.diag(np.arange(4.0)))[-1]),
        lambda x: float(np.max(np.linalg.svd(np.diag(x + 3.0) + 0.1)[1])),
    ],
)
def test_untraceable_costs_work_once_they_have_a_gradient(opaque):
    def gradient(x, step=1e-6):
        return np.array([(opaque(x + step * e) - opaque(x - step * e)) for e in np.eye(4)]) / (
            2 * step
        )

    with pytest.raises(ValueError, match="pass euclidean_gradient"):
        _ = Problem(Sphere(4), opaque).at(np.ones(4) / 2).gradient
    problem = Problem(Sphere(4), opaque, euclidean_gradient=gradient)
    here = problem.at(Sphere(4).random_point(1))
    assert np.isfinite(here.hessian_matrix()).all()
    assert here.hessian_kind == "differences"
    result = PracticalTRM(tolerance=1e-4).solve(problem, here.point)
    assert result.cost < here.cost


def test_a_gradient_that_autograd_contradicts_is_not_mixed_with_its_hessian():
    # Right on the sphere, where x'x = 1, but another Euclidean gradient than autograd's.
    problem = Problem(
        Sphere(N),
        lambda x: (x @ MATRIX @ x) / (x @ x),
        euclidean_gradient=lambda x: 2 * MATRIX @ x,
    )
    here = problem.at(Sphere(N).random_point(0))
    v = Sphere(N).random_tangent_vector(here.point, 1)
    expected = projector(here.point) @ (2 * MATRIX @ v - 2 * (here.point @ MATRIX @ here.point) * v)
    np.testing.assert_allclose(here.hessian(v), expected, atol=1e-7)


def test_autograd_stays_trusted_where_both_gradients_are_rounding():
    rng = np.random.default_rng(5)
    matrix, target = rng.standard_normal((8, 3)), rng.standard_normal(8)
    solution = np.linalg.lstsq(matrix, target, rcond=None)[0]
    problem = Problem(
        pm.Euclidean(3),
        lambda x: 0.5 * anp.sum((matrix @ x - target) ** 2),
        euclidean_gradient=lambda x: matrix.T @ (matrix @ x) - matrix.T @ target,
    )
    problem.at(np.ones(3)).hessian(np.ones(3))
    there = problem.at(solution)
    np.testing.assert_allclose(there.hessian(np.ones(3)), matrix.T @ (matrix @ np.ones(3)))
    assert there.hessian_kind == "euclidean"


def test_preconditioner_is_used():
    scales = np.geomspace(1.0, 1e4, 30)
    calls = []

    def preconditioner(point, vector):
        calls.append(1)
        return vector / scales

    def quadratic(**options):
        return Problem(
            pm.Euclidean(30),
            lambda x: 0.5 * float(np.sum(scales * x**2)),
            euclidean_gradient=lambda x: scales * x,
            euclidean_hessian=lambda x, v: scales * v,
            **options,
        )

    start = np.ones(30)
    solver = riemtr.TrustRegion(radius=riemtr.AdaptiveRadius(), tolerance=1e-8)
    helped = solver.solve(quadratic(preconditioner=preconditioner), start)
    alone = solver.solve(quadratic(), start)
    assert calls
    assert helped.converged
    assert helped.counts.hessian_products < alone.counts.hessian_products
    np.testing.assert_allclose(helped.point, 0.0, atol=1e-8)


def test_points_of_integers_and_lists_are_floats():
    problem = Problem(Sphere(N), Shared())
    unit = [0, 1] + (N - 2) * [0]
    reference = problem.at(np.array(unit, dtype=float))
    for point in (unit, np.array(unit), tuple(unit)):
        here = problem.at(point)
        assert here.gradient_norm == reference.gradient_norm
        np.testing.assert_array_equal(here.hessian_matrix(), reference.hessian_matrix())


def test_counts_are_the_callers():
    problem, counts = Problem(Sphere(N), Shared()), Counts()
    for seed in range(3):
        _ = problem.at(Sphere(N).random_point(seed), counts).cost
    assert counts.as_dict() == {
        "costs": 3,
        "gradients": 0,
        "hessian_products": 0,
        "hessian_matrices": 0,
    }


def test_easier_versions_come_from_the_cost():
    class Homotopy(Shared):
        def easier(self):
            yield Shared(), 0.5
            yield Shared(), 0.25

    def preconditioner(point, vector):
        return vector

    problem = Problem(Sphere(N), Homotopy(), preconditioner=preconditioner)
    stages = list(problem.easier())
    assert [tolerance for _, tolerance in stages] == [0.5, 0.25]
    assert all(stage.manifold is problem.manifold for stage, _ in stages)
    assert all(stage.preconditioner is preconditioner for stage, _ in stages)
    assert list(Problem(Sphere(N), Shared()).easier()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            GRADIENTS["euclidean"] | GRADIENTS["riemannian"],
            "pass euclidean_gradient or riemannian_gradient, not both",
        ),
        (
            HESSIANS["euclidean"] | HESSIANS["riemannian"],
            "pass euclidean_hessian or riemannian_hessian, not both",
        ),
        (HESSIANS["euclidean"], "a Hessian without a gradient is not used; pass the gradient"),
        (HESSIANS["riemannian"], "a Hessian without a gradient is not used; pass the gradient"),
        (
            GRADIENTS["riemannian"] | HESSIANS["euclidean"],
            "euclidean_hessian needs euclidean_gradient .* pass it, or pass riemannian_hessian",
        ),
        ({"euclidean_gradient": 3}, "euclidean_gradient must be callable.*got int: pass"),
        ({"riemannian_gradient": 0}, "riemannian_gradient must be callable.*got int"),
        (
            GRADIENTS["euclidean"] | {"euclidean_hessian": MATRIX},
            "euclidean_hessian must be callable.*got ndarray",
        ),
        ({"preconditioner": MATRIX}, "preconditioner must be callable.*got ndarray"),
    ],
)
def test_wrong_derivatives_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Problem(Sphere(N), cost, **options)


@pytest.mark.parametrize(
    ("manifold", "message"),
    [
        (N, "manifold must offer pymanopt's manifold methods, as riemtr.Sphere.* int lacks dim"),
        (Sphere, "manifold must be an instance; got the class Sphere: call it"),
        (None, "NoneType lacks"),
    ],
)
def test_wrong_manifolds_are_refused(manifold, message):
    with pytest.raises(ValueError, match=message):
        Problem(manifold, cost)


def test_wrong_costs_are_refused():
    with pytest.raises(ValueError, match=r"cost must be a callable or an object .*got ndarray"):
        Problem(Sphere(N), MATRIX)
    with pytest.raises(ValueError, match=r"a cost with at\(point\) brings its own derivatives"):
        Problem(Sphere(N), Shared(), euclidean_gradient=euclidean_gradient)


@pytest.mark.parametrize("wrong", [None, cost, Sphere(3), 1.0])
def test_what_is_no_problem_is_refused(wrong):
    with pytest.raises(TypeError, match=r"riemtr.Problem or a pymanopt.Problem.*Build one with"):
        as_problem(wrong)
    with pytest.raises(TypeError, match="Build one with"):
        PracticalTRM().solve(wrong)


def test_repr_names_the_manifold():
    assert repr(Problem(Sphere(N), cost)) == "Problem(Sphere(6), cost=AutogradCost)"


class ComplexSteps:
    """A backend of our own: first derivatives by complex steps, second ones by differences."""

    def __init__(self, cost, layout):
        assert layout == 1
        self.cost = cost

    def at(self, point):
        return ComplexStepsPoint(self.cost, point)


class ComplexStepsPoint:
    def __init__(self, cost, point):
        self.value = cost(point)
        self.gradient = self._gradient(cost, point)
        self.hessian = lambda v: (
            (self._gradient(cost, point + 1e-6 * v) - self._gradient(cost, point - 1e-6 * v)) / 2e-6
        )

    @staticmethod
    def _gradient(cost, point):
        return np.array([cost(point + 1e-30j * unit).imag / 1e-30 for unit in np.eye(len(point))])


def test_another_backend_differentiates():
    """The cost is one that autograd cannot trace."""
    matrix = np.diag([1.0, 2.0, 3.0, 4.0])

    def cost(x):
        return sum(float(row[i]) * x[i] ** 2 for i, row in enumerate(matrix))

    sphere = riemtr.Sphere(4)
    problem = riemtr.Problem(sphere, cost, autodiff=ComplexSteps)
    result = riemtr.PracticalTRM().solve(problem, start=np.eye(4)[2])
    assert result.certificate.verdict == "minimizer"
    assert result.cost == pytest.approx(1.0, abs=1e-10)
    assert "by differences" not in repr(problem)
    # Where a gradient is given, the backend is asked for the Hessian alone.
    given = riemtr.Problem(
        sphere, cost, euclidean_gradient=lambda x: 2.0 * matrix @ x, autodiff=ComplexSteps
    )
    here = given.at(sphere.random_point(0))
    v = here.tangent(np.arange(4.0))
    exact = here.tangent(2.0 * matrix @ v - 2.0 * here.cost * v)
    np.testing.assert_allclose(here.hessian(v), exact, atol=1e-8)
    assert here.hessian_kind == "euclidean"


def test_differences_are_told():
    problem = riemtr.Problem(
        riemtr.Sphere(3),
        lambda x: float(x[0]),
        riemannian_gradient=lambda x: np.eye(3)[0] - x[0] * x,
    )
    assert repr(problem).endswith("Hessian by differences)")
    assert "(by differences of gradients)" in repr(riemtr.PracticalTRM().solve(problem, rng=0))


def test_a_class_is_no_cost():
    class Cost:
        def at(self, point):
            return point

    with pytest.raises(ValueError, match="cost must be an instance; got the class Cost"):
        riemtr.Problem(riemtr.Sphere(3), Cost)


def test_functions_take_the_arrays_of_a_point():
    pair = pm.Product([riemtr.Sphere(3), riemtr.Sphere(3)])
    with pytest.raises(ValueError, match=r"cost must take 2 arguments, .*; it takes \(x\)"):
        riemtr.Problem(pair, lambda x: x[0] @ x[1])
    with pytest.raises(ValueError, match=r"the gradient must take 1 argument, the point of"):
        riemtr.Problem(riemtr.Sphere(3), lambda x: x[0], euclidean_gradient=lambda x, y: x)
    assert riemtr.Problem(riemtr.Sphere(3), np.linalg.norm)  # optional ones do no harm


def test_a_complex_cost_is_refused():
    circle = pm.ComplexCircle(3)
    point = circle.random_point()
    matrix = np.diag([1.0, 2.0, 3.0]) + 1j
    with pytest.raises(ValueError, match="is a conjugate missing"):
        riemtr.Problem(circle, lambda x: x @ matrix @ x).at(point).cost  # noqa: B018
    hermitian = matrix + matrix.conj().T
    problem = riemtr.Problem(circle, lambda x: anp.conj(x) @ hermitian @ x)
    assert isinstance(problem.at(point).cost, float)


def test_methods_in_place_of_attributes_are_named():
    class Point:
        def value(self):
            return 0.0

    class Cost:
        def at(self, point):
            return Point()

    with pytest.raises(ValueError, match="attributes or properties, not methods"):
        riemtr.Problem(riemtr.Sphere(3), Cost()).at(np.eye(3)[0]).cost  # noqa: B018


@pytest.mark.parametrize(
    ("cost", "gradient", "point"),
    [
        (lambda x: anp.sum(x**1.5 - x), lambda x: 1.5 * x**0.5 - 1.0, 2.0),  # off its domain
        (
            lambda x: anp.sum(anp.where(x > 3, (x - 5) ** 2, 4.0)),
            lambda x: np.where(x > 3, 2 * (x - 5), 0.0),
            4.0,
        ),
    ],
)
def test_a_trace_that_cannot_be_told_anywhere_is_told_where_one_is(cost, gradient, point):
    problem = Problem(pm.Euclidean(3), cost, euclidean_gradient=gradient)
    here = problem.at(np.full(3, point))
    here.hessian(np.ones(3))
    assert here.hessian_kind == "euclidean"
    assert here.counts.gradients <= 1


def test_a_solve_does_not_depend_on_the_one_before():
    from autograd.extend import defvjp, primitive

    @primitive
    def exponentials(x):
        return np.sum(np.exp(x))

    # Differentiable once: its derivative is plain numpy's.
    defvjp(exponentials, lambda ans, x: lambda g: g * np.exp(np.asarray(x, dtype=float)))

    def cost(x):
        plain = x
        while hasattr(plain, "_value"):
            plain = plain._value
        traced = anp.sum(anp.exp(x)) if plain.max() > 0.5 else exponentials(x)
        return anp.sum(np.arange(1.0, 4.0) * x**2) + traced

    problem = riemtr.Problem(pm.Euclidean(3), cost)
    first, second = (
        riemtr.PracticalTRM().solve(problem, np.array([3.0, 2.0, 1.0])) for _ in range(2)
    )
    assert riemtr.certify(problem, first.point).min_eigenvalue > 0.0
    assert first.counts == second.counts
    np.testing.assert_array_equal(first.point, second.point)


@pytest.mark.parametrize(
    ("preconditioner", "message"),
    [
        (lambda x, v: v[:2], r"must have the shape of the vector, \(6,\); it has \(2,\)"),
        (lambda x, v: None, r"must have the shape of the vector, \(6,\); it has \(\)"),
    ],
)
def test_results_of_a_preconditioner_have_the_shape_of_vectors(preconditioner, message):
    problem = Problem(Sphere(N), cost, preconditioner=preconditioner)
    with pytest.raises(ValueError, match=rf"preconditioner\(point, vector\) {message}"):
        PracticalTRM().solve(problem, rng=0)


def test_results_of_a_preconditioner_on_products():
    pair = pm.Product([Sphere(N), Sphere(3)])

    def solve(preconditioner):
        problem = Problem(pair, lambda x, y: cost(x) + y[0], preconditioner=preconditioner)
        return PracticalTRM().solve(problem, rng=0)

    plain, halved = solve(None), solve(lambda point, vector: [0.5 * part for part in vector])
    assert halved.cost == pytest.approx(plain.cost, abs=1e-10)
    with pytest.raises(ValueError, match="must have 2 parts, as the vector has; it has 1"):
        solve(lambda point, vector: [vector[0]])
    with pytest.raises(ValueError, match=r"must have 2 parts.*an array of shape \(6,\)"):
        solve(lambda point, vector: vector[0])
    with pytest.raises(ValueError, match=r"\[1\] must have the shape of the vector, \(3,\)"):
        solve(lambda point, vector: [vector[0], vector[1][:2]])


class Circles:
    """Unit rows in the plane, with the methods that every manifold must have and no more."""

    dim = 3

    def inner_product(self, point, a, b):
        return np.sum(a * b)

    def norm(self, point, vector):
        return np.sqrt(np.sum(vector**2))

    def projection(self, point, vector):
        return vector - np.sum(point * vector, axis=1, keepdims=True) * point

    def retraction(self, point, vector):
        moved = point + vector
        return moved / np.linalg.norm(moved, axis=1, keepdims=True)

    def zero_vector(self, point):
        return np.zeros_like(point)

    def random_point(self, rng=None):
        return self.retraction(0.0, rng.standard_normal((3, 2)))

    def random_tangent_vector(self, point, rng=None):
        vector = self.projection(point, rng.standard_normal(point.shape))
        return vector / self.norm(point, vector)


class CirclesInSpace(pm.manifold.RiemannianSubmanifold):
    """The same as a submanifold, which has neither a transport nor a Weingarten map."""

    def __init__(self):
        super().__init__("Circles", 3)

    inner_product, norm, projection = Circles.inner_product, Circles.norm, Circles.projection
    retraction, zero_vector = Circles.retraction, Circles.zero_vector
    random_point, random_tangent_vector = Circles.random_point, Circles.random_tangent_vector


class CirclesThatCarry(Circles):
    """The same with what differences of Euclidean gradients need."""

    def euclidean_to_riemannian_gradient(self, point, euclidean_gradient):
        return self.projection(point, euclidean_gradient)

    def transport(self, point_a, point_b, vector):
        return self.projection(point_b, vector)


class CirclesThatConvert(CirclesThatCarry):
    """The same with its Weingarten map, and no transport that it would need."""

    transport = pm.manifold.Manifold.transport

    def euclidean_to_riemannian_hessian(self, point, gradient, product, vector):
        along = np.sum(point * gradient, axis=1, keepdims=True)
        return self.projection(point, product - along * vector)


def rows_cost(x):
    return cost(anp.reshape(x, N))


@pytest.mark.parametrize("kind", [CirclesInSpace, CirclesThatCarry, CirclesThatConvert])
def test_manifolds_of_the_users_own(kind):
    manifold = kind()
    problem, known = (
        Problem(manifold, rows_cost),
        Problem(pm.Oblique(2, 3), lambda x: rows_cost(x.T)),
    )
    point = problem.random_point(0)
    v = problem.at(point).space.random(np.random.default_rng(1))
    product = known.at(point.T).hessian(v.T).T
    np.testing.assert_allclose(problem.at(point).hessian(v), product, atol=1e-7)
    for solver in (PracticalTRM(), riemtr.ExactTRM(radius=0.3)):
        result = solver.solve(problem, point)
        assert result.certificate.verdict == "minimizer"
        assert result.cost == pytest.approx(solver.solve(known, point.T).cost, abs=1e-9)
    assert riemtr.check_gradient(problem, rng=0).ok
    if kind is not CirclesThatConvert:
        assert riemtr.check_hessian(problem, rng=0).ok


def rows_gradient(x):
    return Circles().projection(x, euclidean_gradient(x.ravel()).reshape(x.shape))


@pytest.mark.parametrize(
    ("given", "lacks"),
    [
        (
            {},
            r"euclidean_to_riemannian_gradient \(for Euclidean gradients\), "
            r"transport \(for Hessians by differences\): derive it",
        ),
        ({"riemannian_gradient": rows_gradient}, r"transport \(for Hessians by differences\): "),
        (
            {"euclidean_gradient": rows_gradient, "riemannian_hessian": lambda x, v: v},
            r"euclidean_to_riemannian_gradient \(for Euclidean gradients\): ",
        ),
    ],
)
def test_all_that_a_manifold_lacks_is_named_at_once(given, lacks):
    with pytest.raises(ValueError, match=f"Circles lacks {lacks}"):
        Problem(Circles(), rows_cost, **given)


def test_with_riemannian_derivatives_a_manifold_needs_no_more():
    converting = CirclesThatConvert()
    twin = Problem(converting, rows_cost)
    problem = Problem(
        Circles(),
        rows_cost,
        riemannian_gradient=rows_gradient,
        riemannian_hessian=lambda x, v: twin.at(x).hessian(v),
    )
    assert PracticalTRM().solve(problem, rng=0).certificate.verdict == "minimizer"
    with pytest.raises(NotImplementedError, match=r"Circles lacks transport.*to check one: add it"):
        riemtr.check_hessian(problem, rng=0)


def test_what_pymanopt_says_is_not_implemented_is_missing():
    class Stuck(CirclesInSpace):
        retraction = pm.manifold.Manifold.retraction

    with pytest.raises(ValueError, match=r"Stuck lacks retraction$"):
        Problem(Stuck(), rows_cost)
    with pytest.raises(ValueError, match=r"Product lacks retraction$"):
        Problem(pm.Product([Stuck(), Sphere(2)]), lambda x, y: rows_cost(x))


def test_a_dimension_is_a_number():
    class Method(CirclesThatCarry):
        def dim(self):
            return 3

    with pytest.raises(ValueError, match=r"dim of a manifold must be an integer; .*a property"):
        Problem(Method(), rows_cost)


def test_gradients_by_the_matrix_on_fixed_rank_get_told_their_form():
    manifold = pm.FixedRankEmbedded(6, 5, 2)
    target = np.random.default_rng(0).standard_normal((6, 5))

    def problem(**gradient):
        return Problem(
            manifold, lambda u, s, vt: 0.5 * np.sum(((u * s) @ vt - target) ** 2), **gradient
        )

    def by_matrix(u, s, vt):
        return (u * s) @ vt - target

    point = adapt(manifold).random_point(1)
    hints = {
        "euclidean_gradient": "G @ vt.T * s, np.diag(u.T @ G @ vt.T) and (u * s).T @ G",
        "riemannian_gradient": "G @ vt.T - u @ M, M = u.T @ G @ vt.T and G.T @ u - vt.T @ M.T",
    }
    for name, hint in hints.items():
        with pytest.raises(ValueError, match=r"must have 3 parts.*shape \(6, 5\)") as caught:
            _ = problem(**{name: by_matrix}).at(point).gradient
        assert str(caught.value).endswith(hint)

    def euclidean(u, s, vt):
        G = by_matrix(u, s, vt)
        return G @ vt.T * s, np.diag(u.T @ G @ vt.T), (u * s).T @ G

    def riemannian(u, s, vt):
        G = by_matrix(u, s, vt)
        M = u.T @ G @ vt.T
        return G @ vt.T - u @ M, M, G.T @ u - vt.T @ M.T

    assert riemtr.check_gradient(problem(euclidean_gradient=euclidean), point, rng=0).ok
    assert riemtr.check_gradient(problem(riemannian_gradient=riemannian), point, rng=0).ok
    pair = Problem(
        pm.Product([manifold, Sphere(2)]),
        lambda u, s, vt, y: 0.0,
        euclidean_gradient=lambda u, s, vt, y: (by_matrix(u, s, vt), y),
    )
    with pytest.raises(ValueError, match=r"must have 4 arrays.*; got 2 \(.* factors have 3, 1\)"):
        _ = pair.at(pair.random_point(0)).gradient


def test_riemannian_hessian_products_have_the_shape_of_vectors():
    wrong = Problem(
        pm.Sphere(N),
        cost,
        riemannian_gradient=riemannian_gradient,
        riemannian_hessian=lambda x, v: riemannian_hessian(x, v)[:2],
    )
    here = wrong.at(wrong.random_point(0))
    with pytest.raises(ValueError, match="Hessian product must have the shape of the vector"):
        here.hessian(here.gradient)
