"""The paper's simulations (section IV.B): where one sparse row is recovered, and where not.

Two maps: k against n with ``p = 5 n^2 log n`` samples, and p against n with ``k = ceil(0.2 n)``
nonzeros per column. A = I, mu = 1e-2; a trial is a success if the solution of the nonconvex problem
from a random start is within mu of a target, a signed basis vector.

Beyond the paper: the method it analyses, the whole pipeline in place of one row, complete
dictionaries, noise, other surrogates, other shares of nonzeros, and whitening where A = I already.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from riemtr.arguments import check_positive, integer, real
from riemtr.data import Conditioned, ExactlySparse, Identity, paper_sample_size
from riemtr.data.blocks import Blocks
from riemtr.data.metrics import reconstruction_error
from riemtr.errors import ArgumentError, MissingExtraError, unknown_name
from riemtr.files import save_figure, save_json
from riemtr.manifolds import Sphere
from riemtr.paper.phase_figures import Map, figure, success_map
from riemtr.problem import Problem
from riemtr.problems import dictionary_problem
from riemtr.problems.joint_dictionary import JointCost
from riemtr.problems.surrogates import SURROGATES, as_surrogate
from riemtr.progress import Watcher, watching
from riemtr.recovery import precondition as whitened
from riemtr.recovery import recover_dictionary
from riemtr.solvers import NAMED, ExactTRM, Status
from riemtr.summary import DOUBTFUL, GOOD, Summary, plural
from riemtr.sweep.run import sweep
from riemtr.sweep.table import Table, failures, read, read_outcomes

NAME = "phase-transition"
MAPS = ("k-n", "p-n")
METHODS = ("practical", "printed", "exact", "pipeline")
DICTIONARIES = ("identity", "conditioned")
GRIDS = ("quick", "default", "coarse", "paper")
FIGURE, SUMMARY = "phase-transition.png", "summary.json"
# The paper's share of nonzeros, in the map of p against n.
SHARE = 0.2
# Samples of the smallest setting, and how many times more it takes to average noise out.
_FEWEST = 20
_NOISY = 8
# Of each grid: in the map of k the ranges of n, each with its step, which is that of k as well; the
# step of n and its end in the map of p; and the largest p with its steps per doubling. Each grid
# but the smallest is part of the next. The exact method takes hundreds of steps: its grids end
# earlier.
_EXTENTS = {
    "quick": (((5, 20, 5),), (10, 30), (320, 1)),
    "default": (((5, 95, 5),), (5, 150), (5120, 3)),
    "coarse": (((5, 95, 5), (105, 150, 15)), (5, 150), (10240, 3)),
    "paper": (((5, 150, 5),), (5, 150), (10240, 3)),
}
_EXACT_EXTENTS = {
    "quick": (((5, 15, 5),), (10, 20), (160, 1)),
    "default": (((5, 60, 5),), (10, 100), (2560, 2)),
    "coarse": (((5, 60, 5), (75, 150, 15)), (10, 150), (5120, 2)),
    "paper": (((5, 150, 5),), (10, 150), (5120, 2)),
}
# With fewer crossings than this the power law is called a rough guess.
_CROSSINGS = 5


@dataclass(frozen=True)
class PhaseTransition:
    """The experiment to map.

    Parameters
    ----------
    grid : {"quick", "default", "coarse", "paper"}
        How far and how finely: seconds; 5 to 7 minutes on two cores; n to 150, with fewer values
        from 100 on; or n to 150, hours.
    method : {"practical", "printed", "exact", "pipeline"}
        `PracticalTRM`; `PaperTRM`, the same as the paper prints it; `ExactTRM`, with the fixed
        radius mu, whose hundreds of steps make its grids end earlier; or the whole pipeline,
        `recover_dictionary`, which succeeds if it finds every row.
    dictionary : {"identity", "conditioned"}
        The paper's A = I; or complete dictionaries, whose data are preconditioned.
    condition_number : float
        Of the conditioned dictionaries.
    noise : float
        Standard deviation of the noise over the root mean square of the observations. With noise
        the map of p against n goes to more samples.
    mu : float
        Smoothing parameter, and the error that counts as success.
    surrogate : {"log-cosh", "huber", "l4"}
        The smooth function in place of the l1 norm.
    precondition : bool, optional
        Whether data are whitened: by default where the paper does, for conditioned dictionaries,
        and in the pipeline.
    share : float
        Share of nonzeros in the map of p against n.
    largest : int, optional
        The largest n, where the grid should end earlier than it does.
    """

    grid: str = "default"
    method: str = "practical"
    dictionary: str = "identity"
    condition_number: float = 10.0
    noise: float = 0.0
    mu: float = 1e-2
    surrogate: str = "log-cosh"
    precondition: bool | None = None
    share: float = SHARE
    largest: int | None = None
    common: dict[str, Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name, valid in (
            ("grid", GRIDS),
            ("method", METHODS),
            ("dictionary", DICTIONARIES),
            ("surrogate", tuple(SURROGATES)),
        ):
            if getattr(self, name) not in valid:
                raise unknown_name(name, getattr(self, name), valid)
        real("condition_number", self.condition_number, low=1.0)
        real("noise", self.noise, low=0.0)
        check_positive("mu", self.mu)
        real("share", self.share, low=0.0, high=1.0)
        if self.largest is not None:
            integer("largest", self.largest, low=1, or_else=", or None for that of the grid")
        conditioned = self.dictionary == "conditioned"
        if conditioned and self.precondition is False:
            needs = "be True or left out for conditioned dictionaries, which are no rotations"
            raise ArgumentError("precondition", needs, self.precondition)
        common = {
            "mu": self.mu,
            "method": self.method,
            "dictionary": self.dictionary,
            "condition_number": float(self.condition_number) if conditioned else 1.0,
            "noise": float(self.noise),
        }
        # Settings of the paper go without saying: its cells keep their random numbers.
        if self.surrogate != "log-cosh":
            common["surrogate"] = self.surrogate
        if self.is_preconditioned != _whitens(self.method, self.dictionary):
            common["precondition"] = self.is_preconditioned
        object.__setattr__(self, "common", common)

    @property
    def is_preconditioned(self) -> bool:
        """Whether data are whitened."""
        by_default = _whitens(self.method, self.dictionary)
        return by_default if self.precondition is None else bool(self.precondition)

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
        ranges, (samples_step, samples_largest), (most, fine) = extents[self.grid]
        if map_name == "k-n":
            sizes = [
                {"n": n, "k": k, "p": paper_sample_size(n)}
                for first, largest, step in ranges
                for n in range(first, largest + 1, step)
                for k in range(step, n + 1, step)
            ]
        else:
            sizes = [
                {"n": n, "k": max(1, math.ceil(self.share * n)), "p": p}
                for n in range(samples_step, samples_largest + 1, samples_step)
                for p in _samples(_FEWEST, most * (_NOISY if self.noise else 1), fine)
            ]
        within = [size for size in sizes if size["n"] <= (self.largest or size["n"])]
        if not within:
            least = min(size["n"] for size in sizes)
            raise ArgumentError("largest", f"be at least {least}, the grid's first n", self.largest)
        return [{**size, **self.common} for size in within]


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
    surrogate: str = "log-cosh",
    precondition: bool | None = None,
) -> dict[str, Any]:
    """Draw data, solve once from a random start, and compare with the truth.

    Returns
    -------
    dict
        ``error``, the reconstruction error RE of section IV.B, of the pipeline the largest of all
        rows; ``success``, whether it is at most mu; ``converged``, ``iterations`` and ``status`` of
        the solver, of the pipeline whether all rows are proved.
    """
    kind = Identity() if dictionary == "identity" else Conditioned(condition_number)
    A = kind.matrix(n, rng)
    Y = ExactlySparse(n, p, k).coefficients(rng)
    if dictionary != "identity":
        Y = A @ Y
    if noise > 0:
        scale = noise * float(np.linalg.norm(Y)) / math.sqrt(Y.size)
        for row in Y:
            row += scale * rng.standard_normal(row.size)
    whitens = _whitens(method, dictionary) if precondition is None else precondition
    if method == "pipeline":
        return _recovery(Y, A, mu, surrogate, whitens, rng)
    targets = None
    if whitens:
        try:
            white = whitened(Y, theta=k / n)  # nonzeros of variance 1, as where A = I
        except ValueError:
            # Fewer samples than unknowns, or rows that depend on each other: nothing to recover.
            return _result(math.inf, mu, False, 0, "rank-deficient")
        Y, targets = white.data, white.matrix @ A
    if surrogate == "log-cosh":
        problem = dictionary_problem(Y, mu)
    else:
        problem = Problem(Sphere(n), JointCost(Blocks(Y), as_surrogate(surrogate, mu)))
    start = problem.manifold.random_point(rng)
    result = _solver(method, mu).solve(problem, start, rng=rng)
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt  # what was interrupted is no outcome
    error = reconstruction_error(result.point, targets)
    return _result(error, mu, result.converged, result.iterations, result.status.name.lower())


def _whitens(method: str, dictionary: str) -> bool:
    """Whether data are whitened where nobody says otherwise."""
    return method == "pipeline" or dictionary == "conditioned"


def _recovery(
    Y: np.ndarray, truth: np.ndarray, mu: float, surrogate: str, whitens: bool, rng: Any
) -> dict[str, Any]:
    """Recover the whole dictionary, and look for every row of the truth."""
    try:
        found = recover_dictionary(Y, mu, rng, surrogate=surrogate, precondition=whitens)
    except ValueError:  # as where one row cannot be whitened
        return _result(math.inf, mu, False, 0, "rank-deficient")
    rows = np.linalg.inv(truth)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    error = max(reconstruction_error(row, found.dictionary) for row in rows)
    iterations = max(atom.result.iterations for atom in found.atoms)
    proved = bool(found.certified)
    return _result(error, mu, proved, iterations, "proved" if proved else "not proved")


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


def _solver(method: str, mu: float) -> Any:
    # The Hessian at a minimizer is of order 1 / mu: this leaves an error far below mu.
    tolerance = 0.1 * mu
    if method == "exact":
        # The radius within which the cost is smooth; with twice as much it cycles.
        return ExactTRM(
            radius=mu, tolerance=tolerance, curvature_tolerance=tolerance, max_iterations=3000
        )
    return NAMED[method](tolerance=tolerance, curvature_tolerance=tolerance)


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
        "share": what.share,
        "maps": {name: _summary(what, tables[name], one) for name, one in maps.items()},
        "environments": [one for i, one in enumerate(made_with) if one not in made_with[:i]],
    }
    saved.append(save_json(folder / SUMMARY, summary))
    if maps:
        with suppress(MissingExtraError):
            saved.append(save_figure(folder / FIGURE, figure(maps, title(what), what.share)))
    return maps, saved


def title(what: PhaseTransition) -> str:
    """Say what was mapped, in a line.

    Examples
    --------
    >>> title(PhaseTransition(noise=0.05))
    'Recovery of one sparse row: practical method, A = I, 5% noise'
    """
    whole = what.method == "pipeline"
    parts = ["" if whole else f"{what.method} method"]
    identity = what.dictionary == "identity"
    parts.append("A = I" if identity else f"condition number {what.condition_number:g}")
    parts.append("preconditioned" if what.is_preconditioned and not whole else "")
    parts.append("" if what.surrogate == "log-cosh" else f"{what.surrogate} in place of log cosh")
    parts.append(f"{100 * what.noise:g}% noise" if what.noise else "")
    rows = "all rows by the whole pipeline" if whole else "one sparse row"
    return f"Recovery of {rows}: {', '.join(filter(None, parts))}"


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


def _grid_of(what: PhaseTransition, table: Table, one: Map) -> str | None:
    """Name the grid that a table covers as far as it goes; None where there is none."""
    found = {tuple(sorted(outcome.cell.settings.items())) for outcome in table.outcomes}
    for grid in GRIDS:
        wanted = replace(what, grid=grid, largest=int(one.n[-1])).settings(one.name)
        if found == {tuple(sorted(settings.items())) for settings in wanted}:
            return grid
    return None


def _summary(what: PhaseTransition, table: Table, one: Map) -> dict[str, Any]:
    law = one.law
    return {
        "grid": _grid_of(what, table, one),
        "largest": int(one.n[-1]),
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
