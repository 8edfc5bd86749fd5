"""Certificates and runs against known truth: 50,000 points in closed form, 8,000 trials.

Points. The families of :mod:`benchmarks.torture_cases`: quadratic forms at all their critical
points on spheres, Stiefel, Grassmann, oblique and positive definite manifolds, rotations, products
and Euclidean space; degenerate polynomials; wrong and unsymmetric derivatives; jumps and kinks. The
families of :mod:`benchmarks.torture_manifolds`: complex circles, matrices of fixed rank, many
dimensions. The families of :mod:`benchmarks.torture_variants`: the smooth ones scaled, shifted,
noisy, in single precision, beside the critical points, by differences, with an error hidden in the
Hessian, with symmetries that are some or none.

Trials, which have points to certify and runs to make. :mod:`benchmarks.torture_smooth`: smooth
costs of condition numbers 1e4 to 1e12, solved by every solver and certified on the way.
:mod:`benchmarks.torture_kinks`: kinks, seams and cusps. :mod:`benchmarks.torture_scales`: lengths
of 1e-12 to 1e12 with right and wrong derivatives, noise and chance.
:mod:`benchmarks.torture_symmetries`: named symmetries, right and false, and costs that have no
minimum. The columns:

- "false": a claim that does not hold. Of points: the certificate says minimizer where the curvature
  is negative beyond its own tolerance or the cost falls, strict where a direction is flat or falls,
  saddle or maximizer at a minimizer, or its lower bound of the smallest eigenvalue exceeds the true
  one. Of trials: a certificate says minimizer, or a run converged or certified, at a point that is
  farther than 1e-4 of its size from every minimizer in some factor, and higher by more than the
  cost's rounding; or as :mod:`benchmarks.torture_trials` lists them;
- "2nd order": minimizer, but not strict, at no minimizer: true of the second derivatives to the
  tolerance stated, no more;
- "refused" of "sound": strict minimizers of sound problems that are not certified;
- "give-ups" of runs: the minimizer was not found, or found and not certified;
- "pymanopt", "scipy", with ``--peers``: no minimizers at which pymanopt's TrustRegions, started
  there, stops as converged, and SciPy's trust-ncg (Euclidean space only), of those tried. What
  peers do with the trials, whose runs they make as well, is printed below the table.

The script ends with exit code 1 if a claim is false, if more than 1 % of the sound strict
minimizers are refused, or if more than 5 % of PracticalTRM's runs on smooth costs give up. Costs
without a minimum are printed and not counted: what they still fall by is below their rounding. A
case that failed is repeated, alone and in full, by ``--family NAME --case NUMBER``.

    python -m benchmarks.torture [--quick] [--family NAME ...] [--case N] [--seed S] [-j 2]
        [--peers]
"""

from __future__ import annotations

import argparse
import collections
import itertools
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, NamedTuple

from benchmarks.timing import one_blas_thread, settings

one_blas_thread()

import numpy as np  # noqa: E402
from pymanopt.optimizers import TrustRegions  # noqa: E402
from scipy.optimize import minimize  # noqa: E402

import riemtr  # noqa: E402
from benchmarks.torture_cases import (  # noqa: E402
    BASIC,
    DEGENERATE,
    MINIMIZERS,
    NO_MINIMUM,
    STRICT,
    Case,
)
from benchmarks.torture_kinks import kinks  # noqa: E402
from benchmarks.torture_manifolds import MANIFOLDS  # noqa: E402
from benchmarks.torture_scales import lengths, noise  # noqa: E402
from benchmarks.torture_smooth import smooth  # noqa: E402
from benchmarks.torture_symmetries import endless, symmetries  # noqa: E402
from benchmarks.torture_trials import (  # noqa: E402
    MAX_SECONDS,
    SOLVERS,
    Tally,
    Trial,
    claim_of,
    ending_of,
    judge,
    verdict_of,
)
from benchmarks.torture_variants import VARIANTS  # noqa: E402

FAMILIES = {**BASIC, **MANIFOLDS, **VARIANTS}


class Family(NamedTuple):
    """Trials by their number, and how many of them are judged, or judged quickly."""

    trial: Callable[[int], Trial]
    count: int
    quick: int


TRIALS = {
    "ill-conditioned": Family(smooth, 2000, 20),
    "kinks, seams, cusps": Family(kinks, 2000, 60),
    "length scales": Family(lengths, 1000, 40),
    "noise and chance": Family(noise, 1000, 40),
    "named symmetries": Family(symmetries, 1400, 60),
    "no minimum": Family(endless, 400, 6),
}

# Share of the Hessian's size by which rounding may move an eigenvalue.
ROUNDING = {np.dtype(np.float64): 1e-10, np.dtype(np.float32): 1e-4}
# Change of an eigenvalue per distance, over the Hessian's size, at most.
TURNING = 10.0
# Share of the Hessian's size by which the cost falls when a peer leaves a point.
LEFT = 1e-8
TOLERANCE = 1e-6
# Points in all: 5 minutes on one core, and 2 seconds.
COUNT, QUICK = 50_000, 500
# Seconds for a run of a quick trial.
QUICK_SECONDS = 1.0
# Trials that a worker takes at a time.
CHUNK = 10
# Seeds are so far apart that the numbers of their cases do not meet.
SEEDS_APART = 1_000_000
# Faults that are printed of each family, unless all are asked for.
SHOWN = 5
# What must be so: shares of refused minimizers, and of runs on smooth costs that give up.
REFUSED, GIVE_UPS = 0.01, 0.05
# Cases of either that are allowed in any sample.
FEW = 5
# Costs whose infimum is at infinity, which they approach by less than their rounding: what cannot
# be seen is printed, and not counted.
BEYOND = "no minimum"
# Whose give-ups are counted for that.
DEFAULT = "PracticalTRM"


def rounding(case: Case) -> float:
    """Return by how much the eigenvalues at the point may differ from those in closed form."""
    first = case.point if isinstance(case.point, np.ndarray) else case.point[0]
    return (ROUNDING[np.real(first).dtype] + TURNING * case.moved) * case.size


def stated_tolerance(certificate: Any) -> float:
    """Return the negative curvature that a certificate says it takes for none."""
    return float(getattr(certificate, "curvature_tolerance", 0.0))


def faults(case: Case, certificate: Any) -> list[str]:
    """Return in what ways a certificate does not hold."""
    found = []
    verdict, allowance = verdict_of(certificate), rounding(case)
    if verdict == "minimizer":
        if case.truth == NO_MINIMUM:
            found.append("minimizer where the cost falls")
        elif (
            case.truth not in MINIMIZERS
            and case.least is not None
            and case.least < -stated_tolerance(certificate) - allowance
        ):
            found.append(f"minimizer at a {case.truth}")
        if case.least is not None:
            bound = certificate.min_eigenvalue - certificate.error_bound
            if bound > case.least + allowance:
                found.append("too high a bound of the smallest eigenvalue")
    strict = claim_of(certificate).strict
    if strict and case.truth != STRICT:
        found.append(f"strict at a {case.truth}")
    if strict and case.wrong:
        found.append("strict by a wrong Hessian")
    if verdict in ("saddle", "maximizer") and case.truth in MINIMIZERS and not short_of(case):
        found.append(f"{verdict} at a {case.truth}")
    return found


def short_of(case: Case) -> bool:
    """Whether the point only lies on the way to a degenerate one, where it may curve down."""
    return case.truth != STRICT and case.least is None


def endless_faults(case: Case) -> list[str]:
    """Return whether an infinite curvature tolerance certifies anything."""
    problem, point = case.task.ours, case.point
    try:
        result = riemtr.PracticalTRM(curvature_tolerance=math.inf).solve(problem, point, rng=0)
        certified = ending_of(result).certified
    except ValueError:  # which is an answer, too
        return []
    return ["certified with an infinite tolerance"] if certified else []


def pymanopt_stays(case: Case) -> bool | None:
    """Whether pymanopt calls the point converged that it starts at; None where it cannot start."""
    if case.task.theirs is None:
        return None
    optimizer = TrustRegions(
        verbosity=0, min_gradient_norm=TOLERANCE, max_iterations=50, max_time=5
    )
    problem = case.task.theirs
    try:
        result = optimizer.run(problem, initial_point=case.point)
    except (np.linalg.LinAlgError, FloatingPointError, ValueError):
        return False
    fall = problem.cost(case.point) - result.cost
    return bool(result.gradient_norm < TOLERANCE and fall <= LEFT * case.size)


def scipy_stays(case: Case) -> bool | None:
    """Whether SciPy calls the point converged that it starts at; None where it does not apply."""
    if case.task.plain is None:
        return None
    cost, gradient, hessian = case.task.plain
    options = {"gtol": TOLERANCE, "maxiter": 50}
    found = minimize(
        cost, case.point, jac=gradient, hessp=hessian, method="trust-ncg", options=options
    )
    return bool(found.success and cost(case.point) - found.fun <= LEFT * case.size)


def points(name: str, count: int, with_peers: bool) -> Tally:
    """Certify the points of one family."""
    tally = Tally()
    counts = tally.counts
    family, _ = FAMILIES[name]
    for index, case in enumerate(itertools.islice(family(), count)):
        counts["cases"] += 1
        counts["certificates"] += 1
        if case.endless:
            wrong, minimizer, words = endless_faults(case), False, "converged"
        else:
            found = riemtr.certify(case.task.ours, case.point)
            (minimizer, _, words), wrong = claim_of(found), faults(case, found)
            if case.truth not in MINIMIZERS and minimizer and not wrong:
                counts["second order"] += 1
            if case.truth == STRICT and case.sound:
                counts["sound"] += 1
                if not minimizer:
                    tally.note("refused", str(index), words)
        if wrong:
            tally.note("false", "; ".join(wrong), f"{index}: {words}")
        falls = case.truth not in MINIMIZERS
        if falls and with_peers and not (case.truth == DEGENERATE and case.least is None):
            for peer, stays in (("pymanopt", pymanopt_stays(case)), ("scipy", scipy_stays(case))):
                counts[f"{peer} tried"] += stays is not None
                counts[f"{peer} stays"] += bool(stays)
    return tally


def trials(name: str, cases: Iterable[int], with_peers: bool, max_seconds: float) -> Tally:
    """Judge trials of one family."""
    tally = Tally()
    for case in cases:
        trial = replace(TRIALS[name].trial(case), max_seconds=max_seconds)
        try:
            judged = judge(trial, with_peers)
        except Exception as error:  # the other trials are to be judged nevertheless
            judged = Tally()
            judged.note("errors", trial.kind, f"{type(error).__name__}: {error}")
        again = f'  [--family "{name}" --case {case}]'
        judged.faults = [fault + again for fault in judged.faults]
        tally.add(judged)
    return tally


class Job(NamedTuple):
    """A share of a family: its points, or some of its trials."""

    name: str
    count: int
    cases: range
    with_peers: bool
    max_seconds: float


def work(job: Job) -> tuple[Tally, float]:
    """Do a job, and time it."""
    # Peers divide by zero at exact critical points; riemtr's own warnings are errors in its tests.
    warnings.simplefilter("ignore")
    begin = time.perf_counter()
    with np.errstate(all="ignore"):
        if job.name in TRIALS:
            tally = trials(job.name, job.cases, job.with_peers, job.max_seconds)
        else:
            tally = points(job.name, job.count, job.with_peers)
    return tally, time.perf_counter() - begin


def jobs(arguments: argparse.Namespace) -> Iterator[Job]:
    """Yield all that is to be done, families in order."""
    shares = sum(share for _, share in FAMILIES.values())
    count = QUICK if arguments.quick else arguments.count
    limit = QUICK_SECONDS if arguments.quick else MAX_SECONDS
    for name in arguments.family or (*FAMILIES, *TRIALS):
        if name in FAMILIES:
            number = max(4, round(FAMILIES[name][1] / shares * count))
            yield Job(name, number, range(0), arguments.peers, limit)
            continue
        family, first = TRIALS[name], SEEDS_APART * arguments.seed
        number = family.quick if arguments.quick else family.count
        end = first + (number if arguments.cases is None else arguments.cases)
        if arguments.case is not None:
            first, end = arguments.case, arguments.case + 1
        for begin in range(first, end, CHUNK):
            cases = range(begin, min(begin + CHUNK, end))
            yield Job(name, 0, cases, arguments.peers, limit)


# -- printing -----------------------------------------------------------------------------------

HEADER = (
    f"{'family':<26}{'cases':>8}{'certificates':>14}{'false':>8}{'2nd order':>11}{'refused':>13}"
    f"{'give-ups':>12}{'pymanopt':>14}{'scipy':>12}{'seconds':>9}"
)


def share(counts: collections.Counter[str], part: str, whole: str) -> str:
    return f"{counts[part]}/{counts[whole]}" if counts[whole] else "-"


def line(name: str, counts: collections.Counter[str], seconds: float) -> str:
    return (
        f"{name:<26}{counts['cases']:>8}{counts['certificates']:>14}{counts['false']:>8}"
        f"{counts['second order']:>11}{share(counts, 'refused', 'sound'):>13}"
        f"{share(counts, 'give-ups', 'runs'):>12}"
        f"{share(counts, 'pymanopt stays', 'pymanopt tried'):>14}"
        f"{share(counts, 'scipy stays', 'scipy tried'):>12}{seconds:>9.1f}"
    )


PEERS = ("pymanopt TR", "pymanopt CG", "SciPy trust-constr", "SciPy BFGS")


def solvers_in_words(counts: collections.Counter[str]) -> Iterator[str]:
    """Yield a line for each solver, and for each peer, with what its runs came to."""
    for name in (*SOLVERS, *PEERS):
        if counts[f"{name} tried"]:
            yield (
                f"  {name}: {counts[f'{name} false']} of {counts[f'{name} tried']} runs claim what "
                f"is false; give-ups {share(counts, f'{name} give-ups', f'{name} runs')}"
            )


def report(name: str, tally: Tally, seconds: float, limit: float) -> None:
    """Print what came of a family."""
    print(line(name, tally.counts, seconds), flush=True)
    for sentence in solvers_in_words(tally.counts):
        print(sentence)
    kinds = {kind[2:]: number for kind, number in tally.counts.items() if kind.startswith("! ")}
    if name in TRIALS:
        for kind, number in sorted(kinds.items(), key=lambda pair: -pair[1]):
            print(f"  {number} x {kind}")
    for index, fault in enumerate(sorted(tally.faults, key=lambda text: text[:5])):
        if index >= limit:
            print(f"    and {len(tally.faults) - index} more: --show prints all")
            break
        print(f"    {fault}")
    sys.stdout.flush()


def fails(total: collections.Counter[str], smooth_runs: collections.Counter[str]) -> bool:
    """Print whether all that must be so is so, and return whether it is not."""
    refused = total["refused"] / max(total["sound"], 1)
    # The default solver is the promise; methods without a Hessian may need more time.
    given_up = smooth_runs[f"{DEFAULT} give-ups"] / max(smooth_runs[f"{DEFAULT} runs"], 1)
    print(
        f"{total['certificates']} certificates and {total['tried']} runs: {total['false']} false "
        f"claims, {refused:.2%} of strict minimizers refused, {given_up:.1%} of {DEFAULT}'s runs "
        f"on smooth costs give up"
    )
    if total["errors"]:
        print(f"{total['errors']} trials ended in an error")
    # In the small samples of a quick run a few cases are no share.
    few_refused = total["refused"] <= FEW or refused <= REFUSED
    few_given_up = smooth_runs[f"{DEFAULT} give-ups"] <= FEW or given_up <= GIVE_UPS
    return bool(total["false"] or total["errors"]) or not (few_refused and few_given_up)


def main() -> int:
    names = ", ".join((*FAMILIES, *TRIALS))
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="some of everything, in 15 seconds")
    parser.add_argument("--count", type=int, default=COUNT, help="how many points, about")
    parser.add_argument("--cases", type=int, help="how many trials of each family")
    parser.add_argument("--family", "--only", nargs="+", metavar="NAME", help=f"some of {names}")
    parser.add_argument("--case", type=int, help="the trial of this number, and no other")
    parser.add_argument("--seed", type=int, default=0, help="other trials; points are the same")
    parser.add_argument("--show", action="store_true", help="print each fault and each refusal")
    parser.add_argument("--peers", action="store_true", help="count what peers do, too")
    parser.add_argument("-j", type=int, default=1, metavar="N", help="worker processes")
    arguments = parser.parse_args()
    unknown = set(arguments.family or ()) - {*FAMILIES, *TRIALS}
    if unknown:
        parser.error(f"no family {', '.join(sorted(unknown))}; there are {names}")
    if arguments.case is not None and not set(arguments.family or FAMILIES) <= set(TRIALS):
        parser.error(f"--case needs a --family of trials: {', '.join(TRIALS)}")
    limit = math.inf if arguments.show or arguments.case is not None else SHOWN
    print(f"{settings()}\n\n{HEADER}")
    total, smooth_runs, beyond = Tally(), Tally(), Tally()
    begin = time.perf_counter()
    todo = list(jobs(arguments))
    workers = nullcontext() if arguments.j == 1 else ProcessPoolExecutor(arguments.j)
    with workers as pool:
        done = zip(todo, (pool.map if pool else map)(work, todo), strict=True)
        for name, group in itertools.groupby(done, key=lambda pair: pair[0].name):
            tally, seconds = Tally(), 0.0
            for _, (part, taken) in group:
                tally.add(part)
                seconds += taken
            report(name, tally, seconds, limit)
            if name == BEYOND:
                beyond.add(tally)
                continue
            total.add(tally)
            if name == "ill-conditioned":
                smooth_runs.add(tally)
    print(line("in all but the last", total.counts, time.perf_counter() - begin))
    for sentence in solvers_in_words(total.counts):
        print(sentence)
    return fails(total.counts, smooth_runs.counts)


if __name__ == "__main__":
    sys.exit(main())
