"""Random matrices, frames and graphs that problems are made from."""

from __future__ import annotations

import math

import numpy as np

from riemtr.manifolds.stiefel import symmetric


def apart(rng: np.random.Generator) -> np.random.Generator:
    """Return a generator for the data of a problem, with a stream of its own.

    Whoever solves a problem with the seed it was built with draws the start from the same stream,
    and would begin at the very solution that was planted.
    """
    return np.random.default_rng(int(rng.integers(2**63)))


def symmetric_matrix(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return a Gaussian symmetric matrix with a spectrum of about [-1, 1]."""
    matrix = rng.standard_normal((n, n))
    return (matrix + matrix.T) / math.sqrt(8.0 * n)


def orthonormal(rng: np.random.Generator, n: int, p: int) -> np.ndarray:
    """Return an n x p matrix with orthonormal columns."""
    return np.linalg.qr(rng.standard_normal((n, p)))[0]


def unit_vector(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return a vector of length 1."""
    vector = rng.standard_normal(n)
    return vector / np.linalg.norm(vector)


def definite(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Return positive definite matrices, condition numbers about 10 to 100, of shape (..., n, n).

    Parameters
    ----------
    rng : numpy.random.Generator
    *shape : int
        The shape of the stack, and n.
    """
    n = shape[-1]
    factor = rng.standard_normal((*shape, 2 * n))
    return factor @ np.swapaxes(factor, -1, -2) / (2 * n)


def symmetric_stack(rng: np.random.Generator, count: int, n: int) -> np.ndarray:
    """Return ``count`` symmetric Gaussian matrices."""
    return symmetric(rng.standard_normal((count, n, n)))


def nearest_rotations(stack: np.ndarray) -> np.ndarray:
    """Return the rotation nearest to each matrix of a stack."""
    left, _, right = np.linalg.svd(stack)
    left[..., -1] *= np.linalg.det(left @ right)[..., None]
    return left @ right


def perturbed(rng: np.random.Generator, rotations: np.ndarray, noise: float) -> np.ndarray:
    """Return the rotations nearest to given ones with Gaussian noise on each entry."""
    return nearest_rotations(rotations + noise * rng.standard_normal(rotations.shape))


def random_graph(rng: np.random.Generator, n: int, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Return tails and heads of the edges (i < j) of a connected graph: a path, random chords.

    Parameters
    ----------
    rng : numpy.random.Generator
    n : int
        Number of nodes.
    degree : int
        Edges per node, about.
    """
    chords = max(n * degree // 2 - (n - 1), 0)
    tails = np.concatenate([np.arange(n - 1), rng.integers(0, n, size=chords)])
    heads = np.concatenate([np.arange(1, n), rng.integers(0, n, size=chords)])
    edges = np.sort(np.stack([tails, heads]), axis=0)
    tails, heads = np.unique(edges[:, edges[0] != edges[1]], axis=1)
    return tails, heads


def skew_units(n: int) -> np.ndarray:
    """Return the n(n-1)/2 skew-symmetric matrices with one entry 1 above the diagonal.

    Examples
    --------
    >>> skew_units(2)
    array([[[ 0.,  1.],
            [-1.,  0.]]])
    """
    above, right = np.triu_indices(n, 1)
    units = np.zeros((len(above), n, n))
    units[np.arange(len(above)), above, right] = 1.0
    return units - units.swapaxes(-1, -2)
