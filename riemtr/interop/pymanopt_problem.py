"""Problems for pymanopt's optimizers: converted from riemtr, or counted as they are."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import pymanopt

from riemtr.manifolds.arrays import flatten, unflatten
from riemtr.problem import Counts, Evaluation, Problem, as_problem
from riemtr.problem.pymanopt_cost import is_given


class Oracles(Protocol):
    """What a pymanopt optimizer asks of a problem, on points and tangent vectors as they are."""

    def cost(self, point: Any) -> Any:
        """The cost."""

    def gradient(self, point: Any) -> Any:
        """Riemannian gradient."""

    def hessian(self, point: Any, vector: Any) -> Any:
        """Riemannian Hessian product."""


class EvaluationOracles:
    """A riemtr problem as pymanopt asks for it: point by point, each quantity computed once.

    The evaluations at the last two points are kept: the iterate and the point being tried.
    """

    def __init__(self, problem: Problem, counts: Counts):
        self._problem = problem
        self._counts = counts
        self._layout = problem.layout
        self._known: list[Evaluation] = []

    def _at(self, point: Any) -> Evaluation:
        for here in reversed(self._known):
            if self._same(here.point, point):
                return here
        # A copy, so that a caller who reuses the array is not answered for its old content.
        here = self._problem.at(copy.deepcopy(point), self._counts)
        self._known = [*self._known[-1:], here]
        return here

    def _same(self, point_a: Any, point_b: Any) -> bool:
        pairs = zip(flatten(point_a, self._layout), flatten(point_b, self._layout), strict=True)
        return all(np.array_equal(a, b) for a, b in pairs)

    def cost(self, point: Any) -> float:
        """The cost."""
        return self._at(point).cost

    def gradient(self, point: Any) -> Any:
        """Riemannian gradient."""
        here = self._at(point)
        return here.space.unpack(here.gradient)

    def hessian(self, point: Any, vector: Any) -> Any:
        """Riemannian Hessian product."""
        here = self._at(point)
        return here.space.unpack(here.hessian(here.space.pack(vector)))


class CountedOracles:
    """The user's functions in a ``pymanopt.Problem``, called as pymanopt calls them, and counted.

    That includes one more gradient in each Hessian product, where the Hessian is Euclidean.
    """

    def __init__(self, problem: pymanopt.Problem, counts: Counts):
        self._problem = problem
        self._manifold = problem.manifold
        self._counts = counts
        self._riemannian_gradient = is_given(problem._riemannian_gradient)
        self._riemannian_hessian = is_given(problem._riemannian_hessian)

    def cost(self, point: Any) -> Any:
        """The cost."""
        self._counts.costs += 1
        return self._problem.cost(point)

    def gradient(self, point: Any) -> Any:
        """Riemannian gradient."""
        if self._riemannian_gradient:
            self._counts.gradients += 1
            return self._problem.riemannian_gradient(point)
        return self._manifold.euclidean_to_riemannian_gradient(
            point, self._euclidean_gradient(point)
        )

    def _euclidean_gradient(self, point: Any) -> Any:
        self._counts.gradients += 1
        return self._problem.euclidean_gradient(point)

    def hessian(self, point: Any, vector: Any) -> Any:
        """Riemannian Hessian product."""
        self._counts.hessian_products += 1
        if self._riemannian_hessian:
            return self._problem.riemannian_hessian(point, vector)
        try:
            product = self._problem.euclidean_hessian
        except NotImplementedError as error:
            raise ValueError(
                "problem must have a Hessian for this optimizer; it has none, and its backend "
                "cannot derive one: pass euclidean_hessian to pymanopt.Problem, or convert it "
                "first, to_pymanopt(problem), which takes differences of the gradient"
            ) from error
        # In pymanopt's order (pymanopt.Problem.riemannian_hessian).
        return self._manifold.euclidean_to_riemannian_hessian(
            point, self._euclidean_gradient(point), product(point, vector), vector
        )


def assemble(manifold: Any, oracles: Oracles, preconditioner: Any) -> pymanopt.Problem:
    """Return a ``pymanopt.Problem`` that asks the oracles."""
    layout = manifold.point_layout

    @pymanopt.function.numpy(manifold)
    def cost(*arrays: Any) -> Any:
        return oracles.cost(unflatten(arrays, layout))

    problem = pymanopt.Problem(manifold, cost, preconditioner=preconditioner)
    # pymanopt would take points and vectors apart into arrays and return the gradient as a plain
    # list, which has no vector arithmetic. These are the attributes it keeps its own derivatives
    # in; wrapping marks them as given, for when the problem comes back to riemtr.
    given: Callable[[Any], Any] = functools.wraps(cost)
    problem._cost = given(lambda point: oracles.cost(point))
    problem._riemannian_gradient = given(lambda point: oracles.gradient(point))
    problem._riemannian_hessian = given(lambda point, vector: oracles.hessian(point, vector))
    return problem


def to_pymanopt(problem: Any) -> pymanopt.Problem:
    """Return a riemtr problem as a ``pymanopt.Problem``, for any optimizer of pymanopt.

    Derivatives are Riemannian, on any manifold. What is known of the last two points is kept, so
    that pymanopt's optimizers profit from a cost that shares work.

    Parameters
    ----------
    problem : Problem or pymanopt.Problem
        The latter comes back with each quantity computed once per point, and with a
        finite-difference Hessian if it had none.

    Examples
    --------
    >>> import riemtr, pymanopt
    >>> from riemtr.interop.pymanopt import to_pymanopt
    >>> case = riemtr.problems.build("rayleigh", rng=0, n=5)
    >>> optimizer = pymanopt.optimizers.ConjugateGradient(verbosity=0)
    >>> found = optimizer.run(to_pymanopt(case.problem), initial_point=case.start)
    >>> bool(abs(found.cost - case.truth.cost) < 1e-9)
    True
    """
    converted = as_problem(problem)
    return assemble(
        converted.manifold, EvaluationOracles(converted, Counts()), converted.preconditioner
    )
