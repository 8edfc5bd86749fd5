r"""The paper's cost: find a sparse vector in the row space of the data.

.. math:: f(q; Y) = \frac1p \sum_{k=1}^p h_\mu(q' y_k), \qquad h_\mu(z) = \mu\log\cosh(z/\mu)

over the unit sphere (eq. main_obj). With :math:`e = \exp(-2|z|/\mu)` there is no overflow at any
scale: :math:`h_\mu = |z| + \mu\log(1+e) - \mu\log 2`, :math:`h_\mu' = \tanh(z/\mu)`,
:math:`h_\mu'' = 4e/((1+e)^2\mu)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import norm

from riemtr.arguments import check_positive
from riemtr.data.blocks import Samples, as_data
from riemtr.manifolds import Sphere
from riemtr.problem import Problem
from riemtr.problem.books import is_known, lazy
from riemtr.problem.pullback import DerivativeBounds, gamma
from riemtr.problem.shared_work import smoothings
from riemtr.problems.surrogates import LOG_COSH_THIRD
from riemtr.problems.weighted_gram import taken, weighted_gram

# The first smoothing parameter of the continuation, as a share of the data's scale.
_FIRST_SMOOTHING = 0.3
# The factor between the smoothing parameters of two stages.
_SMOOTHING_FACTOR = 0.5
# The gradient norm at which a stage ends, as a share of the data's scale.
_STAGE_TOLERANCE = 1e-2
# Entries of the data up to which a copy in single precision is worth its memory.
_NARROW_ENTRIES = 10**7
# The gradient norm to which digits of single precision suffice, as a share of the data's scale.
_NARROW_TOLERANCE = 3e-5
# Floats between the rows of that copy: rows a power of two apart share a few lines of the cache.
_PADDING = 16
# Exponent beyond which an exponential is as good as infinite, and far from overflow.
_LARGEST_EXPONENT = 600.0
# Multiplications per block, n^2 times its width, that take no longer than a round trip.
_CHEAP_MATRIX = 2**27
# Share of the samples that are worth their memory, gathered.
_FEW = 0.25
# Accuracy from which on a Hessian matrix may be multiplied in single precision.
_SINGLE_ACCURACY = 1e-6


class DictionaryCost:
    """The log-cosh cost f(q; Y), sharing work between value, gradient and Hessian.

    Parameters
    ----------
    data : ndarray of shape (n, p)
        The matrix Y; columns are samples. Not copied.
    mu : float
        Smoothing parameter.
    """

    def __init__(self, data: np.ndarray, mu: float):
        self.data = data
        self.mu = mu

    def __repr__(self) -> str:
        n, p = self.data.shape
        return f"DictionaryCost(n={n}, p={p}, mu={self.mu:g})"

    def at(self, point: np.ndarray) -> DictionaryPoint:
        """Return the shared work at one point."""
        return DictionaryPoint(self, point)

    @property
    def dtype(self) -> np.dtype:
        """Floating-point type of the data: points of the same type save conversions."""
        return self.data.dtype

    @property
    def scale(self) -> float:
        """Root mean square of the data's entries: the typical size of <q, y>."""
        flat = self.data.reshape(-1, order="A")
        with np.errstate(over="ignore"):
            square = float(np.vdot(flat, flat))
        if 1e-24 < square < 1e24:
            return math.sqrt(square / flat.size)
        # The square under- or overflows long before the norm does; BLAS's own is slower but safe.
        return float(norm(flat, check_finite=False)) / math.sqrt(flat.size)

    def easier(self) -> Iterator[tuple[DictionaryCost, float]]:
        """Yield easier versions of the cost, easiest first, each with a gradient tolerance.

        At small mu the cost is nearly nonsmooth and steps are limited to about mu; at a mu of the
        order of the data it is smooth, and its minimizers are close. All but large data are passed
        in single precision, at nearly twice the speed, which ends with a version at the same mu:
        the last digits are left to the cost itself.
        """
        scale = self.scale
        in_range = 1e-12 < scale < 1e12 and self.mu > 1e-6 * scale
        small = self.data.size <= _NARROW_ENTRIES and self.data.dtype == np.float64
        data = _in_single_precision(self.data) if small and in_range else self.data
        for mu in smoothings(_FIRST_SMOOTHING * scale, self.mu, _SMOOTHING_FACTOR):
            yield DictionaryCost(data, mu), _STAGE_TOLERANCE * scale
        if data is not self.data:
            yield DictionaryCost(data, self.mu), _NARROW_TOLERANCE * scale


def _in_single_precision(data: np.ndarray) -> np.ndarray:
    n, p = data.shape
    narrow = np.empty((n, p + _PADDING), dtype=np.float32)[:, :p]
    narrow[...] = data
    return narrow


class DictionaryPoint:
    """The log-cosh cost at one point: one product with Y serves value, gradient and Hessian."""

    rounds_matrix = True  # hessian_matrix takes an accuracy

    def __init__(self, owner: DictionaryCost, point: np.ndarray):
        self._data = owner.data
        self._mu = owner.mu
        self._point = point
        self._samples = owner.data.shape[1]
        coefficients = point.astype(owner.data.dtype, copy=False) @ owner.data
        magnitude = np.abs(coefficients)
        self._total = float(magnitude.sum())
        with np.errstate(over="ignore"):  # to infinity, whose exponential and tangent are right
            coefficients *= 1.0 / owner.mu
            magnitude *= -2.0 / owner.mu
        self._ratios = coefficients  # z / mu
        self._decay = np.exp(magnitude, out=magnitude)

    @lazy
    def value(self) -> float:
        """The cost, eq. (main_obj)."""
        logarithms = float(np.log1p(self._decay).sum())
        return (self._total + self._mu * logarithms) / self._samples - self._mu * math.log(2.0)

    @lazy
    def gradient(self) -> np.ndarray:
        """Euclidean gradient, eq. (fq_grad)."""
        return (self._data @ np.tanh(self._ratios)) * (1.0 / self._samples)

    @lazy
    def _weights(self) -> np.ndarray:
        """Curvature of each sample, h''/p."""
        weights = 1.0 + self._decay
        weights *= weights
        np.divide(self._decay, weights, out=weights)
        weights *= 4.0 / (self._mu * self._samples)
        return weights

    @lazy
    def _bending(self) -> tuple[np.ndarray, np.ndarray]:
        """The samples that bend the cost here, with their weights; all, where those are not few.

        Where \\|z\\| is beyond some 18 mu the weight is below rounding beside that of z = 0. Away
        from targets this leaves few samples, which are gathered at the price of one product.
        """
        kept = np.flatnonzero(self._is_active(self._weights))
        if kept.size > _FEW * self._samples:
            return self._data, self._weights
        return taken(self._data, kept), self._weights[kept]

    def _is_active(self, weights: np.ndarray) -> np.ndarray:
        return weights > np.finfo(weights.dtype).eps * 4.0 / (self._mu * self._samples)

    def hessian(self, vector: np.ndarray) -> np.ndarray:
        """Euclidean Hessian product, eq. (fq_hess), of the samples that bend the cost."""
        data, weights = self._bending
        along = vector.astype(data.dtype, copy=False) @ data
        along *= weights
        return data @ along

    def hessian_matrix(self, accuracy: float = 0.0) -> np.ndarray:
        """Euclidean Hessian matrix, eq. (fq_hess), of the samples that bend the cost.

        To a few digits it is multiplied in single precision, at about half the price.
        """
        data, weights = self._bending
        active = self._is_active(weights)
        largest = float(weights.max(initial=0.0))
        if accuracy >= _SINGLE_ACCURACY and 1e-20 < largest < 1e20:
            rough = weighted_gram(data, weights, active, np.dtype(np.float32))
            if np.isfinite(rough).all():
                return rough.astype(data.dtype, copy=False)
        return weighted_gram(data, weights, active, data.dtype)

    def derivative_bounds(self, radius: float) -> DerivativeBounds:
        r"""Bounds of the derivatives, from the lengths of the samples.

        The third derivative of h is at most :math:`4/(\sqrt{27}\mu^2)`, and
        :math:`8 e^{-2|z|/\mu}/\mu^2` where samples are inactive. A coefficient is a sum of n terms,
        whose error its own curvature passes on to the slope; a gradient is one of p terms.
        """
        mu, count = self._mu, self._samples
        precision = float(np.finfo(self._data.dtype).eps)
        lengths = np.sqrt(np.einsum("ij,ij->j", self._data, self._data, dtype=float))
        # Within the radius each magnitude falls by so much at most.
        nearer = np.exp(np.minimum(2.0 * lengths * radius / mu, _LARGEST_EXPONENT))
        thirds = np.minimum(LOG_COSH_THIRD, 8.0 * self._decay * nearer)
        third = float(thirds @ lengths**3) / (count * mu * mu)
        weights = np.asarray(self._weights, dtype=float)
        hessian = float(weights @ lengths**2)
        # Errors of z / mu, which slopes take over times their curvature h'' mu, and weights
        # relatively times 2.
        size = float(norm(self._point))
        ratios = gamma(len(self._data) + 3, precision) * size * lengths / mu
        slopes = weights * count * mu * ratios * np.exp(2.0 * ratios) + 8.0 * precision
        gradient = float(slopes @ lengths) / count
        gradient += gamma(count + 3, precision) * float(lengths.mean())
        products = 2.0 * ratios * np.exp(2.0 * ratios)
        products += gamma(count + len(self._data) + 20, precision)
        # Columns beside which a matrix is not formed have weights of eps / mu at most.
        left_out = 4.0 * precision * float(lengths @ lengths) / (count * mu)
        curvature = float((weights * products) @ lengths**2) + left_out
        return DerivativeBounds(hessian, third, gradient, curvature)


class PartitionedCost:
    r"""The same on samples elsewhere: the mean of the costs of their blocks.

    With blocks :math:`Y_b` of :math:`p_b` columns,
    :math:`f(q; Y) = \sum_b \frac{p_b}{p} f(q; Y_b)`, and so are gradient and Hessian. Each is one
    visit to every block, wherever it is. A visit costs its round trip whatever it asks for, so
    value and gradient come together, and the Hessian matrix with them if the blocks are small.

    Parameters
    ----------
    data : Samples
    mu : float
        Smoothing parameter.
    """

    def __init__(self, data: Samples, mu: float):
        self.data = data
        self.mu = mu

    def __repr__(self) -> str:
        n, p = self.data.shape
        return f"PartitionedCost(n={n}, p={p}, mu={self.mu:g})"

    def at(self, point: np.ndarray) -> PartitionedPoint:
        """Return the shared work at one point."""
        return PartitionedPoint(self, point)

    @property
    def dtype(self) -> np.dtype:
        """Floating-point type of the data."""
        return self.data.dtype

    @cached_property
    def scale(self) -> float:
        """Root mean square of the data's entries: the typical size of <q, y>."""
        return math.sqrt(self.data.total(_squares)[0] / math.prod(self.data.shape))

    def easier(self) -> Iterator[tuple[PartitionedCost, float]]:
        """Yield smoother versions of the cost, smoothest first, each with a gradient tolerance."""
        for mu in smoothings(_FIRST_SMOOTHING * self.scale, self.mu, _SMOOTHING_FACTOR):
            yield PartitionedCost(self.data, mu), _STAGE_TOLERANCE * self.scale


class PartitionedPoint:
    """The log-cosh cost at one point: one visit to the blocks for value and gradient."""

    def __init__(self, owner: PartitionedCost, point: np.ndarray):
        self._owner = owner
        self._point = point.astype(owner.dtype, copy=False)

    def _visit(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        data = self._owner.data
        sums = data.total(function, self._point, self._owner.mu, *arguments)
        return [each / data.shape[1] for each in sums]

    @lazy
    def _first_visit(self) -> list[Any]:
        return self._visit(_first_derivatives)

    @lazy
    def value(self) -> float:
        """The cost, eq. (main_obj)."""
        return float(self._first_visit[0])

    @lazy
    def gradient(self) -> np.ndarray:
        """Euclidean gradient, eq. (fq_grad)."""
        return self._first_visit[1]

    @lazy
    def _matrix(self) -> np.ndarray | None:
        """The Hessian matrix, if all blocks were small enough to have it at the first visit."""
        matrix = self._first_visit[2]
        return matrix if np.isfinite(matrix).all() else None

    def hessian(self, vector: np.ndarray) -> np.ndarray:
        """Euclidean Hessian product, eq. (fq_hess)."""
        if is_known(self, "_whole") or self._matrix is not None:
            return self.hessian_matrix() @ vector
        along = vector.astype(self._owner.dtype, copy=False)
        return self._visit(_hessian_product, along)[0]

    @lazy
    def _whole(self) -> np.ndarray:
        return self._visit(_hessian_matrix)[0] if self._matrix is None else self._matrix

    def hessian_matrix(self) -> np.ndarray:
        """Euclidean Hessian matrix, eq. (fq_hess)."""
        return self._whole


def _squares(block: np.ndarray, first: int) -> tuple[float]:
    return (float(np.einsum("ij,ij->", block, block, dtype=np.float64)),)


def _first_derivatives(
    block: np.ndarray, first: int, point: np.ndarray, mu: float
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return value and gradient, and the Hessian matrix or, if that takes long, NaN."""
    here, (n, width) = DictionaryCost(block, mu).at(point), block.shape
    matrix = here.hessian_matrix() if n * n * width <= _CHEAP_MATRIX else np.array(math.nan)
    return width * here.value, width * here.gradient, width * matrix


def _hessian_matrix(
    block: np.ndarray, first: int, point: np.ndarray, mu: float
) -> tuple[np.ndarray]:
    return (block.shape[1] * DictionaryCost(block, mu).at(point).hessian_matrix(),)


def _hessian_product(
    block: np.ndarray, first: int, point: np.ndarray, mu: float, vector: np.ndarray
) -> tuple[np.ndarray]:
    return (block.shape[1] * DictionaryCost(block, mu).at(point).hessian(vector),)


def dictionary_problem(Y: Any, mu: float = 1e-2) -> Problem:
    """Return the problem of minimising f(q; Y) over the sphere, on your own (whitened) data.

    Parameters
    ----------
    Y : array of shape (n, p), or Dask array
        Data, columns are samples; whiten it with :func:`riemtr.precondition` unless the dictionary
        is orthogonal. It may be changed in place between solves; if it is read-only
        (``Y.flags.writeable = False``) they need not look. A Dask array is visited where its chunks
        are, and never gathered: larger chunks mean fewer visits.
    mu : float
        Smoothing parameter, small beside the entries of Y (the paper's 1e-2 for entries of
        order 1).

    Examples
    --------
    >>> import numpy as np, riemtr
    >>> X = np.random.default_rng(0).standard_normal((5, 2000))
    >>> X[np.random.default_rng(1).random(X.shape) > 0.2] = 0.0
    >>> result = riemtr.PracticalTRM().solve(riemtr.dictionary_problem(X), rng=0)
    >>> bool(np.abs(result.point).max() > 0.99), result.certificate.verdict
    (True, 'minimizer')
    """
    samples = as_data(Y)
    check_positive("mu", mu)
    sphere, data = Sphere(samples.shape[0]), samples.array
    if data is None:
        return Problem(sphere, PartitionedCost(samples.kept(), float(mu)))
    if not (data.flags.c_contiguous or data.flags.f_contiguous):
        data = np.ascontiguousarray(data)  # or BLAS would copy it in every product
    return Problem(sphere, DictionaryCost(data, float(mu)))
