"""Where the radial curvature of region III is not negative, and why descent does not care.

The theorem asks for ``w' Hess g(w) w / |w|^2 <= -c_star theta`` wherever ``|w| >= 1/(20 sqrt 5)``
(eq. curvature-uni-orth). At the smoothing parameters that people use it fails for two reasons. Near
the inner end of the region, up to ``concave_from`` of the constants, the smoothing bends the cost
upwards, however many samples there are. Elsewhere, at very small mu, too few samples lie within mu
of zero for their mean to say anything. At such points the gradient points away from the atom by far
more than region II asks for, and a step descends.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from riemtr.arguments import generator, integer
from riemtr.errors import require
from riemtr.solvers import PracticalTRM
from riemtr.summary import Summarised, Summary, Table
from riemtr.theory.chart import OUTER_RADIUS, frame_of
from riemtr.theory.checks import constants_of
from riemtr.theory.constants import DictionaryConstants
from riemtr.theory.sampling import in_region, local

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
