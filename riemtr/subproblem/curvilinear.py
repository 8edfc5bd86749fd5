r"""Steps along a curve that leaves a point with negative curvature and ends with Newton's step.

Curvilinear search combines a descent direction s with a direction d of negative curvature in a path

.. math:: s(\alpha) = \alpha^2 s + \alpha d, \qquad 0 \le \alpha \le 1,

along which the cost is searched (Moré and Sorensen, Math. Programming 16, 1979; Goldfarb, Math.
Programming 18, 1980). Both directions come from Lanczos' recurrence, as Lucidi, Rochetich and Roma
have it (SIAM J. Optim. 8, 1998).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from riemtr.arguments import check_positive
from riemtr.manifolds.arrays import from_real
from riemtr.problem import Evaluation
from riemtr.subproblem.cubic import GradientKrylov
from riemtr.subproblem.step import Ended, Model, Step, make_step, no_step
from riemtr.subproblem.truncated_cg import STORED_ENTRIES, along_curvature, residual_target

# Share of the largest curvature below which a curvature is taken for this, so that steps end.
_LEAST_CURVATURE = 1e-8
# Share by which the Krylov space grows between two looks at its tridiagonal matrix.
_BETWEEN_LOOKS = 8


class _Path(NamedTuple):
    """The path at one point, along which the model is searched."""

    here: Evaluation
    newton: Any  # s
    newton_image: Any
    curved: Any  # d, None where no curvature is negative
    curved_image: Any
    size: float  # the largest curvature met

    def step(self, radius: float) -> Step:
        """Return the step to where the path leaves the ball, or to its end inside."""
        here = self.here
        if self.curved is None:
            share = min(1.0, radius / (here.norm(self.newton) or 1.0))
            vector, image = share * self.newton, share * self.newton_image
            bounded, ended = share < 1.0, Ended.BOUNDARY if share < 1.0 else Ended.INTERIOR
        else:
            alpha = self._alpha(radius)
            vector = alpha * (alpha * self.newton + self.curved)
            image = alpha * (alpha * self.newton_image + self.curved_image)
            bounded, ended = True, Ended.NEGATIVE_CURVATURE
        return make_step(here, vector, image, bounded, ended, curvature=self.size)

    def _alpha(self, radius: float) -> float:
        """Return the first alpha at which the path leaves the ball, 1 if it does not."""
        inner = self.here.inner
        quartic = (
            inner(self.newton, self.newton),
            2.0 * inner(self.newton, self.curved),
            inner(self.curved, self.curved),
            0.0,
            -radius * radius,
        )
        roots = np.roots(quartic)
        real = roots.real[(np.abs(roots.imag) <= 1e-6 * np.abs(roots)) & (roots.real > 0.0)]
        return min(1.0, float(real.min(initial=1.0)))


@dataclass(frozen=True)
class CurvilinearPath:
    """The point where a curvilinear path leaves the ball: a search along it, as the radius shrinks.

    The descent direction is Newton's with the absolute values of all curvatures, the direction of
    negative curvature is that of the smallest one in the same Krylov space, or the one that is
    known at the point. As long as the first radius at the point, it bends towards Newton's step.
    After a rejected step nothing is computed anew.

    Parameters
    ----------
    kappa, theta : float
        The Krylov space grows until the residual of Newton's equation is below
        ``|g| * min(kappa, (|g| / |g_before|)**(1 + theta))``, as for :class:`riemtr.TruncatedCG`.

    Examples
    --------
    >>> import numpy as np, riemtr
    >>> case = riemtr.problems.build("rayleigh", rng=0, n=20)
    >>> here = case.problem.at(case.problem.random_point(0))
    >>> long, short = map(CurvilinearPath().at(here).step, (0.1, 0.05))
    >>> bool(short.norm <= 0.05 < long.norm <= 0.1 * (1 + 1e-9))
    True
    """

    kappa: float = 0.1
    theta: float = 0.5

    def __post_init__(self) -> None:
        for name in ("kappa", "theta"):
            check_positive(name, getattr(self, name))

    def at(self, here: Evaluation, before: Model | None = None) -> Model:
        """Return the model, whose steps end where the path leaves the ball, or inside."""
        known = isinstance(before, _PathModel) and before.path is not None
        last = before.here if known else None  # type: ignore[union-attr]
        return _PathModel(here, residual_target(here, last, self.kappa, self.theta))


class _PathModel:
    """The model at one point: the path is made for the first radius, and searched for others."""

    def __init__(self, here: Evaluation, target: float):
        self.here, self._target = here, target
        self.path: _Path | None = None

    def step(self, radius: float) -> Step:
        """Return the step to where the path leaves the ball, or to its end inside."""
        here = self.here
        if here.gradient_norm == 0.0:
            flat = _known_direction(here) is None
            return no_step(here) if flat else along_curvature(here, radius)
        self.path = self.path or _path(here, radius, self._target)
        return self.path.step(radius)


def _known_direction(here: Evaluation) -> Any:
    """Return the direction of negative curvature that is known at a point; None for none."""
    known = here.known_curvature
    return None if known is None or not known.is_negative else known.direction


def _path(here: Evaluation, radius: float, target: float) -> _Path:
    """Return the path at a point of nonzero gradient, in a large enough Krylov space."""
    krylov = GradientKrylov(here)
    limit = min(max(here.manifold.dim, 1), max(STORED_ENTRIES // krylov.rows.shape[1], 1))
    looked = 0
    while True:
        krylov.extend()
        last = krylov.is_exhausted or krylov.steps >= limit or here.clock.expired
        if not (last or krylov.steps > looked + looked // _BETWEEN_LOOKS):
            continue
        looked = krylov.steps
        values, vectors = krylov.eigen()
        largest = float(np.abs(values).max())
        sizes = np.maximum(np.abs(values), _LEAST_CURVATURE * largest or 1.0)
        newton = vectors @ (-here.gradient_norm * vectors[0] / sizes)
        if last or krylov.offdiagonal[-1] * abs(newton[-1]) <= target:
            break
    curved: Any = _known_direction(here)
    curved_image: Any = None
    if curved is not None:
        known = here.curvature.image
        curved_image = here.hessian(curved) if known is None else known
    elif values[0] < 0.0:
        curved, curved_image = _combined(krylov, vectors[:, 0])
    if curved is not None:
        length = -radius if here.inner(here.gradient, curved) > 0.0 else radius
        curved, curved_image = length * curved, length * curved_image
    return _Path(here, *_combined(krylov, newton), curved, curved_image, largest)


def _combined(krylov: GradientKrylov, coordinates: np.ndarray) -> tuple[Any, Any]:
    """Return a vector of a Krylov space and its image under the Hessian."""
    count, beside = krylov.steps, np.array(krylov.offdiagonal)
    rows = krylov.rows[: count + 1]
    image = np.zeros(len(rows))
    image[:count] = np.array(krylov.diagonal) * coordinates
    image[1:] += (beside * coordinates)[: len(rows) - 1]
    image[: count - 1] += beside[:-1] * coordinates[1:]
    here, dtype = krylov.here, rows.dtype
    vector, mapped = (
        here.tangent(from_real(factors.astype(dtype) @ rows[: len(factors)], here.gradient))
        for factors in (coordinates, image)
    )
    return vector, mapped
