"""What a recovery states of its rows, against the truth, over many kinds of data.

Each family draws data whose dictionary is known. A row counts as wrong if it is trusted and its
atom is off by more than four stated standard errors, or, for a proved row, if the row or its atom
is off by more than 1e-5 and by more than the errors that are stated. A recovery counts as wrong if
it is trusted as a whole and one of its atoms is off by more than 1 %. The last column has the share
of the right rows, to 1 %, that are doubted: in families of the paper's own model the claim is that
it is small.

Families that are not complete have more sources than rows, or values that hide which of them are
right; there a trusted row counts in the first claim only.

    python -m benchmarks.trust [--quick] [--runs 100] [--family NAME ...] [--seed 0] [-j 2]

The script ends with exit code 1 if a claim fails: at most 0.1 % of the trusted rows wrong, no
recovery of complete data trusted and wrong, at most 5 % of the right rows of the model doubted.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields
from functools import partial
from types import SimpleNamespace
from typing import Any

from benchmarks.timing import one_blas_thread, settings

one_blas_thread()

import numpy as np  # noqa: E402
from scipy.optimize import linear_sum_assignment  # noqa: E402
from scipy.signal import lfilter  # noqa: E402

from riemtr.recovery import Recovery, recover_dictionary  # noqa: E402

Random = np.random.Generator
Sample = tuple[np.ndarray, np.ndarray]
"""The true dictionary and the data."""

DEVIATIONS = 4.0
EXACT = 1e-5
WRONG = 0.01
WRONG_ROWS, DOUBTED_ROWS = 0.001, 0.05

# --- sources --------------------------------------------------------------------------------------


def sparse(rng: Random, n: int, p: int, theta: float = 0.2) -> np.ndarray:
    return rng.standard_normal((n, p)) * (rng.random((n, p)) < theta)


def generalised(rng: Random, n: int, p: int, power: float) -> np.ndarray:
    """Return rows with density exp(-|z|^power): 1 is Laplace, 2 Gaussian, above flat."""
    return rng.choice([-1.0, 1.0], (n, p)) * rng.gamma(1.0 / power, size=(n, p)) ** (1.0 / power)


def uniform(rng: Random, n: int, p: int) -> np.ndarray:
    return rng.uniform(-1.0, 1.0, (n, p))


def audio(rng: Random, n: int, p: int) -> np.ndarray:
    """Return resonances excited by noise whose loudness changes slowly over two decades."""
    rows = []
    for _ in range(n):
        angle, radius = rng.uniform(0.05, 0.6), 0.97
        tone = lfilter([1.0], [1.0, -2.0 * radius * np.cos(angle), radius**2], _noise(rng, p))
        loud = lfilter([0.045], [1.0, -0.999], _noise(rng, p))
        rows.append(tone * np.exp(loud))
    return np.array(rows)


def eeg(rng: Random, n: int, p: int) -> np.ndarray:
    """Return pink noise of slowly changing size, as rhythms have, and one row of blinks."""
    rows = [np.convolve(rng.random(p) < 0.003, np.hanning(60), "same")]
    for _ in range(n - 1):
        slow = lfilter([1.0], [1.0, -rng.uniform(0.8, 0.95)], _noise(rng, p))
        size = np.exp(lfilter([0.05], [1.0, -0.995], _noise(rng, p)))
        rows.append(slow * size)
    return np.array(rows)


def _noise(rng: Random, p: int) -> np.ndarray:
    return rng.standard_normal(p)


# --- families -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Family:
    """Data of one kind.

    Parameters
    ----------
    draw : callable
        From a random generator, the true dictionary and the data.
    complete : bool
        Whether there are as many sources as rows, and samples tell them apart.
    model : bool
        Whether all sources are sparse, so that right rows are to be trusted.
    rank : str, optional
        What the recovery is told of the rank.
    """

    draw: Callable[[Random], Sample]
    complete: bool = True
    model: bool = False
    rank: str | None = None


def mixed(
    rng: Random,
    sources: Iterable[Callable[[Random, int, int], np.ndarray]],
    counts: Iterable[int],
    p: int,
    *,
    noise: float = 0.0,
    digits: int | None = None,
    offset: float = 0.0,
    extra: int = 0,
    single: bool = False,
) -> Sample:
    """Return a random dictionary and the mixture of sources, each of mean square 1.

    ``noise`` is relative to the size of the data, as is ``offset``; ``digits`` are decimals of data
    of size 1, and ``extra`` rows are combinations of the others.
    """
    X = np.vstack([draw(rng, n, p) for draw, n in zip(sources, counts, strict=True)])
    X = X / np.sqrt(np.mean(X**2, axis=1, keepdims=True))
    A = rng.standard_normal((len(X) + extra, len(X)))
    Y = A @ X
    Y = Y / np.sqrt(np.mean(Y**2))
    Y = Y + noise * rng.standard_normal(Y.shape) + offset * rng.standard_normal((len(Y), 1))
    Y = Y if digits is None else Y.round(digits)
    return A, Y.astype(np.float32) if single else Y


def model(theta: float = 0.2, n: int = 8, p: int = 3000, **options) -> Callable[[Random], Sample]:
    """Return who draws the paper's own model."""
    return partial(mixed, sources=[partial(sparse, theta=theta)], counts=[n], p=p, **options)


def beside(
    dense: Callable[[Random, int, int], np.ndarray], counts: tuple[int, int], p: int, **options
) -> Callable[[Random], Sample]:
    """Return who draws sparse and other sources in one mixture."""
    return partial(mixed, sources=[sparse, dense], counts=counts, p=p, **options)


def only(
    source: Callable[[Random, int, int], np.ndarray], n: int, p: int, **options
) -> Callable[[Random], Sample]:
    """Return who draws sources of one kind."""
    return partial(mixed, sources=[source], counts=[n], p=p, **options)


def signs(rng: Random, n: int, p: int, theta: float) -> np.ndarray:
    return rng.choice([-1.0, 1.0], (n, p)) * (rng.random((n, p)) < theta)


def gains(rng: Random, n: int, p: int, theta: float = 0.4) -> np.ndarray:
    """Return signs times one gain per sample."""
    return signs(rng, n, p, theta) * rng.standard_normal(p)


def together(rng: Random, n: int, p: int, group: int, theta: float = 0.1) -> np.ndarray:
    """Return rows that are active in groups."""
    active = np.repeat(rng.random((n // group, p)) < theta, group, axis=0)
    return active * rng.standard_normal((n, p))


def subsampled(rng: Random, n: int, p: int) -> np.ndarray:
    return audio(rng, n, 50 * p)[:, ::50]


def compositional(rng: Random) -> Sample:
    """Return sparse shares that add up to 1 in every sample."""
    A = rng.gamma(1.0, size=(6, 6))
    Y = A @ (rng.gamma(1.0, size=(6, 2000)) * (rng.random((6, 2000)) < 0.3) + 1e-9)
    return A, Y / Y.sum(axis=0)


def overcomplete(rng: Random, n: int, sources: int, p: int, theta: float, noise: float) -> Sample:
    A = rng.standard_normal((n, sources))
    return A, A @ sparse(rng, sources, p, theta) + noise * rng.standard_normal((n, p))


def student(rng: Random, n: int, p: int, degrees: float) -> np.ndarray:
    return rng.standard_t(degrees, (n, p))


laplace = partial(generalised, power=1.0)
gaussian = partial(generalised, power=2.0)

FAMILIES: dict[str, Family] = {
    "sparse .05": Family(model(0.05), model=True),
    "sparse .2": Family(model(), model=True),
    "sparse .4": Family(model(0.4, p=6000), model=True),
    "sparse, few samples": Family(model(0.15, p=150), model=True),
    "sparse, float32": Family(model(single=True), model=True),
    **{f"noise 1e-{k}": Family(model(noise=10.0**-k), model=True) for k in (8, 7, 6, 5, 4, 3)},
    "noise 3e-3": Family(model(noise=3e-3), model=True),
    "noise 1e-2": Family(model(noise=1e-2)),
    "noise 5e-2, many": Family(model(n=5, p=40000, noise=5e-2)),
    **{f"{k} decimals": Family(model(digits=k), model=True) for k in (3, 4, 5, 6, 7)},
    "offset 10": Family(model(offset=10.0), model=True),
    "offset, 6 decimals": Family(model(offset=3.0, digits=6), model=True),
    "rank 6 of 10": Family(model(n=6, extra=4), model=True, rank="auto"),
    "rank 6 of 10, noise": Family(model(n=6, extra=4, noise=1e-3)),
    "one Laplace": Family(beside(laplace, (4, 1), 3000)),
    "one Laplace, noise": Family(beside(laplace, (4, 1), 3000, noise=1e-3)),
    "one Laplace of 10": Family(beside(laplace, (9, 1), 3000, noise=1e-3)),
    "one Gaussian, noise": Family(beside(gaussian, (4, 1), 3000, noise=1e-3)),
    "one uniform, noise": Family(beside(uniform, (4, 1), 3000, noise=1e-3)),
    "one Laplace, long": Family(beside(laplace, (4, 1), 100000, noise=1e-3)),
    "half Laplace": Family(beside(laplace, (3, 3), 20000, noise=1e-3)),
    "half uniform": Family(beside(uniform, (3, 3), 20000)),
    "two Gaussian": Family(beside(gaussian, (4, 2), 5000, noise=1e-3)),
    "all Laplace": Family(only(laplace, 4, 100000)),
    "all uniform": Family(only(uniform, 4, 50000)),
    "all between": Family(only(partial(generalised, power=1.5), 4, 50000)),
    "all Gaussian": Family(only(gaussian, 5, 5000)),
    "audio": Family(only(audio, 3, 40000)),
    "audio, noise": Family(only(audio, 3, 40000, noise=1e-3)),
    "audio, subsampled": Family(only(subsampled, 3, 2000)),
    "EEG, offset": Family(only(eeg, 6, 15000, offset=10.0)),
    "signs": Family(only(partial(signs, theta=0.3), 6, 1000)),
    "binary": Family(only(lambda rng, n, p: 1.0 * (rng.random((n, p)) < 0.3), 6, 1000)),
    "signs, noise": Family(only(partial(signs, theta=0.3), 6, 3000, noise=1e-2)),
    "gains, 20 samples": Family(only(gains, 3, 20)),
    "gains, 60 samples": Family(only(partial(gains, theta=0.35), 6, 60)),
    "gains, 1000 samples": Family(only(gains, 6, 1000)),
    "pairs, 240 samples": Family(only(partial(together, group=2), 6, 240)),
    "pairs, 3000 samples": Family(only(partial(together, group=2), 6, 3000)),
    "triples": Family(only(partial(together, group=3), 6, 1000)),
    "7 in 5": Family(lambda rng: overcomplete(rng, 5, 7, 1000, 0.2, 0.0), complete=False),
    "4 in 3, noise": Family(lambda rng: overcomplete(rng, 3, 4, 500, 0.2, 1e-2), complete=False),
    "11 in 10": Family(lambda rng: overcomplete(rng, 10, 11, 2000, 0.1, 1e-3), complete=False),
    "Student 3": Family(only(partial(student, degrees=3.0), 5, 20000)),
    "Cauchy": Family(only(partial(student, degrees=1.0), 5, 3000)),
    "Poisson": Family(only(lambda rng, n, p: 1.0 * rng.poisson(0.3, (n, p)), 5, 3000)),
    "nonnegative": Family(only(lambda rng, n, p: np.abs(sparse(rng, n, p)), 8, 3000), model=True),
    "compositional": Family(compositional, complete=False),
}

QUICK = ("sparse .2", "noise 1e-5", "one Laplace, noise", "gains, 60 samples", "4 in 3, noise")

# --- counting -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Count:
    """What came of some recoveries."""

    runs: int = 0
    rows: int = 0
    proved: int = 0
    plausible: int = 0
    wrong_proved: int = 0
    wrong_plausible: int = 0
    above: int = 0
    trusted: int = 0
    wrong: int = 0
    right: int = 0
    doubted: int = 0
    failed: int = 0
    seconds: float = 0.0

    def __add__(self, other: Count) -> Count:
        return Count(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(Count)))


def atom_errors(dictionary: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the error of each atom, relative to its length, and which true atom it is."""
    atoms = dictionary.astype(float)
    atoms, truth = (each / np.linalg.norm(each, axis=0) for each in (atoms, A))
    cosines = atoms.T @ truth
    rows, match = linear_sum_assignment(np.abs(cosines), maximize=True)
    signs = np.sign(cosines[rows, match])
    errors = np.full(atoms.shape[1], np.inf)
    errors[rows] = np.linalg.norm(atoms[:, rows] * signs - truth[:, match], axis=0)
    numbers = np.zeros(atoms.shape[1], dtype=int)
    numbers[rows] = match
    return errors, numbers


def row_errors(found: Any, A: np.ndarray, match: np.ndarray) -> np.ndarray:
    """Return what share of each row of X is not its source."""
    mixing = found.unmixing.astype(float) @ A
    others = np.linalg.norm(mixing, axis=1)
    own = mixing[np.arange(len(mixing)), match]
    mixing[np.arange(len(mixing)), match] = 0.0
    return np.where(own == 0.0, np.inf, np.linalg.norm(mixing, axis=1) / np.maximum(others, 1e-300))


def without_offset(found: Recovery, A: np.ndarray, Y: np.ndarray) -> Any:
    """Return the same recovery without an offset if the sources themselves make the constant.

    Of parts of a whole, 1 = s'X: an offset b is then the same as the multiples b s' of the rows.
    """
    if found.offset is None:
        return found
    X = np.linalg.lstsq(A, Y, rcond=None)[0]
    shares = np.linalg.lstsq(X.T, np.ones(X.shape[1]), rcond=None)[0]
    if np.abs(shares @ X - 1.0).max() > EXACT:
        return found
    unmixing = found.unmixing @ (np.eye(len(A)) - np.outer(found.offset, shares) @ np.linalg.inv(A))
    of_atoms = np.array([shares[k] for k in np.abs(unmixing @ A).argmax(axis=1)])
    return SimpleNamespace(
        dictionary=found.dictionary / _units(unmixing @ A) + np.outer(found.offset, of_atoms),
        unmixing=unmixing,
        standard_errors=found.standard_errors,
        condition_number=found.condition_number,
        atoms=found.atoms,
        trusted=found.trusted,
        seconds=found.seconds,
    )


def _units(mixing: np.ndarray) -> np.ndarray:
    """Return the multiples of the sources that rows are."""
    return 1.0 / mixing[np.arange(len(mixing)), np.abs(mixing).argmax(axis=1)]


def judge(found: Any, A: np.ndarray, family: Family) -> Count:
    errors, match = atom_errors(found.dictionary, A)
    off = row_errors(found, A, match)
    rounding = float(np.finfo(found.dictionary.dtype).eps) * found.condition_number
    exact = max(EXACT, rounding)
    stated = np.nan_to_num(found.standard_errors, nan=0.0)
    beyond = errors > np.maximum(DEVIATIONS * stated, exact)
    proved = np.array([atom.verdict == "proved" for atom in found.atoms])
    trusted = np.array([atom.trusted for atom in found.atoms])
    right = errors <= WRONG
    return Count(
        runs=1,
        rows=len(trusted),
        proved=int(proved.sum()),
        plausible=int((trusted & ~proved).sum()),
        wrong_proved=int(
            (
                proved
                & ((off > np.maximum(DEVIATIONS * stated.max(), exact)) | (trusted.all() & beyond))
            ).sum()
        ),
        wrong_plausible=int((trusted & ~proved & beyond).sum()),
        above=int((trusted & ~right & (trusted.all() | ~proved)).sum()),
        trusted=int(found.trusted),
        wrong=int(found.trusted and not right.all()),
        right=int(right.sum()),
        doubted=int((right & ~trusted).sum()),
        seconds=found.seconds,
    )


def run(task: tuple[str, int]) -> Count:
    """Draw, recover and judge once."""
    name, seed = task
    warnings.simplefilter("ignore")
    family = FAMILIES[name]
    A, Y = family.draw(np.random.default_rng([seed, *name.encode()]))
    try:
        found = recover_dictionary(Y, rng=seed, rank=family.rank)
    except ValueError as error:
        print(f"{name}, seed {seed}: {error}", file=sys.stderr)
        return Count(runs=1, failed=1)
    return judge(without_offset(found, A, Y), A, family)


# --- the table ------------------------------------------------------------------------------------


def share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else ""


def line(name: str, count: Count) -> str:
    cells = (
        f"{count.proved}",
        f"{count.plausible}",
        f"{count.wrong_proved}",
        f"{count.wrong_plausible}",
        f"{count.above}",
        f"{count.trusted}",
        f"{count.wrong}",
        share(count.doubted, count.right),
        f"{count.seconds / max(count.runs - count.failed, 1):.2f}",
        f"{count.failed} refused" if count.failed else "",
    )
    widths = (8, 10, 9, 9, 7, 9, 7, 9, 8, 12)
    shown = "".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
    return f"{name:<22}{count.runs:>5}{count.rows:>7}{shown}"


HEADER = (
    f"{'family':<22}{'runs':>5}{'rows':>7}{'proved':>8}{'plausible':>10}{'wrong':>9}{'wrong':>9}"
    f"{'>1 %':>7}{'trusted':>9}{'wrong':>7}{'doubted':>9}{'seconds':>8}"
)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="five families, 2 runs")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--family", nargs="+", choices=FAMILIES, metavar="NAME")
    parser.add_argument("--seed", type=int, default=0, help="the first of the seeds")
    parser.add_argument("-j", "--jobs", type=int, default=1)
    arguments = parser.parse_args()
    names = arguments.family or (QUICK if arguments.quick else list(FAMILIES))
    seeds = range(arguments.seed, arguments.seed + (2 if arguments.quick else arguments.runs))
    print(settings())
    print(HEADER)
    counts: dict[str, Count] = {}
    with ProcessPoolExecutor(arguments.jobs) as pool:
        begin = time.perf_counter()
        for name in names:
            outcomes = pool.map(run, [(name, seed) for seed in seeds])
            counts[name] = sum(outcomes, start=Count())
            print(line(name, counts[name]), flush=True)
    print(f"{time.perf_counter() - begin:.0f} s")
    return conclude(counts)


def conclude(counts: dict[str, Count]) -> int:
    """Print the claims with what was seen, and return the exit code."""
    everything = sum(counts.values(), start=Count())
    of_model = sum((counts[name] for name in counts if FAMILIES[name].model), start=Count())
    of_complete = sum((counts[name] for name in counts if FAMILIES[name].complete), start=Count())
    rows = everything.proved + everything.plausible
    wrong = everything.wrong_proved + everything.wrong_plausible
    claims = (
        (
            f"{wrong} of {rows} trusted rows wrong ({share(wrong, rows)})",
            wrong <= WRONG_ROWS * rows,
        ),
        (
            f"{of_complete.wrong} of {of_complete.trusted} trusted recoveries of complete data "
            f"wrong by over {WRONG:.0%}",
            of_complete.wrong == 0,
        ),
        (
            f"{of_model.doubted} of {of_model.right} right rows of the model doubted "
            f"({share(of_model.doubted, of_model.right)})",
            of_model.doubted <= DOUBTED_ROWS * of_model.right,
        ),
        (f"{everything.failed} of {everything.runs} data sets refused", everything.failed == 0),
    )
    for text, holds in claims:
        print(f"{'holds' if holds else 'FAILS'}: {text}")
    return 0 if all(holds for _, holds in claims) else 1


if __name__ == "__main__":
    raise SystemExit(main())
