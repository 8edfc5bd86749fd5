"""The dictionaries A (n x n) from which the sparse models generate their observations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from riemtr.arguments import real


@runtime_checkable
class Dictionary(Protocol):
    """How a model obtains its dictionary; any object with this method serves as one."""

    def matrix(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return an invertible n x n array, the atoms in its columns."""
        ...


@dataclass(frozen=True)
class Identity:
    """The identity, the paper's choice in section IV.B: orthogonal dictionaries reduce to it."""

    def matrix(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return the n x n identity; ``rng`` is not used."""
        return np.eye(n)


@dataclass(frozen=True)
class Orthogonal:
    """An orthogonal matrix from the Haar measure, under which all rotations are alike."""

    def matrix(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return an n x n matrix with orthonormal columns."""
        q, r = np.linalg.qr(rng.standard_normal((n, n)))
        # QR alone is not Haar: the signs of the diagonal of R must be moved into Q (Mezzadri 2007).
        return q * np.where(np.diag(r) < 0, -1.0, 1.0)


@dataclass(frozen=True)
class Conditioned:
    """A complete dictionary with a given condition number.

    ``A = U diag(s) V'`` with Haar orthogonal U and V and singular values s in geometric
    progression from ``sqrt(condition_number)`` to ``1 / sqrt(condition_number)``.

    Parameters
    ----------
    condition_number : float
        Ratio of the largest singular value to the smallest, at least 1.

    Examples
    --------
    >>> A = Conditioned(100.0).matrix(5, np.random.default_rng(0))
    >>> round(float(np.linalg.cond(A)), 6)
    100.0
    """

    condition_number: float

    def __post_init__(self) -> None:
        real("condition_number", self.condition_number, low=1.0)

    def matrix(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return an n x n matrix with the condition number asked for."""
        if n == 1 and self.condition_number != 1:
            raise ValueError(
                f"condition_number must be 1 where n = 1, as it is for every 1 x 1 matrix; "
                f"got {self.condition_number!r}; use a larger n, or Orthogonal()"
            )
        root = np.sqrt(self.condition_number)
        singular_values = np.geomspace(root, 1 / root, n)
        left, right = (Orthogonal().matrix(n, rng) for _ in range(2))
        return (left * singular_values) @ right
