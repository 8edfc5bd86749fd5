"""The paper's analysis beside what happens: bounds, regions of runs, and where inequalities fail.

    python -m benchmarks.theory [--quick] [--out DIR]

With --out, the page of a run and the figure of region III are written to a folder.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from benchmarks.timing import one_blas_thread, settings

one_blas_thread()

import numpy as np  # noqa: E402

import riemtr  # noqa: E402
from riemtr.data import BernoulliGaussian, Conditioned, Dictionary, Identity, Orthogonal  # noqa: E402

KINDS: dict[str, Dictionary] = {
    "identity": Identity(),
    "orthogonal": Orthogonal(),
    "preconditioned": Conditioned(3.0),
}


def build(kind: str, n: int, p: int, theta: float, mu: float, seed: int = 0) -> Any:
    """A case whose coefficients are known; complete dictionaries are preconditioned."""
    sample = BernoulliGaussian(n, p, theta, dictionary=KINDS[kind]).draw(seed)
    data = sample.observations
    if kind == "preconditioned":
        data = riemtr.precondition(data, theta=theta).data
    problem = riemtr.dictionary_problem(data, mu)
    details = {"coefficients": sample.coefficients, "dictionary": sample.dictionary}
    start = problem.random_point(seed + 1)
    return riemtr.problems.Case(problem, start, riemtr.problems.Truth(details=details))


def inequalities(points: int) -> None:
    print("\nInequalities of the analysis at sampled points (n = 5, p = 5000, mu = 0.02)")
    print(f"{'dictionary':<16}{'hold':>8}{'points':>8}  c_star by region, and which fail")
    for kind in KINDS:
        found = riemtr.theory.check(build(kind, 5, 5000, 0.2, 0.02), points=points)
        total = sum(each.observed.size for each in found.found)
        fits = ", ".join(f"{c:.2f}" if c > 0 else "none" for c in found.c_star.values())
        failing = "; ".join(f"{a.label} {100 * a.share:.1f} %" for a in found.failing)
        held = f"{len(found.found) - len(found.failing)}/{len(found.found)}"
        print(f"{kind:<16}{held:>8}{total:>8}  {fits}; {failing}")


def runs(sizes: list[tuple[int, float]], points: int) -> None:
    print("\nExactTRM(radius = mu) from a random start, theta = 0.2, p = 5 n^2 log n, three seeds")
    print(
        f"{'n':>3} {'mu':>6} {'radius asked':>13} {'bound':>9} {'measured':>9} {'count':>6} "
        f"{'in III':>7} {'in II':>6} {'in I':>5} {'Newton':>7}  next e / e^2"
    )
    for n, mu in sizes:
        for seed in range(3):
            case = build("identity", n, riemtr.data.paper_sample_size(n), 0.2, mu, seed)
            result = riemtr.ExactTRM(radius=mu, tolerance=1e-13).solve(case.problem, case.start)
            run = riemtr.theory.regions(result, case)
            measured = riemtr.theory.check(case, points=points).measured()
            sharper = riemtr.theory.regions(result, case, constants=measured)
            table = run.iterates
            where = [int(np.sum(table["region"][:-1] == region)) for region in (2, 1, 0)]
            newton = int(np.sum(~table["constrained"][:-1]))
            rates = table["rate"][np.isfinite(table["rate"])]
            asked = run.constants.largest_radius
            print(
                f"{n:>3} {mu:>6g} {asked:>13.1e} {run.bound:>9.1e} {sharper.bound:>9.1e} "
                f"{run.steps:>6} {where[0]:>7} {where[1]:>6} {where[2]:>5} {newton:>7}  "
                + ", ".join(f"{rate:.2g}" for rate in rates)
            )


def third(settings_: list[tuple[int, int, float]], points: int, starts: int) -> None:
    print("\nRegion III: where is the radial curvature below -c_star theta? (theta = 0.2)")
    print(
        f"{'n':>3} {'p':>7} {'mu':>6} {'holds at':>9} {'concave from':>13} {'failing up to':>14} "
        f"{'covered':>8} {'slope/beta':>11} {'solved':>9} {'iterations: failing, others':>28}"
    )
    for n, p, mu in settings_:
        found = riemtr.theory.third_region(
            build("identity", n, p, 0.2, mu), points=points, starts=starts
        )
        bad = found.fails
        reach = f"{np.quantile(found.lengths[bad], 0.95):.3f}" if bad.any() else "-"
        least = f"{found.slope[bad].min() / found.constants.beta_g:.1f}" if bad.any() else "-"
        solved = np.concatenate(list(found.solved.values()))
        medians = ", ".join(
            f"{np.median(counts):.0f}" if counts.size else "-" for counts in found.runs.values()
        )
        print(
            f"{n:>3} {p:>7} {mu:>6g} {100 * found.share:>7.1f} % "
            f"{found.constants.concave_from:>13.3f} {reach:>14} {100 * found.covered:>6.0f} % "
            f"{least:>11} {int(solved.sum()):>4}/{solved.size:<4} {medians:>28}"
        )


def write(folder: Path) -> None:
    """Write the page of a run and the figure of region III."""
    folder.mkdir(parents=True, exist_ok=True)
    case = build("orthogonal", 10, riemtr.data.paper_sample_size(10), 0.2, 0.02)
    result = riemtr.ExactTRM(radius=0.02, tolerance=1e-13).solve(case.problem, case.start)
    riemtr.theory.regions(result, case).save_page(folder / "run.html", overwrite=True)
    found = riemtr.theory.third_region(build("identity", 5, 20_000, 0.2, 0.01), points=1000)
    found.plot().savefig(folder / "third-region.png", dpi=120)
    print(f"\nwritten: {folder / 'run.html'}, {folder / 'third-region.png'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few points, small problems")
    parser.add_argument("--out", type=Path, help="folder for the page of a run and a figure")
    arguments = parser.parse_args()
    print(settings())
    if arguments.quick:
        inequalities(points=30)
        runs([(5, 0.05)], points=20)
        third([(5, 2000, 0.01)], points=100, starts=3)
    else:
        inequalities(points=1000)
        runs([(5, 0.05), (5, 0.02), (10, 0.05), (10, 0.02), (20, 0.02)], points=200)
        third(
            [
                *((5, 20_000, mu) for mu in (0.05, 0.02, 0.01, 0.005, 0.002, 0.001)),
                *((5, p, 0.001) for p in (2_000, 200_000)),
                *((n, 20_000, 0.01) for n in (10, 20)),
            ],
            points=1000,
            starts=25,
        )
    if arguments.out is not None:
        write(arguments.out)


if __name__ == "__main__":
    main()
