"""Many problems of one shape at once: their points, costs and derivatives are stacked arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from riemtr.errors import ArgumentError
from riemtr.manifolds import Manifold, TangentSpace
from riemtr.problem.books import Counts, lazy
from riemtr.problem.differences import OFF_DOMAIN, UNFINISHED


class Stack:
    """Costs of many problems on one manifold, whose functions work on stacks.

    Parameters
    ----------
    manifold : Manifold
        The manifold of a single problem.
    cost : callable
        ``cost(points, *data)``, an array with one number for each point. With autograd if there is
        no gradient.
    data : sequence of ndarray
        What the problems differ in: arrays with one entry for each problem along their first axis.
    euclidean_gradient : callable, optional
        ``gradient(points, *data)``, in the shape of the points.
    euclidean_hessian : callable, optional
        ``hessian(points, vectors, *data)``, in the shape of the points.
    """

    def __init__(
        self,
        manifold: Manifold,
        cost: Callable[..., Any],
        data: Any = (),
        euclidean_gradient: Callable[..., Any] | None = None,
        euclidean_hessian: Callable[..., Any] | None = None,
    ):
        if getattr(manifold, "stacked_space", lambda points: None)(_example(manifold)) is None:
            raise ArgumentError(
                "manifold",
                "be one whose points stack: Sphere, Stiefel, Grassmann, Rotations, "
                "PositiveDefinite or Euclidean of riemtr",
                manifold,
                "solve the problems one by one, with riemtr.PracticalTRM().solve(problem)",
            )
        if euclidean_gradient is None and euclidean_hessian is not None:
            raise ArgumentError(
                "euclidean_gradient", "be given where the Hessian is", euclidean_gradient
            )
        self.manifold, self.cost = manifold, cost
        self.data = _checked(data)
        self.gradient = euclidean_gradient or _autograd_gradient(cost)
        self.hessian = euclidean_hessian or _autograd_hessian(cost)

    def at(self, points: np.ndarray, chosen: Any, counts: Counts) -> StackEvaluation:
        """Return the evaluation of the chosen problems at points of theirs."""
        return StackEvaluation(self, points, tuple(each[chosen] for each in self.data), counts)


class StackEvaluation:
    """Many problems at a point each: computed on demand, once, and counted."""

    def __init__(self, stack: Stack, points: np.ndarray, data: tuple[Any, ...], counts: Counts):
        self.stack, self.points, self.data, self.counts = stack, points, data, counts

    def __len__(self) -> int:
        return len(self.points)

    def part(self, chosen: np.ndarray) -> StackEvaluation:
        """Return some of the problems, with what is known of their costs and gradients."""
        part = StackEvaluation(
            self.stack,
            self.points[chosen],
            tuple(each[chosen] for each in self.data),
            self.counts,
        )
        for name in ("cost", "euclidean_gradient", "gradient"):
            if name in self.__dict__:
                part.__dict__[name] = self.__dict__[name][chosen]
        return part

    def moved(self, vectors: np.ndarray) -> StackEvaluation:
        """Return the evaluation where steps lead to."""
        return StackEvaluation(self.stack, self.space.move(vectors), self.data, self.counts)

    @lazy
    def space(self) -> TangentSpace:
        """The tangent spaces."""
        space = self.stack.manifold.stacked_space(self.points)
        assert space is not None
        return space

    @lazy
    def cost(self) -> np.ndarray:
        """The costs."""
        self.counts.costs += len(self)
        return self._called("cost", self.stack.cost, (len(self),))

    @lazy
    def euclidean_gradient(self) -> np.ndarray:
        """The Euclidean gradients."""
        self.counts.gradients += len(self)
        return self._called("euclidean_gradient", self.stack.gradient, self.points.shape)

    @lazy
    def gradient(self) -> np.ndarray:
        """The Riemannian gradients."""
        return self.space.gradient(self.euclidean_gradient)

    def product(self, vectors: np.ndarray) -> np.ndarray:
        """Return the Riemannian Hessian products with a vector each."""
        self.counts.hessian_products += len(self)
        own = vectors if self.space.plain else self.space.embed(vectors)
        image = self._called("euclidean_hessian", self.stack.hessian, self.points.shape, own)
        return self.space.hessian(self.euclidean_gradient, image, vectors)

    def _called(
        self, name: str, function: Callable[..., Any], shape: tuple[int, ...], *vectors: np.ndarray
    ) -> np.ndarray:
        """Return the values of a function of the user's, NaN for problems that raise errors.

        One singular matrix makes functions of numpy raise for a whole stack. The problems are then
        asked one by one; if all of them raise, so does this.
        """
        arrays = (self.points, *vectors, *self.data)
        try:
            return _shaped(name, function(*arrays), shape)
        except (*UNFINISHED, ArgumentError):
            raise
        except OFF_DOMAIN as error:
            values, raised = np.full(shape, np.nan), 0
            for number in range(len(self)):
                single = tuple(each[number : number + 1] for each in arrays)
                try:
                    values[number] = _shaped(name, function(*single), (1, *shape[1:]))[0]
                except OFF_DOMAIN:
                    raised += 1
            if raised == len(self):
                raise error
            return values

    def hessian_matrices(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the matrices of the Hessians, and the vectors that their rows belong to.

        The rows belong to an orthonormal basis where one serves at every point. Elsewhere they
        belong to the entries of vectors, and directions outside the tangent space get the size of
        the Hessian as their curvature.
        """
        units = self.space.units()
        fixed = units is not None
        if units is None:
            shape = self.points.shape[1:]
            units = np.eye(int(np.prod(shape))).reshape(-1, *shape)
        count, size = len(self), len(units)
        flat = units.reshape(size, -1)
        matrices = np.empty((count, size, size))
        shadows = np.empty((count, size, size))
        for column, unit in enumerate(units):
            vectors = np.broadcast_to(unit, self.points.shape)
            if not fixed:
                vectors = self.space.tangent(vectors)
                shadows[:, :, column] = vectors.reshape(count, -1)
            matrices[:, :, column] = self.product(vectors).reshape(count, -1) @ flat.T
        matrices = 0.5 * (matrices + matrices.swapaxes(1, 2))
        if not fixed:
            sizes = np.sqrt(np.einsum("kij,kij->k", matrices, matrices))
            matrices += sizes[:, None, None] * (np.eye(size) - shadows)
        return matrices, units


def dots(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the inner products of stacked vectors, one for each problem."""
    count = len(one)
    return np.einsum("ij,ij->i", one.reshape(count, -1), other.reshape(count, -1))


def scaled(factors: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return stacked vectors times a number each."""
    return factors.reshape(-1, *(1,) * (vectors.ndim - 1)) * vectors


def _example(manifold: Any) -> Any:
    try:
        return manifold.random_points(np.random.default_rng(0), 2)
    except Exception:  # of manifolds of others, which need not have it
        return None


def _checked(data: Any) -> tuple[np.ndarray, ...]:
    arrays = tuple(map(np.asarray, data if isinstance(data, (list, tuple)) else (data,)))
    lengths = {len(each) if each.ndim else None for each in arrays}
    if len(lengths) > 1 or None in lengths:
        raise ArgumentError(
            "data",
            "be arrays with one entry for each problem along their first axis",
            [each.shape for each in arrays],
        )
    return arrays


def _shaped(name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    array = np.asarray(value)
    if array.shape != shape:
        raise ArgumentError(
            name,
            f"return an array of shape {shape} for a stack of {shape[0]} points",
            array.shape,
            "mind that functions get the points of many problems at once, along the first axis",
        )
    return array


def _autograd_gradient(cost: Callable[..., Any]) -> Callable[..., Any]:
    import autograd
    import autograd.numpy as anp

    return autograd.grad(lambda points, *data: anp.sum(cost(points, *data)))


def _autograd_hessian(cost: Callable[..., Any]) -> Callable[..., Any]:
    import autograd
    import autograd.numpy as anp

    gradient = _autograd_gradient(cost)
    along = autograd.grad(lambda points, vectors, *data: anp.sum(gradient(points, *data) * vectors))
    return lambda points, vectors, *data: along(points, vectors, *data)
