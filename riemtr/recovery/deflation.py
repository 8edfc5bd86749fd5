"""Deflation: the data in the coordinates of what was found, turned in place, row by row.

With orthonormal directions v_1, ..., v_k found, the paper's step 3 minimizes over the complement of
their span. Instead of a copy of the data per row, one array holds V'Y for an orthogonal V whose
first k columns are those directions: rows k and below, a view, are the data of the deflated
problem, and the whole is still all of Y, for rounding. One Householder reflection of that view,
done by blocks of columns, makes room for one more direction.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from riemtr.data.blocks import column_blocks, column_lengths, gram
from riemtr.recovery.census import Census, census_of
from riemtr.recovery.lone_samples import (
    count_lengths,
    count_lone,
    leverages,
    sample_keys,
    usual_lengths,
)
from riemtr.recovery.reconstruction import NormalForm
from riemtr.recovery.rounding import Rounder, Rounding
from riemtr.recovery.zeros import Zeros, clear_rounding, zeros_of

_SMALL_ENTRIES = 10**7  # up to which a second copy of the data is worth its memory


class Coordinates:
    """An orthogonal V, n x n, with its first columns set aside.

    Attributes
    ----------
    rotation : ndarray, shape (n, n)
        V, in float64.
    found : int
        How many of the first columns of V are set aside.
    """

    def __init__(self, n: int):
        self.rotation = np.eye(n)
        self.found = 0

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
        self._reflect(mirror, weights, -sign)
        basis = self.rotation[:, self.found :]
        basis -= np.outer(basis @ weights, mirror)
        basis[:, 0] *= -sign
        self.found += 1

    def restart(self, directions: np.ndarray) -> None:
        """Set aside the span of given directions, as columns, in place of all found before."""
        coordinates = self.rotation.T @ directions
        turn, _ = np.linalg.qr(coordinates, mode="complete")
        self._turn(turn)
        self.rotation = self.rotation @ turn
        self.found = directions.shape[1]

    def _reflect(self, mirror: np.ndarray, weights: np.ndarray, sign: float) -> None:
        """Take data in the coordinates of the complement along; its first row by sign, too."""

    def _turn(self, turn: np.ndarray) -> None:
        """Take data along to the coordinates V turn."""


class Deflation(Coordinates):
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
        super().__init__(data.shape[0])
        self.data = data
        # Small data are left as they are beside the turned copy, for roundings at any time.
        self._still = data if data.size <= _SMALL_ENTRIES else None
        self._rounder: Rounder | None = None  # of the data as they are now
        turnable = data.flags.writeable and data.flags.c_contiguous
        self._owned = owned and turnable and self._still is None

    @property
    def rounds_meanwhile(self) -> bool:
        """Whether roundings may go on while directions are set aside."""
        return self._still is not None

    @property
    def complement(self) -> np.ndarray:
        """The data of the deflated problem, (n - found) x p: a view that later turns change."""
        return self.data[self.found :]

    def gram(self) -> np.ndarray:
        """Return Y Y', in the original coordinates."""
        return self.rotation @ gram(self.data) @ self.rotation.T

    @cached_property
    def lengths(self) -> np.ndarray:
        """The Euclidean length of each sample."""
        return column_lengths(self.data)

    def mean(self) -> np.ndarray:
        """Return the average sample, in the original coordinates."""
        return self.rotation @ self.data.mean(axis=1, dtype=np.float64)

    def census(self) -> Census:
        """Return what one pass over all samples tells, in the original coordinates."""
        turned = census_of(self.data, self.lengths)
        return turned._replace(unit_gram=self.rotation @ turned.unit_gram @ self.rotation.T)

    def count_directions(self) -> int:
        """Count their different directions."""
        return len(self._lengths_per_direction)

    @cached_property
    def _lengths_per_direction(self) -> np.ndarray:
        return count_lengths(sample_keys(self.data, self.lengths), self.data.dtype)

    def zeros(self, direction: np.ndarray, vanishing: float, most: int) -> Zeros:
        """Find the zeros of the row q'Y, and the Gram matrix of about ``most`` samples there."""
        turned = zeros_of(self.data, self.lengths, self.rotation.T @ direction, vanishing, most)
        return replace(turned, unit_gram=self.rotation @ turned.unit_gram @ self.rotation.T)

    def lone(self, direction: np.ndarray, vanishing: float, most: int, factor: np.ndarray) -> int:
        """Count the zeros of leverage 1 among them, given a factor of their inverse Gram matrix."""
        turned, there = self.rotation.T @ direction, factor @ self.rotation
        found = leverages(self.data, self.lengths, turned, vanishing, most, there)
        return count_lone(found, self.data.dtype, usual_lengths(self._lengths_per_direction))

    def round(self, direction: np.ndarray) -> Rounding:
        """Round a direction against all the data; in the original coordinates, without dual."""
        if self._rounder is None:
            self._rounder = Rounder(self.data if self._still is None else self._still)
        if self._still is not None:
            return replace(self._rounder.round(direction), dual=np.empty(0))
        turned = self._rounder.round(self.rotation.T @ direction)
        return replace(
            turned,
            direction=self.rotation @ turned.direction,
            solution=self.rotation @ turned.solution,
            dual=np.empty(0),
        )

    def coefficients(self, form: NormalForm, vanishing: np.ndarray) -> np.ndarray:
        """Return X = scales * Q'Y, over the array of the turned data: the deflation ends with it.

        Parameters
        ----------
        form : NormalForm
        vanishing : ndarray, shape (n,)
            What counts as zero, and is set to it, in each row.
        """
        lengths = self.lengths
        self._own()
        overwrite(form.scales[:, None] * (form.directions.T @ self.rotation), self.data)
        clear_rounding(self.data, lengths, form.scales, vanishing)
        return self.data

    def preview(self, form: NormalForm, vanishing: np.ndarray) -> np.ndarray | None:
        """Return what :meth:`coefficients` would, as an array of its own; None if too large."""
        if self.data.size > _SMALL_ENTRIES:
            return None
        matrix = form.scales[:, None] * (form.directions.T @ self.rotation)
        X = matrix.astype(self.data.dtype) @ self.data
        clear_rounding(X, self.lengths, form.scales, vanishing)
        return X

    def _reflect(self, mirror: np.ndarray, weights: np.ndarray, sign: float) -> None:
        self._own()
        rows = self.complement
        narrow, narrow_weights = mirror.astype(rows.dtype), weights.astype(rows.dtype)
        for columns in column_blocks(rows.shape):
            block = rows[:, columns]
            block -= np.outer(narrow, narrow_weights @ block)
        rows[0] *= sign

    def _turn(self, turn: np.ndarray) -> None:
        self._own()
        overwrite(turn.T, self.data)

    def _own(self) -> None:
        """Make the data ready to be changed."""
        if self._still is None:
            self._rounder = None
        if not self._owned:
            self.data = np.array(self.data, order="C")
            self._owned = True


def overwrite(matrix: np.ndarray, data: np.ndarray) -> None:
    """Replace data by matrix @ data, by blocks of columns; matrix is square."""
    narrow = matrix.astype(data.dtype)
    for columns in column_blocks(data.shape):
        data[:, columns] = narrow @ data[:, columns]
