import pytest

from riemtr.compare.records import Comparison, end, load
from tests.compare.made_up import comparison, example, run


@pytest.mark.parametrize(
    ("outcome", "claimed", "verdict", "expected"),
    [
        ("ended", True, "minimizer", "certified"),
        ("ended", False, "minimizer", "certified"),
        ("timed out", True, "minimizer", "timed out"),
        ("timed out", True, "saddle", "timed out"),
        ("ended", True, "saddle", "deceived"),
        ("ended", True, "maximizer", "deceived"),
        ("ended", False, "saddle", "stuck"),
        ("ended", True, "unresolved", "unconfirmed"),
        ("ended", True, "not-critical", "unconfirmed"),
        ("ended", False, "not-critical", "unfinished"),
        ("timed out", False, "not-critical", "timed out"),
        ("timed out", False, None, "timed out"),
        ("failed", False, None, "failed"),
    ],
)
def test_every_run_ends_in_one_of_the_ways(outcome, claimed, verdict, expected):
    one = run("a", 0, 3, outcome=outcome, claimed=claimed, verdict=verdict)
    assert one.ending == expected
    assert one.certified == (expected == "certified")
    assert one.deceived == (expected == "deceived")


@pytest.mark.parametrize("claimed", [True, False])
def test_a_narrow_miss_is_neither_success_nor_failure(claimed):
    near = run("a", 0, 3, verdict="not-critical", claimed=claimed, narrow=True)
    assert (near.ending, near.certified) == ("narrow", False)
    assert run("a", 0, 3, outcome="timed out", narrow=True).ending == "timed out"


def test_the_end_is_that_of_the_run_or_of_a_tolerance():
    one = run("a", 0, 3)
    assert (end(one, None).seconds, end(one, None).oracles) == (one.seconds, one.oracles)
    assert end(one, 1e-6) is one.reached[0]
    assert end(one, 1e-9) is None


def test_problems_that_nothing_ran_on_are_listed_and_solvers_are_not():
    found = comparison(run("a", 0, 3), problems={"hard": {}}, solvers={"a": "", "b": ""})
    assert found.problems == ["hard", "easy"]
    assert found.solvers == ["a"]


def test_saved_and_loaded_it_is_the_same(tmp_path):
    assert load(example().save(tmp_path / "found.json")) == example()
    assert load(Comparison({}, {}, ()).save(tmp_path / "none.json")) == Comparison({}, {}, ())


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "Expecting value"),
        (b"\xff\xfe\x00", "codec can't decode"),
        (b"[]", "a comparison must be an object with names"),
        (b'{"format": "of another kind"}', "does not say that its format is 'riemtr comparison 1'"),
        (b'{"format": "riemtr comparison 1"}', "it has no 'settings'"),
        (b'{"format": "riemtr comparison 1", "settings": {}, "runs": 3}', "runs must be a list"),
        (
            b'{"format": "riemtr comparison 1", "settings": {}, "runs": [{"reached": [], "x": 1}]}',
            "an entry 'x', which it must not have",
        ),
    ],
)
def test_other_files_are_refused(content, why, tmp_path):
    path = tmp_path / "other.json"
    path.write_bytes(content)
    said = rf"other\.json must be a comparison that riemtr saved, whole; got: .*{why}"
    with pytest.raises(ValueError, match=said):
        load(path)
