"""The paper's figures at its settings, one by one; and the same maps past the paper.

The paper has four figures and no tables. Figure 1 illustrates the exponential map, Figure 2 is the
landscape, Figure 3 the two phase transitions, Figure 4 the image experiment.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from riemtr.errors import MissingExtraError, unknown_name
from riemtr.files import save_figure, write_atomically
from riemtr.paper import image_starts
from riemtr.paper.expectation import landscape
from riemtr.paper.landscape_figures import exponential_figure, landscape_figure, landscape_page
from riemtr.paper.phase_figures import Map, boundaries_figure, success_map
from riemtr.paper.phases import (
    MAPS,
    PhaseTransition,
    maps_summary,
    run_maps,
    save_maps,
)
from riemtr.progress import Watcher
from riemtr.summary import Summary
from riemtr.sweep.cells import Outcome
from riemtr.sweep.run import sweep
from riemtr.sweep.table import Made, Table, failures

RATES = "rates.csv"
# A direction as near as this to a target lies in its basin, accurate to mu or not.
BASIN = 0.1


@dataclass(frozen=True)
class Experiment:
    """One of those that share a figure.

    Attributes
    ----------
    words : str
        What makes it different.
    options : dict
        The same, of :class:`riemtr.paper.phases.PhaseTransition`.
    maps : dict
        The maps that show it, each with its largest n; None for that of the grid.
    """

    words: str
    options: Mapping[str, Any] = field(default_factory=dict)
    maps: Mapping[str, int | None] = field(default_factory=lambda: {"p-n": None})


# Samples grow as n^2 log n in the map of k: what differs shows at half of the sizes.
_BOTH = {"k-n": 60, "p-n": None}
# The whole pipeline finds n rows in place of one.
_PIPELINE = {"k-n": 40, "p-n": 60}

METHODS = {
    method: Experiment(f"{method} method", {"method": method}, dict.fromkeys(MAPS))
    for method in ("printed", "practical")
}
"""Of Figure 3, the method as printed and riemtr's, by the folder they go to."""

PAST = {
    "one-row": Experiment("one row, as in the paper", maps=_BOTH),
    "exact": Experiment("one row, exact method", {"method": "exact"}, _BOTH),
    "whitened": Experiment("one row, whitened", {"precondition": True}, _BOTH),
    "conditioned": Experiment("one row, condition number 10", {"dictionary": "conditioned"}, _BOTH),
    "noise": Experiment("one row, 5% noise", {"noise": 0.05}, _BOTH),
    "huber": Experiment("one row, Huber", {"surrogate": "huber"}, _BOTH),
    "l4": Experiment("one row, l4", {"surrogate": "l4"}, _BOTH),
    "half": Experiment("one row, theta 0.5", {"share": 0.5}),
    "pipeline": Experiment("all rows, pipeline", {"method": "pipeline"}, _PIPELINE),
    "pipeline-half": Experiment(
        "all rows, theta 0.5", {"method": "pipeline", "share": 0.5}, {"p-n": 60}
    ),
}
"""Experiments past the paper, by the folder they go to."""


@dataclass(frozen=True)
class Work:
    """Where and how to make a figure.

    Attributes
    ----------
    folder : Path
    run : callable
        :func:`riemtr.sweep.sweep`, perhaps with some of its options set.
    watch : callable
        Called with every :class:`riemtr.progress.Progress`.
    quick : bool
        Small sizes, seconds.
    grid : str
        Of the maps: "paper", or "coarse" and "default", which have fewer settings of large n.
    largest : int, optional
        The largest n of the maps.
    repetitions : int
        Trials of each setting of a map: the paper's 5.
    starts : int
        Of each picture: the paper's 100.
    """

    folder: Path
    run: Callable[..., Table] = sweep
    watch: Watcher = lambda now: None
    quick: bool = False
    grid: str = "paper"
    largest: int | None = None
    repetitions: int = 5
    starts: int = 100


@dataclass(frozen=True)
class Figure:
    """A figure of the paper, or one past it.

    Attributes
    ----------
    title : str
    effort : str
        How long it takes, in words.
    make : callable
        ``make(work)`` returns :class:`riemtr.sweep.table.Made`.
    sizes : tuple of str
        The options of :class:`Work` that say how much of it to make.
    stores : tuple of str
        Where it keeps its trials, below its folder.
    files : tuple of str
        What it draws without any.
    """

    title: str
    effort: str
    make: Callable[[Work], Made] = field(repr=False)
    sizes: tuple[str, ...] = ()
    stores: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


def figure_of(name: str) -> Figure:
    """Return a figure by its name in :data:`FIGURES`."""
    if name not in FIGURES:
        raise unknown_name("figure", name, FIGURES)
    return FIGURES[name]


def make(name: str, work: Work) -> Made:
    """Make a figure by its name."""
    figure = figure_of(name)
    work.folder.mkdir(parents=True, exist_ok=True)
    made = figure.make(work)
    return replace(made, summary=replace(made.summary, line=f"{name}: {made.summary.line}"))


def _exponential_map(work: Work) -> Made:
    drawn = exponential_figure()
    saved = [save_figure(work.folder / f"figure-1.{kind}", drawn) for kind in ("png", "svg")]
    return Made(saved, Summary("figure 1", line="drawn"))


def _landscape(work: Work) -> Made:
    scene = landscape()
    drawn = landscape_figure(scene)
    saved = [save_figure(work.folder / f"figure-2.{kind}", drawn) for kind in ("png", "svg")]
    with suppress(MissingExtraError):
        page = landscape_page(scene).encode()
        saved.append(write_atomically(work.folder / "figure-2.html", page))
    pairs = (
        ("expectation", f"{scene.cost!r}, by sums over supports and quadrature"),
        ("run", f"{scene.result.iterations} steps, {scene.result.certificate.verdict}"),
    )
    return Made(saved, Summary("figure 2", pairs, line="drawn"))


def _planned(
    work: Work, experiments: Mapping[str, Experiment]
) -> dict[str, dict[str, PhaseTransition]]:
    """Return what to map, by folder and map; all is checked before the first trial is run."""
    plans: dict[str, dict[str, PhaseTransition]] = {}
    for folder, one in experiments.items():
        grid = "quick" if work.quick else work.grid
        plans[folder] = plan = {}
        for name, end in one.maps.items():
            ends = [n for n in (work.largest, end) if n is not None]
            plan[name] = PhaseTransition(grid, largest=min(ends, default=None), **one.options)
        for name in sorted(plan, reverse=True):  # p-n begins at larger n
            plan[name].settings(name)
    return plans


def _mapped(
    work: Work, experiments: Mapping[str, Experiment], title: str
) -> tuple[Made, dict[str, dict[str, Map]]]:
    """Run and draw the maps of experiments, each into a folder of its own."""
    parts, found = [], {}
    for name, plan in _planned(work, experiments).items():
        part, found[experiments[name].words] = _map(work, work.folder / name, plan)
        parts.append(part)
    return _joined(title, parts), found


def _map(
    work: Work, folder: Path, plan: Mapping[str, PhaseTransition]
) -> tuple[Made, dict[str, Map]]:
    folder.mkdir(parents=True, exist_ok=True)
    watch = partial(_renamed, work.watch, folder.name)
    tables: dict[str, Table] = {}
    for name, what in plan.items():
        tables |= run_maps(
            what, (name,), folder, repetitions=work.repetitions, run=work.run, progress=watch
        )
    drawn, saved = save_maps(folder, what, tables)
    saved.append(save_rates(folder / RATES, tables))
    said = maps_summary(drawn, tables.values())
    pairs = tuple((f"{folder.name}, {name}", value) for name, value in said.pairs)
    failed = sum(len(table.failed) for table in tables.values())
    return Made(saved, replace(said, pairs=pairs), failed), drawn


def _renamed(watch: Watcher, name: str, now: Any) -> Any:
    return watch(replace(now, stage=f"{name} {now.stage}"))


def _joined(title: str, parts: list[Made]) -> Made:
    pairs = tuple(pair for part in parts for pair in part.summary.pairs)
    notes = tuple(note for part in parts for note in part.summary.notes)
    failed = sum(part.failed for part in parts)
    files = [path for part in parts for path in part.saved]
    line = f"{len(parts)} experiments, {failed} cells failed"
    return Made(files, Summary(title, pairs, notes=notes, line=line), failed)


def _phase_transitions(work: Work) -> Made:
    return _mapped(work, METHODS, "figure 3")[0]


def _past(work: Work) -> Made:
    made, maps = _mapped(work, PAST, "past the paper")
    return replace(made, saved=made.saved + save_boundaries(work.folder, maps))


def save_boundaries(folder: Path, maps: Mapping[str, Mapping[str, Map]]) -> list[Path]:
    """Draw the boundaries of several experiments together, a figure for each kind of map."""
    saved = []
    for axis, words in (("p-n", "samples"), ("k-n", "sparsity")):
        drawn = {name: mine[axis] for name, mine in maps.items() if axis in mine}
        title = f"Past the paper: {words} at which half of the trials succeed"
        with suppress(MissingExtraError):
            if drawn:
                figure = boundaries_figure(drawn, title)
                saved.append(save_figure(folder / f"past-{axis}.png", figure))
    return saved


def _image_starts(work: Work) -> Made:
    images, side = (image_starts.IMAGES[:1], 4) if work.quick else (image_starts.IMAGES, 8)
    table = work.run(
        image_starts.trial,
        image_starts.settings(images, side),
        repetitions=work.starts,
        store=work.folder / f"{image_starts.NAME}.sqlite",
        cost=image_starts.expected_cost,
        progress=partial(_renamed, work.watch, "image"),
        name=image_starts.NAME,
    )
    found = image_starts.starts(table.rows)
    saved = [table.to_csv(work.folder / "starts.csv")]
    if found:  # or all of them have failed
        with suppress(MissingExtraError):
            best = image_starts.best_dictionaries(table, found, ("printed", "pipeline"))
            drawn = image_starts.figure(found, best)
            saved.append(save_figure(work.folder / "figure-4.png", drawn))
    said = replace(image_starts.summary(found), notes=tuple(failures([table])))
    return Made(saved, replace(said, line=f"{len(table)} starts"), len(table.failed))


# --- maps in short: a row for each setting -------------------------------------------------------

_COLUMNS = ("map", "n", "k", "p", "trials", "successes", "in_basin", "iterations", "cpu_seconds")


def save_rates(path: Path, tables: Mapping[str, Table]) -> Path:
    """Write maps as one row for each setting: successes, and what trials took in the median.

    ``in_basin`` counts the trials that ended within 0.1 of a target, accurate to mu or not.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for name, table in tables.items():
        groups: dict[tuple[Any, ...], list[Outcome]] = {}
        for outcome in table.outcomes:
            if "success" in outcome.values:
                setting = tuple(outcome.cell.settings[letter] for letter in "nkp")
                groups.setdefault(setting, []).append(outcome)
        for setting, some in sorted(groups.items()):
            successes = sum(bool(one.values["success"]) for one in some)
            near = sum(one.values["error"] <= BASIN for one in some)  # type: ignore[operator]
            iterations = round(float(np.median([one.values["iterations"] for one in some])))
            seconds = float(np.median([one.cpu_seconds for one in some]))
            shown = (name, *setting, len(some), successes, near, iterations, f"{seconds:.3g}")
            writer.writerow(shown)
    return write_atomically(path, text.getvalue().encode())


def read_rates(path: Path, count: str = "successes", largest: int | None = None) -> dict[str, Map]:
    """Return the maps of a file that :func:`save_rates` wrote, with their boundaries and laws.

    Parameters
    ----------
    path : Path
    count : {"successes", "in_basin"}
        What counts as success.
    largest : int, optional
        The largest n to look at, so that laws of several maps are fitted to the same range.
    """
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    found = {}
    for name in dict.fromkeys(row["map"] for row in rows):
        cells = []
        for row in (row for row in rows if row["map"] == name):
            n, k, p, trials, wins = (int(row[key]) for key in ("n", "k", "p", "trials", count))
            if largest is not None and n > largest:
                continue
            cells += [{"n": n, "k": k, "p": p, "success": i < wins} for i in range(trials)]
        found[name] = success_map(cells, name)
    return found


_MAPPED = ("grid", "largest", "repetitions")


def _stores(experiments: Mapping[str, Experiment]) -> tuple[str, ...]:
    return tuple(f"{name}/{map_name}.sqlite" for name in experiments for map_name in MAPS)


FIGURES = {
    "figure-1": Figure(
        "tangent space and exponential map",
        "a second",
        _exponential_map,
        files=("figure-1.png", "figure-1.svg"),
    ),
    "figure-2": Figure(
        "the large-sample landscape, its regions, a run",
        "seconds",
        _landscape,
        files=("figure-2.png", "figure-2.svg", "figure-2.html"),
    ),
    "figure-3": Figure(
        "both phase transitions, the printed method and riemtr's",
        "hours",
        _phase_transitions,
        _MAPPED,
        _stores(METHODS),
    ),
    "figure-4": Figure(
        "dictionaries of three photographs, 100 starts each",
        "an hour",
        _image_starts,
        ("starts",),
        (f"{image_starts.NAME}.sqlite",),
    ),
    "past-the-paper": Figure(
        "exact steps, whitening, noise, surrogates, theta 0.5, all rows",
        "hours",
        _past,
        _MAPPED,
        _stores(PAST),
    ),
}
"""What can be made, by name."""
