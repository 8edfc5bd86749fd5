r"""Steps of methods to compare with: a curvilinear path, gradient steps, randomized CG.

Curvilinear search combines a descent direction s with a direction d of negative curvature in a path

.. math:: s(\alpha) = \alpha^2 s + \alpha d, \qquad 0 \le \alpha \le 1,

along which the cost is searched (Moré and Sorensen, Math. Programming 16, 1979; Goldfarb, Math.
Programming 18, 1980). Both directions come from Lanczos' recurrence, as Lucidi, Rochetich and Roma
have it (SIAM J. Optim. 8, 1998).

At a saddle the gradient tells no direction, and near one hardly any. A start that is a little
random has a part along every direction of negative curvature, which CG then meets. Convergence
proofs ask for the decrease of the Cauchy step, which a random start may miss, so the better of the
two is taken (Absil, Baker and Gallivan, Found. Comput. Math. 7, 2007; Manopt's trustregions.m).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from riemtr.arguments import check_positive, generator
from riemtr.manifolds.arrays import from_real
from riemtr.problem import Evaluation
from riemtr.subproblem.cubic import GradientKrylov
from riemtr.subproblem.model import Ended, FreshModel, Model, Step, make_step, no_step
from riemtr.subproblem.truncated_cg import (
    STORED_ENTRIES,
    Pairs,
    along_curvature,
    conjugate_gradients,
    residual_target,
)

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


# -- steps against the gradient, and perturbations where there is none: no Hessian product --------

# Factor by which the step size may grow from one step to the next.
_GROWTH = 1.1


@dataclass(frozen=True)
class PerturbedGradient:
    r"""The step :math:`-t g`, whose size adapts to the cost.

    The model is :math:`\langle g, s \rangle + |s|^2 / 2t`. A size t that is too long for the
    curvature has a poor ratio of actual to predicted decrease, after which the radius halves the
    step; each step that follows may be a tenth longer. It takes no Hessian product.

    Parameters
    ----------
    perturbation : float
        Length of a perturbation, over the manifold's typical distance.
    rng : numpy.random.Generator or int
        Source of the perturbations; a run of :class:`riemtr.solvers.PerturbedGD` brings its own.

    Examples
    --------
    >>> import numpy as np, riemtr
    >>> here = riemtr.problems.build("rayleigh", rng=0, n=20).problem.at(np.eye(20)[0])
    >>> step = PerturbedGradient().at(here).step(radius=0.1)
    >>> round(step.norm, 12), here.counts.hessian_products
    (0.1, 0)
    """

    perturbation: float = 0.01
    rng: Any = field(default=0, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_positive("perturbation", self.perturbation)
        object.__setattr__(self, "rng", generator(self.rng))

    def perturbed(self, here: Evaluation) -> tuple[Any, float]:
        """Return a random tangent vector, and its length."""
        length = self.perturbation * here.manifold.typical_dist
        return length * here.space.random(self.rng), length

    def at(self, here: Evaluation, before: Model | None = None) -> Model:
        """Return the model, whose steps go against the gradient."""
        return _GradientModel(here, before if isinstance(before, _GradientModel) else None)


class _GradientModel:
    """The model at one point: how long steps over the gradient may be, and the last curvature."""

    def __init__(self, here: Evaluation, before: _GradientModel | None):
        self.here, self._longest, self._curvature = here, math.inf, 0.0
        if before is not None:
            self._longest = before._longest
            known = _curvature(here, before.here, before._length)
            self._curvature = known or before._curvature

    def step(self, radius: float) -> Step:
        """Return a step against the gradient of at most the radius."""
        gradient, slope = self.here.gradient, self.here.gradient_norm
        if slope == 0.0:
            return no_step(self.here)
        size = min(radius / slope, self._longest)
        self._longest, self._length = _GROWTH * size, size * slope
        return Step(
            vector=-size * gradient,
            hessian_vector=-gradient,  # by the model, whose Hessian is the identity over t
            norm=size * slope,
            predicted_decrease=0.5 * size * slope * slope,
            on_boundary=True,
            ended=Ended.BOUNDARY,
            curvature=self._curvature,
        )


def _curvature(here: Evaluation, before: Evaluation, length: float) -> float:
    """Return the change of the gradient along a step over its length; 0 where it is not known."""
    try:
        carried = here.space.transported(before.gradient, before.space)
    except NotImplementedError:  # of manifolds of others
        return 0.0
    return here.norm(here.gradient - carried) / length if length > 0.0 else 0.0


# -- truncated CG from a small random vector, as the option ``useRand`` of Manopt has it ----------

# Share of the radius that a random start has at most.
_WELL_INSIDE = 1e-4


@dataclass(frozen=True)
class RandomizedCG:
    """Truncated CG that starts at a random vector, with the Cauchy step to fall back on.

    It uses no preconditioner, no negative curvature that others have found, and nothing of the
    steps before: each call costs two products more than those of CG. The defaults are Manopt's.

    Parameters
    ----------
    kappa, theta : float
        Stop when the residual is below ``|r| * min(kappa, |r|**theta)``, with r that of the start.
    length : float
        Length of the random start.
    rng : numpy.random.Generator or int
        Source of the starts; a run of :class:`riemtr.solvers.RandomizedTRM` brings its own.

    Examples
    --------
    >>> import numpy as np, riemtr
    >>> case = riemtr.problems.build("rayleigh", rng=0, n=20)
    >>> saddle = case.problem.at(case.truth.details["eigenvectors"][:, 5])
    >>> step = RandomizedCG(rng=0).at(saddle).step(radius=0.1)
    >>> step.predicted_decrease > 0.0, round(step.norm, 9)
    (True, 0.1)
    """

    kappa: float = 0.1
    theta: float = 1.0
    length: float = 1e-6
    rng: Any = field(default=0, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("kappa", "theta", "length"):
            check_positive(name, getattr(self, name))
        object.__setattr__(self, "rng", generator(self.rng))

    def at(self, here: Evaluation, before: Model | None = None) -> Model:
        """Return the model, whose steps are the better of truncated CG's and the Cauchy step."""
        return FreshModel(here, self._step)

    def _step(self, here: Evaluation, radius: float) -> Step:
        vector = min(self.length, _WELL_INSIDE * radius) * here.space.random(self.rng)
        image = here.hessian(vector)
        residual = here.norm(here.gradient + image)
        step = conjugate_gradients(
            here,
            radius,
            products=Pairs(here.gradient.size),
            precondition=None,
            target=residual * min(self.kappa, residual**self.theta),
            limit=max(here.manifold.dim, 1),
            start=(vector, image),
        )
        if here.gradient_norm == 0.0:
            return step
        cauchy = cauchy_step(here, radius)
        return step if step.predicted_decrease >= cauchy.predicted_decrease else cauchy


def cauchy_step(here: Evaluation, radius: float) -> Step:
    """Return the minimiser of the model along the gradient, within the ball."""
    unit = here.gradient / -here.gradient_norm
    image = here.hessian(unit)
    curvature = here.inner(unit, image)
    bounded = not curvature * radius > here.gradient_norm
    length = radius if bounded else here.gradient_norm / curvature
    ended = Ended.BOUNDARY if bounded else Ended.INTERIOR
    return make_step(here, length * unit, length * image, bounded, ended, curvature=abs(curvature))
