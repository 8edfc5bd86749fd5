"""How far a recovery is from the truth: up to order, sign and scale, which no data determine.

If ``Y = A X`` then also ``Y = (A P D) (D^-1 P' X)`` for a permutation P and a diagonal D, and the
second X is as sparse as the first. Errors are therefore measured after the best matching.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment


@dataclass(frozen=True, eq=False)
class Alignment:
    """The matching of a found dictionary with the true one.

    ``dictionary[:, permutation] * (signs * scales)`` has the truth's order, signs and column
    norms; ``coefficients[permutation] / (signs * scales)[:, None]`` goes with it.

    Attributes
    ----------
    permutation : array of int, shape (m,)
        The found column that matches each true one.
    signs : array, shape (m,)
        +1 or -1.
    scales : array, shape (m,)
        Norm of the true column over that of the found one.
    correlations : array, shape (m,)
        Absolute cosines of the matched columns: 1 for a perfect match.
    """

    permutation: np.ndarray
    signs: np.ndarray
    scales: np.ndarray
    correlations: np.ndarray


def reconstruction_error(direction: ArrayLike, dictionary: ArrayLike | None = None) -> float:
    """Return the distance from a direction to the nearest target, up to sign.

    ``RE = min_i min(|q - t_i|, |q + t_i|)`` (the paper's section IV.B). The targets are the unit
    vectors for which ``q' Y`` is a multiple of one row of X: the basis vectors where A = I, in
    general the normalised rows of the inverse of A, which for an orthogonal A are its columns.

    Parameters
    ----------
    direction : array, shape (n,)
        q, of unit norm.
    dictionary : array, shape (n, n), optional
        The true A, the identity if not given. For a direction found on whitened data ``W Y``,
        pass ``W @ A``.

    Examples
    --------
    >>> reconstruction_error([0.0, -1.0, 0.0])
    0.0
    """
    q = _real("direction", direction, ndim=1)
    targets = np.eye(q.size)
    if dictionary is not None:
        A = _real("dictionary", dictionary, ndim=2)
        if A.shape != (q.size, q.size):
            raise ValueError(
                f"dictionary must be square with as many rows as direction has entries "
                f"({q.size}); got shape {A.shape}"
            )
        try:
            targets = np.linalg.inv(A)
        except np.linalg.LinAlgError:
            raise ValueError("dictionary must be invertible; got a singular matrix") from None
        targets /= np.linalg.norm(targets, axis=1, keepdims=True)
    cosines = targets @ q
    nearest = np.argmax(np.abs(cosines))
    # The difference itself: sqrt(2 - 2 cosine) would lose all digits below 1e-8.
    return float(np.linalg.norm(q - np.copysign(1.0, cosines[nearest]) * targets[nearest]))


def align(dictionary: ArrayLike, truth: ArrayLike) -> Alignment:
    """Match the columns of a found dictionary with those of the true one.

    The permutation maximises the sum of the absolute cosines of matched columns; it is the exact
    optimum (linear assignment), not a greedy choice that could use one column twice.

    Parameters
    ----------
    dictionary, truth : array, shape (n, m)
        The found A and the true one; no zero columns.

    Examples
    --------
    >>> match = align([[0.0, -2.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]])
    >>> match.permutation, match.signs, match.scales
    (array([1, 0]), array([-1.,  1.]), array([0.5, 1. ]))
    """
    found, found_norms, true, true_norms = _unit_columns(dictionary, truth)
    cosines = found.T @ true
    rows, columns = linear_sum_assignment(np.abs(cosines), maximize=True)
    permutation = rows[np.argsort(columns)]
    matched = cosines[permutation, np.arange(permutation.size)]
    return Alignment(
        permutation=permutation,
        signs=np.copysign(1.0, matched),
        scales=true_norms / found_norms[permutation],
        correlations=np.minimum(np.abs(matched), 1.0),
    )


def dictionary_error(dictionary: ArrayLike, truth: ArrayLike) -> float:
    """Return ``|A_found - A_true|_F / |A_true|_F`` with unit columns, after `align`.

    Parameters
    ----------
    dictionary, truth : array, shape (n, m)

    Examples
    --------
    >>> dictionary_error([[0.0, -2.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]])
    0.0
    """
    match = align(dictionary, truth)
    found, _, true, _ = _unit_columns(dictionary, truth)
    difference = found[:, match.permutation] * match.signs - true
    return float(np.linalg.norm(difference) / np.sqrt(true.shape[1]))


def coefficient_error(coefficients: ArrayLike, truth: ArrayLike, alignment: Alignment) -> float:
    """Return ``|X_found - X_true|_F / |X_true|_F`` in the order, signs and scales of the truth.

    Parameters
    ----------
    coefficients, truth : array, shape (m, p)
        The found X and the true one.
    alignment : Alignment
        ``align(dictionary, true_dictionary)`` of the dictionaries that go with them.

    Examples
    --------
    >>> match = align([[0.0, -2.0], [1.0, 0.0]], np.eye(2))
    >>> coefficient_error([[0.0, 5.0], [-1.0, 0.0]], [[2.0, 0.0], [0.0, 5.0]], match)
    0.0
    """
    found, true = _real("coefficients", coefficients, 2), _real("truth", truth, 2)
    _same_shape("coefficients", found, true)
    if found.shape[0] != alignment.permutation.size:
        raise ValueError(
            f"alignment must match as many atoms as coefficients has rows ({found.shape[0]}); "
            f"got {alignment.permutation.size}; align the dictionaries of these coefficients"
        )
    size = np.linalg.norm(true)
    if size == 0:
        raise ValueError("truth must have a nonzero entry: a relative error needs one")
    factors = 1 / (alignment.signs * alignment.scales)
    # By rows: temporaries of length p, not m x p.
    rows = zip(alignment.permutation, factors, true, strict=True)
    return float(np.linalg.norm([np.linalg.norm(found[i] * f - row) for i, f, row in rows]) / size)


def _unit_columns(
    dictionary: ArrayLike, truth: ArrayLike
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    found, true = _real("dictionary", dictionary, 2), _real("truth", truth, 2)
    _same_shape("dictionary", found, true)
    return *_normalised("dictionary", found), *_normalised("truth", true)


def _normalised(name: str, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    largest = np.abs(matrix).max(axis=0)
    if not largest.all():
        raise ValueError(
            f"{name} must have no zero columns: they have no direction to compare; "
            f"column {int(np.argmin(largest))} is zero; remove it"
        )
    scaled = matrix / largest  # or squares over- or underflow
    norms = np.linalg.norm(scaled, axis=0)
    return scaled / norms, largest * norms


def _same_shape(name: str, found: np.ndarray, true: np.ndarray) -> None:
    if found.shape != true.shape:
        raise ValueError(
            f"{name} must have the shape of truth {true.shape}; got {found.shape}; "
            f"atoms are columns of a dictionary and rows of the coefficients"
        )


def _real(name: str, value: ArrayLike, ndim: int) -> np.ndarray:
    array = np.asarray(value)
    if array.ndim != ndim or array.size == 0 or array.dtype.kind not in "fiub":
        raise ValueError(
            f"{name} must be a real, nonempty {ndim}-D array; "
            f"got {array.dtype} of shape {array.shape}"
        )
    array = array.astype(np.float64, copy=False)
    if not np.isfinite(array.sum()) and not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite; got NaN or infinity in it")
    return array
