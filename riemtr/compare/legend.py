"""What the columns of a comparison's table mean, and what is missing in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from riemtr.compare.lines import lack_rounding
from riemtr.compare.records import ENDINGS, Comparison

_RECOVERY = (
    "certified: every row is proved optimal by a duality gap",
    "solved: ended at the true dictionary",
    "rounded: at the true dictionary once riemtr rounds the rows",
    "time: median of the whole run, over the runs that ended",
)
_RECOVERY_ENDINGS = {
    "unconfirmed": "by its own criterion, with rows that are not optimal",
    "unfinished": "ended with rows that are not optimal, and does not call that converged",
}
# Endings that the solver gives a reason for.
_EXPLAINED = ("failed", "unfinished", "stuck")


def legend(comparison: Comparison) -> list[str]:
    """Explain the columns, and what is missing."""
    settings = comparison.settings
    tolerances = settings.get("tolerances")
    explained = list(_RECOVERY)
    if tolerances:
        explained = [
            "certified: ended at a point that riemtr certifies as a minimizer",
            "deceived: called itself converged at a saddle point or a maximizer",
            "solved: ended at the known solution, not at another local minimum",
            "time, calls: medians of whole runs, over certified runs, with all that a solver does "
            "about the curvature; calls of cost, gradient and Hessian together, a Hessian matrix "
            "as one per dimension",
            f"to {tolerances[-1]:g}: median time until the gradient norm was that small for good",
        ]
    explained += explained_endings(comparison)
    explained += _radii(settings)
    lacking = lack_rounding(comparison)
    if lacking:
        explained.append(f"rounding is all that is missing here: {', '.join(lacking)}")
    if not comparison.runs:
        explained.append("no runs: nothing that was asked for could be run")
    remarks = {
        (one["solver"], one["problem"]): one["reason"] for one in settings.get("not_applicable", [])
    }
    for run in comparison.runs:
        if run.ending in _EXPLAINED:
            remarks.setdefault((run.solver, run.problem), run.status)
    explained += [f"{solver} on {problem}: {why}" for (solver, problem), why in remarks.items()]
    explained += _missing_saddles(settings)
    if settings.get("interrupted"):
        explained.append("interrupted: these are the runs that were finished")
    return explained


def explained_endings(comparison: Comparison) -> list[str]:
    """Explain the words for how runs ended, those that occur."""
    tolerances, endings = comparison.settings.get("tolerances"), _RECOVERY_ENDINGS
    if tolerances:
        endings = {
            "narrow": f"a minimizer, but for a gradient norm of up to twice {tolerances[-1]:g}",
            "unconfirmed": "says so, but the gradient is not small, or the curvature undecided",
            "unfinished": "the gradient is not small, or the curvature undecided, and no claim",
        }
    occurring = {run.ending for run in comparison.runs}
    return [f"{ENDINGS[how]}: {why}" for how, why in endings.items() if how in occurring]


def _radii(settings: dict[str, Any]) -> Iterator[str]:
    """With what radius the methods ran that do not choose one themselves."""
    for solver, radii in settings.get("fixed_radii", {}).items():
        same = len(set(radii.values())) == 1
        each = (f"{radius:g}" if same else f"{radius:g} on {on}" for on, radius in radii.items())
        yield f"{solver}: fixed radius {', '.join(dict.fromkeys(each))}"


def _missing_saddles(settings: dict[str, Any]) -> Iterator[str]:
    for label, about in settings.get("problems", {}).items():
        found, why = about.get("saddles"), about.get("saddle_search")
        because = f" ({why})" if why else ""
        if settings.get("saddles") and found == 0:
            yield f"{label}: no saddle point was found to start from{because}"
        elif why:
            yield f"{label}: {found} of {settings['saddles']} saddle points were found{because}"
