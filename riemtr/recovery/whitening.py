"""Preconditioning: turn data with any complete dictionary into data with an orthogonal one.

With ``Y = A X`` and X as in the paper's model, ``(Y Y')^(-1/2) Y`` is close to ``Q X`` with Q
orthogonal (eq. precon_def): what is proved for orthogonal dictionaries then applies.

**Scale.** By default the whitened data satisfy ``(1/p) data data' = I``: for every unit q the
entries of ``q' data`` have mean square 1, whatever the units of Y. The smoothing parameter mu
is therefore relative to the root mean square of what it smooths, and its default means the same
on any data. The paper multiplies by ``sqrt(theta)``, so that the *nonzero* coefficients have
variance 1; theta is unknown in practice, so it is used only where it is given.
"""

from __future__ import annotations

import math
import operator
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from riemtr.arguments import real
from riemtr.data.blocks import Blocks, Samples, as_data, empty_aligned, gram_of, product_blocks
from riemtr.errors import ArgumentError
from riemtr.recovery.report import column_signs

_SQUARES = 40  # exponent of two up to which sums of squares are numbers, in single precision too
# The same for coefficients, which differ from the data in size by up to their condition number.
_COEFFICIENTS = {np.dtype(np.float32): 100, np.dtype(np.float64): 1010}


def power_of_two(Y: Samples) -> float:
    """Return 1, or where squares of the entries would over- or underflow, what prevents it."""
    exponent = math.frexp(Y.largest)[1]
    if abs(exponent) < _SQUARES:
        return 1.0
    return math.ldexp(1.0, min(-exponent, 1000))


def in_safe_units(Y: Samples) -> tuple[Samples, float]:
    """Return ``unit * Y`` and the unit, a power of two: Y itself, where that is 1."""
    unit = power_of_two(Y)
    if unit == 1.0:
        return Y, unit
    return Y.mapped(_scaled, unit, rows=Y.shape[0]), unit


def check_range(Y: Samples) -> None:
    """Raise an error where dictionary, maps or coefficients would leave the range of the type."""
    largest = Y.largest
    most = _COEFFICIENTS[Y.dtype]
    if largest > 0 and abs(math.frexp(largest)[1]) > most:
        low, high = math.ldexp(1.0, -most), math.ldexp(1.0, most)
        wider = "Y.astype(np.float64), or " if Y.dtype == np.float32 else ""
        raise ValueError(
            f"Y must have its largest entry between {low:.0e} and {high:.0e} in {Y.dtype}; got "
            f"{largest:.1e}: pass {wider}Y in other units"
        )


def _scaled(block: np.ndarray, unit: float) -> np.ndarray:
    return block * block.dtype.type(unit)


_WELL_CONDITIONED = 1e-2  # eigenvalue ratio of a Gram matrix from which one pass is accurate
_MOST_PASSES = 6  # three whiten anything that is not rank-deficient: it only guards the loop


@dataclass(frozen=True, eq=False)
class Whitening:
    """``unit * Y = left @ diag(values) @ (turn @ Z)``, whose last factor has orthonormal rows."""

    left: np.ndarray
    values: np.ndarray
    turn: np.ndarray
    Z: Samples
    unit: float


def decompose(Y: Samples, taken: float = 0.0) -> Whitening:
    """Find the singular values and vectors of Y.

    Those of data with more rows than columns are found from the small triangular factor R of
    Y = Q R: the Gram matrix of all rows would be larger than Y. ``taken`` is the norm of a matrix
    that was subtracted from Y, whose rounding errors Y has as well.
    """
    n = Y.shape[0]
    if Y.array is None or n <= Y.shape[1]:
        return _in_passes(Y, n, taken)
    unit = power_of_two(Y)
    Q, R = np.linalg.qr(Y.array.astype(np.float64) * unit)
    small = _in_passes(Blocks(R.astype(Y.dtype)), n, unit * taken)
    left = Q @ small.left
    signs = column_signs(left)
    return Whitening(left * signs, small.values, signs[:, None] * small.turn, small.Z, unit)


def _in_passes(Y: Samples, n: int, taken: float = 0.0) -> Whitening:
    """Find them in passes over whitened copies Z of Y.

    The invariant is ``unit * Y = root @ Z``: each pass whitens Z by its own Gram matrix and
    multiplies root by what that took out. A Gram matrix does not resolve eigenvalues below a
    floor; those are raised to it, and what remains of them is left to the next pass. Two such
    passes reach ``floor * largest``: singular values that small are rounding, and are dropped.

    Parameters
    ----------
    Y : Samples
    n : int
        The size that rounding errors grow with: the rows of the data that Y stands for.
    taken : float
        As for :func:`decompose`.
    """
    floor = 10 * n * float(np.finfo(np.float64).eps)
    tolerance = max(2 * floor, n * float(np.finfo(np.float32).eps) * (Y.dtype == np.float32))
    unit = power_of_two(Y)
    Z = Y
    root = np.eye(Y.shape[0])
    for _ in range(_MOST_PASSES):
        eigenvalues, vectors = np.linalg.eigh(gram_of(Z, unit if Z is Y else 1.0))
        if eigenvalues[-1] == 0:
            raise ValueError("Y must not be zero everywhere; got only zeros")
        spread = np.sqrt(np.maximum(eigenvalues, floor * eigenvalues[-1]))
        left, values, right = np.linalg.svd(root @ (vectors * spread), full_matrices=False)
        kept = int(np.count_nonzero(values > tolerance * max(float(values[0]), unit * taken)))
        turn = right[:kept] @ (vectors / spread).T
        left, values = left[:, :kept], values[:kept]
        if eigenvalues[0] >= _WELL_CONDITIONED * eigenvalues[-1]:
            break
        Z, root = apply_map(turn, Z, Y, unit), left * values
        turn = np.eye(kept)
    signs = column_signs(left)  # or rounding would choose them
    return Whitening(left * signs, values, signs[:, None] * turn, Z, unit)


def apply_map(map_: np.ndarray, Z: Samples, Y: Samples, unit: float) -> Samples:
    """Return ``map_ @ Z``: over Z itself, or if that is still the user's Y, in a new array.

    What is partitioned is mapped when visited, and so takes no memory until it is kept.
    """
    fresh = Z is Y
    return Z.mapped(_applied, map_, unit if fresh else 1.0, rows=len(map_), over=not fresh)


def _applied(block: np.ndarray, map_: np.ndarray, unit: float) -> np.ndarray:
    out = empty_aligned((len(map_), block.shape[1]), block.dtype)
    for columns, part in product_blocks(block, unit):
        out[:, columns] = map_ @ part
    return out


@dataclass(frozen=True, eq=False)
class Preconditioned:
    """Whitened data, and the maps to them and back.

    ``data = matrix @ Y`` (to rounding, relative to the condition number), ``inverse @ data`` is Y
    (its projection on the principal directions kept, if some were dropped). A direction q on the
    sphere of the whitened data is the direction ``matrix.T @ q`` for Y; a dictionary D of the
    whitened data is the dictionary ``inverse @ D`` of Y.

    Attributes
    ----------
    data : array, shape (r, p)
        A Dask array, not computed yet, if Y is one:
        ``scale * (Y Y')^(-1/2) Y`` if r = n, coordinates in `basis` if r < n; its rows are
        orthogonal, of norm `scale`, and span the row space of Y.
    matrix : array, shape (r, n)
        The whitening map W; symmetric if r = n.
    inverse : array, shape (n, r)
        Its pseudo-inverse.
    basis : array, shape (n, r)
        Orthonormal principal directions of Y, leading first: they span the columns of `inverse`.
    singular_values : array, shape (at least r,)
        Those of Y above rounding, in decreasing order.
    rank : int
        r, the number of directions kept.
    condition_number : float
        Of the part of Y that was kept.
    scale : float
        ``sqrt(p)``, or ``sqrt(p * theta)`` where theta was given.
    """

    data: Any
    matrix: np.ndarray
    inverse: np.ndarray
    basis: np.ndarray
    singular_values: np.ndarray
    rank: int
    condition_number: float
    scale: float

    @property
    def residual(self) -> float:
        """What dropping directions leaves: the norm of Y - inverse @ data over that of Y."""
        if self.singular_values.size == 0:
            return 0.0
        shares = (self.singular_values / self.singular_values[0]).astype(np.float64) ** 2
        return math.sqrt(float(shares[self.rank :].sum() / shares.sum()))


def precondition(
    Y: Any,
    *,
    rank: int | str | None = None,
    theta: float | None = None,
    pool: Executor | None = None,
) -> Preconditioned:
    """Whiten data: ``sqrt(p * theta) (Y Y')^(-1/2) Y``, the paper's eq. precon_def.

    Without theta the factor is ``sqrt(p)``, so that ``(1/p) data data' = I``; the module's
    description says why. Y is not centred (the model has no mean) and never modified. Beyond Y,
    memory is at most that of one copy of Y, where more than half of the directions are kept.

    Parameters
    ----------
    Y : array_like or Dask array, shape (n, p)
        The data, one sample per column: anything `check_data` accepts.
    rank : None, int or "auto"
        How many principal directions to keep. None keeps all n, and is an error if Y is
        numerically rank-deficient; an integer keeps the leading ones; "auto" keeps those with a
        singular value above rounding, ``20 n eps`` times the largest (``n eps`` in float32), so
        that recovery takes place in the row space of Y.
    theta : float, optional
        The probability of a nonzero coefficient, where it is known.
    pool : concurrent.futures.Executor, optional
        Threads to share the work with; they do not change the result.

    Returns
    -------
    Preconditioned
        In float32 if Y is float32, in float64 otherwise.

    Examples
    --------
    >>> Y = np.random.default_rng(0).standard_normal((3, 500)) * [[1.0], [10.0], [1e4]]
    >>> white = precondition(Y)
    >>> np.allclose(white.data @ white.data.T / 500, np.eye(3), atol=1e-12)
    True
    >>> np.allclose(white.inverse @ white.data, Y)
    True
    """
    _check_rank(rank)
    if theta is not None and real("theta", theta, low=0.0, high=1.0) == 0:
        raise ArgumentError("theta", "be above 0 and at most 1, or None if unknown", theta)
    white = whitened(as_data(Y).with_pool(pool), rank, theta)
    return replace(white, data=white.data.as_array())


def whitened(
    data: Samples, rank: int | str | None = None, theta: float | None = None
) -> Preconditioned:
    """Return the samples whitened, as samples: see :func:`precondition`."""
    wanted = _check_rank(rank)
    n, p = data.shape
    if wanted is None and p < n:
        raise ValueError(
            f"Y must have at least as many samples (columns) as features (rows); got {n} features "
            f"and {p} samples; transpose Y if its samples are rows (--transpose in a terminal), or "
            f"pass a rank below the number of samples"
        )
    check_range(data)
    scale = math.sqrt(p if theta is None else p * theta)
    found = decompose(data)
    return _finish(data, found, _choose_rank(data, found.values, wanted), scale)


def whitened_less(
    moved: Samples, centre: np.ndarray, Y: Samples, rank: int | str | None
) -> Preconditioned | None:
    """Return the samples Y whitened after a centre was subtracted, which gave ``moved``.

    None if these do not have the rank that is asked for; n - 1 will do for None if Y itself has
    rank n.
    """
    n, p = Y.shape
    size = float(np.abs(centre).max())  # or squares would over- or underflow
    taken = size * math.sqrt(p) * float(np.linalg.norm(centre / size)) if size else 0.0
    if not np.any(moved.total(_nonzeros)[0]):
        return None
    found = decompose(moved, taken)
    r = int(rank) if rank is not None and not isinstance(rank, str) else found.values.size
    if r > found.values.size:
        return None
    if rank is None and r < n and (r < n - 1 or decompose(Y).values.size < n):
        return None
    return _finish(moved, found, r, math.sqrt(p))


def numerical_rank(Y: Any) -> int:
    """Return how many directions ``precondition(Y, rank="auto")`` keeps, without whitening Y.

    Data of a condition number up to 10 are read once and not copied.

    Parameters
    ----------
    Y : array_like or Dask array, shape (n, p)
        As for :func:`precondition`; not zero everywhere.

    Examples
    --------
    >>> numerical_rank([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 2.0]])
    2
    """
    return decompose(as_data(Y)).values.size


def _check_rank(rank: int | str | None) -> int | str | None:
    if rank is None or (isinstance(rank, str) and rank == "auto"):
        return rank
    try:
        wanted = operator.index(rank)  # type: ignore[arg-type]
    except TypeError:
        wanted = 0
    if isinstance(rank, bool) or wanted < 1:
        raise ArgumentError("rank", "be None, 'auto' or an integer of at least 1", rank)
    return wanted


def _finish(Y: Samples, found: Whitening, r: int, scale: float) -> Preconditioned:
    """Rotate to the symmetric form, or keep the leading r coordinates, and build the maps."""
    left, values, unit = found.left[:, :r], found.values[:r], found.unit
    # Full rank: (Y Y')^(-1/2) Y = U diag(1/s) U' Y, symmetric as in the paper.
    rotation = left if r == Y.shape[0] else np.eye(r)
    data = apply_map(scale * rotation @ found.turn[:r], found.Z, Y, unit)
    if 2 * r <= found.Z.shape[0]:
        data = data.alone()
    matrix = (scale * unit) * (rotation / values) @ left.T
    inverse = (left * values) @ rotation.T / (scale * unit)
    return Preconditioned(
        data=data,
        matrix=matrix.astype(Y.dtype, copy=False),
        inverse=inverse.astype(Y.dtype, copy=False),
        basis=left.astype(Y.dtype),
        singular_values=(found.values / unit).astype(Y.dtype, copy=False),
        rank=r,
        condition_number=float(values[0] / values[-1]),
        scale=scale,
    )


def _choose_rank(Y: Samples, values: np.ndarray, wanted: int | str | None) -> int:
    numerical = values.size
    if wanted == "auto":
        return numerical
    r = Y.shape[0] if wanted is None else int(wanted)
    if r <= numerical:
        return r
    if r > Y.shape[0]:
        limit = f"be at most {Y.shape[0]}, the number of rows of Y"
        raise ArgumentError("rank", limit, wanted, "leave it out for all of them")
    zero = np.flatnonzero(Y.total(_nonzeros)[0] == 0)
    causes = f"row {zero[0]} is zero" if zero.size else "some rows are combinations of others"
    kind = "of full rank" if wanted is None else f"of rank at least {r}, the rank asked for"
    raise ValueError(
        f"Y must be {kind}; got shape {Y.shape} with numerical rank {numerical} ({causes}); pass "
        f"rank='auto' to work in its row space, or rescale rows whose units are far apart"
    )


def _nonzeros(block: np.ndarray, first: int) -> tuple[np.ndarray]:
    """Return how many entries of each row are not zero."""
    return (np.count_nonzero(block, axis=1),)
