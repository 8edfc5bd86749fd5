"""Where the paper's cost has spurious minimizers: a map over the samples p, theta and mu.

For each draw of Bernoulli-Gaussian data with A = I, to which every orthogonal dictionary reduces,
the cost is minimised from many uniform starts, and the distinct certified minimizers, up to sign,
are held against the truth. The rule: a minimizer is a row of the truth if its distance from the
nearest signed atom is at most 3 mu, and at most 0.3 where mu is large (half-way between two atoms
it is 0.77); all others are spurious. How many are within mu, the paper's own rule of section IV.B,
is written down as well. The map shows the share of draws with a spurious minimizer; the table of
every draw, the figure and a summary go to a folder: unless another is given, to the repository's
own. A run that was stopped is continued with --resume, and so is one with fewer draws.

    python -m benchmarks.spurious_minimizers [--quick] [--draws 5] [--out FOLDER] [--resume]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.timing import one_blas_thread, settings

one_blas_thread()

import numpy as np  # noqa: E402

import riemtr  # noqa: E402
from riemtr.data import BernoulliGaussian, Identity  # noqa: E402
from riemtr.errors import require  # noqa: E402
from riemtr.files import save_figure, save_json  # noqa: E402
from riemtr.sweep import Table, sweep  # noqa: E402

RESULTS = Path(__file__).parent / "results" / "spurious_minimizers"
THETAS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
SMOOTHINGS = (0.3, 0.1, 0.03, 0.01)
# Samples for each dimension.
RATIOS = (2, 4, 8, 16, 32, 64, 128)
# Starts for each dimension: a minimizer that one in n starts leads to is missed once in e^20 draws.
STARTS_PER_DIMENSION = 20
# Distance from a signed atom, over mu, up to which a minimizer is a row of the truth.
NEAR = 3.0
# The same at most, whatever mu is.
NEAR_AT_MOST = 0.3
# Distance below which two minimizers are one.
SAME = 1e-4


def log_cosh(data: np.ndarray, mu: float) -> tuple[Any, Any, Any]:
    """The paper's cost, its gradient and its Hessian products, for stacked points."""
    samples = data.shape[1]

    def cost(points: np.ndarray) -> np.ndarray:
        size = np.abs(points @ data)
        return (size + mu * np.log1p(np.exp(-2.0 * size / mu))).mean(axis=1) - mu * np.log(2.0)

    def gradient(points: np.ndarray) -> np.ndarray:
        return np.tanh(points @ data / mu) @ data.T / samples

    def hessian(points: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        slope = np.tanh(points @ data / mu)
        return ((1.0 - slope * slope) * (vectors @ data)) @ data.T / (mu * samples)

    return cost, gradient, hessian


def one_draw(rng: np.random.Generator, n: int, ratio: int, theta: float, mu: float) -> dict:
    """Draw data, find the minimizers, and hold them against the truth."""
    model = BernoulliGaussian(n, ratio * n, theta, dictionary=Identity())
    data = model.draw(rng).observations
    cost, gradient, hessian = log_cosh(data, mu)
    starts = STARTS_PER_DIMENSION * n
    ends = riemtr.solve_many(
        riemtr.Sphere(n),
        cost,
        euclidean_gradient=gradient,
        euclidean_hessian=hessian,
        starts=starts,
        rng=rng,
    )
    points, costs, counts = _distinct(ends.points[ends.certified], ends.costs[ends.certified])
    largest = np.abs(points).max(axis=1)
    distance = np.sqrt(np.maximum(2.0 - 2.0 * largest, 0.0))
    is_row = distance <= min(NEAR * mu, NEAR_AT_MOST)
    strays = distance[~is_row]
    return {
        "p": ratio * n,
        "rank": int(np.linalg.matrix_rank(data)),
        "starts": starts,
        "certified": int(ends.certified.sum()),
        "minimizers": len(points),
        "rows": len(set(np.abs(points[is_row]).argmax(axis=1))),
        "rows_within_mu": len(set(np.abs(points[distance <= mu]).argmax(axis=1))),
        "spurious": int((~is_row).sum()),
        "beyond_mu": int((distance > mu).sum()),
        "starts_to_spurious": int(counts[~is_row].sum()),
        "nearest_spurious": float(strays.min()) if len(strays) else float("nan"),
        "lowest_is_row": bool(is_row[costs.argmin()]) if len(points) else False,
    }


def _distinct(points: np.ndarray, costs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Merge minimizers that are the same up to sign; the cost is even."""
    firsts: list[int] = []
    counts: list[int] = []
    for number, point in enumerate(points):
        apart = np.abs(points[firsts] @ point)
        same = np.flatnonzero(2.0 - 2.0 * apart <= SAME**2)
        if len(same):
            counts[same[0]] += 1
        else:
            firsts.append(number)
            counts.append(1)
    return points[firsts], costs[firsts], np.array(counts, dtype=int)


def rates(table: Table, n: int, mu: float, column: str) -> np.ndarray:
    """Share of draws with a positive entry in a column, over (theta, p / n)."""
    rows = [row for row in table.rows if row["n"] == n and row["mu"] == mu and column in row]
    thetas, ratios = axes_of(table)
    found = np.full((len(thetas), len(ratios)), np.nan)
    for i, theta in enumerate(thetas):
        for j, ratio in enumerate(ratios):
            cells = [r[column] > 0 for r in rows if r["theta"] == theta and r["ratio"] == ratio]
            found[i, j] = np.mean(cells) if cells else np.nan
    return found


def axes_of(table: Table) -> tuple[list[float], list[int]]:
    """The values of theta and of p / n."""
    return tuple(sorted({row[name] for row in table.rows}) for name in ("theta", "ratio"))  # type: ignore[return-value]


def figure(table: Table) -> Any:
    """Draw a panel for each n and mu: white where no draw has a spurious minimizer."""
    sizes = sorted({row["n"] for row in table.rows})
    smoothings = sorted({row["mu"] for row in table.rows}, reverse=True)
    thetas, ratios = axes_of(table)
    figure_class = require("matplotlib.figure", extra="plot").Figure
    size = (3.1 * len(smoothings) + 1.0, 3.1 * len(sizes) + 0.6)
    drawing = figure_class(figsize=size, layout="constrained")
    panels = drawing.subplots(len(sizes), len(smoothings), squeeze=False)
    for row, n in zip(panels, sizes, strict=True):
        for panel, mu in zip(row, smoothings, strict=True):
            shares = rates(table, n, mu, "spurious")
            mesh = panel.imshow(
                shares, origin="lower", cmap="Greys", vmin=0.0, vmax=1.0, aspect="auto"
            )
            for (i, j), share in np.ndenumerate(shares):
                colour = "white" if share > 0.5 else "black"
                text = "" if np.isnan(share) else f"{100 * share:.0f}"
                panel.text(j, i, text, ha="center", va="center", fontsize=7, color=colour)
            panel.set_xticks(range(len(ratios)), [str(ratio) for ratio in ratios], fontsize=8)
            panel.set_yticks(range(len(thetas)), [f"{theta:g}" for theta in thetas], fontsize=8)
            panel.set_title(f"$n = {n}$, $\\mu = {mu:g}$", fontsize=10)
            panel.set_xlabel("samples $p / n$", fontsize=9)
            panel.set_ylabel("$\\theta$", fontsize=9)
    bar = drawing.colorbar(mesh, ax=list(panels.ravel()), shrink=0.8, pad=0.01)
    bar.set_label("share of draws with a spurious minimizer, in the cells in percent")
    return drawing


def summary(table: Table) -> dict[str, Any]:
    """The map in numbers: for each n and mu, from which p / n on no draw has a spurious minimizer.

    None where some draw has one even at the most samples.
    """
    thetas, ratios = axes_of(table)
    clean: dict[str, dict[str, int | None]] = {}
    for n in sorted({row["n"] for row in table.rows}):
        for mu in sorted({row["mu"] for row in table.rows}, reverse=True):
            shares = rates(table, n, mu, "spurious")
            clean[f"n = {n}, mu = {mu:g}"] = {
                f"{theta:g}": _first_clean(shares[i], ratios) for i, theta in enumerate(thetas)
            }
    rows = [row for row in table.rows if "spurious" in row]
    return {
        "rule": f"a row of the truth is within {NEAR:g} mu, at most {NEAR_AT_MOST:g}, of an atom",
        "draws": len(rows),
        "failed": len(table.failed),
        "starts": int(sum(row["starts"] for row in rows)),
        "certified": int(sum(row["certified"] for row in rows)),
        "no_spurious_from_p_over_n_on": clean,
    }


def _first_clean(shares: np.ndarray, ratios: list[int]) -> int | None:
    """The number of samples from which on all shares are zero."""
    bad = np.flatnonzero(~(shares == 0.0))
    last = bad[-1] if len(bad) else -1
    return ratios[last + 1] if last + 1 < len(ratios) else None


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a few cells, in a temporary folder")
    parser.add_argument("--draws", type=int, default=5, help="draws of each setting, 5")
    parser.add_argument("--out", type=Path, help=f"{RESULTS} if not given")
    parser.add_argument("--resume", action="store_true", help="continue what is in the folder")
    return parser.parse_args()


def main() -> None:
    chosen = arguments()
    grid: dict[str, Any] = {"n": (5, 10), "ratio": RATIOS, "theta": THETAS, "mu": SMOOTHINGS}
    if chosen.quick:
        grid = {"n": (5,), "ratio": (4, 16), "theta": (0.2, 0.6), "mu": (0.1,)}
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.out or (Path(temporary) if chosen.quick else RESULTS)
        store = folder / "draws.sqlite"
        begin = time.perf_counter()
        draws = 2 if chosen.quick else chosen.draws
        table = sweep(
            one_draw, grid, repetitions=draws, store=store, resume=chosen.resume, progress=True
        )
        seconds = time.perf_counter() - begin
        found = summary(table)
        saved = [table.to_csv(folder / "draws.csv"), save_json(folder / "summary.json", found)]
        saved.append(save_figure(folder / "spurious-minimizers.png", figure(table)))
        print(
            f"{settings()}\n\n{found['draws']} draws, {found['starts']} starts, of which ", end=""
        )
        print(f"{found['certified']} ended at a certified minimizer; {found['rule']}")
        print("no draw has a spurious minimizer from this p / n on (-: not even at the most):")
        for name, clean in found["no_spurious_from_p_over_n_on"].items():
            told = ", ".join(f"theta {theta}: {ratio or '-'}" for theta, ratio in clean.items())
            print(f"  {name:<20} {told}")
        print(f"{seconds:.0f} s in all; saved: {', '.join(str(path) for path in saved)}")


if __name__ == "__main__":
    main()
