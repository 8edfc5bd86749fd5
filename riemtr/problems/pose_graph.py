"""Pose graphs: places and rotations from noisy relative ones, made up or from g2o files."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import (
    breadth_first_order,
    connected_components,
    dijkstra,
    minimum_spanning_tree,
)
from scipy.sparse.linalg import splu

from riemtr.arguments import check_nonnegative, integer
from riemtr.errors import ArgumentError, unknown_name
from riemtr.files import reading
from riemtr.manifolds import Euclidean, Product, Rotations
from riemtr.manifolds.stiefel import skew
from riemtr.problem import Problem
from riemtr.problem.books import lazy
from riemtr.problem.quadratic import LeastSquaresCost, PoseRows, block_rows
from riemtr.problem.relaxation import Relaxation
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


# -- pose graphs in g2o files: measurements between poses of the plane or of space ----------------
# A line is a tag and numbers. Read are ``EDGE_SE2 i j x y angle`` with the upper triangle of a
# 3 x 3 information matrix, and ``EDGE_SE3:QUAT i j x y z qx qy qz qw`` with that of a 6 x 6 one.
# Lines with other tags are passed over, guesses of the poses among them. Kümmerle, Grisetti,
# Strasdat, Konolige and Burgard, *g2o: a general framework for graph optimization*, ICRA 2011.

# Numbers after the tag of an edge, by the tag: two nodes, a pose, a triangle of information.
_EDGE_NUMBERS = {"EDGE_SE2": 2 + 3 + 6, "EDGE_SE3:QUAT": 2 + 7 + 21}

# Names of nodes are read as doubles, which have all whole numbers up to this one.
_LARGEST_NAME = 2**53


@dataclass(frozen=True)
class PoseGraph:
    """Relative poses along the edges of a graph.

    Attributes
    ----------
    tails, heads : ndarray of int, shape (edges,)
        Nodes are numbered from 0.
    turns : ndarray, shape (edges, d, d)
        Rotations, about R_i' R_j.
    moves : ndarray, shape (edges, d)
        Displacements, about R_i' (t_j - t_i).
    turn_weights, move_weights : ndarray, shape (edges,)
        How much each is worth in the sum of squares.
    names : ndarray of int, shape (k,)
        What the nodes are called in the file.
    """

    tails: np.ndarray
    heads: np.ndarray
    turns: np.ndarray
    moves: np.ndarray
    turn_weights: np.ndarray
    move_weights: np.ndarray
    names: np.ndarray

    @property
    def size(self) -> int:
        """Number of nodes."""
        return len(self.names)

    @property
    def dimension(self) -> int:
        """Dimension of the space: 2 or 3."""
        return self.moves.shape[1]


def read_g2o(file: str | PathLike[str]) -> PoseGraph:
    """Read a pose graph of the plane or of space from a g2o file.

    Information matrices become one weight for the rotation and one for the displacement of an
    edge, those of the isotropic noise with the same mean variance. With the mean precision p of
    angles the weight of a rotation is p/2, since the squared distance of two rotations is twice
    the squared angle between them.

    Raises
    ------
    OSError
        The file cannot be read.
    riemtr.errors.ArgumentError
        It has no edges, edges of both kinds, or a line with something else than numbers.
    """
    with np.errstate(over="ignore"), reading(file, "a pose graph in a g2o file"):
        return _graph(_numbers(file))


def _graph(edges: dict[str, list[list[float]]]) -> PoseGraph:
    """Return the pose graph of all edges by tag."""
    kinds = [tag for tag, rows in edges.items() if rows]
    if len(kinds) != 1:
        found = " and ".join(kinds) or "none"
        raise ArgumentError("file", "have edges EDGE_SE2 or EDGE_SE3:QUAT, of one kind", found)
    table = np.array(edges[kinds[0]])
    ends = table[:, :2].astype(int)
    if not np.array_equal(ends, table[:, :2]) or np.any(np.abs(ends) > _LARGEST_NAME):
        raise ArgumentError("file", "have whole numbers as names of nodes")
    names, index = np.unique(ends, return_inverse=True)
    tails, heads = index.reshape(ends.shape).T
    if kinds[0] == "EDGE_SE2":
        moves, turns = table[:, 2:4], plane_rotations(table[:, 4])
        information = _symmetric(table[:, 5:], 3)
    else:
        moves, turns = table[:, 2:5], space_rotations(table[:, 5:9])
        information = _symmetric(table[:, 9:], 6)
    d = moves.shape[1]
    move_weights = _mean_precision(information[:, :d, :d])
    turn_weights = 0.5 * _mean_precision(information[:, d:, d:])
    weights = np.concatenate([move_weights, turn_weights])
    if not np.all((weights > 0.0) & np.isfinite(weights)):
        raise ArgumentError("file", "have positive definite information matrices")
    return PoseGraph(tails, heads, turns, moves, turn_weights, move_weights, names)


def _numbers(file: str | PathLike[str]) -> dict[str, list[list[float]]]:
    """Return the numbers of all edges by tag."""
    edges: dict[str, list[list[float]]] = {tag: [] for tag in _EDGE_NUMBERS}
    with Path(file).open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, start=1):
            tag, *words = line.split() or [""]
            if tag not in edges:
                continue
            try:
                values = [float(word) for word in words]
            except ValueError:
                values = []
            if len(values) != _EDGE_NUMBERS[tag] or not np.all(np.isfinite(values)):
                wanted = f"have {_EDGE_NUMBERS[tag]} finite numbers after {tag} in line {number}"
                raise ArgumentError("file", wanted, line.strip())
            edges[tag].append(values)
    return edges


def plane_rotations(angles: np.ndarray) -> np.ndarray:
    """Return the rotations of the plane by given angles."""
    cosines, sines = np.cos(angles), np.sin(angles)
    return np.stack([cosines, -sines, sines, cosines], axis=-1).reshape(-1, 2, 2)


def space_rotations(quaternions: np.ndarray) -> np.ndarray:
    """Return the rotations of space of quaternions (x, y, z, w), which need not have length 1."""
    lengths = np.linalg.norm(quaternions, axis=1, keepdims=True)
    if not np.all((lengths > 0.0) & np.isfinite(lengths)):
        raise ArgumentError("file", "have quaternions that are not zero, of finite length")
    axis, real = np.split(quaternions / lengths, [3], axis=1)
    real = real[:, :, None]
    cross = np.zeros((len(axis), 3, 3))
    cross[:, 2, 1], cross[:, 0, 2], cross[:, 1, 0] = axis.T
    cross -= cross.swapaxes(1, 2)
    # Rodrigues' formula with the half angle: I + 2 w K + 2 K^2.
    return np.eye(3) + 2.0 * real * cross + 2.0 * (cross @ cross)


def _symmetric(triangles: np.ndarray, size: int) -> np.ndarray:
    """Return the symmetric matrices with the given upper triangles, row by row."""
    above, right = np.triu_indices(size)
    matrices = np.zeros((len(triangles), size, size))
    matrices[:, above, right] = matrices[:, right, above] = triangles
    return matrices


def _mean_precision(information: np.ndarray) -> np.ndarray:
    """Return one over the mean variance of each; 0 where a matrix is singular."""
    values = np.linalg.eigvalsh(information)
    definite = values[:, :1] > 0.0
    variances = np.mean(1.0 / np.where(definite, values, np.inf), axis=1)
    return np.divide(1.0, variances, out=np.zeros_like(variances), where=variances > 0.0)


# -- a picture of a pose graph, before and after --------------------------------------------------

# Edges of the path that was walked, and edges that close loops: blue, and a faint orange.
_WALKED, _CLOSED = "#1f77b4", "#ff7f0e"
_FAINT = 0.35


def draw(graph: PoseGraph, figure: Any, point: Any) -> None:
    """Draw the places that measurements lead to one after the other, and those that were found.

    Before: from the first pose along the edges of a tree, errors add up. After: the places of the
    point. Edges between consecutive poses are blue, all others, which close loops, orange.

    Parameters
    ----------
    graph : PoseGraph
    figure : matplotlib Figure
    point : pair of ndarray
        Rotations and places.
    """
    space = {"projection": "3d"} if graph.dimension == 3 else {}
    panels = figure.subplots(1, 2, subplot_kw=space)
    titles = (f"before: {graph.size} poses, one after the other", "after")
    rotations, places = point
    seen_from_first = (places - places[0]) @ rotations[0]
    for axes, each, title in zip(panels, (odometry(graph), seen_from_first), titles, strict=True):
        _draw_places(axes, graph, each)
        axes.set_title(title)


def _draw_places(axes: Any, graph: PoseGraph, places: np.ndarray) -> None:
    if graph.dimension == 3:
        from mpl_toolkits.mplot3d.art3d import Line3DCollection as Lines
    else:
        from matplotlib.collections import LineCollection as Lines
    walked = np.abs(graph.names[graph.heads] - graph.names[graph.tails]) == 1
    segments = np.stack([places[graph.tails], places[graph.heads]], axis=1)
    for which, colour, width in ((~walked, _CLOSED, _FAINT), (walked, _WALKED, 0.8)):
        axes.add_collection(Lines(segments[which], colors=colour, linewidths=width))
    low, high = places.min(axis=0), places.max(axis=0)
    middle, half = 0.5 * (low + high), 0.55 * float(np.max(high - low)) or 1.0
    for axis, centre in zip("xyz", middle, strict=False):
        getattr(axes, f"set_{axis}lim")(centre - half, centre + half)
    axes.set_aspect("equal")


def odometry(graph: PoseGraph) -> np.ndarray:
    """Return the places that measurements lead to from the first pose, along a tree of edges.

    The tree has the edges between poses of nearby numbers, as whoever measured them went.
    """
    apart = np.abs(graph.heads - graph.tails).astype(float)
    shape = (graph.size, graph.size)
    nearness = scipy.sparse.csr_matrix((apart, (graph.tails, graph.heads)), shape=shape)
    tree = minimum_spanning_tree(nearness)
    order, before = breadth_first_order(tree, 0, directed=False)
    edges = {pair: edge for edge, pair in enumerate(zip(graph.tails, graph.heads, strict=True))}
    rotations = np.tile(np.eye(graph.dimension), (graph.size, 1, 1))
    places = np.zeros((graph.size, graph.dimension))
    for there in order[1:]:
        here = before[there]
        edge = edges.get((here, there))
        if edge is None:  # it was measured the other way round
            edge = edges[there, here]
            rotations[there] = rotations[here] @ graph.turns[edge].T
            places[there] = places[here] - rotations[there] @ graph.moves[edge]
        else:
            rotations[there] = rotations[here] @ graph.turns[edge]
            places[there] = places[here] + rotations[here] @ graph.moves[edge]
    return places
