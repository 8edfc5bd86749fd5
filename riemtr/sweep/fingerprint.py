"""What a task does, in a short string: its code, and that of the functions of its module it uses.

Numbers, texts, arrays and containers of its module that it uses are part of it, and methods of
classes there. Not covered: what the task has from another module; objects of other kinds,
attributes of classes, and files; what a container or an array holds beyond its first parts; what
was put into a container in this process after its first fingerprint, as into a cache. A text that
names the time or a temporary folder makes every start another experiment.
"""

from __future__ import annotations

import dis
import hashlib
import inspect
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from riemtr.bytecode import described_code

_SCALARS = (bool, int, float, complex, str, bytes, type(None))
_CONTAINERS = (tuple, list, dict, set, frozenset)
_PLAIN = (*_SCALARS, *_CONTAINERS, np.ndarray, np.generic)
# Enough to notice an edit, and soon done however much there is, in circles or not.
_MOST_PARTS = 100_000
_MOST_BYTES = 64 * 2**20
_DEEPEST = 20

# By the object's id, with the object, so that no other one gets it.
_first_digests: dict[int, tuple[Any, str]] = {}


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
    # And the way it is described here, so that older fingerprints show nothing.
    return f"{sys.implementation.cache_tag}-{sys.flags.optimize}-2"


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


def _described(function: FunctionType) -> list[Any]:
    defaults = [*(function.__defaults__ or ()), *sorted((function.__kwdefaults__ or {}).items())]
    constants = {
        name: _digest(value)
        for name, value in _mentioned(function)
        if isinstance(value, _PLAIN)
        and name not in _rebound(function)
        and not name.startswith("__")  # such as __file__, which says where the code is
    }
    return [
        described_code(function.__code__),
        [_digest(value) for value in defaults],
        sorted(constants.items()),
    ]


def _digest(value: Any) -> str:
    """Return a digest of what a value holds, of a container that of its first fingerprint."""
    if isinstance(value, _SCALARS):
        return _hashed(value)
    # The task may fill it, as a cache; another one of the same name is another object.
    kept = _first_digests.setdefault(id(value), (value, _hashed(value)))
    return kept[1]


def _hashed(value: Any) -> str:
    digest = hashlib.sha256()
    for part in itertools.islice(_parts(value), _MOST_PARTS):
        digest.update(repr(part).encode())
    return digest.hexdigest()


def _parts(value: Any, depth: int = 0) -> Iterator[Any]:
    """What a value is made of, the same in every process; of other objects only their type."""
    yield type(value).__name__
    if isinstance(value, np.ndarray | np.generic):
        flat = np.asarray(value)
        yield str(flat.dtype), flat.shape
        if not flat.dtype.hasobject:
            first = flat.flat[: _MOST_BYTES // max(flat.dtype.itemsize, 1)]
            yield hashlib.sha256(first.tobytes()).hexdigest()
    elif isinstance(value, _SCALARS):
        yield value
    elif isinstance(value, _CONTAINERS):
        yield len(value)
        inside: Iterable[Any] = value.items() if isinstance(value, dict) else value
        if isinstance(value, set | frozenset):  # their order depends on hashes
            inside = sorted(map(_hashed, value)) if len(value) <= _MOST_PARTS else ()
        for part in inside if depth < _DEEPEST else ():
            yield from _parts(part, depth + 1)
