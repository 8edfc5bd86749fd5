"""Pose graphs: planted poses, proofs of global minima, and g2o files."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import riemtr
from riemtr.problems import build
from riemtr.problems.pose_graph import read_g2o

ACCURATE = riemtr.PracticalTRM(relative_tolerance=1e-10)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("start", ["chordal", "random"])
def test_without_noise_what_was_planted_is_found(d, start):
    case = build("pose-graph", rng=4, d=d, noise=0.0, initial=start)
    result = ACCURATE.solve(case.problem, case.start)
    assert result.cost == pytest.approx(0.0, abs=1e-12)
    assert case.truth.error(result.point) < 1e-6


@pytest.mark.parametrize("seed", range(3))
def test_both_starts_lead_to_the_proved_minimum(seed):
    costs = []
    for start in ("chordal", "random"):
        case = build("pose-graph", rng=seed, initial=start)
        result = ACCURATE.solve(case.problem, case.start)
        costs.append(result.cost)
        assert result.certificate.lower_bound == pytest.approx(result.cost, abs=1e-9)
    assert costs[0] == pytest.approx(costs[1], rel=1e-8)


def test_the_preconditioner_is_symmetric_and_saves_products():
    case = build("pose-graph", rng=0, k=200, d=2, degree=2)  # a path with one chord
    here, rng = case.problem.at(case.start), np.random.default_rng(0)
    first, second = here.space.random(rng), here.space.random(rng)
    there, back = here.precondition(first), here.precondition(second)
    assert there @ second == pytest.approx(back @ first, rel=1e-6)
    assert there @ first > 0.0
    plain = riemtr.Problem(case.problem.manifold, case.problem.cost)
    solver = riemtr.PracticalTRM(goal="first-order")
    with_it, without = (solver.solve(problem, case.start) for problem in (case.problem, plain))
    assert with_it.cost == pytest.approx(without.cost, rel=1e-6)
    assert with_it.counts.hessian_products < 0.5 * without.counts.hessian_products


def test_a_motion_of_all_changes_nothing():
    case = build("pose-graph", rng=0)
    turn, shift = riemtr.Rotations(3).random_point(1), np.array([1.0, -2.0, 3.0])
    rotations, places = case.start
    moved = [turn @ rotations, places @ turn.T + shift]
    assert case.problem.at(moved).cost == pytest.approx(case.problem.at(case.start).cost)
    assert case.truth.error(moved) == pytest.approx(case.truth.error(case.start))


def triangle(information):
    return " ".join(f"{x:.17g}" for x in information[np.triu_indices(len(information))])


def written(path, graph, rng, names=None):
    """Write a pose graph, with random information matrices, as other programs do."""
    names = np.arange(graph.size) if names is None else names
    d, lines = graph.dimension, ["# a comment", "FIX 0"]
    size = 3 if d == 2 else 6
    for i, j, turn, move in zip(graph.tails, graph.heads, graph.turns, graph.moves, strict=True):
        root = rng.standard_normal((size, 2 * size))
        information = triangle(root @ root.T)
        if d == 2:
            turned = [np.arctan2(turn[1, 0], turn[0, 0])]
        else:
            turned = rng.uniform(0.5, 2.0) * Rotation.from_matrix(turn).as_quat()
        pose = " ".join(f"{x:.17g}" for x in [*move, *turned])
        tag = "EDGE_SE2" if d == 2 else "EDGE_SE3:QUAT"
        lines.append(f"{tag} {names[i]} {names[j]} {pose} {information}")
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("d", [2, 3])
def test_g2o_files_are_read_as_written(d, tmp_path):
    rng = np.random.default_rng(0)
    case = build("pose-graph", rng=1, k=8, d=d, noise=0.0)
    graph, names = case.truth.details["graph"], 7 * np.arange(8) + 3
    written(tmp_path / "poses.g2o", graph, rng, names)
    found = read_g2o(tmp_path / "poses.g2o")
    np.testing.assert_array_equal(found.names, names)
    np.testing.assert_array_equal(found.tails, graph.tails)
    np.testing.assert_array_equal(found.heads, graph.heads)
    np.testing.assert_allclose(found.turns, graph.turns, atol=1e-12)
    np.testing.assert_allclose(found.moves, graph.moves, atol=1e-12)
    # Without noise the weights do not matter, and the planted poses solve the file's problem.
    read = build("pose-graph", rng=0, file=str(tmp_path / "poses.g2o"))
    result = ACCURATE.solve(read.problem, read.start)
    assert result.certified
    assert result.cost == pytest.approx(0.0, abs=1e-12)
    assert case.truth.error(result.point) < 1e-6
    assert read.truth.distance is None
    assert result.certificate.lower_bound == pytest.approx(0.0, abs=1e-9)


def test_information_becomes_isotropic_weights(tmp_path):
    plane = "EDGE_SE2 0 1 1 0 0.5 4 0 0 4 0 9\n"
    (tmp_path / "plane.g2o").write_text(plane)
    graph = read_g2o(tmp_path / "plane.g2o")
    assert graph.move_weights == pytest.approx([4.0])
    assert graph.turn_weights == pytest.approx([4.5])  # |R - M|^2 / 2 is the squared angle
    np.testing.assert_allclose(graph.turns[0] @ [1.0, 0.0], [np.cos(0.5), np.sin(0.5)])
    diagonal = np.diag([1.0, 2.0, 2.0, 1.0, 1.0, 4.0])
    space = f"EDGE_SE3:QUAT 5 2 1 2 3 0 0 1 1 {triangle(diagonal)}\n"
    (tmp_path / "space.g2o").write_text(space)
    graph = read_g2o(tmp_path / "space.g2o")
    assert graph.move_weights == pytest.approx([3.0 / 2.0])
    assert graph.turn_weights == pytest.approx([0.5 * 3.0 / 2.25])
    np.testing.assert_allclose(graph.turns[0] @ [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], atol=1e-15)
    assert (graph.tails, graph.heads) == ([1], [0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("VERTEX_SE2 0 0 0 0\n", "file must have edges EDGE_SE2 or EDGE_SE3:QUAT"),
        ("EDGE_SE2 0 1 1 0 0.5 4 0 0 4 0\n", "11 finite numbers after EDGE_SE2 in line 1"),
        ("\nEDGE_SE2 0 1 1 0 x 4 0 0 4 0 9\n", "11 finite numbers after EDGE_SE2 in line 2"),
        ("EDGE_SE2 0 1 1 0 0 -4 0 0 4 0 9\n", "positive definite information"),
        (
            "EDGE_SE2 0 1 1 0 0 4 0 0 4 0 9\nEDGE_SE2 2 3 1 0 0 4 0 0 4 0 9\n",
            "connect all poses; they leave 2 parts",
        ),
    ],
)
def test_files_that_are_none(text, message, tmp_path):
    (tmp_path / "bad.g2o").write_text(text)
    with pytest.raises(ValueError, match=message):
        build("pose-graph", rng=0, file=str(tmp_path / "bad.g2o"))


def test_wrong_parameters():
    with pytest.raises(ValueError, match="d must be an integer from 2 to 3; got 4"):
        build("pose-graph", rng=0, d=4)
    with pytest.raises(ValueError, match="initial must be one of 'chordal', 'random'"):
        build("pose-graph", rng=0, initial="odometry")
    with pytest.raises(OSError, match="no_such_file"):
        build("pose-graph", rng=0, file="no_such_file.g2o")
