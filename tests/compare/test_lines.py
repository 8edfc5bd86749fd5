from riemtr.compare.lines import lack_rounding, lines
from tests.compare.made_up import comparison, example, run
from tests.compare.page_examples import recovery_comparison


def test_one_line_per_problem_kind_and_solver_in_their_order():
    found = [(line.problem, line.kind, line.solver, line.runs) for line in lines(example())]
    assert found == [
        ("easy", "random", "fast", 2),
        ("easy", "random", "slow", 2),
        ("easy", "saddle", "fast", 1),
        ("easy", "saddle", "slow", 1),
    ]


def test_medians_are_over_certified_runs():
    certified = [run("a", start, need) for start, need in enumerate((10, 20, 60))]
    (line,) = lines(comparison(*certified, run("a", 3), run("a", 4, 1, verdict="saddle")))
    assert (line.runs, line.certified, line.deceived) == (5, 3, 1)
    assert line.endings == {"certified": 3, "deceived": 1, "unfinished": 1}
    assert (line.seconds, line.oracles, line.to_gradient) == (0.3, 30, 0.2)


def test_where_there_is_no_tolerance_they_are_over_all_that_ended():
    found = comparison(run("a", 0), run("a", 1, outcome="timed out"), tolerances=[])
    (line,) = lines(found)
    assert (line.certified, line.seconds, line.to_gradient) == (0, 1.0, None)


def test_what_does_not_apply_has_a_line_without_runs():
    absent = {"solver": "b", "problem": "easy", "reason": "not made for it"}
    found = comparison(run("a", 0, 3), solvers={"a": "", "b": ""}, not_applicable=[absent])
    line = lines(found)[1]
    assert (line.solver, line.runs, line.seconds) == ("b", 0, None)
    assert line.remark == "not made for it"


def test_the_first_failure_is_the_remark():
    failed = {"outcome": "failed", "verdict": None}
    (line,) = lines(comparison(run("a", 0, 3), run("a", 1, status="ValueError: no", **failed)))
    assert line.endings == {"certified": 1, "failed": 1}
    assert line.remark == "ValueError: no"


def test_who_lacks_nothing_but_rounding():
    assert lack_rounding(recovery_comparison()) == ["near"]
    assert lack_rounding(recovery_comparison(known=False)) == []
    assert lack_rounding(example()) == []
