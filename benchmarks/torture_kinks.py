"""Kinks, seams and cusps: costs that are not smooth where it matters, with known truth.

Points: at a kink, a seam or a cusp, of which some are minimizers and some are not; runs: to
minimizers that lie at one. Kinks upwards, downwards and to both sides, the norm, maxima and minima
of smooth costs, costs whose second derivative jumps along a hyperplane, powers below the second.
Derivatives come from autograd, or are those of a formula on one side. Whatever falls here falls by
far more than rounding, to points much farther than 1e-4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath
import numpy as np
from pymanopt import manifolds as peers

import riemtr
from benchmarks.torture_cases import Array, orthogonal
from benchmarks.torture_smooth import away_from, norm
from benchmarks.torture_trials import Peer, Spot, Trial, Truth, exact

# -- points -------------------------------------------------------------------------------------


class Place(NamedTuple):
    """A cost of coordinates around 0 with derivatives, and whether 0 is a minimizer."""

    cost: Callable[[Array], Any]
    gradient: Callable[[Array], Array]
    hessian: Callable[[Array, Array], Array]
    minimizer: bool


def bends(rng: np.random.Generator, n: int) -> Array:
    return rng.uniform(0.3, 3.0, size=n)


def unit(rng: np.random.Generator, n: int) -> Array:
    vector = rng.standard_normal(n)
    return vector / norm(vector)


def kink(rng: np.random.Generator, n: int) -> Place:
    """A bowl with s |a'x|, up or down."""
    d, a = bends(rng, n), unit(rng, n)
    s = rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-2.0, 0.5)
    return Place(
        lambda x: 0.5 * np.sum(d * x * x) + s * abs(a @ x),
        lambda x: d * x + s * np.sign(a @ x) * a,
        lambda x, v: d * v,
        s > 0.0,
    )


def one_sided(rng: np.random.Generator, n: int) -> Place:
    """A bowl with min(0, -s a'x), or with max(0, s a'x): the slope is zero to one side only."""
    d, a = bends(rng, n), unit(rng, n)
    s = rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-2.0, 0.5)
    return Place(
        lambda x: 0.5 * np.sum(d * x * x) + s * np.maximum(a @ x, 0.0),
        lambda x: d * x + s * (a @ x > 0.0) * a,
        lambda x, v: d * v,
        s > 0.0,
    )


def saddle_on_kink(rng: np.random.Generator, n: int) -> Place:
    """|a'x| and a form across it that falls, in one direction at least."""
    n = max(n, 2)
    basis, d = orthogonal(rng, n), bends(rng, n)
    d[1] *= -1.0
    s = 10.0 ** rng.uniform(-1.0, 1.0)
    return Place(
        lambda x: s * abs(basis[:, 0] @ x) + 0.5 * np.sum(d * (x @ basis) ** 2),
        lambda x: s * np.sign(basis[:, 0] @ x) * basis[:, 0] + basis @ (d * (x @ basis)),
        lambda x, v: basis @ (d * (v @ basis)),
        False,
    )


def seam(rng: np.random.Generator, n: int) -> Place:
    """A form whose curvature along a changes at a'x = 0; the slope is continuous."""
    d, a = np.full(n, rng.uniform(0.5, 2.0)), unit(rng, n)
    c = d[0] * rng.choice([-2.0, -1.3, -1.05, -0.5, 1.0, 10.0])
    return Place(
        lambda x: 0.5 * np.sum(d * x * x) + 0.5 * c * np.maximum(a @ x, 0.0) ** 2,
        lambda x: d * x + c * np.maximum(a @ x, 0.0) * a,
        lambda x, v: d * v + c * (a @ x > 0.0) * (a @ v) * a,
        c > -d[0],
    )


def maximum_on_seam(rng: np.random.Generator, n: int) -> Place:
    """A local maximum: x'x/2 - c (max(z, 0)^2 + max(-z, 0)^2), where derivatives forget c."""
    basis = orthogonal(rng, n)
    c = rng.uniform(1.2, 5.0, size=n)
    return Place(
        lambda x: 0.5 * np.sum(x * x) - 0.5 * np.sum(c * (x @ basis) ** 2),
        lambda x: x - basis @ (c * (x @ basis)),
        lambda x, v: v - basis @ (c * (x @ basis != 0.0) * (v @ basis)),
        False,
    )


def cone(rng: np.random.Generator, n: int) -> Place:
    """A bowl that falls within a wide cone around one direction: x'Dx/2 - c (a'x - w|x|)_+^2.

    In many dimensions, or if the cone were narrow, lines through the tip would seldom meet it.
    """
    n = min(n, 2)
    d, a = np.full(n, 1.0), unit(rng, n)
    width = rng.uniform(0.0, 0.3) if n > 1 else 0.0
    c = rng.uniform(1.5, 5.0) / (1.0 - width) ** 2

    def part(x: Array) -> Any:
        return np.maximum(a @ x - width * np.sqrt(np.sum(x * x)), 0.0)

    def gradient(x: Array) -> Array:
        size = max(norm(x), 1e-300)
        return d * x - c * part(x) * (a - width * x / size)

    return Place(
        lambda x: 0.5 * np.sum(d * x * x) - 0.5 * c * part(x) ** 2,
        gradient,
        lambda x, v: d * v,
        False,
    )


def cusp(rng: np.random.Generator, n: int) -> Place:
    """A bowl with h |a'x|^p, p from 0.3 to 1.9, upwards or downwards."""
    d, a = bends(rng, n), unit(rng, n)
    power = rng.uniform(0.3, 1.9)
    # For a power near 2 the fall is to be seen far enough from the point.
    h = rng.choice([-1.0, 1.0]) * (10.0 ** rng.uniform(-1.0, 0.0) if power < 1.3 else 2.0)

    def gradient(x: Array) -> Array:
        t = a @ x
        slope = 0.0 if t == 0.0 else h * power * np.sign(t) * abs(t) ** (power - 1.0)
        return d * x + slope * a

    return Place(
        lambda x: 0.5 * np.sum(d * x * x) + h * np.abs(a @ x) ** power,
        gradient,
        lambda x, v: d * v,
        h > 0.0,
    )


def two_bowls(rng: np.random.Generator, n: int) -> Place:
    """The smaller of two bowls that meet at the bottom of one, where the other falls."""
    d, a = bends(rng, n), unit(rng, n)
    away = 10.0 ** rng.uniform(-3.0, 0.0) * a

    def other(x: Array) -> Any:
        return 0.5 * np.sum((x - away) ** 2) - 0.5 * np.sum(away * away)

    def first(x: Array) -> bool:
        return bool(0.5 * np.sum(d * x * x) <= other(x))

    return Place(
        lambda x: np.minimum(0.5 * np.sum(d * x * x), other(x)),
        lambda x: d * x if first(x) else x - away,
        lambda x, v: d * v if first(x) else v,
        False,
    )


def tip(rng: np.random.Generator, n: int) -> Place:
    """s |x|, or |x|_1, or the largest entry in magnitude, and a form that bends either way."""
    d = bends(rng, n) * rng.choice([-1.0, 1.0], size=n)
    s = rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-1.0, 1.0)
    kind = int(rng.integers(3))

    def size(x: Array) -> Any:
        by_kind = (np.sqrt(np.sum(x * x)), np.sum(np.abs(x)), np.max(np.abs(x)))
        return by_kind[kind]

    def slope(x: Array) -> Array:
        if not np.any(x):
            return np.zeros_like(x)
        if kind == 0:
            return x / norm(x)
        largest = np.abs(x) == np.max(np.abs(x))
        return np.sign(x) * (1.0 if kind == 1 else largest / largest.sum())

    return Place(
        lambda x: s * size(x) + 0.5 * np.sum(d * x * x),
        lambda x: s * slope(x) + d * x,
        lambda x, v: d * v,
        s > 0.0,
    )


def difference(rng: np.random.Generator, n: int) -> Place:
    """|b'x| - |a'x|, steep up in one direction, down in another, on a bowl."""
    n = max(n, 2)
    basis, d = orthogonal(rng, n), bends(rng, n)
    a, b = basis[:, 0], basis[:, 1]
    s, t = 10.0 ** rng.uniform(-2.0, 0.5, size=2)
    return Place(
        lambda x: 0.5 * np.sum(d * x * x) + t * abs(b @ x) - s * abs(a @ x),
        lambda x: d * x + t * np.sign(b @ x) * b - s * np.sign(a @ x) * a,
        lambda x, v: d * v,
        False,
    )


PLACES = (
    kink,
    one_sided,
    saddle_on_kink,
    seam,
    maximum_on_seam,
    cone,
    cusp,
    two_bowls,
    tip,
    difference,
)


def at_place(case: int, rng: np.random.Generator) -> Trial:
    """Certify the place itself, in Euclidean space or on a sphere."""
    build = PLACES[case // 2 % len(PLACES)]
    n = int(rng.integers(1, 7))
    place = build(rng, n)
    n = max(n, 2) if build in (saddle_on_kink, difference) else min(n, 2) if build is cone else n
    factor = 10.0 ** rng.uniform(-6.0, 6.0)
    if rng.random() < 0.3:
        # The last coordinate of a sphere stays out of it: near the pole the others are free.
        manifold: Any = riemtr.Sphere(n + 1)
        centre = np.zeros(n + 1)
        centre[n] = 1.0
        frame = np.eye(n + 1)[:, :n]
    else:
        manifold = riemtr.Euclidean(n)
        centre = rng.standard_normal(n) * (rng.random() < 0.5)
        frame = np.eye(n)
    # Beside numbers of size 1 the coordinates at the centre are exactly zero.
    hessian = None if rng.random() < 0.3 else place.hessian

    def inside(x: Array) -> Array:
        return frame.T @ (x - centre)

    given: dict[str, Any] = {}
    if hessian is not None:
        given["euclidean_hessian"] = lambda x, v: factor * (frame @ hessian(inside(x), frame.T @ v))
    problem = riemtr.Problem(
        manifold,
        lambda x: float(factor * place.cost(inside(x))),
        euclidean_gradient=lambda x: factor * (frame @ place.gradient(inside(x))),
        **given,
    )
    return Trial(
        f"point, {build.__name__}", problem, [Spot(centre, place.minimizer, strict=place.minimizer)]
    )


# -- runs ---------------------------------------------------------------------------------------


class Course(NamedTuple):
    """A cost to run on, of one minimizer: its least value, and its derivatives."""

    cost: Callable[[Any], Any]
    gradient: Callable[[Array], Array]
    hessian: Callable[[Array, Array], Array]
    minimizer: Array
    least: Any


def magnitude(x: Any) -> Any:
    return np.abs(x)


def valley_with_kink(rng: np.random.Generator) -> Course:
    """max(a x, -b x) + y^2, turned."""
    n = int(rng.integers(2, 6))
    basis, centre, d = orthogonal(rng, n), rng.standard_normal(n), bends(rng, n)
    a, b = rng.uniform(0.5, 3.0, size=2)

    def inside(x: Any) -> Any:
        return (x - centre) @ basis

    def cost(x: Any) -> Any:
        z = inside(x)
        return max(a * z[0], -b * z[0]) + np.sum(d[1:] * z[1:] ** 2)

    def gradient(x: Array) -> Array:
        z = inside(x)
        slope = 2.0 * d * z
        slope[0] = a if z[0] > 0.0 else -b
        return basis @ slope

    flat = 2.0 * d
    flat[0] = 0.0
    return Course(
        cost,
        gradient,
        lambda x, v: basis @ (flat * (v @ basis)),
        centre,
        cost(exact(centre)),
    )


def lasso(rng: np.random.Generator) -> Course:
    """|x - b|^2/2 + l |x|_1, whose minimizer is b, shrunk."""
    n = int(rng.integers(2, 11))
    b, weight = rng.standard_normal(n), rng.uniform(0.1, 1.5)
    sure = exact(b)
    shrunk = np.array(
        [mpmath.sign(t) * max(abs(t) - mpmath.mpf(weight), mpmath.mpf(0)) for t in sure],
        dtype=object,
    )

    def cost(x: Any) -> Any:
        return 0.5 * np.sum((x - b) ** 2) + weight * np.sum(abs(x))

    return Course(
        cost,
        lambda x: x - b + weight * np.sign(x),
        lambda x, v: v,
        shrunk.astype(float),
        cost(shrunk),
    )


def distances(rng: np.random.Generator) -> Course:
    """Distances to other points, and more weight on the one to c: a tip at the minimizer c."""
    n, count = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    centre, others = rng.standard_normal(n), 3.0 * rng.standard_normal((count, n))
    weight = count + rng.uniform(0.2, 2.0)

    def lengths(x: Any) -> Any:
        squares = np.sum((others - x) ** 2, axis=1)
        if squares.dtype == object:
            return np.array([mpmath.sqrt(t) for t in squares], dtype=object)
        return np.sqrt(squares)

    def cost(x: Any) -> Any:
        square = np.sum((x - centre) ** 2)
        own = mpmath.sqrt(square) if isinstance(square, mpmath.mpf) else np.sqrt(square)
        return weight * own + np.sum(lengths(x))

    def parts(x: Array) -> list[tuple[float, Array]]:
        return [(weight, x - centre), *((1.0, x - other) for other in others)]

    def gradient(x: Array) -> Array:
        return sum(w * y / max(norm(y), 1e-300) for w, y in parts(x))

    def hessian(x: Array, v: Array) -> Array:
        total = np.zeros(n)
        for w, y in parts(x):
            size = max(norm(y), 1e-100)
            total += w * (v - y * ((y @ v) / size**2)) / size
        return total

    return Course(cost, gradient, hessian, centre, cost(exact(centre)))


def powers(rng: np.random.Generator) -> Course:
    """|z|^p, p from 1.1 to 1.9, in rotated variables: a slope, and no second derivative at 0."""
    n = int(rng.integers(1, 6))
    basis, centre, d = orthogonal(rng, n), rng.standard_normal(n), bends(rng, n)
    power = rng.uniform(1.1, 1.9)

    def cost(x: Any) -> Any:
        return np.sum(d * abs((x - centre) @ basis) ** power)

    def gradient(x: Array) -> Array:
        z = (x - centre) @ basis
        return basis @ (d * power * np.sign(z) * np.abs(z) ** (power - 1.0))

    def hessian(x: Array, v: Array) -> Array:
        z = np.maximum(np.abs((x - centre) @ basis), 1e-150)
        return basis @ (d * power * (power - 1.0) * z ** (power - 2.0) * (v @ basis))

    return Course(cost, gradient, hessian, centre, cost(exact(centre)))


def hinges(rng: np.random.Generator) -> Course:
    """Sums of max(0, a'z), squared or not, and a bowl: kinks or seams through the minimizer."""
    n = int(rng.integers(1, 6))
    rows, centre = rng.standard_normal((n + 1, n)), rng.standard_normal(n)
    squared, d = rng.random() < 0.3, 10.0 ** rng.uniform(-2.0, 0.0)
    # Opposed to the others, the last row holds the minimizer where it is.
    rows[-1] = -rows[:-1].sum(axis=0)

    def cost(x: Any) -> Any:
        z = x - centre
        above = np.maximum(rows @ z, 0.0)
        return 0.5 * d * np.sum(z * z) + np.sum(above * above if squared else above)

    def gradient(x: Array) -> Array:
        z = x - centre
        above = np.maximum(rows @ z, 0.0)
        return d * z + rows.T @ (2.0 * above if squared else (above > 0.0).astype(float))

    def hessian(x: Array, v: Array) -> Array:
        active = (rows @ (x - centre) > 0.0) * (2.0 if squared else 0.0)
        return d * v + rows.T @ (active * (rows @ v))

    return Course(cost, gradient, hessian, centre, cost(exact(centre)))


def largest(rng: np.random.Generator) -> Course:
    """The largest of |z|^2 d_k/2 + s_k'z with slopes that sum up to zero."""
    n = int(rng.integers(1, 5))
    slopes, centre = rng.standard_normal((n + 1, n)), rng.standard_normal(n)
    slopes[-1] = -slopes[:-1].sum(axis=0)
    d = bends(rng, n + 1)

    def values(x: Any) -> Any:
        z = x - centre
        return 0.5 * d * np.sum(z * z) + slopes @ z

    def gradient(x: Array) -> Array:
        k = int(np.argmax(values(x)))
        return d[k] * (x - centre) + slopes[k]

    return Course(
        lambda x: max(values(x)),
        gradient,
        lambda x, v: d[int(np.argmax(values(x)))] * v,
        centre,
        mpmath.mpf(0),
    )


COURSES = (valley_with_kink, lasso, distances, powers, hinges, largest)
# Lengths at which a lower cost is looked for beside the end of a run on a sphere, ascending.
LENGTHS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
# Directions that are tried at each of these lengths.
DIRECTIONS = 200


def falls_at_all_lengths(
    cost: Callable[[Array], float], x: Array, directions: Array, noise: float
) -> bool:
    """Whether unit vectors at every one of the lengths have a clearly lower cost."""
    here = cost(x)
    for length in LENGTHS:
        others = (x + length * direction for direction in directions)
        if not any(cost(y / norm(y)) < here - noise for y in others):
            return False
    return True


class BySearch(Truth):
    """Truth about points of a sphere by a search: no minimizer has lower costs at all lengths.

    Parameters
    ----------
    cost, gradient : callables
    scale : float
        The magnitude of the terms of the cost.
    """

    def __init__(self, cost: Callable[..., Any], gradient: Callable[[Array], Array], scale: float):
        super().__init__(cost, lambda x: float("nan"), mpmath.mpf(0))
        self.gradient, self.scale = gradient, scale

    def near(self, point: Any) -> bool:
        rng = np.random.default_rng(0)
        n = len(point)
        random = rng.standard_normal((DIRECTIONS, n))
        # Directions that leave zeros at zero stay on the kinks.
        sparse = random * (np.abs(point) > 1e-3)
        slope = self.gradient(point)
        directions = np.concatenate([np.eye(n), -np.eye(n), random, sparse, [-slope]])
        directions -= np.outer(directions @ point, point)
        sizes = np.linalg.norm(directions, axis=1)
        directions = directions[sizes > 1e-8] / sizes[sizes > 1e-8, None]
        noise = 1e-14 * max(abs(float(self.cost(point))), self.scale)
        return not falls_at_all_lengths(lambda x: float(self.cost(x)), point, directions, noise)


def sparse_form(rng: np.random.Generator) -> Trial:
    """x'Ax + w |x|_1 on a sphere."""
    n = int(rng.integers(3, 21))
    matrix = rng.standard_normal((n, n))
    matrix, weight = matrix + matrix.T, rng.uniform(0.5, 3.0)

    def cost(x: Any) -> Any:
        return np.sum(x * (matrix @ x)) + weight * np.sum(abs(x))

    def gradient(x: Array) -> Array:
        return 2.0 * (matrix @ x) + weight * np.sign(x)

    truth = BySearch(cost, gradient, weight)
    problem = riemtr.Problem(
        riemtr.Sphere(n),
        lambda x: float(cost(x)),
        euclidean_gradient=gradient,
        euclidean_hessian=lambda x, v: 2.0 * (matrix @ v),
    )
    start = unit(rng, n)
    peer = Peer(peers.Sphere(n), cost, gradient, lambda x, v: 2.0 * (matrix @ v))
    return Trial("run, sparse_form", problem, (), truth, start, RUNNERS, peer=peer)


RUNNERS = ("PracticalTRM", "ARC", "LBFGS")


def on_course(case: int, rng: np.random.Generator) -> Trial:
    """Run to a minimizer at a kink, by one solver after the other; certify points on the way."""
    number = case // 2 % (len(COURSES) + 1)
    if number == len(COURSES):
        return sparse_form(rng)
    build = COURSES[number]
    course = build(rng)
    n = len(course.minimizer)
    factor = 10.0 ** rng.uniform(-6.0, 6.0)

    def cost(x: Any) -> Any:
        return factor * course.cost(x)

    def gradient(x: Array) -> Array:
        return factor * course.gradient(x)

    def hessian(x: Array, v: Array) -> Array:
        return factor * course.hessian(x, v)

    truth = Truth(cost, away_from(course.minimizer), factor * course.least)
    problem = riemtr.Problem(
        riemtr.Euclidean(n),
        lambda x: float(cost(x)),
        euclidean_gradient=gradient,
        euclidean_hessian=hessian,
    )
    start = course.minimizer + rng.standard_normal(n)
    return Trial(
        f"run, {build.__name__}",
        problem,
        (),
        truth,
        start,
        RUNNERS,
        on_the_way=True,
        peer=Peer(peers.Euclidean(n), cost, gradient, hessian),
    )


def kinks(case: int) -> Trial:
    """Return a point at a kink, a seam or a cusp, or runs to one."""
    rng = np.random.default_rng([42, case])
    return on_course(case, rng) if case % 2 else at_place(case, rng)
