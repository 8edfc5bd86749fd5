from riemtr.compare.legend import legend
from tests.compare.made_up import comparison, example, run
from tests.compare.page_examples import recovery_comparison


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
