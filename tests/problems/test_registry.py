"""Problems by name: riemtr's own, registered ones and those of other packages."""

from __future__ import annotations

import importlib.metadata
import pickle
import subprocess
import sys
import textwrap
from types import SimpleNamespace

import numpy as np
import pytest

import riemtr
from riemtr.problems import Case, Truth, available, build, describe, register, registry

OWN = {
    "brockett",
    "covariance",
    "dictionary-learning",
    "gaussian-mixture",
    "generalised-eigenvalues",
    "geometric-median",
    "hyperbolic-embedding",
    "ica",
    "invariant-subspace",
    "joint-diagonalisation",
    "karcher-mean",
    "low-rank",
    "matrix-completion",
    "max-cut",
    "packing",
    "phase-retrieval",
    "phase-synchronisation",
    "pose-graph",
    "procrustes",
    "rayleigh",
    "robust-pca",
    "rotation-averaging",
    "singular-vectors",
    "sparse-pca",
    "tensor-decomposition",
    "thomson",
}


@pytest.fixture
def builders(monkeypatch):
    """The registry, put back afterwards."""
    monkeypatch.setattr(registry, "_BUILDERS", dict(registry._BUILDERS))
    return registry._BUILDERS


def pole(rng, n=3, sign=1.0):
    """Distance to a pole.

    More about it.
    """
    sphere = riemtr.Sphere(n)
    problem = riemtr.Problem(sphere, lambda x: -sign * x[0])
    return Case(problem, sphere.random_point(rng), Truth(cost=-1.0))


def test_own_problems_are_available_in_order():
    assert set(available()) >= OWN
    assert available() == sorted(available())


def test_registering_makes_it_available(builders):
    assert register("pole")(pole) is pole
    assert "pole" in available()
    case = build("pole", rng=1, n=5)
    assert case.name == "pole"
    assert case.parameters == {"n": 5, "sign": 1.0}
    result = riemtr.PracticalTRM().solve(case.problem, case.start)
    assert result.cost == pytest.approx(case.truth.cost)
    assert describe("pole") == ("Distance to a pole.", {"n": 3, "sign": 1.0})


def test_duplicates_are_refused_and_reloading_is_not(builders):
    register("pole")(pole)
    register("pole")(pole)
    with pytest.raises(ValueError, match="name 'pole' is already registered; choose another"):
        register("pole")(lambda rng: None)
    with pytest.raises(ValueError, match="name 'rayleigh' is already registered"):
        register("rayleigh")(pole)
    assert build("rayleigh", rng=0, n=4).truth.cost is not None


def test_a_taken_name_is_refused_in_a_fresh_interpreter_too():
    # Before anything has asked for the list of problems.
    code = """
        import riemtr
        try:
            riemtr.problems.register("rayleigh")(lambda rng: None)
        except ValueError as error:
            assert "already registered" in str(error), error
        else:
            raise SystemExit("not refused")
        assert "brockett" in riemtr.problems.available()
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)


@pytest.mark.parametrize(
    "builder",
    [
        lambda n: None,
        lambda rng, n: None,
        lambda n, rng: None,
        lambda rng, **options: None,
        lambda rng, *sizes: None,
    ],
)
def test_a_builder_of_the_wrong_form_is_refused(builders, builder):
    with pytest.raises(ValueError, match="the builder of 'odd' must take rng first, if at all"):
        register("odd")(builder)
    assert "odd" not in available()


def test_unknown_names_list_the_valid_ones():
    for function in (build, describe):
        with pytest.raises(ValueError, match=r"name must be one of .*'rayleigh'.*") as caught:
            function("rayliegh")
        assert str(caught.value).endswith("got 'rayliegh': did you mean 'rayleigh'?")


def test_unknown_parameters_list_the_valid_ones():
    with pytest.raises(
        ValueError, match=r"problem 'invariant-subspace' has no parameter 'm'; it takes n=20, k=3"
    ):
        build("invariant-subspace", m=3)


@pytest.mark.parametrize("name", sorted(OWN))
def test_described_in_a_sentence(name):
    summary, parameters = describe(name)
    assert summary.endswith(".")
    assert "\n" not in summary
    assert parameters


def arrays_in(value):
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, dict):
        return [array for part in value.values() for array in arrays_in(part)]
    if isinstance(value, (list, tuple)):
        return [array for part in value for array in arrays_in(part)]
    return []


@pytest.mark.parametrize("name", sorted(OWN))
def test_same_seed_same_case_bit_for_bit(name):
    small = {"n": 6, "p": 300} if name == "dictionary-learning" else {}
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    first, again, generator, other = (
        build(name, rng=rng, **small) for rng in (5, 5, np.random.default_rng(5), 6)
    )
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002
    for twin in (again, generator):
        mine, theirs = (arrays_in([c.start, c.truth.details]) for c in (first, twin))
        assert mine
        for a, b in zip(mine, theirs, strict=True):
            np.testing.assert_array_equal(a, b)
        costs = [case.problem.at(first.start).cost for case in (first, twin)]
        assert costs[0] == costs[1]
    assert not np.array_equal(arrays_in(first.start)[0], arrays_in(other.start)[0])


@pytest.fixture
def third_party(tmp_path, monkeypatch):
    """A distribution of another author, as pip would install it."""
    (tmp_path / "polar_package.py").write_text(
        textwrap.dedent(
            """
            import riemtr
            LOADED = True

            def pole(rng, n=4):
                "The pole of another package."
                sphere = riemtr.Sphere(n)
                problem = riemtr.Problem(sphere, lambda x: -x[0])
                return riemtr.problems.Case(problem, sphere.random_point(rng))

            def bad(rng, n):
                pass
            """
        )
    )
    info = tmp_path / "polar_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: polar-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[riemtr.problems]\n"
        "their-pole = polar_package:pole\n"
        "their-bad = polar_package:bad\n"
        "their-gone = polar_package:gone\n"
        "their-number = polar_package:LOADED\n"
        "rayleigh = polar_package:pole\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    yield "their-pole"
    sys.modules.pop("polar_package", None)


def test_entry_points_of_other_packages(builders, third_party):
    assert third_party in available()
    assert "polar_package" not in sys.modules  # listed without being imported
    assert describe(third_party) == ("The pole of another package.", {"n": 4})
    case = build(third_party, rng=0, n=6)
    assert case.problem.manifold.n == 6
    assert riemtr.PracticalTRM().solve(case.problem, case.start).cost == pytest.approx(-1.0)
    with pytest.raises(ValueError, match=r"has no parameter 'k'; it takes n=4"):
        build(third_party, k=1)


def test_entry_points_do_not_replace_riemtrs_own(builders, third_party):
    assert build("rayleigh", rng=0, n=4).truth is not None


def test_a_bad_entry_point_spoils_only_itself(builders, third_party):
    assert set(available()) >= OWN
    with pytest.raises(ValueError, match="the builder of 'their-bad' must take rng first"):
        build("their-bad")
    with pytest.raises(ValueError, match=r"'their-gone' from 'polar_package:gone': Attr.*; mend"):
        build("their-gone")
    for _ in range(2):
        with pytest.raises(
            ValueError, match=r"'their-number' must be a riemtr.Problem, or a .* bool"
        ):
            build("their-number")
    assert build(third_party, rng=0).problem.manifold.n == 4


def test_entry_points_may_be_those_of_the_backport(builders, monkeypatch):
    # Once importlib_metadata has been imported, Python's own entry_points() returns its objects.
    entry = SimpleNamespace(name="their-pole", value="a:b", load=lambda: pole)
    monkeypatch.setattr(registry, "entry_points", lambda group: [entry])
    assert build("their-pole", rng=0, n=5).problem.manifold.n == 5


def one_by_path(rng, n=3):
    """A problem by its import path."""
    return riemtr.Problem(riemtr.Sphere(n), lambda x: x[0])


def nothing(rng):
    return 3


def test_an_import_path_is_a_name_and_a_problem_alone_is_a_case():
    path = f"{__name__}:one_by_path"
    case = riemtr.problems.build(path, rng=0, n=4)
    assert (case.name, case.parameters, case.truth) == (path, {"n": 4}, None)
    np.testing.assert_array_equal(case.start, riemtr.problems.build(path, rng=0, n=4).start)
    assert riemtr.problems.describe(path) == ("A problem by its import path.", {"n": 3})
    assert path not in riemtr.problems.available()


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("math:pi", "or a function of rng and parameters .* it is of type float"),
        ("math:no_such", "cannot import the problem 'math:no_such'"),
        ("os.path:join", "must take rng first"),
        (f"{__name__}:nothing", "must return a riemtr.problems.Case or a riemtr.Problem; it ret"),
    ],
)
def test_a_path_to_something_else_is_refused(path, message):
    with pytest.raises(ValueError, match=message):
        riemtr.problems.build(path, rng=0)


@pytest.mark.parametrize("rng", [-1, 0.5, "a"])
def test_a_seed_that_is_none_is_refused_by_name(rng):
    with pytest.raises(ValueError, match=r"rng must be a nonnegative integer, .*; got "):
        riemtr.problems.build("rayleigh", rng=rng)


MINE = riemtr.Problem(riemtr.Sphere(4), lambda x: x[0])


def without_rng(n=3):
    """A problem that nothing is drawn for."""
    return riemtr.Problem(riemtr.Sphere(n), lambda x: x[0])


def test_a_problem_itself_and_a_builder_without_rng_serve_too():
    assert build(f"{__name__}:MINE", rng=0).problem is MINE
    assert describe(f"{__name__}:MINE") == ("", {})
    case = build(f"{__name__}:without_rng", rng=0, n=5)
    assert case.start.shape == (5,)
    assert describe(f"{__name__}:without_rng")[1] == {"n": 3}


@pytest.mark.parametrize("name", [*sorted(OWN), f"{__name__}:without_rng"])
def test_cases_pickle(name):
    small = {"n": 6, "p": 300} if name == "dictionary-learning" else {}
    case = build(name, rng=np.random.default_rng(3), **small)
    again = pickle.loads(pickle.dumps(case))
    assert again.problem.at(again.start).cost == case.problem.at(case.start).cost
    assert (again.name, again.parameters) == (case.name, case.parameters)
    if case.truth is not None and case.truth.distance is not None:
        assert again.truth.distance(again.start) == case.truth.distance(case.start)
