import json

import numpy as np
import pytest

from riemtr.sweep.cells import Cell
from riemtr.sweep.outcomes import run_cell

CELL = Cell("t", {"n": 2}, 0)


def returning(value):
    return run_cell(lambda rng, n: value, CELL)


def test_results_become_plain_numbers():
    values = returning({"a": np.float64(0.5), "b": np.bool_(True), "c": None, "d": "x"}).values
    assert values == {"a": 0.5, "b": True, "c": None, "d": "x"}
    json.dumps(values)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (3, "TypeError: the task must return a dict of numbers and strings; got int"),
        (None, "got NoneType"),
        ({"a": np.zeros(3)}, "TypeError: the task returned as 'a': expected a number"),
        ({"n": 3}, "neither settings nor one of"),
        ({"seed": 3}, "got 'seed'"),
        ({1: 3}, "got 1"),
    ],
)
def test_what_is_no_result_is_a_failure(value, message):
    outcome = returning(value)
    assert message in str(outcome.failure)
    assert outcome.values == {}


def test_a_failure_has_its_error_and_the_innermost_calls():
    def deep(depth):
        if depth == 0:
            raise KeyError("the culprit")
        deep(depth - 1)

    failure = run_cell(lambda rng, n: deep(50), CELL).failure
    assert (failure.kind, failure.message) == ("KeyError", "'the culprit'")
    assert 'raise KeyError("the culprit")' in failure.traceback
    assert failure.traceback.count("in deep") == 4


def test_a_huge_message_is_cut():
    def shout(rng, n):
        raise ValueError("x" * 10**6)

    failure = run_cell(shout, CELL).failure
    assert len(failure.message) + len(failure.traceback) < 10_000


def test_leaving_python_is_a_failure_and_ctrl_c_is_not():
    def leave(rng, n):
        raise SystemExit(3)

    def interrupt(rng, n):
        raise KeyboardInterrupt

    assert run_cell(leave, CELL).failure.kind == "SystemExit"
    with pytest.raises(KeyboardInterrupt):
        run_cell(interrupt, CELL)
