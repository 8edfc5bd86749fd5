"""One run through the paper's regions: theory beside practice, iterate by iterate."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from riemtr.errors import ArgumentError, require
from riemtr.files import write_atomically
from riemtr.page import page, section
from riemtr.paper.chart import (
    NUMERALS,
    OUTER_RADIUS,
    REGION_COLOURS,
    REGIONS,
    Frame,
    cost_change,
    frame_of,
    region_of,
)
from riemtr.paper.checks import constants_of, minimizer_near
from riemtr.paper.constants import DictionaryConstants
from riemtr.paper.slips import slips
from riemtr.solvers import Result, Status
from riemtr.solvers.iteration import Iteration
from riemtr.summary import BAD, GOOD, Cell, Summarised, Summary, Table, plural

# Distance from the minimizer, in roundings, below which ratios of distances are rounding.
_ROUNDINGS = 100.0
# The last ratios of distances that the summary shows.
_SHOWN_RATES = 5


@dataclass(frozen=True, repr=False, eq=False)
class RunRegions(Summarised):
    """A run of the log-cosh cost through the paper's regions; printed, its phases are a table.

    Attributes
    ----------
    constants : DictionaryConstants
        The theory, for the data of the case.
    iterates : dict of str to ndarray
        A table with one entry for each iterate, the start included, and for the step from it:
        ``iteration``, ``section`` (the nearest atom, with its sign), ``length`` of w, ``region``
        (0, 1, 2), ``cost``, ``gradient_norm``, ``distance`` from the minimizer, ``radius``,
        ``step`` (its length), ``constrained``, ``accepted``, ``decrease`` of the cost,
        ``guaranteed`` (the theorem's d at that radius; NaN for unconstrained steps in region I,
        for which there is none), ``rate`` (distance after an unconstrained step over the square of
        that before) and ``gradient_rate`` (the same of gradients). The last iterate has no step.
    minimizer : ndarray
        The minimizer where the run ended, to rounding.
    minimizer_length : float
        Length of w there.
    """

    constants: DictionaryConstants
    iterates: dict[str, np.ndarray]
    minimizer: np.ndarray
    minimizer_length: float

    @property
    def warm_up(self) -> int:
        """Iterations on easier versions of the cost before, which are not in the table."""
        return int(self.iterates["iteration"][0])

    @property
    def steps(self) -> int:
        """Steps of the run."""
        return len(self.iterates["iteration"]) - 1

    @property
    def settled(self) -> int | None:
        """The first iterate in region I from which an unconstrained step goes; None if none is."""
        found = np.flatnonzero(self._unconstrained)
        return int(found[0]) if found.size else None

    @property
    def stays(self) -> bool:
        """Whether all later steps are unconstrained and in region I (lem:TRM-lemma-iv)."""
        return self.settled is not None and bool(self._unconstrained[self.settled : -1].all())

    @property
    def _unconstrained(self) -> np.ndarray:
        table = self.iterates
        return (table["region"] == 0) & ~table["constrained"] & np.isfinite(table["step"])

    @property
    def bound(self) -> float:
        """The theorem's bound on iterations, at the radius that it asks for (eq. cplx_orth)."""
        return replace(self.constants, given_radius=None).iterations(self._first, self._accuracy)

    @property
    def bound_here(self) -> float:
        """The formula of the bound at the smallest radius of the run, which may be too large."""
        radius = float(np.min(self.iterates["radius"]))
        return replace(self.constants, given_radius=radius).iterations(self._first, self._accuracy)

    @property
    def _first(self) -> float:
        return float(self.iterates["cost"][0])

    @property
    def _accuracy(self) -> float:
        floor = float(np.finfo(float).eps)
        return max(float(self.iterates["distance"][-1]), floor)

    def phases(self) -> Iterator[slice]:
        """Yield the phases: successive iterates of one region with steps of one kind."""
        table, begin = self.iterates, 0
        for end in range(1, self.steps + 1):
            same = end < self.steps and all(
                table[name][end] == table[name][begin] for name in ("region", "constrained")
            )
            if not same:
                yield slice(begin, end)
                begin = end

    def summary(self) -> Summary:
        """Return the run phase by phase, with the theorem's bound beside the count."""
        constants, table = self.constants, self.iterates
        largest = replace(constants, given_radius=None).largest_radius
        used = float(table["radius"].max())
        settled = self.settled
        told = f"{self.steps}, none of them unconstrained in region I"
        if settled is not None:
            told = (
                f"{self.steps}: {settled} before the first unconstrained step in region I, "
                f"{self.steps - settled} from there on"
            )
        if self.warm_up:
            told += (
                f"; {self.warm_up} before on easier costs, left out: runs of ExactTRM and of "
                f"solvers.PaperTRM have none"
            )
        stays = "no such step" if settled is None else ("yes" if self.stays else "no")
        which = "bound, with measured constants" if constants.measured else "bound of the theorem"
        return Summary(
            "A run through the regions",
            (
                ("setting", constants.summary().pairs[0][1]),
                ("radius", f"{used:.3g}; the theorem asks for at most {largest:.3g}"),
                ("iterations", told),
                (which, f"{self.bound:.3g} (eq:cplx_orth, eq:cplx_comp)"),
                ("its formula at this radius", f"{self.bound_here:.3g}"),
                ("stays unconstrained in I", f"{stays} (lem:TRM-lemma-iv)"),
                (
                    "minimizer",
                    f"at |w| = {self.minimizer_length:.3g}; the theorem has at most "
                    f"{constants.minimizer_distance:.3g}",
                ),
                ("distance at the end", f"{table['distance'][-1]:.2g}"),
                ("rate", self._rates_said),
            ),
            Table(
                (
                    "iterates",
                    "region",
                    "step",
                    "|w|",
                    "decrease per step",
                    "theorem's d",
                    "decrease >= d",
                ),
                tuple(self._phase_row(phase) for phase in self.phases()),
                "lllrrrr",
            ),
            notes=(
                "The theorem promises its d up to the radius that it asks for; beyond, d is its "
                "formula at the run's radius.",
            ),
            line=f"{plural(self.steps, 'iteration')}; the theorem's bound is {self.bound:.2g}",
        )

    @property
    def _rates_said(self) -> str:
        rates = self.iterates["rate"]
        rates = rates[np.isfinite(rates)]
        if not rates.size:
            return "no unconstrained step between distances above rounding"
        bound = self.constants.rate * self.constants.M_H**2 / self.constants.m_H
        shown = ", ".join(f"{rate:.3g}" for rate in rates[-_SHOWN_RATES:])
        return f"distance after / before^2: {shown}; at most {bound:.2g} (lem:TR-step, TR-grad-opt)"

    def _phase_row(self, phase: slice) -> tuple[Cell, ...]:
        table = self.iterates
        region, kind = int(table["region"][phase.start]), bool(table["constrained"][phase.start])
        decreases, least = table["decrease"][phase], table["guaranteed"][phase]
        last = phase.stop - 1
        which = f"{phase.start}" if last == phase.start else f"{phase.start} to {last}"
        lengths = _span(table["length"][phase])
        enough: Cell = ""
        promised = ""
        if np.isfinite(least).any():
            promised = _span(least)
            kept = decreases >= least
            share = f"{int(kept.sum())} of {kept.size}"
            enough = (share, GOOD) if kept.all() else (share, BAD)
        return (
            which,
            f"{NUMERALS[region]}, {REGIONS[region]}",
            "constrained" if kind else "unconstrained",
            lengths,
            _span(decreases),
            promised,
            enough,
        )

    def plot(self) -> Any:
        """Draw the run through the regions; needs the extra ``plot``. Return the figure."""
        return draw(self)

    def save_page(self, path: Any, overwrite: bool = False) -> Path:
        """Write the run as an HTML page of its own, with the figure; needs the extra ``plot``.

        Parameters
        ----------
        path : path-like
            A new file, unless ``overwrite`` is true.
        """
        return write_page(self, path, overwrite)


def _span(values: np.ndarray) -> str:
    values = values[np.isfinite(values)]
    if not values.size:
        return ""
    low, high = float(values.min()), float(values.max())
    return f"{low:.2g}" if low == high else f"{low:.2g} to {high:.2g}"


def regions(
    result: Result,
    case: Any,
    start: Any = None,
    constants: DictionaryConstants | None = None,
) -> RunRegions:
    """Say which region each iterate of a run was in, and what theory and practice say of its step.

    A result does not keep its iterates. The run is therefore repeated, which gives the same
    iterates bit for bit, and compared with the history of the result.

    Parameters
    ----------
    result : Result
        Of a run of riemtr's on the problem of the case. A warm-up by continuation is on other
        costs, and left out: of a run of :class:`riemtr.PracticalTRM` hardly a step remains. Use
        :class:`riemtr.ExactTRM`, or :class:`riemtr.solvers.PaperTRM` for the practical method.
    case : riemtr.problems.Case
        Dictionary learning with known coefficients; see :func:`riemtr.theory.frame_of`. The
        dictionary may be the identity, orthogonal, or complete and preconditioned: the chart is
        that of the nearest of 2n signed atoms.
    start : ndarray, optional
        Where the run began; ``case.start`` by default.
    constants : DictionaryConstants, optional
        The theory; by default that of the case. Pass ``riemtr.theory.check(case).measured()`` for
        the theory with constants that were measured.

    Examples
    --------
    >>> import riemtr
    >>> case = riemtr.problems.build("dictionary-learning", rng=0, n=5, p=2000, mu=0.02)
    >>> result = riemtr.ExactTRM(radius=0.02).solve(case.problem, case.start)
    >>> run = riemtr.theory.regions(result, case)
    >>> [riemtr.theory.REGIONS[number] for number in run.iterates["region"][[0, -1]]]
    ['negative curvature', 'strongly convex']
    >>> run.steps < run.bound
    True
    """
    frame = frame_of(case)
    constants = constants_of(case, frame, constants)
    visited = _repeated(result, case, case.start if start is None else start)
    # Newton's method needs a point near the minimizer: the last one, or an atom if it is not.
    near = result.point if result.converged else frame.nearest(result.point).atom
    minimizer = minimizer_near(frame, near)
    table = _table(visited, frame, constants, minimizer)
    far = float(np.linalg.norm(frame.nearest(minimizer).w(minimizer)))
    return RunRegions(constants, table, minimizer, far)


def _repeated(result: Result, case: Any, start: Any) -> list[Iteration]:
    """Repeat a run; return its iterations on the problem itself."""
    if not hasattr(result.solver, "solve"):
        raise ArgumentError(
            "result",
            "know its solver, to repeat the run",
            result.solver,
            "pass the result of solve(), not one that was loaded or pickled",
        )
    visited: list[Iteration] = []
    again = result.solver.solve(case.problem, start, observers=[_keeper(visited)])
    costs = result.history["cost"]
    if Status.MAX_SECONDS in (again.status, result.status):
        raise ArgumentError(
            "result",
            "be of a run that can be repeated step by step",
            result.status,
            "limit its solver by max_iterations in place of max_seconds",
        )
    if again.iterations != result.iterations or not np.array_equal(again.history["cost"], costs):
        raise ArgumentError(
            "result",
            "be of a run on case.problem from case.start",
            ...,
            "pass start, the point where it began, or solve(case.problem, case.start) again",
        )
    return visited


def _keeper(visited: list[Iteration]) -> Any:
    def keep(iteration: Iteration) -> None:
        if not iteration.warming:
            visited.append(iteration._replace(run=None))

    return keep


def _table(
    visited: list[Iteration],
    frame: Frame,
    constants: DictionaryConstants,
    minimizer: np.ndarray,
) -> dict[str, np.ndarray]:
    charts = [frame.nearest(here.point) for here in visited]
    lengths = np.array(
        [
            float(np.linalg.norm(chart.w(here.point)))
            for chart, here in zip(charts, visited, strict=True)
        ]
    )
    number = region_of(lengths, frame.cost.mu)
    distances = np.array([float(np.linalg.norm(here.point - minimizer)) for here in visited])
    norms = np.array([here.gradient_norm for here in visited])
    steps = [_step(frame, here, there) for here, there in _successive(visited)]
    length, constrained, accepted, decrease = zip(*steps, strict=True)
    table = {
        "iteration": np.array([here.number for here in visited]),
        "section": np.array([chart.name for chart in charts]),
        "length": lengths,
        "region": number,
        "cost": np.array([here.cost for here in visited]),
        "gradient_norm": norms,
        "distance": distances,
        "radius": np.array([here.radius for here in visited]),
        "step": np.array(length),
        "constrained": np.array(constrained),
        "accepted": np.array(accepted),
        "decrease": np.array(decrease),
    }
    table["guaranteed"] = np.array(
        [
            math.nan if not bound_for else _guaranteed(constants, region, radius)
            for bound_for, region, radius in zip(
                np.isfinite(table["step"]) & ((number > 0) | table["constrained"]),
                number,
                table["radius"],
                strict=True,
            )
        ]
    )
    newton = ~table["constrained"] & table["accepted"]
    floor = _ROUNDINGS * float(np.finfo(float).eps)
    table["rate"] = _squared_ratio(distances, newton, floor)
    table["gradient_rate"] = _squared_ratio(norms, newton, floor)
    return table


def _successive(visited: list[Iteration]) -> Iterator[tuple[Iteration, Iteration | None]]:
    yield from zip(visited, [*visited[1:], None], strict=True)


def _step(
    frame: Frame, here: Iteration, there: Iteration | None
) -> tuple[float, bool, bool, float]:
    """Return length, constraint, acceptance and decrease of the step from an iterate."""
    if there is None or there.step is None:
        return math.nan, False, False, math.nan
    change = cost_change(frame.cost, here.point, there.point - here.point)
    return there.step.norm, bool(there.step.on_boundary), bool(there.accepted), -change


def _guaranteed(constants: DictionaryConstants, region: int, radius: float) -> float:
    """Return the theorem's decrease in a region (eqs. TRM-decrease-d-i and alg_thm_r23_dec)."""
    at_radius = replace(constants, given_radius=float(radius))
    return (at_radius.d_I, at_radius.d_II, at_radius.d_III)[region]


def _squared_ratio(values: np.ndarray, which: np.ndarray, floor: float) -> np.ndarray:
    """Return each value's successor over its square, where asked for and above rounding."""
    ratios = np.full(len(values), math.nan)
    resolved = which[:-1] & (values[1:] > floor)
    ratios[:-1][resolved] = values[1:][resolved] / values[:-1][resolved] ** 2
    return ratios


_READING = (
    "The length of w says how far an iterate is from the nearest signed atom, and which of the "
    "paper's regions it is in. In region III the analysis counts on negative curvature, in II on "
    "the gradient, in I on strong convexity: there steps that end inside the trust region are "
    "Newton's, and the distance from the minimizer is squared, up to a factor, in each."
)


def draw(run: RunRegions) -> Any:
    """Draw a run: regions, decreases and distances; return a matplotlib Figure."""
    figure = require("matplotlib.figure", extra="plot").Figure(
        figsize=(10, 7.2), layout="constrained"
    )
    top, middle, bottom = figure.subplots(3, 1, sharex=True, height_ratios=(1.25, 1, 1))
    _draw_lengths(run, top)
    _draw_decreases(run, middle)
    _draw_distances(run, bottom)
    bottom.set_xlabel("iterate")
    bottom.xaxis.get_major_locator().set_params(integer=True)
    for axes in (top, middle, bottom):
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def _draw_lengths(run: RunRegions, axes: Any) -> None:
    table, constants = run.iterates, run.constants
    length, number = np.maximum(table["length"], 1e-16), np.arange(run.steps + 1)
    edges = (constants.inner_radius, OUTER_RADIUS, 1.0)
    low = min(0.3 * constants.inner_radius, 0.5 * float(length.min()))
    bottoms = (low, *edges[:2])
    for bottom, edge, numeral, name, colour in zip(
        bottoms, edges, NUMERALS, REGIONS, REGION_COLOURS, strict=True
    ):
        axes.axhspan(bottom, edge, color=colour, alpha=0.13, linewidth=0)
        axes.annotate(
            f"{numeral}  {name}",
            (0.01, math.sqrt(bottom * edge)),
            xycoords=("axes fraction", "data"),
            ha="left",
            va="center",
            fontsize=9,
            color=colour,
        )
    axes.semilogy(number, length, color="0.6", linewidth=1, zorder=2)
    for kind, inside in (("constrained", table["constrained"]), ("other", ~table["constrained"])):
        colours = [REGION_COLOURS[region] for region in table["region"][inside]]
        filled = colours if kind == "constrained" else "white"
        axes.scatter(number[inside], length[inside], s=22, c=filled, edgecolors=colours, zorder=3)
    axes.set_ylim(low, 1.0)
    axes.set_title(
        "length of w; filled: the step from there ends on the boundary of the trust region",
        fontsize=10,
        loc="left",
    )


def _draw_decreases(run: RunRegions, axes: Any) -> None:
    table, number = run.iterates, np.arange(run.steps + 1)
    positive = table["decrease"] > 0
    axes.semilogy(
        number[positive], table["decrease"][positive], ".-", color="0.35", label="decrease"
    )
    for region in range(3):
        here = (table["region"] == region) & np.isfinite(table["guaranteed"])
        if here.any():
            axes.semilogy(
                number[here],
                table["guaranteed"][here],
                "_",
                color=REGION_COLOURS[region],
                label=f"theorem's d, region {NUMERALS[region]}",
            )
    axes.legend(frameon=False, fontsize=8, ncols=4, loc="best")
    axes.set_title("decrease of the cost in the step from there", fontsize=10, loc="left")


def _draw_distances(run: RunRegions, axes: Any) -> None:
    number = np.arange(run.steps + 1)
    for name, said, colour in (
        ("gradient_norm", "gradient norm", "#8a5a9e"),
        ("distance", "distance from the minimizer", "0.35"),
    ):
        values = run.iterates[name]
        shown = values > 0
        axes.semilogy(number[shown], values[shown], ".-", color=colour, label=said)
    if run.settled is not None:
        axes.axvline(run.settled, color="0.4", linewidth=1, linestyle=":")
        axes.annotate(
            "first unconstrained\nstep in region I",
            (run.settled, 0.5),
            xycoords=("data", "axes fraction"),
            xytext=(-4, 0),
            textcoords="offset points",
            ha="right",
            fontsize=8,
            color="0.4",
        )
    axes.legend(frameon=False, fontsize=8, loc="lower left")
    axes.set_title("convergence", fontsize=10, loc="left")


def write_page(run: RunRegions, path: Any, overwrite: bool = False) -> Path:
    """Write the page of a run; a file that exists stays unless it is to be overwritten."""
    path = Path(path)
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists; choose a new path, or pass overwrite=True")
    return write_atomically(path, page_html(run).encode())


def page_html(run: RunRegions) -> str:
    """Return the page of a run: what happened, the figure, every iterate, the constants."""
    summary = run.summary()
    drawing = io.StringIO()
    draw(run).savefig(drawing, format="svg", metadata={"Date": None})
    picture = drawing.getvalue()
    picture = picture[picture.index("<svg") :]
    title = f"{plural(run.steps, 'iteration')}; the theorem's bound is {run.bound:.1e}"
    pairs = Summary("", summary.pairs).html()
    phases = Summary("", table=summary.table, notes=summary.notes).html()
    constants = _folded("every constant with its equation", run.constants.summary().html())
    body = (
        f"<header><p class='soft'>riemtr · one run through the paper's regions</p>"
        f"<h1>{escape(title)}</h1><p>{_READING}</p></header><main>",
        f"<section>{picture}</section>",
        section("Theory beside practice", pairs),
        section("Phases", phases),
        section("Quadratic convergence", _rates(run)),
        section("All iterates", _folded("every iterate", _iterates(run).html())),
        section("Constants", constants + _folded("slips of the paper", slips().summary().html())),
        "</main>",
    )
    return page(title, "".join(body))


def _folded(title: str, content: str) -> str:
    return f"<details><summary>{title}</summary>{content}</details>"


def _rates(run: RunRegions) -> str:
    """Return the steps of the last phase, with the ratios that quadratic convergence bounds."""
    table = run.iterates
    inside = np.flatnonzero(np.isfinite(table["step"]) & ~table["constrained"])
    if not inside.size:
        return "<p>No unconstrained step.</p>"
    rows = [
        (
            str(table["iteration"][k]),
            f"{table['distance'][k]:.3g}",
            _shown(table["rate"][k]),
            f"{table['gradient_norm'][k]:.3g}",
            _shown(table["gradient_rate"][k]),
        )
        for k in [*inside, run.steps]
    ]
    headings = ("iterate", "distance e", "next e / e^2", "gradient norm g", "next g / g^2")
    note = (
        f"The theorem bounds the last column by L_H / (2 m_H^2) = {run.constants.rate:.3g} "
        "(lem:TR-step). Ratios to what is only rounding are left out."
    )
    return Summary("", table=Table(headings, tuple(rows), "lrrrr"), notes=(note,)).html()


def _iterates(run: RunRegions) -> Summary:
    table = run.iterates
    rows: list[tuple[Cell, ...]] = []
    for k in range(run.steps + 1):
        kind = "constrained" if table["constrained"][k] else "unconstrained"
        rows.append(
            (
                str(table["iteration"][k]),
                str(table["section"][k]),
                NUMERALS[int(table["region"][k])],
                f"{table['length'][k]:.3g}",
                f"{table['cost'][k]:.8g}",
                f"{table['gradient_norm'][k]:.3g}",
                "" if k == run.steps else kind,
                _shown(table["decrease"][k]),
                _shown(table["guaranteed"][k]),
                f"{table['distance'][k]:.3g}",
            )
        )
    headings = (
        *("iterate", "atom", "region", "|w|", "cost", "gradient norm"),
        *("step", "decrease", "theorem's d", "distance"),
    )
    return Summary("", table=Table(headings, tuple(rows), "rllrrrlrrr"))


def _shown(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else ""
