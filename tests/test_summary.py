"""One summary, rendered as text, as HTML and in a terminal: the same words in each."""

import io
import re
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

import riemtr
from riemtr.data import BernoulliGaussian, Conditioned
from riemtr.paper.phase_figures import Map, PowerLaw
from riemtr.paper.phases import maps_summary
from riemtr.recovery import recover_dictionary
from riemtr.summary import BAD, DOUBTFUL, GOOD, Summary, Table, clean
from riemtr.sweep import sweep

CODES = "\x1b[31mred\x1b[0m \x07 \r \x9b31m \u202e"
TABLE = Table(
    ("name", "count", "remarks"),
    (("a block",), ("[bold]", ("3", BAD), "<b>"), ("a name that is long", "12", "some words " * 9)),
    "lrl",
)
SUMMARY = Summary("a title", (("said", "a\nb"), ("also", "<i> [red]")), TABLE, ("a note",), GOOD)
MATRIX = np.diag([1.0, 2.0, 3.0, 3.0])


def printed(summary, width=100):
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(summary)
    return console.file.getvalue()


def words(text):
    return " ".join(re.sub(r"[│╭╮╰╯─]", " ", text).split())


@pytest.mark.parametrize("width", [25, 40, 80, 120])
def test_all_is_said_whatever_the_width(width):
    lines = printed(SUMMARY, width).splitlines()
    assert max(map(len, lines)) <= width
    said = words("\n".join(lines))
    for part in ("a title", "said", "a block", "[bold]", "<b>", "a note", "<i> [red]", "12"):
        assert part in said
    assert said.count("some") == 9


def test_text_lines_up():
    text = SUMMARY.text().splitlines()
    assert text[:4] == ["a title", "  said:  a", "         b", "  also:  <i> [red]"]
    assert text[4].split() == ["name", "count", "remarks"]
    assert text[5:7] == ["", "a block"]
    assert text[7].index("3") == text[8].index("12") + 1
    assert text[-1] == "a note"


def test_html_shows_texts_as_they_are():
    page = SUMMARY.html()
    assert "&lt;i&gt; [red]" in page
    assert "<b>a title</b>" in page
    assert "a<br>b" in page
    assert "<td class='bad' style='text-align:right'>3</td>" in page
    assert page.count("<tr>") == 2 + 1 + 3


def test_no_code_of_a_terminal_gets_through():
    evil = Summary(CODES, ((CODES, CODES),), Table((CODES, "b"), ((CODES, CODES),), "ll"), (CODES,))
    for shown in (evil.text(), evil.html(), printed(evil), printed(evil, 20), clean(CODES)):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", shown)
        assert "red" in shown


def certificate(verdict, curvature=-0.5, error_bound=1e-8, strict=False):
    return riemtr.Certificate(verdict, 1e-9, curvature, error_bound, None, strict, 1e-6, 1e-6)


@pytest.mark.parametrize(
    ("given", "beginning"),
    [
        (certificate("minimizer", curvature=0.5, strict=True), "a strict minimizer: "),
        (certificate("minimizer", curvature=1e-9), "a minimizer: "),
        (certificate("saddle"), "a saddle point, not a solution: "),
        (certificate("maximizer"), "a maximizer, not a solution: "),
        (certificate("unresolved"), "undecided, perhaps a saddle point: "),
        (certificate("not-critical"), "none yet: "),
    ],
)
def test_each_verdict_has_a_meaning(given, beginning):
    assert given.meaning.startswith(beginning)
    assert given.meaning in repr(given)
    assert given.summary().tone == (GOOD if given.verdict == "minimizer" else DOUBTFUL)


def test_a_result_says_what_it_left_and_what_it_found():
    problem = riemtr.Problem(riemtr.Sphere(4), lambda x: x @ MATRIX @ x)
    result = riemtr.PracticalTRM().solve(problem, start=np.array([0.0, 1.0, 0.0, 0.0]))
    assert "left 1 saddle point along negative curvature" in repr(result)
    assert result.summary().line.startswith("converged: no certificate yet, cost 1")
    assert result.certified
    assert result.summary().tone == GOOD
    assert result.summary().line.startswith("converged: minimizer, cost 1")


@pytest.mark.parametrize(
    ("manifold", "start", "shown"),
    [
        (riemtr.Sphere(1000), np.eye(1000)[0], "[1. 0. 0. ... 0. 0. 0.] (1000 numbers)"),
        (riemtr.Euclidean(3, 2), np.ones((3, 2)), "an array of 3 x 2 numbers"),
    ],
)
def test_points_are_abridged(manifold, start, shown):
    problem = riemtr.Problem(manifold, lambda x: (x**2).sum())
    assert shown in repr(riemtr.PracticalTRM(max_iterations=0).solve(problem, start))


SAMPLE = BernoulliGaussian(n=5, p=600, theta=0.2, dictionary=Conditioned(10.0)).draw(0)
Y = SAMPLE.observations


@pytest.fixture(scope="module")
def found():
    return recover_dictionary(Y, rng=0)


def with_doubts(found, *numbers):
    atoms = [
        replace(atom, doubts=("looks [odd]",)) if number in numbers else atom
        for number, atom in enumerate(found.atoms)
    ]
    return replace(found, atoms=type(found.atoms)(atoms))


def said_of(found, name):
    return dict(found.summary().pairs)[name]


def test_every_row_of_a_recovery_and_what_is_said_of_it(found):
    rows = with_doubts(found, 2).summary().table.texts()
    assert [row[1] for row in rows] == ["proved", "proved", "doubtful", "proved", "proved"]
    assert rows[0][-1] == "exactly sparse"
    assert rows[2][-1] == "looks [odd]"


def test_remarks_of_several_rows_are_said_once(found):
    summary = with_doubts(found, 0, 1, 2, 4).summary()
    assert summary.notes == ("rows 0-2, 4: looks [odd]",)
    assert [row[-1] for row in summary.table.texts()].count("see below") == 4


def test_which_rows_to_trust_and_what_to_do_about_the_others(found):
    assert said_of(found, "trust") == "all rows"
    assert said_of(with_doubts(found, 1, 3), "trust").startswith("all rows but 1, 3: ")
    assert said_of(with_doubts(found, *range(5)), "trust").startswith("none: ")
    assert found.summary().line.startswith("5 atoms of 5 numbers: 5 proved, ")


def test_without_exact_zeros_nothing_is_called_proved_though_some_rows_are_doubtful():
    sparse = BernoulliGaussian(n=5, p=6000, theta=0.2, dictionary=Conditioned(10.0)).draw(0)
    noise = np.random.default_rng(0).standard_normal(sparse.observations.shape)
    noisy = sparse.observations + 0.002 * noise
    steep = np.diag([1e3, 1.0, 1.0, 1.0, 1.0]) @ noisy
    for data, warned in ((noisy, False), (steep, True)):
        seen = recover_dictionary(data, rng=0)
        assert seen.count("plausible") == 5
        assert "nothing proves" in said_of(seen, "trust")
        assert "nothing proves" in said_of(with_doubts(seen, 2), "trust")
        assert ("caution" in dict(seen.summary().pairs)) is warned
        assert seen.summary().tone == (DOUBTFUL if warned else GOOD)


def failing(rng, n):
    if n > 2:
        raise ValueError(f"[bold]{n}")
    return {"twice": 2 * n, "odd": n % 2 == 1, "word": f"w{n}"}


def test_a_sweep_has_means_over_the_runs_of_a_setting_that_ended():
    summary = sweep(failing, {"n": [1, 2, 3]}, repetitions=2).summary()
    assert summary.table.headings == ("n", "runs", "twice", "odd", "word")
    rows = summary.table.texts()
    assert rows == [("1", "2", "2", "1", "w1"), ("2", "2", "4", "0", "w2"), ("3", "0", "", "", "")]
    assert summary.notes[-1].startswith("failed 2 x ValueError: [bold]3")
    assert summary.notes[-1].endswith("(first: n=3 seed=0)")
    assert summary.line == "6 cells, 2 failed"


def test_a_long_table_of_a_sweep_is_cut():
    summary = sweep(failing, {"n": list(range(-21, 10))}, repetitions=1).summary()
    assert len(summary.table.rows) == 20
    assert summary.notes[0] == "... 11 more settings"
    assert summary.notes[-1] == "... and 2 other errors; the table has all of them"


@pytest.mark.parametrize(
    ("law", "boundary", "where"),
    [
        (PowerLaw(0.5, 0.9), np.zeros(6), "half of the trials succeed at k = 0.5 n^0.90 ("),
        (PowerLaw(0.5, 0.9), np.array([1.0, np.nan, 2]), ", a rough guess from 2 values of n"),
        (None, np.full(6, np.nan), "no boundary within the grid"),
        (None, np.array([np.nan, 1, 1, 1]), "a boundary at 3 of 4 values of n, too little for a"),
    ],
)
def test_where_the_boundary_of_a_map_is(law, boundary, where):
    rate = np.array([[1.0, 0.5], [np.nan, 0.0]])
    one = Map("k-n", np.arange(boundary.size), np.arange(2), rate, 1, boundary, law)
    ((name, said),) = maps_summary({"k-n": one}, []).pairs
    assert name == "k-n"
    assert where in said
    assert said.endswith("(50% of all trials succeed)")
