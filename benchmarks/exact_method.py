"""The paper's method as analysed: exact subproblems, a fixed radius, on orthogonal dictionaries.

For each n: the cost must never rise, the end must lie within mu of a target (the paper's
reconstruction error), and the last steps, no longer limited by the radius, must show quadratic
convergence: the table gives the last gradient norms and the fitted order.

    python -m benchmarks.exact_method [--quick]
"""

from __future__ import annotations

import argparse

from benchmarks.timing import one_blas_thread, settings

one_blas_thread()

import numpy as np  # noqa: E402

import riemtr  # noqa: E402

MU = 1e-2


def convergence_order(norms: np.ndarray, interior: np.ndarray) -> tuple[float, np.ndarray]:
    """Order of the last unconstrained steps, from three successive gradient norms."""
    last = norms[np.flatnonzero(interior)[0] - 1 :] if interior.any() else norms
    last = last[last > 1e-14]
    if len(last) < 3:
        return float("nan"), last
    a, b, c = np.log(last[-3:])
    return float((c - b) / (b - a)), last[-3:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="n = 10 and 2 starts only")
    parser.add_argument("--radius", type=float, default=MU / 2, help="the fixed radius")
    arguments = parser.parse_args()
    sizes, starts = ((10,), 2) if arguments.quick else ((10, 20, 30), 10)
    print(settings())
    print(
        f"\northogonal dictionary, theta = 0.2, p = 5 n^2 log n, mu = {MU}, fixed radius "
        f"{arguments.radius:g}, {starts} starts each"
    )
    print(
        f"{'n':>4}{'iterations':>12}{'cost rose':>11}{'worst RE':>11}{'RE <= mu':>10}"
        f"{'minimizers':>12}{'order':>8}   last gradient norms"
    )
    for n in sizes:
        case = riemtr.problems.build("dictionary-learning", rng=n, n=n, mu=MU)
        solver = riemtr.ExactTRM(arguments.radius, tolerance=1e-12)
        iterations, rises, errors, verdicts, orders = [], 0, [], 0, []
        for seed in range(starts):
            result = solver.solve(case.problem, rng=seed)
            history = result.history
            # Rounding of the cost itself is not a rise.
            rises += bool((np.diff(history["cost"]) > 4e-16 * abs(result.cost)).any())
            order, norms = convergence_order(
                history["gradient_norm"], ~history["on_boundary"] & (history["iteration"] > 0)
            )
            iterations.append(result.iterations)
            errors.append(case.truth.distance(result.point))
            verdicts += result.certificate.verdict == "minimizer"
            orders.append(order)
        print(
            f"{n:>4}{np.median(iterations):>12.0f}{rises:>8}/{starts}{max(errors):>11.1e}"
            f"{sum(error <= MU for error in errors):>7}/{starts}{verdicts:>9}/{starts}"
            f"{np.nanmedian(orders):>8.2f}   " + " -> ".join(f"{norm:.1e}" for norm in norms)
        )


if __name__ == "__main__":
    main()
