"""Pose graphs: places and rotations from noisy relative ones, made up or from g2o files."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import connected_components, dijkstra
from scipy.sparse.linalg import splu

from riemtr.arguments import check_nonnegative, integer
from riemtr.errors import ArgumentError, unknown_name
from riemtr.manifolds import Euclidean, Product, Rotations
from riemtr.manifolds.stiefel import skew
from riemtr.problem import Problem
from riemtr.problem.books import lazy
from riemtr.problem.quadratic import LeastSquaresCost, PoseRows, block_rows
from riemtr.problem.relaxation import Relaxation
from riemtr.problems.g2o import PoseGraph, read_g2o
from riemtr.problems.pose_graph_picture import draw
from riemtr.problems.random_data import (
    apart,
    nearest_rotations,
    perturbed,
    random_graph,
    skew_units,
)
from riemtr.problems.registry import Case, Truth, register
from riemtr.problems.synchronisation import relative_rotations, turn_residuals, turned_together

# Added to the diagonal of the normal equations, relative to it: they are singular along motions of
# all poses at once, and a thousandth of this or a hundred times as much does nearly as well.
_SHIFT = 1e-4
# Length of a side of the cube that made-up places lie in.
_CUBE_SIDE = 3.0


@register("pose-graph")
def pose_graph(
    rng: np.random.Generator,
    k: int = 20,
    d: int = 3,
    degree: int = 6,
    noise: float = 0.05,
    file: str | None = None,
    initial: str = "chordal",
) -> Case:
    r"""Places and rotations of k poses from noisy relative ones: simultaneous mapping (SLAM).

    For an edge (i, j) of a graph a rotation :math:`M_{ij}`, about :math:`R_i' R_j`, and a
    displacement :math:`m_{ij}`, about :math:`R_i'(t_j - t_i)`, are measured, with weights
    :math:`\kappa` and :math:`\tau`. Pose-graph optimization finds

    .. math:: \min_{R_i \in SO(d),\; t_i \in R^d} \tfrac12 \sum_{(i,j)}
       \kappa_{ij} |R_j - R_i M_{ij}|_F^2 + \tau_{ij} |t_j - t_i - R_i m_{ij}|^2

    on the product of ``Rotations(d, k)`` and ``Euclidean(k, d)``. The cost is quadratic, with one
    sparse matrix. All poses may be moved at once, :math:`R_i \to GR_i,\; t_i \to Gt_i + s`, which
    is named as d(d-1)/2 + d symmetries. The factorized matrix preconditions CG.

    Places are eliminated to bound the cost: with the best places for given rotations the problem
    is one of rotations alone, whose semidefinite relaxation is tight for noise as moderate as in
    practice. ``certificate.lower_bound`` is then the cost of the point found, which so is proved to
    be a global minimizer (SE-Sync). ``truth.error`` is the root mean square distance of the poses
    from the planted ones after one motion of all; without noise it vanishes, and so does the
    minimum. Nothing is planted where a file is read.

    Parameters
    ----------
    k : int
        How many poses.
    d : int
        2 in the plane, 3 in space.
    degree : int
        Edges per node of the random graph, about.
    noise : float
        Standard deviation of the noise on each coordinate of a displacement, and on each entry of
        a relative rotation before the nearest rotation is taken; all weights are 1.
    file : str, optional
        A g2o file with edges ``EDGE_SE2`` or ``EDGE_SE3:QUAT``, in place of made-up data. Node
        numbers in the file may have gaps; ``truth.details["graph"].names`` has them.
    initial : {"chordal", "random"}
        Where to begin: "chordal" drops the constraints, solves the sparse linear equations that
        are left, and takes the nearest rotations; "random" draws rotations. Both take the best
        places for them.

    References
    ----------
    Rosen, Carlone, Bandeira and Leonard, *SE-Sync: a certifiably correct algorithm for
    synchronization over the special Euclidean group*, International Journal of Robotics Research
    38 (2019). Carlone, Tron, Daniilidis and Dellaert, *Initialization techniques for 3D SLAM*,
    ICRA 2015.
    """
    rng = apart(rng)
    starts = {"chordal": _chordal_start, "random": _random_start}
    if initial not in starts:
        raise unknown_name("initial", initial, starts)
    if file is None:
        graph, planted = _made_up(rng, k, d, degree, noise)
    else:
        graph, planted = read_g2o(file), None
    _check_connected(graph)
    k, d = graph.size, graph.dimension
    manifold = Product([Rotations(d, k), Euclidean(k, d)])
    rows = PoseRows(d, k)
    cost = LeastSquaresCost(_residuals(graph), rows, partial(_relaxation, graph=graph))
    problem = Problem(
        manifold,
        cost,
        symmetries=_moved_together,
        invariants=_relative_poses,
        preconditioner=_NormalEquations(cost),
    )

    exact = planted is not None and noise == 0.0
    error = None if planted is None else partial(_pose_distance, planted=planted)
    truth = Truth(
        cost=0.0 if exact else None,
        distance=error if exact else None,
        details={"graph": graph},
        point=planted,
        error=error,
    )
    rotations = starts[initial](rng, cost, d, k)
    assert cost.relaxation is not None
    start = rows.split(cost.relaxation.completed(rows.turns.stacked(rotations)))
    return Case(problem, start, truth, draw=partial(draw, graph))


def _along_paths(graph: PoseGraph) -> tuple[np.ndarray, np.ndarray]:
    """Return lengths and inverse weights of displacements, added up from the first place to others.

    The paths are short ones. Parallel edges count as one with the sum of both, which is no less.
    """
    shape, ends = (graph.size, graph.size), (graph.tails, graph.heads)
    sums = []
    for each in (np.linalg.norm(graph.moves, axis=1), 1.0 / graph.move_weights):
        one_way = scipy.sparse.csr_matrix((each, ends), shape=shape)
        sums.append((one_way + one_way.T).tocsr())
    distances, before = dijkstra(sums[0] + sums[1].sqrt(), indices=0, return_predecessors=True)
    order = np.argsort(distances, kind="stable")[1:]
    steps = [np.asarray(each[before[order], order]).ravel() for each in sums]
    totals = np.zeros((graph.size, 2))
    for node, step in zip(order, np.stack(steps, axis=1), strict=True):
        totals[node] = totals[before[node]] + step
    return totals[1:, 0], totals[1:, 1]


def _relaxation(normal: Any, graph: PoseGraph) -> Relaxation:
    """Return the relaxation of the cost with the best places, the first of them at the origin.

    Only differences of places count. Along a path of edges from the first place the displacements
    add up to their lengths at most, and the residuals r, where the sum of all w r^2 is at most a
    value, to the root of that value times the sum of 1/w (Cauchy and Schwarz). That bounds how far
    away a place is.
    """
    end = graph.dimension * graph.size
    kept = np.delete(np.arange(normal.shape[0]), end)
    walked, inverse_weights = _along_paths(graph)

    def reach(value: float) -> np.ndarray:
        return walked + np.sqrt(max(value, 0.0) * inverse_weights)

    return Relaxation(normal[kept][:, kept].tocsc(), graph.dimension, end, reach)


def _made_up(
    rng: np.random.Generator, k: int, d: int, degree: int, noise: float
) -> tuple[PoseGraph, list[np.ndarray]]:
    k, d = integer("k", k, low=2), integer("d", d, low=2, high=3)
    degree = integer("degree", degree, low=1)
    check_nonnegative("noise", noise)
    tails, heads = random_graph(rng, k, degree)
    rotations, places = Rotations(d, k).random_point(rng), _CUBE_SIDE * rng.random((k, d))
    turned_back = rotations[tails].swapaxes(1, 2)
    moves = np.einsum("eij,ej->ei", turned_back, places[heads] - places[tails])
    moves += noise * rng.standard_normal(moves.shape)
    turns = turned_back @ rotations[heads]
    turns = perturbed(rng, turns, noise) if noise > 0.0 else turns
    ones = np.ones(len(tails))
    graph = PoseGraph(tails, heads, turns, moves, ones, ones, np.arange(k))
    return graph, [rotations, places]


def _check_connected(graph: PoseGraph) -> None:
    ones = np.ones(len(graph.tails))
    shape = (graph.size, graph.size)
    adjacency = scipy.sparse.csr_matrix((ones, (graph.tails, graph.heads)), shape=shape)
    parts, _ = connected_components(adjacency, directed=False)
    if parts > 1:
        raise ArgumentError(
            "file", f"have edges that connect all poses; they leave {parts} parts", remedy="cut it"
        )


def _residuals(graph: PoseGraph) -> scipy.sparse.csr_matrix:
    """Return the matrix of all residuals, of rotations first; its columns are those of a point."""
    k, d = graph.size, graph.dimension
    turns = turn_residuals(graph.tails, graph.heads, graph.turns, graph.turn_weights, k)
    roots = np.sqrt(graph.move_weights)
    edges = np.arange(len(roots))
    ones = roots[:, None, None]
    shape = (len(roots), k)
    moves = block_rows(edges, graph.heads, ones, shape) - block_rows(
        edges, graph.tails, ones, shape
    )
    along = block_rows(
        edges, d * graph.tails, -(roots[:, None] * graph.moves)[:, None, :], (len(roots), d * k)
    )
    return scipy.sparse.bmat([[turns, None], [along, moves]], format="csr")


class _NormalEquations:
    """The inverse of the matrix of the cost between projections, which preconditions CG.

    The Riemannian Hessian is that matrix less multipliers, which are small where residuals are. It
    saves nine of ten products on walks that seldom meet themselves. It is factorized when first
    used.

    Parameters
    ----------
    cost : LeastSquaresCost
    """

    def __init__(self, cost: LeastSquaresCost):
        self._normal, self._rows = cost.normal, cost.rows

    @lazy
    def _factor(self) -> Any:
        shift = _SHIFT * scipy.sparse.diags(self._normal.diagonal())
        symmetric = {"SymmetricMode": True}
        return splu((self._normal + shift).tocsc(), permc_spec="MMD_AT_PLUS_A", options=symmetric)

    def __call__(self, point: Any, vector: Any) -> Any:
        """Return a tangent vector: the solution for one, projected."""
        rotations, _ = point
        turns, moves = vector
        ahead = self._rows.stacked([rotations @ turns, moves])
        back, places = self._rows.split(self._factor.solve(ahead))
        # Of the vector's own type, since pymanopt's optimizers compute with what they get.
        return type(vector)([skew(rotations.swapaxes(1, 2) @ back), places])


def _chordal_start(rng: np.random.Generator, cost: LeastSquaresCost, d: int, k: int) -> np.ndarray:
    """Return the rotations nearest to the least-squares solution without constraints.

    The first rotation is kept at the identity. Residuals of displacements are left out.
    """
    edges = cost.jacobian.shape[0] // (d + 1)
    turns = cost.jacobian[: d * edges, : d * k]
    normal = (turns.T @ turns).tocsc()
    right = -(normal[d:, :d] @ np.eye(d))
    free = splu(normal[d:, d:]).solve(right)
    rows = PoseRows(d, k).turns
    return nearest_rotations(rows.split(np.concatenate([np.eye(d), free])))


def _random_start(rng: np.random.Generator, cost: LeastSquaresCost, d: int, k: int) -> np.ndarray:
    return Rotations(d, k).random_point(rng)


def _moved_together(point: Any) -> list[Any]:
    """Return the directions in which all poses are turned or shifted at once."""
    rotations, places = point
    d = rotations.shape[-1]
    pairs = zip(turned_together(rotations), skew_units(d), strict=True)
    turned = [[turn, places @ unit.T] for turn, unit in pairs]
    still = np.zeros_like(rotations)
    shifted = [[still, np.broadcast_to(unit, places.shape)] for unit in np.eye(d)]
    return turned + shifted


def _relative_poses(point: Any) -> np.ndarray:
    """Return the poses as the first one sees them, which a motion of all at once leaves alone."""
    rotations, places = point
    seen = (places - places[0]) @ rotations[0]
    return np.concatenate([relative_rotations(rotations).ravel(), seen.ravel()])


def _pose_distance(point: Any, planted: list[np.ndarray]) -> float:
    """Return the root mean square distance of poses from others after one motion of all."""
    (rotations, places), (true_rotations, true_places) = point, planted
    centred, true_centred = places - places.mean(axis=0), true_places - true_places.mean(axis=0)
    turn = nearest_rotations(
        np.sum(true_rotations @ rotations.swapaxes(1, 2), axis=0) + true_centred.T @ centred
    )
    of_rotations = np.linalg.norm(turn @ rotations - true_rotations)
    of_places = np.linalg.norm(centred @ turn.T - true_centred)
    return math.hypot(of_rotations, of_places) / math.sqrt(len(places))
