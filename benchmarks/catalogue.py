"""The registered problems: are solutions certified and global, and who finds them first?

For each problem, at each of the zoo's two sizes, riemtr's PracticalTRM, LBFGS and ARC (with and
without certification), pymanopt's TrustRegions and ConjugateGradient and SciPy's L-BFGS-B (where it
applies) go from the same start to a gradient norm of 1e-6, with the same costs and the same
manifolds. Ratios are the fastest peer's time over that of riemtr's fastest method. Before that,
each small problem is solved from many seeds: how many solutions are certified as strict minimizers,
and how many are the known minimum, or proved global by a bound?

    python -m benchmarks.catalogue [--quick] [NAME ...]
"""

from __future__ import annotations

import argparse
import math
import statistics
from typing import Any, NamedTuple

from benchmarks.timing import geometric_mean, one_blas_thread, settings

one_blas_thread()

from pymanopt.optimizers import ConjugateGradient, TrustRegions  # noqa: E402

import riemtr  # noqa: E402
from riemtr.errors import DoesNotApply  # noqa: E402
from riemtr.interop.pymanopt import PymanoptSolver  # noqa: E402
from riemtr.problems import Case, build  # noqa: E402
from riemtr.problems.zoo import SIZES  # noqa: E402
from riemtr.solvers import ScipyLBFGSB  # noqa: E402

TOLERANCE = 1e-6
LONGEST = 20.0
# Relative excess over the known minimum, or over a bound, of a point that is a global minimizer.
SAME = 1e-6
# Factor of the fastest peer's time within which riemtr is level with it.
WITHIN = 1.3


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
    found: dict[str, Any] = {}
    for goal in ("second-order", "first-order"):
        for kind in (riemtr.PracticalTRM, riemtr.LBFGS, riemtr.ARC):
            found[f"{kind.__name__} {goal}"] = kind(goal=goal, **ours)
    found["TrustRegions"] = PymanoptSolver(TrustRegions(**limits))
    found["ConjugateGradient"] = PymanoptSolver(ConjugateGradient(**limits))
    found["L-BFGS-B"] = ScipyLBFGSB(**ours)
    return found


class Race(NamedTuple):
    """Median times to the tolerance, infinite where it was not reached, and who is certified."""

    times: dict[str, float]
    certified: set[str]

    def best(self, ending: str) -> str:
        """The fastest of riemtr's methods with a goal."""
        return min((name for name in self.times if name.endswith(ending)), key=self.times.get)  # type: ignore[arg-type]


def raced(entrants: dict[str, Any], case: Case, repeats: int) -> Race:
    """Run all solvers in turn from one start."""
    times: dict[str, list[float]] = {name: [] for name in entrants}
    certified = set()
    for _ in range(repeats):
        for name, solver in entrants.items():
            try:
                result = solver.solve(case.problem, case.start, rng=0)
            except DoesNotApply:
                times[name].append(math.inf)
                continue
            reached = result.gradient_norm <= TOLERANCE * (1.0 + 1e-9)
            times[name].append(result.seconds if reached else math.inf)
            if name.endswith("second-order") and result.certified:
                certified.add(name)
    return Race({name: statistics.median(each) for name, each in times.items()}, certified)


def race(names: list[str], size: str, repeats: int) -> None:
    entrants = solvers()
    print(
        f"\n{size + ', times in ms':<26}{'certified by':>22}{'first order by':>22}{'TR':>9}"
        f"{'CG':>9}{'L-BFGS-B':>10}   {'peer/certified':>15}{'peer/first':>12}"
        f"{'pymanopt/first':>16}{'CG/LBFGS':>10}"
    )
    ratios: dict[str, list[float]] = {}
    for name in names:
        case = build(name, rng=0, **SIZES[name][size])
        run = raced(entrants, case, repeats)
        times = run.times
        full, first = run.best("second-order"), run.best("first-order")
        pymanopt = min(times["TrustRegions"], times["ConjugateGradient"])
        peer = min(pymanopt, times["L-BFGS-B"])
        row = {
            "peer/certified": peer / times[full] if full in run.certified else 0.0,
            "peer/first": peer / times[first],
            "pymanopt/first": pymanopt / times[first],
            "CG/LBFGS": times["ConjugateGradient"] / times["LBFGS first-order"],
        }
        for key, value in row.items():
            ratios.setdefault(key, []).append(value)
        cells = [f"{1e3 * times[one]:.2f} {one.split()[0]}" for one in (full, first)]
        peers = (times[one] for one in ("TrustRegions", "ConjugateGradient", "L-BFGS-B"))
        print(
            f"{name:<26}{cells[0]:>22}{cells[1]:>22}"
            + "".join(
                f"{1e3 * one:>{width}.2f}" for one, width in zip(peers, (9, 9, 10), strict=True)
            )
            + f"   {row['peer/certified']:>15.2f}{row['peer/first']:>12.2f}"
            f"{row['pymanopt/first']:>16.2f}{row['CG/LBFGS']:>10.2f}",
            flush=True,
        )
    for key, values in ratios.items():
        behind = [f"{n} {v:.2f}" for n, v in zip(names, values, strict=True) if v < 1.0 / WITHIN]
        below = ", ".join(behind) or "none"
        finite = [value for value in values if 0.0 < value < math.inf]
        mean = f"{geometric_mean(finite):.2f} ({len(finite)} problems)"
        print(f"{key}: geometric mean {mean}; below 1/{WITHIN}: {below}")


def survey(names: list[str], seeds: int) -> None:
    print(f"\n{'problem':<26}{'certified, strict':>20}{'global, of known':>20}")
    tallies = {name: tally(name, seeds) for name in names}
    for name, found in tallies.items():
        strict, lowest = f"{found.strict}/{found.runs}", f"{found.lowest}/{found.known}"
        print(f"{name:<26}{strict:>20}{lowest:>20}")
    runs, strict, known, lowest = (sum(column) for column in zip(*tallies.values(), strict=True))
    print(f"{'in all':<26}{f'{strict}/{runs}':>20}{f'{lowest}/{known}':>20}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few seeds, small sizes only")
    parser.add_argument("--race", action="store_true", help="only the race, no seeds")
    parser.add_argument("names", nargs="*", help="which problems; all if none")
    arguments = parser.parse_args()
    names = arguments.names or list(SIZES)
    print(settings())
    if not arguments.race:
        survey(names, 2 if arguments.quick else 40)
    for size in ("small",) if arguments.quick else ("small", "large"):
        race(names, size, 1 if arguments.quick else 3)


if __name__ == "__main__":
    main()
