"""Rounding: riemtr's interior point beside SciPy's HiGHS, on image patches and synthetic data.

    python -m benchmarks.rounding [--quick]

Both methods solve min |q'Y|_1 s.t. <r, q> = 1 for the same Y and r, one right after the other. The
time of HiGHS is that of ``scipy.optimize.linprog`` within ``round_direction``, in the form that
is its fastest (the dual, n - 1 rows, its interior point with crossover); the certificate, which is
ours, is left out of it.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.timing import one_blas_thread

one_blas_thread()

import numpy as np  # noqa: E402
import scipy  # noqa: E402
from scipy.optimize import linprog, minimize  # noqa: E402

from riemtr.errors import require  # noqa: E402
from riemtr.recovery import rounding  # noqa: E402
from riemtr.recovery.rounding import Rounding, round_direction  # noqa: E402


@dataclass(frozen=True)
class Pair:
    """One rounding by both methods: seconds and results."""

    seconds: float
    highs_seconds: float
    ours: Rounding
    highs: Rounding


def image_patches() -> np.ndarray:
    """Return the 8 x 8 patches of scikit-image's ``camera``, whitened: 64 x 4096."""
    image = require("skimage.data", extra="images").camera().astype(float)
    Y = image.reshape(64, 8, 64, 8).transpose(1, 3, 0, 2).reshape(64, 4096)
    values, vectors = np.linalg.eigh(Y @ Y.T)
    return np.sqrt(Y.shape[1]) * ((vectors / np.sqrt(values)) @ vectors.T @ Y)


def local_minimizer(Y: np.ndarray, mu: float, rng: np.random.Generator) -> np.ndarray:
    """Minimize the log-cosh cost over the sphere by L-BFGS, which is blind to the length of q."""

    def cost(q: np.ndarray) -> tuple[float, np.ndarray]:
        length = float(np.linalg.norm(q))
        unit = q / length
        z = unit @ Y
        decay = np.exp(-2 * np.abs(z) / mu)
        value = float(np.mean(np.abs(z) + mu * np.log1p(decay)))
        gradient = Y @ (np.sign(z) * (1 - decay) / (1 + decay)) / Y.shape[1]
        return value, (gradient - unit * (unit @ gradient)) / length

    start = rng.standard_normal(len(Y))
    options = {"maxiter": 500, "gtol": 1e-6}
    found = minimize(cost, start, jac=True, method="L-BFGS-B", options=options).x
    return found / np.linalg.norm(found)


def synthetic(n: int, p: int, theta: float, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Return Y = A X, A orthogonal and X Bernoulli-Gaussian, and A."""
    X = rng.standard_normal((n, p)) * (rng.random((n, p)) < theta)
    A = np.linalg.qr(rng.standard_normal((n, n)))[0]
    return A @ X, A


def perturbed(atom: np.ndarray, distance: float, rng: np.random.Generator) -> np.ndarray:
    noise = rng.standard_normal(len(atom))
    r = atom + distance * noise / np.linalg.norm(noise)
    return r / np.linalg.norm(r)


def timed(action: Callable[[], Rounding]) -> tuple[float, Rounding]:
    begin = time.perf_counter()
    result = action()
    return time.perf_counter() - begin, result


def compare(Y: np.ndarray, r: np.ndarray, repeats: int) -> Pair:
    """Round by HiGHS once, and by the interior point before and after it."""
    within: list[float] = []

    def stopwatch(*arguments: object, **options: object) -> object:
        begin = time.perf_counter()
        answer = linprog(*arguments, **options)
        within.append(time.perf_counter() - begin)
        return answer

    ours = [timed(lambda: round_direction(Y, r)) for _ in range(repeats)]
    rounding.linprog = stopwatch
    try:
        highs = round_direction(Y, r, method="highs")
    finally:
        rounding.linprog = linprog
    ours += [timed(lambda: round_direction(Y, r)) for _ in range(repeats)]
    seconds = statistics.median(second for second, _ in ours)
    return Pair(seconds, within[0], ours[0][1], highs)


def report(name: str, pairs: list[Pair]) -> None:
    ours = statistics.median(pair.seconds for pair in pairs)
    highs = statistics.median(pair.highs_seconds for pair in pairs)
    ratio = statistics.median(pair.highs_seconds / pair.seconds for pair in pairs)
    apart = max(abs(pair.ours.objective / pair.highs.objective - 1) for pair in pairs)
    gap = max(pair.ours.duality_gap for pair in pairs)
    highs_gap = max(pair.highs.duality_gap for pair in pairs)
    certified = sum(pair.ours.certified for pair in pairs)
    iterations = statistics.median(pair.ours.iterations for pair in pairs)
    print(
        f"{name:37}{1e3 * ours:9.1f}{1e3 * highs:11.0f}{ratio:8.0f}x{apart:11.1e}{gap:11.1e}"
        f"{highs_gap:11.1e}{f'{certified}/{len(pairs)}':>11}{iterations:6.0f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer directions")
    quick = parser.parse_args().quick
    rng = np.random.default_rng(0)
    count, repeats = (3, 2) if quick else (10, 5)
    try:
        pools = require("threadpoolctl", extra="parallel").threadpool_info()
        threads = "/".join(str(pool["num_threads"]) for pool in pools) or "?"
    except ImportError:
        threads = "?"
    print(
        f"NumPy {np.__version__}, SciPy {scipy.__version__}, Python {platform.python_version()}, "
        f"BLAS threads {threads}; {count} directions, {2 * repeats} repeats around each HiGHS run; "
        "medians"
    )
    print(
        f"{'data':37}{'ours ms':>9}{'HiGHS ms':>11}{'ratio':>9}{'optima':>11}{'our gap':>11}"
        f"{'its gap':>11}{'certified':>11}{'iter':>6}"
    )
    patches = image_patches()
    minimizers = [local_minimizer(patches, 1e-2, rng) for _ in range(count)]
    report("patches 64 x 4096, minimizers", [compare(patches, r, repeats) for r in minimizers])
    n, p = (30, 15305) if quick else (50, 48901)
    Y, A = synthetic(n, p, 0.2, rng)
    for distance in (0.02, 0.05):
        pairs = [
            compare(Y, perturbed(A[:, atom], distance, rng), repeats)
            for atom in range(2 if quick else 3)
        ]
        report(f"synthetic {n} x {p}, distance {distance}", pairs)
    rows = 8 if quick else 64
    directions = [local_minimizer(patches, 1e-2, rng) for _ in range(rows)]
    begin = time.perf_counter()
    found = [round_direction(patches, r) for r in directions]
    total = time.perf_counter() - begin
    certified = sum(each.certified for each in found)
    print(f"{rows} roundings of patches: {total:.3f} s in all, {certified} certified")


if __name__ == "__main__":
    main()
