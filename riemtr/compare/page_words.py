"""The page's headline: what was found, in words for people who do not know the field."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from riemtr.compare.lines import lack_rounding
from riemtr.compare.page_data import is_recovery, solvers_of
from riemtr.compare.records import Comparison, Run

_NAMED = 6  # names in a sentence before "and 3 others"


def headline(comparison: Comparison) -> str:
    """Return one sentence: who was certified, and whose "converged" endpoints are saddles.

    Examples
    --------
    >>> ended = ("saddle", "ended", "")
    >>> runs = [
    ...     Run("rayleigh", "practical", 0, *ended, claimed=True, verdict="minimizer"),
    ...     Run("rayleigh", "sd", 0, *ended, claimed=True, verdict="saddle"),
    ... ]
    >>> headline(Comparison({}, {}, tuple(runs)))
    'practical ended at a certified minimizer in its only run; sd stopped at a saddle point and
    called it converged 1 of 1 times.'
    """
    by_solver = _by_solver(comparison)
    if is_recovery(comparison.runs):
        return _recovery_headline(by_solver, lack_rounding(comparison))
    return f"{_certified(by_solver)}; {_deceived(by_solver)}."


def lead(comparison: Comparison) -> list[str]:
    """Return the sentences below the headline: what the words in it mean."""
    if is_recovery(comparison.runs):
        return [
            "The data are mixtures, Y = A X, of which only Y is known: every method looks for the "
            "dictionary A that makes X sparse. All got the same whitened data.",
            "Whatever a method says of itself, riemtr checked every row it found by linear "
            "programming, off the clock: a row is certified if it is proved that no direction "
            "near it gives a sparser one (in the l1 norm).",
        ]
    return [
        "A vanishing gradient is not yet a minimum: at a saddle point there is still a way down. "
        "Whatever a solver says of itself, riemtr examined the point where it stopped, off the "
        "clock: it is certified if the gradient is small and no direction leads down to second "
        "order.",
    ]


def figures(comparison: Comparison) -> str:
    """Return the size of the comparison."""
    kinds = ", ".join(
        f"{sum(run.kind == kind for run in comparison.runs)} from {kind} starts"
        for kind in dict.fromkeys(run.kind for run in comparison.runs)
    )
    solvers, problems = len(comparison.solvers), len(comparison.problems)
    what = "method" if is_recovery(comparison.runs) else "solver"
    sizes = {what: solvers, "problem": problems, "run": len(comparison.runs)}
    return f"{' · '.join(_plural(size, word) for word, size in sizes.items())} ({kinds})"


def _by_solver(comparison: Comparison) -> dict[str, list[Run]]:
    found: dict[str, list[Run]] = {name: [] for name in solvers_of(comparison)}
    for run in comparison.runs:
        found[run.solver].append(run)
    return found


def _certified(by_solver: dict[str, list[Run]]) -> str:
    complete = [name for name, runs in by_solver.items() if all(run.certified for run in runs)]
    if complete:
        sizes = {len(by_solver[name]) for name in complete}
        return f"{_names(complete)} ended at a certified minimizer in {_every(sizes, complete)}"
    best = max(by_solver, key=lambda name: _share(by_solver[name]))
    count = sum(run.certified for run in by_solver[best])
    if not count:
        return "No solver ended at a certified minimizer"
    return (
        f"No solver was certified in all its runs, {best} came closest with {count} of "
        f"{len(by_solver[best])}"
    )


def _share(runs: Sequence[Run]) -> float:
    return sum(run.certified for run in runs) / len(runs)


def _every(sizes: set[int], names: Sequence[str]) -> str:
    if sizes == {1}:
        return "its only run" if len(names) == 1 else "their only runs"
    if len(sizes) > 1:
        return "all their runs"
    return f"all {min(sizes)} runs{' each' if len(names) > 1 else ''}"


def _deceived(by_solver: dict[str, list[Run]]) -> str:
    times = {name: sum(run.deceived for run in runs) for name, runs in by_solver.items()}
    worst = sorted((name for name in times if times[name]), key=lambda name: -times[name])
    deed = "stopped at a saddle point and called it converged"
    if not worst:
        return f"no solver {deed}"
    often = [f"{name} {times[name]} of {len(by_solver[name])} times" for name in worst]
    if len(worst) == 1:
        return f"{worst[0]} {deed} {often[0].removeprefix(f'{worst[0]} ')}"
    return f"these {deed}: {_names(often)}"


def _recovery_headline(by_solver: dict[str, list[Run]], lacking: Sequence[str]) -> str:
    known = any(run.success is not None for runs in by_solver.values() for run in runs)
    if not known:
        return _unknown_truth(by_solver)
    exact = [name for name, runs in by_solver.items() if all(run.success for run in runs)]
    others = {
        name: [run.distance for run in runs if run.distance is not None]
        for name, runs in by_solver.items()
        if name not in exact
    }
    near = [f"{name} {statistics.median(errors):.1g}" for name, errors in others.items() if errors]
    sizes = {len(by_solver[name]) for name in exact}
    first = (
        f"{_names(exact)} recovered the dictionary exactly in {_every(sizes, exact)}"
        if exact
        else "No method recovered the dictionary exactly in all its runs"
    )
    whose = " of the others" if exact else ""
    errors = f"; median errors{whose}: {_names(near)}" if near else ""
    verb = "is" if len(lacking) == 1 else "are"
    rest = f"; {_names(lacking)} {verb} exact once riemtr rounds the rows" if lacking else ""
    return f"{first}{errors}{rest}."


def _unknown_truth(by_solver: dict[str, list[Run]]) -> str:
    proved = [name for name, runs in by_solver.items() if all(run.certified for run in runs)]
    first = f"{_names(proved)} found" if proved else "No method found"
    excesses = {
        name: [run.details["median_excess"] for run in runs if "median_excess" in run.details]
        for name, runs in by_solver.items()
        if name not in proved
    }
    above = [
        f"{100 * statistics.median(values):.2g} % for {name}"
        for name, values in excesses.items()
        if values
    ]
    second = f"; a typical row is above its proven minimum by {_names(above)}" if above else ""
    return f"{first} rows that are all proved optimal{second}."


def _names(names: Sequence[str]) -> str:
    shown = list(names[:_NAMED])
    if len(names) > _NAMED + 1:
        shown.append(f"{len(names) - _NAMED} others")
    else:
        shown = list(names)
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _plural(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"
