import pytest

from riemtr.compare.table import as_html, as_text, cells, in_seconds, lines
from tests.compare.made_up import comparison, example, run


def test_lines_by_hand():
    fast, slow, fast_saddle, slow_saddle = lines(example())
    assert cells(fast) == ("fast", "2/2", "", "2/2", "100 ms", "10", "")
    assert cells(slow) == ("slow", "2/2", "", "2/2", "300 ms", "30", "")
    # At the saddle point it needed nothing, which is no time to a solution.
    assert cells(fast_saddle) == ("fast", "0/1", "1", "0/1", "", "", "")
    assert cells(slow_saddle) == ("slow", "1/1", "", "1/1", "300 ms", "30", "")


def test_every_other_outcome_has_a_word():
    found = comparison(
        run("a", 0, outcome="timed out"),
        run("a", 1, outcome="failed", verdict=None, status="ValueError: no"),
        run("a", 2),
        run("a", 3, verdict="saddle", claimed=False),
        run("a", 4, verdict="unresolved", claimed=True, success=None),
        run("a", 5, 7, outcome="timed out"),  # late, and certified all the same
    )
    (line,) = lines(found)
    assert (line.certified, line.deceived, line.stuck) == (1, 0, 1)
    assert cells(line)[-1] == "1 at a saddle point, 1 timed out, 1 failed, 2 fell short"
    assert "a on easy: ValueError: no" in as_text(found)


def test_what_does_not_apply_is_said():
    found = comparison(
        run("a", 0, 3),
        solvers={"a": "", "b": ""},
        not_applicable=[{"solver": "b", "problem": "easy", "reason": "not <made> for it"}],
    )
    assert cells(lines(found)[1]) == ("b", "", "", "", "", "", "does not apply")
    assert "b on easy: not <made> for it" in as_text(found)
    assert "not &lt;made&gt; for it" in as_html(found)


def test_unknown_truth_and_missing_counts_are_left_blank():
    found = comparison(run("a", 0, 3, success=None, oracles=None), tolerances=[])
    assert cells(lines(found)[0]) == ("a", "1/1", "", "", "1 s", "", "")
    assert "time: median of the whole run" in as_text(found)


def test_columns_line_up():
    text = as_text(example()).splitlines()
    assert text[0].split() == [
        "solver",
        "certified",
        "deceived",
        "solution",
        "time",
        "calls",
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


def test_what_is_missing_is_explained():
    found = comparison(
        run("a", 0, 3), saddles=3, problems={"easy": {"saddles": 0}}, interrupted=True
    )
    assert "easy: no saddle point was found to start from" in as_text(found)
    assert "interrupted: these are the runs that were finished" in as_text(found)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.0, "0 ms"), (9.4e-4, "0.94 ms"), (0.9999, "1 s"), (123.4, "123 s")]
)
def test_times_have_units(seconds, text):
    assert in_seconds(seconds) == text
