"""From directions to the dictionary, in normal form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class NormalForm:
    """A (n x r) and the map X = unmixing Y (r x n), normalised; how the rows were reordered."""

    dictionary: np.ndarray
    unmixing: np.ndarray
    directions: np.ndarray
    scales: np.ndarray
    order: np.ndarray


def normal_form(
    directions: np.ndarray, matrix: np.ndarray, inverse: np.ndarray, gram: np.ndarray
) -> NormalForm:
    """Return dictionary and unmixing matrix for directions q_i on the sphere of whitened data.

    With X = Q'(W Y), the rows q_i'(W Y), the paper's step 4, A = Y X'(X X')^-1, equals
    W^+ (Q')^-1, since Y = W^+ (W Y). That form squares no condition number.

    Order, signs and scales, which the data leave open, are chosen thus: the atoms, columns of A,
    have unit length and :func:`column_signs`; rows of X come in the order of decreasing length,
    the atoms that explain most of Y first.

    Parameters
    ----------
    directions : ndarray, shape (r, r)
        Q, unit columns.
    matrix, inverse : ndarray, shapes (r, n) and (n, r)
        W and W^+.
    gram : ndarray, shape (r, r)
        (W Y)(W Y)'.
    """
    dictionary = inverse.astype(np.float64) @ np.linalg.inv(directions.T)
    exponent = np.frexp(np.abs(dictionary).max())[1]  # or squares over- or underflow
    lengths = np.ldexp(np.linalg.norm(np.ldexp(dictionary, -exponent), axis=0), exponent)
    signs = column_signs(dictionary)
    row_lengths = np.sqrt(np.einsum("ij,ij->j", directions, gram @ directions))
    order = np.argsort(-lengths * row_lengths, kind="stable")
    scales = (signs * lengths)[order]
    unmixing = scales[:, None] * (directions.T[order] @ matrix.astype(np.float64))
    dictionary = dictionary[:, order] / scales
    return NormalForm(
        dictionary, unmixing, directions[:, order] * np.sign(scales), np.abs(scales), order
    )


def mean_share(mean: np.ndarray, inverse: np.ndarray, gram: np.ndarray, samples: int) -> float:
    """Return the share of the average sample in the sum of squares of Y = W^+ (W Y).

    Parameters
    ----------
    mean : ndarray, shape (r,)
        The average of the whitened samples.
    inverse, gram
        As for :func:`normal_form`.
    samples : int

    Examples
    --------
    >>> Y = np.array([[3.0, 5.0], [1.0, -1.0]])
    >>> round(mean_share(Y.mean(axis=1), np.eye(2), Y @ Y.T, 2), 3)  # 32 of 36
    0.889
    """
    back = inverse.astype(np.float64)
    back = np.ldexp(back, -np.frexp(np.abs(back).max())[1])  # or squares over- or underflow
    offset = back @ mean
    return float(samples * (offset @ offset) / np.einsum("ij,jk,ik->", back, gram, back))


def column_signs(matrix: np.ndarray) -> np.ndarray:
    """Return signs, 1 or -1, that make the entry of largest magnitude of each column positive.

    Of several that agree to 1e-8 it is the first, so that rounding does not choose.

    Examples
    --------
    >>> column_signs(np.array([[0.5, 1.0], [-0.5 - 1e-16, -2.0]]))
    array([ 1., -1.])
    """
    size = np.abs(matrix)
    first = np.argmax(size >= (1.0 - 1e-8) * size.max(axis=0), axis=0)
    return np.where(matrix[first, np.arange(matrix.shape[1])] < 0, -1.0, 1.0)
