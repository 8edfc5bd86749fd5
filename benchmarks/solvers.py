"""L-BFGS against pymanopt's conjugate gradients where there is no Hessian.

Each problem of :mod:`benchmarks.zoo_problems`, without its Hessian, is solved to a gradient norm of
1e-6 from one start, by solvers that get the same plain numpy functions:

- "CG": pymanopt's ConjugateGradient (at most 60 s);
- "LBFGS": ``riemtr.LBFGS``, to first order as CG is;
- "TRM": ``riemtr.PracticalTRM`` to first order, with differences of gradients for the Hessian.

"CG/LBFGS" and "CG/TRM" are ratios of times, above 1 where riemtr is faster; "gradients" are those
of CG and of LBFGS. Notes say where a gradient norm of 1e-6 was not reached, and where an end is
worse than another by 1e-6 of the fall from the start.

    python -m benchmarks.solvers [--quick] [--only NAME ...] [--large] [--repeats 3]
"""

from __future__ import annotations

import argparse
import copy
import statistics
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from benchmarks.timing import geometric_mean, interleaved, one_blas_thread, settings

one_blas_thread()

import numpy as np  # noqa: E402
from pymanopt.optimizers import ConjugateGradient  # noqa: E402

import riemtr  # noqa: E402
from benchmarks.zoo_problems import ZOO, Pair  # noqa: E402

TOLERANCE = 1e-6
MAX_SECONDS = 60.0
# Share of the fall of the cost from the start by which an end is worse than another.
WORSE = 1e-6
# Seconds that one round of all solvers may take for there to be another.
ROUND = 20.0
CG, LBFGS, TRM = "CG", "LBFGS", "TRM"


class End(NamedTuple):
    """Where a solver ended, and how many gradients it took."""

    cost: float
    gradient_norm: float
    gradients: int


def without_hessian(problem: riemtr.Problem) -> riemtr.Problem:
    """Return the same problem with differences of gradients in place of its Hessian."""
    plain = copy.copy(problem)
    plain.derivatives = replace(problem.derivatives, hessian="differences")
    return plain


def by_pymanopt(pair: Pair) -> End:
    optimizer = ConjugateGradient(
        verbosity=0,
        min_gradient_norm=TOLERANCE,
        max_iterations=10**6,
        max_time=MAX_SECONDS,
        max_cost_evaluations=10**9,
    )
    result = optimizer.run(pair.theirs, initial_point=pair.start)
    return End(float(result.cost), float(result.gradient_norm), int(result.iterations) + 1)


def by_riemtr(solver: riemtr.TrustRegion, problem: riemtr.Problem, pair: Pair) -> End:
    result = solver.solve(problem, pair.start)
    return End(result.cost, result.gradient_norm, result.counts.gradients)


def tasks(pair: Pair) -> dict[str, Callable[[], End]]:
    plain = without_hessian(pair.ours)
    options = {"tolerance": TOLERANCE, "goal": "first-order", "max_seconds": MAX_SECONDS}
    lbfgs, trm = riemtr.LBFGS(**options), riemtr.PracticalTRM(**options)
    return {
        CG: lambda: by_pymanopt(pair),
        LBFGS: lambda: by_riemtr(lbfgs, plain, pair),
        TRM: lambda: by_riemtr(trm, plain, pair),
    }


def notes(ends: dict[str, End], start: float) -> str:
    """Say which ends are no good."""
    lowest = min(end.cost for end in ends.values())
    said = []
    for name, end in ends.items():
        if end.cost - lowest > WORSE * abs(start - lowest):
            said.append(f"{name} ends higher")
        if not end.gradient_norm <= TOLERANCE:
            said.append(f"{name} stops at {end.gradient_norm:.0e}")
    return "; ".join(said)


def measure(pair: Pair, repeats: int) -> tuple[dict[str, float], dict[str, End]]:
    """Time the solvers in turn; only once where that takes long."""
    rounds: dict[str, list[float]] = {name: [] for name in (CG, LBFGS, TRM)}
    for _ in range(repeats):
        seconds, ends = interleaved(tasks(pair), 1)
        for name, taken in seconds.items():
            rounds[name].append(taken)
        if sum(seconds.values()) > ROUND:
            break
    return {name: statistics.median(taken) for name, taken in rounds.items()}, ends


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, one repeat")
    parser.add_argument("--only", nargs="+", metavar="NAME", help=f"some of: {', '.join(ZOO)}")
    parser.add_argument("--large", action="store_true", help="about ten times larger")
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    unknown = set(arguments.only or ()) - set(ZOO)
    if unknown:
        parser.error(f"no problem {', '.join(sorted(unknown))}; there are {', '.join(ZOO)}")
    size = "quick" if arguments.quick else "large" if arguments.large else "standard"
    repeats = 1 if arguments.quick else arguments.repeats
    print(settings())
    print(f"\n{size} sizes, no Hessian, gradient norm {TOLERANCE:.0e}, medians of {repeats} rounds")
    heads = ("CG s", "LBFGS s", "TRM s", "CG/LBFGS", "CG/TRM", "gradients")
    widths = (10, 10, 10, 10, 9, 14)
    titles = zip(heads, widths, strict=True)
    print(f"{'problem':<24}" + "".join(f"{head:>{n}}" for head, n in titles))
    ratios: dict[str, list[float]] = {LBFGS: [], TRM: []}
    for name in arguments.only or ZOO:
        pair = ZOO[name].pair(size)
        with np.errstate(all="ignore"):
            seconds, ends = measure(pair, repeats)
        for solver, found in ratios.items():
            found.append(seconds[CG] / seconds[solver])
        times = "".join(f"{seconds[solver]:>10.4f}" for solver in (CG, LBFGS, TRM))
        counted = f"{ends[CG].gradients} / {ends[LBFGS].gradients}"
        print(
            f"{name:<24}{times}{ratios[LBFGS][-1]:>10.2f}{ratios[TRM][-1]:>9.2f}{counted:>14}"
            f"  {notes(ends, float(pair.theirs.cost(pair.start)))}",
            flush=True,
        )
    print(
        f"\nCG / LBFGS: geometric mean {geometric_mean(ratios[LBFGS]):.2f}, smallest "
        f"{min(ratios[LBFGS]):.2f}; CG / TRM: {geometric_mean(ratios[TRM]):.2f}"
    )


if __name__ == "__main__":
    main()
