"""Certificates against closed forms: at least 10,000 points whose nature is known.

The families of :mod:`benchmarks.torture_cases`: quadratic forms at all their critical points on
spheres, Stiefel, Grassmann, oblique and positive definite manifolds, rotations, products and
Euclidean space; degenerate polynomials; wrong and unsymmetric derivatives; jumps, kinks, single
precision, offsets and noise. The columns:

- "false": a certificate that does not hold. It says minimizer where the curvature is negative
  beyond its own tolerance or the cost falls, strict where a direction is flat or falls, saddle or
  maximizer at a minimizer, or its lower bound of the smallest eigenvalue exceeds the true one;
- "2nd order": minimizer, but not strict, at no minimizer: true of the second derivatives to the
  tolerance stated, no more;
- "refused" of "sound": strict minimizers of sound problems that are not certified;
- "pymanopt", "scipy": no minimizers at which pymanopt's TrustRegions, started there, stops as
  converged, and SciPy's trust-ncg (Euclidean space only), of those tried.

    python -m benchmarks.torture [--quick] [--count 12000] [--only NAME ...] [--show]
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
    DEGENERATE,
    FAMILIES,
    MINIMIZERS,
    NO_MINIMUM,
    STRICT,
    Case,
)

# Share of the Hessian's size by which rounding may move an eigenvalue.
ROUNDING = {np.dtype(np.float64): 1e-10, np.dtype(np.float32): 1e-4}
# Share of the Hessian's size by which the cost falls when a peer leaves a point.
LEFT = 1e-8
TOLERANCE = 1e-6


def rounding(case: Case) -> float:
    first = case.point[0] if isinstance(case.point, list) else case.point
    return ROUNDING[first.dtype] * case.size


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


def pymanopt_stays(case: Case) -> bool:
    """Whether pymanopt calls the point converged that it starts at."""
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


def run(name: str, count: int, show: bool) -> collections.Counter[str]:
    """Certify the points of one family."""
    tally: collections.Counter[str] = collections.Counter()
    family, _ = FAMILIES[name]
    for index, case in enumerate(itertools.islice(family(), count)):
        tally["cases"] += 1
        if case.endless:
            wrong, verdict = endless_faults(case), ""
        else:
            certificate = riemtr.certify(case.task.ours, case.point)
            wrong, verdict = faults(case, certificate), certificate.verdict
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
            print(f"  {name} {index}: {'; '.join(wrong)}")
        if case.truth not in MINIMIZERS and not (case.truth == DEGENERATE and case.least is None):
            tally["pymanopt tried"] += 1
            tally["pymanopt stays"] += pymanopt_stays(case)
            stays = scipy_stays(case)
            tally["scipy tried"] += stays is not None
            tally["scipy stays"] += bool(stays)
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
    parser.add_argument("--quick", action="store_true", help="400 cases")
    parser.add_argument("--count", type=int, default=12_000, help="how many cases, about")
    parser.add_argument("--only", nargs="+", metavar="NAME", help=f"some of {', '.join(FAMILIES)}")
    parser.add_argument("--show", action="store_true", help="print each fault and each refusal")
    arguments = parser.parse_args()
    unknown = set(arguments.only or ()) - set(FAMILIES)
    if unknown:
        parser.error(f"no family {', '.join(sorted(unknown))}; there are {', '.join(FAMILIES)}")
    count = 400 if arguments.quick else arguments.count
    # Peers divide by zero at exact critical points; riemtr's own warnings are errors in its tests.
    warnings.simplefilter("ignore")
    print(settings())
    print(
        f"\n{'family':<26}{'cases':>8}{'false':>8}{'2nd order':>11}{'refused':>13}"
        f"{'pymanopt':>14}{'scipy':>12}{'seconds':>9}"
    )
    total: collections.Counter[str] = collections.Counter()
    begin = time.perf_counter()
    for name in arguments.only or FAMILIES:
        start = time.perf_counter()
        with np.errstate(all="ignore"):
            tally = run(name, max(4, round(FAMILIES[name][1] * count)), arguments.show)
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
