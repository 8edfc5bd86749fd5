import asyncio
import json

import numpy as np
import pytest

from riemtr.sweep.cells import Cell, run_cell

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
    line = deep.__code__.co_firstlineno + 2
    assert failure.place == f" ({__file__}, line {line})"


def test_a_huge_message_is_cut():
    def shout(rng, n):
        raise ValueError("x" * 10**6)

    failure = run_cell(shout, CELL).failure
    assert len(failure.message) + len(failure.traceback) < 10_000


class WithoutWords(Exception):
    def __str__(self):
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    "error", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError(), WithoutWords()]
)
def test_whatever_the_task_raises_is_a_failure(error):
    def task(rng, n):
        raise error

    assert run_cell(task, CELL).failure.kind == type(error).__name__


def test_a_number_that_no_store_can_hold_is_a_failure():
    failure = returning({"a": 1, "b": 10**5000}).failure
    assert str(failure).startswith("ValueError: the task returned as 'b': Exceeds the limit")
