import pytest

from riemtr.compare.lines import lines
from riemtr.compare.table import as_html, as_text, columns, in_seconds, rows
from tests.compare.made_up import comparison, example, run
from tests.compare.page_examples import recovery_comparison


def cells(found):
    return rows(found, lines(found))


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
    (line,) = lines(found)
    assert (line.certified, line.deceived) == (0, 0)
    assert line.seconds is None
    assert cells(found)[0][-1] == (
        "1 narrowly missed, 2 “converged”, not confirmed, 1 at a saddle point, 1 fell short, "
        "3 timed out, 1 failed"
    )
    assert "a on easy: ValueError: no" in as_text(found)


def test_what_does_not_apply_is_said():
    found = comparison(
        run("a", 0, 3),
        solvers={"a": "", "b": ""},
        not_applicable=[{"solver": "b", "problem": "easy", "reason": "not <made> for it"}],
    )
    assert cells(found)[1] == ("b", "", "", "", "", "", "", "does not apply")
    assert "b on easy: not <made> for it" in as_text(found)
    assert "not &lt;made&gt; for it" in as_html(found)


def test_unknown_truth_and_missing_counts_are_left_blank():
    found = comparison(run("a", 0, 3, success=None, oracles=None))
    assert cells(found)[0] == ("a", "1/1", "", "", "130 ms", "", "30 ms", "")


def test_recovery_shows_the_time_of_all_that_ended_and_what_rounding_would_mend():
    found = recovery_comparison()
    assert list(columns(found)) == [
        *("solver", "certified", "solved", "rounded", "time", "otherwise")
    ]
    assert cells(found) == [
        ("exact", "3/3", "3/3", "3/3", "2 s", ""),
        ("near", "0/3", "0/3", "3/3", "2 s", "3 “converged”, not confirmed"),
    ]
    assert "time: median of the whole run, over the runs that ended" in as_text(found)
    assert "rounding is all that is missing here: near" in as_text(found)
    unknown = recovery_comparison(known=False)
    assert [row[2:4] for row in cells(unknown)] == [("", ""), ("", "")]
    assert "rounding is all that is missing" not in as_text(unknown)


def test_columns_line_up():
    text = as_text(example()).splitlines()
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


def test_a_comparison_shows_its_table():
    found = example()
    assert repr(found) == as_text(found)
    assert found._repr_html_().count("<tr>") == 1 + 2 + 4


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.0, "0 ms"), (9.4e-4, "0.94 ms"), (0.9999, "1 s"), (123.4, "123 s")]
)
def test_times_have_units(seconds, text):
    assert in_seconds(seconds) == text
