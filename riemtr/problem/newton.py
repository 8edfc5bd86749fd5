"""The Newton step at a point: how far the nearest minimizer is, by all that is known there.

A slope is neither small nor large by itself. What it means depends on the curvature: the Newton
step ``-H^-1 g`` says how far the minimum of the local model is, and ``g'H^-1 g / 2`` how much lower
it is. Conjugate gradients approach both from below, and the residual r that they leave bounds what
is missing: with no eigenvalue below ``least > 0`` the step is off by ``|r| / least`` at most, and
the decrease by ``|r|^2 / (2 least)``. Lengths are compared with the point's own size in each factor
of a product. Where these sizes differ, vectors are taken in units of them, so that what is large or
small does not depend on the units in which a user writes a factor.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from riemtr.errors import NonFiniteHessianError, OutOfTimeError

if TYPE_CHECKING:
    from riemtr.problem.evaluation import Evaluation


@dataclass(frozen=True)
class NewtonRule:
    """When a minimizer is near, and how long it is looked for."""

    roundings: float = 10.0  # roundings of a cost or a gradient that say nothing
    most_formed: int = 1000  # dimension up to which the matrix is formed where CG does not end
    steps: int = 1000  # steps of conjugate gradients at most
    small: int = 30  # dimension up to which a first look is the whole step, by the matrix
    uneven: float = 1e-2  # smallest over largest size of factors from which on units matter
    first_look: float = 1e-3  # share of the gradient up to which a first look leaves it unexplained


RULE = NewtonRule()


@dataclass(frozen=True)
class Nearness:
    """How far the minimum of the local model is.

    Attributes
    ----------
    near : bool or None
        Whether it is close beside the size of the point in each factor, or lower by no more than
        the rounding of the cost; None where that is not known.
    lengths, sizes : tuple of float
        Length of the Newton step, and size of the point, in each factor of a product.
    error : float
        How far the end of the computed step is from the minimum of the model, at most; infinite
        where a slope along a flat direction is left.
    decrease : float
        By how much the minimum of the model is lower, the error included.
    rounding : float
        Rounding of the cost.
    """

    near: bool | None
    lengths: tuple[float, ...]
    sizes: tuple[float, ...]
    error: float
    decrease: float
    rounding: float

    @property
    def length(self) -> float:
        """How far the minimum of the model is, at least."""
        return math.hypot(*self.lengths)

    @property
    def share(self) -> float:
        """How far it is, over the size of the point, in the factor where that is the most."""
        pairs = zip(self.lengths, self.sizes, strict=True)
        shares = (a / b if b > 0.0 else math.inf if a > 0.0 else 0.0 for a, b in pairs)
        return max(shares, default=0.0)

    @property
    def in_words(self) -> str:
        """The estimate in a sentence."""
        if not math.isfinite(self.length):
            return "the Newton step has no end"
        off = f" +- {self.error:.1e}" if math.isfinite(self.error) else ", or further"
        words = f"{self.length:.1e}{off} away"
        if len(self.sizes) > 1 and math.isfinite(self.share):
            words += f" ({self.share:.1e} of the size of the point in one factor)"
        return f"{words}, lower by {self.decrease:.1e} (rounding {self.rounding:.1e})"


class Newton:
    """The Newton step across the symmetries of a point, as far as it was computed.

    Attributes
    ----------
    step : ndarray
        The step so far.
    residual : float
        Norm of what the step leaves of the gradient of the model.
    decrease : float
        By how much the model is lower at its end.
    least_met, weakest_met, largest_met : float
        The smallest curvature met on the way, the smallest by magnitude, and the largest.
    softness : float
        The smallest eigenvalue over the largest, in units of the factors' sizes; NaN where the
        matrix was not taken.
    softest : ndarray or None
        A unit vector of about that curvature.
    bends_down : bool
        Whether negative curvature was met, so that the model has no minimum.
    """

    def __init__(self, here: Evaluation):
        self._here = here
        self._weights = self._units()
        slope = self.weighted(here.across(here.gradient))
        self.softness = math.nan
        self.softest: np.ndarray | None = None
        self.residual = self._steepness = here.norm(slope)
        self.decrease, self.least_met, self.weakest_met = 0.0, math.inf, math.inf
        self.bends_down = self._is_solved = self._is_exact = False
        self._obstacle = "" if math.isfinite(self.residual) else "the gradient is not finite"
        # Vectors of unit length, whose squares neither over- nor underflow.
        unit = slope.dtype.type(self.residual if 0.0 < self.residual < math.inf else 1.0)
        self._left, self.step = -slope / unit, 0.0 * slope
        self._ahead: np.ndarray | None = None
        self._steps, self.largest_met = 0, 0.0

    # -- questions --------------------------------------------------------------------------------

    def seems_far(self, share: float) -> bool:
        """Return whether the minimum is far by a first look, or there is none.

        Steps of conjugate gradients only grow, so that the look ends as soon as one is too long.
        The smallest curvature met stands for a bound of all.
        """
        enough = max(RULE.first_look * self._steepness, self.rounding)
        while not (self.bends_down or self._is_far(share)):
            if self.residual <= enough and self._verdict(share, self.least_met):
                return False
            if not self._advance():
                return bool(self.limited)
        return True

    def solve(self) -> None:
        """Take the step as far as a first look needs it."""
        while self.residual > RULE.first_look * self._steepness and self._advance():
            pass

    @property
    def limited(self) -> str:
        """What keeps the step from being computed further; empty if nothing does."""
        late = not (self._obstacle or self._is_solved) and self._here.clock.expired
        return "out of time" if late else self._obstacle

    @property
    def is_unknown(self) -> bool:
        """Whether nothing of the step was computed yet."""
        return not (self._is_solved or self._steps)

    @property
    def is_small(self) -> bool:
        """Whether the whole step, by the matrix, costs no more than a look."""
        return self._here.manifold.dim <= RULE.small

    @property
    def is_rounding(self) -> bool:
        """Whether the gradient is nothing but the rounding of the terms that it is made of."""
        here = self._here
        return self._steepness <= RULE.roundings * here.precision * here.gradient_scale

    @property
    def unexplained(self) -> np.ndarray | None:
        """A unit vector along the slope that no curvature explains; None where there is none."""
        if not (self.residual > 0.0 and (self._is_solved or self._steps)):
            return None
        return self._unit(self.weighted(self._left))

    def solve_exactly(self) -> None:
        """Take the whole step by the matrix, where that can be formed."""
        # A step that conjugate gradients end at rounding hides what is soft beside what is stiff.
        if self.limited or self._is_exact or self._here.manifold.dim > RULE.most_formed:
            return
        self._guarded(self._solve)

    @property
    def units_matter(self) -> bool:
        """Whether the sizes of the factors differ so much that curvatures depend on their units."""
        return min(self._weights, default=1.0) < RULE.uneven

    def is_open(self, share: float, least: float) -> bool:
        """Return whether a larger bound of the eigenvalues, which is positive, says more."""
        return least > 0.0 and not self.units_matter and self._verdict(share, least) is None

    def nearness(self, share: float, least: float, flat: float = 0.0) -> Nearness:
        """Return how far the minimum is, as far as that has to be known.

        Parameters
        ----------
        share : float
            Length over the size of the point up to which a step is short.
        least : float
            A number that no eigenvalue is below.
        flat : float
            Curvature that counts as none. Slopes along directions that curve less than that are
            looked for by the cost alone, where the Hessian is too large for its matrix.
        """
        if self.units_matter:
            self.solve_exactly()
            least = 0.0
        elif least <= 0.0 and self.is_small:
            self.solve_exactly()
        while True:
            verdict = self._verdict(share, least, flat)
            if verdict is not None or not self._advance():
                break
        error = self._error(least, flat)
        decrease = self.decrease
        if math.isfinite(error):
            decrease += 0.5 * self.residual * error
        return Nearness(verdict, self._lengths(), self._sizes, error, decrease, self.noise)

    # -- what is known ----------------------------------------------------------------------------

    @property
    def rounding(self) -> float:
        """Rounding of the gradient."""
        here = self._here
        known = here.known_curvature is not None and not self.units_matter
        return self.rounding_of(max(self.largest_met, here.curvature.size if known else 0.0))

    def rounding_of(self, size: float) -> float:
        """Return the rounding of a gradient beside a Hessian of some size."""
        here = self._here
        length = max(self._sizes, default=0.0) if not here.manifold.bounded else 1.0
        terms = math.sqrt(max(here.manifold.dim, 1))
        return RULE.roundings * here.precision * terms * max(here.gradient_scale, size * length)

    @property
    def noise(self) -> float:
        """How far off a cost may be by rounding."""
        return RULE.roundings * self._here.noise

    @property
    def _sizes(self) -> tuple[float, ...]:
        return self._here.sizes(self._here.precision)

    def _lengths(self) -> tuple[float, ...]:
        return tuple(map(float, self._here.space.factor_lengths(self.step)))

    def _error(self, least: float, flat: float) -> float:
        if least > 0.0:
            return self.residual / least
        # Little is left of the slope, and that is rounding.
        left = RULE.first_look * min(self._steepness, self.rounding)
        looked = self._is_solved or self.residual <= left
        if looked and self.residual <= self.rounding:
            return 0.0
        short = self.residual <= RULE.first_look * self._steepness
        if flat > 0.0 and not self.is_small and not self._is_solved and short:
            return self.residual / flat
        return math.inf

    def _verdict(self, share: float, least: float, flat: float = 0.0) -> bool | None:
        """Return whether the minimum is near, as far as that is known."""
        if self.bends_down:
            return False
        error = self._error(least, flat)
        if math.isfinite(error):
            pairs = zip(self._lengths(), self._sizes, strict=True)
            if all(length + error <= share * size for length, size in pairs):
                return True
            if self.decrease + 0.5 * self.residual * error <= self.noise:
                return True
        return False if self._is_far(share) else None

    def _is_far(self, share: float) -> bool:
        if not self.decrease > self.noise:
            return False
        pairs = zip(self._lengths(), self._sizes, strict=True)
        return any(length > share * size for length, size in pairs)

    # -- computing --------------------------------------------------------------------------------

    def _advance(self) -> bool:
        """Take one more step; return whether anything was learned."""
        if self.limited or self._is_solved or self.bends_down:
            return False
        here = self._here
        late = self._steps >= min(here.manifold.dim, RULE.steps)
        if here.has_matrix or (late and here.manifold.dim <= RULE.most_formed):
            self._guarded(self._solve)
        elif late or self.residual == 0.0:
            self._obstacle = "" if self.residual == 0.0 else f"{self._steps} steps of CG"
            self._is_solved = True
            return False
        else:
            self._guarded(self._conjugate)
        return not self.limited

    def _guarded(self, compute: Callable[[], None]) -> None:
        """Compute something, or write down why it cannot be computed."""
        try:
            with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is looked for
                compute()
        except OutOfTimeError:  # whoever asks again may have time
            pass
        except (np.linalg.LinAlgError, NonFiniteHessianError, MemoryError) as error:
            self._obstacle = str(error) or type(error).__name__

    def _units(self) -> tuple[float, ...]:
        """Return the sizes of the factors over the largest; 1 where symmetries mix the factors."""
        sizes = self._here.lengths(self._here.precision)
        largest = max(sizes, default=0.0)
        if len(self._here.symmetries) or not largest > 0.0:
            return tuple(1.0 for _ in sizes)
        return tuple(size / largest if size > 0.0 else 1.0 for size in sizes)

    def weighted(self, vector: np.ndarray) -> np.ndarray:
        """Return a vector times the sizes of the factors, over the largest, where these matter."""
        if len(self._weights) == 1 or min(self._weights) == 1.0:
            return vector
        return self._here.space.weighted(vector, self._weights)

    def _solve(self) -> None:
        """Take the whole step by the eigenvalues of the matrix."""
        here = self._here
        slope = here.coordinates_across(here.gradient)
        weights: Any = 1.0
        if min(self._weights, default=1.0) == 1.0:
            values, vectors = here.eigh_across
        else:
            matrix = here.finite_matrix()
            weights = self._visible(matrix)
            matrix = matrix * np.outer(weights, weights)
            values, vectors = np.linalg.eigh(matrix)
            slope = weights * slope
        self._is_solved = self._is_exact = True
        if not len(values):
            return
        accuracy = RULE.roundings * here.precision * math.sqrt(len(values))
        self.least_met, self.largest_met = float(values[0]), float(np.abs(values).max())
        self.weakest_met = float(np.abs(values).min())
        converted = 0.0 if self.units_matter else here.gradient_scale
        flat = accuracy * max(self.largest_met, converted)
        shares = vectors.T @ slope
        bent = np.abs(values) > flat
        self.bends_down = False
        if values[0] < -flat:
            # A model that bends down has no minimum unless no slope leads there.
            self.bends_down = bool(np.abs(shares[values < -flat]).max() > self.rounding)
        inverse = np.where(bent, 1.0 / np.where(bent, values, 1.0), 0.0)
        moves = -inverse * shares
        self.step = here.vector_across(weights * (vectors @ moves))
        self.residual = float(np.linalg.norm(shares[~bent]))
        self._left = self._unit(here.vector_across(vectors @ np.where(bent, 0.0, shares)))
        self.decrease = float(0.5 * (np.abs(inverse) * shares) @ shares)
        if self.largest_met > 0.0:
            self.softness = float(values[0]) / self.largest_met
            softest = here.vector_across(weights * vectors[:, 0])
            self.softest = self._unit(softest)
            self.is_positive = bool(values[0] > flat)

    def _visible(self, matrix: np.ndarray) -> np.ndarray:
        """Return the weight of each coordinate; 1 in factors whose size is nothing to the cost.

        Such a size is the rounding of zero, and says nothing of a unit.
        """
        here, count = self._here, len(self._weights)
        ones = here.basis.vector(np.ones(here.manifold.dim))
        numbered = here.space.weighted(ones, range(1, count + 1))
        factors = np.rint(np.asarray(here.basis.coordinates(numbered), dtype=float)) - 1.0
        sizes = here.lengths(here.precision)
        changes = np.abs(matrix.diagonal()) * np.take(sizes, factors.astype(int)) ** 2
        self._weights = tuple(
            weight if np.max(changes[factors == number], initial=0.0) > self.noise else 1.0
            for number, weight in enumerate(self._weights)
        )
        return np.take(self._weights, factors.astype(int))

    def largest_bend(self, direction: np.ndarray) -> float:
        """Return the largest curvature in the factors that a direction moves, where it is known."""
        if not self._is_solved or not self.largest_met > 0.0:
            return math.inf
        shares = [1.0 / weight for weight in self._weights]
        length = self._here.norm(self._here.space.weighted(direction, shares))
        return self.largest_met * length * length

    is_positive = False
    """Whether all eigenvalues, in units of the factors' sizes, are positive beyond rounding."""

    def _conjugate(self) -> None:
        """Take one step of preconditioned conjugate gradients."""
        here = self._here
        left, scale = self._left, self._steepness
        ahead = self._towards(left) if self._ahead is None else self._ahead
        image = self.weighted(here.across(here.hessian(self.weighted(ahead))))
        bend = here.inner(ahead, image)
        if not math.isfinite(bend):
            raise NonFiniteHessianError("the Hessian has NaN or infinite entries at this point")
        self.least_met = min(self.least_met, bend)
        self.weakest_met = min(self.weakest_met, abs(bend))
        self.largest_met = max(self.largest_met, here.norm(image))
        self._steps += 1
        if not bend > RULE.roundings * here.precision * self.largest_met:
            self._is_solved = self.residual <= self.rounding
            self.bends_down = not self._is_solved
            return
        along = here.inner(left, ahead)
        self.step = self.step + (scale * (along / bend)) * self.weighted(ahead)
        self.decrease += 0.5 * (scale * (along / bend)) * (scale * along)
        self._left = left = left - (along / bend) * image
        self.residual = scale * here.norm(left)
        if self.residual > 0.0:
            further = self._towards(left)
            further = further - (here.inner(further, image) / bend) * ahead
            self._ahead = self._unit(here.across(further))

    def _towards(self, left: np.ndarray) -> np.ndarray:
        """Return the preconditioned residual, or the residual where that is no way down."""
        here = self._here
        towards = self._unit(here.across(here.precondition(left)))
        return towards if here.inner(left, towards) > 0.0 else self._unit(left)

    def _unit(self, vector: np.ndarray) -> np.ndarray:
        length = self._here.norm(vector)
        return vector / vector.dtype.type(length) if length > 0.0 else vector
