import inspect
import math

import autograd.numpy as anp
import numpy as np
import pymanopt
import pytest
from pymanopt.manifolds import (
    Euclidean,
    FixedRankEmbedded,
    Product,
    Stiefel,
)
from pymanopt.manifolds import SymmetricPositiveDefinite as PositiveDefinite
from pymanopt.optimizers.optimizer import Optimizer, OptimizerResult

import riemtr
from riemtr.interop.pymanopt import (
    PymanoptSolver,
    TrustRegions,
    pymanopt_solvers,
    to_pymanopt,
)
from riemtr.problem import Counts, as_problem
from riemtr.solvers import CostBelow, GradientNorm, MaxIterations, MaxProducts
from riemtr.solvers.iteration import HISTORY_COLUMNS

VALUES = np.arange(1.0, 9.0)
SADDLE = np.eye(8)[3]


class Calls:
    """The Rayleigh quotient of diag(1, ..., 8), which counts how often it is asked."""

    def __init__(self):
        self.costs = self.gradients = self.products = 0

    def cost(self, x):
        self.costs += 1
        return x @ (VALUES * x)

    def gradient(self, x):
        self.gradients += 1
        return 2 * VALUES * x

    def hessian(self, x, v):
        self.products += 1
        return 2 * VALUES * v

    def problem(self, manifold, *, hessian=True):
        decorate = pymanopt.function.numpy(manifold)
        given = {"euclidean_gradient": decorate(lambda x: self.gradient(x))}
        if hessian:
            given["euclidean_hessian"] = decorate(lambda x, v: self.hessian(x, v))
        return pymanopt.Problem(manifold, decorate(lambda x: self.cost(x)), **given)


@pytest.fixture
def calls():
    return Calls()


@pytest.fixture(params=[pymanopt.manifolds.Sphere, riemtr.Sphere], ids=["pymanopt", "riemtr"])
def sphere(request):
    return request.param(8)


@pytest.fixture
def start():
    return riemtr.Sphere(8).random_point(rng=0)


@pytest.fixture
def _global_state_untouched():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    yield
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


class TestTrustRegions:
    def test_takes_the_arguments_of_pymanopts(self):
        theirs = inspect.signature(pymanopt.optimizers.TrustRegions.run).parameters
        ours = inspect.signature(TrustRegions.run).parameters
        assert list(ours) == list(theirs)
        assert {n: p.default for n, p in ours.items()} == {n: p.default for n, p in theirs.items()}
        assert {n: p.kind for n, p in ours.items()} == {n: p.kind for n, p in theirs.items()}
        positional = (2, 0.2, 0.5, 0.05, True, 1e2, 7.0, 11, 1e-3, 1e-9, 99, 0, 1)
        our, their = (
            kind(*positional) for kind in (TrustRegions, pymanopt.optimizers.TrustRegions)
        )
        assert {**vars(our), "curvature_tolerance": None} == {
            **vars(their),
            "curvature_tolerance": None,
        }
        assert vars(pymanopt.optimizers.TrustRegions()).items() <= vars(TrustRegions()).items()

    def test_fills_every_field_of_the_result(self, calls, sphere, start):
        found = TrustRegions(verbosity=0).run(calls.problem(sphere), initial_point=start)
        assert isinstance(found, OptimizerResult)
        assert found.cost == pytest.approx(1.0, abs=1e-12)
        assert found.cost == VALUES @ found.point**2
        assert found.gradient_norm <= 1e-6
        assert found.cost_evaluations == calls.costs
        assert 0.0 < found.step_size < 1.0
        assert 0.0 < found.time < 10.0
        assert found.stopping_criterion.startswith(
            f"Terminated - min grad norm reached after {found.iterations} iterations, "
        )
        assert found.riemtr_result.converged
        assert found.certificate.verdict == "minimizer"
        assert found.certificate.strict
        assert found.log["iterations"] is None

    def test_log_is_filled(self, calls, sphere, start):
        optimizer = TrustRegions(verbosity=0, log_verbosity=1, max_iterations=30)
        found = optimizer.run(calls.problem(sphere), initial_point=start, Delta_bar=2.0)
        assert found.log["optimizer"] == "TrustRegions"
        assert found.log["stopping_criteria"]["max_iterations"] == 30
        assert found.log["optimizer_parameters"]["Delta_bar"] == 2.0
        entries = found.log["iterations"]
        assert entries["iteration"] == list(range(found.iterations + 1))
        assert {len(column) for column in entries.values()} == {found.iterations + 1}
        assert entries["cost"][-1] == found.cost
        assert entries["gradient_norm"][-1] == found.gradient_norm
        assert entries["point"][0] == pytest.approx(start)
        for point, cost in zip(entries["point"], entries["cost"], strict=True):
            assert cost == pytest.approx(VALUES @ point**2)
        assert max(entries["radius"]) <= 2.0
        assert entries["time"] == sorted(entries["time"])

    def test_gradient_is_not_computed_again_in_hessian_products(self, calls, sphere, start):
        found = TrustRegions(verbosity=0).run(calls.problem(sphere), initial_point=start)
        counts = found.riemtr_result.counts
        assert (calls.costs, calls.gradients) == (counts.costs, counts.gradients)
        assert calls.products == counts.hessian_products > calls.gradients
        assert calls.gradients <= found.iterations + 1

    def test_nor_is_it_after_pymanopt_has_used_the_problem(self, calls, sphere, start):
        problem = calls.problem(sphere)
        pymanopt.optimizers.TrustRegions(verbosity=0).run(problem, initial_point=start)
        before = calls.gradients
        found = TrustRegions(verbosity=0).run(problem, initial_point=start)
        assert calls.gradients - before == found.riemtr_result.counts.gradients

    def test_autograd_problems_are_traced_once_per_point_whoever_used_them_before(self, sphere):
        evaluations = []

        @pymanopt.function.autograd(sphere)
        def cost(x):
            evaluations.append(x)
            return anp.sum(VALUES * x**2)

        problem = pymanopt.Problem(sphere, cost)
        numbers = []
        for _ in range(2):
            evaluations.clear()
            found = TrustRegions(verbosity=0).run(problem, initial_point=SADDLE)
            assert found.cost == pytest.approx(1.0)
            numbers.append(len(evaluations))
            pymanopt.optimizers.TrustRegions(verbosity=0).run(problem)
        counts = found.riemtr_result.counts
        # Once for value and gradient, once for the trace that serves all Hessian products.
        assert numbers[0] == numbers[1] <= 2 * counts.gradients
        assert counts.hessian_products > counts.gradients

    def test_leaves_a_saddle_where_pymanopt_stays(self, calls, sphere):
        problem = calls.problem(sphere)
        with np.errstate(invalid="ignore"):
            theirs = pymanopt.optimizers.TrustRegions(verbosity=0).run(
                problem, initial_point=SADDLE
            )
        assert "min grad norm" in theirs.stopping_criterion
        assert theirs.cost == 4.0
        ours = TrustRegions(verbosity=0).run(problem, initial_point=SADDLE)
        assert ours.cost == pytest.approx(1.0)
        assert ours.certificate.verdict == "minimizer"
        assert ours.riemtr_result.history["escaped"].any()

    def test_without_a_hessian_takes_differences(self, calls, sphere, start):
        found = TrustRegions(verbosity=0).run(
            calls.problem(sphere, hessian=False), initial_point=start
        )
        assert found.cost == pytest.approx(1.0, abs=1e-10)
        assert calls.gradients == found.riemtr_result.counts.gradients
        assert found.certificate.verdict == "minimizer"
        # Two more for each product of the certificate's, after the run: at most two of them.
        assert calls.gradients <= found.riemtr_result.counts.gradients + 24

    def test_takes_riemannian_derivatives(self, sphere, start):
        decorate = pymanopt.function.numpy(sphere)

        def gradient(x):
            return 2 * (VALUES * x - (VALUES @ x**2) * x)

        def hessian(x, v):
            image = 2 * (VALUES * v - (VALUES @ x**2) * v)
            return image - (x @ image) * x

        # pymanopt cannot use the last one; differences of the gradient serve as well.
        for given in (
            {},
            {"riemannian_hessian": decorate(hessian)},
            {"euclidean_hessian": decorate(lambda x, v: 2 * VALUES * v)},
        ):
            problem = pymanopt.Problem(
                sphere,
                decorate(lambda x: VALUES @ x**2),
                riemannian_gradient=decorate(gradient),
                **given,
            )
            found = TrustRegions(verbosity=0).run(problem, initial_point=start)
            assert found.cost == pytest.approx(1.0, abs=1e-10)
            assert found.certificate.verdict == "minimizer"

    def test_a_numpy_cost_without_gradient_is_told_the_remedy(self, sphere):
        cost = pymanopt.function.numpy(sphere)(lambda x: x[0])
        with pytest.raises(ValueError, match="euclidean_gradient"):
            TrustRegions(verbosity=0).run(pymanopt.Problem(sphere, cost))

    def test_uses_the_problems_preconditioner(self, start):
        sphere = riemtr.Sphere(8)
        used = []

        def precondition(point, vector):
            used.append(point)
            return sphere.projection(point, vector / VALUES)

        cost = pymanopt.function.autograd(sphere)(lambda x: anp.sum(VALUES * x**2))
        problem = pymanopt.Problem(sphere, cost, preconditioner=precondition)
        found = TrustRegions(verbosity=0).run(problem, initial_point=start)
        assert found.cost == pytest.approx(1.0)
        assert used

    def test_random_start_follows_numpys_global_seed(self, calls, sphere):
        found = []
        for seed in (3, 3, 4):
            np.random.seed(seed)  # noqa: NPY002
            optimizer = TrustRegions(verbosity=0, log_verbosity=1)
            found.append(optimizer.run(calls.problem(sphere)).log["iterations"]["point"][0])
        np.random.seed(3)  # noqa: NPY002
        assert found[0] == pytest.approx(sphere.random_point(), rel=1e-14)
        assert np.array_equal(found[0], found[1])
        assert not np.array_equal(found[0], found[2])

    @pytest.mark.parametrize(
        ("limit", "said"),
        [
            ({"max_iterations": 2}, "max iterations reached after"),
            ({"max_time": 0.0}, "max time reached after 0 iterations"),
            ({"max_cost_evaluations": 3}, "max cost evals reached after"),
        ],
    )
    def test_limits(self, calls, sphere, start, limit, said):
        found = TrustRegions(verbosity=0, **limit).run(calls.problem(sphere), initial_point=start)
        assert said in found.stopping_criterion
        assert not found.riemtr_result.converged
        assert calls.costs <= 3

    def test_says_when_it_stalls(self, start):
        sphere = riemtr.Sphere(8)
        matrix = np.random.default_rng(0).standard_normal((8, 8))
        cost = pymanopt.function.autograd(sphere)(lambda x: x @ matrix @ x)
        found = TrustRegions(verbosity=0, min_gradient_norm=1e-30).run(
            pymanopt.Problem(sphere, cost), initial_point=start
        )
        assert "no further progress" in found.stopping_criterion
        assert found.cost == pytest.approx(np.linalg.eigvalsh(matrix + matrix.T)[0] / 2, rel=1e-14)

    def test_radius_and_inner_limits_are_passed_on(self, calls, sphere, start):
        found = TrustRegions(verbosity=0).run(
            calls.problem(sphere), initial_point=start, maxinner=1, Delta_bar=0.2, Delta0=0.1
        )
        history = found.riemtr_result.history
        assert history["radius"][0] == 0.1
        assert history["radius"].max() <= 0.2
        assert found.cost == pytest.approx(1.0, abs=1e-10)
        stricter = TrustRegions(verbosity=0, kappa=1e-3).run(
            calls.problem(sphere), initial_point=start
        )
        assert stricter.iterations < found.iterations

    @pytest.mark.parametrize(
        "options", [{"kappa": 1.5}, {"rho_prime": 0.5}, {"min_gradient_norm": -1.0}]
    )
    def test_bad_options_are_refused(self, calls, sphere, options):
        with pytest.raises(ValueError, match="must"):
            TrustRegions(verbosity=0, **options).run(calls.problem(sphere))

    def test_verbosity(self, calls, sphere, capsys):
        printed = []
        for verbosity in (0, 1, 2):
            found = TrustRegions(verbosity=verbosity).run(
                calls.problem(sphere), initial_point=SADDLE
            )
            printed.append(capsys.readouterr().out.splitlines())
        assert printed[0] == []
        assert printed[1][0] == "Optimizing..."
        assert "min grad norm reached" in printed[1][1]
        header, rule, *lines = printed[2][1:-2]
        assert header.split()[:2] == ["Iteration", "Cost"]
        assert set(rule) <= {"-", " "}
        assert len(lines) == found.iterations + 1
        assert "left a saddle point" in lines[1]

    def test_takes_riemtr_problems(self):
        case = riemtr.problems.build("dictionary-learning", rng=0)
        found = TrustRegions(verbosity=0).run(case.problem, initial_point=case.start)
        assert found.certificate.verdict == "minimizer"


class TestPymanoptSolver:
    @pytest.mark.parametrize("name", sorted(pymanopt_solvers()))
    def test_counts_what_the_optimizer_asks_the_users_functions_for(self, calls, sphere, name):
        start = np.array([0.5] * 4 + [0.0] * 4)  # of norm 1 to the last bit
        solver = pymanopt_solvers(max_iterations=40)[name]
        populous = name in ("pymanopt-nelder-mead", "pymanopt-pso")
        no_counts = Counts().as_dict()
        solved = Calls()
        result = solver.solve(solved.problem(sphere), start, rng=0)
        direct = solver.optimizer.run(
            calls.problem(sphere), **({} if populous else {"initial_point": start})
        )
        assert result.iterations == direct.iterations
        if populous:
            # Gradients for the history are not the run's, nor is the cost of the final point.
            assert result.counts.as_dict() == {**no_counts, "costs": solved.costs - 1}
            return
        assert np.array_equal(result.point, direct.point)
        assert result.counts.as_dict() == {
            **no_counts,
            "costs": calls.costs,
            "gradients": calls.gradients,
            "hessian_products": calls.products,
        }
        if name == "pymanopt-tr":
            # pymanopt computes the gradient again in every Hessian product.
            assert calls.gradients > calls.products > 0

    def test_a_converted_problem_spares_pymanopt_that(self, start):
        problem = riemtr.Problem(riemtr.Sphere(8), lambda x: anp.sum(VALUES * x**2))
        counts = pymanopt_solvers()["pymanopt-tr"].solve(problem, start).counts
        assert counts.gradients <= counts.costs < counts.hessian_products

    @pytest.mark.parametrize("name", sorted(pymanopt_solvers()))
    def test_history(self, calls, start, name):
        problem = calls.problem(riemtr.Sphere(8))
        limit = 100 if name == "pymanopt-nelder-mead" else None
        result = pymanopt_solvers(max_iterations=limit)[name].solve(problem, start, rng=0)
        history = result.history
        assert tuple(history) == HISTORY_COLUMNS
        (length,) = {len(column) for column in history.values()}
        assert length >= 2
        assert history["iteration"].tolist() == list(range(length))
        assert history["cost"][0] == pytest.approx(VALUES @ start**2)
        assert history["cost"][-1] == pytest.approx(result.cost, rel=1e-14)
        assert history["gradient_norm"][-1] == pytest.approx(result.gradient_norm, abs=1e-12)
        assert history["seconds"][-1] <= result.seconds
        for column in ("costs", "gradients", "hessian_products"):
            assert (np.diff(history[column]) >= 0).all()
            assert history[column][-1] == getattr(result.counts, column)
        assert (np.diff(history["seconds"]) >= 0.0).all()

    def test_a_saddle_is_not_convergence(self, calls):
        problem = calls.problem(riemtr.Sphere(8))
        with np.errstate(invalid="ignore"):
            result = pymanopt_solvers()["pymanopt-tr"].solve(problem, SADDLE)
        assert result.status is riemtr.Status.FIRST_ORDER
        assert not result.converged
        assert result.certificate.min_eigenvalue < 0.0
        assert "min grad norm" in str(result.reason)

    def test_a_minimizer_is(self, calls, start):
        result = pymanopt_solvers(tolerance=1e-7)["pymanopt-tr"].solve(
            calls.problem(riemtr.Sphere(8)), start
        )
        assert result.converged
        assert result.certificate.verdict == "minimizer"
        assert result.certificate.tolerance == 1e-7

    @pytest.mark.parametrize(
        ("options", "status"),
        [
            ({"max_iterations": 3}, riemtr.Status.MAX_ITERATIONS),
            ({"max_time": 0.0}, riemtr.Status.MAX_SECONDS),
            ({"min_step_size": 10.0}, riemtr.Status.STALLED),
        ],
    )
    def test_status_follows_the_stopping_criterion(self, calls, start, options, status):
        solver = PymanoptSolver(pymanopt.optimizers.SteepestDescent(**options))
        result = solver.solve(calls.problem(riemtr.Sphere(8)), start)
        assert result.status is status
        assert not result.converged

    @pytest.mark.parametrize("name", sorted(pymanopt_solvers()))
    @pytest.mark.usefixtures("_global_state_untouched")
    def test_same_seed_same_result(self, name):
        case = riemtr.problems.build("rayleigh", rng=0, n=4)
        solver = pymanopt_solvers(max_iterations=20)[name]
        first, second, other = (solver.solve(case.problem, rng=seed) for seed in (1, 1, 2))
        assert np.array_equal(first.point, second.point)
        assert not np.array_equal(first.point, other.point)

    def test_is_silent_and_leaves_the_optimizer_as_it_was(self, calls, start, capsys):
        optimizer = pymanopt.optimizers.NelderMead(verbosity=2, max_iterations=5)
        before = dict(vars(optimizer))
        PymanoptSolver(optimizer).solve(calls.problem(riemtr.Sphere(8)), start, rng=0)
        assert capsys.readouterr().out == ""
        assert vars(optimizer) == before

    @pytest.mark.parametrize("name", sorted(pymanopt_solvers()))
    @pytest.mark.parametrize("stop", [MaxIterations(2), CostBelow(1.3)], ids=repr)
    def test_stop_is_honoured(self, calls, start, name, stop):
        result = pymanopt_solvers()[name].solve(
            calls.problem(riemtr.Sphere(8)), start, rng=0, stop=stop
        )
        assert result.status in (riemtr.Status.MAX_ITERATIONS, riemtr.Status.STOPPED)
        if isinstance(stop, MaxIterations):
            assert result.iterations == 2
        else:
            assert result.cost <= 1.3
            assert (result.history["cost"][:-1] > 1.3).all()

    def test_stop_on_gradient_and_products(self, calls, start):
        solver = pymanopt_solvers()["pymanopt-tr"]
        problem = calls.problem(riemtr.Sphere(8))
        early = solver.solve(problem, start, stop=GradientNorm(1e-2))
        assert early.gradient_norm <= 1e-2
        assert early.status is riemtr.Status.FIRST_ORDER
        assert solver.solve(problem, start, stop=MaxProducts(5)).counts.hessian_products >= 5

    def test_observers_see_every_row_and_can_stop(self, calls, start):
        solver, seen = pymanopt_solvers()["pymanopt-cg"], []
        problem = calls.problem(riemtr.Sphere(8))
        result = solver.solve(problem, start, observers=[seen.append])
        assert [it.number for it in seen] == result.history["iteration"].tolist()
        assert [it.cost for it in seen] == result.history["cost"].tolist()
        result = solver.solve(problem, start, observers=[lambda it: it.number == 4])
        assert result.status is riemtr.Status.STOPPED
        assert result.iterations == 4
        assert np.array_equal(result.point, seen[4].point)

    def test_interruption_keeps_the_last_iterate(self, calls, start):
        def interrupt(iteration):
            if iteration.number == 3:
                raise KeyboardInterrupt

        result = pymanopt_solvers()["pymanopt-sd"].solve(
            calls.problem(riemtr.Sphere(8)), start, observers=[interrupt]
        )
        assert result.status is riemtr.Status.INTERRUPTED
        assert result.cost < VALUES @ start**2

    def test_an_optimizer_without_iterates_cannot_be_observed(self, calls, start):
        class Blind(Optimizer):
            def run(self, problem, *, initial_point=None):
                return self._return_result(
                    start_time=0.0,
                    point=-initial_point,
                    cost=problem.cost(initial_point),
                    iterations=1,
                    stopping_criterion="had enough",
                )

        problem = calls.problem(riemtr.Sphere(8))
        result = PymanoptSolver(Blind()).solve(problem, start)
        assert result.history["costs"].tolist() == [0, 1]
        assert result.status is riemtr.Status.STOPPED
        assert "had enough" in str(result.reason)
        with pytest.raises(ValueError, match="Blind shows no iterates"):
            PymanoptSolver(Blind()).solve(problem, start, stop=MaxIterations(3))

    def test_a_missing_hessian_is_told_the_remedy(self, calls, start):
        problem = calls.problem(riemtr.Sphere(8), hessian=False)
        solver = pymanopt_solvers()["pymanopt-tr"]
        with pytest.raises(ValueError, match="to_pymanopt"):
            solver.solve(problem, start)
        assert solver.solve(to_pymanopt(problem), start).converged

    def test_bad_arguments_are_refused(self, calls):
        with pytest.raises(ValueError, match="optimizer must be"):
            PymanoptSolver(TrustRegions)
        with pytest.raises(ValueError, match="curvature_tolerance"):
            PymanoptSolver(TrustRegions(), curvature_tolerance=-1.0)
        with pytest.raises(ValueError, match="norm 1"):
            pymanopt_solvers()["pymanopt-sd"].solve(calls.problem(riemtr.Sphere(8)), 2.0 * SADDLE)

    def test_its_repr_shows_all_settings_and_no_addresses(self):
        optimizers = pymanopt.optimizers
        solver = PymanoptSolver(optimizers.ConjugateGradient(beta_rule="PolakRibiere"), 1e-3)
        for said in (
            "beta_rule='PolakRibiere'",
            "min_step_size=1e-10",
            "curvature_tolerance=0.001",
        ):
            assert said in repr(solver)
        search = optimizers.line_search.BackTrackingLineSearcher(max_iterations=7)
        searching = repr(PymanoptSolver(optimizers.SteepestDescent(line_searcher=search)))
        assert "line_searcher=BackTrackingLineSearcher(" in searching
        assert "max_iterations=7" in searching
        assert " at 0x" not in repr(solver) + searching

    def test_riemtrs_own_pymanopt_optimizer_is_one_too(self, calls):
        solver = PymanoptSolver(TrustRegions())
        result = solver.solve(calls.problem(riemtr.Sphere(8)), SADDLE)
        assert result.converged
        assert result.cost == pytest.approx(1.0)

    @pytest.mark.parametrize("name", ["pymanopt-tr", "pymanopt-cg"])
    @pytest.mark.parametrize("problem", sorted(riemtr.problems.available()))
    def test_registered_problems(self, problem, name):
        case = riemtr.problems.build(problem, rng=0)
        result = pymanopt_solvers()[name].solve(case.problem, case.start, rng=0)
        assert result.gradient_norm <= 1e-5
        if case.truth is not None and case.truth.cost is not None:
            assert result.cost == pytest.approx(case.truth.cost, rel=1e-6, abs=1e-8)


class TestPymanoptsOptimizersOnOurSphere:
    @pytest.mark.parametrize(
        ("kind", "accuracy"),
        [
            ("SteepestDescent", 1e-9),
            ("ConjugateGradient", 1e-9),
            ("TrustRegions", 1e-12),
            ("NelderMead", 1e-3),
            ("ParticleSwarm", 1e-4),
        ],
    )
    def test_find_the_smallest_eigenvalue(self, calls, kind, accuracy):
        np.random.seed(0)  # noqa: NPY002
        limits = {"max_iterations": 200} if kind == "NelderMead" else {}
        optimizer = getattr(pymanopt.optimizers, kind)(verbosity=0, **limits)
        found = optimizer.run(calls.problem(riemtr.Sphere(8)))
        assert found.cost == pytest.approx(1.0, abs=accuracy)


WEIGHTS = np.diag([1.0, 2.0, 4.0])


def scatter(x):
    """Smallest at 2 WEIGHTS, where it is 3 + log det."""
    return anp.linalg.slogdet(x)[1] + 2.0 * anp.trace(anp.linalg.solve(x, WEIGHTS))


# Manifolds of riemtr, a cost on each, and its minimum.
NATIVE = {
    "oblique": (riemtr.Oblique(3, 2), lambda x: anp.sum(x * (WEIGHTS @ x)), 2.0),
    "stiefel": (riemtr.Stiefel(3, 2), lambda x: anp.sum(x * (WEIGHTS @ x) * [2.0, 1.0]), 4.0),
    "frames": (riemtr.Stiefel(3, 2, k=2), lambda x: anp.sum(x * (WEIGHTS @ x)), 6.0),
    "grassmann": (riemtr.Grassmann(3, 2), lambda x: anp.sum(x * (WEIGHTS @ x)), 3.0),
    "rotations": (riemtr.Rotations(3), lambda x: -anp.sum(x * WEIGHTS), -7.0),
    "positive": (riemtr.PositiveDefinite(3), scatter, 3.0 + math.log(64.0)),
    "fixed rank": (
        riemtr.FixedRank(3, 3, 2),
        lambda u, s, vt: anp.sum(((u * s) @ vt - WEIGHTS) ** 2),
        1.0,
    ),
    "product": (
        riemtr.Product({"q": riemtr.Sphere(3), "x": riemtr.PositiveDefinite(3)}),
        lambda q, x: q @ WEIGHTS @ q + scatter(x),
        4.0 + math.log(64.0),
    ),
}


@pytest.mark.parametrize("kind", ["TrustRegions", "ConjugateGradient"])
@pytest.mark.parametrize("name", NATIVE)
class TestOurManifoldsInPymanopt:
    def optimum(self, problem, kind):
        start = problem.manifold.random_point(0)
        optimizer = getattr(pymanopt.optimizers, kind)(verbosity=0, max_time=20)
        return optimizer.run(problem, initial_point=start).cost

    def test_on_converted_problems(self, name, kind):
        manifold, cost, minimum = NATIVE[name]
        problem = to_pymanopt(riemtr.Problem(manifold, cost))
        assert self.optimum(problem, kind) == pytest.approx(minimum, abs=1e-8)

    def test_on_pymanopts_own_problems(self, name, kind):
        manifold, cost, minimum = NATIVE[name]
        if kind == "TrustRegions" and not manifold.converts_hessians:
            pytest.skip("pymanopt takes no differences of gradients")
        problem = pymanopt.Problem(manifold, pymanopt.function.autograd(manifold)(cost))
        assert self.optimum(problem, kind) == pytest.approx(minimum, abs=1e-8)


class TestToPymanopt:
    def optimum(self, problem, **options):
        np.random.seed(0)  # noqa: NPY002
        return [
            getattr(pymanopt.optimizers, kind)(verbosity=0, **options).run(problem).cost
            for kind in ("TrustRegions", "ConjugateGradient", "SteepestDescent")
        ]

    def test_products(self):
        matrix = np.diag([3.0, 2.0, 1.0])
        manifold = Product([riemtr.Sphere(3), Euclidean(2), Stiefel(3, 1)])

        def cost(x, y, z):
            return x @ matrix @ z[:, 0] + anp.sum((y - 1.0) ** 2)

        problem = to_pymanopt(riemtr.Problem(manifold, cost))
        assert self.optimum(problem) == pytest.approx([-3.0] * 3, abs=1e-8)

    def test_points_of_several_arrays(self):
        matrix = np.outer(np.arange(1.0, 5.0), np.ones(3))

        def cost(u, s, vt):
            return anp.sum(((u * s) @ vt - matrix) ** 2)

        problem = to_pymanopt(riemtr.Problem(FixedRankEmbedded(4, 3, 1), cost))
        assert self.optimum(problem) == pytest.approx([0.0] * 3, abs=1e-8)

    @pytest.mark.parametrize("manifold", [PositiveDefinite(3), riemtr.PositiveDefinite(3)])
    def test_vectors_are_of_the_manifolds_own_form(self, manifold):
        problem = to_pymanopt(riemtr.Problem(manifold, scatter))
        theirs = pymanopt.Problem(manifold, pymanopt.function.autograd(manifold)(scatter))
        point = np.diag([1.0, 2.0, 3.0]) + 0.5
        vector = np.ones((3, 3))
        for ask in ("riemannian_gradient", "riemannian_hessian"):
            vectors = [vector] if ask == "riemannian_hessian" else []
            expected = getattr(theirs, ask)(point, *vectors)
            np.testing.assert_allclose(getattr(problem, ask)(point, *vectors), expected, rtol=1e-9)

    def test_comes_back(self, start):
        problem = riemtr.Problem(riemtr.Sphere(8), lambda x: anp.sum(VALUES * x**2))
        back = as_problem(to_pymanopt(problem))
        direct = riemtr.PracticalTRM().solve(problem, start)
        result = riemtr.PracticalTRM().solve(back, start)
        assert result.cost == pytest.approx(1.0)
        assert result.counts == direct.counts

    def test_keeps_the_preconditioner(self):
        def halve(point, vector):
            return 0.5 * vector

        problem = riemtr.Problem(riemtr.Sphere(8), lambda x: x[0], preconditioner=halve)
        assert to_pymanopt(problem).preconditioner is halve
        assert as_problem(to_pymanopt(problem)).preconditioner is halve

    def test_computes_each_quantity_once_but_never_answers_for_an_old_point(self, calls):
        manifold = riemtr.Sphere(8)
        problem = to_pymanopt(calls.problem(manifold))
        point, other = np.eye(8)[0], np.eye(8)[1]
        for _ in range(3):
            assert problem.cost(point) == 1.0
            assert problem.riemannian_gradient(point) == pytest.approx(np.zeros(8))
            problem.riemannian_hessian(point, other)
            problem.cost(other)
        assert (calls.costs, calls.gradients, calls.products) == (2, 1, 3)
        point[:] = np.eye(8)[4]
        assert problem.cost(point) == 5.0
        assert problem.cost(np.eye(8)[0]) == 1.0
        assert math.isclose(problem.riemannian_hessian(point, other) @ other, -6.0)

    def test_other_things_are_refused(self):
        with pytest.raises(TypeError, match=r"riemtr\.Problem"):
            to_pymanopt(lambda x: x)


def test_functions_that_reuse_or_change_arrays_are_kept_from_each_other():
    euclidean = pymanopt.manifolds.Euclidean(3)
    decorate = pymanopt.function.numpy(euclidean)
    diagonal, buffer = np.array([1.0, -1.0, 2.0]), np.zeros(3)

    def cost(x):
        x *= 1.0
        return float(0.5 * x @ (diagonal * x) + 0.25 * np.sum(x**4))

    def gradient(x):
        buffer[:] = diagonal * x + x**3
        x[:] = np.nan
        return buffer

    problem = pymanopt.Problem(euclidean, decorate(cost), euclidean_gradient=decorate(gradient))
    for start in (np.zeros(3), np.array([0.5, 0.0, 0.5]), np.full(3, 0.5)):
        result = riemtr.PracticalTRM().solve(problem, start)
        assert result.certified
        np.testing.assert_allclose(np.abs(result.point), [0.0, 1.0, 0.0], atol=1e-5)
