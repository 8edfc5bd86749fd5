"""Semidefinite programs with identity blocks: solved, and proved to be.

First, the relaxation of max-cut on graphs as the Gset's generators make them (random, toroidal,
planar, with weights of 1 or +-1): ``riemtr.solve_semidefinite``, proof included, beside SciPy's
L-BFGS on normalised rows at the rank that riemtr ends with, until its gradient norm is 1e-7 or it
gives up, which proves nothing. Both run in turn. "gap" is what riemtr proves, relative to the
value; "judged" is the same from all eigenvalues of the dual matrix by LAPACK.

Then synchronisation of rotations on the graph of a sphere, rings and meridians, with more and more
noise: while the relaxation is tight the gap of the rounded rotations vanishes, after that it says
how far from tight it is.

Last, documented false certificates of others: a tolerance ten to a million times too large, zero
multipliers, points that are not feasible, symmetric points, small eigenvalues that count in each
row; on random problems that Clarabel solves as well. "false" counts claims that its minimum
refutes, "refused" solutions that are not certified.

    python -m benchmarks.semidefinite [--quick]
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from contextlib import suppress

from benchmarks.timing import interleaved, one_blas_thread, settings

one_blas_thread()

import numpy as np  # noqa: E402
import scipy.sparse  # noqa: E402
from scipy.optimize import minimize  # noqa: E402
from scipy.spatial import Delaunay  # noqa: E402

import riemtr  # noqa: E402
from riemtr.manifolds import Rotations  # noqa: E402
from riemtr.problem.relaxation import Relaxation  # noqa: E402
from riemtr.problems.random_data import perturbed  # noqa: E402
from riemtr.problems.synchronisation import turn_residuals  # noqa: E402
from tests.solvers.interior_point import by_clarabel  # noqa: E402

# Edges of the Gset's random graphs by the number of nodes; ten for each node elsewhere.
EDGES = {800: 19176, 1000: 9990, 2000: 19990}
# Seconds after which SciPy is stopped.
LONGEST = 60.0


class _Done(Exception):
    """SciPy has reached the gradient norm."""


# -- max-cut --------------------------------------------------------------------------------------


def weighted(tails, heads, weights, n):
    one_way = scipy.sparse.csr_matrix((weights, (tails, heads)), shape=(n, n))
    return (one_way + one_way.T).tocsr()


def random_graph(rng, n, signs):
    above, right = np.triu_indices(n, 1)
    picked = rng.choice(len(above), EDGES.get(n, 10 * n), replace=False)
    return weighted(above[picked], right[picked], rng.choice(signs, len(picked)), n)


def torus(rng, n):
    height = next(each for each in range(math.isqrt(n), 0, -1) if n % each == 0)
    nodes = np.arange(n).reshape(height, -1)
    heads = np.concatenate([np.roll(nodes, 1, axis=0).ravel(), np.roll(nodes, 1, axis=1).ravel()])
    return weighted(np.tile(nodes.ravel(), 2), heads, rng.choice([-1.0, 1.0], 2 * n), n)


def planar_graphs(rng, n, signs):
    """The union of two planar graphs, triangulations, as rudy makes them."""
    edges = set()
    for _ in range(2):
        names = rng.permutation(n)
        corners = names[Delaunay(rng.random((n, 2))).simplices]
        for first, second in ((0, 1), (1, 2), (0, 2)):
            pairs = np.sort(corners[:, [first, second]], axis=1)
            edges |= set(map(tuple, pairs))
    tails, heads = np.array(sorted(edges)).T
    return weighted(tails, heads, rng.choice(signs, len(tails)), n)


def graphs(sizes) -> Iterator[tuple[str, scipy.sparse.csr_matrix]]:
    for n in sizes:
        rng = np.random.default_rng(n)
        yield f"random {n}", random_graph(rng, n, [1.0])
        yield f"random +-1 {n}", random_graph(rng, n, [-1.0, 1.0])
        yield f"torus +-1 {n}", torus(rng, n)
        yield f"planar {n}", planar_graphs(rng, n, [1.0])
        yield f"planar +-1 {n}", planar_graphs(rng, n, [-1.0, 1.0])


def by_scipy(matrix, rank: int) -> float:
    """Minimise by SciPy's L-BFGS on normalised rows; return the gradient norm that it reached."""
    n = matrix.shape[0]
    start = np.random.default_rng(0).standard_normal(n * rank)
    begin, reached = time.perf_counter(), math.inf

    def value_and_gradient(flat):
        nonlocal reached
        rows = flat.reshape(n, rank)
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
        unit = rows / lengths
        images = matrix @ unit
        values = np.einsum("ij,ij->i", images, unit)
        gradient = 2.0 * (images - values[:, None] * unit)
        reached = float(np.linalg.norm(gradient))
        return values.sum(), (gradient / lengths).ravel()

    def done(flat):
        if reached <= 1e-7 or time.perf_counter() - begin > LONGEST:
            raise _Done

    options = {"maxiter": 10**6, "maxfun": 10**9, "ftol": 0.0, "gtol": 0.0}
    with suppress(_Done):
        minimize(
            value_and_gradient, start, jac=True, method="L-BFGS-B", callback=done, options=options
        )
    return reached


def judged(matrix, solution) -> float:
    """Return the relative gap from all eigenvalues of the dual matrix."""
    dual = Relaxation(matrix).dual_matrix(solution.multipliers).toarray()
    least = float(np.linalg.eigvalsh(dual)[0])
    bound = math.fsum(solution.multipliers.ravel()) + matrix.shape[0] * min(0.0, least)
    return (solution.value - bound) / abs(solution.value)


def max_cut(sizes, repeats: int) -> None:
    print("\nmax-cut: seconds, proof included; SciPy's to a gradient norm of 1e-7, or giving up")
    print(f"{'graph':<18}{'rank':>5}{'gap':>10}{'judged':>10}{'riemtr':>9}{'SciPy':>9}", end="")
    print(f"{'ratio':>8}  SciPy's gradient")
    for name, weights in graphs(sizes):
        degrees = np.asarray(weights.sum(axis=1)).ravel()
        matrix = (0.25 * (weights - scipy.sparse.diags(degrees))).tocsr()
        rank = riemtr.solve_semidefinite(matrix).rank
        tasks = {
            "riemtr": lambda matrix=matrix: riemtr.solve_semidefinite(matrix),
            "SciPy": lambda matrix=matrix, rank=rank: by_scipy(matrix, rank),
        }
        seconds, found = interleaved(tasks, repeats)
        solution = found["riemtr"]
        ratio = seconds["SciPy"] / seconds["riemtr"]
        print(
            f"{name:<18}{rank:>5}{solution.relative_gap:>10.0e}{judged(matrix, solution):>10.0e}"
            f"{seconds['riemtr']:>9.2f}{seconds['SciPy']:>9.2f}{ratio:>8.1f}  "
            f"{found['SciPy']:.0e}{'' if solution.certified else '  NOT CERTIFIED'}",
            flush=True,
        )


# -- rotations on a sphere ------------------------------------------------------------------------


def sphere_form(rings: int, noise: float):
    """The matrix of rotations on rings, one spiral, and between neighbouring rings."""
    count = rings**2
    rng = np.random.default_rng(0)
    tails = np.concatenate([np.arange(count - 1), np.arange(count - rings)])
    heads = np.concatenate([np.arange(1, count), np.arange(rings, count)])
    planted = Rotations(3, count).random_point(rng)
    exact = planted[tails].swapaxes(1, 2) @ planted[heads]
    measured = perturbed(rng, exact, noise)
    residuals = turn_residuals(tails, heads, measured, np.ones(len(tails)), count)
    return (residuals.T @ residuals).tocsr()


def rotations(rings: int, noises) -> None:
    print(f"\n{rings**2} rotations on a sphere; gaps relative to the value")
    print(f"{'noise':>6}{'seconds':>9}{'rank':>6}{'gap':>10}{'rounded gap':>13}")
    for noise in noises:
        matrix = sphere_form(rings, noise)
        begin = time.perf_counter()
        solution = riemtr.solve_semidefinite(matrix, block=3)
        seconds = time.perf_counter() - begin
        rounded = solution.rounded()
        print(
            f"{noise:>6}{seconds:>9.2f}{solution.rank:>6}{solution.relative_gap:>10.0e}"
            f"{rounded.gap / abs(rounded.value):>13.0e}",
            flush=True,
        )


# -- torture --------------------------------------------------------------------------------------


def is_false(found, least: float) -> bool:
    """Whether a claim says more than the minimum allows."""
    size = 1e-7 * (1.0 + abs(least))
    return found.lower_bound > least + size or found.gap < found.value - least - size


def torture(problems: int) -> None:
    kinds = ("solutions", "tolerances", "zero multipliers", "infeasible", "symmetric", "each row")
    false, tried, refused = dict.fromkeys(kinds, 0), dict.fromkeys(kinds, 0), 0

    def claim(kind: str, wrong: bool) -> None:
        tried[kind] += 1
        false[kind] += wrong

    for seed in range(problems):
        rng = np.random.default_rng(seed)
        n, block = 12, (1, 1, 2, 3)[seed % 4]
        matrix = rng.standard_normal((n, n)) * (rng.random((n, n)) < rng.choice([0.3, 1.0]))
        matrix = matrix + matrix.T
        least = by_clarabel(matrix, block)
        solution = riemtr.solve_semidefinite(matrix, block, rng=seed)
        refused += not solution.certified
        claim("solutions", is_false(solution, least))
        for tolerance in (1e-7, 1e-5, 1e-2):
            loose = riemtr.solve_semidefinite(matrix, block, rng=seed, tolerance=tolerance)
            claim("tolerances", is_false(loose, least))
        form = Relaxation(matrix, block)
        for scale in (1.0 + 1e-6, 1.1, 0.9):
            found = form.bound(scale * solution.factor, solution.multipliers)
            claim("infeasible", math.isfinite(found.gap) or found.lower_bound > least + 1e-6)
        alike = np.tile(np.eye(block), (n // block, 1))
        claim("symmetric", is_false(form.bound(alike), least))
        uneven = 1e-3 * rng.standard_normal((n // block, block, block))
        uneven = solution.multipliers + uneven + uneven.swapaxes(1, 2)
        claim("each row", is_false(form.bound(solution.factor, uneven), least))
        # A form that is positive semidefinite: the dual matrix of zero multipliers is, anywhere.
        definite = Relaxation(matrix @ matrix, block)
        point = np.linalg.qr(rng.standard_normal((n // block, block, block)))[0].reshape(n, block)
        found = definite.bound(point, np.zeros((n // block, block, block)))
        claim("zero multipliers", is_false(found, by_clarabel(matrix @ matrix, block)))
    print(f"\ntorture: {problems} random problems; refused {refused}")
    print(f"{'claims':<20}{'tried':>7}{'false':>7}")
    for kind in kinds:
        print(f"{kind:<20}{tried[kind]:>7}{false[kind]:>7}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small graphs, few problems")
    arguments = parser.parse_args()
    print(settings())
    max_cut(*(((100,), 1) if arguments.quick else ((800, 1000, 2000), 3)))
    rotations(*((8, (0.1, 1.0)) if arguments.quick else (50, (0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6))))
    torture(8 if arguments.quick else 500)


if __name__ == "__main__":
    main()
