import io

import pytest
from rich.console import Console

from riemtr.compare.records import Comparison, Reach, Run, in_seconds, lack_rounding, legend
from tests.compare.made_up import comparison, example, run
from tests.compare.page_examples import recovery_comparison


def cells(found):
    """The rows of the table without headings of blocks."""
    return [row for row in found.summary().table.texts() if len(row) > 1]


def test_lines_by_hand():
    assert cells(example()) == [
        ("fast", "2/2", "", "2/2", "200 ms", "20", "100 ms", ""),
        ("slow", "2/2", "", "2/2", "400 ms", "40", "300 ms", ""),
        # At the saddle point it needed nothing, which is no time to a solution.
        ("fast", "0/1", "1", "0/1", "", "", "", ""),
        ("slow", "1/1", "", "1/1", "400 ms", "40", "300 ms", ""),
    ]


def test_every_other_outcome_has_a_word():
    found = comparison(
        run("a", 0, outcome="timed out"),
        run("a", 1, outcome="failed", verdict=None, status="ValueError: no"),
        run("a", 2),
        run("a", 3, verdict="saddle", claimed=False),
        run("a", 4, verdict="unresolved", claimed=True, success=None),
        run("a", 5, 7, outcome="timed out"),  # at a minimizer, but late
        run("a", 6, 7, outcome="timed out", verdict="saddle"),
        run("a", 7, verdict="not-critical", claimed=True),
        run("a", 8, verdict="not-critical", claimed=True, narrow=True),
    )
    (row,) = cells(found)
    assert row[1:3] == ("0/9", "")
    assert row[4:7] == ("", "", "")
    assert row[-1] == (
        "1 narrowly missed, 2 “converged”, not confirmed, 1 at a saddle point, 1 fell short, "
        "3 timed out, 1 failed"
    )
    assert "a on easy: ValueError: no" in repr(found)


def test_what_does_not_apply_is_said():
    found = comparison(
        run("a", 0, 3),
        solvers={"a": "", "b": ""},
        not_applicable=[{"solver": "b", "problem": "easy", "reason": "not <made> for it"}],
    )
    assert cells(found)[1] == ("b", "", "", "", "", "", "", "does not apply")
    assert "b on easy: not <made> for it" in repr(found)
    assert "not &lt;made&gt; for it" in found._repr_html_()


def test_unknown_truth_and_missing_counts_are_left_blank():
    found = comparison(run("a", 0, 3, success=None, oracles=None))
    assert cells(found)[0] == ("a", "1/1", "", "", "130 ms", "", "30 ms", "")


def test_recovery_shows_the_time_of_all_that_ended_and_what_rounding_would_mend():
    found = recovery_comparison()
    assert list(found.summary().table.headings) == [
        *("solver", "certified", "solved", "rounded", "time", "otherwise")
    ]
    assert cells(found) == [
        ("exact", "3/3", "3/3", "3/3", "2 s", ""),
        ("near", "0/3", "0/3", "3/3", "2 s", "3 “converged”, not confirmed"),
    ]
    assert "time: median of the whole run, over the runs that ended" in repr(found)
    assert "rounding is all that is missing here: near" in repr(found)
    unknown = recovery_comparison(known=False)
    assert [row[2:4] for row in cells(unknown)] == [("", ""), ("", "")]
    assert "rounding is all that is missing" not in repr(unknown)


def test_columns_line_up():
    text = repr(example()).splitlines()
    assert text[0].split() == [
        "solver",
        "certified",
        "deceived",
        "solved",
        "time",
        "calls",
        "to",
        "1e-06",
        "otherwise",
    ]
    assert text[2] == "easy, 2 random starts"
    ends = {line.index("2/2") for line in text[3:5]}
    assert ends == {text[0].index("certified") + len("certified") - 3}
    assert "easy, 1 start at a saddle point" in text


def test_a_notebook_shows_the_same_table():
    assert example()._repr_html_().count("<tr>") == 1 + 2 + 4


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.0, "0 ms"), (9.4e-4, "0.94 ms"), (0.9999, "1 s"), (123.4, "123 s")]
)
def test_times_have_units(seconds, text):
    assert in_seconds(seconds) == text


def text_of(found):
    return "\n".join([*legend(found), ""])


def test_time_is_that_of_the_whole_run_and_the_legend_says_so():
    text = text_of(example())
    assert "time, calls: medians of whole runs, over certified runs" in text
    assert "to 1e-06: median time until the gradient norm was that small for good" in text


def test_no_runs_is_explained():
    found = comparison(
        solvers={"b": ""},
        problems={"easy": {"saddles": 0}},
        saddles=3,
        not_applicable=[{"solver": "b", "problem": "easy", "reason": "not made for it"}],
    )
    assert found.problems == ["easy"]
    text = text_of(found)
    assert "no runs: nothing that was asked for could be run" in text
    assert "b on easy: not made for it" in text
    assert "no saddle point was found" in text


def test_what_is_missing_is_explained():
    found = comparison(
        run("a", 0, 3), saddles=3, problems={"easy": {"saddles": 0}}, interrupted=True
    )
    assert "easy: no saddle point was found to start from\n" in text_of(found)
    few = {"easy": {"saddles": 1, "saddle_search": "too slow"}, "none": {"saddles": 0}}
    few["none"]["saddle_search"] = "ValueError: no"
    text = text_of(comparison(run("a", 0, 3), saddles=3, problems=few))
    assert "easy: 1 of 3 saddle points were found (too slow)" in text
    assert "none: no saddle point was found to start from (ValueError: no)" in text
    assert "interrupted: these are the runs that were finished" in text_of(found)


def test_whole_methods_have_words_of_their_own():
    text = text_of(recovery_comparison())
    assert "certified: every row is proved optimal by a duality gap" in text
    assert "rounding is all that is missing here: near" in text
    assert "deceived" not in text


def test_only_endings_that_occur_are_explained():
    narrow = run("a", 0, verdict="not-critical", claimed=True, narrow=True)
    text = text_of(comparison(narrow))
    assert "narrowly missed: a minimizer, but for a gradient norm of up to twice 1e-06" in text
    assert "not confirmed" not in text
    assert "fell short" not in text
    text = text_of(comparison(run("a", 0, claimed=True)))
    assert "“converged”, not confirmed: says so, but the gradient is not small" in text


def test_who_fell_short_says_why():
    text = text_of(comparison(run("exact", 0, status="cycling: use a smaller radius")))
    assert "exact on easy: cycling: use a smaller radius" in text


def test_fixed_radii_are_told():
    same = {"exact": {"easy": 0.1, "hard": 0.1}}
    assert "exact: fixed radius 0.1\n" in text_of(comparison(run("a", 0, 3), fixed_radii=same))
    different = {"exact": {"easy": 0.1, "hard": 0.005}}
    text = text_of(comparison(run("a", 0, 3), fixed_radii=different))
    assert "exact: fixed radius 0.1 on easy, 0.005 on hard\n" in text


def test_the_first_error_of_a_solver_on_a_problem_is_told():
    failed = {"outcome": "failed", "verdict": None}
    text = text_of(
        comparison(
            run("a", 0, status="ValueError: first", **failed),
            run("a", 1, status="ValueError: second", **failed),
        )
    )
    assert "a on easy: ValueError: first" in text
    assert "second" not in text


def test_one_line_per_problem_kind_and_solver_in_their_order():
    assert [row[0] for row in example().summary().table.texts()] == [
        *("easy, 2 random starts", "fast", "slow"),
        *("easy, 1 start at a saddle point", "fast", "slow"),
    ]


def test_medians_are_over_certified_runs():
    certified = [run("a", start, need) for start, need in enumerate((10, 20, 60))]
    found = comparison(*certified, run("a", 3), run("a", 4, 1, verdict="saddle"))
    (row,) = cells(found)
    assert row == ("a", "3/5", "1", "4/5", "300 ms", "30", "200 ms", "1 fell short")


def test_where_there_is_no_tolerance_they_are_over_all_that_ended():
    found = comparison(run("a", 0), run("a", 1, outcome="timed out"), tolerances=[])
    assert cells(found) == [("a", "0/2", "0/2", "1 s", "1 fell short, 1 timed out")]


def test_a_failure_is_told_beside_what_went_well():
    failed = {"outcome": "failed", "verdict": None}
    found = comparison(run("a", 0, 3), run("a", 1, status="ValueError: no", **failed))
    assert cells(found)[0][-1] == "1 failed"
    assert "a on easy: ValueError: no" in repr(found)


def test_who_lacks_nothing_but_rounding():
    assert lack_rounding(recovery_comparison()) == ["near"]
    assert lack_rounding(recovery_comparison(known=False)) == []
    assert lack_rounding(example()) == []


def test_one_line_for_all():
    assert example().summary().line == (
        "certified: fast 2/3 (1 “converged” at a saddle point), slow 3/3"
    )


@pytest.mark.parametrize("width", [40, 60, 100])
def test_no_figure_is_lost_in_a_narrow_window(width):
    name = "my_package.my_module:a_solver_with_a_long_name"
    late = run(name, 1, 10, outcome="timed out")
    console = Console(file=io.StringIO(), width=width)
    console.print(comparison(run(name, 0, 10), late, run("pymanopt-tr", 0, 10)).summary())
    text = console.file.getvalue()
    assert max(map(len, text.splitlines())) <= width
    assert {"200", "100", "1/1", "1/2"} <= set(text.replace(",", " ").split())


def test_all_problems_together():
    def ended(problem, solver, seconds, success, verdict="minimizer"):
        return Run(
            *(problem, solver, 0, "random", "ended", "", True),
            verdict=verdict,
            success=success,
            seconds=seconds,
            oracles=10,
            reached=(Reach(1e-6, seconds, {}, 10),),
        )

    absent = [{"solver": "third", "problem": name, "reason": "no sphere"} for name in "abc"]
    settings = {"tolerances": [1e-6], "not_applicable": absent}
    settings["solvers"] = dict.fromkeys(("first", "second", "third"), "")
    runs = [ended("a", "first", 1.0, True), ended("a", "second", 4.0, True)]
    runs += [ended("b", "first", 9.0, None), ended("b", "second", 1.0, None)]
    runs += [ended("c", "first", 1.0, True), ended("c", "second", 0.1, False, "saddle")]
    found = Comparison(settings, {}, tuple(runs))
    rows = {row[0]: row for row in found.overall().table.texts() if len(row) > 1}
    headings = found.overall().table.headings

    def cell(solver, heading):
        return rows[solver][headings.index(heading)]

    # Over the fastest that is certified: 1, 9 and 1 times; 4 and 1 times.
    assert cell("first", "time") == f"{9 ** (1 / 3):.2f}x"
    assert cell("second", "time") == cell("second", "to 1e-06") == "2.00x"
    assert (cell("first", "certified"), cell("second", "certified")) == ("3/3", "2/3")
    assert cell("second", "deceived") == "1"
    # Of b nobody knows the solution.
    assert (cell("first", "solved"), cell("second", "solved")) == ("2/2", "1/2")
    assert cell("third", "otherwise") == "does not apply to 3 problems"
    assert "third does not apply to 3 problems; on a: no sphere" in found.summary().notes
