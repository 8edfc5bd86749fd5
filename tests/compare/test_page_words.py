"""The page's headline, in the cases that ask for other words."""

from __future__ import annotations

import pytest

from riemtr.compare.page_words import figures, headline, lead
from riemtr.compare.records import Comparison, Run
from tests.compare.page_examples import recovery_comparison, solver_comparison


def comparison(**verdicts):
    """One letter per run: m(inimizer), s(addle), or n(ot critical)."""
    names = {"m": "minimizer", "s": "saddle", "n": "not-critical"}
    runs = [
        Run("rayleigh", solver, start, "random", "ended", "", True, verdict=names[letter])
        for solver, letters in verdicts.items()
        for start, letter in enumerate(letters)
    ]
    return Comparison({}, {}, tuple(runs))


@pytest.mark.parametrize(
    ("verdicts", "first", "misses"),
    [
        (
            {"ours": "mmm", "one": "mss", "two": "sss"},
            "ours ended at a certified minimizer in all 3 runs.",
            "Misses: one 2 of 3 (2 “converged” at a saddle point); two 3 of 3 (3 “converged” at a "
            "saddle point).",
        ),
        (
            {"a": "mm", "b": "mm", "c": "mn"},
            "a and b ended at a certified minimizer in all 2 runs each.",
            "Misses: c 1 of 2 (1 “converged”, not confirmed).",
        ),
        ({"a": "mm", "b": "m"}, "a and b ended at a certified minimizer in all their runs.", ""),
        (
            {"a": "mn", "b": "sn"},
            "No solver ended at a certified minimizer in all its runs.",
            "Misses: a 1 of 2 (1 “converged”, not confirmed); b 2 of 2 (1 “converged” at a saddle "
            "point, 1 “converged”, not confirmed).",
        ),
    ],
)
def test_who_was_certified_and_who_was_not(verdicts, first, misses):
    assert headline(comparison(**verdicts)) == (first, misses)


def test_no_failure_is_left_out_whoever_s_it_is():
    fell_short = {"verdict": "not-critical"}
    about = ("rayleigh", "exact", 1, "random")
    own = Run(*about, "ended", "cycling", claimed=False, **fell_short)
    late = Run("rayleigh", "exact", 2, "random", "timed out", "", claimed=False)
    broken = [
        Run("rayleigh", f"solver{i}", 0, "random", "failed", "ValueError: no", claimed=False)
        for i in range(9)
    ]
    runs = comparison(exact="m", practical="mm").runs
    first, misses = headline(Comparison({}, {}, (*runs, own, late, *broken)))
    assert first == "practical ended at a certified minimizer in all 2 runs."
    assert misses.startswith(
        "Misses: exact 2 of 3 (1 fell short, 1 timed out); solver0 1 of 1 (1 failed); "
    )
    assert misses.endswith("solver8 1 of 1 (1 failed).")


def test_methods_that_did_not_end_are_named_too():
    failed = Run("dictionary-recovery", "poor", 0, "random", "failed", "no", claimed=False)
    for known in (True, False):
        found = recovery_comparison(known)
        _, misses = headline(Comparison(found.settings, {}, (*found.runs, failed)))
        assert "; poor 1 of 1 (1 failed)." in misses


def test_many_names_are_counted():
    words, _ = headline(comparison(**{f"solver{i}": "m" for i in range(9)}))
    assert words.startswith("solver0, solver1, ")
    assert "solver5 and 3 others ended at a certified minimizer in their only runs" in words


def test_recovery_has_its_own_words():
    assert headline(recovery_comparison()) == (
        "exact recovered the dictionary exactly in all 3 runs.",
        "Misses: near 3 of 3 (median error 0.03). near is exact once riemtr rounds the rows.",
    )
    assert headline(recovery_comparison(known=False)) == (
        "exact found rows that are all proved optimal in all 3 runs.",
        "Misses: near 3 of 3 (a typical row is 1.4 % above its minimum).",
    )
    assert "linear programming" in lead(recovery_comparison())[1]


def test_size_of_the_comparison():
    assert figures(solver_comparison()) == (
        "4 solvers · 2 problems · 64 runs (32 from random starts, 32 from saddle starts)"
    )
    assert figures(comparison(a="m")) == "1 solver · 1 problem · 1 run (1 from random starts)"
