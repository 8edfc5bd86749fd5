"""Smooth costs of condition numbers 1e4 to 1e12 whose minimizer is known, on all native manifolds.

Each kind of cost is a :class:`Bowl`: one minimizer, up to signs and rotations that stand for the
same point, and no other local minimum. Products put bowls side by side, each in units of its own.
Costs are written for floats and for numbers with many digits, so that the height of a point above
the minimum is exact. Solvers start away from the minimizer; points on the way are certified, too.
Condition numbers are at most 1e10 where rounding of the cost's data would move the minimizer, 1e8
on matrices of fixed rank, where Hessians are differences, and 1e4 in each factor of a product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
from pymanopt import manifolds as peers

import riemtr
from benchmarks.torture_cases import Array, orthogonal
from benchmarks.torture_trials import Peer, Spot, Trial, Truth, apply, arrays, exact


@dataclass(frozen=True)
class Bowl:
    """A smooth cost with one minimizer.

    Attributes
    ----------
    manifold, peer : manifolds of riemtr and of pymanopt; ``peer`` is None where none serves
    cost, gradient, hessian : callables of the arrays of a point, and of a vector after them
    start, minimizer : points
    away : callable
        The distance of a point to the minimizer over the size of the point.
    small : bool
        Whether the paper's exact method, with its fixed radius, can be asked for it.
    least : mpmath.mpf or None
        The minimum; the cost at the minimizer if None.
    distance : callable or None
        The distance to the minimizer, where it is known to rounding.
    """

    manifold: Any
    peer: Any
    cost: Callable[..., Any]
    gradient: Callable[..., Any]
    hessian: Callable[..., Any] | None
    start: Any
    minimizer: Any
    away: Callable[[Any], float]
    small: bool = False
    least: Any = None
    distance: Callable[[Any], float] | None = None


def norm(array: Any) -> float:
    return float(np.linalg.norm(np.asarray(array, dtype=float)))


def away_from(centre: Array, size: float = 0.0) -> Callable[[Any], float]:
    """Return the distance to a centre, over the size of the centre or the point."""
    return lambda x: norm(x - centre) / max(norm(x), norm(centre), size)


def spectrum(rng: np.random.Generator, n: int, condition: float) -> Array:
    """Return numbers from 1 down to one over the condition number, both included."""
    exponents = rng.uniform(0.0, 1.0, size=n)
    exponents[0] = 0.0
    exponents[-1] = 1.0
    return condition ** (-exponents)


# -- Euclidean space ----------------------------------------------------------------------------


def centre_and_start(rng: np.random.Generator, n: int) -> tuple[Array, Array, float]:
    """Return a minimizer, at 0 in one case of three, a start, and the size of the point."""
    centre = rng.standard_normal(n) * (rng.random() < 2 / 3)
    offset = rng.standard_normal(n) * 10.0 ** rng.uniform(-1.0, 2.0)
    return centre, centre + offset, norm(offset) * (not np.any(centre))


def quadratic(rng: np.random.Generator, condition: float) -> Bowl:
    """A quadratic form in a rotated basis."""
    n = int(rng.integers(2, 11))
    d, basis = spectrum(rng, n, condition), orthogonal(rng, n)
    centre, start, size = centre_and_start(rng, n)
    return Bowl(
        riemtr.Euclidean(n),
        peers.Euclidean(n),
        lambda x: np.sum(0.5 * d * ((x - centre) @ basis) ** 2),
        lambda x: basis @ (d * ((x - centre) @ basis)),
        lambda x, v: basis @ (d * (v @ basis)),
        start,
        centre,
        away_from(centre, size),
        small=norm(start - centre) < 10.0,
        distance=lambda x: norm(x - centre),
    )


def valley(rng: np.random.Generator, condition: float) -> Bowl:
    """Rosenbrock's valleys, side by side in a rotated basis."""
    pairs = int(rng.integers(1, 4))
    n = 2 * pairs
    # Walking along the valley takes the longer the narrower it is.
    narrow = min(condition / 25.0, 1e6) ** rng.uniform(0.5, 1.0, size=pairs)
    basis, centre = orthogonal(rng, n), rng.standard_normal(n)

    def inside(x: Any) -> tuple[Any, Any]:
        z = (x - centre) @ basis
        return 1.0 + z[:pairs], 1.0 + z[pairs:]

    def gradient(x: Array) -> Array:
        a, b = inside(x)
        gap = b - a * a
        return basis @ np.concatenate(
            [-4.0 * narrow * a * gap - 2.0 * (1.0 - a), 2.0 * narrow * gap]
        )

    def hessian(x: Array, v: Array) -> Array:
        a, b = inside(x)
        w = v @ basis
        da, db = w[:pairs], w[pairs:]
        first = (12.0 * narrow * a * a - 4.0 * narrow * b + 2.0) * da - 4.0 * narrow * a * db
        return basis @ np.concatenate([first, -4.0 * narrow * a * da + 2.0 * narrow * db])

    def cost(x: Any) -> Any:
        a, b = inside(x)
        return np.sum(narrow * (b - a * a) ** 2 + (1.0 - a) ** 2)

    return Bowl(
        riemtr.Euclidean(n),
        peers.Euclidean(n),
        cost,
        gradient,
        hessian,
        centre + 0.5 * rng.standard_normal(n),
        centre,
        away_from(centre),
        distance=lambda x: norm(x - centre),
    )


def solved_exactly(matrix: Array, target: Array) -> tuple[Array, Any]:
    """Return the solution of a least-squares problem, and half its least square, to many digits."""
    a, b = exact(matrix), exact(target)
    solution = mpmath.lu_solve(mpmath.matrix(a.T @ a), mpmath.matrix(a.T @ b))
    x = np.array(list(solution), dtype=object)
    return x, np.sum((a @ x - b) ** 2) / 2


def least_squares(rng: np.random.Generator, condition: float) -> Bowl:
    """Linear least squares with columns in different units, consistent or not."""
    n = int(rng.integers(2, 7))
    scales = np.sqrt(spectrum(rng, n, condition))
    matrix = rng.standard_normal((2 * n + 1, n)) * rng.permutation(scales)
    matrix *= 10.0 ** rng.uniform(-2.0, 2.0)
    target = matrix @ rng.standard_normal(n)
    target += rng.choice([0.0, 1e-3, 0.1]) * norm(target) * rng.standard_normal(2 * n + 1)
    found, least = solved_exactly(matrix, target)
    minimizer = found.astype(float)
    return Bowl(
        riemtr.Euclidean(n),
        peers.Euclidean(n),
        lambda x: 0.5 * np.sum((matrix @ x - target) ** 2),
        lambda x: matrix.T @ (matrix @ x - target),
        lambda x, v: matrix.T @ (matrix @ v),
        rng.standard_normal(n),
        minimizer,
        away_from(minimizer),
        least=least,
    )


def two_units(rng: np.random.Generator, condition: float) -> Bowl:
    """Linear least squares for two vectors, each in a unit from 1e-9 to 1e9."""
    n, k = (int(size) for size in rng.integers(1, 4, size=2))
    units = 10.0 ** rng.uniform(-9.0, 9.0, size=2)
    inner = min(condition, 1e6) ** 0.25
    first, second = (
        rng.standard_normal((2 * (n + k), size)) * np.sqrt(spectrum(rng, size, inner)) / unit
        for size, unit in ((n, units[0]), (k, units[1]))
    )
    target = first @ rng.standard_normal(n) * units[0] + second @ rng.standard_normal(k) * units[1]
    target += rng.choice([0.0, 1e-2]) * rng.standard_normal(2 * (n + k))
    both = np.hstack([first * units[0], second * units[1]])
    found, _ = solved_exactly(both, target)
    x, y = found[:n].astype(float) * units[0], found[n:].astype(float) * units[1]

    def left(x: Any, y: Any) -> Any:
        return first @ x + second @ y - target

    in_first, in_second = away_from(x), away_from(y)
    return Bowl(
        riemtr.Product([riemtr.Euclidean(n), riemtr.Euclidean(k)]),
        peers.Product([peers.Euclidean(n), peers.Euclidean(k)]),
        lambda x, y: 0.5 * np.sum(left(x, y) ** 2),
        lambda x, y: [first.T @ left(x, y), second.T @ left(x, y)],
        lambda x, y, dx, dy: [
            first.T @ (first @ dx + second @ dy),
            second.T @ (first @ dx + second @ dy),
        ],
        [rng.standard_normal(n) * units[0], rng.standard_normal(k) * units[1]],
        [x, y],
        lambda point: max(in_first(point[0]), in_second(point[1])),
    )


# Convex functions, or at least with one critical point, that bend by 1 at 0: values and the first
# two derivatives.
SHAPES: tuple[tuple[Callable[..., Any], ...], ...] = (
    (
        lambda t: apply("exp", t) - 1.0 - t,
        lambda t: np.expm1(t),
        lambda t: np.exp(t),
    ),
    (
        lambda t: apply("log", apply("cosh", t)),
        lambda t: np.tanh(t),
        lambda t: 1.0 / np.cosh(t) ** 2,
    ),
    (
        lambda t: apply("sqrt", 1.0 + t * t) - 1.0,
        lambda t: t / np.sqrt(1.0 + t * t),
        lambda t: (1.0 + t * t) ** -1.5,
    ),
    (
        lambda t: 0.5 * apply("log", 1.0 + t * t),
        lambda t: t / (1.0 + t * t),
        lambda t: (1.0 - t * t) / (1.0 + t * t) ** 2,
    ),
)


def shaped(rng: np.random.Generator, condition: float) -> Bowl:
    """Exponentials, logarithms and roots of rotated variables, weighted."""
    n = int(rng.integers(2, 9))
    value, slope, bend = SHAPES[int(rng.integers(len(SHAPES)))]
    d, basis = spectrum(rng, n, condition), orthogonal(rng, n)
    centre = rng.standard_normal(n)
    return Bowl(
        riemtr.Euclidean(n),
        peers.Euclidean(n),
        lambda x: np.sum(d * value((x - centre) @ basis)),
        lambda x: basis @ (d * slope((x - centre) @ basis)),
        lambda x, v: basis @ (d * bend((x - centre) @ basis) * (v @ basis)),
        centre + rng.standard_normal(n),
        centre,
        away_from(centre),
        small=True,
        distance=lambda x: norm(x - centre),
    )


# -- spheres, frames, subspaces -----------------------------------------------------------------


def steps_apart(rng: np.random.Generator, n: int, condition: float) -> Array:
    """Return ascending numbers from 0 to about 1 with a smallest gap of one over the condition."""
    gaps = condition ** -rng.uniform(0.0, 1.0, size=n - 1)
    gaps[rng.integers(n - 1)] = 1.0 / condition
    gaps[-1] = max(gaps[-1], 1.0)
    return np.concatenate([[0.0], np.cumsum(gaps)])


def signless(columns: Array) -> Callable[[Any], float]:
    """Return the largest distance of a column, up to its sign."""

    def away(x: Array) -> float:
        apart = np.linalg.norm(x - columns, axis=-2)
        opposed = np.linalg.norm(x + columns, axis=-2)
        return float(np.max(np.minimum(apart, opposed)))

    return away


def gaps_on_sphere(rng: np.random.Generator, condition: float) -> Bowl:
    """A Rayleigh quotient with a tiny gap, or with one huge eigenvalue."""
    n = int(rng.integers(3, 11))
    d, basis = steps_apart(rng, n, min(condition, 1e10)), orthogonal(rng, n)
    first = basis[:, 0].copy()
    away = signless(first[:, None])
    start = rng.standard_normal(n)
    return Bowl(
        riemtr.Sphere(n),
        peers.Sphere(n),
        lambda x: np.sum(d * (x @ basis) ** 2),
        lambda x: 2.0 * (basis @ (d * (x @ basis))),
        lambda x, v: 2.0 * (basis @ (d * (v @ basis))),
        start / norm(start),
        first,
        lambda x: away(x[:, None]),
        small=True,
    )


def penalty(rng: np.random.Generator, condition: float) -> Bowl:
    """x'Ax + w (a'x)^2 on the sphere, a constraint by a penalty."""
    n = int(rng.integers(3, 9))
    matrix, normal = rng.standard_normal((n, n)), rng.standard_normal(n)
    matrix = matrix + matrix.T
    weight = min(condition, 1e10)
    both = matrix + weight * np.outer(normal, normal)
    _, vectors = np.linalg.eigh(both)
    # The eigenvector by floats is off by the condition number times rounding; two steps of
    # inverse iteration with many digits repair it.
    inside = exact(matrix) + weight * np.outer(exact(normal), exact(normal))
    x = exact(vectors[:, 0])
    for _ in range(2):
        value = np.sum(x * (inside @ x)) / np.sum(x * x)
        shift = value - mpmath.mpf(10) ** -20
        x = np.array(
            list(mpmath.lu_solve(mpmath.matrix(inside - shift * np.eye(n)), mpmath.matrix(x))),
            dtype=object,
        )
        x = x / mpmath.sqrt(np.sum(x * x))
    minimizer = x.astype(float)
    away = signless(minimizer[:, None])
    start = rng.standard_normal(n)
    return Bowl(
        riemtr.Sphere(n),
        peers.Sphere(n),
        lambda x: np.sum(x * (matrix @ x)) + weight * np.sum(normal * x) ** 2,
        lambda x: 2.0 * (matrix @ x) + 2.0 * weight * np.sum(normal * x) * normal,
        lambda x, v: 2.0 * (matrix @ v) + 2.0 * weight * np.sum(normal * v) * normal,
        start / norm(start),
        minimizer,
        lambda x: away(x[:, None]),
        least=np.sum(x * (inside @ x)),
    )


def brockett(rng: np.random.Generator, condition: float) -> Bowl:
    """trace(X'AXN) on one Stiefel manifold, or on several."""
    n, k = int(rng.integers(3, 6)), int(rng.integers(1, 3))
    p = int(rng.integers(1, n))
    weights = np.arange(p, 0.0, -1.0)
    spreads = np.array([steps_apart(rng, n, min(condition, 1e10)) for _ in range(k)])[:, :, None]
    bases = np.array([orthogonal(rng, n) for _ in range(k)])
    if k == 1:
        spreads, bases = spreads[0], bases[0]
    turned = np.swapaxes(bases, -1, -2)
    minimizer = bases[..., :p].copy()
    return Bowl(
        riemtr.Stiefel(n, p, k),
        peers.Stiefel(n, p, k=k),
        lambda x: np.sum(spreads * weights * (turned @ x) ** 2),
        lambda x: 2.0 * (bases @ (spreads * weights * (turned @ x))),
        lambda x, v: 2.0 * (bases @ (spreads * weights * (turned @ v))),
        riemtr.Stiefel(n, p, k).random_point(rng),
        minimizer,
        signless(minimizer),
    )


def subspace(rng: np.random.Generator, condition: float) -> Bowl:
    """trace(X'AX) on a Grassmann manifold, with a tiny gap or huge eigenvalues."""
    n = int(rng.integers(3, 8))
    p = int(rng.integers(1, n))
    gaps = np.diff(steps_apart(rng, n, min(condition, 1e10)))
    gaps[p - 1] = max(gaps[p - 1], 1e-10)
    d, basis = np.concatenate([[0.0], np.cumsum(gaps)])[:, None], orthogonal(rng, n)
    columns = basis[:, :p].copy()
    return Bowl(
        riemtr.Grassmann(n, p),
        peers.Grassmann(n, p),
        lambda x: np.sum(d * (basis.T @ x) ** 2),
        lambda x: 2.0 * (basis @ (d * (basis.T @ x))),
        lambda x, v: 2.0 * (basis @ (d * (basis.T @ v))),
        riemtr.Grassmann(n, p).random_point(rng),
        columns,
        lambda x: norm(x - columns @ (columns.T @ x)),
    )


def columns(rng: np.random.Generator, condition: float) -> Bowl:
    """Unit columns drawn to targets by weights of different magnitude."""
    m, n = int(rng.integers(2, 5)), int(rng.integers(2, 7))
    targets = rng.standard_normal((m, n))
    targets /= np.linalg.norm(targets, axis=0)
    weights = rng.permutation(spectrum(rng, n, condition))
    return Bowl(
        riemtr.Oblique(m, n),
        peers.Oblique(m, n),
        lambda x: 0.5 * np.sum(weights * (x - targets) ** 2),
        lambda x: weights * (x - targets),
        lambda x, v: weights * v,
        riemtr.Oblique(m, n).random_point(rng),
        targets,
        lambda x: float(np.max(np.linalg.norm(x - targets, axis=0))),
        distance=lambda x: norm(x - targets),
    )


# -- rotations and poses ------------------------------------------------------------------------


def procrustes(rng: np.random.Generator, condition: float) -> Bowl:
    """|R P - Y|^2 for a cloud of points that is long, flat or both; several clouds side by side."""
    n, k = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    scales = np.sqrt(spectrum(rng, n, condition))
    if n > 2:  # the slope of a turn is the sum of two squares: both have to be small
        scales[-2] = scales[-1] * rng.uniform(1.0, 3.0)
    weights = np.sqrt(spectrum(rng, k, min(condition, 1e4)))
    clouds = rng.standard_normal((k, n, 3 * n)) * scales[:, None] * weights[:, None, None]
    turns = riemtr.Rotations(n, k).random_point(rng)
    if k == 1:
        clouds = clouds[0]
    targets = turns @ clouds
    turned = np.swapaxes(clouds, -1, -2)
    return Bowl(
        riemtr.Rotations(n, k),
        peers.SpecialOrthogonalGroup(n, k=k),
        lambda x: 0.5 * np.sum((x @ clouds - targets) ** 2),
        lambda x: (x @ clouds - targets) @ turned,
        None,
        riemtr.Rotations(n, k).random_point(rng),
        turns,
        lambda x: float(np.max(np.linalg.norm(x - turns, axis=(-2, -1)))),
    )


def pose(rng: np.random.Generator, condition: float) -> Bowl:
    """Turn and shift of a cloud of points, spread over metres to kilometres, with noise or not."""
    n, m = int(rng.integers(2, 4)), int(rng.integers(5, 30))
    spread = min(np.sqrt(condition), 1e5)
    source = spread * (rng.standard_normal((n, m)) + rng.integers(2) * rng.standard_normal((n, 1)))
    turn = riemtr.Rotations(n).random_point(rng)
    shift = rng.uniform(1.0, 3.0, size=n)
    target = turn @ source + shift[:, None]
    target += rng.choice([0.0, 0.01, 0.1]) * rng.standard_normal((n, m))
    # Umeyama's solution; one more step would move it by rounding only.
    centre, aim = source.mean(axis=1), target.mean(axis=1)
    u, _, vt = np.linalg.svd((target - aim[:, None]) @ (source - centre[:, None]).T)
    u[:, -1] *= np.sign(np.linalg.det(u @ vt))
    turn = u @ vt
    shift = aim - turn @ centre

    def left(r: Any, t: Any) -> Any:
        return r @ source + t[:, None] - target

    away = away_from(shift)
    return Bowl(
        riemtr.Product([riemtr.Rotations(n), riemtr.Euclidean(n)]),
        peers.Product([peers.SpecialOrthogonalGroup(n), peers.Euclidean(n)]),
        lambda r, t: np.sum(left(r, t) ** 2),
        lambda r, t: [2.0 * left(r, t) @ source.T, 2.0 * np.sum(left(r, t), axis=1)],
        lambda r, t, dr, dt: [
            2.0 * (dr @ source + dt[:, None]) @ source.T,
            2.0 * np.sum(dr @ source + dt[:, None], axis=1),
        ],
        [riemtr.Rotations(n).random_point(rng), rng.standard_normal(n)],
        [turn, shift],
        lambda point: max(norm(point[0] - turn), away(point[1])),
    )


# -- positive definite matrices, matrices of fixed rank -----------------------------------------


def definite(rng: np.random.Generator, n: int, condition: float) -> Array:
    basis = orthogonal(rng, n)
    matrix = (basis * spectrum(rng, n, condition)) @ basis.T
    return 0.5 * (matrix + matrix.T)


def covariance(rng: np.random.Generator, condition: float) -> Bowl:
    """|X - S|^2 over positive definite matrices: along the metric it bends as squares of S."""
    n = int(rng.integers(2, 4))
    centre = definite(rng, n, np.sqrt(condition))
    start = definite(rng, n, 10.0)
    return Bowl(
        riemtr.PositiveDefinite(n),
        peers.SymmetricPositiveDefinite(n),
        lambda x: 0.5 * np.sum((x - centre) ** 2),
        lambda x: x - centre,
        lambda x, v: v,
        start,
        centre,
        away_from(centre),
    )


def determinant(x: Any) -> Any:
    if len(x) == 2:
        return x[0, 0] * x[1, 1] - x[0, 1] * x[1, 0]
    minors = [determinant(np.delete(x[1:], k, axis=1)) for k in range(3)]
    return x[0, 0] * minors[0] - x[0, 1] * minors[1] + x[0, 2] * minors[2]


def volume(rng: np.random.Generator, condition: float) -> Bowl:
    """trace(TX) - log det X, and a large weight on (log det TX)^2."""
    n = int(rng.integers(2, 4))
    inverse = definite(rng, n, 100.0)
    weight = condition / n
    log_size = apply("log", determinant(exact(inverse)))
    known = float(log_size)
    matrix = mpmath.matrix(exact(inverse)) ** -1
    minimizer = np.array(matrix.tolist(), dtype=object).astype(float)
    minimizer = 0.5 * (minimizer + minimizer.T)

    def logarithm(x: Any) -> Any:
        return apply("log", determinant(x)) + known

    def cost(x: Any) -> Any:
        size = logarithm(x)
        return weight * size * size + np.sum(inverse * x) - size

    def gradient(x: Array) -> Array:
        return (2.0 * weight * logarithm(x) - 1.0) * np.linalg.inv(x) + inverse

    def hessian(x: Array, v: Array) -> Array:
        other = np.linalg.inv(x)
        change = other @ v @ other
        factor = 2.0 * weight * logarithm(x) - 1.0
        return 2.0 * weight * np.sum(other * v) * other - factor * change

    return Bowl(
        riemtr.PositiveDefinite(n),
        peers.SymmetricPositiveDefinite(n),
        cost,
        gradient,
        hessian,
        definite(rng, n, 10.0),
        minimizer,
        away_from(minimizer),
    )


def low_rank(rng: np.random.Generator, condition: float) -> Bowl:
    """|A (X - M) B|^2 over matrices of the rank of M, or |W * (X - M)|^2 from nearby."""
    m, n = (int(size) for size in rng.integers(3, 7, size=2))
    rank = int(rng.integers(1, min(m, n)))
    condition = min(condition, 1e8)
    u, v = orthogonal(rng, m)[:, :rank], orthogonal(rng, n)[:, :rank]
    singular = np.sort(rng.uniform(1.0, 3.0, size=rank))[::-1]
    point = u.copy(), singular.copy(), v.T.copy()
    target = (u * singular) @ v.T
    manifold = riemtr.FixedRank(m, n, rank)
    if rng.random() < 0.5:
        share = condition**0.25
        a = (orthogonal(rng, m) * spectrum(rng, m, share)) @ orthogonal(rng, m)
        b = (orthogonal(rng, n) * spectrum(rng, n, share)) @ orthogonal(rng, n)
        weights, start = np.ones((m, n)), manifold.random_point(rng)
    else:
        a, b = np.eye(m), np.eye(n)
        weights = condition ** rng.uniform(-0.5, 0.0, size=(m, n))
        space = manifold.space(point)
        start = space.move(0.05 * space.random(rng))
    start = tuple(np.asarray(array) for array in start)

    def left(u: Any, s: Any, vt: Any) -> Any:
        return weights * (a @ ((u * s) @ vt - target) @ b)

    def gradient(u: Array, s: Array, vt: Array) -> Any:
        by_matrix = a.T @ (weights * left(u, s, vt)) @ b.T
        inside = np.diag(u.T @ by_matrix @ vt.T).copy()
        return (by_matrix @ (vt.T * s), inside, (u * s).T @ by_matrix)

    def away(point: Any) -> float:
        u, s, vt = point
        return norm((u * s) @ vt - target) / norm(target)

    return Bowl(
        manifold,
        None,
        lambda u, s, vt: 0.5 * np.sum(left(u, s, vt) ** 2),
        gradient,
        None,
        start,
        point,
        away,
    )


# -- products -----------------------------------------------------------------------------------

# Bowls of one array each, to be put side by side.
FACTORS: tuple[Callable[[np.random.Generator, float], Bowl], ...] = (
    quadratic,
    shaped,
    gaps_on_sphere,
    columns,
    procrustes,
    covariance,
    brockett,
    subspace,
)
# Factors that have units: a point of another length is a point of the same manifold.
WITH_UNITS = (quadratic, shaped, covariance)


def in_units(bowl: Bowl, unit: float) -> Bowl:
    """Measure the point of a bowl in another unit."""
    hessian, distance = bowl.hessian, bowl.distance
    assert hessian is not None
    return Bowl(
        bowl.manifold,
        bowl.peer,
        lambda x: bowl.cost(x / unit),
        lambda x: bowl.gradient(x / unit) / unit,
        lambda x, v: hessian(x / unit, v / unit) / unit,
        bowl.start * unit,
        bowl.minimizer * unit,
        lambda x: bowl.away(x / unit),
        least=bowl.least,
        distance=None if distance is None else lambda x: unit * distance(x / unit),
    )


def product_hessian(bowl: Bowl, x: Array, v: Array) -> Array:
    """Return a Hessian product; a bowl of rotations without one is a linear least square."""
    if bowl.hessian is not None:
        return bowl.hessian(x, v)
    return bowl.gradient(x + v) - bowl.gradient(x)


def side_by_side(rng: np.random.Generator, condition: float) -> Bowl:
    """Two or three bowls on a product, those that have units in units of 1e-9 to 1e9."""
    count = int(rng.integers(2, 4))
    kinds = [WITH_UNITS[int(rng.integers(len(WITH_UNITS)))]]
    kinds += [FACTORS[int(k)] for k in rng.integers(len(FACTORS), size=count - 1)]
    parts = []
    for kind in kinds:
        bowl = kind(rng, min(condition, 1e4))
        unit = 10.0 ** rng.uniform(-9.0, 9.0)
        parts.append(in_units(bowl, unit) if kind in WITH_UNITS else bowl)
    weights = 10.0 ** rng.uniform(-2.0, 2.0, size=count)
    pairs = list(zip(parts, weights, strict=True))
    return Bowl(
        riemtr.Product([part.manifold for part in parts]),
        peers.Product([part.peer for part in parts]),
        lambda *x: sum(w * part.cost(a) for (part, w), a in zip(pairs, x, strict=True)),
        lambda *x: [w * part.gradient(a) for (part, w), a in zip(pairs, x, strict=True)],
        lambda *x: [
            w * product_hessian(part, a, v)
            for (part, w), a, v in zip(pairs, x[:count], x[count:], strict=True)
        ],
        [part.start for part in parts],
        [part.minimizer for part in parts],
        lambda point: max(part.away(a) for part, a in zip(parts, point, strict=True)),
    )


# In turn; products come more often.
KINDS: tuple[Callable[[np.random.Generator, float], Bowl], ...] = (
    quadratic,
    pose,
    side_by_side,
    penalty,
    valley,
    two_units,
    gaps_on_sphere,
    least_squares,
    side_by_side,
    procrustes,
    covariance,
    shaped,
    two_units,
    brockett,
    columns,
    volume,
    side_by_side,
    subspace,
    low_rank,
    pose,
)


def smooth(case: int) -> Trial:
    """Return an ill-conditioned smooth cost: runs of every solver, and points on the way."""
    rng = np.random.default_rng([41, case])
    build = KINDS[case % len(KINDS)]
    condition = 10.0 ** rng.uniform(4.0, 12.0)
    bowl = build(rng, condition)
    factor = 10.0 ** rng.uniform(-4.0, 4.0)
    return bowl_trial(f"{build.__name__} (condition {condition:.0e})", bowl, factor)


def bowl_trial(kind: str, bowl: Bowl, factor: float) -> Trial:
    """Return the trial of a bowl, its cost multiplied by a factor."""
    several = isinstance(bowl.minimizer, list)

    def times(values: Any) -> Any:
        if isinstance(values, (list, tuple)):
            return type(values)(factor * value for value in values)
        return factor * values

    def hessian(*x: Any) -> Any:
        if bowl.hessian is not None:
            return times(bowl.hessian(*x))
        return times(product_hessian(bowl, *x))

    def cost(*x: Any) -> Any:
        return factor * bowl.cost(*x)

    def gradient(*x: Any) -> Any:
        return times(bowl.gradient(*x))

    is_matrix_of_rank = isinstance(bowl.minimizer, tuple)
    given = {} if is_matrix_of_rank else {"euclidean_hessian": hessian}
    problem = riemtr.Problem(
        bowl.manifold, lambda *x: float(cost(*x)), euclidean_gradient=gradient, **given
    )
    least = bowl.least
    if least is None:
        least = bowl.cost(*(exact(a) for a in arrays(bowl.minimizer)))
    truth = Truth(cost, bowl.away, factor * least, distance=bowl.distance)
    solvers = ["PracticalTRM", "ARC", "LBFGS", *(["ExactTRM"] if bowl.small else [])]
    peer = None if bowl.peer is None else Peer(bowl.peer, cost, gradient, hessian)
    return Trial(
        kind.split(" (")[0],
        problem,
        [Spot(bowl.minimizer, True, sound=True)],
        truth,
        bowl.start,
        solvers,
        expected=True,
        on_the_way=True,
        peer=None if several and bowl.peer is None else peer,
    )
