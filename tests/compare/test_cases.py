import numpy as np
import pymanopt
import pytest

import riemtr
from riemtr.cli.options import parse_parameters
from riemtr.compare.cases import as_cases, spelling, typed
from riemtr.problems import registry


def own_problem():
    return riemtr.Problem(riemtr.Sphere(3), lambda x: x[0])


def test_names_pairs_cases_and_problems():
    case = riemtr.problems.build("brockett", rng=0, n=5)
    theirs = pymanopt.Problem(
        pymanopt.manifolds.Sphere(2),
        pymanopt.function.autograd(pymanopt.manifolds.Sphere(2))(lambda x: x[0]),
    )
    found = as_cases(["rayleigh", ("rayleigh", {"n": 4}), case, own_problem(), theirs], seed=0)
    assert list(found) == [
        "rayleigh",
        "rayleigh:n=4",
        "brockett:n=5",
        "Sphere(3)",
        "Sphere manifold of 2-vectors",
    ]
    assert found["rayleigh:n=4"].problem.manifold.n == 4
    assert found["brockett:n=5"] is case
    assert isinstance(found["Sphere manifold of 2-vectors"].problem, riemtr.Problem)


def test_the_seed_draws_the_data():
    a, b, c = (as_cases("rayleigh", seed)["rayleigh"].truth.cost for seed in (0, 0, 1))
    assert a == b != c


def test_a_single_one_and_labels_of_ones_own():
    assert list(as_cases(("rayleigh", {"n": 4}), seed=0)) == ["rayleigh:n=4"]
    assert list(as_cases(own_problem(), seed=0)) == ["Sphere(3)"]
    assert list(as_cases({"mine": own_problem()}, seed=0)) == ["mine"]


def test_only_what_is_built_from_a_name_has_a_spelling():
    assert spelling("rayleigh") == "rayleigh"
    assert spelling(("rayleigh", {"n": 4})) == "rayleigh:n=4"
    assert spelling(riemtr.problems.build("rayleigh", rng=3)) is None  # of whatever seed
    assert spelling(own_problem()) is None


@pytest.mark.parametrize(
    "value",
    [0.1 + 0.2, 1e-300, 5, True, None, "camera", "two words", np.float64(1 / 3), np.int64(3)],
)
def test_what_is_typed_is_read_back(value):
    name, setting = typed("name", {"key": value}).split(":")
    found = parse_parameters([setting])["key"]
    assert (name, found) == ("name", value)
    assert type(found) is type(value) or isinstance(value, np.generic)


@pytest.mark.parametrize("value", ["5", "None", "nan", "a,b", "a:b", " a", "", np.eye(2), [1]])
def test_what_would_be_read_otherwise_is_not_typed(value):
    assert typed("name", {"key": value}) is None


def test_arrays_can_be_parameters():
    @riemtr.problems.register("of-a-matrix")
    def build(rng, A=None):
        problem = riemtr.Problem(riemtr.Sphere(2), lambda x: x @ A @ x)
        return riemtr.problems.Case(problem, start=None)

    try:
        given = ("of-a-matrix", {"A": np.eye(2)})
        (case,) = as_cases(given, seed=0).values()
        assert list(as_cases(given, seed=0)) == list(as_cases(case, seed=0))
        assert list(as_cases(given, seed=0)) == ["of-a-matrix:A=array(2, 2)"]
        assert spelling(given) is None
    finally:
        registry._BUILDERS.pop("of-a-matrix")


@pytest.mark.parametrize(
    ("problems", "error", "message"),
    [
        ([], ValueError, "at least one"),
        (["rayleigh", "rayleigh"], ValueError, "'rayleigh' comes twice"),
        ("raleigh", ValueError, "must be one of .*did you mean 'rayleigh'"),
        (("rayleigh", {"m": 3}), ValueError, "has no parameter 'm'"),
        (("rayleigh", {"n": -1}), ValueError, "cannot build the problem 'rayleigh:n=-1': "),
        (3, ValueError, "problems must be names in .*; got int"),
        ({"mine": 3}, ValueError, "problems must be names in .*; got int"),
    ],
)
def test_what_is_no_problem_is_refused(problems, error, message):
    with pytest.raises(error, match=message):
        as_cases(problems, seed=0)


def test_a_builder_that_raises_says_where(tmp_path, monkeypatch):
    path = tmp_path / "builders_that_raise.py"
    path.write_text("def build(rng, n=5):\n    return {}['n']\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ValueError, match="cannot build the problem") as error:
        as_cases(("builders_that_raise:build", {"n": 3}), seed=0)
    said = f"'builders_that_raise:build:n=3': KeyError: 'n' ({path}, line 2)"
    assert str(error.value).endswith(said)
