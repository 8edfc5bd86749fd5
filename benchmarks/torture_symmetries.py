"""Named symmetries, right and false; costs that have no minimum.

Right symmetries: turns of frames, of phases and of distances between points, some of them named
twice or with vectors that are not orthogonal. The smallest eigenvalue across them is known. False
ones: a direction along which the cost bends down, or falls with a slope near the tolerance.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath
import numpy as np
from pymanopt import manifolds as peers

import riemtr
from benchmarks.torture_cases import Array, orthogonal, rotated
from benchmarks.torture_smooth import norm
from benchmarks.torture_trials import Peer, Spot, Trial, Truth, apply
from benchmarks.torture_variants import turns

# -- right symmetries ---------------------------------------------------------------------------


def mixed(rng: np.random.Generator, vectors: list[Array]) -> list[Array]:
    """Return vectors of the same span that are neither orthogonal nor of one length, perhaps more.

    One time in three they are returned as they are.
    """
    kind = int(rng.integers(3))
    if kind == 0:
        return vectors
    count = len(vectors) + (kind == 2)
    shares = rng.standard_normal((count, len(vectors))) * 10.0 ** rng.uniform(-2, 2, (count, 1))
    return [sum(s * v for s, v in zip(row, vectors, strict=True)) for row in shares]


def named(
    kind: str, problem: riemtr.Problem, point: Any, across: float, size: float, sound: bool = True
) -> Trial:
    """Return the trial of a minimizer whose smallest eigenvalue across its symmetries is known."""
    strict = across > 0.0
    spot = Spot(point, True, sound, strict, curvature=across, size=size, stated=True)
    return Trial(kind, problem, [spot])


def frames(rng: np.random.Generator) -> Trial:
    """trace(X'AX) on a Stiefel manifold, the turns of the columns named."""
    n = int(rng.integers(3, 8))
    p = int(rng.integers(2, min(n, 5)))
    spectrum, basis = np.sort(rng.permutation(12)[:n].astype(float)), orthogonal(rng, n)
    matrix = rotated(basis, spectrum)
    shares = int(rng.integers(2**31))

    def symmetries(x: Array) -> list[Array]:
        return mixed(np.random.default_rng(shares), list(turns(x, p)))

    problem = riemtr.Problem(
        riemtr.Stiefel(n, p),
        lambda x: float(np.sum(x * (matrix @ x))),
        euclidean_gradient=lambda x: 2.0 * (matrix @ x),
        euclidean_hessian=lambda x, v: 2.0 * (matrix @ v),
        symmetries=symmetries,
    )
    across = 2.0 * (spectrum[p] - spectrum[p - 1])
    size = 2.0 * (spectrum[-1] - spectrum[0])
    return named("right, frames", problem, basis[:, :p] @ orthogonal(rng, p), across, size)


class QuadraticForm:
    """x'Ax/2 of all entries of a point in a row, with its matrix."""

    def __init__(self, matrix: Array):
        self.matrix = matrix

    def at(self, point: Array) -> FormAt:
        return FormAt(self.matrix, point)


class FormAt:
    """A quadratic form at one point."""

    def __init__(self, matrix: Array, point: Array):
        self.matrix, self.gradient = matrix, (matrix @ point.ravel()).reshape(point.shape)
        self.value = 0.5 * float(np.sum(point * self.gradient))

    def hessian(self, vector: Array) -> Array:
        return (self.matrix @ vector.ravel()).reshape(vector.shape)

    def hessian_matrix(self) -> Array:
        return self.matrix


def phases(rng: np.random.Generator) -> Trial:
    """Phase synchronisation without noise on a weighted graph; all phases turn together."""
    n = int(rng.integers(3, 10))
    weights = np.triu(rng.integers(0, 4, size=(n, n)).astype(float), 1)
    weights[np.arange(n - 1), np.arange(1, n)] += 1.0  # which connects them
    if rng.random() < 0.5:
        weights = np.triu(np.ones((n, n)), 1)
    weights = weights + weights.T
    truth = np.exp(2j * np.pi * rng.random(n))
    matrix = weights * np.outer(truth, np.conj(truth))
    scale = rng.choice([1.0, 1.0 / n, 10.0 ** rng.uniform(-3.0, 3.0)])
    factor = rng.choice([1.0, 1e-3, 7.0])
    point = truth * np.exp(2j * np.pi * rng.random())
    if rng.random() < 0.5:
        problem = riemtr.Problem(
            peers.ComplexCircle(n),
            lambda z: -0.5 * scale * float(np.vdot(z, matrix @ z).real),
            euclidean_gradient=lambda z: -scale * (matrix @ z),
            euclidean_hessian=lambda z, v: -scale * (matrix @ v),
            symmetries=lambda z: [factor * 1j * z],
        )
    else:  # the same with pairs of real numbers
        turn = np.array([[0.0, -1.0], [1.0, 0.0]])

        def product(x: Array) -> Array:
            z = matrix @ (x[0] + 1j * x[1])
            return -scale * np.array([z.real, z.imag])

        form = np.array([product(v).ravel() for v in np.eye(2 * n).reshape(-1, 2, n)])
        problem = riemtr.Problem(
            riemtr.Oblique(2, n), QuadraticForm(form), symmetries=lambda x: [factor * (turn @ x)]
        )
        point = np.array([point.real, point.imag])
    values = np.linalg.eigvalsh(np.diag(weights.sum(axis=1)) - weights) * scale
    return named("right, phases", problem, point, float(values[1]), float(values[-1]))


def constellation(rng: np.random.Generator) -> Trial:
    """Squared distances between all points of a cloud, which may be shifted and turned."""
    n, d = int(rng.integers(4, 8)), int(rng.integers(2, 4))
    goal = rng.standard_normal((n, d))
    pairs = list(itertools.combinations(range(n), 2))
    incidence = np.zeros((len(pairs), n))
    for row, (i, j) in enumerate(pairs):
        incidence[row, i], incidence[row, j] = 1.0, -1.0
    lengths = np.sum((incidence @ goal) ** 2, axis=1)

    def left(x: Array) -> Array:
        return np.sum((incidence @ x) ** 2, axis=1) - lengths

    def gradient(x: Array) -> Array:
        return incidence.T @ (left(x)[:, None] * (incidence @ x))

    def hessian(x: Array, v: Array) -> Array:
        apart, change = incidence @ x, incidence @ v
        along = 2.0 * np.sum(apart * change, axis=1)
        return incidence.T @ (along[:, None] * apart + left(x)[:, None] * change)

    shares = int(rng.integers(2**31))

    def symmetries(x: Array) -> list[Array]:
        shifts = [np.outer(np.ones(n), np.eye(d)[k]) for k in range(d)]
        return mixed(np.random.default_rng(shares), shifts + list(turns(x, d)))

    problem = riemtr.Problem(
        riemtr.Euclidean(n, d),
        lambda x: 0.25 * float(np.sum(left(x) ** 2)),
        euclidean_gradient=gradient,
        euclidean_hessian=hessian,
        symmetries=symmetries,
    )
    units = np.eye(n * d).reshape(-1, n, d)
    matrix = np.array([hessian(goal, v).ravel() for v in units])
    values = np.linalg.eigvalsh(matrix)
    flat = d + d * (d - 1) // 2
    across = float(values[flat])
    # Where the cloud is nearly flat further directions are, and the point is no test.
    sound = across > 1e-4 * float(values[-1])
    point = goal @ orthogonal(rng, d) + rng.standard_normal(d)
    return named("right, constellation", problem, point, across, float(values[-1]), sound)


# -- false symmetries ---------------------------------------------------------------------------


class Form(NamedTuple):
    """A quadratic form at a critical point: its problem made from a slope, and its directions."""

    kind: str
    problem: Callable[[Array, Callable[[Any], Any]], riemtr.Problem]
    point: Array
    directions: Array


def in_space(rng: np.random.Generator, values: Array, factor: float) -> Form:
    """A quadratic form of given curvatures on Euclidean space."""
    n = len(values)
    basis = orthogonal(rng, n)
    matrix = rotated(basis, factor * values)
    centre = rng.standard_normal(n)

    def problem(slope: Array, symmetries: Callable[[Any], Any]) -> riemtr.Problem:
        tilt = factor * (basis @ slope)
        return riemtr.Problem(
            riemtr.Euclidean(n),
            lambda x: float(0.5 * (x - centre) @ matrix @ (x - centre) + tilt @ (x - centre)),
            euclidean_gradient=lambda x: matrix @ (x - centre) + tilt,
            euclidean_hessian=lambda x, v: matrix @ v,
            symmetries=symmetries,
        )

    return Form("in space", problem, centre, basis)


def on_sphere(rng: np.random.Generator, values: Array, factor: float) -> Form:
    """A quadratic form of given curvatures on a sphere."""
    n = len(values) + 1
    basis = orthogonal(rng, n)
    spectrum = factor * np.concatenate([[0.0], values])
    matrix = rotated(basis, spectrum)
    point = basis[:, 0].copy()

    def problem(slope: Array, symmetries: Callable[[Any], Any]) -> riemtr.Problem:
        tilt = factor * (basis[:, 1:] @ slope)
        return riemtr.Problem(
            riemtr.Sphere(n),
            lambda x: float(0.5 * x @ matrix @ x + tilt @ x),
            euclidean_gradient=lambda x: matrix @ x + tilt,
            euclidean_hessian=lambda x, v: matrix @ v,
            symmetries=symmetries,
        )

    return Form("on a sphere", problem, point, basis[:, 1:])


def false_symmetry(case: int, rng: np.random.Generator) -> Trial:
    """Name a direction that is no symmetry, with a slope of up to the tolerance."""
    n = int(rng.integers(2, 8))
    values = rng.uniform(0.2, 1.0, size=n)
    values[0] = 1.0
    slope = np.zeros(n)
    kind = ("falls", "falls little", "slope along it", "falls, among right ones")[case % 4]
    length = 10.0 ** rng.uniform(-7.7 if kind == "falls little" else -9.0, -7.0)
    across = rng.standard_normal(n)
    across[-1] = 0.0
    across *= length / max(norm(across), 1e-300)
    if kind == "slope along it":
        # Flat to second order; a slope within the tolerance leads down for ever.
        values[-1] = 0.0
        slope[-1] = 10.0 ** rng.uniform(-9.0, -7.1)
    else:
        least, most = (-5.8, -4.8) if kind == "falls little" else (-4.0, 0.0)
        values[-1] = -(10.0 ** rng.uniform(least, most))
        # A slope across the direction, or partly along it, of up to the default tolerance.
        slope = across if rng.random() < 0.7 else across + length * 0.3 * np.eye(n)[-1]
    right = 0
    if kind == "falls, among right ones" and n > 2:
        right = 1
        values[1] = 0.0
        slope = slope * (np.arange(n) != 1)
    factor = 10.0 ** rng.uniform(-4.0, 4.0)
    build = on_sphere if case % 8 >= 4 and kind != "slope along it" and not right else in_space
    form = build(rng, values, factor)
    down = form.directions[:, -1]
    others = [form.directions[:, 1]] if right else []
    tilted = down + 10.0 ** rng.uniform(-12.0, -8.0) * rng.standard_normal(len(down))

    def symmetries(x: Array) -> list[Array]:
        vectors = [*others, tilted]
        if build is on_sphere:
            vectors = [v - (x @ v) * x for v in vectors]
        return vectors

    problem = form.problem(slope, symmetries)
    return Trial(f"false, {kind}, {form.kind}", problem, [Spot(form.point, False)])


def symmetries(case: int) -> Trial:
    """Return a point with named symmetries: one in four right, the others false."""
    rng = np.random.default_rng([45, case])
    if case % 4 == 0:
        return (frames, phases, constellation)[case // 4 % 3](rng)
    return false_symmetry(case // 4 * 3 + case % 4 - 1, rng)


# -- no minimum ---------------------------------------------------------------------------------


class Slide(NamedTuple):
    """A function of one variable without a minimum: value, slope, bend, infimum."""

    value: Callable[[Any], Any]
    slope: Callable[[Any], Any]
    bend: Callable[[Any], Any]
    infimum: float


SLIDES = {
    "exp(-t)": Slide(lambda t: apply("exp", -t), lambda t: -np.exp(-t), lambda t: np.exp(-t), 0.0),
    "log(1 + exp(-t))": Slide(
        lambda t: apply("log", 1.0 + apply("exp", -t)),
        lambda t: -1.0 / (1.0 + np.exp(t)),
        lambda t: 1.0 / (2.0 + np.exp(t) + np.exp(-t)),
        0.0,
    ),
    "1/(1 + t^2)": Slide(
        lambda t: 1.0 / (1.0 + t * t),
        lambda t: -2.0 * t / (1.0 + t * t) ** 2,
        lambda t: (6.0 * t * t - 2.0) / (1.0 + t * t) ** 3,
        0.0,
    ),
    "-atan(t)": Slide(
        lambda t: -apply("atan" if np.asarray(t).dtype == object else "arctan", t),
        lambda t: -1.0 / (1.0 + t * t),
        lambda t: 2.0 * t / (1.0 + t * t) ** 2,
        -np.pi / 2.0,
    ),
    "sqrt(1 + t^2) - t": Slide(
        lambda t: apply("sqrt", 1.0 + t * t) - t,
        lambda t: t / np.sqrt(1.0 + t * t) - 1.0,
        lambda t: (1.0 + t * t) ** -1.5,
        0.0,
    ),
    "-log(1 + t^2)": Slide(
        lambda t: -apply("log", 1.0 + t * t),
        lambda t: -2.0 * t / (1.0 + t * t),
        lambda t: 2.0 * (t * t - 1.0) / (1.0 + t * t) ** 2,
        -np.inf,
    ),
    "-t": Slide(lambda t: -t, lambda t: -np.ones_like(t), lambda t: np.zeros_like(t), -np.inf),
    "t^3 + t": Slide(lambda t: t**3 + t, lambda t: 3.0 * t * t + 1.0, lambda t: 6.0 * t, -np.inf),
    "-t^4 + t^2": Slide(
        lambda t: t * t - t**4,
        lambda t: 2.0 * t - 4.0 * t**3,
        lambda t: 2.0 - 12.0 * t * t,
        -np.inf,
    ),
    "-t^2": Slide(lambda t: -t * t, lambda t: -2.0 * t, lambda t: -2.0 * np.ones_like(t), -np.inf),
}


def on_slide(case: int, rng: np.random.Generator) -> Trial:
    """A slide of one rotated variable, a bowl of the others, an offset or none."""
    name = list(SLIDES)[case % len(SLIDES)]
    slide = SLIDES[name]
    n = int(rng.integers(1, 6))
    basis, bends = orthogonal(rng, n), rng.uniform(0.5, 2.0, size=n - 1)
    scale, offset = 10.0 ** rng.uniform(-4.0, 4.0), rng.choice([0.0, 1.0])

    def inside(x: Any) -> tuple[Any, Any]:
        z = x @ basis
        return z[:1], z[1:]

    def cost(x: Any) -> Any:
        t, y = inside(x)
        return scale * (np.sum(slide.value(t)) + np.sum(0.5 * bends * y * y) + offset)

    def gradient(x: Array) -> Array:
        t, y = inside(x)
        return scale * (basis @ np.concatenate([slide.slope(t), bends * y]))

    def hessian(x: Array, v: Array) -> Array:
        t, _ = inside(x)
        dt, dy = inside(v)
        return scale * (basis @ np.concatenate([slide.bend(t) * dt, bends * dy]))

    infimum = -mpmath.inf if slide.infimum == -np.inf else scale * (slide.infimum + offset)
    if name == "-atan(t)":
        infimum = scale * (offset - mpmath.pi / 2)
    local = name == "-t^4 + t^2"

    def away(x: Array) -> float:
        # The bottom between two falls is a minimizer.
        return norm(x) if local else np.inf

    truth = Truth(cost, away, infimum)
    problem = riemtr.Problem(
        riemtr.Euclidean(n),
        lambda x: float(cost(x)),
        euclidean_gradient=gradient,
        euclidean_hessian=hessian,
    )
    z = rng.standard_normal(n)
    far = np.concatenate([[10.0 ** rng.uniform(0.0, 2.5)], np.zeros(n - 1)])
    spots = [Spot(basis @ z, None), Spot(basis @ far, None)]
    return Trial(
        name,
        problem,
        spots,
        truth,
        basis @ (z + rng.standard_normal(n)),
        ("PracticalTRM", "ARC", "LBFGS"),
        on_the_way=True,
        peer=Peer(peers.Euclidean(n), cost, gradient, hessian),
    )


def at_boundary(rng: np.random.Generator) -> Trial:
    """trace(SX), or its share of the determinant, over positive definite matrices."""
    n = int(rng.integers(1, 4))
    factor = rng.standard_normal((n, n)) + 2.0 * np.eye(n)
    matrix = factor @ factor.T
    scale = 10.0 ** rng.uniform(-4.0, 4.0)

    def cost(x: Any) -> Any:
        return scale * np.sum(matrix * x)

    def gradient(x: Array) -> Array:
        return scale * matrix

    def hessian(x: Array, v: Array) -> Array:
        return np.zeros_like(v)

    problem = riemtr.Problem(
        riemtr.PositiveDefinite(n),
        lambda x: float(cost(x)),
        euclidean_gradient=gradient,
        euclidean_hessian=hessian,
    )
    start = matrix + np.eye(n)
    return Trial(
        "trace, positive definite",
        problem,
        [Spot(start, False), Spot(1e-6 * start, False)],
        Truth(cost, lambda x: np.inf, mpmath.mpf(0)),
        start,
        ("PracticalTRM", "ARC", "LBFGS"),
        peer=Peer(peers.SymmetricPositiveDefinite(n), cost, gradient, hessian),
    )


def endless(case: int) -> Trial:
    """Return a cost without a minimum, or with an infimum that no point attains."""
    rng = np.random.default_rng([46, case])
    count = len(SLIDES) + 1
    if case % count == len(SLIDES):
        return at_boundary(rng)
    return on_slide(case % count, rng)
