"""Deflation: the data in the coordinates of what was found, turned in place, row by row.

With orthonormal directions v_1, ..., v_k found, the paper's step 3 minimizes over the complement of
their span. Instead of a copy of the data per row, one array holds V'Y for an orthogonal V whose
first k columns are those directions: rows k and below, a view, are the data of the deflated
problem, and the whole is still all of Y, for rounding. One Householder reflection of that view,
done by blocks of columns, makes room for one more direction.
"""

from __future__ import annotations

import numpy as np

_BLOCK_ENTRIES = 2**18  # 2 MB of float64: a block and what is computed from it stay in cache


class Deflation:
    """Data V'Y, with V orthogonal and its first columns set aside.

    Parameters
    ----------
    data : ndarray, shape (n, p)
        Y, row-contiguous or not; float32 or float64.
    owned : bool
        Whether ``data`` may be overwritten; if not, it is copied when first turned.

    Attributes
    ----------
    data : ndarray, shape (n, p)
        V'Y.
    rotation : ndarray, shape (n, n)
        V, in float64.
    found : int
        How many of the first columns of V are set aside.

    Examples
    --------
    >>> Y = np.random.default_rng(0).standard_normal((3, 8))
    >>> deflation = Deflation(Y)
    >>> deflation.set_aside(np.array([0.6, 0.0, 0.8]))
    >>> np.allclose(deflation.rotation[:, 0], [0.6, 0.0, 0.8]), deflation.complement.shape
    (True, (2, 8))
    >>> np.allclose(deflation.rotation @ deflation.data, Y)
    True
    """

    def __init__(self, data: np.ndarray, owned: bool = False):
        self.data = data
        self.rotation = np.eye(data.shape[0])
        self.found = 0
        self._owned = owned and data.flags.writeable and data.flags.c_contiguous

    @property
    def complement(self) -> np.ndarray:
        """The data of the deflated problem, (n - found) x p: a view that later turns change."""
        return self.data[self.found :]

    def lift(self, z: np.ndarray) -> np.ndarray:
        """Return U z in the original coordinates, for z on the sphere of the deflated problem."""
        return self.rotation[:, self.found :] @ z

    def set_aside(self, z: np.ndarray) -> None:
        """Make U z, with z a unit vector, the next direction found."""
        mirror = np.array(z, dtype=np.float64)
        # The reflection that maps the first axis to -sign(z_0) z: no cancellation.
        sign = 1.0 if mirror[0] >= 0 else -1.0
        mirror[0] += sign
        weights = (2.0 / (mirror @ mirror)) * mirror
        self._own()
        rows = self.complement
        narrow, narrow_weights = mirror.astype(rows.dtype), weights.astype(rows.dtype)
        for columns in _blocks(rows):
            block = rows[:, columns]
            block -= np.outer(narrow, narrow_weights @ block)
        basis = self.rotation[:, self.found :]
        basis -= np.outer(basis @ weights, mirror)
        rows[0] *= -sign
        basis[:, 0] *= -sign
        self.found += 1

    def restart(self, directions: np.ndarray) -> None:
        """Set aside the span of given directions, as columns, in place of all found before."""
        coordinates = self.rotation.T @ directions
        turn, _ = np.linalg.qr(coordinates, mode="complete")
        self._own()
        overwrite(turn.T, self.data)
        self.rotation = self.rotation @ turn
        self.found = directions.shape[1]

    def gram(self) -> np.ndarray:
        """Return Y Y', in the original coordinates."""
        total = np.zeros((self.data.shape[0], self.data.shape[0]))
        for columns in _blocks(self.data):
            block = self.data[:, columns].astype(np.float64, copy=False)
            total += block @ block.T
        return self.rotation @ total @ self.rotation.T

    def surrender(self) -> np.ndarray:
        """Return the array of the turned data, to be overwritten; the deflation ends with it."""
        self._own()
        return self.data

    def _own(self) -> None:
        if not self._owned:
            self.data = np.array(self.data, order="C")
            self._owned = True


def overwrite(matrix: np.ndarray, data: np.ndarray) -> None:
    """Replace data by matrix @ data, by blocks of columns; matrix is square."""
    narrow = matrix.astype(data.dtype)
    for columns in _blocks(data):
        data[:, columns] = narrow @ data[:, columns]


def column_lengths(data: np.ndarray) -> np.ndarray:
    """Return the Euclidean length of each column, without a second copy of the data."""
    lengths = np.empty(data.shape[1])
    for columns in _blocks(data):
        block = data[:, columns]
        lengths[columns] = np.sqrt(np.einsum("ij,ij->j", block, block))
    return lengths


def _blocks(data: np.ndarray) -> list[slice]:
    n, p = data.shape
    width = max(_BLOCK_ENTRIES // max(n, 1), 1)
    return [slice(first, min(first + width, p)) for first in range(0, p, width)]
