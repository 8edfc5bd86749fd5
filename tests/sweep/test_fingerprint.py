import functools
import os
import subprocess
import sys
import types

import numpy as np
import pytest

from riemtr.sweep.fingerprint import fingerprint, is_other


def made(source, name="task"):
    """Return a function of a module whose source is this."""
    namespace = {"__name__": "made_up"}
    exec(compile(source, "made_up.py", "exec"), namespace)
    return namespace[name]


BASE = """
def helper(n):
    return n + 1

def unused(n):
    return n

def task(rng, n, scale=2.0, *, kind="a"):
    '''Do it.'''
    words = {"x", "y", "z"}
    return {"value": scale * helper(n) + sum(i for i in range(n)), "in": kind in words}
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("2.0", "3.0"),
        ('kind="a"', 'kind="b"'),
        ("n + 1", "n + 2"),
        ("helper(n) +", "helper(n) -"),
        ("i for i", "-i for i"),
        ('"value"', '"values"'),
        ('"z"', '"w"'),
    ],
)
def test_another_code_has_another_fingerprint(old, new):
    assert is_other(fingerprint(made(BASE.replace(old, new))), fingerprint(made(BASE)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("'''Do it.'''", "'''Do it, please.'''"),
        ("    '''Do it.'''\n", "    # with a comment instead\n\n"),
        ("def unused(n):\n    return n", "def unused(n):\n    return 7"),
    ],
)
def test_what_makes_no_difference_makes_none(old, new):
    assert fingerprint(made(BASE.replace(old, new))) == fingerprint(made(BASE))


def test_what_a_decorator_is_put_around_counts():
    source = """
import functools
def twice(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        function(*args, **kwargs)
        return function(*args, **kwargs)
    return inner

@twice
def task(rng):
    return {"x": 1}
"""
    other = source.replace('"x": 1', '"x": 2')
    assert fingerprint(made(source)) != fingerprint(made(other))
    assert fingerprint(made(source)) == fingerprint(made(source))


def test_functions_that_call_each_other_and_objects_as_defaults_are_no_trouble():
    source = """
def even(n): return n == 0 or odd(n - 1)
def odd(n): return n != 0 and even(n - 1)
def task(rng, n=object()): return {"even": even(n)}
"""
    assert fingerprint(made(source)) == fingerprint(made(source))


def test_nothing_is_known_of_what_is_no_function_but_it_is_no_error():
    for task in (len, functools.partial(int, "1"), dict):
        assert fingerprint(task) == fingerprint(task)


def test_it_is_the_same_in_every_process(tmp_path):
    (tmp_path / "made_up.py").write_text(BASE)
    script = "import made_up, riemtr.sweep.fingerprint as f; print(f.fingerprint(made_up.task))"
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
    assert not is_other("cpython-311-0:a", "cpython-312-0:b")
    assert not is_other(None, "cpython-312-0:b")
    assert not is_other("cpython-312-0:b", None)


def test_constants_and_classes_of_the_module_are_part_of_it():
    def made(scale, factor):
        module = types.ModuleType("users_module")
        exec(
            f"SCALE = {scale}\n"
            "class Model:\n"
            f"    def value(self): return {factor}\n"
            "def task(rng, n):\n"
            "    return {'out': SCALE * Model().value() * n}\n",
            module.__dict__,
        )
        return fingerprint(module.task)

    assert made(1.0, 2.0) == made(1.0, 2.0)
    assert made(1.0, 2.0) != made(22.0, 2.0)
    assert made(1.0, 2.0) != made(1.0, 3.0)


def test_classes_that_refer_to_each_other_and_counters():
    module = types.ModuleType("users_module")
    exec(
        "COUNT = 0\n"
        "class One: pass\n"
        "class Two:\n"
        "    other = One\n"
        "    @staticmethod\n"
        "    def value(): return 1\n"
        "One.other = Two\n"
        "def task(rng, n):\n"
        "    global COUNT\n"
        "    COUNT += 1\n"
        "    return {'out': One.other.value()}\n",
        module.__dict__,
    )
    first = fingerprint(module.task)
    module.task(None, 1)
    assert fingerprint(module.task) == first
    exec("def value(): return 2\nTwo.value = staticmethod(value)", module.__dict__)
    assert fingerprint(module.task) != first


def with_constant(value, **known):
    module = types.ModuleType("users_module")
    module.__dict__.update(known)
    exec(f"VALUE = {value}\ndef task(rng, n):\n    return {{'out': VALUE}}\n", module.__dict__)
    return module


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("'a'", "'b'"),
        ("b'a'", "b'b'"),
        ("None", "False"),
        ("[1, 2]", "[1, 3]"),
        ("[1, 2]", "(1, 2)"),
        ("{'a': [1, {'b': 2}]}", "{'a': [1, {'b': 3}]}"),
        ("{'a': 1, 'b': 2}", "{'a': 2, 'b': 1}"),
        ("{'a', 'b'}", "{'a', 'c'}"),
        ("np.arange(3)", "np.arange(3.0)"),
        ("np.zeros((2, 3))", "np.zeros((3, 2))"),
        ("{'weights': np.array([1.0, 2.0])}", "{'weights': np.array([1.0, 2.5])}"),
        ("np.arange(6).reshape(2, 3).T", "np.arange(6).reshape(3, 2)"),
        ("np.float64(1.0)", "np.float64(2.0)"),
    ],
)
def test_what_a_constant_holds_counts(one, other):
    first, second, again = (
        fingerprint(with_constant(value, np=np).task) for value in (one, other, one)
    )
    assert first == again
    assert first != second


def test_what_a_default_holds_counts():
    source = "def task(rng, table={'a': 1}): return table"
    assert fingerprint(made(source)) != fingerprint(made(source.replace("1", "2")))
    assert fingerprint(made(source)) == fingerprint(made(source))


def test_a_cache_that_fills_is_the_same_cache():
    module = with_constant("{}")
    first = fingerprint(module.task)
    module.VALUE[1] = "found"
    assert fingerprint(module.task) == first


def test_where_a_module_is_kept_does_not_count():
    source = "def task(rng): return {'where': __file__}"
    one, other = (types.ModuleType("users_module") for _ in range(2))
    one.__file__, other.__file__ = "/here.py", "/there.py"
    for module in (one, other):
        exec(source, module.__dict__)
    assert fingerprint(one.task) == fingerprint(other.task)


def test_circles_and_masses_end_soon():
    module = with_constant("[]")
    module.VALUE.append(module.VALUE)
    wide = with_constant("None")
    wide.VALUE = [0]
    for _ in range(60):
        wide.VALUE = [wide.VALUE, wide.VALUE]  # 2^60 numbers
    large = with_constant("None")
    large.VALUE = np.lib.stride_tricks.as_strided(np.zeros(1), (2**40,), (0,))
    for one in (module, wide, large):
        assert fingerprint(one.task) == fingerprint(one.task)
