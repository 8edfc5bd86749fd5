"""The registered problems: are solutions certified and global, and who finds them first?

For each problem, at each of the zoo's two sizes, riemtr's method and pymanopt's TrustRegions and
ConjugateGradient go from the same start to a gradient norm of 1e-6, with the same costs and the
same manifolds. Before that, each small problem is solved from many seeds: how many solutions are
certified as strict minimizers, and how many are the known minimum, or proved global by a bound?

    python -m benchmarks.catalogue [--quick] [NAME ...]
"""

from __future__ import annotations

import argparse
import math
import statistics
from typing import Any, NamedTuple

from benchmarks.timing import one_blas_thread, settings

one_blas_thread()

from pymanopt.optimizers import ConjugateGradient, TrustRegions  # noqa: E402

import riemtr  # noqa: E402
from riemtr.interop.pymanopt import PymanoptSolver  # noqa: E402
from riemtr.problems import Case, build  # noqa: E402
from riemtr.problems.zoo import SIZES  # noqa: E402

TOLERANCE = 1e-6
LONGEST = 20.0
# Relative excess over the known minimum, or over a bound, of a point that is a global minimizer.
SAME = 1e-6


class Tally(NamedTuple):
    """How many of the runs ended how."""

    runs: int
    strict: int
    known: int
    lowest: int


def judged(case: Case, result: riemtr.Result) -> bool | None:
    """Whether a result is the global minimum; None where nobody knows."""
    size = max(1.0, abs(result.cost))
    if case.truth.cost is not None:
        return result.cost <= case.truth.cost + SAME * size
    gap = result.certificate.gap
    return None if gap is None else gap <= SAME * size or None


def tally(name: str, seeds: int) -> Tally:
    strict, verdicts = 0, []
    for seed in range(seeds):
        case = build(name, rng=seed, **SIZES[name]["small"])
        result = riemtr.PracticalTRM().solve(case.problem, case.start, rng=seed)
        strict += result.certificate.verdict == "minimizer" and result.certificate.strict
        verdicts.append(judged(case, result))
    known = [verdict for verdict in verdicts if verdict is not None]
    return Tally(seeds, strict, len(known), sum(known))


def solvers() -> dict[str, Any]:
    limits = {"verbosity": 0, "min_gradient_norm": TOLERANCE, "max_time": LONGEST}
    limits["max_iterations"] = 10**6
    ours = {"tolerance": TOLERANCE, "max_seconds": LONGEST}
    return {
        "certified": riemtr.PracticalTRM(**ours),
        "first order": riemtr.PracticalTRM(goal="first-order", **ours),
        "TrustRegions": PymanoptSolver(TrustRegions(**limits)),
        "ConjugateGradient": PymanoptSolver(ConjugateGradient(**limits)),
    }


def raced(entrants: dict[str, Any], case: Case, repeats: int) -> dict[str, float]:
    """Median times to the tolerance, all solvers in turn; infinite where it is not reached."""
    times: dict[str, list[float]] = {name: [] for name in entrants}
    for _ in range(repeats):
        for name, solver in entrants.items():
            result = solver.solve(case.problem, case.start, rng=0)
            reached = result.gradient_norm <= TOLERANCE * (1.0 + 1e-9)
            times[name].append(result.seconds if reached else math.inf)
    return {name: statistics.median(each) for name, each in times.items()}


def race(names: list[str], size: str, repeats: int) -> None:
    entrants = solvers()
    print(f"\n{size:<26}" + "".join(f"{name:>19}" for name in entrants) + "   peer / first order")
    ratios = []
    for name in names:
        case = build(name, rng=0, **SIZES[name][size])
        times = raced(entrants, case, repeats)
        best = min(times["TrustRegions"], times["ConjugateGradient"])
        ratios.append(best / times["first order"])
        cells = (f"{1e3 * one:>16.2f} ms" for one in times.values())
        print(f"{name:<26}" + "".join(cells) + f"{ratios[-1]:>12.2f}", flush=True)
    finite = [ratio for ratio in ratios if 0.0 < ratio < math.inf]
    mean = math.exp(statistics.fmean(map(math.log, finite)))
    print(
        f"geometric mean of the better peer's time over ours: {mean:.2f} ({len(finite)} problems)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few seeds, small sizes only")
    parser.add_argument("names", nargs="*", help="which problems; all if none")
    arguments = parser.parse_args()
    names = arguments.names or list(SIZES)
    print(settings())
    print(f"\n{'problem':<26}{'certified, strict':>20}{'global, of known':>20}")
    tallies = {name: tally(name, 2 if arguments.quick else 40) for name in names}
    for name, found in tallies.items():
        strict, lowest = f"{found.strict}/{found.runs}", f"{found.lowest}/{found.known}"
        print(f"{name:<26}{strict:>20}{lowest:>20}")
    runs, strict, known, lowest = (sum(column) for column in zip(*tallies.values(), strict=True))
    print(f"{'in all':<26}{f'{strict}/{runs}':>20}{f'{lowest}/{known}':>20}")
    for size in ("small",) if arguments.quick else ("small", "large"):
        race(names, size, 1 if arguments.quick else 3)


if __name__ == "__main__":
    main()
