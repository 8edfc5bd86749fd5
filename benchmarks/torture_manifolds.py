"""Cases on further manifolds: complex circles, matrices of fixed rank, mixed products.

Also spectra of many dimensions, in which one direction is slightly negative, or nearly flat.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from pymanopt import manifolds as peers

import riemtr
from benchmarks.torture_cases import Array, Case, Task, case, orthogonal, rotated, seeds, task


def phases() -> Iterator[Case]:
    """-Re <a, z> on complex circles at all signs, and <z, Cz> at points in phase or opposed."""
    for index, rng in seeds(31):
        n = int(rng.integers(2, 7))
        manifold = peers.ComplexCircle(n)
        turned = np.exp(2j * np.pi * rng.random(n))
        if index % 2:
            sizes = rng.integers(1, 9, size=n).astype(float)
            goal = sizes * turned
            made = task(
                manifold,
                manifold,
                lambda z, a=goal: -float(np.sum((np.conj(a) * z).real)),
                lambda z, a=goal: -a,
                lambda z, v: np.zeros_like(z),
            )
            signs = rng.choice([-1.0, 1.0], size=n, p=[0.2, 0.8])
            yield case(made, turned * signs, sizes * signs)
            continue
        weights = rng.integers(-4, 5, size=(n, n)).astype(float)
        weights = np.triu(weights, 1) + np.triu(weights, 1).T
        matrix = -weights * np.outer(turned, np.conj(turned))
        made = task(
            manifold,
            manifold,
            lambda z, a=matrix: float(np.vdot(z, a @ z).real),
            lambda z, a=matrix: 2.0 * (a @ z),
            lambda z, v, a=matrix: 2.0 * (a @ v),
        )
        signs = rng.choice([-1.0, 1.0], size=n, p=[0.3, 0.7])
        # Twice the Laplacian of the weights between phases; its null vector turns all of them.
        between = weights * np.outer(signs, signs)
        values = np.linalg.eigvalsh(2.0 * (np.diag(between.sum(axis=1)) - between))
        values[np.abs(values) <= 1e-12 * max(np.max(np.abs(values)), 1.0)] = 0.0
        if np.any(values):
            yield case(made, turned * signs, values)


def fixed_rank() -> Iterator[Case]:
    """|X - M|^2 / 2 over matrices of rank r at all sums of r singular triples of M.

    A turn that mixes triple i of X with triple k of the rest bends by 1 + s_k / s_i and by
    1 - s_k / s_i; all other directions bend by 1.
    """
    for _, rng in seeds(32):
        m, n = (int(size) for size in rng.integers(2, 6, size=2))
        least = min(m, n)
        rank = int(rng.integers(1, least + 1))
        singular = np.sort(rng.permutation(9)[:least] + 1.0)[::-1] / 3.0
        u, v = orthogonal(rng, m)[:, :least], orthogonal(rng, n)[:, :least]
        matrix = (u * singular) @ v.T

        def cost(u: Array, s: Array, vt: Array, a: Array = matrix) -> float:
            return 0.5 * float(np.sum(((u * s) @ vt - a) ** 2))

        def gradient(u: Array, s: Array, vt: Array, a: Array = matrix) -> Any:
            by_matrix = (u * s) @ vt - a
            inside = np.diag(u.T @ by_matrix @ vt.T).copy()
            return (by_matrix @ (vt.T * s), inside, (u * s).T @ by_matrix)

        ours = riemtr.Problem(riemtr.FixedRank(m, n, rank), cost, euclidean_gradient=gradient)
        made = Task(ours, None, None, (None, None, cost, gradient, gradient))
        for chosen in itertools.combinations(range(least), rank):
            keep = list(chosen)
            rest = np.delete(singular, keep)
            ratios = (rest[:, None] / singular[keep]).ravel()
            values = np.concatenate([[1.0], 1.0 - ratios, 1.0 + ratios])
            point = (u[:, keep].copy(), singular[keep].copy(), v[:, keep].T.copy())
            yield case(made, point, values)


def mixed_products() -> Iterator[Case]:
    """x'Ax on a sphere, -trace(B'R) over rotations and a quadratic of t, side by side."""
    for index, rng in seeds(33):
        n, k, d = (int(size) for size in rng.integers(2, 4, size=3))
        spectrum, basis = np.arange(float(n)) * 2.0, orthogonal(rng, n)
        matrix = rotated(basis, spectrum)
        u, v = orthogonal(rng, k), orthogonal(rng, k)
        v[:, 0] *= np.sign(np.linalg.det(u) * np.linalg.det(v))
        singular = rng.permutation(5)[:k] + 1.0
        target = (u * singular) @ v.T
        bends = rng.uniform(0.5, 2.0, size=d)
        if index % 3 == 0:
            bends[0] *= -(10.0 ** rng.uniform(-4.0, 0.0))
        made = task(
            riemtr.Product([riemtr.Sphere(n), riemtr.Rotations(k), riemtr.Euclidean(d)]),
            peers.Product([peers.Sphere(n), peers.SpecialOrthogonalGroup(k), peers.Euclidean(d)]),
            lambda x, r, t, a=matrix, b=target, c=bends: (
                float(x @ a @ x) - float(np.sum(b * r)) + 0.5 * float(np.sum(c * t * t))
            ),
            lambda x, r, t, a=matrix, b=target, c=bends: [2.0 * (a @ x), -b, c * t],
            lambda x, r, t, dx, dr, dt, a=matrix, c=bends: [
                2.0 * (a @ dx),
                np.zeros_like(r),
                c * dt,
            ],
        )
        column = 0 if index % 2 else int(rng.integers(n))
        signs = np.ones(k)
        if index % 5 == 0:
            signs[:2] = -1.0
        signed = singular * signs
        values = np.concatenate(
            [
                2.0 * (np.delete(spectrum, column) - spectrum[column]),
                [(signed[i] + signed[j]) / 2.0 for i, j in itertools.combinations(range(k), 2)],
                bends,
            ]
        )
        yield case(made, [basis[:, column].copy(), (u * signs) @ v.T, np.zeros(d)], values)


def large_spectra() -> Iterator[Case]:
    """Quadratics of 30 to 400 variables, one direction of which is nearly flat, up or down."""
    for index, rng in seeds(34):
        n = int(rng.integers(30, 401))
        kind = index % 4
        if kind == 0:
            values = rng.uniform(0.0, 1.0, size=n) + 1e-5
        elif kind == 1:
            values = 10.0 ** rng.uniform(-5.0, 0.0, size=n)
        elif kind == 2:
            values = np.where(rng.random(n) < 0.5, 1e-4, 1.0)
        else:
            values = np.zeros(n)
            values[: n // 10] = rng.uniform(0.1, 1.0, size=n // 10)
        values[0] = 1.0
        if index % 3:
            values[-1] = (-1.0) ** index * 10.0 ** rng.uniform(-7.0, -2.0)
        # A product of reflections is as good as any rotation, and cheap.
        normals = [rng.standard_normal(n) for _ in range(3)]
        normals = [normal / np.linalg.norm(normal) for normal in normals]

        def turned(x: Array, q: list[Array] = normals) -> Array:
            for normal in q:
                x = x - 2.0 * (normal @ x) * normal
            return x

        def product(x: Array, v: Array, q: list[Array] = normals, d: Array = values) -> Array:
            y = turned(v, q) * d
            for normal in reversed(q):
                y = y - 2.0 * (normal @ y) * normal
            return y

        manifold = riemtr.Euclidean(n)
        made = task(
            manifold,
            peers.Euclidean(n),
            lambda x, f=product: 0.5 * float(x @ f(x, x)),
            lambda x, f=product: f(x, x),
            product,
        )
        yield case(made, np.zeros(n), values)


# Name: the family, and its share in the cases.
MANIFOLDS: dict[str, tuple[Callable[[], Iterator[Case]], float]] = {
    "complex circles": (phases, 0.04),
    "matrices of fixed rank": (fixed_rank, 0.04),
    "mixed products": (mixed_products, 0.04),
    "30 to 400 dimensions": (large_spectra, 0.02),
}
