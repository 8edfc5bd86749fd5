import pymanopt
import pytest

import riemtr
from riemtr.compare import Entrant, ScipyLBFGSB, entrant, solver_names
from riemtr.compare.entrants import DEFAULT, Demands, as_entrants, check_entrants
from riemtr.interop.pymanopt import PymanoptSolver
from tests.compare import solvers_of_mine

DEMANDS = Demands(tolerance=1e-5, curvature_tolerance=1e-4, max_seconds=7.0)
MINE = "tests.compare.solvers_of_mine"


def made(name, problem=None, **options):
    if problem is None:
        problem = riemtr.problems.build("rayleigh", rng=0, n=4).problem
    return entrant(name, **options).make(problem, DEMANDS)


@pytest.mark.parametrize("name", solver_names())
def test_every_name_is_a_solver_with_the_demands(name):
    solver = made(name)
    if isinstance(solver, PymanoptSolver):
        assert solver.optimizer._min_gradient_norm == 1e-5
        assert solver.optimizer._max_time == 7.0
    else:
        assert (solver.tolerance, solver.max_seconds) == (1e-5, 7.0)
    assert solver.curvature_tolerance == 1e-4
    problem = riemtr.problems.build("dictionary-learning", rng=0, n=4, p=200).problem
    result = solver.solve(problem, rng=0)
    assert result.counts.costs > 0


def test_only_time_limits_the_gradient_methods():
    assert made("pymanopt-sd").optimizer._max_cost_evaluations == 10**6
    assert made("pymanopt-sd").optimizer._max_iterations == 10**6
    assert made("practical").max_iterations == 10**6
    assert made("pymanopt-pso").optimizer._max_cost_evaluations is None  # its own budget


def test_the_default_ones_are_known():
    assert set(DEFAULT) <= set(solver_names())


def test_options_reach_the_solver_and_show_in_the_name():
    chosen = entrant("exact", radius=0.05, max_iterations=9)
    assert chosen.name == "exact:radius=0.05:max_iterations=9" == chosen.spelling
    solver = made("exact", radius=0.05, max_iterations=9)
    assert (solver.radius.radius, solver.max_iterations) == (0.05, 9)
    assert made("pymanopt-cg", max_iterations=3).optimizer._max_iterations == 3
    assert made("l-bfgs-b", memory=4) == ScipyLBFGSB(1e-5, 1e-4, 4, 10**6, 7.0)


def test_the_fixed_radius_follows_the_smoothing_of_the_log_cosh_cost():
    case = riemtr.problems.build("dictionary-learning", rng=0, n=5, p=400, mu=0.01)
    cost = case.problem.cost
    assert made("exact", case.problem).radius.radius == pytest.approx(0.005 / cost.scale)
    assert made("exact", case.problem, radius=0.2).radius.radius == 0.2
    assert made("exact").radius == riemtr.ExactTRM().radius


@pytest.mark.parametrize("attribute", ["trust_region", "made"])
def test_factories_and_objects_by_import_path(attribute):
    solver = made(f"{MINE}:{attribute}")
    assert isinstance(solver, riemtr.TrustRegion)
    assert solver.tolerance == (1e-5 if attribute == "trust_region" else 1e-9)


def test_a_class_by_import_path_gets_the_tolerance_it_asks_for():
    solver = made(f"{MINE}:GradientDescent", step=0.2)
    assert (solver.tolerance, solver.step) == (1e-5, 0.2)


def test_pymanopts_optimizers_by_import_path():
    solver = made("pymanopt.optimizers:ConjugateGradient")
    assert isinstance(solver, PymanoptSolver)
    assert solver.optimizer._min_gradient_norm == 1e-5


def test_objects_and_dicts():
    optimizer = pymanopt.optimizers.SteepestDescent(verbosity=0)
    found = as_entrants([riemtr.PracticalTRM(), "l-bfgs-b", optimizer])
    assert [one.name for one in found] == ["PracticalTRM", "l-bfgs-b", "SteepestDescent"]
    assert [one.spelling for one in found] == [None, "l-bfgs-b", None]
    assert isinstance(found[2].make(None, DEMANDS), PymanoptSolver)
    named = as_entrants({"mine": solvers_of_mine.GradientDescent, "theirs": "pymanopt-tr"})
    assert [one.name for one in named] == ["mine", "theirs"]
    assert named[0].make(None, DEMANDS).tolerance == 1e-5
    assert [one.name for one in as_entrants("practical")] == ["practical"]
    same = Entrant("x", lambda problem, demands: None)
    assert as_entrants([same]) == [same]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((("practial",), {}), "did you mean 'practical'"),
        ((("practial",), {}), "your own is 'package.module:attribute'"),
        ((("practical",), {"radius": 1}), "has no option 'radius'; it takes tolerance"),
        ((("no_such_module:Solver",), {}), "cannot import the solver"),
        (((f"{MINE}:Nothing",), {}), "must be 'package.module:attribute'"),
        (((f"{MINE}:number",), {}), "must have a method solve"),
        (((f"{MINE}:made",), {"tolerance": 1}), "takes no options"),
        (((f"{MINE}:GradientDescent",), {"stepp": 1}), "it takes tolerance, step"),
    ],
)
def test_what_is_not_a_solver_is_refused_by_name(arguments, message):
    positional, options = arguments
    with pytest.raises(ValueError, match=message):
        entrant(*positional, **options)


def test_a_factory_must_return_a_solver():
    with pytest.raises(ValueError, match="it returned int"):
        as_entrants({"mine": lambda: 3})[0].make(None, DEMANDS)


@pytest.mark.parametrize("content", ["def f(:", "raise RuntimeError('at import')", "exit(3)"])
def test_a_module_that_cannot_be_imported_is_named(content, tmp_path, monkeypatch):
    (tmp_path / "broken_module.py").write_text(content)
    monkeypatch.syspath_prepend(str(tmp_path))
    errors = "SyntaxError: |RuntimeError: at import|SystemExit: 3"
    with pytest.raises(ValueError, match=f"cannot import the solver 'broken_module:f': ({errors})"):
        entrant("broken_module:f")


def test_options_without_a_spelling_have_none():
    assert entrant("exact", radius=1 / 3).spelling == f"exact:radius={1 / 3!r}"
    assert entrant(f"{MINE}:GradientDescent", step=[0.1]).spelling is None


def test_objects_are_named_after_their_presets_and_numbered_where_these_are_the_same():
    class Mine(riemtr.TrustRegion):
        pass

    solvers = [
        *(riemtr.PracticalTRM(tolerance=1e-3), riemtr.ExactTRM(0.7), riemtr.PracticalTRM()),
        *(riemtr.TrustRegion(), Mine(), *[solvers_of_mine.GradientDescent()] * 2, "exact"),
    ]
    assert [one.name for one in as_entrants(solvers)] == [
        *("PracticalTRM-1", "ExactTRM", "PracticalTRM-2", "TrustRegion", "Mine"),
        *("GradientDescent-1", "GradientDescent-2", "exact"),
    ]


def test_names_must_differ():
    with pytest.raises(ValueError, match="'l-bfgs-b' comes twice: give it once"):
        as_entrants(["l-bfgs-b", "l-bfgs-b"])
    with pytest.raises(ValueError, match="at least one"):
        as_entrants([])


def test_what_refuses_to_be_made_says_where():
    def unlicensed():
        raise ValueError("no licence")

    problem = riemtr.problems.build("rayleigh", rng=0, n=4).problem
    with pytest.raises(ValueError, match="solver 'mine' cannot be made: no licence") as error:
        check_entrants(as_entrants({"mine": unlicensed}), problem, DEMANDS)
    line = unlicensed.__code__.co_firstlineno + 1
    assert str(error.value).endswith(f"({__file__}, line {line})")


def test_all_are_those_that_use_gradients():
    names = [one.name for one in as_entrants("all")]
    assert set(solver_names()) - set(names) == {"pymanopt-nelder-mead", "pymanopt-pso"}
    assert [one.name for one in as_entrants(["all", riemtr.PracticalTRM()])][:-1] == names
