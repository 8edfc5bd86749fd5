"""The whole pipeline on real image patches, against the alternatives on the same data.

The 8 x 8 patches of scikit-image's ``camera``: n = 64, p = 4096, mu = 1e-2, 64 certified
roundings; and once more refined together, as by default. Beside it: the same pipeline built from
pymanopt's TrustRegions and SciPy's HiGHS (same deflation, tolerance and starts of seed 0; run once,
for minutes), and two methods for independent components on the whitened data, Picard-O and
scikit-learn's FastICA, which certify nothing. Every repeat has another seed. Then two threads
beside one, on synthetic data large enough for them.

    python -m benchmarks.recovery [--quick] [--skip-pymanopt]
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings

from benchmarks.timing import interleaved, one_blas_thread, settings

one_blas_thread()

import numpy as np  # noqa: E402
from picard import picard  # noqa: E402
from pymanopt.optimizers import TrustRegions  # noqa: E402
from sklearn.decomposition import FastICA  # noqa: E402

from benchmarks.single_solve import MU, PlainCost, pymanopt_problem  # noqa: E402
from riemtr.data import BernoulliGaussian, Conditioned, load_image, patches  # noqa: E402
from riemtr.recovery import precondition, recover_dictionary, round_direction  # noqa: E402
from riemtr.recovery.deflation import Deflation  # noqa: E402

TOLERANCE = 1e-2  # gradient norm of a solve, for both pipelines


def theirs(Y: np.ndarray, rows: int) -> tuple[float, float]:
    """Run the pipeline with pymanopt and HiGHS; its seconds, those of a part scaled to the whole.

    Returns
    -------
    seconds, gap
        The largest duality gap is that of the last rounding.
    """
    begin = time.perf_counter()
    white = precondition(Y)
    n = white.rank
    deflation, directions, gap = Deflation(white.data), [], 0.0
    for row in range(rows):
        complement = deflation.complement
        z = np.ones(1)
        if n - row > 1:
            seed = np.random.SeedSequence(0, spawn_key=(0, row))
            start = np.random.default_rng(seed).standard_normal(n - row)
            optimizer = TrustRegions(
                min_gradient_norm=TOLERANCE, max_iterations=2000, max_time=1e4, verbosity=0
            )
            problem = pymanopt_problem(PlainCost(complement))
            z = optimizer.run(problem, initial_point=start / np.linalg.norm(start)).point
        directions.append(deflation.lift(z))
        deflation.set_aside(directions[-1])
    for direction in directions:
        gap = max(gap, round_direction(white.data, direction, method="highs").duality_gap)
    return (time.perf_counter() - begin) * n / rows, gap


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a quarter of the image, 1 repeat, 4 rows of pymanopt's 64",
    )
    parser.add_argument("--skip-pymanopt", action="store_true", help="only what takes seconds")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)  # of ICA that did not converge
    image = load_image("camera")
    Y = patches(image[:256, :256] if arguments.quick else image)
    Z = precondition(Y).data
    print(settings())
    print(f"camera, n = {Y.shape[0]}, p = {Y.shape[1]}, mu = {MU}")
    recover_dictionary(Y[:8], rng=0)  # imports and caches
    seeds = {name: itertools.count() for name in ("ours", "smooth", "picard", "ica", "loose")}

    def fast_ica(seed: int, **options: object) -> FastICA:
        return FastICA(whiten=False, random_state=seed, **options).fit(Z.T)

    tasks = {
        "riemtr, 64 certified rows": lambda: recover_dictionary(
            Y, MU, rng=next(seeds["ours"]), refine=None, offset=False
        ),
        "  refined together": lambda: recover_dictionary(
            Y, MU, rng=next(seeds["smooth"]), offset=False
        ),
        "Picard-O, tol 1e-6": lambda: picard(
            Z,
            ortho=True,
            fun="tanh",
            tol=1e-6,
            whiten=False,
            centering=False,
            random_state=next(seeds["picard"]),
            return_n_iter=True,
        ),
        "FastICA, tol 1e-6": lambda: fast_ica(next(seeds["ica"]), tol=1e-6, max_iter=5000),
        "FastICA, its defaults": lambda: fast_ica(next(seeds["loose"])),
    }
    seconds, values = interleaved(tasks, 1 if arguments.quick else 5)
    ours, *_ = seconds
    print(f"{'method':<28}{'seconds':>9}{'vs ours':>9}  what it found")
    for name, took in seconds.items():
        print(f"{name:<28}{took:>9.2f}{took / seconds[ours]:>9.1f}  {describe(values[name], Z)}")
    two_threads(*((30, 40_000, 1) if arguments.quick else (80, 60_000, 3)))
    if arguments.skip_pymanopt:
        return
    rows = 4 if arguments.quick else len(Y)
    took, gap = theirs(Y, rows)
    again = min(recover_dictionary(Y, MU, rng=0).seconds for _ in range(3))
    label = "camera, pymanopt + HiGHS" + ("" if rows == len(Y) else f", {rows} rows scaled")
    print(
        f"{label:<28}{took:>9.1f}{took / seconds[ours]:>9.0f}  largest duality gap {gap:.0e} "
        f"(riemtr once more, right after: {again:.2f} s)"
    )


def two_threads(n: int, p: int, repeats: int) -> None:
    """Print the times of one thread and of two on a conditioned dictionary, and compare bits."""
    model = BernoulliGaussian(n=n, p=p, theta=0.2, dictionary=Conditioned(10.0))
    Y = model.draw(0).observations
    tasks = {
        f"n_jobs={jobs}": lambda jobs=jobs: recover_dictionary(Y, rng=0, n_jobs=jobs)
        for jobs in (1, 2)
    }
    seconds, found = interleaved(tasks, repeats)
    one, two = found.values()
    same = np.array_equal(one.dictionary, two.dictionary)
    print(f"synthetic, n = {n}, p = {p}:", end=" ")
    print(", ".join(f"{name} {took:.2f} s" for name, took in seconds.items()), end="; ")
    first, second = seconds.values()
    print(f"{first / second:.2f}x, {'the same bits' if same else 'OTHER BITS'}")


def describe(value: object, Z: np.ndarray) -> str:
    """Say what a method found; the l1 norm is that of unit directions on the whitened data."""
    if hasattr(value, "atoms"):
        rows = value.directions.T @ Z
        counted = f"{sum(atom.certified for atom in value.atoms)} certified"
        trusted = f"{sum(atom.trusted for atom in value.atoms)} trusted"
        return f"|Q'Y|_1 / (n p) = {np.abs(rows).mean():.5f}, {counted}, {trusted}"
    if isinstance(value, tuple):
        return f"|Q'Y|_1 / (n p) = {np.abs(value[2]).mean():.5f}, {value[3]} iterations"
    rows = value.components_ @ Z
    return f"|Q'Y|_1 / (n p) = {np.abs(rows).mean():.5f}, {value.n_iter_} iterations"


if __name__ == "__main__":
    main()
