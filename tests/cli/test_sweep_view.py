import io

import numpy as np
import pytest
from rich.console import Console

from riemtr.cli.sweep_view import SweepBars, boundary_lines, duration, failures_lines, means_table
from riemtr.sweep import Progress, sweep
from riemtr.sweep.boundary import PowerLaw
from riemtr.sweep.phase_figures import Map


def failing(rng, n):
    if n > 2:
        raise ValueError(f"[bold]{n}")
    return {"twice": 2 * n, "odd": n % 2 == 1, "word": f"w{n}"}


def printed(shown):
    console = Console(file=io.StringIO(), width=100)
    console.print(shown)
    return [line.split() for line in console.file.getvalue().splitlines()]


def test_means_are_over_the_runs_of_a_setting_that_ended():
    table = sweep(failing, {"n": [1, 2, 3]}, repetitions=2)
    assert printed(means_table(table)) == [
        ["n", "runs", "twice", "odd", "word"],
        ["1", "2", "2", "1", "w1"],
        ["2", "2", "4", "0", "w2"],
        ["3", "0"],
    ]


def test_a_long_table_is_cut():
    lines = printed(means_table(sweep(failing, {"n": list(range(-21, 2))}, repetitions=1)))
    assert len(lines) == 1 + 20 + 1
    assert lines[-1] == ["...", "3", "more"]


def test_failures_are_told_once_of_a_kind():
    lines = failures_lines(sweep(failing, {"n": [1, 3]}, repetitions=2))
    assert len(lines) == 1
    assert "2 x ValueError: \\[bold]3 " in lines[0]
    assert "(first: n=3 seed=0)" in lines[0]
    many = failures_lines(sweep(failing, {"n": list(range(3, 10))}, repetitions=1))
    assert many[-1] == "... and 2 other errors; the table has all of them"


@pytest.mark.parametrize(
    ("law", "boundary", "where"),
    [
        (PowerLaw(0.5, 0.9), np.zeros(6), "half of the trials succeed at k = 0.5 n^0.90"),
        (None, np.full(6, np.nan), "no boundary within the grid"),
        # The figure has these three points, and no line.
        (
            *(None, np.array([np.nan, 1, 1, 1, np.nan, np.nan])),
            "a boundary at 3 of 6 values of n, too little for a fit",
        ),
    ],
)
def test_where_the_boundary_is(law, boundary, where):
    rate = np.array([[1.0, 0.5], [np.nan, 0.0]])
    one = Map("k-n", np.arange(6), np.arange(2), rate, 1, boundary, law)
    assert boundary_lines({"k-n": one}) == [
        f"[bold]k-n[/]  {where} [dim](50% of all trials succeed)[/]"
    ]


def test_a_law_from_few_values_is_a_guess():
    boundary = np.array([1.0, np.nan, 2.0])
    one = Map("k-n", np.arange(3), np.arange(2), np.ones((3, 2)), 1, boundary, PowerLaw(0.5, 0.9))
    assert "a rough guess from 2 values of n" in boundary_lines({"k-n": one})[0]


def test_times_are_as_precise_as_estimates_are():
    assert [duration(seconds) for seconds in (0.0, 89, 91, 5399, 5401)] == [
        *("1 s", "89 s", "2 min", "90 min", "1.5 h")
    ]


def test_a_bar_says_how_many_failed_and_what_is_left():
    console = Console(file=io.StringIO(), width=120, force_terminal=True, color_system=None)
    with SweepBars(console) as bars:
        bars.show("k-n", Progress(3, 1, 8, 0.5, 10.0, 42.0))
    assert "3 of 8 cells, 1 failed" in console.file.getvalue()
    assert "about 42 s left" in console.file.getvalue()
