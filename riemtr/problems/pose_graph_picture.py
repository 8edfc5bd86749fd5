"""A picture of a pose graph, before and after."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from riemtr.problems.g2o import PoseGraph

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
