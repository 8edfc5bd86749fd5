"""The smallest eigenvalue of a Hessian: on which side of a tolerance it lies.

One object per point is asked ``side(threshold)`` and refines what it knows until that is decided:
by Cholesky factorizations or an eigendecomposition where the Hessian matrix is known or cheap, else
by Lanczos (:mod:`riemtr.problem.lanczos`). Nothing is computed twice: a second question goes on
where the first one ended, and what is known when time is up stays known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from riemtr.errors import NonFiniteHessianError, OutOfTimeError
from riemtr.problem.cholesky import indefinite_direction, shifted_cholesky
from riemtr.problem.lanczos import FAILURE_PROBABILITY, Krylov
from riemtr.problem.shared_work import ROUGH_ACCURACY

if TYPE_CHECKING:
    from riemtr.problem.evaluation import Evaluation

# Dimension up to which the matrix is formed by products where Lanczos does not decide.
_FEW_PRODUCTS = 200
# Dimension up to which all eigenvalues are computed for who asks how many vanish.
_MOST_COUNTED = 1000
# Lanczos steps that tell the size of a Hessian to a factor below 2.
_MEASURING = 5
# Halving a step of differences leaves a quarter of their error: this much of the change, and more,
# is the error of the longer step.
_COARSE = 2.0
# Ritz value over the tolerance from which on it is clearly positive.
_CLEARLY = 10.0
# Residual of a direction of negative curvature, relative to it, that is good enough to follow.
_FOLLOWED = 1.0
# Negative curvature over the size of the Hessian that is worth following whatever the residual.
_WORTH_FOLLOWING = 0.01
# Dimension up to which the best direction costs hardly more than any.
_FEW_DIMENSIONS = 30
# Share of the smallest Ritz value that is asked for as a bound of the smallest eigenvalue.
_RITZ_SHARE = 0.1
# Residual of such a direction that is good enough for a certificate.
_WITNESS = 0.02
# Residuals beyond the expected one, in units of the accuracy of products, that are still rounding.
_ROUNDINGS = 1e3
# Relative asymmetry from which on a Hessian is not symmetric, whatever rounding does, in units of
# the square root of the precision.
_ASYMMETRIC = 10.0


@dataclass(frozen=True)
class Threshold:
    """How negative a curvature may be and still count as none.

    Attributes
    ----------
    absolute : float
        The bound itself.
    relative : float
        The bound over the size of the Hessian; the larger of the two counts.
    """

    absolute: float = 0.0
    relative: float = 0.0

    def at(self, size: float) -> float:
        """Return the bound for a Hessian of some size."""
        relative = self.relative * size if self.relative and math.isfinite(size) else -math.inf
        return max(self.absolute, relative)


class Curvature:
    """What is known of the extreme eigenvalues of a Hessian.

    Parameters
    ----------
    here : Evaluation
    failure_probability : float
        Chance that :attr:`lower_bound` is wrong where it comes from Lanczos.

    Attributes
    ----------
    min_eigenvalue, max_eigenvalue : float
        Estimates of the smallest eigenvalue (from above) and of the largest (from below); NaN where
        nothing is known.
    lower_bound : float
        A number that the smallest eigenvalue is not below.
    doubt : float
        How far the smallest eigenvalue may be above ``min_eigenvalue``: rounding, and the error of
        the Hessian's own product along the direction.
    size : float
        Size of the Hessian, from below.
    asymmetry : float
        Largest difference seen between <u, Hv> and <v, Hu>.
    bend : float
        The curvature along :attr:`direction`, as a product of its own has measured it.
    limited : str
        What kept it from being decided, in words; empty if nothing did.
    """

    def __init__(self, here: Evaluation, failure_probability: float = FAILURE_PROBABILITY):
        self._here, self._failure_probability = here, failure_probability
        self.min_eigenvalue = math.nan
        self.max_eigenvalue = math.nan
        self.lower_bound = -math.inf
        self.doubt = 0.0
        self.size = 0.0
        self.asymmetry = 0.0
        self.bend = math.nan
        self.products = 0
        self.limited = ""
        self._krylov: Krylov | None = None
        self._most_steps = math.inf
        self._is_decomposed = False
        # Whether a direction of negative curvature is wanted to the accuracy of a certificate.
        self._in_detail = here.manifold.dim <= _FEW_DIMENSIONS
        # Error of products along the direction, as far as it was measured.
        self._error = 0.0
        self._direction: np.ndarray | None = None
        # The Hessian product with the direction, where one was taken.
        self.image: np.ndarray | None = None
        self._is_negative = False
        if here.manifold.dim == 0 or here.manifold.dim == len(here.symmetries):
            self.min_eigenvalue, self.max_eigenvalue = math.inf, -math.inf
            self.lower_bound = math.inf

    @property
    def here(self) -> Evaluation:
        """The point."""
        return self._here

    # -- questions --------------------------------------------------------------------------------

    def side(self, threshold: Threshold) -> int:
        """Return 1 if no eigenvalue is below the threshold, -1 if one is, 0 if it is not decided.

        Parameters
        ----------
        threshold : Threshold
            Eigenvalues of at least minus this much count as nonnegative.
        """
        return self.known_side(threshold) or self._refined(threshold)

    def _refined(self, threshold: Threshold) -> int:
        """Refine what is known; return the side."""
        before = self._here.counts.hessian_products
        self.limited = ""
        try:
            self._refine(threshold)
        # Of the cost, beside its domain, or with very many variables.
        except (np.linalg.LinAlgError, NonFiniteHessianError, MemoryError) as error:
            self.limited = str(error) or type(error).__name__
        except OutOfTimeError:
            self.limited = "out of time"
        self.products += self._here.counts.hessian_products - before
        return self.known_side(threshold)

    def estimate(self, threshold: Threshold) -> None:
        """Find the smallest eigenvalue itself, where only its side is known so far.

        A run needs a direction to follow out of a saddle; here it is found to a few percent, and a
        saddle is told from a maximizer.
        """
        decided = self.side(threshold) > 0
        if self._krylov is not None and self.is_negative and not (decided or self._in_detail):
            self._in_detail = True
            self._refined(threshold)
        if math.isnan(self.max_eigenvalue) and not self.limited:
            before = self._here.counts.hessian_products
            try:
                self._from_matrix()
            except (np.linalg.LinAlgError, NonFiniteHessianError, OutOfTimeError) as error:
                self.limited = str(error)
            self.products += self._here.counts.hessian_products - before

    def settle_positive(self, threshold: Threshold) -> None:
        """Find out whether the smallest eigenvalue is above zero, where that seems to be so."""
        if self.lower_bound > 0.0 or self.is_negative:
            return
        # Next to nothing in many dimensions is a flat direction, or takes too long to be told.
        clear = not self.min_eigenvalue <= self.tolerated(threshold)
        # So is curvature that a slope causes, as along an orbit.
        here = self._here
        caused = self.min_eigenvalue * here.reach(here.gradient) <= here.gradient_norm
        if caused or not (clear or here.manifold.dim <= _FEW_PRODUCTS):
            return
        if math.isnan(self.min_eigenvalue):
            self.estimate(Threshold())
        self.sharpen()

    def sharpen(self) -> None:
        """Raise the lower bound to a share of the smallest Ritz value, if that is positive.

        It takes no more than as many products again as the questions before.
        """
        if self._krylov is not None:
            self._most_steps = max(2 * self._krylov.steps, _FEW_PRODUCTS)
        estimate, wanted = math.inf, _RITZ_SHARE * self.min_eigenvalue
        while self.lower_bound < wanted and self.doubt < self.min_eigenvalue < estimate:
            estimate = self.min_eigenvalue
            self._refined(Threshold(absolute=-wanted))
            wanted = _RITZ_SHARE * self.min_eigenvalue

    @property
    def is_negative(self) -> bool:
        """Whether negative curvature was found."""
        return self._is_negative or self.min_eigenvalue < 0.0

    @property
    def direction(self) -> np.ndarray | None:
        """Unit vector of about the smallest curvature known; None where nothing was asked."""
        if self._direction is None:
            if self._is_negative and self._krylov is None:
                self._from_matrix()
            elif self._krylov is not None and self._krylov.steps and self._krylov.finite:
                self._direction = self._krylov.best_kept()[0]
        return self._direction

    @property
    def drawn(self) -> tuple[np.ndarray, np.ndarray] | None:
        """A unit vector that nobody chose, with the Hessian's product, where one was taken."""
        return None if self._krylov is None else self._krylov.first

    def eigenvalues(self) -> np.ndarray | None:
        """Return all eigenvalues, where the matrix is known or small; None elsewhere."""
        here = self._here
        if not (here.has_matrix or here.offers_matrix or here.manifold.dim <= _MOST_COUNTED):
            return None
        try:
            return here.eigh[0]
        except (np.linalg.LinAlgError, NonFiniteHessianError, OutOfTimeError):
            return None

    def measured_size(self) -> float:
        """Return the size of the Hessian from below, by a few products if nothing is known yet."""
        here = self._here
        if self.size or here.manifold.dim == 0:
            return self.size
        if here.offers_matrix or here.has_matrix:
            self.size = _size(here.hessian_matrix())
        else:
            self._krylov = krylov = self._begun()
            with np.errstate(invalid="ignore"):  # what is not finite is looked for
                while krylov.steps < _MEASURING and not krylov.at_limit:
                    krylov.step(accuracy_of(here))
            if krylov.finite:
                smallest, largest, _ = krylov.extremes()
                self.size = max(abs(smallest), abs(largest))
        return self.size

    def tolerated(self, threshold: Threshold) -> float:
        """Return the threshold as a number, for the size of this Hessian."""
        return threshold.at(self.size)

    @property
    def is_unsymmetric(self) -> bool:
        """Whether the Hessian is clearly not symmetric, so that eigenvalues mean nothing."""
        here = self._here
        accuracy = math.sqrt(here.precision)
        if here.hessian_kind == "differences":
            accuracy = math.sqrt(accuracy_of(here))
        size = max(self.size, here.conversion_size)
        return self.asymmetry > _ASYMMETRIC * accuracy * size

    # -- answers ----------------------------------------------------------------------------------

    def known_side(self, threshold: Threshold) -> int:
        """Return the side as far as it is known, without a look at anything further."""
        tolerance = threshold.at(self.size)
        if self.lower_bound > -math.inf and self.lower_bound >= -tolerance:
            return 1
        if self.min_eigenvalue + self.doubt < -tolerance or self._is_negative:
            return -1
        return 0

    def _refine(self, threshold: Threshold) -> None:
        here = self._here
        if self._is_decomposed:  # there is no more to know
            self.limited = "rounding"
            return
        if here.offers_matrix or here.has_matrix:
            self._by_cholesky(threshold)
            affordable = True
        else:
            self._by_lanczos(threshold)
            few = here.manifold.dim <= _FEW_PRODUCTS and math.isfinite(self.min_eigenvalue)
            affordable = few and self.limited != "out of time"
        if affordable and not self.known_side(threshold):
            self._from_matrix()
            self.limited = "" if self.known_side(threshold) else "rounding"

    def _by_cholesky(self, threshold: Threshold) -> None:
        """Decide by factorizations, which cost a fraction of an eigenvalue."""
        here = self._here
        # What is not positive needs its matrix in any case, to be left.
        if here.is_rough and self._factorize(here.rough_matrix, threshold, ROUGH_ACCURACY):
            return
        self._factorize(here.hessian_matrix(), threshold, 0.0)

    def _factorize(self, matrix: np.ndarray, threshold: Threshold, accuracy: float) -> bool:
        """Decide by two factorizations of a matrix of some accuracy; return whether it was."""
        here = self._here
        rounding, error = self._errors(matrix, accuracy)
        if not math.isfinite(error):
            return False
        matrix = here.matrix_across(matrix)
        self.size = max(self.size, _size(matrix))
        tolerance = threshold.at(self.size)
        if shifted_cholesky(matrix, tolerance - error)[1] == 0:
            self.lower_bound = max(self.lower_bound, -tolerance)
            return True
        factor, failed_at = shifted_cholesky(matrix, tolerance + error)
        if failed_at == 0:
            return False
        # A product of the Hessian itself must confirm that the matrix is too negative.
        if accuracy > 0.0:
            # A rough matrix is as good for the direction that a run is going to follow.
            self.doubt = rounding
            leftmost = here.vector_across(np.linalg.eigh(matrix)[1][:, 0])
            return self._is_followed(leftmost, threshold)
        witness = here.vector_across(indefinite_direction(matrix, factor, failed_at))
        bend = here.inner(witness, here.hessian(witness)) / here.inner(witness, witness)
        # Less than a positive number that was asked for need not be negative.
        self._is_negative = bend + rounding < -max(tolerance, 0.0)
        return self._is_negative

    def _errors(self, matrix: np.ndarray, accuracy: float) -> tuple[float, float]:
        """Rounding of the Hessian's eigenvalues, and how far off those of the matrix may be."""
        size = float(np.linalg.norm(matrix))
        rounding = rounding_of(self._here, size, len(matrix))
        return rounding, max(accuracy * max(size, self._here.conversion_size), rounding)

    def _from_matrix(self) -> None:
        here = self._here
        if self._is_decomposed:
            return
        values, vectors = here.eigh_across
        self._is_decomposed = True
        if len(values) == 0:
            self.min_eigenvalue, self.max_eigenvalue = math.inf, -math.inf
            self.lower_bound = math.inf
            return
        self.size = float(np.abs(values[[0, -1]]).max())
        rounding = rounding_of(here, self.size, len(values))
        self.asymmetry = max(self.asymmetry, here.matrix_asymmetry)
        self.min_eigenvalue, self.max_eigenvalue = float(values[0]), float(values[-1])
        self._direction = direction = here.vector_across(vectors[:, 0])
        self.widen(self._residual(direction, self.min_eigenvalue))
        self.doubt = rounding + self._error
        self.lower_bound = max(self.lower_bound, self.min_eigenvalue - self.doubt)

    def _begun(self) -> Krylov:
        # In few dimensions hardly a step is saved by a larger chance.
        few = self._here.manifold.dim <= _FEW_DIMENSIONS
        chance = self._failure_probability**2 if few else self._failure_probability
        return self._krylov or Krylov(self._here, chance)

    def _by_lanczos(self, threshold: Threshold) -> None:
        here = self._here
        self._krylov = krylov = self._begun()
        accuracy = accuracy_of(here)
        begun, looked, x, expired = krylov.steps, 0, math.nan, False
        # Numbers that are not finite are looked for; BLAS flags some where none are.
        with np.errstate(invalid="ignore"):
            while True:
                expired = here.clock.expired and krylov.steps > 0
                enough = krylov.steps >= self._most_steps
                if not (krylov.at_limit or expired or enough):
                    krylov.step(accuracy)
                if not krylov.finite:
                    self.limited = "the Hessian has NaN or infinite entries at this point"
                    return
                last = krylov.at_limit or expired or enough
                # Ritz values cost as much as a few products: they are looked at now and then to
                # know the size of the Hessian, and where the recurrence has something to say.
                side = 0 if x != x else krylov.side_of(x)
                due = krylov.steps >= 2 * looked or side > 0
                told = side < 0 and krylov.steps >= looked + looked // 16 + 1
                if last or due or told:
                    if self._look(threshold) or last:
                        break
                    looked = krylov.steps
                    x = rounding_of(here, self.size, 2 * looked) + self._excluded(threshold)
        if not self.known_side(threshold):
            reached = "rounding" if krylov.exhausted else f"{krylov.steps} Lanczos steps"
            self.limited = "out of time" if expired else reached
        if krylov.steps > begun or self.known_side(threshold) < 0:
            self._confirm(threshold)

    def _look(self, threshold: Threshold) -> bool:
        """Take over what the recurrence knows; return whether that settles it."""
        krylov, here = self._krylov, self._here
        assert krylov is not None
        smallest, largest, residual = krylov.extremes()
        self.size = max(self.size, abs(smallest), abs(largest))
        self.asymmetry = krylov.asymmetry
        self.min_eigenvalue, self.max_eigenvalue = smallest, largest
        rounding = rounding_of(here, self.size, krylov.steps)
        self.doubt = rounding + self._error
        tolerance = threshold.at(self.size)
        if smallest + rounding < -tolerance:
            if not self._in_detail:
                deep = smallest <= -_WORTH_FOLLOWING * self.size
                return deep or residual <= _FOLLOWED * -smallest
            # A saddle told from a maximizer.
            told = largest > tolerance or krylov.excludes_above(tolerance - rounding)
            return residual <= _WITNESS * -smallest and told
        x = rounding + self._excluded(threshold)
        if not krylov.excludes(x):
            return False
        bound = krylov.error(smallest, smallest - x)
        self.lower_bound = max(self.lower_bound, smallest - bound - self.doubt)
        return self.lower_bound >= -tolerance

    def _excluded(self, threshold: Threshold) -> float:
        """Return the eigenvalue to exclude: one that is negative to tolerance, or hardly positive.

        Where the smallest Ritz value is clearly positive, a step or two more tell a strict minimum
        from a flat one.
        """
        tolerance = threshold.at(self.size)
        if tolerance < 0.0:
            return -tolerance
        return 2.0 * tolerance if self.min_eigenvalue > _CLEARLY * tolerance else -tolerance

    def _confirm(self, threshold: Threshold) -> None:
        """Measure the residual of the direction itself; an unexpected one widens the bounds."""
        krylov = self._krylov
        assert krylov is not None
        here = self._here
        if self.known_side(threshold) < 0:
            descent = None if self._in_detail else krylov.descent(self.min_eigenvalue)
            if self._is_followed(descent, threshold):
                return
            self._direction = direction = krylov.ritz_vector()
            self.image = here.second_opinion(direction)
            self.bend = here.inner(direction, self.image)
            self.widen(self.bend - self.min_eigenvalue)
            return
        self._direction, value, expected, image = krylov.best_kept()
        if image is not None and self._is_consistent(krylov):
            self.image, self.bend = image, value
        else:
            self.widen(self._residual(self._direction, value) - expected)

    def _is_consistent(self, krylov: Krylov) -> bool:
        """Whether products fit each other to rounding, so that one more would tell nothing new.

        An error of a product shows in its inner product with one vector by its share of the root of
        the dimension.
        """
        here = self._here
        error = math.sqrt(here.manifold.dim) * krylov.asymmetry
        exact = here.hessian_kind != "differences" and krylov.steps > 1
        return exact and error <= _ROUNDINGS * accuracy_of(here) * self.size

    def _is_followed(self, direction: np.ndarray | None, threshold: Threshold) -> bool:
        """Take a direction to follow out of a saddle, if a product confirms its curvature."""
        if direction is None:
            return False
        here = self._here
        image = here.second_opinion(direction)
        bend = here.inner(direction, image)
        if not bend + self.doubt < -threshold.at(self.size):
            return False
        self._direction, self.image, self.bend = direction, image, bend
        self.min_eigenvalue = bend
        return True

    def _residual(self, direction: np.ndarray, value: float) -> float:
        """Return by how much a direction and its curvature are no eigenvector and eigenvalue."""
        here = self._here
        self.image = product = here.second_opinion(direction)
        self.bend = here.inner(direction, product)
        return here.norm(here.across(product - value * direction))

    def widen(self, error: float) -> None:
        """Take a measured error of products into account, if it is no rounding."""
        here = self._here
        if here.hessian_kind == "differences":
            error *= _COARSE
        further = error - self._error
        if further > 0.0 and error > _ROUNDINGS * accuracy_of(here) * self.size:
            self._error = error
            self.lower_bound -= further
            self.doubt += further


def _size(matrix: np.ndarray) -> float:
    """Return a bound of a matrix's norm from below, its largest diagonal entry."""
    return float(np.abs(matrix.diagonal()).max(initial=0.0))


def rounding_of(here: Evaluation, size: float, terms: int) -> float:
    """Error of an eigenvalue of a Hessian of the given size."""
    return accuracy_of(here) * max(size, here.conversion_size) * math.sqrt(terms)


def accuracy_of(here: Evaluation) -> float:
    """Relative accuracy of Hessian products."""
    if here.hessian_kind == "differences":
        return 10.0 * here.precision ** (2.0 / 3.0)
    return 10.0 * here.precision
