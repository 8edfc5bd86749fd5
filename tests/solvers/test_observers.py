"""Observers, criteria and how results print."""

from __future__ import annotations

import csv
import io
import json
import time
import zipfile

import numpy as np
import pytest
from pymanopt.optimizers import TrustRegions

import riemtr
from riemtr import observers
from riemtr.interop.pymanopt import PymanoptSolver
from riemtr.solvers import GradientNorm, MaxIterations, MaxSeconds, ScipyLBFGSB


@pytest.fixture
def case():
    return riemtr.problems.build("rayleigh", rng=0, n=20)


def test_log_file_holds_the_history(case, tmp_path):
    path = tmp_path / "log.csv"
    with observers.LogToFile(path) as log:
        result = riemtr.PracticalTRM().solve(case.problem, rng=0, observers=[log])
    with path.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == result.iterations + 1
    np.testing.assert_allclose([float(row["cost"]) for row in rows], result.history["cost"])
    with pytest.raises(FileExistsError, match="exists"):
        observers.LogToFile(path)


def test_live_table_shows_the_run(case):
    from rich.console import Console

    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100)
    start = case.truth.details["eigenvectors"][:, 3]
    with observers.LiveTable(rows=50, console=console) as table:
        result = riemtr.PracticalTRM().solve(case.problem, start, observers=[table])
    text = screen.getvalue()
    assert "gradient norm" in text
    assert "left a saddle point" in text
    assert f"{result.cost:.10g}" in text


def test_progress_bar_shows_the_cost(case):
    from rich.console import Console

    screen = io.StringIO()
    with observers.ProgressBar(Console(file=screen, force_terminal=True, width=120)) as bar:
        result = riemtr.PracticalTRM().solve(case.problem, rng=0, observers=[bar])
    assert f"iteration {result.iterations}" in screen.getvalue()


def test_displays_need_no_context_of_their_own(case):
    from rich.console import Console

    solver = riemtr.PracticalTRM()
    file = io.StringIO()
    table = observers.LiveTable(rows=2, console=Console(file=file, width=100))
    result = solver.solve(case.problem, rng=0, observers=[table])
    lines = file.getvalue().splitlines()
    assert result.iterations > 2
    assert len(lines) == result.iterations + 2  # into a file all of it, with a heading
    solver.solve(case.problem, rng=0, observers=[table])
    assert file.getvalue().splitlines() == 2 * lines

    screen = io.StringIO()
    bar = observers.ProgressBar(Console(file=screen, force_terminal=True, width=120))
    for run in (solver, riemtr.LBFGS(), ScipyLBFGSB(), PymanoptSolver(TrustRegions())):
        screen.truncate(0)
        found = run.solve(case.problem, rng=0, observers=iter([bar]))
        assert f"cost {found.cost:.8g}" in screen.getvalue()
        assert found.converged


def test_a_display_entered_by_the_caller_stays_for_all_runs(case):
    from rich.console import Console

    file = io.StringIO()
    with observers.LiveTable(console=Console(file=file, width=100)) as table:
        first, second = (
            riemtr.PracticalTRM().solve(case.problem, rng=seed, observers=[table])
            for seed in (0, 1)
        )
    assert len(file.getvalue().splitlines()) == first.iterations + second.iterations + 3


def test_live_plot_draws_every_iteration(case):
    import matplotlib

    matplotlib.use("Agg")
    plot = observers.LivePlot(every=2)
    result = riemtr.PracticalTRM().solve(case.problem, rng=0, observers=[plot])
    (line,) = plot.axes.lines
    np.testing.assert_array_equal(line.get_ydata(), result.history["gradient_norm"])


def test_observers_are_not_timed(case):
    result = riemtr.PracticalTRM().solve(
        case.problem, rng=0, observers=[lambda iteration: time.sleep(0.05)]
    )
    assert result.iterations >= 4
    assert result.seconds < 0.05 * result.iterations


def test_an_observer_can_stop_the_run(case):
    result = riemtr.PracticalTRM().solve(
        case.problem, rng=0, observers=[lambda iteration: iteration.gradient_norm < 0.3]
    )
    assert result.status is riemtr.Status.STOPPED
    assert result.gradient_norm < 0.3


def test_criteria_print_as_they_are_written():
    stop = (GradientNorm(0.5) | MaxIterations(3)) & MaxSeconds(2)
    assert repr(stop) == (
        "(GradientNorm(tolerance=0.5) | MaxIterations(limit=3)) & MaxSeconds(limit=2)"
    )


def test_results_print_in_terminal_and_notebook(case):
    result = riemtr.PracticalTRM().solve(case.problem, rng=0)
    before = result.evaluation.counts.snapshot()
    assert "ask for result.certificate" in repr(result)
    assert "ask for result.certificate" in result._repr_html_()
    assert result.evaluation.counts == before  # printing computes nothing
    assert result.certified
    text, page = repr(result), result._repr_html_()
    for part in ("converged", "minimizer", "Hessian products", "PracticalTRM()"):
        assert part in text
        assert part in page
    assert "0x" not in text
    assert str(riemtr.Status.CYCLING).count("radius") == 2


def test_convergence_plot_marks_the_escapes(case):
    import matplotlib

    matplotlib.use("Agg")
    start = case.truth.details["eigenvectors"][:, 3]
    axes = riemtr.PracticalTRM().solve(case.problem, start).plot()
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert any("saddle" in label for label in labels)


def test_a_saved_result_may_have_a_word_about_it_and_replaces_nothing_unasked(case, tmp_path):
    path = tmp_path / "run.npz"
    result = riemtr.PracticalTRM().solve(case.problem, rng=0)
    result.save(path, about={"problem": "rayleigh"})
    with zipfile.ZipFile(path) as archive:
        assert json.loads(archive.read("about.json")) == {"problem": "rayleigh"}
    with pytest.raises(FileExistsError, match="pass overwrite=True"):
        result.save(path)
    result.save(path, overwrite=True)
    assert riemtr.load_result(path).cost == result.cost
