"""Many small problems at once: closed forms, the same optima as one by one, certificates."""

import os
import signal
import time

import autograd.numpy as anp
import numpy as np
import pytest

import riemtr
from riemtr.errors import NonFiniteCostError


def symmetric(seed, count, n):
    matrices = np.random.default_rng(seed).standard_normal((count, n, n))
    return matrices + matrices.swapaxes(1, 2)


def image(x, a):
    return np.einsum("kij,kj->ki", a, x)


def rayleigh(matrices, **options):
    return riemtr.solve_many(
        riemtr.Sphere(matrices.shape[-1]),
        lambda x, a: np.einsum("ki,ki->k", x, image(x, a)),
        matrices,
        euclidean_gradient=lambda x, a: 2.0 * image(x, a),
        euclidean_hessian=lambda x, v, a: 2.0 * image(v, a),
        **options,
    )


def test_smallest_eigenvalues():
    matrices = symmetric(0, 5000, 10)  # in several portions
    found = rayleigh(matrices)
    values = np.linalg.eigvalsh(matrices)
    np.testing.assert_allclose(found.costs, values[:, 0], atol=1e-10)
    assert found.certified.all()
    assert found.strict.all()
    np.testing.assert_allclose(np.linalg.norm(found.points, axis=1), 1.0, atol=1e-14)
    # The smallest eigenvalue of the Hessian is twice the gap to the next eigenvalue.
    gaps = 2.0 * (values[:, 1] - values[:, 0])
    np.testing.assert_allclose(found.min_eigenvalues, gaps, atol=1e-4)
    assert (found.min_eigenvalues - found.error_bounds <= gaps + 1e-4).all()
    assert found.counts.gradients < 5000 * 15


def test_the_same_optima_as_one_by_one():
    rng = np.random.default_rng(1)
    weights = rng.uniform(0.5, 2.0, (30, 5))
    starts = riemtr.Sphere(5).random_points(rng, 30)
    together = riemtr.solve_many(
        riemtr.Sphere(5), lambda x, w: -anp.sum(w * x**4, axis=1), weights, starts=starts
    )
    assert together.certified.all()
    for number, start in enumerate(starts):
        problem = riemtr.Problem(riemtr.Sphere(5), lambda x, w=weights[number]: -anp.sum(w * x**4))
        alone = riemtr.PracticalTRM().solve(problem, start)
        # It has several minima: the same one is reached from the same start, or else another one
        # that is certified as well.
        own = riemtr.certify(problem, together.points[number])
        assert own.verdict == alone.certificate.verdict == "minimizer"
        assert own.min_eigenvalue == pytest.approx(together.min_eigenvalues[number], rel=1e-4)
        assert np.abs(together.costs[number] + weights[number]).min() < 1e-9


def test_rotations_against_the_closed_form():
    # Wahba's problem: the rotation nearest to a matrix, by its singular value decomposition.
    targets = np.random.default_rng(2).standard_normal((500, 3, 3))
    found = riemtr.solve_many(
        riemtr.Rotations(3),
        lambda r, m: -np.einsum("kij,kij->k", r, m),
        targets,
        euclidean_gradient=lambda r, m: -m,
        euclidean_hessian=lambda r, v, m: np.zeros_like(v),
    )
    values, signs = np.linalg.svd(targets, compute_uv=False), np.sign(np.linalg.det(targets))
    best = values[:, 0] + values[:, 1] + signs * values[:, 2]
    assert found.certified.all()
    np.testing.assert_allclose(found.costs, -best, atol=1e-9)
    np.testing.assert_allclose(np.linalg.det(found.points), 1.0)


def test_positive_definite_matrices_against_the_closed_form():
    factors = np.random.default_rng(3).standard_normal((300, 3, 6))
    samples = factors @ factors.swapaxes(1, 2) / 6.0

    def gradient(x, s):
        inverse = np.linalg.inv(x)
        return inverse - inverse @ s @ inverse

    def hessian(x, v, s):
        inverse = np.linalg.inv(x)
        change = inverse @ v @ inverse
        twice = change @ s @ inverse
        return twice + twice.swapaxes(1, 2) - change

    found = riemtr.solve_many(
        riemtr.PositiveDefinite(3),
        lambda x, s: np.linalg.slogdet(x)[1] + np.einsum("kij,kji->k", np.linalg.inv(x), s),
        [samples],
        euclidean_gradient=gradient,
        euclidean_hessian=hessian,
    )
    assert found.certified.all()
    assert found.strict.all()
    np.testing.assert_allclose(found.points, samples, rtol=1e-4, atol=1e-5)


def test_frames_and_subspaces():
    matrices, weights = symmetric(4, 40, 6), np.array([2.0, 1.0])
    values = np.linalg.eigvalsh(matrices)
    frames = riemtr.solve_many(
        riemtr.Stiefel(6, 2),
        lambda x, a: np.einsum("kij,kij->k", x, a @ x * weights),
        matrices,
        euclidean_gradient=lambda x, a: 2.0 * (a @ x) * weights,
        euclidean_hessian=lambda x, v, a: 2.0 * (a @ v) * weights,
    )
    np.testing.assert_allclose(frames.costs, values[:, :2] @ weights, atol=1e-9)
    assert frames.certified.all()
    assert frames.strict.all()
    subspaces = riemtr.solve_many(
        riemtr.Grassmann(6, 2), lambda x, a: anp.sum(x * anp.matmul(a, x), axis=(1, 2)), matrices
    )
    np.testing.assert_allclose(subspaces.costs, values[:, :2].sum(axis=1), atol=1e-9)
    assert subspaces.strict.all()


def test_starts_at_saddles_and_maximizers_are_left():
    matrices = symmetric(5, 200, 6)
    values, vectors = np.linalg.eigh(matrices)
    for which in (1, 5):
        critical = vectors[:, :, which]
        stayed = rayleigh(matrices, starts=critical, max_iterations=0)
        assert set(stayed.verdicts) == {"maximizer" if which == 5 else "saddle"}
        found = rayleigh(matrices, starts=critical)
        assert found.certified.all()
        np.testing.assert_allclose(found.costs, values[:, 0], atol=1e-9)
        assert (found.iterations > 0).all()


def test_flat_minima_are_not_strict():
    matrices = np.broadcast_to(np.diag([1.0, 1.0, 2.0]), (5, 3, 3))
    found = rayleigh(matrices)
    assert found.certified.all()
    assert not found.strict.any()


def test_euclidean_space_and_numbers_of_problems_without_data():
    found = riemtr.solve_many(
        riemtr.Euclidean(2), lambda x: anp.sum((x**2 - 1.0) ** 2, axis=1), starts=50
    )
    np.testing.assert_allclose(np.abs(found.points), 1.0, atol=1e-6)
    assert found.certified.all()
    beside = np.zeros((3, 2))  # a maximizer of all of them
    assert riemtr.solve_many(
        riemtr.Euclidean(2), lambda x: anp.sum((x**2 - 1.0) ** 2, axis=1), starts=beside
    ).certified.all()


def test_derivatives_that_the_cost_contradicts_certify_nothing():
    matrices = symmetric(6, 20, 5)
    found = riemtr.solve_many(
        riemtr.Sphere(5),
        lambda x, a: np.einsum("ki,ki->k", x, image(x, a)) + 3.0 * x[:, 0],
        matrices,
        euclidean_gradient=lambda x, a: 2.0 * image(x, a),
        euclidean_hessian=lambda x, v, a: 2.0 * image(v, a),
        starts=np.linalg.eigh(matrices)[1][:, :, 0],
    )
    assert not found.certified.any()
    assert set(found.verdicts) <= {"unresolved", "not-critical"}


def test_runs_out_of_iterations():
    found = rayleigh(symmetric(7, 10, 8), max_iterations=1)
    assert set(found.verdicts) == {"not-critical"}
    assert np.isnan(found.min_eigenvalues).all()
    assert (found.iterations == 1).all()
    assert "10 problems on Sphere(8): 0 certified minimizers" in repr(found)


def test_a_cost_that_is_not_finite_somewhere_has_its_steps_rejected():
    found = riemtr.solve_many(
        riemtr.Euclidean(1),
        lambda x: np.where(x[:, 0] > 0, x[:, 0] - np.log(np.abs(x[:, 0])), np.nan),
        euclidean_gradient=lambda x: 1.0 - 1.0 / x,
        euclidean_hessian=lambda x, v: v / x**2,
        starts=np.array([[0.1], [1.0], [30.0]]),
    )
    np.testing.assert_allclose(found.points, 1.0, atol=1e-6)
    with pytest.raises(NonFiniteCostError, match="not finite at any of the starts"):
        riemtr.solve_many(riemtr.Euclidean(1), lambda x: anp.log(x[:, 0]) * anp.nan, starts=2)


def names(found):
    return [status.name for status in found.statuses]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_problem_that_is_not_finite_takes_no_other_along(bad):
    matrices = symmetric(11, 64, 5)
    starts = riemtr.Sphere(5).random_points(np.random.default_rng(0), 64)
    whole = rayleigh(matrices, starts=starts)
    spoilt = matrices.copy()
    spoilt[[3, 40, 63]] = bad
    found = rayleigh(spoilt, starts=starts)
    sound = np.ones(64, dtype=bool)
    sound[[3, 40, 63]] = False
    assert [name == "NOT_FINITE" for name in names(found)] == (~sound).tolist()
    assert found.certified[sound].all()
    assert found.converged.tolist() == sound.tolist()
    np.testing.assert_array_equal(found.points[sound], whole.points[sound])
    np.testing.assert_array_equal(found.points[~sound], starts[~sound])
    assert not found.certified[~sound].any()
    assert "not_finite" in repr(found)


def test_an_unbounded_problem_is_recognised_among_others():
    signs = np.array([1.0, -1.0, 1.0, -1.0, 0.5])
    found = riemtr.solve_many(
        riemtr.Euclidean(3), lambda x, s: anp.sum(s[:, None] * (x**2 + x), axis=1), signs
    )
    assert names(found) == ["CONVERGED", "UNBOUNDED", "CONVERGED", "UNBOUNDED", "CONVERGED"]
    np.testing.assert_allclose(found.points[signs > 0.0], -0.5, atol=1e-6)
    assert (found.costs[signs < 0.0] < -1e30).all()


def test_a_problem_that_raises_is_one_that_is_not_finite():
    # numpy's inverse and Cholesky factor of a stack raise if one matrix is singular.
    factors = np.random.default_rng(12).standard_normal((6, 3, 5))
    data = factors @ factors.swapaxes(1, 2)
    data[2] = -np.eye(3)

    def cost(x, a):
        lower = np.linalg.cholesky(a)
        return 0.5 * np.einsum("kij,kj->ki", lower.swapaxes(1, 2), x) ** 2 @ np.ones(3)

    found = riemtr.solve_many(
        riemtr.Euclidean(3),
        cost,
        data,
        euclidean_gradient=lambda x, a: image(x, a),
        euclidean_hessian=lambda x, v, a: image(v, a),
    )
    assert names(found) == ["CONVERGED"] * 2 + ["NOT_FINITE"] + ["CONVERGED"] * 3
    data[:] = -np.eye(3)
    with pytest.raises(np.linalg.LinAlgError):
        riemtr.solve_many(riemtr.Euclidean(3), cost, data, euclidean_gradient=image)


def test_hessians_that_are_not_finite_leave_their_problems_unresolved():
    scales = np.array([1.0, np.nan, 2.0])
    found = riemtr.solve_many(
        riemtr.Euclidean(2),
        lambda x: np.sum(x**2, axis=1),
        starts=np.zeros((3, 2)),
        euclidean_gradient=lambda x: 2.0 * x,
        euclidean_hessian=lambda x, v: scales[: len(x), None] * v / scales[: len(x), None] * 2.0,
    )
    assert names(found) == ["CONVERGED", "UNRESOLVED", "CONVERGED"]
    assert np.isnan(found.min_eigenvalues).tolist() == [False, True, False]


def test_the_goal_of_first_order_looks_at_no_curvature():
    matrices = symmetric(13, 30, 6)
    critical = np.linalg.eigh(matrices)[1][:, :, 3]  # saddles
    found = rayleigh(matrices, starts=critical, goal="first-order")
    assert set(names(found)) == {"FIRST_ORDER"}
    assert found.converged.all()
    assert not found.certified.any()
    assert set(found.verdicts) == {"unresolved"}
    assert found.counts.hessian_products == 0
    moved = rayleigh(matrices, goal="first-order")
    assert moved.converged.all()
    second = rayleigh(matrices)
    assert set(names(second)) == {"CONVERGED"}
    assert moved.counts.hessian_products < second.counts.hessian_products


def test_the_end_of_the_time_leaves_each_problem_a_status():
    matrices = symmetric(14, 4500, 6)  # three portions
    found = rayleigh(matrices, max_seconds=0.0)
    assert set(names(found)) == {"MAX_SECONDS"}
    assert np.isfinite(found.costs[:2000]).all()  # of those that were begun
    assert np.isnan(found.costs[2000:]).all()
    assert "max_seconds" in repr(found)

    # Slow calls: some end before others.
    def slow(x, a):
        time.sleep(0.02)
        return np.einsum("ki,ki->k", x, image(x, a))

    some = riemtr.solve_many(
        riemtr.Sphere(6),
        slow,
        matrices[:200],
        euclidean_gradient=lambda x, a: 2.0 * image(x, a),
        euclidean_hessian=lambda x, v, a: 2.0 * image(v, a),
        max_seconds=0.1,
    )
    assert "MAX_SECONDS" in names(some)
    assert np.isfinite(some.costs).all()
    exact = np.einsum("ki,ki->k", some.points, image(some.points, matrices[:200]))
    np.testing.assert_allclose(some.costs, exact, atol=1e-12)


@pytest.mark.parametrize("call", [2, 5, 9, 14])
@pytest.mark.parametrize("real", [False, True])
def test_an_interruption_keeps_what_was_reached(call, real):
    matrices, calls = symmetric(15, 300, 6), 0

    def cost(x, a):
        nonlocal calls
        calls += 1
        if calls == call and real:
            os.kill(os.getpid(), signal.SIGINT)
        elif calls == call:
            raise KeyboardInterrupt
        return np.einsum("ki,ki->k", x, image(x, a))

    found = riemtr.solve_many(
        riemtr.Sphere(6),
        cost,
        matrices,
        euclidean_gradient=lambda x, a: 2.0 * image(x, a),
        euclidean_hessian=lambda x, v, a: 2.0 * image(v, a),
    )
    left = np.array(names(found)) == "INTERRUPTED"
    assert left.any()
    assert found.converged[~left].all()
    # Costs, gradients and points belong together.
    np.testing.assert_allclose(
        found.costs, np.einsum("ki,ki->k", found.points, image(found.points, matrices)), atol=1e-12
    )
    ambient = 2.0 * image(found.points, matrices)
    tangent = ambient - np.einsum("ki,ki->k", ambient, found.points)[:, None] * found.points
    np.testing.assert_allclose(
        found.gradient_norms, np.linalg.norm(tangent, axis=1), rtol=1e-6, atol=1e-12
    )
    exact = np.linalg.eigvalsh(matrices)[:, 0]
    np.testing.assert_allclose(found.costs[~left], exact[~left], atol=1e-9)
    assert "interrupted" in repr(found)


def test_an_interruption_before_anything_is_known_is_raised():
    def cost(x, a):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        riemtr.solve_many(
            riemtr.Sphere(3),
            cost,
            np.ones((2, 3)),
            euclidean_gradient=lambda x, a: a,
        )


def test_out_of_iterations_beside_problems_that_have_ended():
    matrices = symmetric(16, 40, 5)
    starts = riemtr.Sphere(5).random_points(np.random.default_rng(1), 40)
    starts[:10] = np.linalg.eigh(matrices[:10])[1][:, :, 0]
    found = rayleigh(matrices, starts=starts, max_iterations=1)
    assert names(found) == ["CONVERGED"] * 10 + ["MAX_ITERATIONS"] * 30


def test_progress():
    seen = []
    rayleigh(symmetric(17, 2500, 5), progress=seen.append)
    done = [one.done for one in seen]
    assert done == sorted(done)
    assert done[-1] == 2500
    assert {(one.stage, one.total) for one in seen} == {("solving", 2500)}


def test_scale_of_a_cost_does_not_matter():
    matrices = symmetric(8, 50, 6)
    plain, small = rayleigh(matrices), rayleigh(2.0**-60 * matrices)
    np.testing.assert_array_equal(plain.points, small.points)
    assert small.certified.all()


def test_single_precision():
    matrices = symmetric(9, 50, 6).astype(np.float32)
    starts = riemtr.Sphere(6).random_points(0, 50).astype(np.float32)
    found = rayleigh(matrices, starts=starts)
    assert found.points.dtype == np.float32
    np.testing.assert_allclose(found.costs, np.linalg.eigvalsh(matrices)[:, 0], atol=1e-4)
    assert found.certified.all()


def test_the_same_seed_gives_the_same_bits():
    matrices = symmetric(10, 30, 4)
    first, second = rayleigh(matrices, rng=5), rayleigh(matrices, rng=5)
    assert first.points.tobytes() == second.points.tobytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"manifold": riemtr.FixedRank(4, 3, 2)}, "manifold must be one whose points stack"),
        ({"manifold": riemtr.Oblique(3, 2)}, "manifold must be one whose points stack"),
        ({"starts": 0}, "starts must be the number of problems"),
        ({"starts": 3}, "starts must be the number of problems"),
        ({"starts": np.ones((2, 4))}, r"starts must have the shape \(2, 3\)"),
        ({"starts": np.ones((2, 3))}, r"starts\[0\] must have norm 1"),
        ({"data": [np.ones((2, 3)), np.ones((3, 3))]}, "data must be arrays with one entry for"),
        ({"cost": lambda x, a: np.sum(x)}, r"cost must return an array of shape \(2,\)"),
        ({"euclidean_gradient": lambda x, a: x[0]}, "euclidean_gradient must return an array"),
        ({"max_iterations": -1}, "max_iterations must be an integer of at least 0"),
        ({"max_iterations": 2.5}, "max_iterations must be an integer .*; got 2.5: pass 2 or 3"),
        ({"max_seconds": -1}, "max_seconds must be a number of at least 0; got -1"),
        ({"goal": "third"}, "goal must be one of second-order, first-order; got 'third'"),
        ({"tolerance": -1.0}, "tolerance must be"),
        ({"rng": "a"}, "rng must be"),
    ],
)
def test_bad_arguments(arguments, message):
    usual = {
        "manifold": riemtr.Sphere(3),
        "cost": lambda x, a: np.sum(a * x, axis=1),
        "data": np.ones((2, 3)),
        "euclidean_gradient": lambda x, a: a,
        "euclidean_hessian": lambda x, v, a: 0.0 * v,
    }
    with pytest.raises(ValueError, match=message):
        riemtr.solve_many(**{**usual, **arguments})


@pytest.mark.parametrize(
    "manifold",
    [
        riemtr.Sphere(4),
        riemtr.Stiefel(4, 2),
        riemtr.Grassmann(4, 2),
        riemtr.Rotations(3),
        riemtr.Rotations(4),
        riemtr.PositiveDefinite(3),
        riemtr.Euclidean(2, 3),
    ],
    ids=repr,
)
def test_stacked_spaces_are_the_single_ones(manifold):
    rng = np.random.default_rng(0)
    points = manifold.random_points(rng, 5)
    assert points.shape == (5, *manifold.random_point(0).shape)
    stacked = manifold.stacked_space(points)
    first, second = rng.standard_normal((2, *points.shape))
    vectors = stacked.tangent(0.1 * rng.standard_normal(points.shape))
    gradient, product = stacked.gradient(first), stacked.hessian(first, second, vectors)
    moved = stacked.move(vectors)
    for number, point in enumerate(points):
        space = manifold.space(manifold.check_point(point))
        np.testing.assert_allclose(gradient[number], space.gradient(first[number]), atol=1e-12)
        expected = space.hessian(first[number], second[number], vectors[number])
        np.testing.assert_allclose(product[number], expected, atol=1e-12)
        np.testing.assert_allclose(moved[number], space.move(vectors[number]), atol=1e-12)
    units = stacked.units()
    if units is not None:
        flat = units.reshape(len(units), -1)
        np.testing.assert_allclose(flat @ flat.T, np.eye(manifold.dim), atol=1e-14)
        np.testing.assert_allclose(stacked.tangent(units), units, atol=1e-14)
