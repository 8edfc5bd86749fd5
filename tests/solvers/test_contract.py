"""The contract that every solver passes on every registered problem, whoever registered it.

Problems are taken at small sizes where this file knows any, and as they come elsewhere: one that is
registered tomorrow is covered the day it is there.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import riemtr
from riemtr import solvers
from riemtr.problem.books import Counts
from riemtr.solvers import Status

SOLVERS = {
    "practical": riemtr.PracticalTRM(),
    "exact": riemtr.ExactTRM(radius=0.2),
    "lbfgs": riemtr.LBFGS(goal="second-order"),
    "arc": riemtr.ARC(),
    "tcg, fixed radius": riemtr.TrustRegion(
        subproblem=riemtr.TruncatedCG(), radius=riemtr.FixedRadius(0.2)
    ),
    "near-exact": riemtr.TrustRegion(subproblem=riemtr.NearExactSubproblem()),
    "secant, exponential map": riemtr.TrustRegion(
        subproblem=riemtr.SecantSubproblem(memory=3), move=riemtr.manifolds.exponential
    ),
    "cubic, every step": riemtr.TrustRegion(
        subproblem=riemtr.CubicKrylov(), radius=riemtr.AdaptiveWeight(), warm_up=lambda _: ()
    ),
    "printed": solvers.PaperTRM(),
    "randomized": solvers.RandomizedTRM(),
    "curvilinear": solvers.CurvilinearSearch(),
    "perturbed-gd": solvers.PerturbedGD(),
}
# Solvers that form Hessian matrices, or take many short steps: for small dimensions.
SMALL_ONLY = {"exact", "near-exact", "tcg, fixed radius"}
SMALL = 60
# Seconds for one run. A problem that takes longer at its smallest is no problem of this test.
SECONDS = 10.0
# Parameters that make the problems known here small.
SIZES = {
    "rayleigh": {"n": 12},
    "dictionary-learning": {"n": 6, "p": 500, "mu": 0.1},
    "invariant-subspace": {"n": 8, "k": 2},
    "brockett": {"n": 6, "k": 2},
    "covariance": {"n": 3, "samples": 30},
    "singular-vectors": {"m": 6, "n": 5},
    "low-rank": {"m": 5, "n": 4, "rank": 1},
}
# Parameters that most problems have for their size, tried where a problem is not known here.
USUAL_SIZES = {"n": 8, "k": 2, "m": 6, "p": 200, "samples": 40, "rank": 2}


def registered() -> list[str]:
    """Return the problems of riemtr itself: other tests of the same process register some, too."""
    return [name for name in riemtr.problems.available() if is_own(name)]


def is_own(name: str) -> bool:
    from riemtr.problems.registry import _builder

    return getattr(_builder(name), "__module__", "").startswith("riemtr.")


def built(name: str) -> riemtr.problems.Case:
    """Return a problem at a small size."""
    if name in SIZES:
        return riemtr.problems.build(name, rng=0, **SIZES[name])
    _, parameters = riemtr.problems.describe(name)
    for sizes in (USUAL_SIZES, {}):
        given = {
            key: value
            for key, value in sizes.items()
            if isinstance(parameters.get(key), int) and value < parameters[key]
        }
        try:
            return riemtr.problems.build(name, rng=0, **given)
        except (ValueError, ImportError):
            continue
    pytest.skip("it cannot be built here")


@pytest.fixture(scope="module", params=registered())
def case(request):
    return built(request.param)


def lowest(case) -> float:
    return -math.inf if case.truth is None or case.truth.cost is None else case.truth.cost


@pytest.mark.parametrize("name", SOLVERS)
def test_solvers_and_problems(case, name):
    if name in SMALL_ONLY and case.problem.manifold.dim > SMALL:
        pytest.skip("of too many dimensions")
    solver = SOLVERS[name]
    stop = riemtr.solvers.MaxSeconds(SECONDS)
    result = solver.solve(case.problem, case.start, rng=0, stop=stop)
    start = case.problem.at(case.start)
    history, counts = result.history, result.counts

    # It went down, and ended where it says.
    there = case.problem.at(result.point)
    assert there.cost == pytest.approx(result.cost, rel=1e-9, abs=1e-9)
    assert there.gradient_norm == pytest.approx(result.gradient_norm, rel=1e-3, abs=1e-7)
    assert result.cost <= start.cost + 1e-9 * max(1.0, abs(start.cost))
    case.problem.geometry.check_point(result.point)

    # Nothing is below what is known to be the lowest.
    assert result.cost >= lowest(case) - 1e-6 * max(1.0, abs(lowest(case)))

    # The history is a table of what was counted, which never goes down.
    lengths = {len(column) for column in history.values()}
    stages = int(history["stage"][-1]) + 1
    assert lengths == {result.iterations + stages}
    assert isinstance(counts, Counts)
    for column in ("costs", "gradients", "hessian_products", "hessian_matrices"):
        assert (np.diff(history[column]) >= 0).all()
        assert history[column][-1] == getattr(counts, column)
    assert counts.costs <= result.iterations + stages + 10 * int(history["escaped"].sum()) + 10

    # A run that converged is a minimizer by its certificate; an end that is none is not hidden.
    if result.status is Status.CONVERGED:
        assert result.certificate.verdict == "minimizer"
        own = riemtr.certify(case.problem, result.point)
        assert own.verdict in ("minimizer", "not-critical")  # its tolerances are a little tighter
    elif name == "perturbed-gd":
        assert counts.hessian_products <= 60  # what the last slope means, at each of several ends
        assert counts.hessian_matrices <= 2
        known = (Status.FIRST_ORDER, Status.MAX_SECONDS, Status.STALLED)
        assert result.status in known, result
        # From a random start, gradient descent ends at minimizers, with probability 1.
        assert not result.converged or result.certificate.verdict in ("minimizer", "unresolved")
    elif name in ("practical", "lbfgs", "arc", "printed", "randomized", "curvilinear"):
        known = (Status.MAX_SECONDS, Status.UNRESOLVED, Status.STALLED)
        assert result.status in known, result


@pytest.mark.parametrize("name", ["practical", "lbfgs", "arc", "randomized", "perturbed-gd"])
def test_the_same_start_gives_the_same_bits(case, name):
    limit = riemtr.solvers.MaxIterations(8)
    first, second = (
        SOLVERS[name].solve(case.problem, case.start, rng=0, stop=limit) for _ in range(2)
    )
    for column in ("cost", "gradient_norm", "hessian_products"):
        np.testing.assert_array_equal(first.history[column], second.history[column])


def test_first_order_runs_of_lbfgs_ask_for_the_hessian_at_their_end_only(case):
    solver = riemtr.LBFGS(max_seconds=SECONDS)
    result = solver.solve(case.problem, case.start)
    products = result.history["hessian_products"]
    assert result.counts.hessian_matrices <= 1
    if result.converged:
        accepted = int(np.count_nonzero(result.history["accepted"]))
        # One for each point, a few where slopes had to judge a step, and two for each difference.
        assert accepted <= result.counts.gradients <= accepted + 5 + 2 * products[-1]
        # What the last slope means takes a few products.
        assert products[int(0.9 * len(products))] == 0 or len(products) < 30
        assert products[-1] <= 30


def test_every_solver_is_in_the_contract():
    presets = {type(solver) for solver in SOLVERS.values()}
    assert presets == {
        riemtr.PracticalTRM,
        riemtr.ExactTRM,
        riemtr.LBFGS,
        riemtr.ARC,
        riemtr.TrustRegion,
        solvers.PaperTRM,
        solvers.RandomizedTRM,
        solvers.CurvilinearSearch,
        solvers.PerturbedGD,
    }
