"""``riemtr solve`` on a g2o file of the kind that everybody has: the sphere of the g2o examples."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from typer.testing import CliRunner

from riemtr.cli.app import app

LAPS, STEPS, RADIUS = 8, 8, 5.0
MOVE_NOISE, TURN_NOISE = 0.05, 0.02


def written_sphere(path):
    """Write a walk around a sphere from pole to pole, and return how many edges it has.

    Neighbours along the walk and from one lap to the next see each other, as in sphere2500.
    """
    rng = np.random.default_rng(0)
    count = LAPS * STEPS
    walk = np.arange(count)
    angles = np.stack([2.0 * np.pi * walk / STEPS, np.pi * (walk / count - 0.5)], axis=1)
    rotations = Rotation.from_euler("ZY", angles)
    places = rotations.apply([RADIUS, 0.0, 0.0])
    lines = [f"VERTEX_SE3:QUAT {i} {joined([*places[i], *rotations[i].as_quat()])}" for i in walk]
    information = np.diag([MOVE_NOISE**-2] * 3 + [TURN_NOISE**-2] * 3)[np.triu_indices(6)]
    edges = [(i, i + 1) for i in walk[:-1]] + [(i, i + STEPS) for i in walk[:-STEPS]]
    for i, j in edges:
        noise = Rotation.from_rotvec(TURN_NOISE * rng.standard_normal(3))
        turn = rotations[i].inv() * rotations[j] * noise
        move = rotations[i].inv().apply(places[j] - places[i])
        move = move + MOVE_NOISE * rng.standard_normal(3)
        measured = joined([*move, *turn.as_quat(), *information])
        lines.append(f"EDGE_SE3:QUAT {i} {j} {measured}")
    path.write_text("\n".join(lines) + "\n")
    return len(edges)


def joined(numbers):
    return " ".join(f"{number:.6g}" for number in numbers)


def test_the_sphere_is_solved_and_its_minimum_proved(tmp_path):
    file, out = tmp_path / "sphere.g2o", tmp_path / "found.json"
    edges = written_sphere(file)
    asked = ["solve", "pose-graph", "-p", f"file={file}", "--no-progress", "--out", str(out)]
    ended = CliRunner().invoke(app, asked)
    assert ended.exit_code == 0, ended.output
    assert "no point anywhere is lower by more than" in ended.output
    found = json.loads(out.read_text())
    assert found["certified"]
    # Weighted by the information, twice the cost is chi-squared: a degree of freedom for each
    # number measured, less one for each that is found.
    freedom = 6 * edges - 6 * (LAPS * STEPS - 1)
    assert 2.0 * found["cost"] == pytest.approx(freedom, abs=4.0 * np.sqrt(2.0 * freedom))
