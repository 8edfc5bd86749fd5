"""Pose graphs in g2o files: measurements between poses of the plane or of space.

A line is a tag and numbers. Read are ``EDGE_SE2 i j x y angle`` with the upper triangle of a
3 x 3 information matrix, and ``EDGE_SE3:QUAT i j x y z qx qy qz qw`` with that of a 6 x 6 one.
Lines with other tags are passed over, guesses of the poses among them. Kümmerle, Grisetti,
Strasdat, Konolige and Burgard, *g2o: a general framework for graph optimization*, ICRA 2011.
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from riemtr.errors import ArgumentError
from riemtr.files import reading

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
