"""Independent component analysis as recovery methods: Picard-O and FastICA. Extra ``ica``.

Both maximize how far the rows of A Z are from Gaussian over orthogonal A, for whitened data Z.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from riemtr.compare.estimates import Estimate, RecoveryMethod
from riemtr.errors import require

TOLERANCE = 1e-6  # theirs, of different quantities; tighter ones often end in rounding
MAX_ITERATIONS = 5000


def picard_o() -> RecoveryMethod:
    """Return Picard-O with the tanh density; raise :class:`MissingExtraError` without it."""
    picard = require("picard", extra="ica")

    def recover(data: np.ndarray, seed: int) -> Estimate:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            _, rows, _, iterations = picard.picard(
                data,
                ortho=True,
                fun="tanh",
                whiten=False,
                centering=False,
                tol=TOLERANCE,
                max_iter=MAX_ITERATIONS,
                random_state=seed,
                return_n_iter=True,
            )
        return _estimate(rows, iterations, caught)

    return recover


def fast_ica() -> RecoveryMethod:
    """Return scikit-learn's parallel FastICA with log cosh; likewise."""
    decomposition = require("sklearn.decomposition", extra="ica")

    def recover(data: np.ndarray, seed: int) -> Estimate:
        ica = decomposition.FastICA(
            whiten=False, fun="logcosh", tol=TOLERANCE, max_iter=MAX_ITERATIONS, random_state=seed
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ica.fit(data.T)
        return _estimate(ica.components_, ica.n_iter_, caught)

    return recover


def _estimate(rows: np.ndarray, iterations: int, caught: list[Any]) -> Estimate:
    """Both say that they did not converge by a warning, and in no other way."""
    doubts = [str(each.message) for each in caught if "converge" in str(each.message)]
    return Estimate(rows, not doubts, doubts[0] if doubts else "converged", int(iterations))
