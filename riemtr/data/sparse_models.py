"""Synthetic data ``Y = A X + noise`` with sparse X, and the truth to measure a recovery against.

Symbols of the paper: n is the dimension, p the number of samples, theta the probability that a
coefficient is nonzero, k the number of nonzeros in each column; A is n x n, X and Y are n x p.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from riemtr.arguments import generator, integer, real
from riemtr.data.dictionaries import Dictionary, Orthogonal


@dataclass(frozen=True, eq=False)
class Sample:
    """What a model draws: the observations, and the truth behind them.

    Attributes
    ----------
    observations : array, shape (n, p)
        Y, one sample per column.
    dictionary : array, shape (n, n)
        A, one atom per column.
    coefficients : array, shape (n, p)
        X, sparse; ``Y = A X`` up to the noise.
    """

    observations: np.ndarray
    dictionary: np.ndarray
    coefficients: np.ndarray


@dataclass(frozen=True)
class BernoulliGaussian:
    """Each coefficient is standard normal with probability theta, and zero otherwise.

    The model of the paper's analysis (section I): ``X_ij = B_ij Z_ij`` with independent
    ``B_ij ~ Bernoulli(theta)`` and ``Z_ij ~ N(0, 1)``.

    Parameters
    ----------
    n, p : int
        Dimension and number of samples; see `paper_sample_size`.
    theta : float
        Probability of a nonzero, from 0 to 1.
    dictionary : Dictionary
        `Identity`, `Orthogonal` (the default) or `Conditioned`.
    noise : float
        Standard deviation of the independent normal noise added to each observation.

    Examples
    --------
    >>> sample = BernoulliGaussian(n=4, p=1000, theta=0.25).draw(0)
    >>> np.allclose(sample.observations, sample.dictionary @ sample.coefficients)
    True
    >>> round(float(np.mean(sample.coefficients != 0)), 2)
    0.25
    """

    n: int
    p: int
    theta: float
    dictionary: Dictionary = field(default_factory=Orthogonal)
    noise: float = 0.0

    def __post_init__(self) -> None:
        _check_common(self.n, self.p, self.dictionary, self.noise)
        real("theta", self.theta, low=0.0, high=1.0)

    def draw(self, rng: np.random.Generator | int) -> Sample:
        """Draw A, then X, then the noise; the same seed gives the same sample, bit for bit.

        A and X do not depend on the noise level, only on the seed.
        """
        return _draw(self, generator(rng))

    def coefficients(self, rng: np.random.Generator) -> np.ndarray:
        """Draw X alone: where A = I and there is no noise it is Y, in half the memory."""
        coefficients = np.zeros((self.n, self.p))
        for row in coefficients:  # by rows: temporaries of length p, not n x p
            _fill(row, rng.random(self.p) < self.theta, rng)
        return coefficients


@dataclass(frozen=True)
class ExactlySparse:
    """Each column has exactly k nonzeros, standard normal, on a uniformly random support.

    The model of the paper's simulations (section IV.B).

    Parameters
    ----------
    n, p : int
        Dimension and number of samples; see `paper_sample_size`.
    k : int
        Nonzeros per column, from 1 to n.
    dictionary : Dictionary
        `Identity`, `Orthogonal` (the default) or `Conditioned`.
    noise : float
        Standard deviation of the independent normal noise added to each observation.

    Examples
    --------
    >>> sample = ExactlySparse(n=10, p=50, k=3).draw(0)
    >>> np.unique(np.count_nonzero(sample.coefficients, axis=0))
    array([3])
    """

    n: int
    p: int
    k: int
    dictionary: Dictionary = field(default_factory=Orthogonal)
    noise: float = 0.0

    def __post_init__(self) -> None:
        _check_common(self.n, self.p, self.dictionary, self.noise)
        integer("k", self.k, low=1, high=self.n)

    def draw(self, rng: np.random.Generator | int) -> Sample:
        """Draw A, then X, then the noise; the same seed gives the same sample, bit for bit.

        A and X do not depend on the noise level, only on the seed.
        """
        return _draw(self, generator(rng))

    def coefficients(self, rng: np.random.Generator) -> np.ndarray:
        """Draw X alone: where A = I and there is no noise it is Y, in half the memory."""
        coefficients = np.zeros((self.n, self.p))
        # Selection sampling (Knuth, TAOCP 2, algorithm 3.4.2S), all columns at once: taking a row
        # with probability (still needed) / (rows left) makes each of the C(n, k) supports equally
        # likely, in n passes over vectors of length p.
        needed = np.full(self.p, self.k)
        for i, row in enumerate(coefficients):
            support = rng.random(self.p) * (self.n - i) < needed
            _fill(row, support, rng)
            needed -= support
        return coefficients


def _fill(row: np.ndarray, support: np.ndarray, rng: np.random.Generator) -> None:
    """Put standard normal values where ``support`` is true, in place."""
    places = np.flatnonzero(support)  # a random mask as an index takes several times longer
    row[places] = rng.standard_normal(places.size)


def paper_sample_size(n: int) -> int:
    """Return ``ceil(5 n^2 log n)``, the paper's number of samples (section IV.B), at least 1.

    Examples
    --------
    >>> [paper_sample_size(n) for n in (1, 2, 10, 50)]
    [1, 14, 1152, 48901]
    """
    n = integer("n", n, low=1)
    return max(1, math.ceil(5 * n**2 * math.log(n)))


def _draw(model: BernoulliGaussian | ExactlySparse, rng: np.random.Generator) -> Sample:
    dictionary = model.dictionary.matrix(model.n, rng)
    coefficients = model.coefficients(rng)
    observations = dictionary @ coefficients
    if model.noise > 0:
        for row in observations:
            row += model.noise * rng.standard_normal(row.size)
    return Sample(observations, dictionary, coefficients)


def _check_common(n: int, p: int, dictionary: Dictionary, noise: float) -> None:
    integer("n", n, low=1)
    integer("p", p, low=1)
    real("noise", noise, low=0.0)
    if isinstance(dictionary, type) or not isinstance(dictionary, Dictionary):
        raise TypeError(
            "dictionary must be Identity(), Orthogonal(), Conditioned(condition_number) or an "
            f"object with matrix(n, rng); got {dictionary!r}"
        )
