"""pymanopt's published examples, with `from riemtr.interop.pymanopt import TrustRegions`.

Each is checked against its closed form or, where there is none, against the best that pymanopt's
own optimizer finds.
"""

import autograd.numpy as np
import numpy
import pymanopt
import pytest
from pymanopt.manifolds import (
    ComplexCircle,
    ComplexGrassmann,
    Elliptope,
    Euclidean,
    FixedRankEmbedded,
    Grassmann,
    Oblique,
    Product,
    PSDFixedRank,
    SpecialOrthogonalGroup,
    Sphere,
    Stiefel,
    SymmetricPositiveDefinite,
)

from riemtr.interop.pymanopt import TrustRegions


@pytest.fixture(autouse=True)
def _global_seed():
    state = numpy.random.get_state()  # noqa: NPY002
    numpy.random.seed(7)  # noqa: NPY002
    yield
    numpy.random.set_state(state)  # noqa: NPY002


@pytest.fixture
def rng():
    return numpy.random.default_rng(1)


def solve(manifold, cost, **derivatives):
    problem = pymanopt.Problem(manifold, cost, **derivatives)
    found = TrustRegions(verbosity=0).run(problem)
    assert found.certificate.verdict == "minimizer", found
    assert found.stopping_criterion.startswith("Terminated - min grad norm reached")
    return found


def symmetric(rng, n):
    matrix = rng.standard_normal((n, n))
    return 0.5 * (matrix + matrix.T)


def symmetric_positive(rng, n):
    factor = rng.standard_normal((n, n))
    return factor @ factor.T + 0.1 * np.eye(n)


@pytest.mark.parametrize("backend", ["autograd", "numpy"])
def test_dominant_eigenvector(rng, backend):
    matrix = symmetric(rng, 128)
    manifold = Sphere(128)
    decorate = getattr(pymanopt.function, backend)
    derivatives = {}
    if backend == "numpy":
        derivatives = {
            "euclidean_gradient": decorate(manifold)(lambda x: -2 * matrix @ x),
            "euclidean_hessian": decorate(manifold)(lambda x, v: -2 * matrix @ v),
        }
    found = solve(manifold, decorate(manifold)(lambda x: -x @ matrix @ x), **derivatives)
    values, vectors = np.linalg.eigh(matrix)
    assert found.cost == pytest.approx(-values[-1], rel=1e-12)
    assert abs(found.point @ vectors[:, -1]) == pytest.approx(1.0, abs=1e-10)


def test_dominant_invariant_subspace(rng):
    matrix = symmetric(rng, 100)
    manifold = Grassmann(100, 3)

    @pymanopt.function.numpy(manifold)
    def cost(x):
        return -np.trace(x.T @ matrix @ x)

    @pymanopt.function.numpy(manifold)
    def gradient(x):
        return -2 * matrix @ x

    @pymanopt.function.numpy(manifold)
    def hessian(x, v):
        return -2 * matrix @ v

    problem = pymanopt.Problem(
        manifold, cost, euclidean_gradient=gradient, euclidean_hessian=hessian
    )
    found = TrustRegions(verbosity=0).run(problem, Delta_bar=8 * np.sqrt(3))
    values, vectors = np.linalg.eigh(matrix)
    assert found.cost == pytest.approx(-values[-3:].sum(), rel=1e-12)
    assert manifold.dist(found.point, vectors[:, -3:]) < 1e-6
    assert found.certificate.verdict == "minimizer"


@pytest.mark.parametrize("backend", ["autograd", "numpy"])
def test_dominant_invariant_complex_subspace(rng, backend):
    matrix = rng.standard_normal((40, 40)) + 1j * rng.standard_normal((40, 40))
    matrix = 0.5 * (matrix + matrix.T.conj())
    manifold = ComplexGrassmann(40, 3)
    decorate = getattr(pymanopt.function, backend)
    derivatives = {}
    if backend == "numpy":
        derivatives = {
            "euclidean_gradient": decorate(manifold)(lambda x: -2 * matrix @ x),
            "euclidean_hessian": decorate(manifold)(lambda x, v: -2 * matrix @ v),
        }
    cost = decorate(manifold)(lambda x: -np.real(np.trace(np.conj(x.T) @ matrix @ x)))
    found = solve(manifold, cost, **derivatives)
    assert found.cost == pytest.approx(-np.linalg.eigvalsh(matrix)[-3:].sum(), rel=1e-12)


def packing(count, epsilon):
    manifold = Elliptope(count, 3)

    @pymanopt.function.autograd(manifold)
    def cost(x):
        gram = x @ x.T
        largest = np.triu(gram, 1).max()
        weights = np.exp((gram - largest) / epsilon)
        weights = weights - np.diag(np.diag(weights))
        return largest + epsilon * np.log(np.triu(weights, 1).sum())

    return manifold, cost


def largest_cosine(points):
    return (points @ points.T)[np.triu_indices(len(points), 1)].max()


@pytest.mark.parametrize(
    ("count", "closest"), [(4, -1 / 3), (6, 0.0)], ids=["tetrahedron", "octahedron"]
)
def test_packing_on_the_sphere(count, closest):
    found = solve(*packing(count, 0.05))
    assert largest_cosine(found.point) == pytest.approx(closest, abs=1e-6)


def test_packing_of_24_points_is_the_snub_cube():
    # Its points are 43.69 degrees apart; epsilon rounds the largest cosine off a little.
    found = TrustRegions(verbosity=0).run(pymanopt.Problem(*packing(24, 0.005)))
    assert largest_cosine(found.point) == pytest.approx(np.cos(np.deg2rad(43.6908)), abs=2e-3)
    assert found.certificate.verdict == "minimizer"


def test_pca(rng):
    samples = rng.standard_normal((60, 6)) @ np.diag(np.array([3.0, 2.0, 2.0, 1.0, 1.0, 0.5]))
    samples = samples - samples.mean(axis=0)
    manifold = Stiefel(6, 2)

    @pymanopt.function.autograd(manifold)
    def cost(w):
        return np.linalg.norm(samples - samples @ w @ w.T) ** 2

    found = solve(manifold, cost)
    values = np.linalg.svd(samples, compute_uv=False)
    assert found.cost == pytest.approx((values[2:] ** 2).sum(), rel=1e-12)


@pytest.mark.parametrize("backend", ["autograd", "numpy"])
def test_optimal_rotations(rng, backend):
    target = np.array([rng.standard_normal((3, 10)) @ rng.standard_normal((10, 3)) for _ in "ab"])
    manifold = SpecialOrthogonalGroup(3, k=2)
    decorate = getattr(pymanopt.function, backend)
    derivatives = {}
    if backend == "numpy":
        derivatives = {"euclidean_gradient": decorate(manifold)(lambda x: -target)}
    cost = decorate(manifold)(lambda x: -np.tensordot(x, target, axes=3))
    found = solve(manifold, cost, **derivatives)
    for rotation, matrix in zip(found.point, target, strict=True):
        left, _, right = np.linalg.svd(matrix)
        left[:, -1] *= np.linalg.det(left @ right)
        assert rotation == pytest.approx(left @ right, abs=1e-6)


def test_low_rank_matrix_approximation(rng):
    # pymanopt's own TrustRegions does not run on this manifold: it has no Hessian there.
    matrix = rng.standard_normal((6, 5))
    manifold = FixedRankEmbedded(6, 5, 2)

    @pymanopt.function.autograd(manifold)
    def cost(u, s, vt):
        return np.linalg.norm(u @ np.diag(s) @ vt - matrix) ** 2

    found = TrustRegions(verbosity=0).run(pymanopt.Problem(manifold, cost))
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    assert found.cost == pytest.approx((values[2:] ** 2).sum(), rel=1e-10)
    u, s, vt = found.point
    assert u @ np.diag(s) @ vt == pytest.approx((left * values)[:, :2] @ right[:2], abs=1e-6)


def test_low_rank_psd_matrix_approximation(rng):
    matrix = symmetric_positive(rng, 20)
    manifold = PSDFixedRank(20, 3)

    @pymanopt.function.numpy(manifold)
    def cost(y):
        return np.linalg.norm(y @ y.T - matrix) ** 2

    @pymanopt.function.numpy(manifold)
    def gradient(y):
        return 4 * (y @ y.T - matrix) @ y

    @pymanopt.function.numpy(manifold)
    def hessian(y, v):
        return 4 * ((y @ v.T + v @ y.T) @ y + (y @ y.T - matrix) @ v)

    found = solve(manifold, cost, euclidean_gradient=gradient, euclidean_hessian=hessian)
    assert found.cost == pytest.approx((np.linalg.eigvalsh(matrix)[:-3] ** 2).sum(), rel=1e-12)


def test_multiple_linear_regression(rng):
    samples, targets = rng.standard_normal((200, 3)), rng.standard_normal(200)
    manifold = Euclidean(3)

    @pymanopt.function.autograd(manifold)
    def cost(weights):
        return np.linalg.norm(targets - samples @ weights) ** 2

    found = solve(manifold, cost)
    assert found.point == pytest.approx(np.linalg.lstsq(samples, targets)[0], abs=1e-9)


def test_regression_with_an_offset_on_a_product(rng):
    samples = rng.standard_normal((3, 200))
    targets = rng.standard_normal(3) @ samples + 5.0 + 0.1 * rng.standard_normal(200)
    manifold = Product([Euclidean(3), Euclidean(1)])

    @pymanopt.function.autograd(manifold)
    def cost(weights, offset):
        return np.sum((targets - weights @ samples - offset[0]) ** 2)

    found = solve(manifold, cost)
    design = np.vstack([samples, np.ones(200)]).T
    best = np.linalg.lstsq(design, targets)[0]
    assert np.concatenate(found.point) == pytest.approx(best, abs=1e-9)


def test_rank_k_correlation_matrix_approximation(rng):
    matrix = symmetric(rng, 10)
    manifold = Oblique(5, 10)

    @pymanopt.function.autograd(manifold)
    def cost(x):
        return 0.25 * np.linalg.norm(x.T @ x - matrix) ** 2

    found = solve(manifold, cost)
    problem = pymanopt.Problem(manifold, cost)
    theirs = [pymanopt.optimizers.TrustRegions(verbosity=0).run(problem).cost for _ in range(3)]
    assert found.cost == pytest.approx(min(theirs), rel=1e-10)
    assert np.diag(found.point.T @ found.point) == pytest.approx(np.ones(10))


def test_closest_unit_norm_column_approximation(rng):
    matrix = rng.standard_normal((5, 8))
    manifold = Oblique(5, 8)

    @pymanopt.function.autograd(manifold)
    def cost(x):
        return 0.5 * np.sum((x - matrix) ** 2)

    found = solve(manifold, cost)
    assert found.point == pytest.approx(matrix / np.linalg.norm(matrix, axis=0), abs=1e-7)


def test_phase_synchronization_on_the_complex_circle(rng):
    phases = np.exp(2j * np.pi * rng.uniform(size=12))
    matrix = np.outer(phases, phases.conj())
    manifold = ComplexCircle(12)

    @pymanopt.function.autograd(manifold)
    def cost(x):
        return -np.real(np.conj(x) @ matrix @ x)

    found = solve(manifold, cost)
    assert found.cost == pytest.approx(-144.0, rel=1e-10)
    assert not found.certificate.strict  # a common phase is free


def test_karcher_mean_of_two_positive_definite_matrices(rng):
    first, second = symmetric_positive(rng, 4), symmetric_positive(rng, 4)
    manifold = SymmetricPositiveDefinite(4)

    @pymanopt.function.numpy(manifold)
    def cost(x):
        return sum(manifold.dist(x, matrix) ** 2 for matrix in (first, second)) / 2

    @pymanopt.function.numpy(manifold)
    def gradient(x):
        return -manifold.log(x, first) - manifold.log(x, second)

    found = solve(manifold, cost, riemannian_gradient=gradient)

    def root(matrix):
        values, vectors = np.linalg.eigh(matrix)
        return (vectors * np.sqrt(values)) @ vectors.T

    half = root(first)
    inverse = np.linalg.inv(half)
    assert found.point == pytest.approx(half @ root(inverse @ second @ inverse) @ half, abs=1e-6)


def test_mixture_of_gaussians_on_a_product(rng):
    centres = rng.integers(2, size=300)
    data = rng.standard_normal((300, 2)) + np.array([[-3.0, 0.0], [3.0, 1.0]])[centres]
    lifted = np.hstack([data, np.ones((300, 1))])
    manifold = Product([SymmetricPositiveDefinite(3, k=2), Euclidean(1)])

    @pymanopt.function.autograd(manifold)
    def cost(matrices, weight):
        logs = []
        for matrix, share in ((matrices[0], weight[0]), (matrices[1], 0.0)):
            spread = np.sum(lifted * np.linalg.solve(matrix, lifted.T).T, axis=1)
            logs.append(0.5 - 0.5 * spread - 0.5 * np.linalg.slogdet(matrix)[1] + share)
        evidence = np.logaddexp(logs[0], logs[1]) - np.logaddexp(weight[0], 0.0)
        return -np.mean(evidence)

    start = [np.array([np.eye(3), np.eye(3)]), np.array([0.0])]
    start[0][:, :2, 2] = start[0][:, 2, :2] = np.array([[-1.0, 0.0], [1.0, 0.0]]) * 0.5
    problem = pymanopt.Problem(manifold, cost)
    found = TrustRegions(verbosity=0).run(problem, initial_point=start)
    theirs = pymanopt.optimizers.TrustRegions(verbosity=0).run(problem, initial_point=start)
    assert found.certificate.verdict == "minimizer"
    assert found.cost == pytest.approx(theirs.cost, rel=1e-8)
    means = sorted(found.point[0][:, 0, 2] / found.point[0][:, 2, 2])
    assert means == pytest.approx([-3.0, 3.0], abs=0.3)
