"""What makes a run the same: everything that could change what it finds, and no addresses."""

import functools
import importlib
import itertools
import os
import subprocess
import sys
import types
from dataclasses import dataclass, field

import numpy as np
import pymanopt
import pytest

import riemtr
from riemtr.identity import code_of, describe, difference, digest, is_other_source, source_of
from riemtr.interop.pymanopt import PymanoptSolver

# --- in words ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("there", "here", "said"),
    [
        ({"mu": 0.1, "n": 2}, {"mu": 0.2, "n": 2}, ["mu: 0.1 there, 0.2 here"]),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, ["a, c: 2 there, 3 here"]),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 3}}, ["a: b there, b, c here"]),
        ({"Y": "sha256:1"}, {"Y": "sha256:2"}, ["Y: not the same"]),
        ({"s": {"kind": "A"}}, {"s": {"kind": "B", "x": 1}}, ["s: A there, B here"]),
        ({"s": {"kind": "A"}}, {"s": "None"}, ["s: A there, None here"]),
        ({"a": "x" * 100}, {"a": 1}, [f"a: {'x' * 60}... there, 1 here"]),
        ({"a": float("inf")}, {"a": float("inf")}, []),
    ],
)
def test_differences_are_named(there, here, said):
    assert difference(there, here) == said
    assert difference(there, there) == []


def test_many_differences_are_counted():
    there, here = (dict.fromkeys("abcde", number) for number in (1, 2))
    assert difference(there, here)[2:] == ["c: 1 there, 2 here", "and 2 more"]


# --- objects and data ----------------------------------------------------------------------------


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
def test_it_is_the_same_for_equal_objects_and_another_for_others(make, one, other):
    assert describe(make(one)) == describe(make(one))
    assert describe(make(one)) != describe(make(other))
    assert " at 0x" not in repr(describe(make(one)))


def test_values_are_found_under_their_names():
    found = describe(Mine(7, inner=Mine(8, parts=[1.5, "a"])))
    assert found["limit"] == "7"
    assert found["inner"]["limit"] == "8"
    assert found["inner"]["parts"] == ["1.5", "'a'"]
    assert found["kind"].endswith("Mine")
    assert describe(None) == "None"


def test_what_is_part_of_itself_ends():
    solver = Mine()
    solver.me = solver
    assert describe(solver)["me"] == "part of itself"


def test_what_shows_nothing_and_cannot_be_pickled_is_known_by_its_type():
    assert describe(Mine(items=iter_forever()))["items"] == {"kind": "builtins.generator"}


def iter_forever():
    yield


def test_data_are_the_same_bit_for_bit_whatever_their_layout():
    Y = np.random.default_rng(0).standard_normal((4, 6))
    other = Y.copy()
    other[2, 3] = np.nextafter(other[2, 3], 1)
    found = [digest(a) for a in (Y, other, Y.reshape(6, 4), Y.astype(np.float32), Y.ravel())]
    assert len(set(found)) == 5
    assert digest(np.asfortranarray(Y)) == found[0]


# --- code ----------------------------------------------------------------------------------------

BASE = """
SCALE, TABLE = 1.5, {"a": [1, 2]}
CALLS = []

class Model:
    def value(self):
        return 2

def helper(n):
    return n + TABLE["a"][0]

def unused(n):
    return n

def twice(function):
    return function

@twice
def task(rng, n, scale=2.0, *, kind="a"):
    '''Do it.'''
    CALLS.append(n)
    words = {"x", "y", "z"}
    total = sum(i for i in range(n))
    return {"value": SCALE * helper(n) + total + Model().value(), "in": kind in words}

if __name__ == "__main__":
    print(task(None, 3))
"""


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Return the source of a task in a module of a file, or as a notebook has it."""
    monkeypatch.syspath_prepend(str(tmp_path))
    numbers = itertools.count()

    def made(source, *, file=True):
        if file:
            path = tmp_path / str(next(numbers))
            path.mkdir()
            (path / "made_up.py").write_text(source)
            monkeypatch.syspath_prepend(str(path))
            monkeypatch.delitem(sys.modules, "made_up", raising=False)
            return importlib.import_module("made_up").task
        module = types.ModuleType("made_up")
        exec(compile(source, "<cell>", "exec"), module.__dict__)
        return module.task

    return made


@pytest.mark.parametrize(
    ("old", "new", "file"),
    [
        ("scale=2.0", "scale=3.0", True),
        ('kind="a"', 'kind="b"', True),
        ("n + TABLE", "n - TABLE", True),
        ("n + TABLE", "n - TABLE", False),
        ("helper(n) +", "helper(n) -", False),
        ("i for i", "-i for i", True),
        ("i for i", "-i for i", False),
        ('"z"', '"w"', False),
        ("SCALE, TABLE = 1.5", "SCALE, TABLE = 2.5", True),
        ("SCALE, TABLE = 1.5", "SCALE, TABLE = 2.5", False),
        ("[1, 2]", "[1, 3]", True),
        ("return 2", "return 3", True),
        ("    return function", "    return lambda *args: function(*args)", True),
    ],
)
def test_other_code_is_noticed(made, old, new, file):
    assert old in BASE
    first, other = (source_of(made(source, file=file)) for source in (BASE, BASE.replace(old, new)))
    assert is_other_source(first, other)


@pytest.mark.parametrize("file", [True, False])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("'''Do it.'''", "'''Do it, please.'''"),
        ("    '''Do it.'''\n", "    # with a comment instead\n\n"),
        ("def unused(n):\n    return n", "def unused(n):\n    return 7"),
        ("print(task(None, 3))", "print(task(None, 4))"),
    ],
)
def test_what_makes_no_difference_makes_none(made, old, new, file):
    first, same = (source_of(made(source, file=file)) for source in (BASE, BASE.replace(old, new)))
    assert first == same


@pytest.mark.parametrize("file", [True, False])
def test_what_a_task_remembers_is_no_part_of_its_code(made, file):
    task = made(BASE, file=file)
    before = source_of(task)
    task(None, 3)
    assert source_of(task) == before


def test_a_file_that_was_edited_since_is_not_taken_for_the_code_that_runs(made):
    task = made(BASE)
    before = source_of(task)
    path = sys.modules["made_up"].__file__
    edited = BASE.replace("i for i", "-i for i")
    with open(path, "w") as file:
        file.write(edited)
    assert source_of(task) not in (before, source_of(made(edited)))


def test_functions_that_call_each_other_end(made):
    source = """
def even(n): return n == 0 or odd(n - 1)
def odd(n): return n != 0 and even(n - 1)
def task(rng, n=object()): return {"even": even(n)}
"""
    for file in (True, False):
        assert source_of(made(source, file=file)) == source_of(made(source, file=file))


def test_it_is_the_same_in_every_process(tmp_path):
    (tmp_path / "made_up.py").write_text(BASE)
    lines = "namespace = {'__name__': 'cell'}; exec(open('made_up.py').read(), namespace)"
    script = (
        "import made_up; from riemtr.identity import describe\n"
        f"{lines}\nprint(describe(made_up.task), describe(namespace['task']))"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", script],
            cwd=tmp_path,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1


def test_nothing_is_concluded_from_another_python_or_from_none():
    assert not is_other_source("cpython-311:a", "cpython-312:b")
    assert not is_other_source(None, "cpython-312:b")
    assert not is_other_source("cpython-312:b", None)


def test_the_code_of_a_class_is_that_of_its_methods_and_those_it_inherits(monkeypatch):
    class Inherits(Mine):
        pass

    before = code_of(Inherits)
    assert before == code_of(Inherits)
    monkeypatch.setattr(Mine, "__init__", lambda self: None)
    assert code_of(Inherits) != before
