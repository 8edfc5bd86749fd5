"""Hessian products to leave an exact saddle in d dimensions, ours beside a randomized trust region.

The cost is x'Ax on the sphere, A diagonal; the start is an eigenvector, an exact saddle: its
gradient is zero, and of the d curvatures a single one is negative (-1), the others lie between 0.5
and 9. Counted are the Hessian products until the cost is below that of the saddle by 1 % of what
there is to gain.

- "practical": ``riemtr.PracticalTRM``, whose Lanczos recurrence finds the direction;
- "randomized": the parts of ``riemtr.solvers.RandomizedTRM``, whose truncated CG starts from a
  random vector of length 1e-6: Manopt's option ``useRand``, with Manopt's constants. It is told
  that it is at a saddle: by itself it would stop there, since the gradient vanishes.

    python -m benchmarks.saddle_escape [--quick] [--seeds 10]

The last lines fit both to a + b log d.
"""

from __future__ import annotations

import argparse
import statistics
from dataclasses import replace

from benchmarks.timing import one_blas_thread, settings

one_blas_thread()

import numpy as np  # noqa: E402

import riemtr  # noqa: E402

# Share of the gain from the saddle to the minimum by which the cost must have fallen.
GAINED = 0.01
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
    """Return the same for the parts of the randomized trust region, in a loop without a goal."""
    solver = riemtr.solvers.RandomizedTRM()
    part = replace(solver.subproblem, rng=np.random.default_rng([seed, 1]))  # type: ignore
    counts = riemtr.problem.Counts()
    here = problem.at(start, counts)
    radius, largest = solver.radius.initial(here), solver.radius.limit(here)
    for _ in range(MOST_ITERATIONS):
        step = part.at(here).step(radius)
        there = here.moved(step.vector)
        verdict = solver.acceptance.judge(here, there, step)
        radius = min(solver.radius.update(radius, verdict, step), largest)
        if verdict.accepted:
            here = there
        if here.cost <= goal:
            return int(counts.hessian_products)
    return -1


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
