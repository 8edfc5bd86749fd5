"""Hessian products to leave an exact saddle in d dimensions, ours beside a randomized trust region.

The cost is x'Ax on the sphere, A diagonal; the start is an eigenvector, an exact saddle: its
gradient is zero, and of the d curvatures a single one is negative (-1), the others lie between 0.5
and 9. Counted are the Hessian products until the cost is below that of the saddle by 1 % of what
there is to gain.

- "practical": ``riemtr.PracticalTRM``, whose Lanczos recurrence finds the direction;
- "randomized": a trust-region method whose truncated CG starts from a random vector of length 1e-6,
  Manopt's option ``useRand``, with Manopt's constants. It is told that it is at a saddle: by itself
  it would stop there, since the gradient vanishes.

    python -m benchmarks.saddle_escape [--quick] [--seeds 10]

The last lines fit both to a + b log d.
"""

from __future__ import annotations

import argparse
import math
import statistics
from typing import Any

from benchmarks.timing import one_blas_thread, settings

one_blas_thread()

import numpy as np  # noqa: E402

import riemtr  # noqa: E402
from riemtr.problem import Evaluation  # noqa: E402

# Share of the gain from the saddle to the minimum by which the cost must have fallen.
GAINED = 0.01
# Manopt's: kappa and theta of its truncated CG, rho' of its acceptance, the length of the start.
KAPPA, THETA, ACCEPTED, TINY = 0.1, 1.0, 0.1, 1e-6
MOST_ITERATIONS = 200


def saddle(dimension: int, seed: int) -> tuple[riemtr.Problem, np.ndarray, float]:
    """Return the problem, the saddle, and the cost at which it is left."""
    rng = np.random.default_rng(seed)
    # The Hessian at the axis of the zero is twice the others.
    values = np.concatenate(([0.0, -0.5], rng.uniform(0.25, 4.5, dimension - 1)))
    rng.shuffle(values)
    place = int(np.flatnonzero(values == 0.0)[0])
    problem = riemtr.Problem(
        riemtr.Sphere(dimension + 1),
        lambda x: float(x @ (values * x)),
        euclidean_gradient=lambda x: 2.0 * values * x,
        euclidean_hessian=lambda x, v: 2.0 * values * v,
    )
    start = np.zeros(dimension + 1)
    start[place] = 1.0
    return problem, start, GAINED * values.min()


def practical(problem: riemtr.Problem, start: np.ndarray, goal: float) -> int:
    """Return the products that PracticalTRM takes until the cost is low enough."""
    stop = riemtr.solvers.CostBelow(goal)
    result = riemtr.PracticalTRM().solve(problem, start, stop=stop)
    low = np.flatnonzero(result.history["cost"] <= goal)
    return int(result.history["hessian_products"][low[0]]) if len(low) else -1


def randomized(problem: riemtr.Problem, start: np.ndarray, goal: float, seed: int) -> int:
    """Return the same for the randomized trust region."""
    rng = np.random.default_rng([seed, 1])
    counts = riemtr.problem.Counts()
    here = problem.at(start, counts)
    largest = problem.manifold.typical_dist
    radius = largest / 8.0
    for _ in range(MOST_ITERATIONS):
        step, image, bounded = randomized_cg(here, radius, rng)
        there = here.moved(step)
        assert there is not None
        predicted = -here.inner(here.gradient, step) - 0.5 * here.inner(step, image)
        # Manopt's regularisation of the ratio, 1e3 roundings.
        shift = 1e3 * here.precision * max(1.0, abs(here.cost))
        ratio = (here.cost - there.cost + shift) / (predicted + shift)
        if ratio < 0.25:
            radius /= 4.0
        elif ratio > 0.75 and bounded:
            radius = min(2.0 * radius, largest)
        if ratio > ACCEPTED:
            here = there
        if here.cost <= goal:
            return counts.hessian_products
    return -1


def randomized_cg(
    here: Evaluation, radius: float, rng: np.random.Generator
) -> tuple[Any, Any, bool]:
    """Return the step of truncated CG from a random start, its image, and whether it was cut."""
    step = TINY * here.space.random(rng)
    image = here.hessian(step)
    residual = here.gradient + image
    direction, squared = -residual, here.inner(residual, residual)
    first = math.sqrt(squared)
    for _ in range(here.manifold.dim):
        product = here.hessian(direction)
        bend, size = here.inner(direction, product), here.inner(direction, direction)
        overlap, length = here.inner(step, direction), here.inner(step, step)
        alpha = squared / bend if bend > 0.0 else math.inf
        if not length + alpha * (2.0 * overlap + alpha * size) < radius * radius:
            root = math.sqrt(overlap * overlap + size * (radius * radius - length))
            tau = (root - overlap) / size
            return step + tau * direction, image + tau * product, True
        step, image = step + alpha * direction, image + alpha * product
        residual = residual + alpha * product
        before, squared = squared, here.inner(residual, residual)
        if math.sqrt(squared) <= first * min(first**THETA, KAPPA):
            break
        direction = here.tangent((squared / before) * direction - residual)
    return step, image, False


def fit(dimensions: list[int], products: list[float]) -> str:
    """Return the line through products against log d, in words."""
    slope, offset = np.polyfit(np.log(dimensions), products, 1)
    return f"{offset:.1f} + {slope:.2f} log d"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="up to 1e4 dimensions, two seeds")
    parser.add_argument("--seeds", type=int, default=10)
    arguments = parser.parse_args()
    dimensions = [10**power for power in range(2, 5 if arguments.quick else 7)]
    seeds = range(2 if arguments.quick else arguments.seeds)
    print(settings())
    print(f"\nHessian products to leave an exact saddle, means of {len(seeds)} seeds")
    print(f"{'d':>9}{'practical':>12}{'randomized':>12}{'ratio':>8}")
    ours: list[float] = []
    theirs: list[float] = []
    for dimension in dimensions:
        counts = []
        for seed in seeds:
            case = saddle(dimension, seed)
            counts.append((practical(*case), randomized(*case, seed)))
        first, second = (statistics.fmean(column) for column in zip(*counts, strict=True))
        ours.append(first)
        theirs.append(second)
        print(f"{dimension:>9}{first:>12.1f}{second:>12.1f}{first / second:>8.2f}", flush=True)
    print(f"practical: {fit(dimensions, ours)}; randomized: {fit(dimensions, theirs)}")


if __name__ == "__main__":
    main()
