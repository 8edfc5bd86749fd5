"""Certificates against closed forms: at least 10,000 points whose nature is known.

The families of :mod:`benchmarks.torture_cases`: quadratic forms at all their critical points on
spheres, Stiefel, Grassmann, oblique and positive definite manifolds, rotations, products and
Euclidean space; degenerate polynomials; wrong and unsymmetric derivatives; jumps and kinks. The
families of :mod:`benchmarks.torture_manifolds`: complex circles, matrices of fixed rank, many
dimensions. The families of :mod:`benchmarks.torture_variants`: the smooth ones scaled, shifted,
noisy, in single precision, beside the critical points, by differences, with an error hidden in the
Hessian, with symmetries that are some or none. The columns:

- "false": a certificate that does not hold. It says minimizer where the curvature is negative
  beyond its own tolerance or the cost falls, strict where a direction is flat or falls, saddle or
  maximizer at a minimizer, or its lower bound of the smallest eigenvalue exceeds the true one;
- "2nd order": minimizer, but not strict, at no minimizer: true of the second derivatives to the
  tolerance stated, no more;
- "refused" of "sound": strict minimizers of sound problems that are not certified;
- "pymanopt", "scipy": no minimizers at which pymanopt's TrustRegions, started there, stops as
  converged, and SciPy's trust-ncg (Euclidean space only), of those tried.

    python -m benchmarks.torture [--quick] [--count N] [--only NAME ...] [--show] [--alone]
"""

from __future__ import annotations

import argparse
import collections
import itertools
import math
import time
import warnings
from typing import Any

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
from benchmarks.torture_manifolds import MANIFOLDS  # noqa: E402
from benchmarks.torture_variants import VARIANTS  # noqa: E402

FAMILIES = {**BASIC, **MANIFOLDS, **VARIANTS}

# Share of the Hessian's size by which rounding may move an eigenvalue.
ROUNDING = {np.dtype(np.float64): 1e-10, np.dtype(np.float32): 1e-4}
# Change of an eigenvalue per distance, over the Hessian's size, at most.
TURNING = 10.0
# Share of the Hessian's size by which the cost falls when a peer leaves a point.
LEFT = 1e-8
TOLERANCE = 1e-6
# Cases in all: 5 minutes on one core, and 10 seconds.
COUNT, QUICK = 50_000, 2_500


def rounding(case: Case) -> float:
    """Return by how much the eigenvalues at the point may differ from those in closed form."""
    first = case.point if isinstance(case.point, np.ndarray) else case.point[0]
    return (ROUNDING[np.real(first).dtype] + TURNING * case.moved) * case.size


def stated_tolerance(certificate: Any) -> float:
    """Return the negative curvature that a certificate says it takes for none."""
    return float(certificate.curvature_tolerance)


def faults(case: Case, certificate: Any) -> list[str]:
    """Return in what ways a certificate does not hold."""
    found = []
    verdict, allowance = certificate.verdict, rounding(case)
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
    if certificate.strict and case.truth != STRICT:
        found.append(f"strict at a {case.truth}")
    if certificate.strict and case.wrong:
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
        certified = result.certified
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


def run(name: str, count: int, show: bool, alone: bool) -> collections.Counter[str]:
    """Certify the points of one family."""
    tally: collections.Counter[str] = collections.Counter()
    family, _ = FAMILIES[name]
    for index, case in enumerate(itertools.islice(family(), count)):
        tally["cases"] += 1
        if case.endless:
            wrong, verdict, certificate = endless_faults(case), "", ""
        else:
            found = riemtr.certify(case.task.ours, case.point)
            wrong, verdict = faults(case, found), found.verdict
            certificate = f"{found.verdict_in_words}: {found.curvature_in_words}"
            if case.truth not in MINIMIZERS and verdict == "minimizer" and not wrong:
                tally["second order"] += 1
            if case.truth == STRICT and case.sound:
                tally["sound"] += 1
                tally["refused"] += verdict != "minimizer"
                if show and verdict != "minimizer":
                    print(f"  {name} {index}: refused, {certificate}")
        tally["false"] += bool(wrong)
        tally.update(f"! {fault}" for fault in wrong)
        if show and wrong:
            print(f"  {name} {index}: {'; '.join(wrong)}, {certificate}")
        falls = case.truth not in MINIMIZERS
        if falls and not alone and not (case.truth == DEGENERATE and case.least is None):
            for peer, stays in (("pymanopt", pymanopt_stays(case)), ("scipy", scipy_stays(case))):
                tally[f"{peer} tried"] += stays is not None
                tally[f"{peer} stays"] += bool(stays)
    return tally


def line(name: str, tally: collections.Counter[str], seconds: float) -> str:
    refused = f"{tally['refused']}/{tally['sound']}"
    pymanopt = f"{tally['pymanopt stays']}/{tally['pymanopt tried']}"
    scipy = f"{tally['scipy stays']}/{tally['scipy tried']}" if tally["scipy tried"] else "-"
    return (
        f"{name:<26}{tally['cases']:>8}{tally['false']:>8}{tally['second order']:>11}"
        f"{refused:>13}{pymanopt:>14}{scipy:>12}{seconds:>9.1f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} cases")
    parser.add_argument("--count", type=int, default=COUNT, help="how many cases, about")
    parser.add_argument("--only", nargs="+", metavar="NAME", help=f"some of {', '.join(FAMILIES)}")
    parser.add_argument("--show", action="store_true", help="print each fault and each refusal")
    parser.add_argument("--alone", action="store_true", help="without peers")
    arguments = parser.parse_args()
    unknown = set(arguments.only or ()) - set(FAMILIES)
    if unknown:
        parser.error(f"no family {', '.join(sorted(unknown))}; there are {', '.join(FAMILIES)}")
    count = QUICK if arguments.quick else arguments.count
    # Peers divide by zero at exact critical points; riemtr's own warnings are errors in its tests.
    warnings.simplefilter("ignore")
    print(settings())
    print(
        f"\n{'family':<26}{'cases':>8}{'false':>8}{'2nd order':>11}{'refused':>13}"
        f"{'pymanopt':>14}{'scipy':>12}{'seconds':>9}"
    )
    total: collections.Counter[str] = collections.Counter()
    begin = time.perf_counter()
    shares = sum(share for _, share in FAMILIES.values())
    for name in arguments.only or FAMILIES:
        start = time.perf_counter()
        with np.errstate(all="ignore"):
            number = max(4, round(FAMILIES[name][1] / shares * count))
            tally = run(name, number, arguments.show, arguments.alone)
        print(line(name, tally, time.perf_counter() - start), flush=True)
        total.update(tally)
    print(line("in all", total, time.perf_counter() - begin))
    for fault, number in total.items():
        if fault.startswith("! "):
            print(f"  {number} x {fault[2:]}")
    share = total["refused"] / max(total["sound"], 1)
    print(
        f"{total['cases']} certificates: {total['false']} false, {share:.2%} of strict minimizers "
        f"refused"
    )


if __name__ == "__main__":
    main()
