"""What a solver is made of: everything that could change what it finds, and no addresses."""

import functools
import os
import subprocess
import sys
from dataclasses import dataclass, field

import numpy as np
import pymanopt
import pytest

import riemtr
from riemtr.interop.pymanopt import PymanoptSolver
from riemtr.recovery.solver_state import solver_state


class Mine:
    def __init__(self, limit=1, **parts):
        self.limit = limit
        self.__dict__.update(parts)


class Slotted:
    __slots__ = ("limit", "unset")

    def __init__(self, limit):
        self.limit = limit


@dataclass
class Cached:
    limit: int
    parts: list = field(default_factory=list)


def conjugate_gradients(rule):
    return PymanoptSolver(pymanopt.optimizers.ConjugateGradient(beta_rule=rule))


def times(factor):
    return lambda x: factor * x


@pytest.mark.parametrize(
    ("make", "one", "other"),
    [
        (Mine, 1, 500),
        (Slotted, 1, 500),
        (Cached, 1, 500),
        (lambda v: Mine(inner=Mine(v)), 1, 500),
        (lambda v: Mine(table=np.arange(3.0) + v), 0.0, 1e-16 + 1.0),
        (lambda v: Mine(many=[*range(100), v]), 1, 2),
        (lambda v: Mine(names={"a": v}), "x", "y"),
        (lambda v: Mine(rng=np.random.default_rng(v)), 0, 1),
        (lambda v: Mine(step=times(v)), 2.0, 3.0),
        (lambda v: Mine(step=functools.partial(max, v)), 2.0, 3.0),
        (lambda v: Mine(step=eval(f"lambda x: x + {v}")), 2, 3),
        (lambda v: Mine(step=Mine(v).__init__), 2, 3),
        (lambda v: riemtr.PracticalTRM(tolerance=v), 1e-2, 1e-3),
        (conjugate_gradients, "HestenesStiefel", "PolakRibiere"),
    ],
)
def test_it_is_the_same_for_equal_solvers_and_another_for_others(make, one, other):
    assert solver_state(make(one)) == solver_state(make(one))
    assert solver_state(make(one)) != solver_state(make(other))
    assert not any(" at 0x" in text for text in solver_state(make(one)).values())


def test_values_are_found_under_their_names():
    state = solver_state(Mine(7, inner=Mine(8, parts=[1.5, "a"])))
    assert state["limit"] == "7"
    assert state["inner.limit"] == "8"
    assert state["inner.parts.[0]"] == "1.5"
    assert state[""].endswith("Mine")
    assert solver_state(None) is None


def test_what_is_part_of_itself_ends():
    solver = Mine()
    solver.me = solver
    assert solver_state(solver)["me"] == "part of itself"


def test_what_shows_nothing_and_cannot_be_pickled_is_known_by_its_type():
    assert solver_state(Mine(items=iter_forever()))["items"] == "builtins.generator"


def iter_forever():
    yield


def test_a_function_is_the_same_in_every_process(tmp_path):
    (tmp_path / "users_rule.py").write_text(
        "from riemtr.recovery.solver_state import solver_state\n"
        "def rule(x):\n"
        "    return x in {'alpha', 'beta', 'gamma', 'delta'}\n"
        "print(solver_state(rule))\n"
    )
    said = {
        subprocess.run(
            [sys.executable, str(tmp_path / "users_rule.py")],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in (1, 2, 3)
    }
    assert len(said) == 1
