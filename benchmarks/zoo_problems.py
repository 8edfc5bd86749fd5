"""Classical problems on many manifolds, each for riemtr and for pymanopt from the same functions.

Every problem is a function of a random generator and of its sizes that returns a
:class:`Pair`: a ``riemtr.Problem``, the same ``pymanopt.Problem``, and a start. The cost, its
gradient and its Hessian product are plain numpy functions, written once and given to both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pymanopt
import scipy.sparse
from pymanopt import manifolds as peers
from pymanopt.manifolds.fixed_rank import _FixedRankTangentVector
from scipy.sparse.linalg import svds

import riemtr
from riemtr.problems.random_data import definite, orthonormal, perturbed
from riemtr.problems.random_data import symmetric_matrix as symmetric
from riemtr.problems.random_data import unit_vector as unit

Array = np.ndarray


class Pair(NamedTuple):
    """One problem for both libraries, and where to start."""

    ours: riemtr.Problem
    theirs: pymanopt.Problem
    start: Any


class Entry(NamedTuple):
    """A problem of the zoo with its sizes: standard, ten times larger, and shrunk."""

    build: Callable[..., Pair]
    standard: dict[str, Any]
    large: dict[str, Any]
    quick: dict[str, Any]

    def pair(self, size: str) -> Pair:
        """Return the problem at one of the three sizes, always the same."""
        return self.build(np.random.default_rng(0), **getattr(self, size))


ZOO: dict[str, Entry] = {}


def entry(
    name: str, *, standard: dict[str, Any], large: dict[str, Any], quick: dict[str, Any]
) -> Callable[[Callable[..., Pair]], Callable[..., Pair]]:
    """Put a problem into the zoo."""

    def add(build: Callable[..., Pair]) -> Callable[..., Pair]:
        ZOO[name] = Entry(build, standard, large, quick)
        return build

    return add


def pair(
    manifold: Any,
    peer: Any,
    cost: Callable[..., float],
    gradient: Callable[..., Any],
    hessian: Callable[..., Any],
    start: Any,
) -> Pair:
    """Give Euclidean derivatives to both libraries."""
    numpy = pymanopt.function.numpy(peer)
    return Pair(
        riemtr.Problem(manifold, cost, euclidean_gradient=gradient, euclidean_hessian=hessian),
        pymanopt.Problem(
            peer,
            numpy(cost),
            euclidean_gradient=numpy(gradient),
            euclidean_hessian=numpy(hessian),
        ),
        start,
    )


# -- random data --------------------------------------------------------------------------------


def unit_columns(rng: np.random.Generator, m: int, n: int) -> Array:
    columns = rng.standard_normal((m, n))
    return columns / np.linalg.norm(columns, axis=0)


def rotations(rng: np.random.Generator, k: int) -> Array:
    stack = np.linalg.qr(rng.standard_normal((k, 3, 3)))[0]
    stack[:, :, 0] *= np.linalg.det(stack)[:, None]
    return stack


def random_graph(rng: np.random.Generator, n: int, degree: int) -> tuple[Array, Array]:
    """Return the edges (i < j) of a connected graph: a cycle and random chords."""
    tail = np.concatenate([np.arange(n), rng.integers(0, n, size=n * (degree - 2) // 2)])
    head = np.concatenate([(np.arange(n) + 1) % n, rng.integers(0, n, size=len(tail) - n)])
    edges = np.sort(np.stack([tail, head]), axis=0)
    tail, head = np.unique(edges[:, edges[0] != edges[1]], axis=1)
    return tail, head


def sparse_symmetric(rng: np.random.Generator, n: int, degree: int) -> Any:
    """Return a sparse symmetric matrix with Gaussian entries."""
    rows, columns = rng.integers(0, n, size=(2, n * degree // 2))
    values = rng.standard_normal(len(rows))
    matrix = scipy.sparse.csr_matrix((values, (rows, columns)), shape=(n, n))
    return (matrix + matrix.T).tocsr()


def max_cut_matrix(rng: np.random.Generator, n: int) -> Any:
    """Return minus a quarter of the Laplacian of a random graph with eight edges per node."""
    tail, head = random_graph(rng, n, 8)
    ones = np.ones(len(tail))
    adjacency = scipy.sparse.csr_matrix((ones, (tail, head)), shape=(n, n))
    adjacency = adjacency + adjacency.T
    laplacian = scipy.sparse.diags(np.asarray(adjacency.sum(axis=1)).ravel()) - adjacency
    return (-0.25 * laplacian).tocsr()


# -- spheres ------------------------------------------------------------------------------------


@entry("sparse Rayleigh", standard={"n": 2000}, large={"n": 20000}, quick={"n": 60})
def sparse_rayleigh(rng: np.random.Generator, n: int) -> Pair:
    """Minimise x'Ax on Sphere(n), A sparse."""
    matrix = sparse_symmetric(rng, n, 8)
    return pair(
        riemtr.Sphere(n),
        peers.Sphere(n),
        lambda x: float(x @ (matrix @ x)),
        lambda x: 2.0 * (matrix @ x),
        lambda x, v: 2.0 * (matrix @ v),
        unit(rng, n),
    )


@entry("generalised Rayleigh", standard={"n": 300}, large={"n": 3000}, quick={"n": 20})
def generalised_rayleigh(rng: np.random.Generator, n: int) -> Pair:
    """Minimise x'Ax / x'Bx on Sphere(n), B positive definite."""
    a, b = symmetric(rng, n), definite(rng, n)

    def gradient(x: Array) -> Array:
        bx = b @ x
        size = x @ bx
        ax = a @ x
        return 2.0 * (ax - (x @ ax / size) * bx) / size

    def hessian(x: Array, v: Array) -> Array:
        ax, bx = a @ x, b @ x
        size = x @ bx
        value = x @ ax / size
        slope = 2.0 * (ax - value * bx) / size
        change = 2.0 * (a @ v - value * (b @ v) - (slope @ v) * bx) / size
        return change - slope * (2.0 * (bx @ v) / size)

    return pair(
        riemtr.Sphere(n),
        peers.Sphere(n),
        lambda x: float((x @ (a @ x)) / (x @ (b @ x))),
        gradient,
        hessian,
        unit(rng, n),
    )


@entry(
    "sparse PCA",
    standard={"n": 500, "samples": 300},
    large={"n": 5000, "samples": 1000},
    quick={"n": 20, "samples": 30},
)
def sparse_pca(rng: np.random.Generator, n: int, samples: int) -> Pair:
    """Minimise -|Y'x|^2/2 + lambda sum sqrt(x_i^2 + eps^2) on Sphere(n)."""
    weight, width = 0.1, 1e-2
    hidden = np.zeros(n)
    hidden[: max(n // 20, 2)] = 1.0
    data = rng.standard_normal((n, samples))
    data += 2.0 * hidden[:, None] * rng.standard_normal(samples)
    data /= np.sqrt(samples)
    return pair(
        riemtr.Sphere(n),
        peers.Sphere(n),
        lambda x: float(weight * np.sum(np.sqrt(x * x + width**2)) - 0.5 * np.sum((x @ data) ** 2)),
        lambda x: weight * x / np.sqrt(x * x + width**2) - data @ (x @ data),
        lambda x, v: weight * width**2 * v / (x * x + width**2) ** 1.5 - data @ (v @ data),
        unit(rng, n),
    )


@entry(
    "dictionary row",
    standard={"n": 64, "p": 4096},
    large={"n": 200, "p": 13000},
    quick={"n": 10, "p": 500},
)
def dictionary_row(rng: np.random.Generator, n: int, p: int) -> Pair:
    """Minimise the paper's cost, the mean of mu log cosh(q'y/mu), with plain callables."""
    mu = 0.1
    sparse = rng.standard_normal((n, p)) * (rng.random((n, p)) < 0.2)
    data = orthonormal(rng, n, n) @ sparse

    def cost(q: Array) -> float:
        size = np.abs(q @ data)
        return float(np.mean(size + mu * np.log1p(np.exp(-2.0 * size / mu))))

    def hessian(q: Array, v: Array) -> Array:
        weights = 1.0 - np.tanh(q @ data / mu) ** 2
        return data @ (weights * (v @ data)) / (mu * p)

    return pair(
        riemtr.Sphere(n),
        peers.Sphere(n),
        cost,
        lambda q: data @ np.tanh(q @ data / mu) / p,
        hessian,
        unit(rng, n),
    )


# -- oblique manifolds --------------------------------------------------------------------------


@entry(
    "max-cut",
    standard={"rank": 20, "n": 800},
    large={"rank": 20, "n": 8000},
    quick={"rank": 6, "n": 15},
)
def max_cut(rng: np.random.Generator, rank: int, n: int) -> Pair:
    """Minimise <X, X C> on Oblique(rank, n): the Burer-Monteiro form of max-cut."""
    matrix = max_cut_matrix(rng, n)
    return pair(
        riemtr.Oblique(rank, n),
        peers.Oblique(rank, n),
        lambda x: float(np.sum(x * (matrix @ x.T).T)),
        lambda x: 2.0 * (matrix @ x.T).T,
        lambda x, v: 2.0 * (matrix @ v.T).T,
        unit_columns(rng, rank, n),
    )


@entry("Thomson", standard={"n": 60}, large={"n": 600}, quick={"n": 7})
def thomson(rng: np.random.Generator, n: int) -> Pair:
    """Minimise the sum of 1/|x_i - x_j| over n points of the sphere."""

    def powers(x: Array, power: float) -> Array:
        squares = 2.0 - 2.0 * (x.T @ x)
        np.fill_diagonal(squares, np.inf)
        # Rounding must not make the distance of two points that coincide imaginary.
        return np.maximum(squares, 1e-300) ** power

    def hessian(x: Array, v: Array) -> Array:
        change = v.T @ x
        change = 3.0 * powers(x, -2.5) * (change + change.T)
        return v @ powers(x, -1.5) + x @ change

    return pair(
        riemtr.Oblique(3, n),
        peers.Oblique(3, n),
        lambda x: float(0.5 * np.sum(powers(x, -0.5))),
        lambda x: x @ powers(x, -1.5),
        hessian,
        unit_columns(rng, 3, n),
    )


# -- orthonormal frames and subspaces -----------------------------------------------------------


@entry(
    "Procrustes",
    standard={"n": 200, "p": 20},
    large={"n": 2000, "p": 20},
    quick={"n": 12, "p": 3},
)
def procrustes(rng: np.random.Generator, n: int, p: int) -> Pair:
    """Minimise |A X - B|^2 on Stiefel(n, p)."""
    a = rng.standard_normal((n + n // 2, n)) / np.sqrt(n)
    b = a @ orthonormal(rng, n, p) + 0.1 * rng.standard_normal((len(a), p)) / np.sqrt(n)
    return pair(
        riemtr.Stiefel(n, p),
        peers.Stiefel(n, p),
        lambda x: float(np.sum((a @ x - b) ** 2)),
        lambda x: 2.0 * (a.T @ (a @ x - b)),
        lambda x, v: 2.0 * (a.T @ (a @ v)),
        orthonormal(rng, n, p),
    )


@entry("Brockett", standard={"n": 300, "p": 6}, large={"n": 3000, "p": 6}, quick={"n": 15, "p": 3})
def brockett(rng: np.random.Generator, n: int, p: int) -> Pair:
    """Minimise trace(X'AXN) on Stiefel(n, p)."""
    matrix, weights = symmetric(rng, n), np.arange(p, 0.0, -1.0)
    return pair(
        riemtr.Stiefel(n, p),
        peers.Stiefel(n, p),
        lambda x: float(np.sum(x * (matrix @ x) * weights)),
        lambda x: 2.0 * (matrix @ x) * weights,
        lambda x, v: 2.0 * (matrix @ v) * weights,
        orthonormal(rng, n, p),
    )


@entry(
    "joint diagonalisation",
    standard={"n": 15, "count": 30},
    large={"n": 50, "count": 30},
    quick={"n": 4, "count": 5},
)
def joint_diagonalisation(rng: np.random.Generator, n: int, count: int) -> Pair:
    """Minimise -sum_k |diag(X'A_k X)|^2 on Stiefel(n, n), A_k nearly diagonal in one basis."""
    basis = orthonormal(rng, n, n)
    stack = (basis * rng.standard_normal((count, 1, n))) @ basis.T
    noise = 0.05 * rng.standard_normal(stack.shape)
    stack = stack + noise + np.swapaxes(noise, 1, 2)

    def products(x: Array) -> tuple[Array, Array]:
        moved = stack @ x
        return moved, np.sum(x * moved, axis=1, keepdims=True)

    def gradient(x: Array) -> Array:
        moved, diagonals = products(x)
        return -4.0 / count * np.sum(moved * diagonals, axis=0)

    def hessian(x: Array, v: Array) -> Array:
        moved, diagonals = products(x)
        change = 2.0 * np.sum(v * moved, axis=1, keepdims=True)
        return -4.0 / count * np.sum((stack @ v) * diagonals + moved * change, axis=0)

    return pair(
        riemtr.Stiefel(n, n),
        peers.Stiefel(n, n),
        lambda x: -float(np.sum(products(x)[1] ** 2)) / count,
        gradient,
        hessian,
        orthonormal(rng, n, n),
    )


@entry(
    "ICA",
    standard={"n": 20, "p": 2000},
    large={"n": 60, "p": 6000},
    quick={"n": 4, "p": 300},
)
def ica(rng: np.random.Generator, n: int, p: int) -> Pair:
    """Minimise the mean of log cosh of all entries of X'Y on Stiefel(n, n)."""
    sources = rng.laplace(size=(n, p))
    sources -= sources.mean(axis=1, keepdims=True)
    u, _, vt = np.linalg.svd(orthonormal(rng, n, n) @ sources, full_matrices=False)
    data = np.sqrt(p) * (u @ vt)

    def cost(x: Array) -> float:
        size = np.abs(x.T @ data)
        return float(np.sum(size + np.log1p(np.exp(-2.0 * size)))) / p

    def hessian(x: Array, v: Array) -> Array:
        weights = 1.0 - np.tanh(x.T @ data) ** 2
        return data @ (weights * (v.T @ data)).T / p

    return pair(
        riemtr.Stiefel(n, n),
        peers.Stiefel(n, n),
        cost,
        lambda x: data @ np.tanh(x.T @ data).T / p,
        hessian,
        orthonormal(rng, n, n),
    )


@entry(
    "dominant subspace",
    standard={"n": 1000, "p": 8},
    large={"n": 10000, "p": 8},
    quick={"n": 20, "p": 3},
)
def dominant_subspace(rng: np.random.Generator, n: int, p: int) -> Pair:
    """Minimise -|Y'X|^2/2 on Grassmann(n, p)."""
    samples = min(n, 200)
    data = rng.standard_normal((n, samples)) * np.linspace(1.0, 0.1, samples) / np.sqrt(n)
    return pair(
        riemtr.Grassmann(n, p),
        peers.Grassmann(n, p),
        lambda x: -0.5 * float(np.sum((data.T @ x) ** 2)),
        lambda x: -(data @ (data.T @ x)),
        lambda x, v: -(data @ (data.T @ v)),
        orthonormal(rng, n, p),
    )


@entry(
    "robust subspace",
    standard={"n": 200, "p": 5, "samples": 1000},
    large={"n": 2000, "p": 5, "samples": 2000},
    quick={"n": 12, "p": 2, "samples": 60},
)
def robust_subspace(rng: np.random.Generator, n: int, p: int, samples: int) -> Pair:
    """Minimise the mean of sqrt(|y - XX'y|^2 + mu^2) on Grassmann(n, p), a third outliers."""
    mu = 0.1
    data = orthonormal(rng, n, p) @ rng.standard_normal((p, samples))
    data += 0.1 * rng.standard_normal(data.shape) / np.sqrt(n)
    outliers = rng.random(samples) < 1.0 / 3.0
    data[:, outliers] = rng.standard_normal((n, outliers.sum())) * np.sqrt(p / n)
    squares = np.sum(data**2, axis=0) + mu**2

    def roots(x: Array) -> tuple[Array, Array]:
        coordinates = x.T @ data
        return coordinates, np.sqrt(squares - np.sum(coordinates**2, axis=0))

    def gradient(x: Array) -> Array:
        coordinates, root = roots(x)
        return -(data @ (coordinates / (samples * root)).T)

    def hessian(x: Array, v: Array) -> Array:
        coordinates, root = roots(x)
        change = v.T @ data
        slope = np.sum(coordinates * change, axis=0) / root**2
        return -(data @ ((change + slope * coordinates) / (samples * root)).T)

    return pair(
        riemtr.Grassmann(n, p),
        peers.Grassmann(n, p),
        lambda x: float(np.mean(roots(x)[1])),
        gradient,
        hessian,
        orthonormal(rng, n, p),
    )


# -- rotations ----------------------------------------------------------------------------------


@entry("rotation averaging", standard={"k": 200}, large={"k": 2000}, quick={"k": 6})
def rotation_averaging(rng: np.random.Generator, k: int) -> Pair:
    """Minimise -sum trace(R_i M_ij R_j') over the edges of a graph on SO(3)^k."""
    tail, head = random_graph(rng, k, 8)
    truth = rotations(rng, k)
    measured = perturbed(rng, np.swapaxes(truth[tail], 1, 2) @ truth[head], 0.1)
    blocks = scipy.sparse.coo_matrix(
        (
            measured.ravel(),
            (
                (3 * tail[:, None, None] + np.arange(3)[:, None] + np.zeros(3, int)).ravel(),
                (3 * head[:, None, None] + np.arange(3) + np.zeros((3, 1), int)).ravel(),
            ),
        ),
        shape=(3 * k, 3 * k),
    )
    matrix = (blocks + blocks.T).tocsr()

    def applied(stack: Array) -> Array:
        tall = np.swapaxes(stack, 1, 2).reshape(3 * k, 3)
        return np.swapaxes((matrix @ tall).reshape(k, 3, 3), 1, 2)

    return pair(
        riemtr.Rotations(3, k=k),
        peers.SpecialOrthogonalGroup(3, k=k),
        lambda r: -0.5 * float(np.sum(r * applied(r))),
        lambda r: -applied(r),
        lambda r, v: -applied(v),
        rotations(rng, k),
    )


@entry("pose graph", standard={"k": 100}, large={"k": 1000}, quick={"k": 5})
def pose_graph(rng: np.random.Generator, k: int) -> Pair:
    """Minimise sum |R_j - R_i M_ij|^2 + |t_j - t_i - R_i m_ij|^2 over SO(3)^k x R^(k x 3)."""
    tail, head = random_graph(rng, k, 6)
    turns, places = rotations(rng, k), 3.0 * rng.random((k, 3))
    moves = np.einsum("eji,ej->ei", turns[tail], places[head] - places[tail])
    moves += 0.05 * rng.standard_normal(moves.shape)
    measured = perturbed(rng, np.swapaxes(turns[tail], 1, 2) @ turns[head], 0.05)
    edges, ones = np.arange(len(tail)), np.ones(len(tail))
    shape = (k, len(tail))
    to_tail = scipy.sparse.csr_matrix((ones, (tail, edges)), shape=shape)
    to_head = scipy.sparse.csr_matrix((ones, (head, edges)), shape=shape)
    to_both = (to_head - to_tail).tocsr()

    def residuals(r: Array, t: Array) -> tuple[Array, Array]:
        along = np.einsum("eij,ej->ei", r[tail], moves)
        return r[head] - r[tail] @ measured, t[head] - t[tail] - along

    def gradient(r: Array, t: Array) -> list[Array]:
        turned, moved = residuals(r, t)
        at_tail = turned @ np.swapaxes(measured, 1, 2) + moved[:, :, None] * moves[:, None, :]
        to_r = to_head @ turned.reshape(-1, 9) - to_tail @ at_tail.reshape(-1, 9)
        return [2.0 * to_r.reshape(k, 3, 3), 2.0 * (to_both @ moved)]

    def cost(r: Array, t: Array) -> float:
        turned, moved = residuals(r, t)
        return float(np.sum(turned**2) + np.sum(moved**2))

    return pair(
        riemtr.Product([riemtr.Rotations(3, k=k), riemtr.Euclidean(k, 3)]),
        peers.Product([peers.SpecialOrthogonalGroup(3, k=k), peers.Euclidean(k, 3)]),
        cost,
        gradient,
        # The cost is a quadratic form of (r, t): its gradient is linear, and its own derivative.
        lambda r, t, v, w: gradient(v, w),
        [perturbed(rng, turns, 0.3), places + 0.3 * rng.standard_normal((k, 3))],
    )


# -- positive definite matrices -----------------------------------------------------------------


def karcher(rng: np.random.Generator, manifold: Any, peer: Any, matrices: Array) -> Pair:
    """Minimise half the mean of dist(X, A_i)^2, of one matrix or of a stack of them."""
    count = len(matrices)
    inverse = np.linalg.inv(np.linalg.cholesky(matrices))
    inverse_transposed = np.swapaxes(inverse, -1, -2)

    def spectra(x: Array) -> tuple[Array, Array]:
        values, vectors = np.linalg.eigh(inverse @ x @ inverse_transposed)
        return values, inverse_transposed @ vectors

    def gradient(x: Array) -> Array:
        values, vectors = spectra(x)
        weights = np.log(values) / values
        terms = (vectors * weights[..., None, :]) @ np.swapaxes(vectors, -1, -2)
        return np.sum(terms, axis=0) / count

    def hessian(x: Array, v: Array) -> Array:
        # The derivative of a matrix function: divided differences in the eigenbasis.
        values, vectors = spectra(x)
        transposed = np.swapaxes(vectors, -1, -2)
        weights = np.log(values) / values
        gap = values[..., :, None] - values[..., None, :]
        near = np.abs(gap) <= 1e-6 * values[..., :, None]
        middle = 0.5 * (values[..., :, None] + values[..., None, :])
        divided = np.where(
            near,
            (1.0 - np.log(middle)) / middle**2,
            (weights[..., :, None] - weights[..., None, :]) / np.where(near, 1.0, gap),
        )
        terms = vectors @ (divided * (transposed @ v @ vectors)) @ transposed
        return np.sum(terms, axis=0) / count

    return pair(
        manifold,
        peer,
        lambda x: 0.5 * float(np.sum(np.log(spectra(x)[0]) ** 2)) / count,
        gradient,
        hessian,
        definite(rng, *matrices.shape[1:-1]),
    )


@entry(
    "Karcher mean",
    standard={"n": 12, "count": 20},
    large={"n": 40, "count": 20},
    quick={"n": 3, "count": 4},
)
def karcher_mean(rng: np.random.Generator, n: int, count: int) -> Pair:
    """Minimise over PositiveDefinite(n)."""
    peer = peers.SymmetricPositiveDefinite(n)
    return karcher(rng, riemtr.PositiveDefinite(n), peer, definite(rng, count, n))


@entry(
    "stack of Karcher means",
    standard={"k": 100, "count": 8},
    large={"k": 1000, "count": 8},
    quick={"k": 3, "count": 3},
)
def stack_of_karcher_means(rng: np.random.Generator, k: int, count: int) -> Pair:
    """Minimise over PositiveDefinite(3, k): k means at once."""
    peer = peers.SymmetricPositiveDefinite(3, k=k)
    return karcher(rng, riemtr.PositiveDefinite(3, k=k), peer, definite(rng, count, k, 3))


@entry("Gaussian covariance", standard={"n": 10}, large={"n": 32}, quick={"n": 3})
def gaussian_covariance(rng: np.random.Generator, n: int) -> Pair:
    """Minimise log det X + trace(X^-1 S) on PositiveDefinite(n)."""
    sample = definite(rng, n)

    def cost(x: Array) -> float:
        return float(np.linalg.slogdet(x)[1] + np.trace(np.linalg.solve(x, sample)))

    def gradient(x: Array) -> Array:
        inverse = np.linalg.inv(x)
        return inverse - inverse @ sample @ inverse

    def hessian(x: Array, v: Array) -> Array:
        inverse = np.linalg.inv(x)
        change = inverse @ v @ inverse
        twice = change @ sample @ inverse
        return twice + twice.T - change

    return pair(
        riemtr.PositiveDefinite(n),
        peers.SymmetricPositiveDefinite(n),
        cost,
        gradient,
        hessian,
        np.eye(n),
    )


# -- fixed rank ---------------------------------------------------------------------------------


@entry(
    "completion",
    standard={"m": 400, "n": 500, "rank": 5},
    large={"m": 4000, "n": 5000, "rank": 5},
    quick={"m": 20, "n": 25, "rank": 2},
)
def completion(rng: np.random.Generator, m: int, n: int, rank: int) -> Pair:
    """Minimise the squared error at known entries, on FixedRank(m, n, rank).

    Riemannian derivatives, Hessian as in Vandereycken 2013; nothing dense of m x n is formed. A
    tangent vector U M V' + Up V' + U Vp' is the tuple (Up, M, Vp).
    """
    known = np.unique(rng.integers(0, m * n, size=6 * rank * (m + n - rank)))
    rows, columns = np.divmod(known, n)
    starts = np.searchsorted(rows, np.arange(m + 1))
    left, right = rng.standard_normal((m, rank)), rng.standard_normal((n, rank))
    data = np.sum(left[rows] * right[columns], axis=1) / np.sqrt(rank)
    data += 1e-2 * rng.standard_normal(len(data))

    def at_known(tall: Array, other: Array) -> Any:
        """Return the known entries of a product, as a sparse matrix."""
        values = np.einsum("ij,ij->i", tall[rows], other[columns])
        return scipy.sparse.csr_matrix((values, columns, starts), shape=(m, n))

    def residual(u: Array, s: Array, vt: Array) -> Any:
        found = at_known(u * s, vt.T)
        found.data -= data
        return found

    def tangent(u: Array, vt: Array, by_v: Array, by_u: Array) -> tuple[Array, Array, Array]:
        """Return the projection of Z, given Z V and Z'U."""
        middle = u.T @ by_v
        return by_v - u @ middle, middle, by_u - vt.T @ (vt @ by_u)

    def cost(u: Array, s: Array, vt: Array) -> float:
        return 0.5 * float(np.sum(residual(u, s, vt).data ** 2))

    def gradient(u: Array, s: Array, vt: Array) -> tuple[Array, Array, Array]:
        error = residual(u, s, vt)
        return tangent(u, vt, error @ vt.T, error.T @ u)

    def hessian(
        u: Array, s: Array, vt: Array, up: Array, middle: Array, vp: Array
    ) -> tuple[Array, Array, Array]:
        error = residual(u, s, vt)
        change = at_known(np.hstack([u @ middle + up, u]), np.hstack([vt.T, vp]))
        du, inner, dv = tangent(u, vt, change @ vt.T, change.T @ u)
        bend_u, bend_v = error @ (vp / s), error.T @ (up / s)
        return du + bend_u - u @ (u.T @ bend_u), inner, dv + bend_v - vt.T @ (vt @ bend_v)

    peer = peers.FixedRankEmbedded(m, n, rank)
    numpy = pymanopt.function.numpy(peer)
    # pymanopt computes with tangent vectors of its own class.
    theirs = pymanopt.Problem(
        peer,
        numpy(cost),
        riemannian_gradient=numpy(lambda u, s, vt: _FixedRankTangentVector(*gradient(u, s, vt))),
        riemannian_hessian=numpy(
            lambda u, s, vt, up, middle, vp: _FixedRankTangentVector(
                *hessian(u, s, vt, up, middle, vp)
            )
        ),
    )
    ours = riemtr.Problem(
        riemtr.FixedRank(m, n, rank),
        cost,
        riemannian_gradient=gradient,
        riemannian_hessian=hessian,
    )
    filled = scipy.sparse.csr_matrix((data * (m * n / len(data)), columns, starts), shape=(m, n))
    u, s, vt = svds(filled, k=rank, v0=rng.standard_normal(min(m, n)))
    return Pair(ours, theirs, (u[:, ::-1].copy(), s[::-1].copy(), vt[::-1].copy()))


# -- Euclidean space ----------------------------------------------------------------------------


@entry("logistic regression", standard={"n": 500}, large={"n": 5000}, quick={"n": 10})
def logistic_regression(rng: np.random.Generator, n: int) -> Pair:
    """Minimise the regularised logistic loss of 4 n sparse samples on Euclidean(n)."""
    samples, weight = 4 * n, 1e-4
    data = scipy.sparse.random(
        samples, n, density=min(1.0, 20.0 / n), format="csr", random_state=rng
    )
    labels = np.where(data @ rng.standard_normal(n) + rng.standard_normal(samples) > 0, 1.0, -1.0)
    data = scipy.sparse.diags(labels) @ data
    transposed = data.T.tocsr()

    def hessian(x: Array, v: Array) -> Array:
        share = 1.0 / (1.0 + np.exp(-(data @ x)))
        return transposed @ (share * (1.0 - share) * (data @ v)) / samples + weight * v

    return pair(
        riemtr.Euclidean(n),
        peers.Euclidean(n),
        lambda x: float(np.mean(np.logaddexp(0.0, -(data @ x))) + 0.5 * weight * (x @ x)),
        lambda x: weight * x - transposed @ (1.0 / (1.0 + np.exp(data @ x))) / samples,
        hessian,
        np.zeros(n),
    )


@entry("Rosenbrock", standard={"n": 100}, large={"n": 1000}, quick={"n": 4})
def rosenbrock(rng: np.random.Generator, n: int) -> Pair:
    """Minimise sum 100 (x_(i+1) - x_i^2)^2 + (1 - x_i)^2 on Euclidean(n)."""

    def gradient(x: Array) -> Array:
        bend = x[1:] - x[:-1] ** 2
        slope = np.zeros(n)
        slope[1:] = 200.0 * bend
        slope[:-1] -= 400.0 * x[:-1] * bend + 2.0 * (1.0 - x[:-1])
        return slope

    def hessian(x: Array, v: Array) -> Array:
        bend = x[1:] - x[:-1] ** 2
        change = v[1:] - 2.0 * x[:-1] * v[:-1]
        product = np.zeros(n)
        product[1:] = 200.0 * change
        product[:-1] += -400.0 * (v[:-1] * bend + x[:-1] * change) + 2.0 * v[:-1]
        return product

    return pair(
        riemtr.Euclidean(n),
        peers.Euclidean(n),
        lambda x: float(np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)),
        gradient,
        hessian,
        rng.uniform(0.0, 2.0, size=n),
    )


# -- products -----------------------------------------------------------------------------------


@entry(
    "best rank one",
    standard={"m": 80, "n": 60},
    large={"m": 800, "n": 600},
    quick={"m": 6, "n": 5},
)
def best_rank_one(rng: np.random.Generator, m: int, n: int) -> Pair:
    """Minimise -u'Av on Sphere(m) x Sphere(n)."""
    matrix = rng.standard_normal((m, n)) / np.sqrt(m)
    return pair(
        riemtr.Product([riemtr.Sphere(m), riemtr.Sphere(n)]),
        peers.Product([peers.Sphere(m), peers.Sphere(n)]),
        lambda u, v: -float(u @ (matrix @ v)),
        lambda u, v: [-(matrix @ v), -(u @ matrix)],
        lambda u, v, du, dv: [-(matrix @ dv), -(du @ matrix)],
        [unit(rng, m), unit(rng, n)],
    )


@entry(
    "truncated SVD",
    standard={"m": 100, "n": 80, "p": 5},
    large={"m": 1000, "n": 800, "p": 5},
    quick={"m": 8, "n": 6, "p": 2},
)
def truncated_svd(rng: np.random.Generator, m: int, n: int, p: int) -> Pair:
    """Minimise -trace(U'AVN) on Stiefel(m, p) x Stiefel(n, p)."""
    matrix, weights = rng.standard_normal((m, n)) / np.sqrt(m), np.arange(p, 0.0, -1.0)
    return pair(
        riemtr.Product([riemtr.Stiefel(m, p), riemtr.Stiefel(n, p)]),
        peers.Product([peers.Stiefel(m, p), peers.Stiefel(n, p)]),
        lambda u, v: -float(np.sum(u * (matrix @ v) * weights)),
        lambda u, v: [-(matrix @ v) * weights, -(matrix.T @ u) * weights],
        lambda u, v, du, dv: [-(matrix @ dv) * weights, -(matrix.T @ du) * weights],
        [orthonormal(rng, m, p), orthonormal(rng, n, p)],
    )


# -- manifolds of pymanopt that riemtr adapts ---------------------------------------------------


@entry("phase synchronisation", standard={"n": 100}, large={"n": 1000}, quick={"n": 6})
def phase_synchronisation(rng: np.random.Generator, n: int) -> Pair:
    """Minimise -z*Cz on ComplexCircle(n), C a noisy z0 z0*."""
    truth = np.exp(2j * np.pi * rng.random(n))
    noise = rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n))
    matrix = np.outer(truth, truth.conj()) / n + 0.1 * (noise + noise.conj().T) / np.sqrt(n)
    peer = peers.ComplexCircle(n)
    return pair(
        peer,
        peer,
        lambda z: -float((z.conj() @ (matrix @ z)).real),
        lambda z: -2.0 * (matrix @ z),
        lambda z, v: -2.0 * (matrix @ v),
        np.exp(2j * np.pi * rng.random(n)),
    )


@entry(
    "max-cut, Elliptope",
    standard={"n": 100, "rank": 10},
    large={"n": 1000, "rank": 10},
    quick={"n": 8, "rank": 3},
)
def max_cut_elliptope(rng: np.random.Generator, n: int, rank: int) -> Pair:
    """Minimise <Y, C Y> on Elliptope(n, rank)."""
    matrix = max_cut_matrix(rng, n)
    peer = peers.Elliptope(n, rank)
    return pair(
        peer,
        peer,
        lambda y: float(np.sum(y * (matrix @ y))),
        lambda y: 2.0 * (matrix @ y),
        lambda y, v: 2.0 * (matrix @ v),
        unit_columns(rng, rank, n).T.copy(),
    )


@entry(
    "low-rank PSD",
    standard={"n": 100, "rank": 5},
    large={"n": 1000, "rank": 5},
    quick={"n": 8, "rank": 2},
)
def low_rank_psd(rng: np.random.Generator, n: int, rank: int) -> Pair:
    """Minimise |YY' - A|^2/4 on PSDFixedRank(n, rank)."""
    factor = rng.standard_normal((n, rank)) / np.sqrt(n)
    matrix = factor @ factor.T + 0.1 * symmetric(rng, n)
    square = np.sum(matrix**2)
    peer = peers.PSDFixedRank(n, rank)
    return pair(
        peer,
        peer,
        lambda y: 0.25 * float(np.sum((y.T @ y) ** 2) - 2.0 * np.sum(y * (matrix @ y)) + square),
        lambda y: y @ (y.T @ y) - matrix @ y,
        lambda y, v: v @ (y.T @ y) + y @ (v.T @ y) + y @ (y.T @ v) - matrix @ v,
        rng.standard_normal((n, rank)) / np.sqrt(n),
    )
