import pymanopt
import pytest

import riemtr
from riemtr.compare.cases import as_cases, spelling


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
        "Sphere of unit 3-vectors",
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
    assert list(as_cases(own_problem(), seed=0)) == ["Sphere of unit 3-vectors"]
    assert list(as_cases({"mine": own_problem()}, seed=0)) == ["mine"]


def test_only_registered_cases_have_a_spelling():
    assert spelling(riemtr.problems.build("rayleigh", rng=0)) == "rayleigh"
    assert spelling(as_cases(own_problem(), seed=0)["Sphere of unit 3-vectors"]) is None


@pytest.mark.parametrize(
    ("problems", "error", "message"),
    [
        ([], ValueError, "at least one"),
        (["rayleigh", "rayleigh"], ValueError, "'rayleigh' comes twice"),
        ("raleigh", ValueError, "name must be one of"),
        (("rayleigh", {"m": 3}), ValueError, "has no parameter 'm'"),
    ],
)
def test_what_is_no_problem_is_refused(problems, error, message):
    with pytest.raises(error, match=message):
        as_cases(problems, seed=0)
