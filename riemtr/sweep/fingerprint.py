"""What a task does, in a short string: its code, and that of the functions of its module it uses.

Numbers of its module that it uses are part of it, and methods of classes there. What the task has
from another module is not, nor are texts and arrays.
"""

from __future__ import annotations

import dis
import hashlib
import inspect
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

from riemtr.bytecode import described_code, described_constant


def fingerprint(task: Callable[..., Any]) -> str:
    """Return the fingerprint of a task's code, after the kind of Python that compiled it.

    Examples
    --------
    >>> def task(rng, n):
    ...     return {"twice": 2 * n}
    >>> first = fingerprint(task)
    >>> def task(rng, n):
    ...     '''Say what it does.'''
    ...     return {"twice": 2 * n}  # and why
    >>> fingerprint(task) == first
    True
    >>> def task(rng, n):
    ...     return {"twice": 3 * n}
    >>> fingerprint(task) == first
    False
    """
    digest = hashlib.sha256()
    for function in _functions(task):
        digest.update(repr([function.__qualname__, *_described(function)]).encode())
    return f"{_compiler()}:{digest.hexdigest()[:32]}"


def is_other(code: str | None, known: str | None) -> bool:
    """Whether two fingerprints show other code; those of two compilers, or none, show nothing.

    Examples
    --------
    >>> is_other("cpython-312:aa", "cpython-312:bb"), is_other("cpython-312:aa", "cpython-313:bb")
    (True, False)
    """
    if code is None or known is None or code == known:
        return False
    return code.partition(":")[0] == known.partition(":")[0]


def _compiler() -> str:
    """What decides how the same source is compiled."""
    return f"{sys.implementation.cache_tag}-{sys.flags.optimize}"


def _functions(task: Any) -> list[FunctionType]:
    """The task and whatever of its own module it refers to, each once."""
    found: list[FunctionType] = []
    classes: list[type] = []
    waiting = [task]
    while waiting:
        one = waiting.pop()
        if inspect.isfunction(one) and one not in found:
            found.append(one)
            waiting += [other for _, other in _mentioned(one) if _belongs(other, task)]
        elif inspect.isclass(one) and one not in classes:
            classes.append(one)
            parts = [_unwrapped(part) for part in vars(one).values()]
            waiting += [part for part in parts if _belongs(part, task)]
    # By name: the order in which they were met depends on how the code is laid out.
    return sorted(found, key=lambda function: function.__qualname__)


def _mentioned(function: FunctionType) -> Iterator[tuple[str, Any]]:
    for code in _codes(function.__code__):
        for name in code.co_names:
            if name in function.__globals__:
                yield name, function.__globals__[name]
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    for name, cell in cells:  # such as what a decorator was put around
        try:
            yield name, cell.cell_contents
        except ValueError:  # not filled yet
            continue


def _unwrapped(part: Any) -> Any:
    """The function of a property, or of a static or class method."""
    return getattr(part, "fget", None) or getattr(part, "__func__", part)


def _belongs(other: Any, task: Any) -> bool:
    return getattr(other, "__module__", None) == task.__module__


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and those inside it: lambdas, comprehensions, functions."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _rebound(function: FunctionType) -> set[str]:
    """Names outside it that a function sets, as counters: what they hold is no part of the code."""
    return {
        step.argval
        for code in _codes(function.__code__)
        for step in dis.get_instructions(code)
        if step.opname in ("STORE_GLOBAL", "STORE_DEREF")
    }


def _is_number(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_number, value))
    return isinstance(value, bool | int | float | complex)


def _described(function: FunctionType) -> list[Any]:
    defaults = [*(function.__defaults__ or ()), *sorted((function.__kwdefaults__ or {}).items())]
    constants = {
        name: repr(described_constant(value))
        for name, value in _mentioned(function)
        if _is_number(value) and name not in _rebound(function)
    }
    return [
        described_code(function.__code__),
        [described_constant(value) for value in defaults],
        sorted(constants.items()),
    ]
