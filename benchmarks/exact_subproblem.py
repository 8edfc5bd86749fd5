"""What a dense subproblem costs, beside one ``scipy.linalg.eigh`` of the same matrix.

    python benchmarks/exact_subproblem.py [--quick]

Prints, for n = 10 to 1000 and for easy, hard, nearly hard and interior instances, the median
time of ``scipy.linalg.eigh``, of ``riemtr.solve_subproblem`` (input checks included) and of
solving again for a smaller radius with the decomposition at hand; then what the near-exact solver
costs at n = 64. Medians over interleaved repetitions, one BLAS thread.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable, Sequence

import numpy as np
import scipy
import scipy.linalg
from scipy.linalg import lapack

from riemtr.errors import require
from riemtr.subproblem.dense import solve_subproblem
from riemtr.subproblem.exact import eigendecomposition, solve_exact
from riemtr.subproblem.near_exact import solve_near_exact

LIMIT = 2.0  # the ratio to eigh that must not be exceeded
KINDS = ("easy", "hard", "nearly hard", "interior")


def instance(rng: np.random.Generator, kind: str, n: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return a random Hessian, gradient and radius of that kind."""
    basis = np.linalg.qr(rng.standard_normal((n, n)))[0]
    eigenvalues = np.sort(rng.standard_normal(n))
    coefficients = rng.standard_normal(n)
    if kind == "interior":
        eigenvalues = np.abs(eigenvalues) + 0.1
    elif kind == "hard":
        coefficients[0] = 0.0
    elif kind == "nearly hard":
        coefficients[0] = 1e-9
    hessian = (basis * eigenvalues) @ basis.T
    radius = 1.0 if kind == "easy" else 100.0 * np.sqrt(n)
    return 0.5 * (hessian + hessian.T), basis @ coefficients, radius


def medians(functions: Sequence[Callable[[], object]], seconds: float) -> list[float]:
    """Return the median time of each function in microseconds, their calls interleaved."""
    times: list[list[float]] = [[] for _ in functions]
    for function in functions:
        function()
    deadline = time.perf_counter() + seconds
    while time.perf_counter() < deadline or len(times[0]) < 3:
        for function, record in zip(functions, times, strict=True):
            started = time.perf_counter()
            function()
            record.append(time.perf_counter() - started)
    return [1e6 * float(np.median(record)) for record in times]


def compare_with_eigh(sizes: Sequence[int], seconds: float) -> float:
    """Print the table of the exact solver and return its worst ratio to eigh."""
    print(f"{'n':>5} {'kind':12} {'eigh':>10} {'solve':>10} {'ratio':>6} {'again':>10} {'KKT':>8}")
    worst = 0.0
    for n in sizes:
        for kind in KINDS:
            hessian, gradient, radius = instance(np.random.default_rng(n), kind, n)
            eigenvalues, eigenvectors = eigendecomposition(hessian)
            eigh, solve, again = medians(
                (
                    lambda h=hessian: scipy.linalg.eigh(h),
                    lambda h=hessian, g=gradient, r=radius: solve_subproblem(h, g, r),
                    lambda w=eigenvalues, v=eigenvectors, g=gradient, r=radius: solve_exact(
                        w, v, g, 0.25 * r
                    ),
                ),
                seconds,
            )
            residual = solve_subproblem(hessian, gradient, radius).kkt_residual
            worst = max(worst, solve / eigh)
            print(
                f"{n:5d} {kind:12} {eigh:7.0f} us {solve:7.0f} us {solve / eigh:6.2f} "
                f"{again:7.0f} us {residual:8.0e}",
                flush=True,
            )
    return worst


def time_near_exact(n: int, instances: int) -> None:
    """Print what the near-exact solver costs and how much of the best decrease it keeps."""
    print(f"\nnear-exact, n = {n}, {instances} instances per kind, gradients from 1e-3 to 10")
    print(f"{'kind':22} {'median':>8} {'p90':>8} {'dpotrf':>8} {'factor.':>8} {'of best':>8}")
    for kind in ("positive definite", "one negative", "indefinite"):
        rng = np.random.default_rng(0)
        times, factorizations, kept, plain = [], [], [], []
        for _ in range(instances):
            basis = np.linalg.qr(rng.standard_normal((n, n)))[0]
            eigenvalues = rng.uniform(0.1, 1.0, n)
            if kind == "one negative":
                eigenvalues[0] = -rng.uniform(0.01, 1.0)
            elif kind == "indefinite":
                eigenvalues = rng.standard_normal(n)
            hessian = (basis * eigenvalues) @ basis.T
            hessian = 0.5 * (hessian + hessian.T)
            gradient = rng.standard_normal(n) * 10.0 ** rng.uniform(-3, 1) / np.sqrt(n)
            started = time.perf_counter()
            near = solve_near_exact(hessian, gradient, 1.0)
            times.append(time.perf_counter() - started)
            started = time.perf_counter()
            lapack.dpotrf(np.eye(n, order="F") + hessian, overwrite_a=1)
            plain.append(time.perf_counter() - started)
            factorizations.append(near.factorizations)
            best = solve_subproblem(hessian, gradient, 1.0).model_decrease
            kept.append(near.model_decrease / best)
        print(
            f"{kind:22} {1e6 * np.median(times):5.0f} us {1e6 * np.quantile(times, 0.9):5.0f} us "
            f"{1e6 * np.median(plain):5.0f} us {np.mean(factorizations):8.2f} {min(kept):8.3f}"
        )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--quick", action="store_true", help="smaller sizes, less repetition")
    quick = parser.parse_args(arguments).quick
    sizes = (10, 30, 100) if quick else (10, 30, 64, 100, 300, 1000)
    print(
        f"numpy {np.__version__}, scipy {scipy.__version__}, Python {platform.python_version()}, "
        f"{platform.machine()}, one BLAS thread"
    )
    with require("threadpoolctl", extra="parallel").threadpool_limits(1):
        worst = compare_with_eigh(sizes, 0.2 if quick else 1.0)
        time_near_exact(64, 100 if quick else 500)
    verdict = "within" if worst <= LIMIT else "ABOVE"
    print(f"\nexact / eigh: at most {worst:.2f}, {verdict} the limit of {LIMIT:g}")


if __name__ == "__main__":
    main()
