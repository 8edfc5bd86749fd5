"""The limited-memory model against the BFGS matrix that it stands for."""

import numpy as np
import pytest

import riemtr
from riemtr.problem import Threshold
from riemtr.subproblem import Ended
from riemtr.subproblem.secant import SecantModel


def bfgs(scale, steps, changes):
    """Return the BFGS matrix, update by update."""
    matrix = scale * np.eye(steps.shape[1])
    for step, change in zip(steps, changes, strict=True):
        image = matrix @ step
        matrix = (
            matrix
            - np.outer(image, image) / (step @ image)
            + np.outer(change, change) / (step @ change)
        )
    return matrix


def drawn(seed, n, count):
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((n, n))
    hessian = factor @ factor.T + 0.1 * np.eye(n)
    steps = rng.standard_normal((count, n))
    steps /= np.linalg.norm(steps, axis=1)[:, None]
    return steps, steps @ hessian, rng.standard_normal(n)


@pytest.mark.parametrize("radius", [1e-3, 0.05, 1.0, 1e3])
@pytest.mark.parametrize(("n", "count"), [(12, 1), (12, 4), (12, 6), (5, 4), (1, 1)])
def test_minimiser_is_that_of_the_bfgs_matrix(n, count, radius):
    steps, changes, gradient = drawn(n + count, n, count)
    rows = np.concatenate((steps, changes))
    scale = changes[-1] @ changes[-1] / (steps[-1] @ changes[-1])
    model = SecantModel(rows @ rows.T, np.ones(count), scale)
    found = model.minimiser(rows @ gradient, gradient @ gradient, radius)
    vector = found.rows @ rows + found.gradient * gradient
    best = riemtr.solve_subproblem(bfgs(scale, steps, changes), gradient, radius)
    np.testing.assert_allclose(vector, best.vector, atol=1e-9 * np.linalg.norm(best.vector))
    assert found.multiplier == pytest.approx(best.multiplier, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_units_of_the_cost_do_not_matter(unit):
    steps, changes, gradient = drawn(8, 9, 4)
    lengths = np.linalg.norm(changes, axis=1)
    rows = np.concatenate((steps, changes / lengths[:, None]))
    scale = lengths[-1] ** 2 / (steps[-1] @ changes[-1])
    model = SecantModel(rows @ rows.T, unit * lengths, unit * scale)
    for radius in (1e-3, 1e3):
        found = model.minimiser(unit * (rows @ gradient), unit**2 * (gradient @ gradient), radius)
        vector = found.rows @ rows + found.gradient * unit * gradient
        best = riemtr.solve_subproblem(bfgs(scale, steps, changes), gradient, radius)
        np.testing.assert_allclose(vector, best.vector, atol=1e-9 * np.linalg.norm(best.vector))


def test_pairs_that_depend_on_each_other():
    steps, changes, gradient = drawn(3, 6, 2)
    steps, changes = np.repeat(steps, 2, axis=0), np.repeat(changes, 2, axis=0)
    rows = np.concatenate((steps, changes))
    model = SecantModel(rows @ rows.T, np.ones(4), 2.0)
    for radius in (1e-2, 1e2):
        found = model.minimiser(rows @ gradient, gradient @ gradient, radius)
        vector = found.rows @ rows + found.gradient * gradient
        best = riemtr.solve_subproblem(bfgs(2.0, steps, changes), gradient, radius)
        np.testing.assert_allclose(vector, best.vector, atol=1e-6 * np.linalg.norm(best.vector))


def quadratic(hessian, gradient):
    return riemtr.Problem(
        riemtr.Euclidean(len(gradient)),
        lambda x: float(gradient @ x + 0.5 * x @ hessian @ x),
        euclidean_gradient=lambda x: gradient + hessian @ x,
    )


def walk(part, problem, points, radius=10.0):
    """Return the last step of a run along given points, and the model that it is of."""
    model = part.at(problem.at(points[0]))
    for point in points[1:]:
        model.step(radius)
        model.vector = point - model.here.point
        model = part.at(problem.at(point), model)
    return model.step(radius), model


@pytest.mark.parametrize("memory", [1, 2, 5])
def test_the_model_is_that_of_the_last_steps(memory):
    rng = np.random.default_rng(0)
    factor = rng.standard_normal((7, 7))
    hessian, gradient = factor @ factor.T + np.eye(7), rng.standard_normal(7)
    points = rng.standard_normal((5, 7))
    step, model = walk(riemtr.SecantSubproblem(memory), quadratic(hessian, gradient), points)
    here = model.here
    steps = np.diff(points, axis=0)[-memory:]
    changes = steps @ hessian
    scale = changes[-1] @ changes[-1] / (steps[-1] @ changes[-1])
    matrix = bfgs(scale, steps, changes)
    np.testing.assert_allclose(step.vector, -np.linalg.solve(matrix, here.gradient), rtol=1e-8)
    np.testing.assert_allclose(step.hessian_vector, matrix @ step.vector, rtol=1e-8)
    decrease = -(here.gradient @ step.vector + 0.5 * step.vector @ matrix @ step.vector)
    assert step.predicted_decrease == pytest.approx(decrease)
    assert (step.ended, step.on_boundary) == (Ended.INTERIOR, False)
    # The largest curvature met is no more than the largest that there is.
    assert 0.0 < step.curvature <= np.linalg.norm(hessian, 2) * (1 + 1e-12)
    assert here.counts.hessian_products == 0


def test_pairs_of_negative_curvature_are_left_out():
    hessian = np.diag([1.0, -1.0, 2.0])
    points = np.array([[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [2.0, 1.0, 0.0]])
    step, model = walk(riemtr.SecantSubproblem(), quadratic(hessian, np.zeros(3)), points)
    # What is left is the first pair alone, with curvature 1 in all directions.
    np.testing.assert_allclose(step.vector, -model.here.gradient)


def test_after_a_rejected_step_nothing_is_computed_anew():
    rng = np.random.default_rng(1)
    problem = quadratic(np.diag([1.0, 3.0, 9.0]), np.ones(3))
    part = riemtr.SecantSubproblem()
    step, model = walk(part, problem, rng.standard_normal((4, 3)))
    assert model.step(0.01).norm == pytest.approx(0.01)
    assert model.here.counts.gradients == 1
    np.testing.assert_array_equal(model.step(10.0).vector, step.vector)


def test_known_negative_curvature_is_followed_where_the_gradient_vanishes():
    here = quadratic(np.diag([-2.0, 1.0, 3.0]), np.zeros(3)).at(np.zeros(3))
    assert here.curvature.side(Threshold(1e-6)) == -1
    step = riemtr.SecantSubproblem().at(here).step(0.7)
    np.testing.assert_allclose(np.abs(step.vector), [0.7, 0.0, 0.0], atol=1e-6)


def test_bad_memory_is_refused():
    with pytest.raises(ValueError, match="memory must be an integer of at least 1; got 0"):
        riemtr.SecantSubproblem(0)
