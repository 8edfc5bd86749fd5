"""The problems that come with riemtr, each with what is known about its solution."""

from __future__ import annotations

import inspect
import math
from typing import Any

import autograd.numpy as anp
import numpy as np

from riemtr.arguments import check_positive, integer
from riemtr.data import (
    BernoulliGaussian,
    Dictionary,
    ExactlySparse,
    Identity,
    Orthogonal,
    load_image,
    paper_sample_size,
    patches,
    reconstruction_error,
)
from riemtr.errors import unknown_name
from riemtr.manifolds import FixedRank, Grassmann, PositiveDefinite, Product, Sphere, Stiefel
from riemtr.problem import Problem
from riemtr.problem.quadratic import PairRows, QuadraticCost, Rows
from riemtr.problems.dictionary_learning import dictionary_problem
from riemtr.problems.random_data import symmetric_matrix
from riemtr.problems.registry import Case, Truth, register


@register("rayleigh")
def rayleigh(rng: np.random.Generator, n: int = 50) -> Case:
    r"""Smallest eigenpair of a random symmetric matrix: x'Ax on the sphere.

    .. math:: \min_{|x| = 1} x'Ax

    on the manifold ``Sphere(n)``. The minimum is the smallest eigenvalue, attained at its
    eigenvector and at minus it; every other eigenvector is a saddle point, or the maximizer. The
    truth is LAPACK's; ``truth.distance`` is the angle with the eigenvector.

    Parameters
    ----------
    n : int
        Size of the matrix, a Gaussian one with a spectrum of about [-1, 1].

    References
    ----------
    Absil, Mahony and Sepulchre, *Optimization Algorithms on Matrix Manifolds*, Princeton (2008).
    """
    n = integer("n", n, low=1)
    matrix = symmetric_matrix(rng, n)
    values, vectors = np.linalg.eigh(matrix)
    sphere = Sphere(n)
    problem = Problem(sphere, QuadraticCost(2.0 * matrix, Rows()))
    target = vectors[:, 0]
    truth = Truth(
        cost=float(values[0]),
        distance=lambda x: min(sphere.dist(x, target), sphere.dist(x, -target)),
        details={"matrix": matrix, "eigenvalues": values, "eigenvectors": vectors},
        point=target,
    )
    return Case(problem, sphere.random_point(rng), truth)


@register("dictionary-learning")
def dictionary_learning(
    rng: np.random.Generator,
    n: int = 30,
    p: int | None = None,
    theta: float = 0.2,
    k: int | None = None,
    mu: float = 1e-2,
    dictionary: str = "orthogonal",
    image: str | None = None,
    scale: float = 1.0,
) -> Case:
    r"""One row of a sparse matrix from Y = AX: the paper's log-cosh cost on the sphere.

    .. math:: \min_{|q| = 1} \frac1p \sum_{k=1}^p \mu \log\cosh(q'y_k / \mu)

    on the manifold ``Sphere(n)``. With an orthogonal dictionary A the minimizers are close to its
    columns and to minus them; ``truth.distance`` is the distance from the nearest.

    Parameters
    ----------
    n, p : int
        Size of the data; p is the paper's 5 n^2 log n if None.
    theta : float
        Share of nonzeros, Bernoulli-Gaussian.
    k : int, optional
        Exactly so many nonzeros per column instead.
    mu : float
        Smoothing parameter.
    dictionary : {"orthogonal", "identity"}
        The matrix A: a random orthogonal one, or none.
    image : str, optional
        Name of a bundled image, or a path: its whitened 8 x 8 patches instead of synthetic data;
        nothing is known about the solution then. Needs the extra ``images``.
    scale : float
        Standard deviation of the whitened patches.

    References
    ----------
    Sun, Qu and Wright, *Complete dictionary recovery over the sphere II: recovery by Riemannian
    trust-region method*, IEEE Transactions on Information Theory 63 (2017).
    """
    made_up = {"n": n, "p": p, "theta": theta, "k": k, "dictionary": dictionary}
    _check_source(image, made_up, scale)
    if image is not None:
        problem = dictionary_problem(_read_only(scale * _whitened_patches(image)), mu)
        return Case(problem, problem.manifold.random_point(rng))
    kinds: dict[str, Dictionary] = {"orthogonal": Orthogonal(), "identity": Identity()}
    if dictionary not in kinds:
        raise unknown_name("dictionary", dictionary, kinds)
    size = paper_sample_size(n) if p is None else p
    kind = kinds[dictionary]
    model: Any
    if k is None:
        model = BernoulliGaussian(n, size, theta, dictionary=kind)
    else:
        model = ExactlySparse(n, size, k, dictionary=kind)
    sample = model.draw(rng)
    problem = dictionary_problem(_read_only(sample.observations), mu)
    truth = Truth(
        distance=lambda q: reconstruction_error(q, sample.dictionary),
        details={"dictionary": sample.dictionary, "coefficients": sample.coefficients},
    )
    return Case(problem, problem.manifold.random_point(rng), truth)


def _check_source(image: str | None, made_up: dict[str, Any], scale: float) -> None:
    """Refuse what is of no effect: parameters of made-up data with an image, or the reverse."""
    usual = inspect.signature(dictionary_learning).parameters
    chosen = made_up if image is not None else {"scale": scale}
    changed = [name for name, value in chosen.items() if value != usual[name].default]
    if changed and image is not None:
        raise ValueError(
            f"{changed[0]} must be left out where image is given, whose patches are the data; got "
            f"{chosen[changed[0]]!r}: leave out one of them"
        )
    if changed:
        raise ValueError(
            f"scale must be left out where no image is given, whose patches it scales; got "
            f"{scale!r}: leave it out, or give an image"
        )
    check_positive("scale", scale)


def _read_only(data: np.ndarray) -> np.ndarray:
    """Return data that need no look, in every solve, at whether they were changed."""
    data.flags.writeable = False
    return data


def _whitened_patches(image: str) -> np.ndarray:
    data = patches(load_image(image))
    left, values, right = np.linalg.svd(data, full_matrices=False)
    kept = values > values[0] * max(data.shape) * np.finfo(float).eps
    if not kept.all():
        # In the row space: coordinates along the principal directions that carry data.
        return math.sqrt(data.shape[1]) * right[kept]
    return math.sqrt(data.shape[1]) * (left @ right)


@register("invariant-subspace")
def invariant_subspace(rng: np.random.Generator, n: int = 20, k: int = 3) -> Case:
    r"""Smallest invariant subspace of a symmetric matrix: trace X'AX on the Grassmann manifold.

    .. math:: \min_{X'X = I} \operatorname{tr}(X'AX)

    over the k-dimensional subspaces of n-dimensional space, the manifold ``Grassmann(n, k)``. The
    minimum is the sum of the k smallest eigenvalues; every other invariant subspace is a saddle
    point, or the maximizer. The truth is LAPACK's; ``truth.distance`` is the Frobenius distance of
    the projections onto the two subspaces.

    Parameters
    ----------
    n : int
        Size of the matrix, a Gaussian one with a spectrum of about [-1, 1].
    k : int
        Dimension of the subspace.

    References
    ----------
    Edelman, Arias and Smith, *The geometry of algorithms with orthogonality constraints*, SIAM
    Journal on Matrix Analysis and Applications 20 (1998).
    """
    n = integer("n", n, low=1)
    k = integer("k", k, low=1, high=n)
    matrix = symmetric_matrix(rng, n)
    values, vectors = np.linalg.eigh(matrix)
    manifold = Grassmann(n, k)
    problem = Problem(manifold, QuadraticCost(2.0 * matrix, Rows()))
    target = vectors[:, :k]
    truth = Truth(
        cost=float(values[:k].sum()),
        distance=lambda x: float(np.linalg.norm(x @ x.T - target @ target.T)),
        details={"matrix": matrix, "eigenvectors": vectors},
        point=target,
    )
    return Case(problem, manifold.random_point(rng), truth)


@register("brockett")
def brockett(rng: np.random.Generator, n: int = 10, k: int = 4) -> Case:
    r"""Brockett cost, trace X'AXD on the Stiefel manifold: the smallest eigenvectors, in order.

    .. math:: \min_{X'X = I} \operatorname{tr}(X'AXD), \qquad D = \operatorname{diag}(k, \dots, 1)

    on the manifold ``Stiefel(n, k)``. The columns of a minimizer are the eigenvectors of the k
    smallest eigenvalues in ascending order, each with either sign; other eigenvectors, and other
    orders, are saddle points. The truth is LAPACK's; ``truth.distance`` says by how much the
    columns miss their eigenvectors.

    Parameters
    ----------
    n : int
        Size of the matrix, a Gaussian one with a spectrum of about [-1, 1].
    k : int
        Number of eigenvectors.

    References
    ----------
    Brockett, *Dynamical systems that sort lists, diagonalize matrices, and solve linear programming
    problems*, Linear Algebra and its Applications 146 (1991).
    """
    n = integer("n", n, low=1)
    k = integer("k", k, low=1, high=n)
    matrix = symmetric_matrix(rng, n)
    weights = np.arange(k, 0, -1, dtype=float)
    values, vectors = np.linalg.eigh(matrix)
    manifold = Stiefel(n, k)
    problem = Problem(manifold, QuadraticCost(2.0 * matrix, Rows(), weights))
    target = vectors[:, :k]
    truth = Truth(
        cost=float(values[:k] @ weights),
        distance=lambda x: float(np.linalg.norm(np.abs(np.sum(x * target, axis=0)) - 1.0)),
        details={"matrix": matrix, "weights": weights},
        point=target,
    )
    return Case(problem, manifold.random_point(rng), truth)


@register("covariance")
def covariance(rng: np.random.Generator, n: int = 5, samples: int = 100) -> Case:
    r"""Maximum-likelihood covariance: log det X + trace X^-1 S over positive definite matrices.

    .. math:: \min_{X \succ 0} \log\det X + \operatorname{tr}(X^{-1} S)

    on the manifold ``PositiveDefinite(n)``, where S is the second moment of Gaussian samples. The
    minimizer is S itself, the only critical point: along geodesics the cost is convex, which it is
    not along lines. Derivatives are by autograd. ``truth.distance`` is that from S in the metric.

    Parameters
    ----------
    n : int
        Dimension of the samples.
    samples : int
        Number of samples, more than n.

    References
    ----------
    Wiesel, *Geodesic convexity and covariance estimation*, IEEE Transactions on Signal Processing
    60 (2012).
    """
    n = integer("n", n, low=1)
    samples = integer("samples", samples, low=1)
    if samples <= n:
        raise ValueError(
            f"samples must exceed n, or S is nearly singular; got {samples!r} and {n!r}"
        )
    data = rng.standard_normal((n, samples)) * rng.uniform(0.5, 2.0, size=(n, 1))
    second_moment = data @ data.T / samples
    manifold = PositiveDefinite(n)

    def cost(x: Any) -> Any:
        return anp.linalg.slogdet(x)[1] + anp.trace(anp.linalg.solve(x, second_moment))

    truth = Truth(
        cost=float(np.linalg.slogdet(second_moment)[1]) + n,
        distance=lambda x: float(manifold.dist(x, second_moment)),
        details={"second_moment": second_moment},
        point=second_moment,
    )
    return Case(Problem(manifold, cost), manifold.random_point(rng), truth)


@register("singular-vectors")
def singular_vectors(rng: np.random.Generator, m: int = 12, n: int = 8) -> Case:
    r"""Leading singular pair of a matrix: -u'Mv on the product of two spheres.

    .. math:: \min_{|u| = |v| = 1} -u'Mv

    on the product of ``Sphere(m)`` and ``Sphere(n)``. The minimum is minus the largest singular
    value; every other pair of singular vectors is a saddle point. The truth is LAPACK's;
    ``truth.distance`` is the Euclidean distance from the leading pair, or from minus it.

    Parameters
    ----------
    m, n : int
        Size of the matrix.

    References
    ----------
    Helmke and Moore, *Optimization and Dynamical Systems*, Springer (1994).
    """
    m, n = integer("m", m, low=1), integer("n", n, low=1)
    matrix = rng.standard_normal((m, n)) / math.sqrt(m)
    left, values, right = np.linalg.svd(matrix)
    manifold = Product([Sphere(m), Sphere(n)])
    joined = np.block([[np.zeros((m, m)), -matrix], [-matrix.T, np.zeros((n, n))]])
    problem = Problem(manifold, QuadraticCost(joined, PairRows(m)))

    def distance(point: Any) -> float:
        u, v = point
        sign = math.copysign(1.0, float(u @ left[:, 0]))
        return float(
            math.hypot(np.linalg.norm(u - sign * left[:, 0]), np.linalg.norm(v - sign * right[0]))
        )

    truth = Truth(
        cost=-float(values[0]),
        distance=distance,
        details={"matrix": matrix},
        point=[left[:, 0], right[0]],
    )
    return Case(problem, manifold.random_point(rng), truth)


@register("low-rank")
def low_rank(rng: np.random.Generator, m: int = 8, n: int = 6, rank: int = 2) -> Case:
    r"""Best low-rank approximation of a matrix, on the manifold of fixed-rank matrices.

    .. math:: \min_{\operatorname{rank} X = r} \tfrac12 |X - M|_F^2

    on the manifold ``FixedRank(m, n, r)``. The solution is the truncated singular value
    decomposition (Eckart and Young); other choices of singular vectors are saddle points. The
    gradient is autograd's. Derivatives by the factors do not determine the Riemannian Hessian, so
    it is taken by differences. ``truth.distance`` is the Frobenius distance from the solution.

    Parameters
    ----------
    m, n : int
        Size of the matrix, a Gaussian one.
    rank : int
        The rank r.

    References
    ----------
    Vandereycken, *Low-rank matrix completion by Riemannian optimization*, SIAM Journal on
    Optimization 23 (2013).
    """
    m, n = integer("m", m, low=1), integer("n", n, low=1)
    rank = integer("rank", rank, low=1, high=min(m, n))
    matrix = rng.standard_normal((m, n))
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    best = (left[:, :rank] * values[:rank]) @ right[:rank]
    manifold = FixedRank(m, n, rank)

    def cost(u: Any, s: Any, vt: Any) -> Any:
        return 0.5 * anp.sum((anp.dot(u * s, vt) - matrix) ** 2)

    truth = Truth(
        cost=0.5 * float(np.sum(values[rank:] ** 2)),
        distance=lambda x: float(np.linalg.norm((x[0] * x[1]) @ x[2] - best)),
        details={"matrix": matrix},
        point=(left[:, :rank], values[:rank], right[:rank]),
    )
    return Case(Problem(manifold, cost), manifold.random_point(rng), truth)
