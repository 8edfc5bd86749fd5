"""Certified riemtr against uncertified pymanopt on classical problems over many manifolds.

Each problem of :mod:`benchmarks.zoo_problems` is solved to a gradient norm of 1e-6 from one start,
by four solvers that get the same plain numpy functions:

- "TR" and "CG": pymanopt's TrustRegions and its ConjugateGradient (at most 60 s each);
- "certified": ``riemtr.PracticalTRM``, its certificate included in the time;
- "1st order": the same with ``goal="first-order"``.

"TR/cert" and "TR/1st" are ratios of times, above 1 where riemtr is faster. "products" are the
Hessian products of the certified run; "for cert." are those that a run to first order does without.
A second table has the final costs. Notes say where an end is worse than riemtr's by 1e-6 of the
fall from the start, and where a gradient norm of 1e-6 was not reached.

    python -m benchmarks.zoo [--quick] [--only NAME ...] [--large] [--repeats 3]
    python -m benchmarks.zoo --against FOLDER [--quick] [--only NAME ...] [--large] [--repeats 3]

``--large`` takes sizes about ten times larger, and two problems larger still: max-cut n = 5000,
r = 50 and a sparse Rayleigh quotient of dimension 1e6, each solver in a process of its own, whose
peak memory is printed.

``--against FOLDER`` compares two versions of riemtr, and leaves out pymanopt: the version of this
tree, and the version in the folder, as one made by ``git worktree add FOLDER COMMIT``. Each version
runs in a process of its own, the problems come from this tree, and solves alternate between the two
processes. It prints for each problem the medians, their ratio (above 1 where this tree is faster),
Hessian products and the share of them that goes into certification, and the geometric means.
"""

from __future__ import annotations

import argparse
import inspect
import json
import math
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.timing import geometric_mean, interleaved, one_blas_thread, settings

one_blas_thread()

import numpy as np  # noqa: E402
from pymanopt.optimizers import ConjugateGradient, TrustRegions  # noqa: E402

import riemtr  # noqa: E402
from benchmarks.zoo_problems import ZOO, Pair, max_cut, sparse_rayleigh  # noqa: E402

TOLERANCE = 1e-6
TR, CG, CERTIFIED, FIRST_ORDER = "TR", "CG", "certified", "1st order"
# Share of the fall of the cost from the start by which an end is worse than another.
WORSE = 1e-6
# Seconds that one round of all solvers may take for there to be another.
ROUND = 20.0
MAX_SECONDS = {TR: 60.0, CG: 60.0}
# Name: problem and sizes, of those that are measured in processes of their own.
HUGE: dict[str, tuple[Callable[..., Pair], dict[str, int]]] = {
    "max-cut 245,000": (max_cut, {"rank": 50, "n": 5000}),
    "sparse Rayleigh 1e6": (sparse_rayleigh, {"n": 1_000_000}),
}


@dataclass(frozen=True)
class End:
    """Where one solver ended, of either library."""

    cost: float
    gradient_norm: float
    verdict: str = ""
    products: int | None = None
    certification: int | None = None

    @property
    def reached(self) -> bool:
        return self.gradient_norm <= TOLERANCE


def certification_products(result: Any) -> int | None:
    """Return how many Hessian products of a run its curvature tests took, if the run says so."""
    for name in ("certification", "certification_products"):
        count = getattr(result.counts, name, None)
        if count is not None:
            return int(count)
    return None


def has_goal() -> bool:
    """Whether this riemtr can stop at a first-order point."""
    return "goal" in inspect.signature(riemtr.PracticalTRM).parameters


def by_pymanopt(kind: Callable[..., Any], name: str, pair: Pair) -> End:
    optimizer = kind(
        verbosity=0,
        min_gradient_norm=TOLERANCE,
        max_iterations=100_000,
        max_time=MAX_SECONDS[name],
        max_cost_evaluations=10**9,
    )
    result = optimizer.run(pair.theirs, initial_point=pair.start)
    norm = result.gradient_norm
    if norm is None:
        norm = pair.theirs.manifold.norm(
            result.point, pair.theirs.riemannian_gradient(result.point)
        )
    return End(float(result.cost), float(norm))


def by_riemtr(solver: Any, pair: Pair, certified: bool) -> End:
    result = solver.solve(pair.ours, pair.start, rng=0)
    verdict = ""
    if certified:
        certificate = result.certificate
        verdict = certificate.verdict
        if verdict == "minimizer":
            verdict = "strict" if certificate.strict else "minimizer"
        if not result.converged:
            verdict += f" ({result.status.name.lower()})"
    products = int(result.counts.hessian_products)
    count = certification_products(result)
    return End(float(result.cost), float(result.gradient_norm), verdict, products, count)


def solvers(pair: Pair) -> dict[str, Callable[[], End | None]]:
    """Return what each solver does; None comes back from one that cannot run."""

    def peer(kind: Callable[..., Any], name: str) -> Callable[[], End | None]:
        def run() -> End | None:
            try:
                return by_pymanopt(kind, name, pair)
            except (NotImplementedError, AttributeError, np.linalg.LinAlgError, ValueError):
                return None

        return run

    certified = riemtr.PracticalTRM(tolerance=TOLERANCE, max_seconds=MAX_SECONDS[TR])
    tasks: dict[str, Callable[[], End | None]] = {
        TR: peer(TrustRegions, TR),
        CG: peer(ConjugateGradient, CG),
        CERTIFIED: lambda: by_riemtr(certified, pair, certified=True),
    }
    if has_goal():
        first = riemtr.PracticalTRM(
            tolerance=TOLERANCE, max_seconds=MAX_SECONDS[TR], goal="first-order"
        )
        tasks[FIRST_ORDER] = lambda: by_riemtr(first, pair, certified=False)
    return tasks


@dataclass(frozen=True)
class Row:
    """One problem: what each solver took, and where it ended."""

    name: str
    dimension: int
    start_cost: float
    seconds: dict[str, float]
    ends: dict[str, End]

    def ratio(self, solver: str) -> float | None:
        """Return how many times TrustRegions' time is that of a solver."""
        if TR in self.seconds and solver in self.seconds:
            return self.seconds[TR] / self.seconds[solver]
        return None

    @property
    def certification(self) -> int | None:
        """Hessian products of the certified run that went into certification."""
        certified, first = self.ends[CERTIFIED], self.ends.get(FIRST_ORDER)
        if certified.certification is not None:
            return certified.certification
        if first is None or certified.products is None or first.products is None:
            return None
        return max(certified.products - first.products, 0)

    @property
    def share(self) -> float | None:
        """Share of certification in all Hessian products of the certified run."""
        if self.certification is None or not self.ends[CERTIFIED].products:
            return None
        return self.certification / self.ends[CERTIFIED].products

    @property
    def notes(self) -> list[str]:
        """Ends that are worse than riemtr's, or its own if that is worse; norms not reached."""
        ours = self.ends[CERTIFIED].cost
        scale = abs(self.start_cost - min(end.cost for end in self.ends.values()))
        found = []
        for name, end in self.ends.items():
            if end.cost - ours > WORSE * scale:
                found.append(f"{name} ends higher by {(end.cost - ours) / scale:.0e}")
            if ours - end.cost > WORSE * scale:
                found.append(f"{name} ends lower by {(ours - end.cost) / scale:.0e}")
            if not end.reached:
                found.append(f"{name} stops at gradient norm {end.gradient_norm:.0e}")
        return found


def measure(name: str, pair: Pair, repeats: int) -> Row:
    """Time the solvers in turn; only once where that takes long."""
    tasks = solvers(pair)
    rounds: dict[str, list[float]] = {task: [] for task in tasks}
    ends: dict[str, Any] = {}
    for _ in range(repeats):
        seconds, ends = interleaved(tasks, 1)
        for task, taken in seconds.items():
            rounds[task].append(taken)
        if sum(seconds.values()) > ROUND:
            break
    ran = [task for task in tasks if ends[task] is not None]
    return Row(
        name,
        int(pair.ours.manifold.dim),
        float(pair.theirs.cost(pair.start)),
        {task: statistics.median(rounds[task]) for task in ran},
        {task: ends[task] for task in ran},
    )


# -- printing -----------------------------------------------------------------------------------

WIDTHS = (10, 10, 11, 11, 9, 9)


def cell(value: float | None, width: int, form: str) -> str:
    return f"{'-' if value is None else format(value, form):>{width}}"


def header() -> str:
    names = (TR + " s", CG + " s", CERTIFIED + " s", FIRST_ORDER + " s", "TR/cert", "TR/1st")
    columns = "".join(f"{name:>{width + 1}}" for name, width in zip(names, WIDTHS, strict=True))
    return f"{'problem':<24}{'dim':>8}{columns}{'products':>10}{'for cert.':>10}  verdict"


def line(row: Row) -> str:
    times = [row.seconds.get(name) for name in (TR, CG, CERTIFIED, FIRST_ORDER)]
    cells = [cell(value, width + 1, ".4f") for value, width in zip(times, WIDTHS, strict=False)]
    for name, width in zip((CERTIFIED, FIRST_ORDER), WIDTHS[4:], strict=True):
        cells.append(cell(row.ratio(name), width + 1, ".2f"))
    cells.append(cell(row.ends[CERTIFIED].products, 10, "d"))
    cells.append(cell(row.certification, 10, "d"))
    return f"{row.name:<24}{row.dimension:>8}{''.join(cells)}  {row.ends[CERTIFIED].verdict}"


def print_costs(rows: list[Row]) -> None:
    """Print the final costs of all solvers, with notes."""
    names = (TR, CG, CERTIFIED, FIRST_ORDER)
    print("\n" + f"{'final cost':<24}" + "".join(f"{name:>20}" for name in names) + "  notes")
    for row in rows:
        costs = (row.ends[name].cost if name in row.ends else None for name in names)
        cells = "".join(cell(cost, 20, ".11g") for cost in costs)
        print(f"{row.name:<24}{cells}  {'; '.join(row.notes)}")


def shares_in_words(rows: list[Row]) -> str:
    """Return how many of the Hessian products go into certification."""
    # A problem that needs no product for its certificate counts as one in a hundred thousand:
    # the logarithm of nothing would decide the mean alone.
    shares = [max(share, 1e-5) for row in rows if (share := row.share) is not None]
    mean = f"{geometric_mean(shares):.3f}" if shares else "-"
    words = f"share of Hessian products that go into certification: geometric mean {mean}"
    total = sum(row.ends[CERTIFIED].products or 0 for row in rows if row.certification is not None)
    spent = sum(row.certification or 0 for row in rows)
    return f"{words}, of all products together {spent / total:.3f}" if total else words


def print_summary(rows: list[Row]) -> None:
    """Print the figures that are stated: means and worst cases of the ratios, the share."""
    print()
    for solver, label in ((CERTIFIED, "certified"), (FIRST_ORDER, "to first order")):
        ratios = {row.name: ratio for row in rows if (ratio := row.ratio(solver)) is not None}
        if not ratios:
            print(f"pymanopt TR / riemtr {label}: -")
            continue
        worst = min(ratios, key=lambda name: ratios[name])
        slower = sum(ratio < 1.0 for ratio in ratios.values())
        print(
            f"pymanopt TR / riemtr {label}: geometric mean {geometric_mean(ratios.values()):.2f} "
            f"over {len(ratios)} problems, smallest {ratios[worst]:.2f} ({worst}), "
            f"below 1 on {slower}"
        )
    print(shares_in_words(rows))
    verdicts = [row.ends[CERTIFIED].verdict for row in rows]
    certified = sum(verdict in ("strict", "minimizer") for verdict in verdicts)
    print(f"certified minimizers: {certified} of {len(rows)}")


# -- processes of their own ---------------------------------------------------------------------


def peak() -> int:
    """Return the largest resident set of this process so far, in bytes."""
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest if sys.platform == "darwin" else 1024 * largest


def child(name: str, solver: str) -> dict[str, Any]:
    """Solve one of the huge problems by one solver, and say what it took."""
    build, sizes = HUGE[name]
    pair = build(np.random.default_rng(0), **sizes)
    task = solvers(pair)[solver]
    before, begin = peak(), time.perf_counter()
    end = task()
    seconds = time.perf_counter() - begin
    found = {"seconds": seconds, "before": before, "peak": peak()}
    return found if end is None else {**found, **end.__dict__}


def huge() -> None:
    """Print time and memory of the two largest problems."""
    print("\nin processes of their own; peak memory is that of the whole process")
    names = [TR, CERTIFIED, *([FIRST_ORDER] if has_goal() else [])]
    for name in HUGE:
        found: dict[str, dict[str, Any]] = {}
        for solver in names:
            command = [sys.executable, "-m", "benchmarks.zoo", "--child", name, solver]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            found[solver] = json.loads(done.stdout.splitlines()[-1])
            each, peer = found[solver], found[TR]
            print(
                f"{name:<22}{solver:<12}{each['seconds']:>9.1f} s{each['peak'] / 1e6:>9.0f} MB"
                f"  time x{each['seconds'] / peer['seconds']:.2f}"
                f"  memory x{each['peak'] / peer['peak']:.2f}"
                f"  cost {each.get('cost', math.nan):.10g}"
                f"  gradient norm {each.get('gradient_norm', math.nan):.1e}"
                f"  {each.get('verdict', '')}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, one repeat")
    parser.add_argument("--only", nargs="+", metavar="NAME", help=f"some of: {', '.join(ZOO)}")
    parser.add_argument("--large", action="store_true", help="about ten times larger")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--against",
        type=Path,
        metavar="FOLDER",
        help="compare with the riemtr in this folder, interleaved: times, ratios, products",
    )
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(child(*arguments.child)))
        return
    unknown = set(arguments.only or ()) - {*ZOO, *HUGE}
    if unknown:
        parser.error(f"no problem {', '.join(sorted(unknown))}; there are {', '.join(ZOO)}")
    size = "quick" if arguments.quick else "large" if arguments.large else "standard"
    repeats = 1 if arguments.quick else arguments.repeats
    if arguments.against is not None:
        from benchmarks.zoo_against import compare  # which needs this module

        print(settings())
        names = [name for name in arguments.only or ZOO if name in ZOO]
        compare(arguments.against.resolve(), names, size, repeats)
        return
    print(settings())
    print(f"\n{size} sizes, gradient norm {TOLERANCE:.0e}, medians of up to {repeats} rounds")
    print(header())
    rows = []
    for name in arguments.only or ZOO:
        if name not in ZOO:
            continue
        row = measure(name, ZOO[name].pair(size), repeats)
        rows.append(row)
        print(line(row), flush=True)
    if rows:
        print_costs(rows)
        print_summary(rows)
    if arguments.large and (not arguments.only or set(arguments.only) & set(HUGE)):
        huge()


if __name__ == "__main__":
    main()
