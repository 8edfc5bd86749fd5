import io

import numpy as np
import pytest
from rich.console import Console

import riemtr
from riemtr.cli.summary import (
    explain_certificate,
    explain_status,
    explain_truth,
    show_point,
    summary_panel,
)
from riemtr.problems import Truth

MATRIX = np.diag([1.0, 2.0, 3.0, 3.0])


@pytest.fixture
def problem():
    return riemtr.Problem(riemtr.Sphere(4), lambda x: x @ MATRIX @ x)


def certificate(verdict, gradient_norm=1e-9, curvature=-0.5, error_bound=1e-8, strict=False):
    return riemtr.Certificate(
        verdict, gradient_norm, curvature, error_bound, None, strict, 1e-6, 1e-6
    )


@pytest.mark.parametrize(
    ("given", "beginning", "number"),
    [
        (certificate("minimizer", curvature=0.5, strict=True), "a strict minimizer: ", "5.000e-01"),
        (certificate("minimizer", curvature=1e-9), "a minimizer: ", "at least -9.0e-09"),
        (certificate("saddle"), "a saddle point, not a solution: ", "-5.000e-01"),
        (certificate("maximizer"), "a maximizer, not a solution: ", "-5.000e-01"),
        (
            certificate("unresolved", curvature=0.0, error_bound=1e-5),
            "undecided, perhaps a saddle point: ",
            "at least -1.0e-05, at most 0.0e+00",
        ),
        (certificate("not-critical", gradient_norm=0.25), "none yet: ", "2.5e-01"),
    ],
)
def test_each_verdict_in_words(given, beginning, number):
    text = explain_certificate(given)
    assert text.startswith(beginning)
    assert number in text


def test_a_flat_minimizer_is_not_called_strict():
    flat = riemtr.Problem(riemtr.Sphere(3), lambda x: x @ np.diag([1.0, 1.0, 2.0]) @ x)
    text = explain_certificate(riemtr.certify(flat, np.array([1.0, 0.0, 0.0])))
    assert text.startswith("a minimizer: ")
    assert "flat" in text


def test_remedies_speak_of_options(problem):
    result = riemtr.PracticalTRM(max_iterations=1).solve(problem, rng=0)
    assert "raise --max-iterations, or loosen --tolerance" in explain_status(result)


def test_no_remedy_speaks_of_python(problem):
    result = riemtr.PracticalTRM().solve(problem, rng=0)
    for status in riemtr.Status:
        object.__setattr__(result, "reason", type(result.reason)(status))
        text = explain_status(result)
        assert "max_" not in text
        assert "curvature_tolerance" not in text
        assert "TRM" not in text


def test_a_local_minimum_is_told_from_the_lowest(problem):
    result = riemtr.PracticalTRM().solve(problem, rng=0)
    assert "within" in explain_truth(result, Truth(cost=1.0))
    assert "try another --seed" in explain_truth(result, Truth(cost=0.5))


def test_the_distance_is_that_of_the_truth(problem):
    result = riemtr.PracticalTRM().solve(problem, rng=0)
    assert explain_truth(result, Truth(distance=lambda x: 0.125)) == (
        "distance 1.25e-01 from the known solution"
    )


def test_points_are_abridged():
    assert show_point(np.linspace(0, 1, 1000)).endswith("(1000 numbers)")
    assert len(show_point(np.linspace(0, 1, 1000))) < 80
    assert show_point(np.zeros((3, 2))) == "an array of 3 x 2 numbers"
    assert show_point([np.zeros(1), np.ones((2, 2))]).splitlines() == [
        "[0.] (1 number)",
        "an array of 2 x 2 numbers",
    ]


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_panel_fits_the_terminal_and_mentions_escapes(problem, width):
    result = riemtr.PracticalTRM().solve(problem, start=np.array([0.0, 1.0, 0.0, 0.0]))
    console = Console(file=io.StringIO(), width=width)
    console.print(summary_panel(result, None, "title"))
    lines = console.file.getvalue().splitlines()
    assert {len(line) for line in lines} == {width}
    text = " ".join(" ".join(line.strip("│ ") for line in lines).split())
    assert "left 1 saddle point along negative curvature" in text
