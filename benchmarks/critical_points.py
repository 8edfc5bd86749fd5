"""All critical points of costs whose critical points are known, each with its index.

The separable log-cosh cost (Y = I) has 3^n - 1 of them: k equal nonzeros, index k - 1. A Rayleigh
quotient has 2n, Brockett's cost n! / (n - k)! 2^k, the trace on a Grassmann manifold one for each
subset. Beside the searches of a chosen index that ``riemtr.theory.critical_points`` makes, as many
minimisations of |grad|^2 (Gauss-Newton steps within a trust region) from the same random starts.

    python -m benchmarks.critical_points [--quick]
"""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter

from benchmarks.timing import one_blas_thread, settings

one_blas_thread()

import numpy as np  # noqa: E402

import riemtr  # noqa: E402
from riemtr.problem import Evaluation, Problem  # noqa: E402
from riemtr.subproblem.exact import solve_exact  # noqa: E402
from riemtr.theory import critical_points  # noqa: E402

# Steps of a minimisation of |grad|^2.
STEPS = 200


def log_cosh(n: int, mu: float) -> tuple[str, Problem, Counter[int]]:
    counts = Counter({k - 1: math.comb(n, k) * 2**k for k in range(1, n + 1)})
    return f"log-cosh, n = {n}, mu = {mu:g}", riemtr.dictionary_problem(np.eye(n), mu), counts


def rayleigh(n: int) -> tuple[str, Problem, Counter[int]]:
    problem = riemtr.problems.build("rayleigh", rng=0, n=n).problem
    return f"Rayleigh, n = {n}", problem, Counter(dict.fromkeys(range(n), 2))


def subspaces(n: int, k: int) -> tuple[str, Problem, Counter[int]]:
    problem = riemtr.problems.build("invariant-subspace", rng=0, n=n, k=k).problem
    return f"Grassmann({n}, {k})", problem, _by_cells(n, k)


def brockett(n: int, k: int) -> tuple[str, Problem, Counter[int]]:
    """Frames of eigenvectors: a subset, an order of it, and signs; inversions are its index."""
    problem = riemtr.problems.build("brockett", rng=0, n=n, k=k).problem
    counts: Counter[int] = Counter()
    orders = _inversions(k)
    for index, subsets in _by_cells(n, k).items():
        for inversions, number in orders.items():
            counts[index + inversions] += subsets * number * 2**k
    return f"Brockett on Stiefel({n}, {k})", problem, counts


def _by_cells(n: int, k: int) -> Counter[int]:
    """How many k-subsets of n have an index: the dimension of their Schubert cell."""
    counts = Counter({0: 1})
    table = {(0, 0): counts}
    for size in range(n + 1):
        for chosen in range(min(size, k) + 1):
            if size == 0:
                continue
            total: Counter[int] = Counter(table.get((size - 1, chosen), Counter()))
            for index, number in table.get((size - 1, chosen - 1), Counter()).items():
                total[index + size - chosen] += number
            table[size, chosen] = total
    return table[n, k]


def _inversions(k: int) -> Counter[int]:
    counts = Counter({0: 1})
    for size in range(2, k + 1):
        longer: Counter[int] = Counter()
        for inversions, number in counts.items():
            for more in range(size):
                longer[inversions + more] += number
        counts = longer
    return counts


def least_squares(problem: Problem, start: np.ndarray) -> Evaluation | None:
    """Minimise |grad|^2 from a start; None where that ends away from all critical points."""
    here = problem.at(start)
    radius = 0.1 * here.manifold.typical_dist
    for _ in range(STEPS):
        values, vectors = here.eigh
        size = max(float(np.abs(values).max()), here.conversion_size)
        if here.gradient_norm <= 1e-7 * size:
            return here
        slopes = vectors.T @ here.basis.coordinates(here.gradient)
        order = np.argsort(values**2, kind="stable")
        solution = solve_exact(
            (values**2)[order], np.eye(len(order)), (values * slopes)[order], radius
        )
        step = np.empty_like(slopes)
        step[order] = solution.vector
        there = here.moved(here.basis.vector(vectors @ step))
        if there is None:
            return None
        foreseen = here.gradient_norm**2 - float(np.linalg.norm(slopes + values * step)) ** 2
        fall = here.gradient_norm**2 - there.gradient_norm**2
        if fall < 0.25 * foreseen:
            radius = 0.25 * float(np.linalg.norm(step))
        elif fall > 0.75 * foreseen and solution.on_boundary:
            radius = min(2.0 * radius, 0.3 * here.manifold.typical_dist)
        if radius < 1e-10:
            return None
        here = there if fall > 0.1 * foreseen else here
    return None


def reached_by_least_squares(problem: Problem, searches: int) -> tuple[int, int]:
    """How many distinct points, and how many indices, so many minimisations of |grad|^2 reach."""
    rng = np.random.default_rng(0)
    found: dict[tuple[float, ...], int] = {}
    for _ in range(searches):
        here = least_squares(problem, problem.random_point(rng))
        if here is not None:
            key = tuple(np.round(here.point.ravel(), 3) + 0.0)
            found.setdefault(key, int((here.eigh[0] < 0.0).sum()))
    return len(found), len(set(found.values()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="the smallest of each kind")
    quick = parser.parse_args().quick
    cases = [log_cosh(3, 0.1), rayleigh(5), subspaces(4, 2), brockett(3, 2)]
    if not quick:
        cases = [log_cosh(n, mu) for mu in (0.1, 0.01) for n in (3, 4, 5, 6)]
        cases += [rayleigh(10), rayleigh(20), subspaces(6, 3), brockett(4, 2), brockett(4, 3)]
    print(settings())
    print(
        f"\n{'cost':<28}{'known':>6}{'found':>6}  {'indices':<8}{'starts':>7}{'walks':>7}", end=""
    )
    print(f"{'lost':>6}{'chance of another':>19}{'cpu s':>7}   |grad|^2, as many searches")
    for name, problem, expected in cases:
        begin = time.process_time()
        found = critical_points(problem, starts=100 if quick else 500)
        seconds = time.process_time() - begin
        right = Counter(each.index for each in found) == expected
        line = (
            f"{name:<28}{expected.total():>6}{len(found):>6}  {'right' if right else 'WRONG':<8}"
            f"{found.starts:>7}{found.walks:>7}{found.lost:>6}{found.chance_of_another:>19.2g}"
            f"{seconds:>7.1f}"
        )
        if isinstance(problem.manifold, riemtr.Sphere) and problem.manifold.n <= 5:
            searches = min(found.starts + found.walks, 2000)
            points, indices = reached_by_least_squares(problem, searches)
            line += f"   {points} points of {indices} indices from {searches}"
        print(line, flush=True)
        if found.spurious:
            print(f"  {len(found.spurious)} spurious minimizers")


if __name__ == "__main__":
    main()
