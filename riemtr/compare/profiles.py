r"""Performance profiles (Dolan and Moré, Math. Program. 91, 2002).

With :math:`t_{i,s}` what solver s needs on instance i (a problem from a start), the profile is

.. math:: \rho_s(\tau) = \frac{1}{N} \bigl|\{i : t_{i,s} \le \tau \min_{s'} t_{i,s'}\}\bigr|,

the share of the N instances that s solves within a factor :math:`\tau` of the best solver. At
:math:`\tau = 1` it is the share of wins, to the right the share of instances solved at all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from riemtr.compare.records import Comparison, Run, end
from riemtr.errors import ArgumentError, unknown_name

MEASURES = ("seconds", "oracles")
SOLVED = ("certified", "reached")
LEAST = {"seconds": 1e-6, "oracles": 1}
"""The least that clocks and counters tell apart; less counts as so much, or ratios mean nothing."""


@dataclass(frozen=True)
class Profile:
    """How often each solver is within a factor of the best.

    Attributes
    ----------
    measure : str
        "seconds" or "oracles".
    tolerance : float or None
        The gradient norm that needs are measured to; None: to the end of the run.
    solved : str
        "certified" or "reached": what counts as solved.
    ratios : dict of ndarray
        By solver: its need over the best solver's on every instance, sorted; infinite where it
        did not solve it.
    """

    measure: str
    tolerance: float | None
    solved: str
    ratios: dict[str, np.ndarray]

    def share(self, solver: str, factor: float) -> float:
        """Share of the instances that the solver solves within this factor of the best."""
        ratios = self.ratios[solver]
        within = np.isfinite(ratios) & (ratios <= factor)
        return float(np.mean(within)) if ratios.size else 0.0

    def steps(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Return the curve of each solver: factors and shares, from 1 to beyond the last factor."""
        finite = {name: ratios[np.isfinite(ratios)] for name, ratios in self.ratios.items()}
        right = 1.3 * max([2.0, *(max(ratios, default=0.0) for ratios in finite.values())])
        counts = {name: np.arange(len(ratios) + 1) for name, ratios in finite.items()}
        return {
            name: (
                np.concatenate([[1.0], ratios, [right]]),
                counts[name][[*range(len(ratios) + 1), -1]] / max(len(self.ratios[name]), 1),
            )
            for name, ratios in finite.items()
        }


def performance_profile(
    comparison: Comparison,
    measure: str = "seconds",
    *,
    solved: str = "certified",
    tolerance: float | None = None,
) -> Profile:
    """Return the performance profile of a comparison.

    Parameters
    ----------
    comparison : Comparison
    measure : {"seconds", "oracles"}
        The measure that is to be small.
    solved : {"certified", "reached"}
        "certified": riemtr certifies that the run ended at a minimizer; measured to its end, with
        all that the solver does about the curvature. "reached": the gradient alone, as usually
        reported, and measured until it is that small; ending at a saddle point counts as success.
    tolerance : float, optional
        For "reached": one of the comparison's, the tightest by default. What is certified is
        certified to the tightest.

    Notes
    -----
    A problem to which a solver does not apply is one that it does not solve. Of a comparison that
    was interrupted, only the instances that all solvers came to are counted.

    Examples
    --------
    >>> import riemtr.compare
    >>> found = riemtr.compare.compare(
    ...     ("rayleigh", {"n": 8}), ["practical", "pymanopt-cg"], starts=2, saddles=2
    ... )
    >>> profile = performance_profile(found, "oracles")
    >>> profile.share("practical", float("inf")), profile.share("pymanopt-cg", float("inf"))
    (1.0, 0.5)
    """
    if measure not in MEASURES:
        raise unknown_name("measure", measure, MEASURES)
    if solved not in SOLVED:
        raise unknown_name("solved", solved, SOLVED)
    goal = _goal(comparison, solved, tolerance)
    names = list(comparison.settings.get("solvers", comparison.solvers))
    needs: dict[tuple[str, int], dict[str, float]] = {}
    for run in comparison.runs:
        needs.setdefault((run.problem, run.start), {})[run.solver] = _need(
            run, measure, solved, goal
        )
    ratios: dict[str, list[float]] = {name: [] for name in names}
    for key in complete_instances(comparison):
        instance = needs[key]
        best = min(instance.values())
        for name in names:
            need = instance.get(name, math.inf)
            ratios[name].append(need / best if math.isfinite(need) else math.inf)
    return Profile(
        measure, goal, solved, {name: np.sort(np.array(found)) for name, found in ratios.items()}
    )


def complete_instances(comparison: Comparison) -> list[tuple[str, int]]:
    """Return problem and start of the instances that count: all, but where it was interrupted."""
    names = set(comparison.settings.get("solvers", comparison.solvers))
    ran: dict[tuple[str, int], set[str]] = {}
    for run in comparison.runs:
        ran.setdefault((run.problem, run.start), set()).add(run.solver)
    if not comparison.settings.get("interrupted"):
        return list(ran)
    absent: dict[str, set[str]] = {}
    for one in comparison.settings.get("not_applicable", []):
        absent.setdefault(one["problem"], set()).add(one["solver"])
    return [key for key, there in ran.items() if names <= there | absent.get(key[0], set())]


def _goal(comparison: Comparison, solved: str, tolerance: float | None) -> float | None:
    """Return the gradient norm to measure to, None for the end of the run."""
    tolerances = comparison.settings.get("tolerances") or [None]
    if tolerance is not None and tolerance not in tolerances:
        known = f"be one of the comparison's, {tolerances}"
        raise ArgumentError("tolerance", known, tolerance)
    if solved == "reached":
        return tolerances[-1] if tolerance is None else tolerance
    if tolerance not in (None, tolerances[-1]):
        needs = f"be {tolerances[-1]!r}, to which runs are certified, where solved='certified'"
        raise ArgumentError("tolerance", needs, tolerance, "leave it out, or pass solved='reached'")
    return None


def _need(run: Run, measure: str, solved: str, tolerance: float | None) -> float:
    reached = end(run, tolerance)
    if reached is None or (solved == "certified" and not run.certified):
        return math.inf
    if tolerance is None and run.outcome != "ended":
        return math.inf
    value = getattr(reached, measure)
    return math.inf if value is None else max(float(value), LEAST[measure])
