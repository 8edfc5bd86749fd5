"""A manifold with a cost on it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Generic

import numpy as np
import pymanopt

from riemtr.arguments import as_integer, check_nonnegative, generator, names_instead
from riemtr.errors import ArgumentError
from riemtr.manifolds import Manifold, adapt, lacking
from riemtr.manifolds.arrays import array_count, as_type, machine_precision
from riemtr.manifolds.manifold import P
from riemtr.problem.autodiff import backend
from riemtr.problem.books import Clock, Counts, forget, lazy, provide
from riemtr.problem.costs import CallableCost
from riemtr.problem.evaluation import Derivatives, Evaluation
from riemtr.problem.pymanopt_cost import PymanoptCost
from riemtr.problem.shared_work import Autodiff, SharedWorkCost

# Functions of a problem that are no derivatives, and how they are called.
_OTHER_FUNCTIONS = {
    "preconditioner": "preconditioner(point, vector)",
    "symmetries": "symmetries(point)",
    "invariants": "invariants(point)",
}


# Names that people bring along from SciPy, pymanopt and Manopt, and riemtr's names for the same.
_NAMES_ELSEWHERE = {
    "gradient": "euclidean_gradient (or riemannian_gradient)",
    "grad": "euclidean_gradient (or riemannian_gradient)",
    "egrad": "euclidean_gradient",
    "jac": "euclidean_gradient",
    "hessian": "euclidean_hessian (or riemannian_hessian)",
    "hess": "euclidean_hessian (or riemannian_hessian)",
    "ehess": "euclidean_hessian",
    "hessp": "euclidean_hessian",
    "backend": "autodiff",
}


class Problem(Generic[P]):
    """Minimise a cost over a manifold.

    What is not given is filled in: the gradient by autograd, JAX or PyTorch; the Hessian too, or
    where the cost cannot be differentiated twice, by central differences of the gradient:
    ``problem.derivatives`` says which.

    Parameters
    ----------
    manifold : Manifold
        :class:`riemtr.Sphere`, any manifold of pymanopt, or one of your own with their methods:
        ``dim`` (a number, or a property), ``inner_product``, ``norm``, ``projection``,
        ``retraction``, ``zero_vector``, ``random_point`` and ``random_tangent_vector``; for
        Euclidean gradients, which include those by autodiff,
        ``euclidean_to_riemannian_gradient(point, gradient)``; for Euclidean Hessians
        ``euclidean_to_riemannian_hessian(point, gradient, product, vector)``, or else, to take
        differences of gradients, ``transport(point_a, point_b, vector)``. A submanifold of
        Euclidean space with its metric has the first and the last of these three from
        ``projection``, if derived from ``pymanopt.manifolds.manifold.RiemannianSubmanifold``.
    cost : callable or object with ``at(point)``
        A plain function of the point's arrays (no decorator), or a cost that shares work: its
        ``at(point)`` has ``value``, ``gradient`` and ``hessian(v)``, all Euclidean, and
        ``hessian_matrix()`` if that is cheap; ``easier()`` may offer a continuation.
    euclidean_gradient, riemannian_gradient : callable, optional
        At most one of the two; takes the point's arrays. A Euclidean one returns as many, the
        derivatives by each; a Riemannian one those of a tangent vector.
    euclidean_hessian, riemannian_hessian : callable, optional
        At most one of the two; takes the point's arrays, then the vector's.
    preconditioner : callable, optional
        ``preconditioner(point, vector)``, a symmetric positive definite approximation of the
        inverse Hessian on the tangent space.
    symmetries : callable, optional
        ``symmetries(point)``, a list of tangent vectors along which the cost does not change, as
        where it is the same for all rotations of a point. Curvature is then looked at across them.
        Their order is the same at all points.
    invariants : callable, optional
        ``invariants(point)``, numbers that are the same at two points of equal cost if and only if
        a symmetry of the cost exchanges the points. It names symmetries that no direction names,
        such as permutations and reflections: for the unknown positions ``x`` of like charges,
        ``np.sort(x.T @ x, axis=None)``. :func:`riemtr.multistart` and
        :func:`riemtr.theory.critical_points` count such points as one, and rely on it.
    hessian_lipschitz : float or callable, optional
        How fast the Hessian changes at most: a Lipschitz constant, for all ``|v| <= radius``, of
        the Hessian of ``v -> cost(exp(point, v))`` on the tangent space; a number, or
        ``hessian_lipschitz(point, radius)``. Certificates then prove how far the minimizer is. They
        rely on it: with too small a number, so may be ``certificate.distance_bound``.
    autodiff : {"autograd", "jax", "torch"} or callable
        Who differentiates a plain cost, which is then written with ``autograd.numpy``,
        ``jax.numpy`` or torch; the latter two need the extra of their name. JAX compiles the cost
        once: data that it uses must not be changed in place afterwards. A backend of your own,
        ``autodiff(cost, layout)``, returns a cost with ``at(point)``, as
        :mod:`riemtr.problem.shared_work` describes it.

    Examples
    --------
    >>> import autograd.numpy as np, riemtr
    >>> matrix = np.diag([3.0, 2.0, 1.0])
    >>> problem = riemtr.Problem(riemtr.Sphere(3), lambda x: x @ matrix @ x)
    >>> result = riemtr.PracticalTRM().solve(problem, start=np.array([1.0, 0.0, 0.0]))
    >>> round(result.cost, 9), result.certificate.verdict
    (1.0, 'minimizer')
    """

    @names_instead(_NAMES_ELSEWHERE)
    def __init__(
        self,
        manifold: Manifold[P],
        cost: Callable[..., Any] | SharedWorkCost,
        *,
        euclidean_gradient: Callable[..., Any] | None = None,
        riemannian_gradient: Callable[..., Any] | None = None,
        euclidean_hessian: Callable[..., Any] | None = None,
        riemannian_hessian: Callable[..., Any] | None = None,
        preconditioner: Callable[[Any, Any], Any] | None = None,
        symmetries: Callable[[Any], Any] | None = None,
        invariants: Callable[[Any], Any] | None = None,
        hessian_lipschitz: float | Callable[[Any, float], float] | None = None,
        autodiff: str | Autodiff = "autograd",
    ):
        given = {
            "euclidean_gradient": euclidean_gradient,
            "riemannian_gradient": riemannian_gradient,
            "euclidean_hessian": euclidean_hessian,
            "riemannian_hessian": riemannian_hessian,
        }
        others = {"preconditioner": preconditioner, "symmetries": symmetries}
        _check_callables({**given, **others, "invariants": invariants})
        differentiated = backend(autodiff)
        gradient = riemannian_gradient if euclidean_gradient is None else euclidean_gradient
        hessian = riemannian_hessian if euclidean_hessian is None else euclidean_hessian
        _check_derivatives(cost, given)
        derivatives = _kinds(cost, given)
        _check_manifold(manifold, derivatives)

        self.manifold = manifold
        self.geometry: Manifold = adapt(manifold)
        self.layout = self.geometry.point_layout
        self.preconditioner = preconditioner
        self.symmetries = symmetries
        self.invariants = invariants
        if hessian_lipschitz is not None and not callable(hessian_lipschitz):
            check_nonnegative("hessian_lipschitz", hessian_lipschitz)
        self.hessian_lipschitz = hessian_lipschitz
        self.cost: Any
        layout = self.layout
        _check_signature("cost", cost, self.geometry)
        _check_signature("the gradient", gradient, self.geometry)
        _check_signature("the Hessian", hessian, self.geometry, of_vectors=True)
        if hasattr(cost, "at"):
            self.cost = cost
        elif gradient is None:
            self.cost = differentiated(cost, layout)
        else:
            traced = differentiated(cost, layout)
            evaluate = getattr(traced, "evaluate", cost)  # where numpy's arrays do not serve
            self.cost = CallableCost(
                evaluate, gradient, hessian, traced, layout, partial(_anywhere, self.geometry)
            )
        if derivatives.hessian == "euclidean" and not self.geometry.converts_hessians:
            derivatives = replace(derivatives, hessian="differences")
        self.derivatives = derivatives

    def __repr__(self) -> str:
        kind = self.derivatives.hessian
        hessian = ", Hessian by differences" if kind == "differences" else ""
        return f"Problem({self.manifold}, cost={type(self.cost).__name__}{hessian})"

    def at(
        self, point: Any, counts: Counts | None = None, clock: Clock | None = None
    ) -> Evaluation:
        """Return the lazy evaluation at a point, counting into ``counts``, timed by ``clock``.

        A list or an array of integers becomes an array of floats.
        """
        if self.layout == 1 and not (isinstance(point, np.ndarray) and point.dtype.kind in "fc"):
            point = np.asarray(point, dtype=np.result_type(np.asarray(point), np.float64))
        return Evaluation(
            self,
            point,
            Counts() if counts is None else counts,
            Clock() if clock is None else clock,
        )

    @property
    def dtype(self) -> np.dtype | None:
        """The floating-point type that the cost says it computes in, if it says so."""
        dtype = getattr(self.cost, "dtype", None)
        return dtype if isinstance(dtype, np.dtype) and dtype.kind in "fc" else None

    def random_point(self, rng: Any) -> Any:
        """Draw a point of the manifold, of the cost's own floating-point type if it has one."""
        point = self.geometry.random_point(generator(rng))
        return point if self.dtype is None else as_type(point, self.dtype)

    def precision(self, point: Any) -> float:
        """Machine epsilon of the coarser of the point's floating-point type and the cost's."""
        return max(machine_precision(point), self._own_precision)

    @lazy
    def _own_precision(self) -> float:
        return 0.0 if self.dtype is None else float(np.finfo(self.dtype).eps)

    def easier(self) -> Iterator[tuple[Problem, float]]:
        """Yield easier versions of the problem, easiest first, each with a gradient tolerance.

        They come from the cost's own ``easier()``, if it has one; a solver may follow them to a
        good start (continuation).
        """
        offer = getattr(self.cost, "easier", None)
        if offer is None:
            return
        for cost, tolerance in offer():
            yield self._with(cost), tolerance

    def _with(self, cost: SharedWorkCost) -> Problem:
        """Return the same problem with another cost of the same kind, which needs no checks."""
        problem = object.__new__(Problem)
        provide(problem, **self.__dict__)
        forget(problem, "_own_precision")
        problem.cost, problem.hessian_lipschitz = cost, None
        return problem


def _anywhere(manifold: Manifold) -> Any:
    """Return a point to find out at what holds everywhere; always the same."""
    return manifold.random_point(np.random.default_rng(0))


def _kinds(cost: Any, given: dict[str, Any]) -> Derivatives:
    """Return of what kinds the derivatives are that are given, or come with the cost."""
    own = getattr(cost, "derivatives", None)
    if isinstance(own, Derivatives):
        return own
    gradient = "euclidean" if given["riemannian_gradient"] is None else "riemannian"
    if given["riemannian_hessian"] is not None:
        return Derivatives(gradient, "riemannian")
    # Autodiff's, if it was not given, is Euclidean and converted with the gradient.
    return Derivatives(gradient, "euclidean" if gradient == "euclidean" else "differences")


def _check_manifold(manifold: Any, derivatives: Derivatives) -> None:
    """Check that a manifold has all that is needed of it with derivatives of these kinds."""
    if isinstance(manifold, type):
        came = f"be an instance; got the class {manifold.__name__}"
        remedy = "call it with its size, as in riemtr.Sphere(n)"
        raise ArgumentError("manifold", came, remedy=remedy)
    missing = lacking(manifold, derivatives.gradient, derivatives.hessian)
    if missing:
        names = ", ".join(f"{name} ({what})" if what else name for name, what in missing.items())
        remedy = (
            "derive it from pymanopt's RiemannianSubmanifold, if it is one, which has them from "
            "projection, or pass riemannian_gradient and riemannian_hessian"
        )
        raise ArgumentError(
            "manifold",
            "offer pymanopt's manifold methods, as riemtr.Sphere(n) and pymanopt.manifolds do; "
            f"{type(manifold).__name__} lacks {names}",
            remedy=remedy if any(missing.values()) else "",
        )
    for factor in getattr(manifold, "manifolds", [manifold]):
        if as_integer(factor.dim) is None:
            remedy = f"if that is a method of {type(factor).__name__}, make it a property"
            raise ArgumentError("the dim of a manifold", "be an integer", factor.dim, remedy)


def _check_callables(given: dict[str, Any]) -> None:
    for name, function in given.items():
        if function is not None and not callable(function):
            form = _OTHER_FUNCTIONS.get(name, "a function of the point's arrays")
            came = f"be callable, or None; got {type(function).__name__}"
            raise ArgumentError(name, came, remedy=f"pass {form}")


def _check_derivatives(cost: Any, given: dict[str, Any]) -> None:
    """Check that the derivatives given go together, and with the cost."""
    names = {name for name, function in given.items() if function is not None}
    if isinstance(cost, type) and hasattr(cost, "at"):
        came = f"be an instance; got the class {cost.__name__}"
        raise ArgumentError("cost", came, remedy="create one")
    if hasattr(cost, "at"):
        if names:
            raise ValueError(
                "a cost with at(point) brings its own derivatives; pass it alone, or pass "
                "plain callables"
            )
        return
    if not callable(cost):
        form = "be a callable or an object with a method at(point)"
        raise ArgumentError("cost", f"{form}; got {type(cost).__name__}")
    for order in ("gradient", "hessian"):
        if {f"euclidean_{order}", f"riemannian_{order}"} <= names:
            raise ValueError(f"pass euclidean_{order} or riemannian_{order}, not both")
    if names and not names & {"euclidean_gradient", "riemannian_gradient"}:
        raise ValueError(
            "a Hessian without a gradient is not used; pass the gradient as well, or "
            "neither, to have both from autodiff"
        )
    if "euclidean_hessian" in names and "euclidean_gradient" not in names:
        raise ValueError(
            "euclidean_hessian needs euclidean_gradient (the conversion uses both); pass it, "
            "or pass riemannian_hessian"
        )


def as_problem(problem: Any) -> Problem:
    """Return a riemtr problem: the argument itself, or a ``pymanopt.Problem`` converted.

    Examples
    --------
    >>> import pymanopt, autograd.numpy as np
    >>> sphere = pymanopt.manifolds.Sphere(3)
    >>> @pymanopt.function.autograd(sphere)
    ... def cost(x):
    ...     return np.sum(np.arange(3) * x**2)
    >>> as_problem(pymanopt.Problem(sphere, cost))
    Problem(Sphere manifold of 3-vectors, cost=AutogradCost)
    """
    if isinstance(problem, Problem):
        return problem
    if isinstance(problem, pymanopt.Problem):
        return _from_pymanopt(problem)
    raise TypeError(
        "problem must be a riemtr.Problem or a pymanopt.Problem; got "
        f"{type(problem).__name__}. Build one with riemtr.Problem(manifold, cost)"
    )


def _from_pymanopt(problem: pymanopt.Problem) -> Problem:
    cost = PymanoptCost(problem)
    # pymanopt's default preconditioner is a nested function that returns the vector as it is.
    name = getattr(problem.preconditioner, "__qualname__", "")
    preconditioner = None if name.startswith("Problem.__init__") else problem.preconditioner
    if cost.differentiable is not None:
        # One trace of the gradient per point then serves every Hessian product there.
        function, autodiff = cost.differentiable
        return Problem(problem.manifold, function, preconditioner=preconditioner, autodiff=autodiff)
    return Problem(problem.manifold, cost, preconditioner=preconditioner)


def _check_signature(
    name: str, function: Any, manifold: Manifold, of_vectors: bool = False
) -> None:
    """Check that a function takes the arrays of a point, as far as it can be told.

    With ``of_vectors`` also those of a tangent vector, after them.
    """
    if function is None or hasattr(function, "at"):
        return
    count = array_count(manifold.point_layout)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of functions in C
        return
    given = 2 * count if of_vectors else count
    try:
        signature.bind(*range(given))
    except TypeError:
        arrays = "argument, the point" if given == 1 else "arguments, the arrays of a point"
        vectors = " and those of a vector after them" if of_vectors else ""
        takes = f"take {given} {arrays} of {manifold}{vectors}; it takes {signature}"
        raise ArgumentError(name, takes) from None
