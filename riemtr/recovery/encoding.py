"""The coefficients of new samples, with the zeros a recovery gives its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from riemtr.data.blocks import column_lengths
from riemtr.recovery.zeros import clear_rounding, threshold


@dataclass(frozen=True, eq=False)
class Encoder:
    """The map from samples to coefficients, and what counts as zero in each of them.

    Attributes
    ----------
    unmixing : ndarray, shape (r, n)
        The inverse of A: X = unmixing Y.
    whitening : ndarray, shape (r, n)
        W; what counts as zero is relative to the length of W y, which no units change.
    scales : ndarray, shape (r,)
        Those of X = scales * Q'W Y, with unit directions q.
    conditions : ndarray, shape (r,)
        What rounding errors of samples are multiplied by in each row of Q'W Y.
    """

    unmixing: np.ndarray
    whitening: np.ndarray
    scales: np.ndarray
    conditions: np.ndarray

    def encode(self, Y: np.ndarray) -> np.ndarray:
        """Return the coefficients of samples, the columns of an n x p array.

        Examples
        --------
        >>> from riemtr.data import BernoulliGaussian
        >>> from riemtr.recovery import recover_dictionary
        >>> Y = BernoulliGaussian(n=6, p=800, theta=0.2).draw(0).observations
        >>> found = recover_dictionary(Y, rng=0)
        >>> np.array_equal(found.encoder.encode(Y) == 0, found.coefficients == 0)
        True
        """
        X = self.unmixing @ Y
        coarser = max(Y.dtype, self.unmixing.dtype, key=lambda kind: np.finfo(kind).eps)
        vanishing = np.array([threshold(coarser, each) for each in self.conditions])
        clear_rounding(X, column_lengths(self.whitening @ Y), self.scales, vanishing)
        return X
