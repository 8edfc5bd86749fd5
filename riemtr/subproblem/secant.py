"""Steps of a limited-memory secant model: no Hessian, one gradient for each point.

The last steps of a run and the changes of the gradient along them make the model of
:mod:`riemtr.subproblem.secant_model`, whose minimiser over the ball is exact. A pair is made by
parallel transport to the point where its step ended. From there on it is kept as it is where the
manifold allows it: the model is positive definite whatever the vectors, and so is what the
projection onto any tangent space leaves of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from riemtr.arguments import integer
from riemtr.manifolds.arrays import as_real, as_real_rows, from_real
from riemtr.problem import Evaluation
from riemtr.subproblem.secant_model import SecantModel
from riemtr.subproblem.step import Ended, Step
from riemtr.subproblem.truncated_cg import along_curvature, prefers_curvature

# Cosine of the angle between a step and the change of the gradient below which a pair says nothing
# of a positive curvature.
_LEAST_COSINE = 1e-8


class Secants:
    """The last pairs of a run: steps of length 1, and the changes of the gradient along them.

    Parameters
    ----------
    here : Evaluation
        The first point.
    room : int
        How many pairs to keep.

    Attributes
    ----------
    rows : ndarray, shape (2 (room + 1), entries)
        The steps, then the changes, each pair in a place of its own; one place is always free.
    gram : ndarray, shape (2 (room + 1), 2 (room + 1))
        Their inner products.
    places : ndarray of int
        The rows of the model: those of the steps, the oldest first, then those of the changes.
    """

    def __init__(self, here: Evaluation, room: int):
        flat = as_real(here.gradient)
        self.room, self._half = room, room + 1
        self.rows = np.zeros((2 * self._half, flat.size), dtype=flat.dtype)
        self.gram = np.zeros((2 * self._half, 2 * self._half))
        self._order: list[int] = []  # places of pairs, the oldest first
        self.places = np.zeros(0, dtype=int)

    def add(self, here: Evaluation, before: Evaluation, step: np.ndarray) -> np.ndarray:
        """Take over the pair of a step; return the rows' inner products with the gradient here."""
        if not here.space.keeps_vectors:
            self._carry(here, before)
        gradient = here.gradient
        vectors = np.array((step, before.gradient, gradient))
        vectors[:2] = here.space.all_transported(vectors[:2], before.space)
        np.subtract(gradient, vectors[1], out=vectors[1])
        place = next(place for place in range(self._half) if place not in self._order)
        other = place + self._half
        self.rows[place], self.rows[other] = as_real_rows(vectors[:2])
        products = self.products(here, vectors)
        squared, bend, changed = products[place, 0], products[place, 1], products[other, 1]
        if bend > _LEAST_COSINE * math.sqrt(squared) * math.sqrt(changed):
            # The pair with a step of length 1 makes the same model, and tamer equations.
            unit = 1.0 / math.sqrt(squared)
            for row in (place, other):
                self.rows[row] *= unit
                products[row] *= unit
            products[:, :2] *= unit
            self.gram[:, place] = self.gram[place] = products[:, 0]
            self.gram[:, other] = self.gram[other] = products[:, 1]
            self._keep([*self._order[-(self.room - 1) :], place] if self.room > 1 else [place])
        return products[:, 2]

    def _keep(self, order: list[int]) -> None:
        self._order = order
        self.places = np.array([*order, *(place + self._half for place in order)], dtype=int)

    def products(self, here: Evaluation, vectors: np.ndarray) -> np.ndarray:
        """Return the inner products of all rows with some vectors."""
        if here.manifold.dot_metric:
            return (self.rows @ as_real_rows(vectors).T).astype(float, copy=False)
        rows = [from_real(row, here.gradient) for row in self.rows]
        return np.array([[here.inner(row, vector) for vector in vectors] for row in rows])

    def _carry(self, here: Evaluation, before: Evaluation) -> None:
        """Carry all vectors from one point to the next."""
        used = self.places
        if not len(used):
            return
        vectors = np.array([from_real(row, here.gradient) for row in self.rows[used]])
        vectors = here.space.all_transported(vectors, before.space)
        self.rows[used] = as_real_rows(vectors)
        self.gram[:, used] = self.products(here, vectors)
        # Transport may change lengths and angles: a pair without a positive curvature is dropped.
        self._keep([place for place in self._order if self.gram[place, place + self._half] > 0.0])

    def model(self) -> SecantModel | None:
        """Return the model of all pairs; None if there are none."""
        if not self._order:
            return None
        gram = self.gram[self.places[:, None], self.places]
        # The curvature along the newest change, the usual choice for all other directions.
        return SecantModel(gram, float(gram[-1, -1] / gram[len(gram) // 2 - 1, -1]))


class _Memory(NamedTuple):
    """What one call leaves to the next."""

    here: Evaluation
    secants: Secants
    products: np.ndarray  # of the rows with the gradient
    model: SecantModel | None
    size: float  # the largest curvature that the pairs have met


@dataclass(frozen=True)
class SecantSubproblem:
    """The exact minimiser of a limited-memory BFGS model over the ball.

    It takes no Hessian product, and no gradient but that of the current point. Where the gradient
    vanishes and negative curvature is known, the step follows that instead, as truncated CG does.

    Parameters
    ----------
    memory : int
        How many steps the Hessian is approximated from. On 25 classical problems 5 need 4 % more
        iterations than 20, each at half the price.

    Examples
    --------
    >>> import numpy as np, riemtr
    >>> here = riemtr.problems.build("rayleigh", rng=0, n=20).problem.at(np.eye(20)[0])
    >>> step = riemtr.SecantSubproblem().solve(here, radius=0.1)
    >>> round(step.norm, 12), here.counts.hessian_products, here.counts.gradients
    (0.1, 0, 1)
    """

    memory: int = 6

    def __post_init__(self) -> None:
        integer("memory", self.memory)

    def solve(self, here: Evaluation, radius: float, previous: Step | None = None) -> Step:
        """Return the minimiser of the model, or a step along negative curvature that is known."""
        memory = self._memory(here, previous)
        if prefers_curvature(here, radius):
            return along_curvature(here, radius)._replace(memory=memory)
        gradient, size = here.gradient, here.gradient_norm
        if size == 0.0:
            nothing = 0.0 * gradient
            return Step(nothing, nothing, 0.0, 0.0, False, Ended.INTERIOR, memory=memory)
        if memory.model is None:
            # Nothing is known of the curvature: it is taken for what makes the radius right.
            vector, decrease = (-radius / size) * gradient, 0.5 * radius * size
            return Step(vector, -gradient, radius, decrease, True, Ended.BOUNDARY, None, memory)
        places = memory.secants.places
        # The model is divided by the gradient's norm, or its squares would under- or overflow.
        found = memory.model.minimiser(memory.products[places] / size, 1.0, radius / size)
        factors = np.zeros(len(memory.secants.rows), dtype=memory.secants.rows.dtype)
        factors[places] = size * found.rows
        combined = from_real(factors @ memory.secants.rows, gradient)
        vector = here.tangent(combined + found.gradient * gradient)
        bounded = found.multiplier > 0.0
        image = -gradient - found.multiplier * vector if bounded else -gradient
        norm = here.norm(vector)
        # -(<g, s> + <s, Bs>/2), where Bs = -g - multiplier s.
        decrease = 0.5 * (found.multiplier * norm * norm - here.inner(gradient, vector))
        ended = Ended.BOUNDARY if bounded else Ended.INTERIOR
        return Step(vector, image, norm, decrease, bounded, ended, None, memory, memory.size)

    def _memory(self, here: Evaluation, previous: Step | None) -> _Memory:
        """Return the pairs that are known at a point, in its own tangent space."""
        known = None if previous is None else previous.memory
        if not isinstance(known, _Memory) or known.here.problem is not here.problem:
            secants = Secants(here, self.memory)
            return _Memory(here, secants, np.zeros(len(secants.rows)), None, 0.0)
        if known.here is here:  # the step was rejected
            return known
        assert previous is not None
        secants = known.secants
        products = secants.add(here, known.here, previous.vector)
        model = secants.model()
        size = known.size if model is None else model.size
        return _Memory(here, secants, products, model, size)
