"""Points whose nature is known in closed form, for certificates to be held against.

Each family is a generator of :class:`Case`: a problem, a point, and what the point is. Where the
problem is smooth, the eigenvalues of its Riemannian Hessian are written down, not computed. Some
families hand over derivatives that are wrong or cannot exist; the truth is then that of the cost.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pymanopt
from pymanopt import manifolds as peers

import riemtr

Array = np.ndarray

STRICT = "minimizer-strict"  # positive curvature all round, or a kink that rises all round
FLAT = "minimizer-flat"  # a minimizer with directions of no curvature
SADDLE = "saddle"
MAXIMIZER = "maximizer"
DEGENERATE = "not-second-order"  # no minimizer, but only derivatives beyond the second show it
NO_MINIMUM = "no-minimum"  # the cost falls from here, whatever the derivatives say
MINIMIZERS = (STRICT, FLAT)


class Task(NamedTuple):
    """A cost with its derivatives for riemtr, for pymanopt, and where it applies for SciPy.

    ``theirs`` is None where pymanopt cannot do without a Hessian that it does not convert;
    ``parts`` are the two manifolds, the cost, its gradient and its Hessian, to make others of.
    """

    ours: riemtr.Problem
    theirs: pymanopt.Problem | None
    plain: tuple[Callable[..., float], Callable[..., Array], Callable[..., Array]] | None
    parts: tuple[Any, Any, Callable[..., float], Callable[..., Any], Callable[..., Any]]


class Case(NamedTuple):
    """A point of known nature.

    ``least`` is the smallest eigenvalue of the Hessian of the cost, None where there is none;
    ``size`` the magnitude of the Hessian; ``sound`` says whether cost and derivatives are as they
    should be, so that a certificate may be expected; ``endless`` asks for a run and a certificate
    with ``curvature_tolerance=inf``, which must not certify anything; ``moved`` is the distance to
    the point whose eigenvalues are known; ``wrong`` says that the Hessian is wrong by so much that
    a certificate from it must not be strict, even where the point is.
    """

    task: Task
    point: Any
    truth: str
    least: float | None
    size: float
    sound: bool = True
    endless: bool = False
    moved: float = 0.0
    wrong: bool = False


def task(
    manifold: Any,
    peer: Any,
    cost: Callable[..., float],
    gradient: Callable[..., Any],
    hessian: Callable[..., Any],
) -> Task:
    def numpy(function: Callable[..., Any]) -> Any:
        # pymanopt refuses functions with defaults by keyword.
        return pymanopt.function.numpy(peer)(lambda *arrays: function(*arrays))

    return Task(
        riemtr.Problem(manifold, cost, euclidean_gradient=gradient, euclidean_hessian=hessian),
        pymanopt.Problem(
            peer,
            numpy(cost),
            euclidean_gradient=numpy(gradient),
            euclidean_hessian=numpy(hessian),
        ),
        (cost, gradient, hessian) if isinstance(peer, peers.Euclidean) else None,
        (manifold, peer, cost, gradient, hessian),
    )


def nature(eigenvalues: Any) -> str:
    """Return what a critical point is, where no higher order than the second matters."""
    least, largest = np.min(eigenvalues), np.max(eigenvalues)
    if least > 0.0:
        return STRICT
    if least == 0.0:
        return FLAT
    return MAXIMIZER if largest <= 0.0 else SADDLE


def case(made: Task, point: Any, eigenvalues: Any, **options: Any) -> Case:
    """Return a case whose truth follows from the eigenvalues of the Hessian."""
    size = float(np.max(np.abs(eigenvalues)))
    return Case(made, point, nature(eigenvalues), float(np.min(eigenvalues)), size, **options)


def orthogonal(rng: np.random.Generator, n: int) -> Array:
    return np.linalg.qr(rng.standard_normal((n, n)))[0]


def rotated(basis: Array, spectrum: Array) -> Array:
    matrix = (basis * spectrum) @ basis.T
    return 0.5 * (matrix + matrix.T)


def spectrum_of(rng: np.random.Generator, kind: str, n: int) -> Array:
    """Return eigenvalues in ascending order: random, whole numbers, repeated, or nearly so."""
    if kind == "random":
        return np.sort(rng.standard_normal(n))
    spaced = np.arange(n) + rng.integers(-n, n)
    if kind == "spaced":
        return spaced.astype(float)
    if kind == "repeated":
        return np.sort(rng.choice(spaced, size=n)).astype(float)
    values = spaced.astype(float)
    values[1] = values[0] + 10.0 ** rng.uniform(-12.0, -3.0)
    return values


KINDS = ("random", "repeated", "tiny gap", "spaced")


def seeds(family: int) -> Iterator[tuple[int, np.random.Generator]]:
    for index in itertools.count():
        yield index, np.random.default_rng([family, index])


# -- smooth problems ----------------------------------------------------------------------------


def form_on_sphere(n: int, matrix: Array, hessian: Callable[..., Array] | None = None) -> Task:
    return task(
        riemtr.Sphere(n),
        peers.Sphere(n),
        lambda x: float(x @ matrix @ x),
        lambda x: 2.0 * (matrix @ x),
        (lambda x, v: 2.0 * (matrix @ v)) if hessian is None else hessian,
    )


def others(spectrum: Array, index: int) -> Array:
    """Return the eigenvalues of the Hessian of x'Ax on the sphere at an eigenvector."""
    return 2.0 * (np.delete(spectrum, index) - spectrum[index])


def sphere_forms() -> Iterator[Case]:
    """x'Ax on spheres at every eigenvector, scaled by 1e-8 to 1e8."""
    for index, rng in seeds(1):
        n = int(rng.integers(2, 13))
        scale = 10.0 ** rng.uniform(-8.0, 8.0) if index % 2 else 1.0
        spectrum = scale * spectrum_of(rng, KINDS[index % 4], n)
        basis = orthogonal(rng, n)
        made = form_on_sphere(n, rotated(basis, spectrum))
        for column in range(n):
            yield case(made, basis[:, column].copy(), others(spectrum, column))


def brockett() -> Iterator[Case]:
    """trace(X'AXN) on Stiefel manifolds at all critical points; N = I has flat rotations."""
    for index, rng in seeds(2):
        n = int(rng.integers(2, 6))
        p = int(rng.integers(1, min(n, 3) + 1))
        scale = 10.0 ** rng.uniform(-4.0, 4.0) if index % 2 else 1.0
        spectrum = scale * spectrum_of(rng, KINDS[index % 4], n)
        weights = np.arange(p, 0.0, -1.0) if index % 3 else np.ones(p)
        basis = orthogonal(rng, n)
        matrix = rotated(basis, spectrum)
        made = task(
            riemtr.Stiefel(n, p),
            peers.Stiefel(n, p),
            lambda x, a=matrix, w=weights: float(np.sum(x * (a @ x) * w)),
            lambda x, a=matrix, w=weights: 2.0 * (a @ x) * w,
            lambda x, v, a=matrix, w=weights: 2.0 * (a @ v) * w,
        )
        for chosen in itertools.islice(itertools.permutations(range(n), p), 24):
            left = [k for k in range(n) if k not in chosen]
            # A turn of columns i and j by an angle t has length sqrt(2) t.
            values = [
                (spectrum[chosen[j]] - spectrum[chosen[i]]) * (weights[i] - weights[j])
                for i, j in itertools.combinations(range(p), 2)
            ]
            values += [
                2.0 * weights[i] * (spectrum[k] - spectrum[chosen[i]])
                for i in range(p)
                for k in left
            ]
            signs = rng.choice([-1.0, 1.0], size=p)
            yield case(made, basis[:, list(chosen)] * signs, values)


def subspaces() -> Iterator[Case]:
    """trace(X'AX) on Grassmann manifolds at all subspaces of eigenvectors."""
    for index, rng in seeds(3):
        n = int(rng.integers(3, 8))
        p = int(rng.integers(1, min(n, 4)))
        spectrum = spectrum_of(rng, KINDS[index % 4], n)
        basis = orthogonal(rng, n)
        matrix = rotated(basis, spectrum)
        made = task(
            riemtr.Grassmann(n, p),
            peers.Grassmann(n, p),
            lambda x, a=matrix: float(np.sum(x * (a @ x))),
            lambda x, a=matrix: 2.0 * (a @ x),
            lambda x, v, a=matrix: 2.0 * (a @ v),
        )
        for chosen in itertools.combinations(range(n), p):
            left = [k for k in range(n) if k not in chosen]
            values = [2.0 * (spectrum[k] - spectrum[i]) for i in chosen for k in left]
            yield case(made, basis[:, list(chosen)] @ orthogonal(rng, p), values)


def quadratics() -> Iterator[Case]:
    """Quadratics on Euclidean space: minima, saddles, maxima, flat directions."""
    for index, rng in seeds(4):
        n = int(rng.integers(1, 11))
        spectrum = np.abs(rng.standard_normal(n)) + 0.1
        if index % 4 == 1:
            spectrum[: rng.integers(1, n + 1)] *= -1.0
        elif index % 4 == 2:
            spectrum[: rng.integers(1, n + 1)] = 0.0
        elif index % 4 == 3:
            spectrum[0] = rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-9.0, -2.0)
        spectrum = spectrum * 10.0 ** rng.uniform(-6.0, 6.0)
        matrix = rotated(orthogonal(rng, n), spectrum)
        centre = rng.standard_normal(n)
        made = task(
            riemtr.Euclidean(n),
            peers.Euclidean(n),
            lambda x, a=matrix, c=centre: 0.5 * float((x - c) @ a @ (x - c)),
            lambda x, a=matrix, c=centre: a @ (x - c),
            lambda x, v, a=matrix: a @ v,
        )
        yield case(made, centre, spectrum)


# Each is a coefficient and a power of one variable.
TERMS = ((1.0, 2), (1.0, 3), (1.0, 4), (1.0, 5), (1.0, 6), (-1.0, 4), (2.0, 2), (-1.0, 3))


def polynomials() -> Iterator[Case]:
    """Sums of powers of rotated variables, at 0 and on the way there along the last power."""
    for index, rng in seeds(5):
        n = int(rng.integers(1, 5))
        terms = [TERMS[k] for k in rng.integers(0, len(TERMS), size=n)]
        factors = np.array([factor for factor, _ in terms]) * rng.uniform(0.5, 2.0, size=n)
        powers = np.array([power for _, power in terms])
        basis = orthogonal(rng, n) if index % 2 else np.eye(n)
        made = task(
            riemtr.Euclidean(n),
            peers.Euclidean(n),
            lambda x, f=factors, k=powers, q=basis: float(np.sum(f * (q @ x) ** k)),
            lambda x, f=factors, k=powers, q=basis: q.T @ (f * k * (q @ x) ** (k - 1)),
            lambda x, v, f=factors, k=powers, q=basis: (
                q.T @ (f * k * (k - 1) * (q @ x) ** (k - 2) * (q @ v))
            ),
        )
        falls = np.any((powers % 2 == 1) | (factors < 0.0))
        truth = DEGENERATE if falls else FLAT if np.any(powers > 2) else STRICT
        bends = np.where(powers == 2, 2.0 * factors, 0.0)
        size = max(float(np.max(np.abs(bends))), 1.0)
        yield Case(made, np.zeros(n), truth, float(np.min(bends)), size)
        if powers[-1] > 2:
            # Short of a degenerate point the second order says what it likes, but not "strict".
            gap = 10.0 ** rng.uniform(-5.0, -1.0)
            yield Case(made, basis.T @ (gap * np.eye(n)[-1]), truth, None, size)


def surfaces() -> Iterator[Case]:
    """The monkey saddle, Peano's surface, x^2 - y^4, x^2 + y^4, and x^2 - y^6, scaled."""
    named: list[tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any], str, float]] = [
        (
            lambda x, y: x**3 - 3.0 * x * y**2,
            lambda x, y: (3.0 * x**2 - 3.0 * y**2, -6.0 * x * y),
            lambda x, y: ((6.0 * x, -6.0 * y), (-6.0 * y, -6.0 * x)),
            DEGENERATE,
            0.0,
        ),
        (
            lambda x, y: (y - x**2) * (y - 2.0 * x**2),
            lambda x, y: (8.0 * x**3 - 6.0 * x * y, 2.0 * y - 3.0 * x**2),
            lambda x, y: ((24.0 * x**2 - 6.0 * y, -6.0 * x), (-6.0 * x, 2.0)),
            DEGENERATE,
            0.0,
        ),
        (
            lambda x, y: x**2 - y**4,
            lambda x, y: (2.0 * x, -4.0 * y**3),
            lambda x, y: ((2.0, 0.0), (0.0, -12.0 * y**2)),
            DEGENERATE,
            0.0,
        ),
        (
            lambda x, y: x**2 - y**6,
            lambda x, y: (2.0 * x, -6.0 * y**5),
            lambda x, y: ((2.0, 0.0), (0.0, -30.0 * y**4)),
            DEGENERATE,
            0.0,
        ),
        (
            lambda x, y: x**2 + y**4,
            lambda x, y: (2.0 * x, 4.0 * y**3),
            lambda x, y: ((2.0, 0.0), (0.0, 12.0 * y**2)),
            FLAT,
            0.0,
        ),
    ]
    for index, rng in seeds(6):
        value, slope, bend, truth, least = named[index % len(named)]
        scale, basis = 10.0 ** rng.uniform(-3.0, 3.0), orthogonal(rng, 2)
        centre = rng.standard_normal(2) if index % 2 else np.zeros(2)
        made = task(
            riemtr.Euclidean(2),
            peers.Euclidean(2),
            lambda x, f=value, s=scale, q=basis, c=centre: s * float(f(*(q @ (x - c)))),
            lambda x, g=slope, s=scale, q=basis, c=centre: s * (q.T @ np.array(g(*(q @ (x - c))))),
            lambda x, v, h=bend, s=scale, q=basis, c=centre: (
                s * (q.T @ (np.array(h(*(q @ (x - c)))) @ (q @ v)))
            ),
        )
        yield Case(made, centre, truth, least, 2.0 * scale)


def products_of_spheres() -> Iterator[Case]:
    """-u'Av on products of two spheres at all pairs of singular vectors and their signs."""
    for _, rng in seeds(7):
        m, n = (int(size) for size in rng.integers(2, 6, size=2))
        singular = np.sort(rng.permutation(9)[: min(m, n)] + 1.0)[::-1] / 3.0
        u, v = orthogonal(rng, m), orthogonal(rng, n)
        matrix = (u[:, : len(singular)] * singular) @ v[:, : len(singular)].T
        made = task(
            riemtr.Product([riemtr.Sphere(m), riemtr.Sphere(n)]),
            peers.Product([peers.Sphere(m), peers.Sphere(n)]),
            lambda x, y, a=matrix: -float(x @ a @ y),
            lambda x, y, a=matrix: [-(a @ y), -(x @ a)],
            lambda x, y, dx, dy, a=matrix: [-(a @ dy), -(dx @ a)],
        )
        for i, sign in itertools.product(range(len(singular)), (1.0, -1.0)):
            value, rest = sign * singular[i], np.delete(singular, i)
            values = np.concatenate([value + rest, value - rest, [value] * abs(m - n)])
            yield case(made, [u[:, i].copy(), sign * v[:, i]], values)


def positive_definite() -> Iterator[Case]:
    """a (log det X)^2 + b (log det X + trace(X^-1 S)) at S of determinant 1."""
    for index, rng in seeds(8):
        n = int(rng.integers(1, 5))
        factor = rng.standard_normal((n, n)) + 2.0 * np.eye(n)
        centre = factor @ factor.T
        centre /= np.linalg.det(centre) ** (1.0 / n)
        a, b = ((0.0, 1.0), (0.0, -1.0), (1.0, 0.0), (1.0, -1.0), (1.0, 1.0))[index % 5]
        scale = 10.0 ** rng.uniform(-3.0, 3.0)

        def cost(
            x: Array, s: Array = centre, a: float = a, b: float = b, c: float = scale
        ) -> float:
            size = np.linalg.slogdet(x)[1]
            return c * float(a * size**2 + b * (size + np.trace(np.linalg.solve(x, s))))

        def gradient(
            x: Array, s: Array = centre, a: float = a, b: float = b, c: float = scale
        ) -> Array:
            inverse = np.linalg.inv(x)
            size = np.linalg.slogdet(x)[1]
            return c * (2.0 * a * size * inverse + b * (inverse - inverse @ s @ inverse))

        def hessian(
            x: Array, v: Array, s: Array = centre, a: float = a, b: float = b, c: float = scale
        ) -> Array:
            inverse = np.linalg.inv(x)
            size, change = np.linalg.slogdet(x)[1], inverse @ v @ inverse
            twice = change @ s @ inverse
            of_square = 2.0 * (np.trace(inverse @ v) * inverse - size * change)
            return c * (a * of_square + b * (twice + twice.T - change))

        made = task(
            riemtr.PositiveDefinite(n), peers.SymmetricPositiveDefinite(n), cost, gradient, hessian
        )
        # Along S^1/2 exp(tV) S^1/2 the trace bends by 1; log det is linear, along S itself.
        values = [scale * (2.0 * a * n + b)] + [scale * b] * (n > 1)
        yield case(made, centre, values)


def rotations() -> Iterator[Case]:
    """-trace(A'X) on SO(n) at its 2^(n-1) critical points."""
    for _, rng in seeds(9):
        n = int(rng.integers(2, 5))
        singular = rng.permutation(9)[:n] + 1.0
        u, v = orthogonal(rng, n), orthogonal(rng, n)
        matrix = (u * singular) @ v.T
        made = task(
            riemtr.Rotations(n),
            peers.SpecialOrthogonalGroup(n),
            lambda x, a=matrix: -float(np.sum(a * x)),
            lambda x, a=matrix: -a,
            lambda x, w: np.zeros_like(x),
        )
        for signs in itertools.product((1.0, -1.0), repeat=n):
            if np.prod(signs) * np.linalg.det(u) * np.linalg.det(v) < 0.0:
                continue
            signed = singular * signs
            # A turn by an angle t has length sqrt(2) t.
            values = [(signed[i] + signed[j]) / 2.0 for i, j in itertools.combinations(range(n), 2)]
            yield case(made, (u * signs) @ v.T, values)


def max_cuts() -> Iterator[Case]:
    """<X, XC> on oblique manifolds at rank-deficient points x z', z a vector of signs."""
    for index, rng in seeds(10):
        rank, n = int(rng.integers(2, 5)), int(rng.integers(2, 8))
        z = rng.choice([-1.0, 1.0], size=n)
        weights = rng.integers(1, 5, size=(n, n)).astype(float)
        weights = np.triu(weights, 1) + np.triu(weights, 1).T
        if index % 2:
            weights *= rng.choice([-1.0, 1.0], size=(n, n))
            weights = np.triu(weights, 1) + np.triu(weights, 1).T
        matrix = -weights * np.outer(z, z)
        made = task(
            riemtr.Oblique(rank, n),
            peers.Oblique(rank, n),
            lambda x, a=matrix: float(np.sum(x * (x @ a))),
            lambda x, a=matrix: 2.0 * (x @ a),
            lambda x, v, a=matrix: 2.0 * (v @ a),
        )
        direction = rng.standard_normal(rank)
        point = np.outer(direction / np.linalg.norm(direction), z)
        # Twice the Laplacian of the weights, as often as there are directions beside x; its null
        # vector z is the rotation of all columns together.
        values = np.linalg.eigvalsh(2.0 * (matrix - np.diag(z * (matrix @ z))))
        values[np.abs(values) <= 1e-12 * np.max(np.abs(values))] = 0.0
        yield case(made, point, values)


# -- single precision, offsets and noise --------------------------------------------------------


def single_precision() -> Iterator[Case]:
    """x'Ax in float32."""
    for _, rng in seeds(11):
        n = int(rng.integers(2, 9))
        spectrum = spectrum_of(rng, "spaced", n)
        basis = orthogonal(rng, n)
        made = form_on_sphere(n, rotated(basis, spectrum).astype(np.float32))
        for column in range(n):
            point = basis[:, column].astype(np.float32)
            yield case(made, point / np.linalg.norm(point), others(spectrum, column))


def offsets_and_noise() -> Iterator[Case]:
    """x'Ax + 1e6, and x'Ax with noise of 1e-10 or of 1e-8."""
    for index, rng in seeds(12):
        n = int(rng.integers(2, 9))
        spectrum = spectrum_of(rng, "spaced", n)
        basis = orthogonal(rng, n)
        matrix = rotated(basis, spectrum)
        offset, noise = ((1e6, 0.0), (0.0, 1e-10), (-1e6, 0.0), (0.0, 1e-8))[index % 4]
        made = task(
            riemtr.Sphere(n),
            peers.Sphere(n),
            lambda x, a=matrix, o=offset, e=noise: (
                float(x @ a @ x) + o + e * float(np.sin(1e12 * np.sum(x)))
            ),
            lambda x, a=matrix: 2.0 * (a @ x),
            lambda x, v, a=matrix: 2.0 * (a @ v),
        )
        for column in range(n):
            yield case(made, basis[:, column].copy(), others(spectrum, column))


# -- derivatives that are wrong, costs that have none -------------------------------------------


ISSUE_14 = np.array(
    [
        [0.0, -1.0, 1.5, 2.5],
        [-1.0, -2.0, -2.5, -3.5],
        [1.5, -2.5, -2.0, 2.5],
        [2.5, -3.5, 2.5, -2.0],
    ]
)


def unsymmetric_hessians() -> Iterator[Case]:
    """x'Ax with Hessian product 2 triu(A) v, or with a random skew part."""
    for index, rng in seeds(13):
        if index == 0:
            matrix, n = ISSUE_14, 4
        else:
            n = int(rng.integers(2, 7))
            matrix = np.round(2.0 * rng.standard_normal((n, n)))
            matrix = 0.5 * (matrix + matrix.T)
        if index % 2 == 0:
            wrong = np.triu(matrix)
        else:
            skew = rng.standard_normal((n, n)) * 10.0 ** rng.uniform(-3.0, 1.0)
            wrong = matrix + skew - skew.T
        made = form_on_sphere(n, matrix, lambda x, v, a=wrong: 2.0 * (a @ v))
        spectrum, basis = np.linalg.eigh(matrix)
        for column in range(n):
            values = others(spectrum, column)
            if np.min(np.abs(values)) > 1e-6:  # repeated ones are not in closed form here
                yield case(made, basis[:, column].copy(), values, sound=False)


def wrong_hessians() -> Iterator[Case]:
    """Sphere forms whose Hessian lacks a factor, a term or all, is shifted or has a wrong entry."""
    for index, rng in seeds(14):
        n = int(rng.integers(2, 9))
        spectrum, basis = spectrum_of(rng, "spaced", n), orthogonal(rng, n)
        matrix = rotated(basis, spectrum)
        term = rng.standard_normal(n)
        kind, entry = index % 8, np.zeros((n, n))
        entry[tuple(rng.integers(n, size=2))] = rng.choice([-1.0, 1.0]) * rng.uniform(0.5, 5.0)
        wrong = (
            0.5 * matrix,
            -matrix,
            matrix - np.outer(term, term),
            matrix + np.outer(term, term),
            matrix + rng.uniform(0.5, 5.0) * n * np.eye(n),
            0.0 * matrix,
            matrix + entry,
            matrix + entry + entry.T,
        )[kind]
        made = form_on_sphere(n, matrix, lambda x, v, a=wrong: 2.0 * (a @ v))
        for column in range(n):
            yield case(made, basis[:, column].copy(), others(spectrum, column), sound=False)


def gauss_newton() -> Iterator[Case]:
    """sum (z_i^2 - a_i)^2 / 4, z = Qx, with the Hessian of Gauss and Newton, damped or not."""
    for index, rng in seeds(15):
        n = int(rng.integers(1, 6))
        goals, basis = rng.uniform(0.5, 2.0, size=n), orthogonal(rng, n)
        damping = (0.0, 0.1, 1.0)[index % 3]
        made = task(
            riemtr.Euclidean(n),
            peers.Euclidean(n),
            lambda x, a=goals, q=basis: 0.25 * float(np.sum(((q @ x) ** 2 - a) ** 2)),
            lambda x, a=goals, q=basis: q.T @ (((q @ x) ** 2 - a) * (q @ x)),
            lambda x, v, q=basis, d=damping: q.T @ (2.0 * (q @ x) ** 2 * (q @ v)) + d * v,
        )
        chosen = rng.integers(-1, 2, size=n)
        z = np.sqrt(goals) * chosen
        yield case(made, basis.T @ z, np.where(chosen == 0, -goals, 2.0 * goals), sound=False)


def wrong_gradients() -> Iterator[Case]:
    """Costs with a linear term that their gradient lacks: the point is not critical."""
    for index, rng in seeds(16):
        n = int(rng.integers(2, 9))
        spectrum, basis = np.arange(1.0, n + 1.0), orthogonal(rng, n)
        matrix = rotated(basis, spectrum)
        linear = rng.standard_normal(n) * 10.0 ** rng.uniform(-3.0, 0.0)
        on_sphere = index % 2 == 0
        made = task(
            riemtr.Sphere(n) if on_sphere else riemtr.Euclidean(n),
            peers.Sphere(n) if on_sphere else peers.Euclidean(n),
            lambda x, a=matrix, b=linear: float(x @ a @ x + b @ x),
            lambda x, a=matrix: 2.0 * (a @ x),
            lambda x, v, a=matrix: 2.0 * (a @ v),
        )
        point = basis[:, 0].copy() if on_sphere else np.zeros(n)
        yield Case(made, point, NO_MINIMUM, None, 2.0 * n, sound=False)


def jumps() -> Iterator[Case]:
    """x'Ax - h 1[x_1 > 0] at the smallest eigenvector, which touches the jump or lies beyond."""
    for index, rng in seeds(17):
        n = int(rng.integers(3, 8))
        spectrum = np.arange(1.0, n + 1.0)
        inner = orthogonal(rng, n - 1)
        basis = np.zeros((n, n))
        basis[1:, : n - 1], basis[0, n - 1] = inner, 1.0
        height = (1.0, 1e-3)[index % 2]
        matrix = rotated(basis, spectrum)
        made = task(
            riemtr.Sphere(n),
            peers.Sphere(n),
            lambda x, a=matrix, h=height: float(x @ a @ x) - h * float(x[0] > 0.0),
            lambda x, a=matrix: 2.0 * (a @ x),
            lambda x, v, a=matrix: 2.0 * (a @ v),
        )
        point = basis[:, 0].copy()
        yield Case(made, point, NO_MINIMUM, None, 2.0 * n, sound=False)
        beyond = point.copy()
        beyond[0] = 1e-14
        yield Case(made, beyond, STRICT, None, 2.0 * n, sound=False)


def kinks() -> Iterator[Case]:
    """|x|_1 on spheres at points of equal magnitudes, and |x|_1, -|x|_1 at the origin."""
    for index, rng in seeds(18):
        n = int(rng.integers(2, 8))
        sign = -1.0 if index % 3 == 2 else 1.0
        on_sphere = index % 3 == 0
        made = task(
            riemtr.Sphere(n) if on_sphere else riemtr.Euclidean(n),
            peers.Sphere(n) if on_sphere else peers.Euclidean(n),
            lambda x, s=sign: s * float(np.sum(np.abs(x))),
            lambda x, s=sign: s * np.sign(x),
            lambda x, v: np.zeros_like(x),
        )
        if not on_sphere:
            truth = STRICT if sign > 0.0 else NO_MINIMUM
            yield Case(made, np.zeros(n), truth, None, 1.0, sound=False)
            continue
        for support in (1, int(rng.integers(1, n + 1))):
            point = np.zeros(n)
            chosen = rng.permutation(n)[:support]
            point[chosen] = rng.choice([-1.0, 1.0], size=support) / np.sqrt(support)
            truth = STRICT if support == 1 else MAXIMIZER if support == n else SADDLE
            least = None if support == 1 else -np.sqrt(support)
            yield Case(made, point, truth, least, np.sqrt(support), sound=False)


def endless_tolerance() -> Iterator[Case]:
    """x'Ax at every eigenvector with curvature_tolerance=inf: nothing may be certified."""
    for _, rng in seeds(19):
        n = int(rng.integers(2, 6))
        spectrum, basis = spectrum_of(rng, "spaced", n), orthogonal(rng, n)
        made = form_on_sphere(n, rotated(basis, spectrum))
        for column in range(n):
            values = others(spectrum, column)
            yield case(made, basis[:, column].copy(), values, sound=False, endless=True)


# Name: the family, and its share in the cases.
BASIC: dict[str, tuple[Callable[[], Iterator[Case]], float]] = {
    "x'Ax on spheres": (sphere_forms, 0.2),
    "Brockett on Stiefel": (brockett, 0.08),
    "subspaces, Grassmann": (subspaces, 0.08),
    "quadratics, Euclidean": (quadratics, 0.1),
    "powers x^2 to x^6, -x^4": (polynomials, 0.08),
    "monkey, Peano, x^2-y^4": (surfaces, 0.03),
    "products of spheres": (products_of_spheres, 0.05),
    "positive definite": (positive_definite, 0.04),
    "rotations": (rotations, 0.04),
    "rank-deficient max-cut": (max_cuts, 0.05),
    "float32": (single_precision, 0.04),
    "offset 1e6, noise": (offsets_and_noise, 0.05),
    "unsymmetric Hessian": (unsymmetric_hessians, 0.05),
    "wrong Hessian": (wrong_hessians, 0.04),
    "Gauss-Newton Hessian": (gauss_newton, 0.02),
    "wrong gradient": (wrong_gradients, 0.01),
    "jump beside the point": (jumps, 0.01),
    "kinks, |x|_1": (kinks, 0.02),
    "tolerance inf": (endless_tolerance, 0.01),
}
