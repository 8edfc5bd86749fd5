"""Deflation: samples in the coordinates of what was found, turned in place, row by row.

With orthonormal directions v_1, ..., v_k found, the paper's step 3 minimizes over the complement of
their span. Instead of a copy of the samples per row, one array holds V'S for an orthogonal V whose
first k columns are those directions: rows k and below, a view, are the samples of the deflated
problem. One Householder reflection of that view makes room for one more direction.
"""

from __future__ import annotations

import numpy as np

from riemtr.data.blocks import column_blocks


class Deflation:
    """Samples V'S, with V orthogonal and its first columns set aside.

    Parameters
    ----------
    samples : ndarray, shape (n, p)
        S, float32 or float64; copied when first turned.

    Attributes
    ----------
    rotation : ndarray, shape (n, n)
        V, in float64.
    found : int
        How many of the first columns of V are set aside.

    Examples
    --------
    >>> S = np.random.default_rng(0).standard_normal((3, 8))
    >>> deflation = Deflation(S)
    >>> deflation.set_aside(np.array([0.6, 0.0, 0.8]))
    >>> np.allclose(deflation.rotation[:, 0], [0.6, 0.0, 0.8]), deflation.complement.shape
    (True, (2, 8))
    >>> np.allclose(deflation.rotation[:, 1:].T @ S, deflation.complement)
    True
    """

    def __init__(self, samples: np.ndarray):
        self.rotation = np.eye(samples.shape[0])
        self.found = 0
        self._samples = samples
        self._turned: np.ndarray | None = None

    @property
    def complement(self) -> np.ndarray:
        """The samples of the deflated problem, (n - found) x p: a view that later turns change."""
        whole = self._samples if self._turned is None else self._turned
        return whole[self.found :]

    def lift(self, points: np.ndarray) -> np.ndarray:
        """Return points of the deflated problem, vectors or columns, in all coordinates."""
        return self.rotation[:, self.found :] @ points

    def size_outside(self, direction: np.ndarray) -> float:
        """Return the length of what of a direction is outside the directions found."""
        return float(np.linalg.norm(self.rotation[:, self.found :].T @ direction))

    def set_aside(self, direction: np.ndarray) -> None:
        """Make a unit vector, or what of it is outside the directions found, the next of them."""
        mirror = self.rotation[:, self.found :].T @ np.asarray(direction, dtype=np.float64)
        mirror /= np.linalg.norm(mirror)
        # The reflection that maps the first axis to -sign(z_0) z: no cancellation.
        sign = 1.0 if mirror[0] >= 0 else -1.0
        mirror[0] += sign
        weights = (2.0 / (mirror @ mirror)) * mirror
        if self._turned is None:
            self._turned = np.array(self._samples, order="C")
        rows = self._turned[self.found :]
        narrow, narrow_weights = mirror.astype(rows.dtype), weights.astype(rows.dtype)
        for columns in column_blocks(rows.shape):
            block = rows[:, columns]
            block -= np.outer(narrow, narrow_weights @ block)
        rows[0] *= -sign
        basis = self.rotation[:, self.found :]
        basis -= np.outer(basis @ weights, mirror)
        basis[:, 0] *= -sign
        self.found += 1

    def restart(self, directions: np.ndarray) -> None:
        """Set aside the span of given directions, as columns, in place of all found before."""
        self.rotation, _ = np.linalg.qr(directions, mode="complete")
        self.found = directions.shape[1]
        self._turned = self.rotation.T.astype(self._samples.dtype) @ self._samples
