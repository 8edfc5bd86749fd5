r"""Truncated conjugate gradients (Steihaug-Toint), started along negative curvature at saddles.

The paper's practical method (section IV.A): where the gradient is small and the Hessian has a
negative eigenvalue, plain truncated CG would follow the vanishing gradient into the saddle, so the
search starts along the direction of negative curvature instead, its sign adjusted to the gradient.

Hessian products of one point precondition CG at the next. Conjugate directions, scaled to a
curvature of 1, are steps whose images under the Hessian are known, so that the BFGS update of an
inverse M with all of them at once needs no more than inner products. With the directions as rows of
D and their images as rows of E,

.. math:: t = M (r - E'Dr), \qquad P r = D'Dr + t - D'Et.

P is symmetric and positive definite whenever M is, whatever the vectors, and so is what it does to
any tangent space, to which its results are projected: it may be used at the next points, where
the directions are only nearly conjugate (Morales and Nocedal, *Automatic preconditioning by limited
memory quasi-Newton updating*, SIAM J. Optim. 10(4), 2000).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from riemtr.arguments import integer, is_real
from riemtr.errors import NonFiniteHessianError
from riemtr.manifolds.arrays import as_real, from_real
from riemtr.problem import Evaluation
from riemtr.subproblem.model import Ended, Model, Step, make_step, no_step

# Size of a preconditioner from which on its squares are not safe, in single precision either.
_LARGE = 1e12
# Share of the gradient norm that a run is content with, to which CG need not go below.
_ENOUGH = 0.5
# Numbers in the pairs that are kept: 32 MB in double precision.
STORED_ENTRIES = 2**22
# Numbers in the pairs of a preconditioner, so that they stay in a cache of 256 kB: applied from
# memory it takes longer than the products that it saves.
CACHED_ENTRIES = 2**15
# Fewer pairs say more about where CG met the boundary than about the Hessian.
FEWEST_PAIRS = 4

Pair = tuple[Any, Any]
"""A direction of CG and its image under the Hessian."""


class Pairs:
    """Directions of CG at one point with their images, of which it keeps the first and the last.

    The first ones, up to ``STORED_ENTRIES`` numbers, serve once more after a rejected step. The
    last ones, up to ``CACHED_ENTRIES`` numbers, precondition CG at the next point.

    Parameters
    ----------
    size : int
        Length of a direction.
    remembered : int
        How many of the last ones to keep at most.
    """

    def __init__(self, size: int, remembered: int = 0):
        self._room = max(STORED_ENTRIES // max(2 * size, 1), FEWEST_PAIRS)
        self.first: list[Pair] = []
        self.last: deque[Pair] = deque(maxlen=min(remembered, CACHED_ENTRIES // max(2 * size, 1)))
        self.count = 0

    def add(self, direction: np.ndarray, image: np.ndarray) -> None:
        """Keep a direction with its image."""
        self.count += 1
        if len(self.first) < self._room:
            self.first.append((direction, image))
        self.last.append((direction, image))


def own_preconditioner(here: Evaluation) -> Callable[[Any], Any] | None:
    """Return the problem's preconditioner at a point; None if it has none."""
    return here.precondition if here.has_preconditioner else None


@dataclass(frozen=True)
class TruncatedCG:
    """Preconditioned truncated conjugate gradients.

    After a rejected step nothing is computed anew: CG directions do not depend on the radius, so
    the Hessian products of the first attempt serve the shorter one. After an accepted one that
    ended inside the ball they precondition CG at the next point, which saves some 15% of all
    products.

    Parameters
    ----------
    kappa, theta : float
        Stop when the residual is below ``|g| * min(kappa, (|g| / |g_before|)**(1 + theta))``, with
        the gradient at the point before: linear, then superlinear convergence of order up to
        ``1 + theta``, whatever the scale of the cost (Eisenstat and Walker, SIAM J. Sci. Comput.
        17(1), 1996, choice 2).
    max_products : int or None
        Limit on Hessian products per call; ``None`` means the manifold's dimension.
    remembered : int
        Hessian products of a run, the last ones, that precondition CG at the next point: at least
        4, or 0 for none. They are fewer where they would not fit into a cache, and none from
        dimension 4096 on, or where inner products are no dot products.

    Examples
    --------
    >>> import numpy as np, riemtr
    >>> here = riemtr.problems.build("rayleigh", rng=0, n=20).problem.at(np.eye(20)[0])
    >>> step = riemtr.TruncatedCG(max_products=3).at(here).step(radius=0.1)
    >>> step.on_boundary, round(step.norm, 9), here.counts.hessian_products
    (True, 0.1, 1)
    """

    kappa: float = 0.1
    theta: float = 0.5
    max_products: int | None = None
    remembered: int = 20

    def __post_init__(self) -> None:
        if not (is_real(self.kappa) and 0.0 < self.kappa < 1.0):
            raise ValueError(f"kappa must lie strictly between 0 and 1; got {self.kappa!r}")
        if not (is_real(self.theta) and self.theta >= 0.0):
            raise ValueError(f"theta must be at least 0; got {self.theta!r}")
        if self.max_products is not None:
            integer("max_products", self.max_products, or_else=", or None for the dimension")
        if self.remembered != 0:
            integer("remembered", self.remembered, low=FEWEST_PAIRS, or_else=", or 0 for none")

    def at(self, here: Evaluation, before: Model | None = None) -> Model:
        """Return the model, whose steps are those of CG or along negative curvature."""
        return CGModel(self, here, before)

    def target(self, here: Evaluation, before: Evaluation | None = None) -> float:
        """Residual at which CG may stop at ``here``, after a step from ``before``."""
        return residual_target(here, before, self.kappa, self.theta)


class CGModel:
    """The model at one point: the directions of CG with their products, which serve all radii.

    Attributes
    ----------
    here : Evaluation
    ended : Ended or None
        How CG ended last; None if the last step was none of CG.
    """

    def __init__(self, part: TruncatedCG, here: Evaluation, before: Model | None):
        self.here, self._part = here, part
        self.ended: Ended | None = None
        last = before if isinstance(before, CGModel) and before.ended is not None else None
        self._inverse = None if last is None else last.learnt
        self._target = part.target(here, None if last is None else last.here)
        self._products = Pairs(here.gradient.size, part.remembered)
        inverse = self._inverse
        self._precondition = own_preconditioner(here) if inverse is None else inverse.at(here)

    @property
    def learnt(self) -> InverseHessian | None:
        """What CG has learnt of the inverse Hessian here, or before; None where it is no use."""
        # Where the boundary cut a run short, its directions are those of little curvature, and a
        # preconditioner made of them would only lead to the boundary again.
        if self._part.remembered and self.ended in (Ended.INTERIOR, Ended.PRODUCT_LIMIT):
            return inverse_hessian(self.here, self._products.last) or self._inverse
        return None

    def step(self, radius: float) -> Step:
        """Return the truncated CG step, or one along negative curvature that is known."""
        here = self.here
        if prefers_curvature(here, radius):
            self.ended = None
            return along_curvature(here, radius)
        step = conjugate_gradients(
            here,
            radius,
            products=self._products,
            precondition=self._precondition,
            target=self._target,
            limit=self._part.max_products or max(here.manifold.dim, 1),
        )
        self.ended = step.ended
        return step


def residual_target(
    here: Evaluation, before: Evaluation | None, kappa: float, theta: float
) -> float:
    """Return the residual at which a Krylov method may stop at a point, after a step from another.

    As in :class:`TruncatedCG`, and no further than what the run is content with.
    """
    forcing = kappa
    same = before is not None and before.problem is here.problem  # no new stage in between
    if before is not None and same and before.gradient_norm > 0.0:
        progress = min(1.0, here.gradient_norm / before.gradient_norm)
        forcing = min(forcing, progress ** (1.0 + theta))
    return max(forcing * here.gradient_norm, _ENOUGH * here.clock.enough)


def prefers_curvature(here: Evaluation, radius: float) -> bool:
    """Whether negative curvature is known, and promises more than the gradient does."""
    curvature = here.known_curvature
    if curvature is None or not curvature.is_negative or curvature.direction is None:
        return False
    return -0.5 * curvature.min_eigenvalue * radius > here.gradient_norm


def along_curvature(here: Evaluation, radius: float) -> Step:
    """Return the step of length ``radius`` along the known direction of negative curvature.

    Its sign makes it a descent direction, where the gradient does not vanish.
    """
    direction = here.curvature.direction
    assert direction is not None
    sign = -1.0 if here.inner(here.gradient, direction) > 0.0 else 1.0
    vector = (sign * radius) * direction
    known = here.curvature.image
    image = here.hessian(vector) if known is None else (sign * radius) * known
    return make_step(
        here, vector, image, True, Ended.CURVATURE_START, curvature=here.curvature.size
    )


def conjugate_gradients(
    here: Evaluation,
    radius: float,
    *,
    products: Pairs,
    precondition: Callable[[Any], Any] | None,
    target: float,
    limit: int,
    start: Pair | None = None,
) -> Step:
    """Run CG on the model at ``here`` until it converges or leaves the ball.

    ``products`` holds the directions and Hessian products known from an earlier run at the same
    point, and receives the new ones. CG begins at zero, or at a ``start`` inside the ball, which
    comes with its image under the Hessian.
    """
    inner, scale = here.inner, here.gradient_norm
    if start is not None:
        scale = here.norm(here.gradient + start[1])
    # The model is divided by the residual's norm, or its squares would under- or overflow.
    scale = scale or 1.0
    target /= scale
    gradient = (1.0 / scale) * here.gradient
    vector: Any = None  # for zero, until the first step
    residual = gradient  # of the Newton equation: gradient + image of vector
    largest = decrease = 0.0  # of all curvatures met; of the model
    length = overlap = 0.0  # |vector|^2 and <vector, direction>
    if start is not None:
        vector, residual = start[0], gradient + (1.0 / scale) * start[1]
        length = inner(vector, vector)
        decrease = -0.5 * (inner(vector, gradient) + inner(vector, residual))
    corrected = residual if precondition is None else precondition(residual)
    squared = first = inner(residual, corrected)
    if precondition is not None and not 1.0 / _LARGE < abs(squared) < _LARGE:
        precondition = _normalised(precondition, here.norm(corrected))
        corrected = precondition(residual)
        squared = inner(residual, corrected)
    direction = -corrected
    if not 0.0 < squared < math.inf:
        if here.has_preconditioner and here.gradient_norm > 0.0:
            raise ValueError(
                "preconditioner must be positive definite, <v, preconditioner(point, v)> > 0 for "
                f"all tangent vectors v; it is {first:.3g} for the gradient, divided by its norm: "
                "mind its sign, or make the eigenvalues of what it inverts positive"
            )
        return no_step(here)
    if start is not None:
        overlap = inner(vector, direction)
    ended = Ended.PRODUCT_LIMIT
    room = radius * radius
    for count in range(limit):
        if count < len(products.first):
            product = products.first[count][1]
        else:
            product = here.hessian(direction)
            if count == products.count:
                products.add(direction, product)
        curvature = inner(direction, product) / scale
        if not math.isfinite(curvature):
            raise NonFiniteHessianError(
                "a Hessian product is NaN or infinite; see riemtr.check_hessian(problem, point)"
            )
        alpha = squared / curvature if curvature > 0.0 else math.inf
        size = inner(direction, direction)
        largest = max(largest, abs(curvature) / size * scale)
        longer = length + alpha * (2.0 * overlap + alpha * size)
        if not longer < room:
            tau = _to_boundary(room - length, overlap, size)
            ended = Ended.BOUNDARY if curvature > 0.0 else Ended.NEGATIVE_CURVATURE
            decrease += tau * (squared - 0.5 * tau * curvature)
            step, image = tau * direction, tau * product
            if vector is not None:
                step, image = vector + step, scale * (residual - gradient) + image
            return Step(step, image, radius, scale * decrease, True, ended, None, largest)
        decrease += 0.5 * alpha * squared
        length = longer
        step = alpha * direction
        vector = step if vector is None else vector + step
        residual = residual + (alpha / scale) * product
        remaining = inner(residual, residual)
        if math.sqrt(abs(remaining)) <= target:
            ended = Ended.INTERIOR
            break
        if count + 1 == limit or here.clock.expired:
            break
        corrected = residual if precondition is None else precondition(residual)
        before = squared
        squared = remaining if corrected is residual else inner(residual, corrected)
        if squared <= 0.0:
            ended = Ended.INTERIOR
            break
        # Rounding must not pile up outside the tangent space, where the model means nothing.
        direction = here.tangent((squared / before) * direction - corrected)
        overlap = inner(vector, direction)
    image = scale * (residual - gradient)
    norm = math.sqrt(length)
    return Step(vector, image, norm, scale * decrease, False, ended, None, largest)


def _normalised(precondition: Callable[[Any], Any], size: float) -> Callable[[Any], Any]:
    """Return a preconditioner divided by its size, which matters to nothing but its squares."""
    if not 0.0 < size < math.inf:
        return precondition
    return lambda vector: precondition((1.0 / size) * vector)


def _to_boundary(room: float, overlap: float, size: float) -> float:
    """Positive root tau of |vector + tau * direction|^2 = radius^2, without cancellation."""
    room = max(room, 0.0)
    root = math.sqrt(overlap * overlap + size * room)
    return room / (overlap + root) if overlap > 0.0 else (root - overlap) / size


# -- the preconditioner ---------------------------------------------------------------------------


class InverseHessian(NamedTuple):
    """What a run of CG knows of the inverse Hessian.

    Attributes
    ----------
    directions, images : ndarray, one row for each
        Conjugate directions of curvature 1, and their images under the Hessian, flattened.
    scale : float
        Typical inverse curvature, for the other directions.
    """

    directions: np.ndarray
    images: np.ndarray
    scale: float

    def at(self, here: Evaluation) -> Callable[[Any], Any]:
        """Return the preconditioner at a point, on top of the problem's own if it has one."""
        directions, images, scale = self
        own = own_preconditioner(here)

        def apply(residual: Any) -> Any:
            flat = as_real(residual)
            shares = directions @ flat
            rest = flat - shares @ images
            if own is None:
                rest *= scale
            else:
                rest = as_real(own(here.tangent(from_real(rest, residual))))
            shares -= images @ rest
            return here.tangent(from_real(rest + shares @ directions, residual))

        return apply


def inverse_hessian(here: Evaluation, pairs: Collection[Pair]) -> InverseHessian | None:
    """Return what the pairs of one run of CG at ``here`` tell.

    None where they are too few, or tangent vectors are not arrays in the Euclidean metric.
    """
    if len(pairs) < FEWEST_PAIRS or not here.manifold.dot_metric:
        return None
    conjugate, mapped = zip(*pairs, strict=True)
    directions, images = (
        np.array(list(map(as_real, conjugate))),
        np.array(list(map(as_real, mapped))),
    )
    curvatures = np.einsum("ij,ij->i", directions, images)  # overflows without a warning
    useful = (curvatures > 0.0) & np.isfinite(curvatures)
    if np.count_nonzero(useful) < FEWEST_PAIRS:
        return None
    if not useful.all():
        directions, images, curvatures = directions[useful], images[useful], curvatures[useful]
    roots = np.sqrt(curvatures[:, None])
    directions /= roots
    images /= roots
    typical = float(np.sort(np.einsum("ij,ij->i", images, images))[len(images) // 2])
    if not 1e-100 < typical < 1e100:
        return None
    return InverseHessian(directions, images, 1.0 / typical)
