"""The paper's simulations (section IV.B): where one sparse row is recovered, and where not.

Two maps: k against n with ``p = 5 n^2 log n`` samples, and p against n with ``k = ceil(0.2 n)``
nonzeros per column. A = I, mu = 1e-2; a trial is a success if the solution of the nonconvex problem
from a random start is within mu of a target, a signed basis vector.

Beyond the paper: the method it analyses, complete dictionaries, and noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from riemtr.arguments import check_positive, real
from riemtr.data import Conditioned, ExactlySparse, Identity, paper_sample_size
from riemtr.data.metrics import reconstruction_error
from riemtr.errors import MissingExtraError, unknown_name
from riemtr.files import save_figure, save_json
from riemtr.problems import dictionary_problem
from riemtr.progress import Watcher, watching
from riemtr.recovery import precondition
from riemtr.solvers import ExactTRM, PracticalTRM, Status, TrustRegion
from riemtr.subproblem import HybridSubproblem
from riemtr.summary import DOUBTFUL, GOOD, Summary, plural
from riemtr.sweep.phase_figures import Map, figure, success_map
from riemtr.sweep.run import sweep
from riemtr.sweep.table import Table, failures, read, read_outcomes

NAME = "phase-transition"
MAPS = ("k-n", "p-n")
METHODS = ("practical", "no-continuation", "exact")
DICTIONARIES = ("identity", "conditioned")
GRIDS = ("quick", "default", "paper")
FIGURE, SUMMARY = "phase-transition.png", "summary.json"
# Share of nonzeros, in the map of p against n.
_SHARE = 0.2
# Samples of the smallest setting, and how many times more it takes to average noise out.
_FEWEST = 20
_NOISY = 8
# Of each grid: the step of n and its end in the map of k, the same in the map of p, and the largest
# p with its steps per doubling. The exact method takes hundreds of steps: its grids end earlier.
_EXTENTS = {
    "quick": ((5, 20), (10, 30), (320, 1)),
    "default": ((5, 95), (5, 150), (5120, 3)),
    "paper": ((5, 150), (5, 150), (10240, 3)),
}
_EXACT_EXTENTS = {
    "quick": ((5, 15), (10, 20), (160, 1)),
    "default": ((5, 60), (10, 100), (2560, 2)),
    "paper": ((5, 150), (10, 150), (5120, 2)),
}
# Values of n with a boundary that make a law of it.
_CROSSINGS = 5


@dataclass(frozen=True)
class PhaseTransition:
    """The experiment to map.

    Parameters
    ----------
    grid : {"quick", "default", "paper"}
        How far and how finely: seconds, 5 to 7 minutes on two cores, or n to 150, hours.
    method : {"practical", "no-continuation", "exact"}
        `PracticalTRM`; the same without its continuation in mu, as in the paper; or `ExactTRM`,
        with the fixed radius mu. The exact method takes hundreds of steps: its grids end earlier.
    dictionary : {"identity", "conditioned"}
        The paper's A = I; or complete dictionaries, whose data are preconditioned.
    condition_number : float
        Of the conditioned dictionaries.
    noise : float
        Standard deviation of the noise over the root mean square of the observations. With noise
        the map of p against n goes to more samples.
    mu : float
        Smoothing parameter, and the error that counts as success.
    """

    grid: str = "default"
    method: str = "practical"
    dictionary: str = "identity"
    condition_number: float = 10.0
    noise: float = 0.0
    mu: float = 1e-2
    common: dict[str, Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name, valid in (("grid", GRIDS), ("method", METHODS), ("dictionary", DICTIONARIES)):
            if getattr(self, name) not in valid:
                raise unknown_name(name, getattr(self, name), valid)
        real("condition_number", self.condition_number, low=1.0)
        real("noise", self.noise, low=0.0)
        check_positive("mu", self.mu)
        conditioned = self.dictionary == "conditioned"
        common = {
            "mu": self.mu,
            "method": self.method,
            "dictionary": self.dictionary,
            "condition_number": float(self.condition_number) if conditioned else 1.0,
            "noise": float(self.noise),
        }
        object.__setattr__(self, "common", common)

    def settings(self, map_name: str) -> list[dict[str, Any]]:
        """Return the settings of one of the two maps.

        Examples
        --------
        >>> settings = PhaseTransition("quick").settings("p-n")
        >>> sorted({one["n"] for one in settings}), settings[0]["k"]
        ([10, 20, 30], 2)
        """
        if map_name not in MAPS:
            raise unknown_name("map", map_name, MAPS)
        extents = _EXACT_EXTENTS if self.method == "exact" else _EXTENTS
        (step, largest), (samples_step, samples_largest), (most, fine) = extents[self.grid]
        if map_name == "k-n":
            sizes = [
                {"n": n, "k": k, "p": paper_sample_size(n)}
                for n in range(step, largest + 1, step)
                for k in range(step, n + 1, step)
            ]
        else:
            sizes = [
                {"n": n, "k": math.ceil(_SHARE * n), "p": p}
                for n in range(samples_step, samples_largest + 1, samples_step)
                for p in _samples(_FEWEST, most * (_NOISY if self.noise else 1), fine)
            ]
        return [{**size, **self.common} for size in sizes]


def _samples(first: int, last: int, per_doubling: int) -> tuple[int, ...]:
    """Numbers of samples in geometric progression.

    Examples
    --------
    >>> _samples(20, 80, 2)
    (20, 28, 40, 57, 80)
    """
    count = round(per_doubling * math.log2(last / first))
    return tuple(round(first * 2 ** (i / per_doubling)) for i in range(count + 1))


def trial(
    rng: np.random.Generator,
    n: int,
    k: int,
    p: int,
    mu: float,
    method: str,
    dictionary: str,
    condition_number: float,
    noise: float,
) -> dict[str, Any]:
    """Draw data, solve once from a random start, and compare with the truth.

    Returns
    -------
    dict
        ``error``, the reconstruction error RE of section IV.B; ``success``, whether it is at most
        mu; ``converged``, ``iterations`` and ``status`` of the solver.
    """
    kind = Identity() if dictionary == "identity" else Conditioned(condition_number)
    sample = ExactlySparse(n, p, k, dictionary=kind).draw(rng)
    Y = sample.observations
    if noise > 0:
        scale = noise * float(np.linalg.norm(Y)) / math.sqrt(Y.size)
        for row in Y:
            row += scale * rng.standard_normal(row.size)
    targets = None
    if dictionary != "identity":
        try:
            white = precondition(Y, theta=k / n)  # nonzeros of variance 1, as where A = I
        except ValueError:
            # Fewer samples than unknowns, or rows that depend on each other: nothing to recover.
            return _result(math.inf, mu, False, 0, "rank-deficient")
        Y, targets = white.data, white.matrix @ sample.dictionary
    del sample  # X is as large as Y
    problem = dictionary_problem(Y, mu)
    start = problem.manifold.random_point(rng)
    result = _solver(method, mu).solve(problem, start, rng=rng)
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt  # what was interrupted is no outcome
    error = reconstruction_error(result.point, targets)
    return _result(error, mu, result.converged, result.iterations, result.status.name.lower())


def expected_cost(settings: Mapping[str, Any]) -> float:
    """Return what a trial takes, up to a factor: passes over the data, more where it is dense."""
    n, k, p = settings["n"], settings["k"], settings["p"]
    dense = 1.0 + 10.0 * max(0.0, k / n - 0.75)  # near k = n the landscape is flat and rough
    if settings["method"] == "exact":
        return (n * n * p + 30.0 * n**3 + 1e5) * dense
    return (50.0 * n * p + 30.0 * n**3 + 1e5) * dense


def _result(
    error: float, mu: float, converged: bool, iterations: int, status: str
) -> dict[str, Any]:
    return {
        "error": error,
        "success": error <= mu,
        "converged": converged,
        "iterations": iterations,
        "status": status,
    }


def _solver(method: str, mu: float) -> TrustRegion:
    # The Hessian at a minimizer is of order 1 / mu: this leaves an error far below mu.
    tolerance = 0.1 * mu
    if method == "exact":
        # The radius within which the cost is smooth; with twice as much it cycles.
        return ExactTRM(
            radius=mu, tolerance=tolerance, curvature_tolerance=tolerance, max_iterations=3000
        )
    if method == "practical":
        return PracticalTRM(tolerance=tolerance, curvature_tolerance=tolerance)
    return TrustRegion(HybridSubproblem(), tolerance=tolerance, curvature_tolerance=tolerance)


# --- from the grid to its files ------------------------------------------------------------------


def run_maps(
    what: PhaseTransition,
    maps: Sequence[str],
    folder: Path,
    *,
    repetitions: int = 5,
    run: Callable[..., Table] = sweep,
    progress: bool | Watcher = False,
) -> dict[str, Table]:
    """Run the trials of maps, each into a store of its own, ``<map>.sqlite`` in a folder.

    A folder is for one experiment: it is refused if it has a map of another. ``run`` is
    :func:`sweep`, perhaps with some of its options set; ``progress`` is as there, with the map's
    name as the stage. Returns tables by map.
    """
    _check_folder(folder, what)
    tables = {}
    with watching(progress) as watch:
        for name in maps:
            tables[name] = run(
                trial,
                what.settings(name),
                repetitions=repetitions,
                store=folder / f"{name}.sqlite",
                cost=expected_cost,
                progress=lambda now, name=name: watch(replace(now, stage=name)),
                name=NAME,
            )
    return tables


def save_maps(
    folder: Path, what: PhaseTransition, tables: Mapping[str, Table]
) -> tuple[dict[str, Map], list[Path]]:
    """Write the tables as CSV, the figure, and a summary; return the maps and what was written.

    Maps that the folder has from earlier runs are part of the figure and the summary. Without
    matplotlib there is no figure.
    """
    stores = _stores(folder)
    tables = {name: tables[name] if name in tables else read(stores[name]) for name in stores}
    saved = [table.to_csv(folder / f"{name}.csv") for name, table in tables.items()]
    maps = {
        name: success_map(table, name)
        for name, table in tables.items()
        if len(table.failed) < len(table)
    }
    records = [made for path in stores.values() for made in read_outcomes(path)[1].values()]
    made_with = [made["environment"] for made in records]
    summary = {
        "experiment": NAME,
        **what.common,
        "maps": {name: _summary(what, tables[name], one) for name, one in maps.items()},
        "environments": [one for i, one in enumerate(made_with) if one not in made_with[:i]],
    }
    saved.append(save_json(folder / SUMMARY, summary))
    if maps:
        with suppress(MissingExtraError):
            saved.append(save_figure(folder / FIGURE, figure(maps, title(what))))
    return maps, saved


def title(what: PhaseTransition) -> str:
    """Say what was mapped, in a line.

    Examples
    --------
    >>> title(PhaseTransition(noise=0.05))
    'Recovery of one sparse row: practical method, A = I, 5% noise'
    """
    method = {"no-continuation": "practical method without continuation"}.get(
        what.method, f"{what.method} method"
    )
    conditioned = f"condition number {what.condition_number:g}, preconditioned"
    dictionary = "A = I" if what.dictionary == "identity" else conditioned
    noise = f", {100 * what.noise:g}% noise" if what.noise else ""
    return f"Recovery of one sparse row: {method}, {dictionary}{noise}"


def _stores(folder: Path) -> dict[str, Path]:
    """The stores that a folder has, by map."""
    paths = {name: folder / f"{name}.sqlite" for name in MAPS}
    return {name: path for name, path in paths.items() if path.exists()}


def _check_folder(folder: Path, what: PhaseTransition) -> None:
    """Raise an error where a map of another experiment would be drawn beside this one."""
    for path in _stores(folder).values():
        for outcome in read_outcomes(path)[0].values():
            there = outcome.cell.settings
            different = [
                f"{name} = {there.get(name)!r} there, {value!r} here"
                for name, value in what.common.items()
                if there.get(name) != value
            ]
            if different:
                raise ValueError(
                    f"folder {str(folder)!r} holds a map of another experiment, {path.name}: "
                    f"{'; '.join(different)}; choose another folder"
                )


def _grid_of(what: PhaseTransition, table: Table, map_name: str) -> str | None:
    """Name the grid that a table covers; none by name where it is not there yet as a whole."""
    found = {tuple(sorted(outcome.cell.settings.items())) for outcome in table.outcomes}
    for grid in GRIDS:
        wanted = replace(what, grid=grid).settings(map_name)
        if found == {tuple(sorted(settings.items())) for settings in wanted}:
            return grid
    return None


def _summary(what: PhaseTransition, table: Table, one: Map) -> dict[str, Any]:
    law = one.law
    return {
        "grid": _grid_of(what, table, one.name),
        "cells": len(table),
        "failed": len(table.failed),
        "repetitions": one.repetitions,
        "half_of_the_trials": {"n": one.n, one.name[0]: one.boundary},
        "power_law": law and {"factor": law.factor, "exponent": law.exponent},
        "cpu_seconds": sum(outcome.cpu_seconds for outcome in table.outcomes),
    }


def maps_summary(maps: Mapping[str, Map], tables: Iterable[Table]) -> Summary:
    """Say where the phase transitions are, and what failed."""
    tables = list(tables)
    failed = sum(len(table.failed) for table in tables)
    return Summary(
        "phase transition",
        tuple((name, _boundary(name, one)) for name, one in maps.items()),
        notes=tuple(failures(tables)),
        tone=DOUBTFUL if failed else GOOD,
        line=f"{plural(sum(map(len, tables)), 'cell')}, {failed} failed",
    )


def _boundary(name: str, one: Map) -> str:
    """Say where half of the trials succeed."""
    overall = f"{100 * np.nanmean(one.rate):.0f}% of all trials succeed"
    law, crossings = one.law, int(np.isfinite(one.boundary).sum())
    if law is not None:
        where = f"half of the trials succeed at {name[0]} = {law.factor:.2g} n^{law.exponent:.2f}"
        few = f", a rough guess from {crossings} values of n" if crossings < _CROSSINGS else ""
        return f"{where}{few} ({overall})"
    if crossings:
        found = f"a boundary at {crossings} of {one.n.size} values of n"
        return f"{found}, too little for a fit ({overall})"
    return f"no boundary within the grid ({overall})"
