"""Recovery under noise, outliers and corruptions, against ICA and l4 maximisation; false trust.

The seven settings of Zhai, Mehta, Zhou and Ma (*Understanding l4-based dictionary learning*, ICLR
2020): an orthogonal dictionary, Bernoulli-Gaussian coefficients with theta = 0.3, p = 400 n; clean,
with Gaussian noise of size 0.2 and 0.4, with 20 and 40 % more columns of pure noise, and with 20
and 40 % of the entries of Y changed by +-1. The error is theirs, 1 - |A'A_found|_4^4 / n for unit
atoms, in percent; in parentheses |A_found - A|_F / |A|_F. Every method gets the same data, and the
best of its variants counts: MSP on the data and on whitened data, Picard-O and Picard with the
tanh of alpha = 1 and 10.

The second table has sources that are not sparse, or not all of them: the Amari distance of the rows
found, (s(P) + s(P')) / 2n with P = W A and s(P) the sum over rows of |p|^2 / max p^2 - 1, against
FastICA, Picard-O and Picard, each with and without adapting to flat sources, the better of which
counts. Two settings are those of benchopt's `linear_ica`: 10,000 samples of 100 and of 200
sources, half of them Laplace and half Gaussian; no method tells the Gaussian ones apart. In one
setting noise buries sources: condition number 100, noise of 5 % of the data's size.

The third table counts trusted rows that are wrong by more than 1 %, on data that do not follow the
model or hide it: Laplace and t3 sources, and 24 sources in 20 rows.

    python -m benchmarks.robust [--quick] [--n 25 50 100] [--seeds 5] [--runs 100]
                                [--tables sparse dense trust]
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

from benchmarks.timing import one_blas_thread, settings

one_blas_thread()

import numpy as np  # noqa: E402
from picard import picard  # noqa: E402
from picard.densities import Tanh  # noqa: E402
from scipy.signal import lfilter  # noqa: E402
from sklearn.decomposition import FastICA  # noqa: E402

from riemtr.data import align, dictionary_error  # noqa: E402
from riemtr.recovery import recover_dictionary  # noqa: E402

SETTINGS = (
    ("clean", 0.0),
    ("noise", 0.2),
    ("noise", 0.4),
    ("outliers", 0.2),
    ("outliers", 0.4),
    ("corruptions", 0.2),
    ("corruptions", 0.4),
)
THETA = 0.3
STEPS = 200  # of l4 maximisation, the number of the paper


def draw(kind: str, size: float, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the true dictionary and the data of a setting."""
    rng = np.random.default_rng([seed, n])
    p = 400 * n
    A = np.linalg.qr(rng.standard_normal((n, n)))[0]
    Y = A @ (rng.standard_normal((n, p)) * (rng.random((n, p)) < THETA))
    if kind == "noise":
        Y += size * rng.standard_normal(Y.shape)
    elif kind == "outliers":
        Y = np.hstack([Y, rng.standard_normal((n, int(size * p)))])
    elif kind == "corruptions":
        Y += rng.choice([-1.0, 1.0], Y.shape) * (rng.random(Y.shape) < size)
    return A, Y


def error(found: np.ndarray, truth: np.ndarray) -> float:
    """Return 1 - |A'A_found|_4^4 / n, of unit atoms."""
    unit = found / np.linalg.norm(found, axis=0)
    return abs(1.0 - float(np.sum((truth.T @ unit) ** 4)) / len(truth))


def msp(Z: np.ndarray) -> np.ndarray:
    """Return the rows that 200 steps of matching, stretching and projection lead to."""
    rows = np.linalg.qr(np.random.default_rng(0).standard_normal((len(Z), len(Z))))[0]
    for _ in range(STEPS):
        left, _, right = np.linalg.svd((rows @ Z) ** 3 @ Z.T)
        rows = left @ right
    return rows


def peers(Y: np.ndarray) -> dict[str, list[Callable[[], np.ndarray]]]:
    """Return functions that give a dictionary, the variants of each method."""
    values, vectors = np.linalg.eigh(Y @ Y.T / Y.shape[1])
    whiten = (vectors / np.sqrt(values)) @ vectors.T
    back, Z = np.linalg.inv(whiten), whiten @ Y

    def by_picard(ortho: bool, alpha: float) -> Callable[[], np.ndarray]:
        def run() -> np.ndarray:
            _, rows, _ = picard(
                Z,
                ortho=ortho,
                whiten=False,
                centering=False,
                fun=Tanh(params={"alpha": alpha}),
                tol=1e-6,
                max_iter=1000,
                random_state=0,
            )
            return back @ np.linalg.inv(rows)

        return run

    def by_fastica() -> np.ndarray:
        found = FastICA(whiten=False, tol=1e-6, max_iter=1000, random_state=0).fit(Z.T)
        return back @ np.linalg.inv(found.components_)

    return {
        "MSP": [lambda: msp(Y).T, lambda: back @ msp(Z).T],
        "FastICA": [by_fastica],
        "Picard-O": [by_picard(True, 1.0), by_picard(True, 10.0)],
        "Picard": [by_picard(False, 1.0), by_picard(False, 10.0)],
    }


def compare(sizes: list[int], seeds: int) -> None:
    """Print the first table, means over the seeds."""
    names = ("riemtr", "MSP", "FastICA", "Picard-O", "Picard")
    print(f"{'n':>4}  {'setting':<16}" + "".join(f"{name:>18}" for name in names), end="")
    print(f"{'standard error':>16}{'trusted':>9}{'seconds':>9}  least error")
    for n in sizes:
        for kind, size in SETTINGS:
            errors: dict[str, list[float]] = {name: [] for name in names}
            frobenius: dict[str, list[float]] = {name: [] for name in names}
            promised, trusted, seconds, wins = [], 0, [], 0
            for seed in range(seeds):
                A, Y = draw(kind, size, n, seed)
                begin = time.perf_counter()
                found = recover_dictionary(Y, rng=seed)
                seconds.append(time.perf_counter() - begin)
                results = {"riemtr": [found.dictionary]}
                results |= {name: [run() for run in runs] for name, runs in peers(Y).items()}
                for name, dictionaries in results.items():
                    best = min(dictionaries, key=lambda each: error(each, A))
                    errors[name].append(error(best, A))
                    frobenius[name].append(dictionary_error(best, A))
                promised.append(float(np.sqrt(np.mean(found.standard_errors**2))))
                trusted += found.trusted
                others = min(errors[name][-1] for name in names[1:])
                wins += errors["riemtr"][-1] <= others
            label = kind if kind == "clean" else f"{kind} {size}"
            print(f"{n:>4}  {label:<16}", end="")
            for name in names:
                shown = f"{100 * np.mean(errors[name]):.3f} ({100 * np.mean(frobenius[name]):.2f})"
                print(f"{shown:>18}", end="")
            print(
                f"{100 * np.mean(promised):>16.2f}{f'{trusted}/{seeds}':>9}"
                f"{np.median(seconds):>9.2f}  {wins}/{seeds}",
                flush=True,
            )


def sparse(rng: np.random.Generator, n: int, p: int) -> np.ndarray:
    return rng.standard_normal((n, p)) * (rng.random((n, p)) < 0.2)


def between(rng: np.random.Generator, n: int, p: int) -> np.ndarray:
    """Return sources with density exp(-|z|^1.5), between Laplace and Gaussian ones."""
    return rng.choice([-1.0, 1.0], (n, p)) * rng.gamma(1 / 1.5, size=(n, p)) ** (1 / 1.5)


def audio(rng: np.random.Generator, n: int, p: int) -> np.ndarray:
    """Return noise with a memory of some fifty samples, whose loudness changes slowly."""
    slow = lfilter([1.0], [1.0, -0.98], rng.standard_normal((n, p)), axis=1)
    return slow * np.exp(lfilter([0.045], [1.0, -0.999], rng.standard_normal((n, p)), axis=1))


def laplace(rng: np.random.Generator, n: int, p: int) -> np.ndarray:
    return rng.laplace(size=(n, p))


def flat(rng: np.random.Generator, n: int, p: int) -> np.ndarray:
    return rng.uniform(-1.0, 1.0, (n, p))


def skewed(rng: np.random.Generator, n: int, p: int) -> np.ndarray:
    return rng.exponential(size=(n, p)) - 1.0


def gaussian(rng: np.random.Generator, n: int, p: int) -> np.ndarray:
    return rng.standard_normal((n, p))


Draw = Callable[[np.random.Generator, int, int], np.ndarray]
DENSE: dict[str, tuple[tuple[tuple[Draw, int], ...], int]] = {
    "Laplace": (((laplace, 10),), 10_000),
    "between": (((between, 10),), 40_000),
    "flat": (((flat, 10),), 10_000),
    "skewed": (((skewed, 10),), 10_000),
    "peaked and flat": (((laplace, 5), (flat, 5)), 10_000),
    "sparse and flat": (((sparse, 5), (flat, 5)), 10_000),
    "sparse and Laplace": (((sparse, 8), (laplace, 2)), 10_000),
    "one Gaussian": (((sparse, 4), (laplace, 4), (gaussian, 1)), 10_000),
    "audio": (((audio, 3),), 160_000),
    "buried in noise": (((sparse, 10),), 5_000),
    "benchopt 5": (((laplace, 5),), 10_000),
    "benchopt 100": (((laplace, 50), (gaussian, 50)), 10_000),
    "benchopt 200": (((laplace, 100), (gaussian, 100)), 10_000),
}
"""Sources, how many of each kind, and samples."""


def dense_data(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the true dictionary and the data of a setting of dense sources."""
    rng = np.random.default_rng([seed, *name.encode()])
    parts, p = DENSE[name]
    X = np.vstack([draw(rng, n, p) for draw, n in parts])
    X /= X.std(axis=1, keepdims=True)
    A = rng.standard_normal((len(X), len(X)))
    if name != "buried in noise":
        return A, A @ X
    left, _, right = np.linalg.svd(A)
    A = left @ np.diag(np.geomspace(1.0, 1e-2, len(A))) @ right
    Y = A @ X
    return A, Y + 0.05 * np.sqrt(np.mean(Y**2)) * rng.standard_normal(Y.shape)


def amari(W: np.ndarray, A: np.ndarray, Y: np.ndarray) -> float:
    """Return the Amari distance, for rows of variance 1: zero if W A is a permutation."""
    squares = (W @ A / (W @ Y).std(axis=1, keepdims=True)) ** 2
    parts = (np.sum(each.sum(axis=1) / each.max(axis=1) - 1.0) for each in (squares, squares.T))
    return float(sum(parts)) / (2 * len(A))


def ica(Y: np.ndarray) -> dict[str, list[Callable[[], np.ndarray]]]:
    """Return functions that give an unmixing matrix, the variants of each method."""

    def by_picard(ortho: bool, extended: bool) -> Callable[[], np.ndarray]:
        def run() -> np.ndarray:
            whitening, rows, _ = picard(
                Y, ortho=ortho, extended=extended, tol=1e-6, max_iter=1000, random_state=0
            )
            return rows @ whitening

        return run

    def by_fastica(fun: str) -> Callable[[], np.ndarray]:
        def run() -> np.ndarray:
            method = FastICA(whiten="unit-variance", fun=fun, tol=1e-6, max_iter=1000)
            return method.set_params(random_state=0).fit(Y.T).components_

        return run

    return {
        "FastICA": [by_fastica("logcosh"), by_fastica("cube")],
        "Picard-O": [by_picard(True, False), by_picard(True, True)],
        "Picard": [by_picard(False, False), by_picard(False, True)],
    }


def dense(names: list[str], seeds: int) -> None:
    """Print the second table: means over the seeds, and the seconds of each method."""
    methods = ("riemtr", "FastICA", "Picard-O", "Picard")
    print(f"\n{'sources':<20}" + "".join(f"{name:>20}" for name in methods) + "  least")
    for name in names:
        distances: dict[str, list[float]] = {method: [] for method in methods}
        seconds: dict[str, list[float]] = {method: [] for method in methods}
        for seed in range(seeds):
            A, Y = dense_data(name, seed)
            begin = time.perf_counter()
            found = recover_dictionary(Y, rng=seed)
            seconds["riemtr"].append(time.perf_counter() - begin)
            distances["riemtr"].append(amari(found.unmixing, A, Y))
            for method, variants in ica(Y).items():
                outcomes = []
                for variant in variants:
                    begin = time.perf_counter()
                    outcomes.append((amari(variant(), A, Y), time.perf_counter() - begin))
                least, time_taken = min(outcomes)
                distances[method].append(least)
                seconds[method].append(time_taken)
        wins = sum(
            own <= min(others)
            for own, *others in zip(*(distances[method] for method in methods), strict=True)
        )
        print(f"{name:<20}", end="")
        for method in methods:
            shown = f"{np.mean(distances[method]):.3g} ({np.median(seconds[method]):.2f} s)"
            print(f"{shown:>20}", end="")
        print(f"  {wins}/{seeds}", flush=True)


def sources(kind: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return a dictionary of 20 rows and data that are no complete sparse mixture."""
    n, p = 20, int(rng.choice([1200, 6000, 20000]))
    if kind == "24 of 20":
        theta = float(rng.choice([0.05, 0.2]))
        A = rng.standard_normal((n, 24))
        return A, A @ (rng.standard_normal((24, p)) * (rng.random((24, p)) < theta))
    A = rng.standard_normal((n, n))
    drawn = rng.laplace(size=(n, p)) if kind == "Laplace" else rng.standard_t(3, size=(n, p))
    return A, A @ drawn


def false_trust(runs: int) -> None:
    """Print the third table."""
    print(f"\n{'sources':<12}{'runs':>6}{'rows':>7}{'trusted':>9}{'of them wrong':>15}")
    for kind in ("Laplace", "t3", "24 of 20"):
        rows = trusted = wrong = 0
        for seed in range(runs):
            A, Y = sources(kind, np.random.default_rng([seed, len(kind)]))
            found = recover_dictionary(Y, rng=seed)
            units = A / np.linalg.norm(A, axis=0)
            if kind == "24 of 20":
                nearest = np.abs(units.T @ found.dictionary).max(axis=0)
            else:
                match = align(found.dictionary, A)
                nearest = np.empty(len(found.atoms))
                nearest[match.permutation] = match.correlations
            for atom, cosine in zip(found.atoms, nearest, strict=True):
                rows += 1
                trusted += atom.trusted
                wrong += atom.trusted and np.sqrt(max(2.0 - 2.0 * cosine, 0.0)) > 0.01
        print(f"{kind:<12}{runs:>6}{rows:>7}{trusted:>9}{wrong:>15}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="n = 10, 1 seed, 2 runs")
    parser.add_argument("--n", type=int, nargs="+", default=[25, 50, 100])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=100)
    tables = ("sparse", "dense", "trust")
    parser.add_argument("--tables", nargs="+", choices=tables, default=tables)
    parser.add_argument("--sources", nargs="+", choices=DENSE, default=list(DENSE))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # of ICA that did not converge
    print(settings())
    quick = arguments.quick
    seeds = 1 if quick else arguments.seeds
    if "sparse" in arguments.tables:
        compare([10] if quick else arguments.n, seeds)
    if "dense" in arguments.tables:
        dense(["benchopt 5"] if quick else arguments.sources, seeds)
    if "trust" in arguments.tables:
        false_trust(2 if quick else arguments.runs)


if __name__ == "__main__":
    main()
