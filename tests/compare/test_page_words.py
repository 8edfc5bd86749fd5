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
    ("verdicts", "words"),
    [
        (
            {"ours": "mmm", "one": "mss", "two": "sss"},
            "ours ended at a certified minimizer in all 3 runs; these stopped at a saddle point "
            "and called it converged: two 3 of 3 times and one 2 of 3 times.",
        ),
        (
            {"a": "mm", "b": "mm", "c": "mn"},
            "a and b ended at a certified minimizer in all 2 runs each; no solver stopped at a "
            "saddle point and called it converged.",
        ),
        (
            {"a": "mm", "b": "m"},
            "a and b ended at a certified minimizer in all their runs; no solver stopped at a "
            "saddle point and called it converged.",
        ),
        (
            {"a": "mn", "b": "sn"},
            "No solver was certified in all its runs, a came closest with 1 of 2; b stopped at a "
            "saddle point and called it converged 1 of 2 times.",
        ),
        (
            {"a": "n"},
            "No solver ended at a certified minimizer; no solver stopped at a saddle point and "
            "called it converged.",
        ),
    ],
)
def test_who_was_certified_and_who_was_not(verdicts, words):
    assert headline(comparison(**verdicts)) == words


def test_many_names_are_counted():
    words = headline(comparison(**{f"solver{i}": "m" for i in range(9)}))
    assert words.startswith("solver0, solver1, ")
    assert "solver5 and 3 others ended at a certified minimizer in their only runs" in words


def test_recovery_has_its_own_words():
    assert headline(recovery_comparison()) == (
        "exact recovered the dictionary exactly in all 3 runs; median errors of the others: "
        "near 0.03; near is exact once riemtr rounds the rows."
    )
    assert headline(recovery_comparison(known=False)) == (
        "exact found rows that are all proved optimal; a typical row is above its proven minimum "
        "by 1.4 % for near."
    )
    assert "linear programming" in lead(recovery_comparison())[1]


def test_size_of_the_comparison():
    assert figures(solver_comparison()) == (
        "4 solvers · 2 problems · 64 runs (32 from random starts, 32 from saddle starts)"
    )
    assert figures(comparison(a="m")) == "1 solver · 1 problem · 1 run (1 from random starts)"
