"""Frames that reveal structure: joint diagonalisation, ICA and orthogonal tensor decomposition."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from scipy.linalg import hadamard
from scipy.optimize import linear_sum_assignment

from riemtr.arguments import check_nonnegative, integer
from riemtr.manifolds import Rotations, Stiefel
from riemtr.problem import Problem
from riemtr.problem.books import lazy
from riemtr.problem.pullback import DerivativeBounds, gamma
from riemtr.problems.random_data import apart, orthonormal, symmetric_stack
from riemtr.problems.registry import Case, Truth, register
from riemtr.problems.surrogates import LOG_COSH_THIRD


def frame_distance(frame: np.ndarray, planted: np.ndarray) -> float:
    """Return the largest distance of a column from a planted one, as good as order and sign allow.

    Examples
    --------
    >>> frame_distance(np.array([[0.0, -1.0], [1.0, 0.0]]), np.eye(2))
    0.0
    """
    products = planted.T @ frame
    rows, columns = linear_sum_assignment(-np.abs(products))
    signs = np.where(products[rows, columns] >= 0.0, 1.0, -1.0)
    gaps = frame[:, columns] * signs - planted[:, rows]
    return float(np.linalg.norm(gaps, axis=0).max())


# -- joint diagonalisation ------------------------------------------------------------------------


class DiagonalisationCost:
    """Half the sum of all squared entries off the diagonals of X'A_k X, for an orthogonal X.

    Parameters
    ----------
    matrices : ndarray, shape (count, n, n)
        The symmetric matrices A_k.
    """

    def __init__(self, matrices: np.ndarray):
        self.matrices = matrices
        self.square = float(np.sum(matrices**2))

    @lazy
    def squares(self) -> float:
        """Sum of the squared norms of the matrices of magnitudes, and so of the matrices' own."""
        sums = np.abs(self.matrices).sum(axis=2).max(axis=1)
        return float(np.sum(sums**2)) * (1.0 + gamma(4 * self.matrices.shape[1]))

    def at(self, point: np.ndarray) -> DiagonalisationPoint:
        """Return the shared work at one point."""
        return DiagonalisationPoint(self, point)


class DiagonalisationPoint:
    """The cost at one point: the products A_k X serve everything."""

    def __init__(self, owner: DiagonalisationCost, point: np.ndarray):
        self._owner, self._point = owner, point
        self._images = owner.matrices @ point
        self._diagonals = np.sum(point * self._images, axis=1, keepdims=True)

    @lazy
    def value(self) -> float:
        """The cost: turned matrices are as long as before, so that diagonals tell the rest."""
        return 0.5 * (self._owner.square - float(np.sum(self._diagonals**2)))

    @lazy
    def gradient(self) -> np.ndarray:
        """Euclidean gradient."""
        return -2.0 * np.sum(self._images * self._diagonals, axis=0)

    def hessian(self, vector: np.ndarray) -> np.ndarray:
        """Euclidean Hessian product."""
        changes = 2.0 * np.sum(vector * self._images, axis=1, keepdims=True)
        terms = (self._owner.matrices @ vector) * self._diagonals
        terms += self._images * changes
        return -2.0 * np.sum(terms, axis=0)

    def derivative_bounds(self, radius: float) -> DerivativeBounds:
        r"""Bounds of the derivatives of a quartic, the same for every direction.

        For one column :math:`\tfrac12 (x'Ax)^2` has along u the second derivative
        :math:`4 (u'Ax)^2 + 2 (x'Ax)(u'Au)` and the third :math:`12 (u'Ax)(u'Au)`.
        """
        owner = self._owner
        count, n, _ = owner.matrices.shape
        longest = float(np.linalg.norm(self._point, axis=0).max())
        images = np.abs(owner.matrices) @ np.abs(self._point)
        diagonals = np.sum(np.abs(self._point) * images, axis=1, keepdims=True)
        terms = 2.0 * float(np.linalg.norm(np.sum(images * diagonals, axis=0)))
        rounding = gamma(3 * n + count + 10, float(np.finfo(self._images.dtype).eps))
        hessian = 6.0 * owner.squares * longest**2
        third = 12.0 * owner.squares * (longest + radius)
        return DerivativeBounds(hessian, third, rounding * terms, n * rounding * hessian)


@register("joint-diagonalisation")
def joint_diagonalisation(
    rng: np.random.Generator, n: int = 6, count: int = 10, noise: float = 0.0
) -> Case:
    r"""Joint diagonalisation: one basis in which many symmetric matrices are nearly diagonal.

    Symmetric matrices :math:`A_k = Q D_k Q' + \sigma E_k` have one orthogonal basis Q in common, up
    to noise; second-order blind identification (SOBI) and cumulants of signals (JADE) lead to such
    sets. The basis is found by

    .. math:: \min_{X \in SO(n)} \tfrac12 \sum_k |\operatorname{off}(X'A_kX)|_F^2
       = \tfrac12 \sum_k |A_k|_F^2 - \tfrac12 \sum_k |\operatorname{diag}(X'A_kX)|^2

    on the manifold ``Rotations(n)``: a column may be turned to minus itself, so that rotations are
    as good as all orthogonal matrices. Order and signs of the columns do not matter; no direction
    is flat.

    ``truth.error`` is the largest distance of a column from one of Q, as good as order and sign
    make it. Without noise it vanishes at a global minimizer, and so does the minimum.

    Parameters
    ----------
    n : int
        Size of the matrices.
    count : int
        How many they are.
    noise : float
        Standard deviation of the noise on the entries, which are of order 1.

    References
    ----------
    Cardoso and Souloumiac, *Jacobi angles for simultaneous diagonalization*, SIAM Journal on Matrix
    Analysis and Applications 17 (1996). Theis, Cason and Absil, *Soft dimension reduction for ICA
    by joint diagonalization on the Stiefel manifold*, ICA 2009.
    """
    rng = apart(rng)
    n, count = integer("n", n, low=2), integer("count", count, low=1)
    check_nonnegative("noise", noise)
    basis = orthonormal(rng, n, n)
    matrices = (basis * rng.standard_normal((count, 1, n))) @ basis.T
    matrices = 0.5 * (matrices + matrices.swapaxes(1, 2)) + noise * symmetric_stack(rng, count, n)
    manifold = Rotations(n)
    error = partial(frame_distance, planted=basis)
    truth = Truth(
        cost=0.0 if noise == 0.0 else None,
        distance=error if noise == 0.0 else None,
        details={"matrices": matrices},
        point=_as_rotation(basis),
        error=error,
    )
    problem = Problem(manifold, DiagonalisationCost(matrices))
    return Case(problem, manifold.random_point(rng), truth)


def _as_rotation(frame: np.ndarray) -> np.ndarray:
    """Return an orthogonal matrix with its first column turned round if its determinant is -1."""
    rotation = frame.copy()
    rotation[:, 0] *= np.sign(np.linalg.det(frame))
    return rotation


# -- independent components -----------------------------------------------------------------------


class IndependenceCost:
    """The sum over components of the mean of log cosh, for white data.

    Parameters
    ----------
    data : ndarray, shape (n, p)
    """

    def __init__(self, data: np.ndarray):
        self.data = data

    def at(self, point: np.ndarray) -> IndependencePoint:
        """Return the shared work at one point."""
        return IndependencePoint(self, point)


class IndependencePoint:
    """The cost at one point: the estimated sources s = X'Y and exp(-2|s|) serve everything.

    With e = exp(-2|s|), log cosh(s) = |s| + log(1 + e) - log 2 and tanh|s| = (1 - e) / (1 + e), at
    any scale.
    """

    def __init__(self, owner: IndependenceCost, point: np.ndarray):
        self._data = owner.data
        self._samples = owner.data.shape[1]
        self._sources = point.T @ owner.data
        decay = np.abs(self._sources)
        self._total = float(decay.sum())
        decay *= -2.0
        self._decay = np.exp(decay, out=decay)

    @lazy
    def value(self) -> float:
        """The cost."""
        total = self._total + float(np.log1p(self._decay).sum())
        return total / self._samples - math.log(2.0) * len(self._sources)

    @lazy
    def _slopes(self) -> np.ndarray:
        slopes = 1.0 - self._decay
        slopes /= 1.0 + self._decay
        return np.copysign(slopes, self._sources, out=slopes)

    @lazy
    def gradient(self) -> np.ndarray:
        """Euclidean gradient."""
        return self._data @ self._slopes.T / self._samples

    @lazy
    def _curvatures(self) -> np.ndarray:
        curvatures = self._slopes**2
        np.subtract(1.0, curvatures, out=curvatures)
        curvatures /= self._samples
        return curvatures

    def hessian(self, vector: np.ndarray) -> np.ndarray:
        """Euclidean Hessian product."""
        along = vector.T @ self._data
        along *= self._curvatures
        return self._data @ along.T

    def derivative_bounds(self, radius: float) -> DerivativeBounds:
        """Bounds of the derivatives, from the lengths of the samples.

        The third derivative is a sum over columns u of cubes of <u, y>, which is largest for one.
        """
        n, count = self._data.shape
        precision = float(np.finfo(self._data.dtype).eps)
        lengths = np.sqrt(np.einsum("ij,ij->j", self._data, self._data))
        third = LOG_COSH_THIRD * float(np.mean(lengths**3))
        # All sources of a sample: slopes are at most 1 and so are curvatures.
        sources = gamma(n + 3, precision) * lengths * math.sqrt(n)
        columns = math.sqrt(len(self._sources))
        slopes = sources + 8.0 * precision * columns
        gradient = float(slopes @ lengths) / count
        gradient += gamma(count + 3, precision) * columns * float(np.mean(lengths))
        products = 2.0 * sources + gamma(count + n + 100, precision)
        curvature = float(products @ lengths**2) / count
        return DerivativeBounds(float(np.mean(lengths**2)), third, gradient, curvature)


@register("ica")
def ica(rng: np.random.Generator, n: int = 6, draws: int = 400) -> Case:
    r"""Independent component analysis of white data, with an orthogonal matrix.

    Signals Y = QS of p samples are a mixture of n independent sources S of unit variance and heavy
    tails, after whitening by an orthogonal Q. Of all rotations of the signals, the sources are the
    least Gaussian:

    .. math:: \min_{X \in SO(n)} \frac1p \sum_{i=1}^n \sum_{t=1}^p \log\cosh((X'Y)_{it}),

    the contrast of FastICA and, up to a scale, the log-likelihood of sources with density
    proportional to 1/cosh. The manifold is ``Rotations(n)``; order and signs of the columns do not
    matter, and no direction is flat.

    The sources are made up so that Q is an exact critical point for the finite sample, and not only
    on average: each draw of Laplacian sources comes with as many patterns of signs as a Hadamard
    matrix has columns, whose rows are orthogonal. Sources are then uncorrelated, and so is each
    with the hyperbolic tangent of each other, which is the condition of first order. With enough
    draws Q is also the global minimizer, as far as runs can tell; with fewer than some 40 n of them
    other rotations of the sample are less Gaussian than the sources. ``truth.distance`` is the
    largest distance of a column from one of Q, as good as order and sign make it.

    Parameters
    ----------
    n : int
        Number of sources.
    draws : int
        Draws of all sources, each of which makes as many samples as the least power of 2 beyond n.

    References
    ----------
    Hyvärinen, *Fast and robust fixed-point algorithms for independent component analysis*, IEEE
    Transactions on Neural Networks 10 (1999). Ablin, Cardoso and Gramfort, *Faster ICA under
    orthogonal constraint*, ICASSP 2018.
    """
    rng = apart(rng)
    n, draws = integer("n", n, low=2), integer("draws", draws, low=1)
    order = 2 ** math.ceil(math.log2(n + 1))
    # The first row is constant, which would leave a source of one sign.
    signs = hadamard(order, dtype=float)[1 : n + 1]
    drawn = rng.laplace(size=(n, draws))
    sources = (signs[:, :, None] * drawn[:, None, :]).reshape(n, -1)
    sources /= np.sqrt(np.mean(sources**2, axis=1, keepdims=True))
    mixing = orthonormal(rng, n, n)
    data = mixing @ sources
    manifold = Rotations(n)
    truth = Truth(
        distance=lambda point: frame_distance(point, mixing),
        details={"data": data, "sources": sources},
        point=_as_rotation(mixing),
    )
    return Case(Problem(manifold, IndependenceCost(data)), manifold.random_point(rng), truth)


# -- tensors --------------------------------------------------------------------------------------


class TensorCost:
    """Minus the sum over columns x of T(x, x, x, x), for a symmetric tensor of order four.

    Parameters
    ----------
    tensor : ndarray, shape (n, n, n, n)
    """

    def __init__(self, tensor: np.ndarray):
        n = len(tensor)
        self.flat = tensor.reshape(n * n, n * n)

    @lazy
    def absolute(self) -> TensorCost:
        """The cost of the tensor of magnitudes."""
        n = math.isqrt(len(self.flat))
        return TensorCost(np.abs(self.flat).reshape(n, n, n, n))

    @lazy
    def asymmetry(self) -> float:
        """Norm of what rounding has left of the tensor beside its symmetric part, at most."""
        n = math.isqrt(len(self.flat))
        tensor = self.flat.reshape(n, n, n, n)
        # Three exchanges of neighbours, of which six at most make any order.
        exchanges = ((1, 0, 2, 3), (0, 2, 1, 3), (0, 1, 3, 2))
        gaps = (np.linalg.norm(tensor - tensor.transpose(order)) for order in exchanges)
        return 6.0 * float(max(gaps))

    @lazy
    def size(self) -> float:
        """Bound of the values of the tensor at unit vectors."""
        return float(np.linalg.norm(self.flat)) * (1.0 + gamma(self.flat.size))

    def at(self, point: np.ndarray) -> TensorPoint:
        """Return the shared work at one point."""
        return TensorPoint(self, point)


class TensorPoint:
    """The cost at one point: the matrices T(., ., x, x) of all columns x serve everything."""

    def __init__(self, owner: TensorCost, point: np.ndarray):
        n, columns = point.shape
        pairs = (point[:, None, :] * point).reshape(n * n, columns)
        self._owner = owner
        # One matrix for each column, first.
        self._slices = (pairs.T @ owner.flat).reshape(columns, n, n)
        self._images = self._applied(point)
        self._point = point

    def _applied(self, vector: np.ndarray) -> np.ndarray:
        return (self._slices @ vector.T[:, :, None])[..., 0].T

    @lazy
    def value(self) -> float:
        """The cost."""
        return -float(np.sum(self._point * self._images))

    @lazy
    def gradient(self) -> np.ndarray:
        """Euclidean gradient."""
        return -4.0 * self._images

    def hessian(self, vector: np.ndarray) -> np.ndarray:
        """Euclidean Hessian product."""
        return -12.0 * self._applied(vector)

    def derivative_bounds(self, radius: float) -> DerivativeBounds:
        """Bounds of the derivatives of a quartic, 12 T(x, x, u, u) and 24 T(x, u, u, u)."""
        owner, n = self._owner, len(self._point)
        longest = float(np.linalg.norm(self._point, axis=0).max())
        precision = float(np.finfo(self._images.dtype).eps)
        rounding = gamma(n * n + n + 10, precision)
        terms = owner.absolute.at(np.abs(self._point)).gradient
        columns = math.sqrt(self._point.shape[1])
        gradient = rounding * float(np.linalg.norm(terms))
        gradient += 4.0 * owner.asymmetry * columns * longest**3
        hessian, third = 12.0 * owner.size * longest**2, 24.0 * owner.size * (longest + radius)
        error = rounding * hessian + 12.0 * owner.asymmetry * longest**2
        return DerivativeBounds(hessian, third, gradient, error)


@register("tensor-decomposition")
def tensor_decomposition(
    rng: np.random.Generator, n: int = 8, rank: int = 5, noise: float = 0.0
) -> Case:
    r"""Orthogonal decomposition of a symmetric tensor of order four.

    A symmetric tensor :math:`T = \sum_{i=1}^r \lambda_i\, u_i \otimes u_i \otimes u_i \otimes u_i`
    has positive weights and orthonormal components, as fourth cumulants of independent sources
    have after whitening. All components are found at once by

    .. math:: \min_{X'X = I} -\sum_{j=1}^r T(x_j, x_j, x_j, x_j)
       = -\sum_{i,j} \lambda_i \langle u_i, x_j \rangle^4

    on the manifold ``Stiefel(n, r)``. For each i the sum over j of
    :math:`\langle u_i, x_j \rangle^4` is at most 1, with equality only where one column is
    :math:`\pm u_i`: the global minimum is :math:`-\sum \lambda_i`, and the minimizers are the
    components in any order and with any signs. No direction is flat there. It is one of the
    nonconvex problems of the introduction to the paper that riemtr implements.

    ``truth.error`` is the largest distance of a column from a component, as good as order and sign
    make it.

    Parameters
    ----------
    n : int
        Size of the tensor, whose n^4 entries are stored.
    rank : int
        The number r of components.
    noise : float
        Norm of a random symmetric tensor that is added; the minimum is not known with noise.

    References
    ----------
    Anandkumar, Ge, Hsu, Kakade and Telgarsky, *Tensor decompositions for learning latent variable
    models*, Journal of Machine Learning Research 15 (2014). Ge, Huang, Jin and Yuan, *Escaping from
    saddle points: online stochastic gradient for tensor decomposition*, COLT 2015.
    """
    rng = apart(rng)
    n = integer("n", n, low=1)
    rank = integer("rank", rank, low=1, high=n)
    check_nonnegative("noise", noise)
    components = orthonormal(rng, n, rank)
    weights = rng.uniform(1.0, 2.0, size=rank)
    tensor = _powers(components, weights)
    if noise > 0.0:
        others = rng.standard_normal((n, 4 * n))
        disturbance = _powers(others, rng.choice([-1.0, 1.0], size=4 * n))
        tensor += noise * disturbance / np.linalg.norm(disturbance)
    manifold = Stiefel(n, rank)
    error = partial(frame_distance, planted=components)
    truth = Truth(
        cost=-float(weights.sum()) if noise == 0.0 else None,
        distance=error if noise == 0.0 else None,
        details={"tensor": tensor, "weights": weights},
        point=components,
        error=error,
    )
    return Case(Problem(manifold, TensorCost(tensor)), manifold.random_point(rng), truth)


def _powers(vectors: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weighted sum of the fourth tensor powers of all columns."""
    n, count = vectors.shape
    pairs = (vectors[:, None, :] * vectors).reshape(n * n, count)
    return ((pairs * weights) @ pairs.T).reshape(n, n, n, n)
