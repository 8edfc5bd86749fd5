"""Where solvers end when they start at saddle points: a minimizer, or the saddle they started at.

Three families of starts: exact non-minimal eigenvectors of random symmetric matrices (n = 5 to
200), exact saddle points of the log-cosh cost with A = I, and random points of both. Each solver's
endpoint gets a second-order certificate.

    python -m benchmarks.saddles [--quick]
"""

from __future__ import annotations

import argparse
import collections
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.timing import one_blas_thread, settings

one_blas_thread()

import numpy as np  # noqa: E402
import pymanopt  # noqa: E402
from pymanopt.optimizers import TrustRegions  # noqa: E402

import riemtr  # noqa: E402

Instance = tuple[riemtr.Problem, pymanopt.Problem, np.ndarray]


def _with_pymanopt(problem: riemtr.Problem, start: np.ndarray) -> Instance:
    """The same cost for pymanopt, from the same functions."""
    sphere = pymanopt.manifolds.Sphere(len(start))
    numpy = pymanopt.function.numpy(sphere)
    cost = problem.cost
    theirs = pymanopt.Problem(
        sphere,
        numpy(lambda x: float(cost.at(x).value)),
        euclidean_gradient=numpy(lambda x: cost.at(x).gradient),
        euclidean_hessian=numpy(lambda x, v: cost.at(x).hessian(v)),
    )
    return problem, theirs, start


def _log_cosh(n: int, mu: float = 0.05) -> riemtr.Problem:
    """Y = A = I: every point with entries of equal magnitude on its support is critical."""
    return riemtr.dictionary_problem(np.eye(n), mu)


def eigenvectors(count: int) -> Iterator[Instance]:
    sizes = np.unique(np.geomspace(5, 200, 10).astype(int))
    for index in range(count):
        rng = np.random.default_rng(index)
        n = int(sizes[index % len(sizes)])
        case = riemtr.problems.build("rayleigh", rng=rng, n=n)
        column = int(rng.integers(1, n))
        yield _with_pymanopt(case.problem, case.truth.details["eigenvectors"][:, column])


def log_cosh_saddles(count: int) -> Iterator[Instance]:
    for index in range(count):
        rng = np.random.default_rng(1000 + index)
        n = int(rng.integers(5, 41))
        support = rng.choice(n, size=int(rng.integers(2, n + 1)), replace=False)
        start = np.zeros(n)
        start[support] = rng.choice([-1.0, 1.0], size=len(support)) / np.sqrt(len(support))
        yield _with_pymanopt(_log_cosh(n), start)


def random_points(count: int) -> Iterator[Instance]:
    for index in range(count):
        rng = np.random.default_rng(2000 + index)
        if index % 2:
            case = riemtr.problems.build("rayleigh", rng=rng, n=int(rng.integers(5, 201)))
            yield _with_pymanopt(case.problem, case.start)
        else:
            problem = _log_cosh(int(rng.integers(5, 41)))
            yield _with_pymanopt(problem, problem.manifold.random_point(rng))


def _ours(solver: riemtr.TrustRegion) -> Any:
    return lambda problem, theirs, start: solver.solve(problem, start).point


def _pymanopt(problem: riemtr.Problem, theirs: pymanopt.Problem, start: np.ndarray) -> np.ndarray:
    optimizer = TrustRegions(verbosity=0, min_gradient_norm=1e-6)
    return optimizer.run(theirs, initial_point=start).point


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="10 starts of each kind, not 200")
    count = 10 if parser.parse_args().quick else 200
    print(settings())
    solvers = {
        "riemtr PracticalTRM": _ours(riemtr.PracticalTRM()),
        "riemtr ExactTRM(0.02)": _ours(riemtr.ExactTRM(0.02)),
        "pymanopt TrustRegions": _pymanopt,
    }
    families = {
        "eigenvectors": eigenvectors,
        "log-cosh saddles": log_cosh_saddles,
        "random points": random_points,
    }
    print(f"\n{'solver':<24}" + "".join(f"{name:>30}" for name in families) + f"{'in all':>16}")
    for name, solve in solvers.items():
        cells, minimizers, begin = [], 0, time.perf_counter()
        for family in families.values():
            verdicts: collections.Counter[str] = collections.Counter()
            for problem, theirs, start in family(count):
                point = solve(problem, theirs, start)
                verdicts[riemtr.certify(problem, point).verdict] += 1
            minimizers += verdicts["minimizer"]
            cells.append(", ".join(f"{number} {verdict}" for verdict, number in verdicts.items()))
        seconds = time.perf_counter() - begin
        print(
            f"{name:<24}"
            + "".join(f"{cell:>30}" for cell in cells)
            + f"{minimizers:>8}/{3 * count}   ({seconds:.0f} s)"
        )


if __name__ == "__main__":
    main()
