"""Many starts of one problem, and many small problems at once.

First, ``riemtr.multistart`` with 200 starts of Thomson's problem for 100 charges, by one process
and by two: seconds, their ratio, and whether all bits agree. Starting processes is included.

Then what it takes to merge minimizers that are images of one another: seconds of processor time of
the solves and of all the rest, and how many are left. Twelve charges end at one icosahedron, turned
and numbered in many ways. Riesz energies by autograd name nothing, turns, or turns and all inner
products in order; `thomson` is the registered problem, which names both.

Then 10,000 problems of one shape each, by ``riemtr.solve_many``, certificates included, beside a
loop of ``riemtr.PracticalTRM`` and of pymanopt's TrustRegions over some of them: Rayleigh
quotients on S^9, Wahba's problem on SO(3), covariances on SPD(3). Microseconds for each problem;
"off" is the largest difference from the closed form. Batched ``numpy.linalg.eigh`` of the
matrices is there for scale.

    python -m benchmarks.many [--quick]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks.timing import one_blas_thread, settings

one_blas_thread()

import autograd.numpy as anp  # noqa: E402
import numpy as np  # noqa: E402
import pymanopt  # noqa: E402
from pymanopt import manifolds as peers  # noqa: E402
from pymanopt.optimizers import TrustRegions  # noqa: E402

import riemtr  # noqa: E402
from benchmarks.zoo_problems import thomson  # noqa: E402

Array = np.ndarray


class Family(NamedTuple):
    """Problems of one shape, with the functions of a stack and the costs of their solutions."""

    name: str
    manifold: Any
    peer: Any
    cost: Callable[..., Array]
    gradient: Callable[..., Array]
    hessian: Callable[..., Array]
    data: Array
    optima: Array


def rayleigh(rng: np.random.Generator, count: int) -> Family:
    matrices = rng.standard_normal((count, 10, 10))
    matrices += np.swapaxes(matrices, 1, 2)

    def image(x: Array, a: Array) -> Array:
        return np.einsum("kij,kj->ki", a, x)

    return Family(
        "Rayleigh, S^9",
        riemtr.Sphere(10),
        peers.Sphere(10),
        lambda x, a: np.einsum("ki,ki->k", x, image(x, a)),
        lambda x, a: 2.0 * image(x, a),
        lambda x, v, a: 2.0 * image(v, a),
        matrices,
        np.linalg.eigvalsh(matrices)[:, 0],
    )


def wahba(rng: np.random.Generator, count: int) -> Family:
    targets = rng.standard_normal((count, 3, 3))
    values = np.linalg.svd(targets, compute_uv=False)
    signs = np.sign(np.linalg.det(targets))
    return Family(
        "Wahba, SO(3)",
        riemtr.Rotations(3),
        peers.SpecialOrthogonalGroup(3),
        lambda r, m: -np.einsum("kij,kij->k", r, m),
        lambda r, m: -m,
        lambda r, v, m: np.zeros_like(v),
        targets,
        -(values[:, 0] + values[:, 1] + signs * values[:, 2]),
    )


def covariance(rng: np.random.Generator, count: int) -> Family:
    factors = rng.standard_normal((count, 3, 6))
    samples = factors @ np.swapaxes(factors, 1, 2) / 6.0

    def gradient(x: Array, s: Array) -> Array:
        inverse = np.linalg.inv(x)
        return inverse - inverse @ s @ inverse

    def hessian(x: Array, v: Array, s: Array) -> Array:
        inverse = np.linalg.inv(x)
        change = inverse @ v @ inverse
        twice = change @ s @ inverse
        return twice + np.swapaxes(twice, 1, 2) - change

    return Family(
        "covariance, SPD(3)",
        riemtr.PositiveDefinite(3),
        peers.SymmetricPositiveDefinite(3),
        lambda x, s: np.linalg.slogdet(x)[1] + np.einsum("kij,kji->k", np.linalg.inv(x), s),
        gradient,
        hessian,
        samples,
        np.linalg.slogdet(samples)[1] + 3.0,
    )


def together(family: Family) -> riemtr.solvers.ManyResults:
    return riemtr.solve_many(
        family.manifold,
        family.cost,
        family.data,
        euclidean_gradient=family.gradient,
        euclidean_hessian=family.hessian,
    )


def single(family: Family, number: int) -> tuple[Callable[..., Any], ...]:
    """Return the functions of one problem, from those of a stack."""
    data = family.data[number : number + 1]
    return (
        lambda x: float(family.cost(x[None], data)[0]),
        lambda x: family.gradient(x[None], data)[0],
        lambda x, v: family.hessian(x[None], v[None], data)[0],
    )


def by_riemtr(family: Family, number: int) -> None:
    cost, gradient, hessian = single(family, number)
    problem = riemtr.Problem(
        family.manifold, cost, euclidean_gradient=gradient, euclidean_hessian=hessian
    )
    assert riemtr.PracticalTRM().solve(problem, rng=number).certified


def by_pymanopt(family: Family, number: int) -> None:
    wrapped = pymanopt.function.numpy(family.peer)
    cost, gradient, hessian = (wrapped(function) for function in single(family, number))
    problem = pymanopt.Problem(
        family.peer, cost, euclidean_gradient=gradient, euclidean_hessian=hessian
    )
    TrustRegions(verbosity=0).run(problem, initial_point=family.manifold.random_point(number))


def microseconds(work: Callable[[], Any], count: int, repeats: int = 1) -> tuple[float, Any]:
    """Return the shortest time of a problem, and the last value."""
    taken, value = [], None
    for _ in range(repeats):
        begin = time.perf_counter()
        value = work()
        taken.append(time.perf_counter() - begin)
    return min(taken) / count * 1e6, value


def small_problems(count: int, looped: int) -> None:
    print(f"\n{count} problems of one shape, microseconds for each ({looped} of them in loops)")
    heads = ("solve_many", "certified", "off", "PracticalTRM", "TrustRegions", "eigh")
    print(f"{'problems':<20}" + "".join(f"{head:>14}" for head in heads))
    for build in (rayleigh, wahba, covariance):
        family = build(np.random.default_rng(0), count)
        ours, found = microseconds(lambda f=family: together(f), count, 3)
        loop, _ = microseconds(lambda f=family: [by_riemtr(f, i) for i in range(looped)], looped)
        peer, _ = microseconds(lambda f=family: [by_pymanopt(f, i) for i in range(looped)], looped)
        symmetric = family.data + np.swapaxes(family.data, 1, 2)
        eigh, _ = microseconds(lambda a=symmetric: np.linalg.eigh(a), count)
        off = np.abs(found.costs - family.optima).max()
        certified = f"{int(found.certified.sum())}/{count}"
        print(
            f"{family.name:<20}{ours:>14.1f}{certified:>14}{off:>14.1e}{loop:>14.0f}{peer:>14.0f}"
            f"{eigh:>14.1f}",
            flush=True,
        )


def many_starts(charges: int, starts: int) -> None:
    problem = thomson(np.random.default_rng(0), n=charges).ours
    seconds, runs = {}, {}
    for workers in (1, 2):
        begin = time.perf_counter()
        runs[workers] = riemtr.multistart(problem, starts, rng=0, n_jobs=workers)
        seconds[workers] = time.perf_counter() - begin
    same = all(
        one.point.tobytes() == two.point.tobytes() and one.counts == two.counts
        for one, two in zip(runs[1].results, runs[2].results, strict=True)
    )
    print(f"\nmultistart, {starts} starts of Thomson's problem on {problem.manifold}")
    print(
        f"one process {seconds[1]:.2f} s, two {seconds[2]:.2f} s: {seconds[1] / seconds[2]:.2f}x; "
        f"all bits the same: {'yes' if same else 'NO'}"
    )
    print(runs[1])


def riesz(invariants: bool, turns: bool) -> riemtr.Problem:
    """Return the sum of 1 / distance^2 of twelve points, and what is named of its symmetries."""
    upper = np.triu_indices(12, 1)
    units = np.zeros((3, 3, 3))
    for number, (one, other) in enumerate(zip(*np.triu_indices(3, 1), strict=True)):
        units[number, one, other], units[number, other, one] = 1.0, -1.0
    return riemtr.Problem(
        riemtr.Oblique(3, 12),
        lambda x: anp.sum(1.0 / (2.0 - 2.0 * anp.dot(x.T, x)[upper])),
        symmetries=(lambda x: units @ x) if turns else None,
        invariants=(lambda x: np.sort(x.T @ x, axis=None)) if invariants else None,
    )


def merging(counts: tuple[int, ...]) -> None:
    cases = {
        "Riesz, nothing named": riesz(False, False),
        "Riesz, turns": riesz(False, True),
        "Riesz, turns and products": riesz(True, True),
        "thomson": riemtr.problems.build("thomson", rng=0).problem,
    }
    print("\nmerging the minimizers of twelve charges, seconds of processor time")
    print(f"{'problem':<28}{'starts':>8}{'solves':>10}{'the rest':>10}{'minimizers':>12}")
    for name, problem in cases.items():
        riemtr.multistart(problem, 2, rng=0)
        for starts in counts:
            moments: list[float] = []
            ends: list[str] = []

            def note(now: Any, moments: list[float] = moments, ends: list[str] = ends) -> None:
                moments.append(time.process_time())
                ends.append(now.stage)

            begin = time.process_time()
            runs = riemtr.multistart(problem, starts, rng=0, progress=note)
            end = time.process_time()
            solved = moments[ends.count("solving") - 1]
            print(
                f"{name:<28}{starts:>8}{solved - begin:>10.2f}{end - solved:>10.2f}"
                f"{len(runs.minimizers):>12}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few starts and few problems")
    arguments = parser.parse_args()
    print(settings())
    many_starts(*((7, 8) if arguments.quick else (100, 200)))
    merging((10,) if arguments.quick else (40, 100))
    small_problems(*((200, 5) if arguments.quick else (10_000, 200)))


if __name__ == "__main__":
    main()
