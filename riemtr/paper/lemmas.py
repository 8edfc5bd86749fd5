r"""Two statements of the paper beside their hypotheses: region III, and the distance lemma.

Region III: where the radial curvature is not negative, and why descent does not care. The theorem
asks for ``w' Hess g(w) w / |w|^2 <= -c_star theta`` wherever ``|w| >= 1/(20 sqrt 5)``
(eq. curvature-uni-orth). At the smoothing parameters that people use it fails for two reasons. Near
the inner end of the region, up to ``concave_from`` of the constants, the smoothing bends the cost
upwards, however many samples there are. Elsewhere, at very small mu, too few samples lie within mu
of zero for their mean to say anything. At such points the gradient points away from the atom by far
more than region II asks for, and a step descends.

The distance from the minimizer, with the lemma's hypothesis checked. Lem:TR-grad-opt: if the
Riemannian Hessian is at least :math:`m_H` along the geodesic from a critical point :math:`q_\star`
to q, then :math:`|q - q_\star| \le |\operatorname{grad} f(q)|/m_H`. Neither :math:`q_\star` nor the
curvature on the way is known. Both follow from the derivatives at q: with the smallest curvature
:math:`\lambda` there and the Lipschitz constant :math:`L_H` of the Hessian (lem:rie_hess_lip), the
curvature at a distance t from q is at least :math:`\lambda - L_H t`, and along every geodesic from
q the slope is at least :math:`-|\operatorname{grad} f| + \lambda t - L_H t^2/2`. If :math:`2 L_H
|\operatorname{grad} f| < \lambda^2` that is positive at some distance, so that the ball of that
radius has a minimizer inside, and its distance t satisfies :math:`\lambda t - L_H t^2/2 \le
|\operatorname{grad} f|`. It is the lemma's inequality with

.. math:: m_H = \tfrac12\left(\lambda + \sqrt{\lambda^2 - 2 L_H |\operatorname{grad} f|}\right).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from riemtr.arguments import check_positive, generator, integer
from riemtr.errors import ArgumentError, require
from riemtr.manifolds import Sphere
from riemtr.paper.chart import OUTER_RADIUS, frame_of, in_region, local
from riemtr.paper.checks import constants_of
from riemtr.paper.constants import HESSIAN_REACH, DictionaryConstants
from riemtr.problem import Problem
from riemtr.problems.dictionary_learning import DictionaryCost
from riemtr.solvers import PracticalTRM
from riemtr.summary import DOUBTFUL, GOOD, Summarised, Summary, Table

# Bins of |w| in the table and in the figure.
_BINS = 8
_COLOURS = {"holds": "#3b6ea5", "fails": "#c8442e"}


@dataclass(frozen=True, repr=False, eq=False)
class ThirdRegion(Summarised):
    """Sampled points of region III, and runs from some of them.

    Attributes
    ----------
    constants : DictionaryConstants
    lengths : ndarray
        Length of w of each point.
    curvature, slope : ndarray
        Radial curvature and radial gradient there.
    fails : ndarray of bool
        Whether the theorem's inequality on the curvature fails there.
    runs : dict of str to ndarray
        ``"fails"`` and ``"holds"``: for each run from a point of the kind, how many iterations
        it took.
    solved : dict of str to ndarray of bool
        Whether the run ended at a certified minimizer.
    """

    constants: DictionaryConstants
    lengths: np.ndarray
    curvature: np.ndarray
    slope: np.ndarray
    fails: np.ndarray
    runs: dict[str, np.ndarray]
    solved: dict[str, np.ndarray]

    @property
    def share(self) -> float:
        """The share of the points at which the inequality holds."""
        return 1.0 - float(self.fails.mean())

    @property
    def covered(self) -> float:
        """The share of the failing points at which the inequality of region II holds instead."""
        slopes = self.slope[self.fails]
        return float(np.mean(slopes >= self.constants.beta_g)) if slopes.size else 1.0

    def summary(self) -> Summary:
        """Return the shares by length of w, and how runs went."""
        edges = np.linspace(OUTER_RADIUS, float(self.lengths.max()), _BINS + 1)
        rows = []
        for low, high in pairwise(edges):
            inside = (self.lengths >= low) & (self.lengths <= high)
            bad = inside & self.fails
            if inside.any():
                least = f"{self.slope[bad].min() / self.constants.beta_g:.3g}" if bad.any() else ""
                share = f"{100.0 * (1.0 - bad.sum() / inside.sum()):.1f} %"
                span = f"{low:.3f} to {high:.3f}"
                rows.append((span, str(int(inside.sum())), share, least))
        told = [
            (f"runs where it {kind}", self._said(kind))
            for kind in self.runs
            if self.runs[kind].size
        ]
        if self.fails.any():
            lowest = self.slope[self.fails].min() / self.constants.beta_g
            instead = (
                f"region II's inequality holds at {100.0 * self.covered:.0f} %; the radial "
                f"gradient is at least {lowest:.2g} times the bound"
            )
            told.insert(0, ("where it fails", instead))
        label = DictionaryConstants.beta_concave.equation(self.constants.complete)
        return Summary(
            f"Radial curvature in region III ({label})",
            (
                ("setting", self.constants.summary().pairs[0][1]),
                ("inequality holds at", f"{100.0 * self.share:.1f} % of {self.fails.size} points"),
                (
                    "mean curvature negative",
                    f"from |w| = {self.constants.concave_from:.3g} on; the region begins at "
                    f"{OUTER_RADIUS:.3g}",
                ),
                *told,
            ),
            Table(
                ("|w|", "points", "holds at", "least radial gradient where it fails / beta_g"),
                tuple(rows),
                "lrrr",
            ),
            line=f"holds at {100.0 * self.share:.1f} % of the points of region III",
        )

    def _said(self, kind: str) -> str:
        counts, solved = self.runs[kind], self.solved[kind]
        return (
            f"{int(solved.sum())} of {solved.size} end at a certified minimizer, after "
            f"{int(np.median(counts))} iterations in the median, {int(counts.max())} at most"
        )

    def plot(self) -> Any:
        """Draw curvature, gradient and iterations; needs the extra ``plot``. Return the figure."""
        figure = require("matplotlib.figure", extra="plot").Figure(
            figsize=(11, 3.4), layout="constrained"
        )
        left, middle, right = figure.subplots(1, 3)
        theta, constants = self.constants.theta, self.constants
        for kind, mask in (("holds", ~self.fails), ("fails", self.fails)):
            style = {"s": 7, "color": _COLOURS[kind], "alpha": 0.6, "linewidths": 0, "label": kind}
            left.scatter(self.lengths[mask], self.curvature[mask] / theta, **style)
            middle.scatter(self.lengths[mask], self.slope[mask] / theta, **style)
        low = float(np.quantile(self.curvature / theta, 0.01))
        high = float(np.quantile(self.curvature / theta, 0.99))
        left.set_ylim(min(low, -1.0) * 1.2, max(high, 1.0) * 1.2)
        left.axhline(-constants.c_star, color="0.4", linewidth=1)
        middle.axhline(constants.c_star, color="0.4", linewidth=1)
        for axes in (left, middle):
            axes.axvline(constants.concave_from, color="0.4", linewidth=1, linestyle=":")
            axes.set_xlabel("|w|")
        note = {"fontsize": 8, "color": "0.4", "textcoords": "offset points"}
        said = "mean curvature\nnegative from here on"
        left.annotate(said, (constants.concave_from, max(high, 1.0)), xytext=(4, -4), **note)
        ends = {"xycoords": ("axes fraction", "data"), "ha": "right"}
        left.annotate("-c_star", (1.0, -constants.c_star), xytext=(0, 3), **ends, **note)
        middle.annotate("c_star", (0.1, constants.c_star), xytext=(0, 3), **ends, **note)
        left.set_title("radial curvature / theta", fontsize=10)
        middle.set_title("radial gradient / theta", fontsize=10)
        middle.legend(frameon=False, title="inequality of region III", fontsize=8, title_fontsize=8)
        counts = [self.runs[kind] for kind in ("holds", "fails")]
        both = np.concatenate(counts)
        if both.size:
            bins = np.arange(both.min(), both.max() + 2) - 0.5
            right.hist(counts, bins=bins, color=[_COLOURS["holds"], _COLOURS["fails"]])
        right.set_title("iterations of runs from such points", fontsize=10)
        right.set_xlabel("iterations")
        for axes in (left, middle, right):
            axes.spines[["top", "right"]].set_visible(False)
        return figure


def third_region(
    case: Any, points: int = 1000, starts: int = 20, rng: Any = 0, solver: Any = None
) -> ThirdRegion:
    """Sample region III: where its inequality fails, what holds there, and how runs from there go.

    Parameters
    ----------
    case : riemtr.problems.Case
        Dictionary learning with known coefficients; see :func:`riemtr.theory.frame_of`.
    points : int
        Points to sample, every section alike, |w| uniform.
    starts : int
        Runs from points where the inequality fails, and as many from others.
    rng : numpy.random.Generator, int or None
        Source of the points.
    solver : solver, optional
        :class:`riemtr.PracticalTRM` by default.

    Examples
    --------
    >>> import riemtr
    >>> case = riemtr.problems.build("dictionary-learning", rng=0, n=5, p=2000)
    >>> found = riemtr.theory.third_region(case, points=100, starts=3)
    >>> 0.5 < found.share < 1.0, found.covered, bool(found.solved["fails"].all())
    (True, 1.0, True)
    """
    points, source = integer("points", points), generator(rng)
    starts = integer("starts", starts, low=0)
    frame = frame_of(case)
    constants = constants_of(case, frame)
    here = [local(frame, in_region(frame, 2, source)) for _ in range(points)]
    curvature = np.array([each.radial_curvature for each in here])
    fails = curvature > -constants.beta_concave
    runs, solved = {}, {}
    solver = PracticalTRM() if solver is None else solver
    for kind, mask in (("fails", fails), ("holds", ~fails)):
        chosen = np.flatnonzero(mask)[:starts]
        results = [solver.solve(case.problem, here[number].q) for number in chosen]
        runs[kind] = np.array([result.iterations for result in results], dtype=int)
        solved[kind] = np.array([bool(result.certified) for result in results], dtype=bool)
    return ThirdRegion(
        constants,
        np.array([each.length for each in here]),
        curvature,
        np.array([each.radial_gradient for each in here]),
        fails,
        runs,
        solved,
    )


# Roundings of the Euclidean gradient, of order eps times its norm, that its norm may be off by.
_ROUNDINGS = 10.0


@dataclass(frozen=True, repr=False)
class DistanceLemma(Summarised):
    """How far a point is from a minimizer, at most.

    Attributes
    ----------
    gradient_norm : float
        Norm of the Riemannian gradient, rounding included.
    curvature : float
        Smallest eigenvalue of the Riemannian Hessian at the point.
    L_H : float
        Lipschitz constant of the Riemannian Hessian.
    """

    gradient_norm: float
    curvature: float
    L_H: float

    @property
    def allowed(self) -> float:
        """Gradient norm below which the slope is positive at some distance of at most 1/2."""
        reach = min(max(self.curvature, 0.0) / self.L_H, HESSIAN_REACH)
        return reach * (self.curvature - 0.5 * self.L_H * reach)

    @property
    def holds(self) -> bool:
        """Whether the hypothesis holds."""
        return self.gradient_norm < self.allowed

    @property
    def m_H(self) -> float:
        """Curvature between the point and the minimizer, on average at least; 0 where unknown."""
        if not self.holds:
            return 0.0
        spread = self.curvature**2 - 2.0 * self.L_H * self.gradient_norm
        return 0.5 * (self.curvature + math.sqrt(max(spread, 0.0)))

    @property
    def distance(self) -> float:
        """The bound on the distance from the nearest minimizer; infinite where nothing is known."""
        return self.gradient_norm / self.m_H if self.holds else math.inf

    def summary(self) -> Summary:
        """Return the bound in words."""
        said = "nothing is known: the Hessian is not positive definite at the point"
        if self.holds:
            said = f"a minimizer lies within {self.distance:.3g}"
        elif self.allowed > 0.0:
            said = f"nothing is known: the gradient norm must be below {self.allowed:.3g}"
        return Summary(
            "Distance from the minimizer (lem:TR-grad-opt)",
            (
                ("bound", said),
                ("gradient norm", f"{self.gradient_norm:.3g}"),
                ("smallest curvature", f"{self.curvature:.4g}"),
                ("m_H", f"{self.m_H:.4g}"),
                ("L_H", f"{self.L_H:.4g} (lem:rie_hess_lip)"),
            ),
            tone=GOOD if self.holds else DOUBTFUL,
            line=said,
        )


def distance_lemma(problem: Problem, point: np.ndarray, L_H: float | None = None) -> DistanceLemma:
    """Bound the distance of a point of the sphere from the nearest minimizer.

    Parameters
    ----------
    problem : Problem
        On a sphere.
    point : ndarray, shape (n,)
        A point with a small gradient.
    L_H : float, optional
        Lipschitz constant of the Riemannian Hessian, for steps up to 1/2; by default that of the
        log-cosh cost on its data, :func:`hessian_lipschitz`.

    Examples
    --------
    >>> import riemtr
    >>> case = riemtr.problems.build("dictionary-learning", rng=0, n=5, p=2000)
    >>> result = riemtr.PracticalTRM(tolerance=1e-10).solve(case.problem, rng=0)
    >>> found = riemtr.theory.distance_lemma(case.problem, result.point)
    >>> found.holds, found.distance < 1e-9
    (True, True)
    >>> riemtr.theory.distance_lemma(case.problem, case.start).holds
    False
    """
    if not isinstance(problem.manifold, Sphere):
        raise ArgumentError("problem", "be on a sphere", problem.manifold)
    if L_H is None:
        L_H = hessian_lipschitz(problem.cost)
    check_positive("L_H", L_H)
    here = problem.at(problem.geometry.check_point(point, name="point"))
    rounding = here.precision * here.conversion_size
    gradient = here.gradient_norm + _ROUNDINGS * rounding
    values = here.eigh[0]
    curvature = float(values[0]) - len(values) * here.precision * float(np.abs(values).max())
    return DistanceLemma(gradient, curvature, L_H)


def hessian_lipschitz(cost: Any) -> float:
    r"""Return the Lipschitz constant of the Riemannian Hessian of the log-cosh cost on its data.

    .. math:: L_H = \frac{5}{2\mu^2} m_3 + \frac9\mu m_2 + 9 m_1, \qquad
        m_k = \frac1p \sum_{j=1}^p |y_j|^k

    It is lem:rie_hess_lip as it is proved, before means of powers are bounded by
    :math:`m_k \le (\sqrt n \|X_0\|_\infty)^k`.
    """
    if not isinstance(cost, DictionaryCost):
        raise ArgumentError(
            "L_H", "be given where the cost is not the log-cosh cost on data in memory", None
        )
    norms = np.linalg.norm(cost.data, axis=0)
    first, second, third = (float(np.mean(norms**k)) for k in (1, 2, 3))
    return 2.5 * third / cost.mu**2 + 9.0 * second / cost.mu + 9.0 * first
