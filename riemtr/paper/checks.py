"""Every inequality of the analysis at many points: how sharp it is, and where it fails."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from riemtr.arguments import generator, integer
from riemtr.errors import ArgumentError
from riemtr.paper.chart import (
    NUMERALS,
    OUTER_RADIUS,
    Frame,
    Local,
    cost_change,
    displacement,
    frame_of,
    in_region,
    inner_radius,
    local,
    moved,
    rotation,
)
from riemtr.paper.constants import HESSIAN_REACH, DictionaryConstants, dictionary_constants
from riemtr.subproblem import solve_subproblem
from riemtr.summary import BAD, GOOD, Cell, Summarised, Summary, Table

# Length of the shortest steps between two points in units of mu, the scale on which the Hessian
# changes.
_SHORTEST = 0.01
# Newton steps from an atom to the minimizer beside it: convergence is quadratic.
_NEWTON_STEPS = 30
# Rounding that an inequality may be off by, relative to its bound.
_ROUNDING = 1e-9
# The constants that c_star is a factor of.
_GEOMETRY = ("m_H", "beta_g", "beta_concave")
# The constants that bound quantities from below.
_FROM_BELOW = (*_GEOMETRY, "beta_grad")


@dataclass(frozen=True, eq=False)
class Check:
    """One inequality at many points.

    Attributes
    ----------
    name : str
        The quantity, in words.
    label : str
        The equation, lemma or theorem in the paper's source.
    where : str
        The points that it is stated for.
    at_most : bool
        Whether the bound is an upper one.
    bound : float
    observed : ndarray
        The quantity at each point.
    lengths : ndarray
        The length of w at each point.
    constant : str
        The name of the constant that the worst value measures; empty if there is none.
    factor : float
        The worst value times this is the constant.
    """

    name: str
    label: str
    where: str
    at_most: bool
    bound: float
    observed: np.ndarray
    lengths: np.ndarray
    constant: str = ""
    factor: float = 1.0

    @property
    def worst(self) -> float:
        """The value nearest to the bound, or furthest beyond it."""
        return float(self.observed.max() if self.at_most else self.observed.min())

    @property
    def fails(self) -> np.ndarray:
        """At which points the inequality does not hold."""
        excess = self.observed - self.bound if self.at_most else self.bound - self.observed
        return excess > _ROUNDING * abs(self.bound)

    @property
    def share(self) -> float:
        """The share of the points at which it holds."""
        return 1.0 - float(np.mean(self.fails))

    @property
    def holds(self) -> bool:
        """Whether it holds at every point."""
        return not self.fails.any()


@dataclass(frozen=True, repr=False, eq=False)
class Checks(Summarised):
    """Inequalities of the analysis at many points; printed, they are a table.

    Attributes
    ----------
    constants : DictionaryConstants
        The bounds.
    found : tuple of Check
    perturbation : float
        The error of preconditioning, the norm of ``Xi``.
    """

    constants: DictionaryConstants
    found: tuple[Check, ...]
    perturbation: float

    def __getitem__(self, label: str) -> tuple[Check, ...]:
        """Return the inequalities of an equation, a lemma or a theorem, by its label."""
        return tuple(each for each in self.found if each.label == label)

    @property
    def failing(self) -> tuple[Check, ...]:
        """The inequalities that fail somewhere."""
        return tuple(each for each in self.found if not each.holds)

    @property
    def c_star(self) -> dict[str, float]:
        """The largest c_star with which each region is as the theorem says, at all its points.

        A number that is not positive says that there is none.
        """
        return {
            each.where: self.constants.c_star * each.worst / each.bound
            for each in self.found
            if each.constant in _GEOMETRY
        }

    def measured(self) -> DictionaryConstants:
        """Return the constants with the worst observed values in place of the paper's bounds.

        A lower bound whose worst value is not positive stays as it is: nothing can be made of it.
        The values are those of samples: suprema over the whole sphere may be larger.
        """
        values = {
            each.constant: each.factor * each.worst
            for each in self.found
            if each.constant and each.factor * each.worst > 0.0
        }
        return self.constants.with_measured(values)

    def summary(self) -> Summary:
        """Return the table of inequalities."""
        rows: list[tuple[Cell, ...]] = [_row(each) for each in self.found]
        unmet = [said for said, _, met in self.constants.hypotheses if not met]
        asked = f"not met: {'; '.join(unmet)}" if unmet else "all met"
        failing = self.failing
        holds = len(self.found) - len(failing)
        notes = [_where_it_fails(each) for each in failing]
        largest = self.c_star.items()
        fits = ", ".join(f"{where}: {c:.3g}" if c > 0 else f"{where}: none" for where, c in largest)
        return Summary(
            "Inequalities of the paper's analysis, at sampled points",
            (
                ("setting", self.constants.summary().pairs[0][1]),
                ("preconditioning", f"|Xi| = {self.perturbation:.2g}"),
                ("hypotheses", asked),
                ("hold at all points", f"{holds} of {len(self.found)} inequalities"),
                ("c_star that holds here", f"{fits} ({self.constants.c_star:.3g} used)"),
            ),
            Table(
                ("inequality", "equation", "where", "points", "bound", "worst", "holds at"),
                tuple(rows),
                "lllrrrr",
            ),
            notes=tuple(notes),
            line=f"{holds} of {len(self.found)} inequalities hold at all points",
        )


def _row(each: Check) -> tuple[Cell, ...]:
    sense = "<=" if each.at_most else ">="
    share = ("all", GOOD) if each.holds else (f"{100.0 * each.share:.1f} %", BAD)
    bound, worst = f"{sense} {each.bound:.3g}", f"{each.worst:.3g}"
    return each.name, each.label, each.where, str(each.observed.size), bound, worst, share


def _where_it_fails(each: Check) -> str:
    lengths = each.lengths[each.fails]
    low, middle, high = np.quantile(lengths, [0.0, 0.5, 1.0])
    return (
        f"{each.name} ({each.label}) fails at |w| from {low:.3g} to {high:.3g}, half of the time "
        f"below {middle:.3g}."
    )


def check(
    case: Any,
    constants: DictionaryConstants | None = None,
    points: int = 1000,
    rng: Any = 0,
) -> Checks:
    """Check the inequalities of the analysis at sampled points.

    Parameters
    ----------
    case : riemtr.problems.Case
        Dictionary learning with known coefficients; see :func:`riemtr.theory.frame_of`. The
        dictionary may be the identity, orthogonal, or complete and preconditioned.
    constants : DictionaryConstants, optional
        The bounds; by default those of the case, with the largest entry of its data.
    points : int
        Points in each of the three regions.
    rng : numpy.random.Generator, int or None
        Source of the points.

    Returns
    -------
    Checks
        ``.found`` has every inequality with its bound, the worst value observed and the share of
        points at which it holds; printed, it also says where it does not.

    Notes
    -----
    Decreases are checked at the radius that the analysis allows, which is far below rounding of the
    cost: they are computed from the changes in each sample, in which nothing cancels.

    Examples
    --------
    >>> import riemtr
    >>> case = riemtr.problems.build("dictionary-learning", rng=0, n=4, p=1000, mu=0.02)
    >>> checks = riemtr.theory.check(case, points=20)
    >>> checks["lem:alg_approx_bd2"][0].holds
    True
    """
    points, source = integer("points", points), generator(rng)
    frame = frame_of(case)
    if inner_radius(frame.cost.mu) >= OUTER_RADIUS:
        limit = OUTER_RADIUS / inner_radius(1.0)
        remedy = "build the case with a smaller mu: region II is empty"
        raise ArgumentError("case", f"have mu below {limit:.4g}", frame.cost.mu, remedy)
    bounds = constants_of(case, frame, constants)
    sets = [
        [local(frame, in_region(frame, region, source)) for _ in range(points)]
        for region in range(3)
    ]
    everywhere = [here for each in sets for here in each]
    found = (
        *_smoothness(frame, bounds, everywhere, source),
        *_geometry(bounds, sets),
        *_steps(frame, bounds, sets),
        *_convergence(frame, bounds, sets[0]),
    )
    return Checks(bounds, found, frame.perturbation)


def constants_of(
    case: Any, frame: Frame, given: DictionaryConstants | None = None
) -> DictionaryConstants:
    """Return the constants that were given, or those of a case with the largest entry of its data.

    The share of nonzeros is that of the coefficients. The dictionary counts as orthogonal if it is
    so to rounding; if not, data are taken to be preconditioned. The condition number is then that
    of ``case.truth.details["dictionary"]``, or 1 if it is not known.
    """
    n, p = frame.coefficients.shape
    if given is not None:
        if getattr(given, "n", None) != n:
            needs = f"be those of dimension {n}, as the case is"
            remedy = "make them by riemtr.theory.dictionary_constants, or leave them out"
            raise ArgumentError("constants", needs, getattr(given, "n", given), remedy)
        return given
    condition = None
    if frame.perturbation > math.sqrt(np.finfo(float).eps):
        matrix = case.truth.details.get("dictionary")
        condition = 1.0 if matrix is None else float(np.linalg.cond(matrix))
    return dictionary_constants(
        n,
        float(np.mean(frame.coefficients != 0)),
        frame.cost.mu,
        p,
        condition_number=condition,
        largest_entry=frame.largest_entry,
    )


def _bounded(
    bounds: DictionaryConstants,
    symbol: str,
    name: str,
    points: Sequence[Any],
    quantity: Callable[[Any], float],
    where: str = "everywhere",
    factor: float = 1.0,
    label: str = "",
) -> Check:
    """Return the inequality between a quantity of each point, or pair, and a constant / factor.

    The equation is that of the constant, or another one that is stated with the same constant and
    does not measure it.
    """
    return Check(
        name,
        label or getattr(DictionaryConstants, symbol).equation(bounds.complete),
        where,
        symbol not in _FROM_BELOW,
        getattr(bounds, symbol) / factor,
        np.array([quantity(each) for each in points]),
        np.array([each.length for each in points]),
        "" if label else symbol,
        factor,
    )


def _smoothness(
    frame: Frame, bounds: DictionaryConstants, points: Sequence[Local], rng: np.random.Generator
) -> Iterator[Check]:
    """Yield bounds and Lipschitz constants of the derivatives, at points and between pairs."""
    for symbol, name, quantity in (
        ("M_f", "cost", lambda a: a.value),
        ("M_gradient", "Euclidean gradient", lambda a: float(np.linalg.norm(a.nabla))),
        ("M_hessian", "Euclidean Hessian", lambda a: float(np.linalg.norm(a.nabla2, 2))),
        ("M_H", "Riemannian Hessian", lambda a: float(np.abs(a.eigenvalues).max())),
    ):
        yield _bounded(bounds, symbol, name, points, quantity)
    pairs = [_Pair(here, frame, rng) for here in points]
    for symbol, name, slope in (
        ("L_gradient", "change of the Euclidean gradient", _Pair.gradient_slope),
        ("L_hessian", "change of the Euclidean Hessian", _Pair.hessian_slope),
        ("L_H", "change of the Riemannian Hessian", _Pair.transported_slope),
    ):
        yield _bounded(bounds, symbol, name, pairs, slope)
    name = "error of the quadratic model / step^3"
    yield _bounded(bounds, "eta_f", name, pairs, lambda a: a.model_error(frame), factor=6.0)
    inner, outer, edge = bounds.inner_radius, bounds.outer_radius, bounds.edge_radius
    for symbol, name, low, high, slope in (
        ("L_g", "change of the radial gradient", inner / 2, edge, _Pair.radial_gradient_slope),
        ("L_concave", "change of radial curvature", outer / 2, edge, _Pair.radial_curvature_slope),
        ("L_convex", "change of the chart's Hessian", 0.0, 0.5, _Pair.chart_hessian_slope),
    ):
        which = [pair for pair in pairs if pair.within(low, high)]
        yield _bounded(bounds, symbol, name, which, slope, f"|w| from {low:.2g} to {high:.2g}")


class _Pair:
    """A point and another one at the end of a random step, in the same chart."""

    def __init__(self, here: Local, frame: Frame, rng: np.random.Generator):
        shortest = _SHORTEST * frame.cost.mu
        length = shortest * (HESSIAN_REACH / shortest) ** rng.random()
        direction = here.basis @ rng.standard_normal(frame.n - 1)
        self.here, self.distance = here, length
        self.step = (length / float(np.linalg.norm(direction))) * direction
        self.there = local(frame, moved(here.q, self.step), here.chart)
        self.length = here.length  # of w

    def within(self, low: float, high: float) -> bool:
        """Whether both points are on the atom's side, with lengths of w in a range."""
        same_side = float(self.there.q @ self.here.chart.atom) > 0.0
        return same_side and all(low <= a.length <= high for a in (self.here, self.there))

    def _chord(self) -> float:
        return 2.0 * math.sin(self.distance / 2.0)

    def _in_chart(self) -> float:
        return float(np.linalg.norm(self.there.w - self.here.w))

    def gradient_slope(self) -> float:
        return float(np.linalg.norm(self.there.nabla - self.here.nabla)) / self._chord()

    def hessian_slope(self) -> float:
        return float(np.linalg.norm(self.there.nabla2 - self.here.nabla2, 2)) / self._chord()

    def transported_slope(self) -> float:
        turn = rotation(self.here.q, self.step)
        back = turn.T @ self.there.hessian @ turn
        return float(np.linalg.norm(back - self.here.hessian, 2)) / self.distance

    def model_error(self, frame: Frame) -> float:
        actual = cost_change(frame.cost, self.here.q, displacement(self.here.q, self.step))
        return abs(actual - _model(self.here, self.step)) / self.distance**3

    def radial_gradient_slope(self) -> float:
        change = self.there.radial_gradient - self.here.radial_gradient
        return abs(change) / self._in_chart()

    def radial_curvature_slope(self) -> float:
        change = self.there.radial_curvature - self.here.radial_curvature
        return abs(change) / self._in_chart()

    def chart_hessian_slope(self) -> float:
        change = self.there.chart_hessian - self.here.chart_hessian
        return float(np.linalg.norm(change, 2)) / self._in_chart()


def _model(here: Local, step: np.ndarray) -> float:
    """Change of the quadratic model (eq. f-appx)."""
    return float(here.gradient @ step + 0.5 * step @ here.hessian @ step)


def _geometry(bounds: DictionaryConstants, sets: Sequence[Sequence[Local]]) -> Iterator[Check]:
    """Yield the inequalities of thm:geometry_orth or thm:geometry_comp, and of two lemmas."""
    first, second, third = sets
    yield _bounded(
        bounds,
        "m_H",
        "smallest curvature of g",
        first,
        lambda a: float(np.linalg.eigvalsh(a.chart_hessian)[0]),
        "region I",
        label=DictionaryConstants.inner_radius.equation(bounds.complete),
    )
    for symbol, name, points, where, quantity in (
        ("m_H", "smallest Riemannian curvature", first, "region I", lambda a: a.eigenvalues[0]),
        ("beta_g", "radial gradient", second, "region II", lambda a: a.radial_gradient),
        ("beta_grad", "gradient norm", second, "region II", lambda a: a.gradient_norm),
        ("beta_concave", "- radial curvature", third, "region III", lambda a: -a.radial_curvature),
    ):
        yield _bounded(bounds, symbol, name, points, quantity, where)
    yield Check(
        "gradient less 9/10 radial gradient",
        "lem:alg_gradient_lb",
        "region II",
        False,
        0.0,
        np.array([here.gradient_norm - 0.9 * here.radial_gradient for here in second]),
        np.array([here.length for here in second]),
    )


def _steps(
    frame: Frame, bounds: DictionaryConstants, sets: Sequence[Sequence[Local]]
) -> Iterator[Check]:
    """Yield the decreases of exact trust-region steps at the radius that each lemma allows."""
    for points, numeral in zip(sets, NUMERALS, strict=True):
        radius = getattr(bounds, f"radius_{numeral}")
        steps = [(here, *_trust_region_step(here, radius)) for here in points]
        # In region I only constrained steps decrease the cost by a fixed amount.
        chosen = [(here, step) for here, step, active in steps if active or numeral != "I"]
        changes = [cost_change(frame.cost, a.q, displacement(a.q, step)) for a, step in chosen]
        symbol = f"d_{numeral}"
        yield Check(
            "decrease of a constrained step" if numeral == "I" else "decrease of a step",
            getattr(DictionaryConstants, symbol).label,
            f"region {numeral}, D = {radius:.1g}",
            False,
            getattr(replace(bounds, given_radius=radius), symbol),
            -np.array(changes),
            np.array([here.length for here, _ in chosen]),
        )


def _trust_region_step(here: Local, radius: float) -> tuple[np.ndarray, bool]:
    """Return the exact solution of the subproblem (eq. trsp), and whether it is constrained."""
    hessian = here.basis.T @ here.hessian @ here.basis
    solution = solve_subproblem(hessian, here.basis.T @ here.gradient, radius)
    return here.basis @ solution.vector, solution.on_boundary


def _convergence(
    frame: Frame, bounds: DictionaryConstants, points: Sequence[Local]
) -> Iterator[Check]:
    """Yield the lemmas of quadratic convergence, in region I."""
    lengths = np.array([here.length for here in points])
    ends = [_newton(frame, here) for here in points]
    # Lem:TR-step with the smallest curvature at the point itself, which its hypothesis is about.
    rates = [
        end.gradient_norm * float(here.eigenvalues[0]) ** 2 / here.gradient_norm**2
        for here, end in zip(points, ends, strict=True)
    ]
    yield Check(
        "gradient after a Newton step, over (that before / m_H)^2",
        "lem:TR-step",
        "region I",
        True,
        bounds.L_H / 2.0,
        np.array(rates),
        lengths,
    )
    minimizers: dict[int, np.ndarray] = {}
    ratios = []
    for here in points:
        number = here.chart.number
        if number not in minimizers:
            minimizers[number] = minimizer_near(frame, here.chart.atom)
        distance = float(np.linalg.norm(here.q - minimizers[number]))
        ratios.append(here.gradient_norm / distance)
    yield Check(
        "gradient / distance from the minimizer",
        "lem:TR-grad-opt",
        "region I",
        False,
        bounds.m_H,
        np.array(ratios),
        lengths,
    )


def _newton(frame: Frame, here: Local) -> Local:
    """Return the end of an unconstrained step (eq. ts-optimal-solution-1)."""
    hessian = here.basis.T @ here.hessian @ here.basis
    step = -here.basis @ np.linalg.solve(hessian, here.basis.T @ here.gradient)
    return local(frame, moved(here.q, step), here.chart)


def minimizer_near(frame: Frame, q: np.ndarray) -> np.ndarray:
    """Return the minimizer near a point of region I, to rounding, by Newton's method."""
    here = local(frame, q)
    for _ in range(_NEWTON_STEPS):
        there = _newton(frame, here)
        if there.gradient_norm >= here.gradient_norm:
            break
        here = there
    return here.q / np.linalg.norm(here.q)
