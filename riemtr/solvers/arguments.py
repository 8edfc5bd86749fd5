"""The arguments that every solver takes, checked once for all of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from riemtr.arguments import check_nonnegative, integer, is_real
from riemtr.errors import ArgumentError, NonFiniteCostError
from riemtr.problem import Evaluation, Problem
from riemtr.solvers.iteration import Observer
from riemtr.solvers.stopping import StoppingCriterion

_TANGENCY = 1e-3  # what may be outside the tangent space, in single precision as well


def check_limits(max_iterations: Any, max_seconds: Any) -> None:
    """Check the limits of a solver: a number of iterations, perhaps infinite, and seconds."""
    if not (is_real(max_iterations) and max_iterations == math.inf):
        integer("max_iterations", max_iterations, low=0, or_else=", or math.inf")
    check_nonnegative("max_seconds", max_seconds)


def checked_observers(stop: Any, observers: Any) -> tuple[Observer, ...]:
    """Check what a run is given to be stopped and observed by; return the observers.

    They are asked for in every iteration, which an iterator would not survive.
    """
    if stop is not None and not isinstance(stop, StoppingCriterion):
        own = "for a condition of your own, pass observers=[condition], which stops the run by True"
        kind = "be a StoppingCriterion, such as riemtr.solvers.MaxIterations(10)"
        raise ArgumentError("stop", kind, stop, own)
    if callable(observers):
        observers = (observers,)
    if not isinstance(observers, Iterable):
        raise ArgumentError("observers", "be a callable or a list of them", observers)
    observers = tuple(observers)
    for observer in observers:
        if not callable(observer):
            raise ArgumentError("observers", "be callables, all of them", observer)
    return observers


def start_point(problem: Problem, start: Any, rng: Any) -> Any:
    """Return the start, checked, or a random one if there is none."""
    if start is None:
        start = problem.random_point(rng)
    return problem.geometry.check_point(start)


def check_beginning(here: Evaluation) -> None:
    """Check that there is a cost to begin with, and that its gradient is one."""
    if not (math.isfinite(here.cost) and math.isfinite(here.gradient_norm)):
        raise NonFiniteCostError(
            f"the cost at the start is {here.cost} and its gradient norm "
            f"{here.gradient_norm}: both must be finite; choose another start, or mend the cost"
        )
    if here.problem.derivatives.gradient == "riemannian":
        outside = here.norm_outside(here.gradient)
        if outside > _TANGENCY * max(here.gradient_norm, abs(here.cost)):
            share = f"of its norm {here.gradient_norm:.2g}, {outside:.2g} are not"
            remedy = "pass it as euclidean_gradient, or project it"
            tangent = f"be tangent to {here.manifold}; {share}"
            raise ArgumentError("riemannian_gradient", tangent, remedy=remedy)
