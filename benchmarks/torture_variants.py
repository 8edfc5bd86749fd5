"""The smooth families once more, in other units, precisions and places, or with a flaw put in.

Each variant takes cases of :data:`SMOOTH` in turn and changes one thing: the scale or offset of the
cost, its noise, its precision, the point, who computes the Hessian, an error of low rank in it, or
the symmetries that the problem is told of. The truth changes with it in closed form, or not at all.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from pymanopt import manifolds as peers

import riemtr
from benchmarks.torture_cases import (
    NO_MINIMUM,
    SADDLE,
    STRICT,
    Array,
    Case,
    Task,
    brockett,
    max_cuts,
    orthogonal,
    positive_definite,
    products_of_spheres,
    quadratics,
    rotations,
    seeds,
    sphere_forms,
    subspaces,
    task,
)
from benchmarks.torture_manifolds import mixed_products, phases

SMOOTH: tuple[Callable[[], Iterator[Case]], ...] = (
    sphere_forms,
    brockett,
    subspaces,
    quadratics,
    products_of_spheres,
    positive_definite,
    rotations,
    max_cuts,
    phases,
    mixed_products,
)
# Cases of a family before the next family's turn, so that all critical points of one cost and
# several costs are among them.
TURN = 7


def smooth_cases() -> Iterator[Case]:
    """All smooth families in turn."""
    running = [family() for family in SMOOTH]
    for family in itertools.cycle(running):
        yield from itertools.islice(family, TURN)


def each(change: Callable[..., Any], *points: Any) -> Any:
    """Apply a function to arrays, or to each of several lists of them."""
    if isinstance(points[0], (list, tuple)):
        return [change(*arrays) for arrays in zip(*points, strict=True)]
    return change(*points)


def inner(one: Any, two: Any) -> float:
    pairs = zip(one, two, strict=True) if isinstance(one, (list, tuple)) else [(one, two)]
    return float(sum(np.sum((np.conj(a) * b).real) for a, b in pairs))


def arrays(point: Any) -> tuple[Any, ...]:
    return tuple(point) if isinstance(point, list) else (point,)


def changed(
    made: Task,
    cost: Callable[..., float] | None = None,
    gradient: Callable[..., Any] | None = None,
    hessian: Callable[..., Any] | None = None,
) -> Task:
    """Return a task with other functions."""
    manifold, peer, *functions = made.parts
    given = (cost, gradient, hessian)
    return task(manifold, peer, *(new or old for new, old in zip(given, functions, strict=True)))


def told(made: Task, symmetries: Callable[[Any], Any]) -> Task:
    """Return a task whose problem knows of symmetries."""
    manifold, _, cost, gradient, hessian = made.parts
    ours = riemtr.Problem(
        manifold,
        cost,
        euclidean_gradient=gradient,
        euclidean_hessian=hessian,
        symmetries=symmetries,
    )
    return made._replace(ours=ours)


# -- units, precision, noise --------------------------------------------------------------------


def scaled() -> Iterator[Case]:
    """Costs times 1e-8 or 1e8."""
    for index, made in enumerate(smooth_cases()):
        factor = (1e-8, 1e8)[index // 3 % 2]
        _, _, cost, gradient, hessian = made.task.parts
        other = changed(
            made.task,
            lambda *x, f=cost, s=factor: s * f(*x),
            lambda *x, f=gradient, s=factor: each(lambda a: s * a, f(*x)),
            lambda *x, f=hessian, s=factor: each(lambda a: s * a, f(*x)),
        )
        assert made.least is not None
        yield made._replace(task=other, least=factor * made.least, size=factor * made.size)


def shifted() -> Iterator[Case]:
    """Costs plus 1e6 times their scale."""
    for index, made in enumerate(smooth_cases()):
        cost, offset = made.task.parts[2], (1e6, -1e6)[index % 2] * made.size
        yield made._replace(task=changed(made.task, lambda *x, f=cost, o=offset: f(*x) + o))


def noisy() -> Iterator[Case]:
    """Costs with noise of 1e-10 or 1e-8 of their scale."""
    for index, made in enumerate(smooth_cases()):
        cost, noise = made.task.parts[2], (1e-10, 1e-8)[index % 2] * made.size

        def value(*x: Array, f: Callable[..., float] = cost, e: float = noise) -> float:
            return f(*x) + e * float(np.sin(1e12 * sum(np.sum(a.real) for a in x)))

        yield made._replace(task=changed(made.task, value))


def single(array: Any) -> Array:
    kind = np.complex64 if np.iscomplexobj(array) else np.float32
    return np.asarray(array).astype(kind)


def single_variants() -> Iterator[Case]:
    """Points, costs and derivatives in float32."""
    for made in smooth_cases():
        _, _, cost, gradient, hessian = made.task.parts
        other = changed(
            made.task,
            lambda *x, f=cost: np.float32(f(*x)),
            lambda *x, f=gradient: each(single, f(*x)),
            lambda *x, f=hessian: each(single, f(*x)),
        )
        point = each(single, made.point)
        try:
            other.ours.geometry.check_point(point, name="point")
        except ValueError:  # rounding has left the positive definite matrices
            continue
        yield made._replace(task=other, point=point)


# -- other places, other Hessians ---------------------------------------------------------------


def step_beside(made: Case, rng: np.random.Generator, length: float) -> Any:
    """Return a point of the manifold at about a distance, in a random direction."""
    geometry = made.task.ours.geometry
    space = geometry.space(made.point)
    return space.move(length * space.random(rng))


def off_critical() -> Iterator[Case]:
    """Points 1e-11 to 1e-6 beside critical ones."""
    for (_, rng), made in zip(seeds(21), smooth_cases(), strict=False):
        length = 10.0 ** rng.uniform(-11.0, -6.0)
        # Further off, the gradient may well be too large for any certificate.
        near = length < 1e-9
        point = step_beside(made, rng, length)
        yield made._replace(point=point, moved=length, sound=near)


def by_differences() -> Iterator[Case]:
    """Problems that give a gradient only."""
    for made in smooth_cases():
        manifold, _, cost, gradient, _ = made.task.parts
        ours = riemtr.Problem(manifold, cost, euclidean_gradient=gradient)
        yield made._replace(task=made.task._replace(ours=ours))


# -- Hessians with an error, symmetries that are none -------------------------------------------


def embedded(made: Case, coordinates: Array) -> Any:
    """Return a tangent vector, by its coordinates, as the cost's Hessian meets it."""
    here = made.task.ours.at(made.point)
    vector = here.space.embed(here.basis.vector(coordinates))
    return list(vector) if isinstance(made.point, list) else vector


def low_rank_errors() -> Iterator[Case]:
    """Hessians that hide a direction: the most negative one, or a random one, and no other."""
    for (index, rng), made in zip(seeds(22), smooth_cases(), strict=False):
        here = made.task.ours.at(made.point)
        values, vectors = here.eigh
        if len(values) < 2:
            continue
        hides = values[0] < -1e-9 * made.size
        if hides:
            column, error = vectors[:, 0], -values[0] * (1.0 + 10.0 ** rng.uniform(-2.0, 2.0))
        else:
            column = rng.standard_normal(len(values))
            column /= np.linalg.norm(column)
            error = made.size * 10.0 ** rng.uniform(-2.0, 1.0) * (-1.0) ** index
        along = embedded(made, column)
        length = inner(along, along) ** 0.5
        along = each(lambda a, s=length: a / s, along)
        hessian, count = made.task.parts[4], len(arrays(made.point))

        def product(
            *x: Array,
            f: Callable[..., Any] = hessian,
            u: Any = along,
            c: float = error,
            k: int = count,
        ) -> Any:
            vector = x[k] if k == 1 else list(x[k:])
            share = c * inner(u, vector)
            return each(lambda a, b: a + share * b, f(*x), u)

        other = changed(made.task, hessian=product)
        yield made._replace(task=other, sound=False, wrong=True)


def scaled_hessians() -> Iterator[Case]:
    """Hessians off by a factor, from 0.5 to 2, of 1.01, or with the sign of another cost."""
    for index, made in enumerate(smooth_cases()):
        factor = (0.5, 2.0, 1.01, -1.0, 0.99)[index % 5]
        hessian = made.task.parts[4]
        other = changed(
            made.task, hessian=lambda *x, f=hessian, s=factor: each(lambda a: s * a, f(*x))
        )
        yield made._replace(task=other, sound=False)


def forgotten_terms() -> Iterator[Case]:
    """Costs with a term of one direction that neither gradient nor Hessian know of."""
    for (_, rng), made in zip(seeds(25), smooth_cases(), strict=False):
        here = made.task.ours.at(made.point)
        if here.manifold.dim < 2 or made.truth != STRICT or made.least is None:
            continue
        # The cost falls along it, by more than it bends up anywhere.
        column = rng.standard_normal(here.manifold.dim)
        along = embedded(made, column / np.linalg.norm(column))
        size = here.space.norm(here.basis.vector(column / np.linalg.norm(column)))
        factor = 2.0 * made.size / inner(along, along) ** 2 * size**2
        cost, centre = made.task.parts[2], made.point

        def value(
            *x: Array,
            f: Callable[..., float] = cost,
            u: Any = along,
            o: Any = centre,
            c: float = factor,
        ) -> float:
            there = list(x) if isinstance(o, list) else x[0]
            return f(*x) - 0.5 * c * inner(u, each(np.subtract, there, o)) ** 2

        other = changed(made.task, cost=value)
        yield made._replace(task=other, truth=NO_MINIMUM, least=None, sound=False)


def turns(x: Array, p: int) -> Iterator[Array]:
    for a, b in itertools.combinations(range(p), 2):
        skew = np.zeros((p, p))
        skew[a, b], skew[b, a] = 1.0, -1.0
        yield x @ skew


def symmetric_frames() -> Iterator[Case]:
    """trace(X'AX) on Stiefel manifolds, told that turns of the columns change nothing."""
    for _, rng in seeds(23):
        n = int(rng.integers(3, 7))
        p = int(rng.integers(2, min(n, 4)))
        spectrum, basis = rng.permutation(12)[:n].astype(float), orthogonal(rng, n)
        matrix = (basis * spectrum) @ basis.T
        made = task(
            riemtr.Stiefel(n, p),
            peers.Stiefel(n, p),
            lambda x, a=matrix: float(np.sum(x * (a @ x))),
            lambda x, a=matrix: 2.0 * (a @ x),
            lambda x, v, a=matrix: 2.0 * (a @ v),
        )
        made = told(made, lambda x, p=p: list(turns(x, p)))
        for chosen in itertools.combinations(range(n), p):
            left = [k for k in range(n) if k not in chosen]
            values = np.array([2.0 * (spectrum[k] - spectrum[i]) for i in chosen for k in left])
            point = basis[:, list(chosen)] @ orthogonal(rng, p)
            truth = STRICT if np.all(values > 0.0) else SADDLE
            least, size = float(np.min(values)), float(np.max(np.abs(values)))
            yield Case(made, point, truth, least, size)


def false_symmetries() -> Iterator[Case]:
    """Problems that call their most negative direction, or a random one, a symmetry."""
    for (_, rng), made in zip(seeds(24), smooth_cases(), strict=False):
        here = made.task.ours.at(made.point)
        values, vectors = here.eigh
        # A direction that is flat, or nearly so, may well be a symmetry.
        if len(values) < 2 or abs(values[0]) < 1e-7 * made.size or not here.manifold.dot_metric:
            continue
        column = vectors[:, 0] if values[0] < 0.0 else rng.standard_normal(len(values))
        own = here.space.unpack(here.basis.vector(column))
        moved = 10.0 ** rng.uniform(-12.0, -8.0)
        point = step_beside(made, rng, moved)

        def symmetries(x: Any, v: Any = own) -> list[Any]:
            return [v]

        other = told(made.task, symmetries)
        yield made._replace(task=other, point=point, moved=moved, sound=False)


# Name: the family, and its share in the cases.
VARIANTS: dict[str, tuple[Callable[[], Iterator[Case]], float]] = {
    "costs times 1e-8, 1e8": (scaled, 0.06),
    "costs + 1e6, anywhere": (shifted, 0.05),
    "noise, anywhere": (noisy, 0.05),
    "float32, anywhere": (single_variants, 0.05),
    "beside critical points": (off_critical, 0.06),
    "Hessian by differences": (by_differences, 0.05),
    "low-rank Hessian error": (low_rank_errors, 0.1),
    "forgotten term": (forgotten_terms, 0.02),
    "scaled Hessian": (scaled_hessians, 0.03),
    "symmetries": (symmetric_frames, 0.03),
    "symmetries that are none": (false_symmetries, 0.04),
}
