"""What every solver is given is checked in the same words, whoever the solver is."""

import math

import numpy as np
import pymanopt
import pytest

import riemtr
from riemtr.interop.pymanopt import PymanoptSolver
from riemtr.solvers import (
    CurvilinearSearch,
    PaperTRM,
    PerturbedGD,
    RandomizedTRM,
    ScipyLBFGSB,
)

SOLVERS = {
    "practical": riemtr.PracticalTRM(),
    "exact": riemtr.ExactTRM(),
    "lbfgs": riemtr.LBFGS(),
    "arc": riemtr.ARC(),
    "printed": PaperTRM(),
    "randomized": RandomizedTRM(),
    "curvilinear": CurvilinearSearch(),
    "perturbed-gd": PerturbedGD(),
    "l-bfgs-b": ScipyLBFGSB(),
    "pymanopt": PymanoptSolver(pymanopt.optimizers.ConjugateGradient()),
}


@pytest.fixture(scope="module")
def problem():
    return riemtr.problems.build("rayleigh", rng=0, n=6).problem


@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"stop": 3}, r"stop must be a StoppingCriterion, .*; got 3"),
        ({"stop": lambda iteration: True}, "stop must be a StoppingCriterion"),
        ({"observers": 3}, "observers must be a callable or a list of them; got 3"),
        ({"start": np.ones(5) / np.sqrt(5)}, r"start must have shape \(6,\)"),
        ({"start": np.ones(6)}, "start must have norm 1"),
        ({"start": np.full(6, np.nan)}, "start must be finite"),
    ],
    ids=["number", "function", "observers", "shape", "norm", "nan"],
)
def test_bad_arguments(solver, problem, arguments, message):
    with pytest.raises(ValueError, match=message):
        solver.solve(problem, **arguments)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"move": 3}, "move must be a function, such as riemtr.manifolds.retraction; got 3"),
        ({"warm_up": None}, "warm_up must be a function, such as riemtr.solvers.continuation"),
        ({"subproblem": riemtr.TruncatedCG}, r"subproblem must be a part .*TruncatedCG\(\)"),
        ({"max_seconds": np.nan}, "max_seconds must be a number of at least 0; got nan"),
    ],
    ids=["move", "warm_up", "class", "nan"],
)
def test_bad_parts(parts, message):
    with pytest.raises(ValueError, match=message):
        riemtr.TrustRegion(**parts)


@pytest.mark.parametrize(
    "solver",
    [
        riemtr.TrustRegion,
        riemtr.PracticalTRM,
        riemtr.ExactTRM,
        riemtr.LBFGS,
        riemtr.ARC,
        CurvilinearSearch,
        PerturbedGD,
        ScipyLBFGSB,
    ],
)
@pytest.mark.parametrize(
    ("limit", "message"),
    [
        (2.5, "max_iterations must be an integer of at least 0, or math.inf; got 2.5: pass 2 or 3"),
        (1e4, "got 10000.0: pass 10000$"),
        (-1, "max_iterations must be an integer of at least 0, or math.inf; got -1$"),
        (-0.5, "got -0.5: pass 0$"),
        (np.nan, "max_iterations must be an integer"),
        ("many", "max_iterations must be an integer"),
        (True, "max_iterations must be an integer"),
    ],
)
def test_iterations_are_counted_in_integers(solver, limit, message):
    with pytest.raises(ValueError, match=message):
        solver(max_iterations=limit)
    for allowed in (0, np.int64(3), math.inf):
        assert solver(max_iterations=allowed).max_iterations == allowed
