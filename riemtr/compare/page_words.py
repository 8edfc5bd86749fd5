"""The page's headline: what was found, in words for people who do not know the field."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

from riemtr.compare.lines import count_endings, in_words, lack_rounding
from riemtr.compare.page_data import is_recovery, solvers_of
from riemtr.compare.records import Comparison, Run

_NAMED = 6  # names in a sentence before "and 3 others"


def headline(comparison: Comparison) -> tuple[str, str]:
    """Return who succeeded in every run, and of everybody else how often and how they did not.

    Two texts, the second of which may be empty.

    Examples
    --------
    >>> ended = ("saddle", "ended", "")
    >>> runs = [
    ...     Run("rayleigh", "practical", 0, *ended, claimed=True, verdict="minimizer"),
    ...     Run("rayleigh", "sd", 0, *ended, claimed=True, verdict="saddle"),
    ... ]
    >>> headline(Comparison({}, {}, tuple(runs)))
    ('practical ended at a certified minimizer in its only run.',
    'Misses: sd 1 of 1 (1 “converged” at a saddle point).')
    """
    if not is_recovery(comparison.runs):
        return _told(
            comparison, "ended at a certified minimizer", lambda run: run.certified, _endings
        )
    if all(run.success is None for run in comparison.runs):
        return _told(
            comparison, "found rows that are all proved optimal", lambda run: run.certified, _excess
        )
    lacking = lack_rounding(comparison)
    verb = "is" if len(lacking) == 1 else "are"
    rounded = f"{_names(lacking)} {verb} exact once riemtr rounds the rows." if lacking else ""
    exact = "recovered the dictionary exactly"
    first, misses = _told(comparison, exact, lambda run: bool(run.success), _error)
    return first, " ".join(part for part in (misses, rounded) if part)


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


def _told(
    comparison: Comparison,
    deed: str,
    succeeded: Callable[[Run], bool],
    how: Callable[[Sequence[Run]], str],
) -> tuple[str, str]:
    by_solver = _by_solver(comparison)
    misses = {name: [r for r in runs if not succeeded(r)] for name, runs in by_solver.items()}
    complete = [name for name, missed in misses.items() if not missed]
    sizes = {len(by_solver[name]) for name in complete}
    what = "method" if is_recovery(comparison.runs) else "solver"
    first = f"No {what} {deed} in all its runs"
    if complete:
        first = f"{_names(complete)} {deed} in {_every(sizes, complete)}"
    others = [
        f"{name} {len(missed)} of {len(by_solver[name])} ({how(missed)})"
        for name, missed in misses.items()
        if missed
    ]
    # All of them, whoever made them: a failure that is not named looks like a success.
    return f"{first}.", f"Misses: {'; '.join(others)}." if others else ""


def _endings(runs: Sequence[Run]) -> str:
    return in_words(count_endings(runs))


def _error(runs: Sequence[Run]) -> str:
    errors = [run.distance for run in runs if run.distance is not None]
    typical = [f"median error {statistics.median(errors):.1g}"] if errors else []
    return ", ".join([*typical, *_unended(runs)])


def _excess(runs: Sequence[Run]) -> str:
    known = [run.details["median_excess"] for run in runs if "median_excess" in run.details]
    above = f"a typical row is {100 * statistics.median(known or [0]):.2g} % above its minimum"
    return ", ".join([*([above] if known else []), *_unended(runs)])


def _unended(runs: Sequence[Run]) -> list[str]:
    endings = count_endings(run for run in runs if run.outcome != "ended")
    return [in_words(endings)] if endings else []


def _every(sizes: set[int], names: Sequence[str]) -> str:
    if sizes == {1}:
        return "its only run" if len(names) == 1 else "their only runs"
    if len(sizes) > 1:
        return "all their runs"
    return f"all {min(sizes)} runs{' each' if len(names) > 1 else ''}"


def _names(names: Sequence[str]) -> str:
    shown = list(names[:_NAMED])
    if len(names) > _NAMED + 1:
        shown.append(f"{len(names) - _NAMED} others")
    else:
        shown = list(names)
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _plural(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"
