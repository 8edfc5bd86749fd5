"""Six solvers on every registered problem, from random starts and from exact saddle points.

The same starts, tolerances, counters and clock for all; riemtr certifies where each one ended.
Prints the table and, solver by solver, how many runs ended at a minimizer and how many called a
saddle point converged; writes the profiles, the convergence plots and the page.

    python -m benchmarks.compare [--quick] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.timing import one_blas_thread, settings

one_blas_thread()

from riemtr.compare import Comparison, compare, write_folder  # noqa: E402

SOLVERS = ("practical", "exact", "pymanopt-tr", "pymanopt-cg", "pymanopt-sd", "l-bfgs-b")
OURS = ("practical", "exact")
COUNTED = ("certified", "deceived")
PROBLEMS = (
    "rayleigh",
    ("dictionary-learning", {"n": 20}),
    "invariant-subspace",
    "brockett",
    "singular-vectors",
    "low-rank",
    "covariance",
)
SMALL = (
    ("rayleigh", {"n": 12}),
    ("dictionary-learning", {"n": 8, "p": 2000}),
    ("invariant-subspace", {"n": 8, "k": 2}),
    ("brockett", {"n": 6, "k": 2}),
    ("singular-vectors", {"m": 4, "n": 3}),
)


def summary(comparison: Comparison) -> list[str]:
    """One line per solver over all problems."""
    found = []
    for name in comparison.solvers:
        parts = []
        for kind in ("random", "saddle"):
            mine = [run for run in comparison.runs if (run.solver, run.kind) == (name, kind)]
            certified, deceived = (sum(getattr(run, how) for run in mine) for how in COUNTED)
            parts.append(f"{certified:>7}/{len(mine):<4}{deceived:>9}")
        found.append(f"{name:<14}" + "".join(f"{part:>26}" for part in parts))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="five small problems, few starts")
    parser.add_argument("--out", type=Path, help="where to put figures; a temporary folder if none")
    arguments = parser.parse_args()
    print(settings())
    problems, starts, saddles = (SMALL, 2, 2) if arguments.quick else (PROBLEMS, 10, 10)
    comparison = compare(problems, SOLVERS, starts=starts, saddles=saddles, max_seconds=30.0)
    print(f"\n{comparison}\n")
    print(f"{'over all':<14}{'random starts':>26}{'saddle starts':>26}")
    print(f"{'solver':<14}" + f"{'certified   deceived':>26}" * 2)
    print("\n".join(summary(comparison)))
    folder = arguments.out or Path(tempfile.mkdtemp(prefix="riemtr-compare-"))
    written = write_folder(comparison, folder, force=True)
    print(f"\nfigures in {folder}: {', '.join(path.name for path in written.files)}")
    ours = [run for run in comparison.runs if run.solver in OURS]
    missed = [run for run in ours if not run.certified]
    for run in missed:
        print(f"not certified: {run.solver} on {run.problem}, start {run.start}: {run.status}")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
