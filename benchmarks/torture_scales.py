"""Lengths of 1e-12 to 1e12 with right and wrong derivatives; noise, single precision and chance.

Every cost is a sum of shapes of rotated variables over a length, of which one may fall. Where it
falls by no more than its error, nothing is claimed to be known: what is hidden here is larger.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
from pymanopt import manifolds as peers

import riemtr
from benchmarks.torture_cases import Array, orthogonal
from benchmarks.torture_smooth import SHAPES, away_from, norm
from benchmarks.torture_trials import Peer, Spot, Trial, Truth, apply, exact

# The shapes of the smooth family, and a wave, which bends by 1 at 0 and has other minimizers.
WAVES = (
    *SHAPES,
    (
        lambda t: 1.0 - apply("cos", t),
        lambda t: np.sin(t),
        lambda t: np.cos(t),
    ),
)


@dataclass(frozen=True)
class Landscape:
    """scale * sum d_k g(z_k), z = Q'(x - c) / L, with its derivatives."""

    bends: Array
    basis: Array
    centre: Array
    length: float
    scale: float
    shape: int

    def inside(self, x: Any) -> Any:
        return ((x - self.centre) / self.length) @ self.basis

    def cost(self, x: Any) -> Any:
        return self.scale * np.sum(self.bends * WAVES[self.shape][0](self.inside(x)))

    def gradient(self, x: Array) -> Array:
        slopes = self.bends * WAVES[self.shape][1](self.inside(x))
        return self.scale / self.length * (self.basis @ slopes)

    def hessian(self, x: Array, v: Array) -> Array:
        bends = self.bends * WAVES[self.shape][2](self.inside(x))
        return self.scale / self.length**2 * (self.basis @ (bends * (v @ self.basis)))

    @property
    def size(self) -> float:
        """The magnitude of the Hessian at the centre."""
        return float(self.scale / self.length**2 * np.max(np.abs(self.bends)))

    def truth(self, noise: float = 0.0) -> Truth:
        away = away_from(self.centre, 0.0 if np.any(self.centre) else self.length)
        return Truth(
            self.cost,
            away,
            self.cost(exact(self.centre)),
            noise=noise,
            distance=self.distance,
        )

    def distance(self, x: Array) -> float:
        """Return the distance to the minimizer; the wave has others, which are as low."""
        z = self.inside(x)
        if self.shape == len(SHAPES):
            z = z - 2.0 * np.pi * np.round(z / (2.0 * np.pi))
            return self.length * norm(z)
        return norm(x - self.centre)

    def start(self, rng: np.random.Generator) -> Array:
        """Return a point from which all shapes lead to the centre."""
        z = rng.uniform(-1.0, 1.0, size=len(self.centre))
        return self.centre + self.length * (self.basis @ z)

    @property
    def peer(self) -> Peer:
        space = peers.Euclidean(len(self.centre))
        return Peer(space, self.cost, self.gradient, self.hessian)


def landscape(
    rng: np.random.Generator, length: float, scale: float, falls: bool, large: bool = False
) -> Landscape:
    """Draw a landscape whose point is at its length, ten times farther, or at 0 itself."""
    n = int(rng.integers(30, 200) if large else rng.integers(2, 8))
    bends = rng.uniform(0.5, 2.0, size=n)
    if falls:
        bends[-1] *= -(10.0 ** rng.uniform(-2.0, 0.0))
    centre = length * rng.standard_normal(n) * rng.choice([0.0, 1.0, 10.0], p=[0.2, 0.4, 0.4])
    return Landscape(
        bends, orthogonal(rng, n), centre, length, scale, int(rng.integers(len(WAVES)))
    )


# -- lengths ------------------------------------------------------------------------------------


# What is handed over beside the cost.
GIVEN = (
    "right",
    "right, by differences",
    "right",
    "hidden fall",
    "wrong factor",
    "wrong entry",
    "wrong gradient",
    "fall, by differences",
)


def lengths(case: int) -> Trial:
    """Return a cost of some length, with right or wrong derivatives, at its critical point."""
    rng = np.random.default_rng([43, case])
    given = GIVEN[case % len(GIVEN)]
    length, scale = 10.0 ** rng.uniform(-12.0, 12.0), 10.0 ** rng.uniform(-3.0, 3.0)
    land = landscape(rng, length, scale, falls="fall" in given)
    n = len(land.centre)
    hessian: Callable[[Array, Array], Array] | None = land.hessian
    gradient = land.gradient
    cost: Callable[[Any], Any] = land.cost
    last = land.basis[:, -1]
    if "differences" in given:
        hessian = None
    elif given == "hidden fall":
        share = (1.0 + rng.uniform(0.5, 2.0)) * scale / length**2 * abs(land.bends[-1])

        def hessian(x: Array, v: Array) -> Array:
            return land.hessian(x, v) + share * (last @ v) * last

    elif given == "wrong factor":
        factor = rng.choice([0.3, 0.5, 2.0, 5.0])

        def hessian(x: Array, v: Array) -> Array:
            return factor * land.hessian(x, v)

    elif given == "wrong entry":
        along = land.basis @ rng.standard_normal(n)
        along /= norm(along)
        extra = rng.uniform(0.5, 3.0) * scale / length**2

        def hessian(x: Array, v: Array) -> Array:
            return land.hessian(x, v) + extra * (along @ v) * along

    elif given == "wrong gradient":
        # The cost has a term that its gradient lacks.
        tilt = scale / length * rng.uniform(0.1, 1.0) * last

        def cost(x: Any) -> Any:
            return land.cost(x) + np.sum(tilt * (x - land.centre))

    problem = riemtr.Problem(
        riemtr.Euclidean(n),
        lambda x: float(cost(x)),
        euclidean_gradient=gradient,
        **({} if hessian is None else {"euclidean_hessian": hessian}),
    )
    right = given.startswith("right")
    spot = Spot(
        land.centre,
        "fall" not in given and given != "wrong gradient",
        sound=right,
        strict=right,
        curvature=scale / length**2 * float(np.min(land.bends)) if right else None,
        # By differences the eigenvalues are right to fewer digits.
        size=land.size * (1.0 if hessian is not None else 100.0),
    )
    if not right:
        return Trial(given, problem, [spot])
    return Trial(
        given,
        problem,
        [spot],
        land.truth(),
        land.start(rng),
        ("PracticalTRM", "LBFGS") if case % 3 == 0 else (),
        expected=True,
        on_the_way=True,
        peer=land.peer if case % 3 == 0 else None,
    )


# -- noise --------------------------------------------------------------------------------------


def hashed(x: Array, seed: int, count: int) -> Array:
    """Return numbers from -1 to 1 that depend on every bit of a point, and on nothing else."""
    return np.random.default_rng([seed, zlib.crc32(x.tobytes())]).uniform(-1.0, 1.0, size=count)


# What is noisy, and whether the Hessian is right.
NOISY = (
    "cost",
    "cost and gradient",
    "gradient",
    "single precision inside",
    "cost and gradient, hidden fall",
    "gradient by differences, fall",
    "cost, hidden fall",
    "single precision inside, hidden fall",
    "minibatch",
    "random cost",
)


def noise(case: int) -> Trial:
    """Return a noisy cost at a critical point of the cost without noise, with runs or without."""
    rng = np.random.default_rng([44, case])
    kind = NOISY[case % len(NOISY)]
    falls = "fall" in kind
    land = landscape(rng, 1.0, 1.0, falls, large=falls and rng.random() < 0.5)
    n = len(land.centre)
    if falls:  # by far more than the noise
        land.bends[-1] = -(10.0 ** rng.uniform(-4.0, 0.0))
    if kind == "minibatch":
        return minibatch(land, rng)
    in_cost = 10.0 ** rng.uniform(-14.0, -6.0) * ("cost" in kind)
    in_gradient = 10.0 ** rng.uniform(-12.0, -7.0) * ("gradient" in kind)
    single = "single" in kind
    chance = np.random.default_rng(case) if kind == "random cost" else None
    seed = int(rng.integers(2**31))
    precision = 1e-7 * float(np.sum(np.abs(land.bends)))

    def cost(x: Array) -> float:
        value = float(land.cost(x))
        if single:
            return float(np.float32(value))
        drawn = hashed(x, seed, 1)[0] if chance is None else chance.uniform(-1.0, 1.0)
        return value + in_cost * float(drawn)

    def gradient(x: Array) -> Array:
        slope = land.gradient(x)
        if single:
            return slope.astype(np.float32).astype(float)
        return slope + in_gradient * hashed(x, seed + 1, n)

    hidden = (1.0 + rng.uniform(0.1, 2.0)) * abs(land.bends[-1]) * ("hidden" in kind)
    last = land.basis[:, -1]

    def hessian(x: Array, v: Array) -> Array:
        product = land.hessian(x, v) + hidden * (last @ v) * last
        return product.astype(np.float32).astype(float) if single else product

    given = {} if "differences" in kind else {"euclidean_hessian": hessian}
    problem = riemtr.Problem(riemtr.Euclidean(n), cost, euclidean_gradient=gradient, **given)
    # With more noise than that, a certificate may well be left open.
    little = in_cost <= 1e-8 and in_gradient <= 1e-9 and not single and chance is None
    spot = Spot(land.centre, not falls, sound=little and not falls)
    truth = land.truth(10.0 * in_cost + (10.0 * precision if single else 0.0))
    truth = Truth(
        land.cost,
        truth.away,
        truth.least,
        # A slope as small as its noise may be anywhere where the cost is as low as this.
        noise=truth.noise + 10.0 * n * in_gradient**2 / float(np.min(np.abs(land.bends))),
        distance=land.distance,
    )
    if falls or case % 3:
        return Trial(kind, problem, [spot])
    return Trial(
        kind,
        problem,
        [spot],
        truth,
        land.start(rng),
        ("PracticalTRM", "ARC", "LBFGS"),
        peer=Peer(peers.Euclidean(n), lambda x: cost(x), gradient, hessian),
    )


def minibatch(land: Landscape, rng: np.random.Generator) -> Trial:
    """Return least squares that draw some of their terms anew at every call."""
    n, rows = len(land.centre), 40
    matrix = rng.standard_normal((rows, n))
    target = matrix @ rng.standard_normal(n) + rng.standard_normal(rows)
    chance = np.random.default_rng(int(rng.integers(2**31)))
    batch = int(rng.integers(2, 20))

    def drawn() -> Any:
        return chance.choice(rows, size=batch, replace=False)

    def cost(x: Array) -> float:
        k = drawn()
        return float(0.5 * np.sum((matrix[k] @ x - target[k]) ** 2)) / batch

    def gradient(x: Array) -> Array:
        k = drawn()
        return matrix[k].T @ (matrix[k] @ x - target[k]) / batch

    def hessian(x: Array, v: Array) -> Array:
        return matrix.T @ (matrix @ v) / rows

    a, b = exact(matrix), exact(target)
    solution = mpmath.lu_solve(mpmath.matrix(a.T @ a), mpmath.matrix(a.T @ b))
    best = np.array([float(value) for value in solution])
    least = np.sum((a @ exact(best) - b) ** 2) / (2 * rows)

    def whole(x: Any) -> Any:
        return np.sum((matrix @ x - target) ** 2) / (2 * rows)

    problem = riemtr.Problem(
        riemtr.Euclidean(n), cost, euclidean_gradient=gradient, euclidean_hessian=hessian
    )
    away = away_from(best)
    near_by = best + norm(best) * 10.0 ** rng.uniform(-3.0, 0.0) * rng.standard_normal(n)
    return Trial(
        "minibatch",
        problem,
        [Spot(near_by, None)],
        Truth(whole, away, least),
        rng.standard_normal(n),
        ("PracticalTRM", "ARC", "LBFGS"),
        peer=Peer(peers.Euclidean(n), lambda x: cost(x), gradient, hessian),
    )
