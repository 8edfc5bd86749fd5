import pytest

from riemtr.compare.records import Comparison, end, load
from tests.compare.made_up import comparison, example, run


@pytest.mark.parametrize(
    ("changes", "certified", "deceived", "stuck"),
    [
        ({"verdict": "minimizer", "claimed": True}, True, False, False),
        ({"verdict": "minimizer", "claimed": False}, True, False, False),
        ({"verdict": "saddle", "claimed": True}, False, True, False),
        ({"verdict": "maximizer", "claimed": False}, False, False, True),
        ({"verdict": "unresolved", "claimed": True}, False, False, False),
        ({"verdict": "minimizer", "claimed": True, "outcome": "timed out"}, False, False, False),
        ({"verdict": "saddle", "claimed": True, "outcome": "timed out"}, False, False, False),
    ],
)
def test_what_an_ending_counts_as(changes, certified, deceived, stuck):
    one = run("a", 0, 3, **changes)
    assert (one.certified, one.deceived, one.stuck) == (certified, deceived, stuck)


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
        (b"", "it is empty, torn or no JSON"),
        (b"\xff\xfe\x00", "it is empty, torn or no JSON"),
        (b"[]", "it does not say that its format is 'riemtr comparison 1'"),
        (b'{"format": "of another kind"}', "it does not say that its format is"),
        (b'{"format": "riemtr comparison 1"}', "it has no 'runs'"),
        (b'{"format": "riemtr comparison 1", "runs": 3}', "its records have another form"),
        (b'{"format": "riemtr comparison 1", "runs": [{"reached": [], "x": 1}]}', "another form"),
    ],
)
def test_other_files_are_refused(content, why, tmp_path):
    path = tmp_path / "other.json"
    path.write_bytes(content)
    said = rf"path must be a comparison that riemtr saved.*other\.json' is not: .*{why}.*; save it"
    with pytest.raises(ValueError, match=said):
        load(path)
