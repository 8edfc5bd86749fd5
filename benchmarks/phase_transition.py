"""The paper's simulations (section IV.B, Figure 3): where recovery succeeds, and where not.

Two maps, A = I, exactly k nonzeros per column, mu = 1e-2, five trials of each setting; a trial
succeeds if the reconstruction error is at most mu. The figure, the tables and every single trial go
to a folder: unless another is given, to the repository's own, in place of what is there. A run that
was stopped is continued with --resume.

    python -m benchmarks.phase_transition [--quick] [--out FOLDER] [--resume]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from functools import partial
from pathlib import Path

from benchmarks.timing import one_blas_thread, settings

one_blas_thread()

import numpy as np  # noqa: E402

from riemtr.sweep import sweep  # noqa: E402
from riemtr.sweep.phase_transition import (  # noqa: E402
    DICTIONARIES,
    GRIDS,
    MAPS,
    METHODS,
    PhaseTransition,
    run_maps,
    save_maps,
    title,
)

RESULTS = Path(__file__).parent / "results" / "phase_transition"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--quick", action="store_true", help="n to 30 only, into a temporary folder"
    )
    parser.add_argument("--grid", choices=GRIDS, default="default")
    parser.add_argument("--method", choices=METHODS, default="practical")
    parser.add_argument("--dictionary", choices=DICTIONARIES, default="identity")
    parser.add_argument("--noise", type=float, default=0.0)
    parser.add_argument("--n-jobs", type=int, help="all cores if not given")
    parser.add_argument("--out", type=Path, help=f"{RESULTS} if not given")
    parser.add_argument("--resume", action="store_true", help="continue what is in the folder")
    return parser.parse_args()


def main() -> None:
    chosen = arguments()
    grid = "quick" if chosen.quick else chosen.grid
    what = PhaseTransition(grid, chosen.method, chosen.dictionary, noise=chosen.noise)
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.out or (Path(temporary) if chosen.quick else RESULTS)
        if folder == RESULTS and not chosen.resume:
            for name in MAPS:
                (folder / f"{name}.sqlite").unlink(missing_ok=True)
        run = partial(sweep, backend="processes", n_jobs=chosen.n_jobs, resume=chosen.resume)
        begin = time.perf_counter()
        tables = run_maps(what, MAPS, folder, repetitions=2 if chosen.quick else 5, run=run)
        seconds = time.perf_counter() - begin
        maps, saved = save_maps(folder, what, tables)
        print(f"{settings()}\n\n{title(what)}; {grid} grid")
        for name, one in maps.items():
            letter, table = name[0], tables[name]
            cpu = sum(outcome.cpu_seconds for outcome in table.outcomes)
            law = one.law
            boundary = f"{letter} = {law.factor:.2f} n^{law.exponent:.2f}" if law else "none"
            print(
                f"{name}: {len(table)} trials, n to {one.n[-1]}, {len(table.failed)} failed, "
                f"{100 * np.nanmean(one.rate):.0f}% succeed, boundary at {boundary}, "
                f"{cpu:.0f} s of processor time"
            )
            ratio = one.boundary / one.n
            print(f"     {letter} / n at the boundary: " + _listed(one.n, ratio))
        print(f"{seconds:.0f} s in all; saved: {', '.join(str(path) for path in saved)}")


def _listed(n: np.ndarray, ratio: np.ndarray) -> str:
    known = np.flatnonzero(np.isfinite(ratio))
    some = known[np.unique(np.linspace(0, known.size - 1, min(6, known.size)).astype(int))]
    return ", ".join(f"{ratio[i]:.2f} (n = {n[i]})" for i in some) if some.size else "none"


if __name__ == "__main__":
    main()
