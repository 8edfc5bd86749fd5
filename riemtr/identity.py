"""The identity of a run: whether it is the same as an earlier one, and how two differ, in words.

An identity is made of what JSON knows: settings as they are, solvers and other objects by their
attributes, functions by their source, data by a hash. A changed comment, layout or docstring leaves
the source as it is.
"""

from __future__ import annotations

import ast
import dataclasses
import dis
import functools
import hashlib
import inspect
import pickle
import sys
import types
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

# A difference in hashes says nothing to anybody: it is told by the name of what was hashed.
_HASH = "sha256:"
# So many differences are named in a message; the others are counted.
_SHOWN = 3
# A longer value is cut in a message.
_LONGEST = 60
# A container with more items is hashed, so that an identity stays short.
_LISTED = 20
_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_BUILT_IN = (type, types.ModuleType, types.BuiltinFunctionType, np.ufunc)


def digest(*parts: Any) -> str:
    """Return a hash of bytes, arrays, or of the description of anything else.

    Examples
    --------
    >>> digest(b"a") == digest(b"a"), digest(b"a") == digest(b"b")
    (True, False)
    """
    found = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray) and not part.dtype.hasobject:
            found.update(f"{part.dtype.str} {part.shape} ".encode())
            for row in part if part.ndim > 1 else [part]:  # without a copy of the whole
                found.update(np.ascontiguousarray(row).tobytes())
        else:
            found.update(part if isinstance(part, bytes) else repr(describe(part)).encode())
    return f"{_HASH}{found.hexdigest()[:32]}"


def difference(there: Any, here: Any) -> list[str]:
    """Say how two identities differ, part by part; nothing where they are the same.

    Examples
    --------
    >>> difference({"mu": 0.1, "Y": "sha256:a"}, {"mu": 0.2, "Y": "sha256:b"})
    ['mu: 0.1 there, 0.2 here', 'Y: not the same']
    """
    found = list(_differences(there, here, ""))
    more = len(found) - _SHOWN
    return found[:_SHOWN] + ([f"and {more} more"] if more > 0 else [])


def _differences(there: Any, here: Any, name: str) -> Iterator[str]:
    if there == here:
        return
    both = isinstance(there, dict) and isinstance(here, dict) and there.keys() == here.keys()
    # Two kinds of solver differ in everything; that they are two kinds says it all.
    if both and there.get("kind") == here.get("kind"):
        for key, part in there.items():
            yield from _differences(part, here[key], f"{name}, {key}" if name else key)
    elif f"{there}".startswith(_HASH) and f"{here}".startswith(_HASH):
        yield f"{name}: not the same"
    else:
        yield f"{name}: {_in_short(there)} there, {_in_short(here)} here"


def _in_short(value: Any) -> str:
    if isinstance(value, dict):
        value = value.get("kind", ", ".join(value))
    text = str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def describe(value: Any) -> Any:
    """Return what a value consists of, as JSON knows it and the same in every process.

    Objects are described by their attributes, theirs and so on; functions by their source, defaults
    and closures; an object that shows no attributes by its pickle or, without one, by its type.

    Examples
    --------
    >>> from fractions import Fraction
    >>> describe(Fraction(2, 3))
    {'kind': 'fractions.Fraction', '_numerator': '2', '_denominator': '3'}
    """
    return _described(value, ())


def _described(value: Any, above: tuple[int, ...]) -> Any:
    if isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        return _described(array.tolist(), above) if array.dtype.hasobject else digest(array)
    if isinstance(value, _BUILT_IN):
        return _name_of(value)
    if id(value) in above:
        return "part of itself"
    inside = functools.partial(_described, above=(*above, id(value)))
    if isinstance(value, Mapping):
        items = {repr(key): inside(part) for key, part in value.items()}
        return items if len(items) <= _LISTED else digest(repr(items).encode())
    if isinstance(value, list | tuple | set | frozenset):
        parts = list(map(inside, value))
        ordered = sorted(parts, key=repr) if isinstance(value, set | frozenset) else parts
        return ordered if len(parts) <= _LISTED else digest(repr(ordered).encode())
    attributes = _attributes(value)
    if attributes is None:
        with suppress(Exception):  # whatever an object of others raises that cannot be pickled
            return f"{_name_of(type(value))} {digest(pickle.dumps(value))}"
    return {
        "kind": _name_of(value if inspect.isfunction(value) else type(value)),
        **{name: inside(part) for name, part in (attributes or {}).items()},
    }


def _attributes(value: Any) -> dict[str, Any] | None:
    """Return what an object was made of, None if it does not show."""
    if inspect.isfunction(value):
        cells = [cell.cell_contents for cell in value.__closure__ or () if _is_filled(cell)]
        given = {"source": source_of(value), "defaults": value.__defaults__, "closure": cells}
        return given | {"keywords": value.__kwdefaults__}
    if inspect.ismethod(value):
        return {"function": value.__func__, "of": value.__self__}
    if isinstance(value, functools.partial):
        return {"function": value.func, "arguments": value.args, "named": value.keywords}
    if isinstance(value, np.random.Generator):
        return {"state": value.bit_generator.state}
    if dataclasses.is_dataclass(value):  # and not what it cached since
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    slots = [slot for kind in type(value).__mro__ for slot in _slots(kind) if hasattr(value, slot)]
    if not slots and not hasattr(value, "__dict__"):
        return None
    return {slot: getattr(value, slot) for slot in slots} | getattr(value, "__dict__", {})


def _slots(kind: type) -> list[str]:
    slots = kind.__dict__.get("__slots__", ())
    named = (slots,) if isinstance(slots, str) else tuple(slots)
    return [name for name in named if name not in ("__dict__", "__weakref__")]


def _is_filled(cell: types.CellType) -> bool:
    with suppress(ValueError):
        return cell.cell_contents is not cell
    return False


def _name_of(value: Any) -> str:
    module = getattr(value, "__module__", None)
    name = getattr(value, "__qualname__", getattr(value, "__name__", repr(type(value))))
    return f"{module}.{name}" if module else name


def code_of(kind: type) -> str:
    """Return a hash of the source of a class's methods, those it inherits included."""
    methods = {
        f"{base.__qualname__}.{name}": f"{_name_of(part)} {source_of(part)}"
        for base in kind.__mro__
        for name, part in vars(base).items()
        if inspect.isfunction(part)
    }
    return digest(repr(sorted(methods.items())).encode())


def source_of(function: Any) -> str:
    """Return a hash of a function's source and of what it names in its module, after the Python.

    That is other functions, classes and constants, those that these name included; not what comes
    from other modules. A function without a file, as in a notebook, or whose file was edited since
    it was imported, is told by its compiled code, that of the functions it names, and the numbers
    and texts it names.

    Examples
    --------
    >>> def task(rng, n):
    ...     return {"twice": 2 * n}
    >>> first = source_of(task)
    >>> def task(rng, n):
    ...     return {"twice": 2 * n}  # of what is given
    >>> source_of(task) == first
    True
    >>> def task(rng, n):
    ...     return {"twice": 3 * n}
    >>> source_of(task) == first
    False
    """
    inner = inspect.unwrap(function)
    module, text = sys.modules.get(inner.__module__), None
    if module is not None and vars(module) is inner.__globals__:
        with suppress(OSError, TypeError, SyntaxError, ValueError):
            text = _named_source(inspect.getsource(module), inner)
    if text is None:
        text = repr(_compiled(inner, set()))
    # The same source is parsed and compiled otherwise by another Python.
    return f"{sys.implementation.cache_tag}:{digest(text.encode())}"


def is_other_source(one: str | None, other: str | None) -> bool:
    """Whether two hashes show other code; those of two Pythons, or none, show nothing.

    Examples
    --------
    >>> is_other_source("cpython-312:a", "cpython-312:b")
    True
    >>> is_other_source("cpython-312:a", "cpython-313:b")
    False
    """
    if one is None or other is None or one == other:
        return False
    return one.partition(":")[0] == other.partition(":")[0]


def _named_source(source: str, function: types.FunctionType) -> str | None:
    """Return the statements of a module that define a function and what it names."""
    definitions, codes = _parsed(source)
    if function.__code__ not in codes:
        return None  # the file was edited since it was imported
    waiting, found = [function.__qualname__.split(".")[0]], {}
    while waiting:
        for statement in definitions.get(waiting.pop(), []):
            if statement not in found:
                found[statement] = ast.dump(statement)
                inside = ast.walk(statement)
                waiting += [node.id for node in inside if isinstance(node, ast.Name)]
    return "\n".join(sorted(found.values()))


@functools.lru_cache(maxsize=64)
def _parsed(source: str) -> tuple[dict[str, list[ast.stmt]], list[types.CodeType]]:
    """Return the statements of a module by the names they define, and its compiled code."""
    codes = list(_all_codes(compile(source, "", "exec", dont_inherit=True)))
    definitions: dict[str, list[ast.stmt]] = {}
    for statement in ast.parse(source).body:
        names = {getattr(statement, "name", "")}
        for node in ast.walk(statement):
            body = getattr(node, "body", None)
            if isinstance(body, list) and _is_docstring(body[:1]):
                node.body = body[1:]  # type: ignore[attr-defined]
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
        if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            names = {statement.name}  # what is set inside is its own affair
        for name in names:
            definitions.setdefault(name, []).append(statement)
    return definitions, codes


def _is_docstring(body: list[ast.stmt]) -> bool:
    value = body[0].value if body and isinstance(body[0], ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _all_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _all_codes(constant)


def _compiled(function: types.FunctionType, seen: set[str]) -> list[Any]:
    """Return the instructions of a function and of those it names, and the constants it names."""
    seen.add(function.__qualname__)
    steps = [
        (step.opname, _constant(step.argval))
        for code in _all_codes(function.__code__)
        for step in dis.get_instructions(code)
        if step.opname != "EXTENDED_ARG"
    ]
    own = {name for operation, name in steps if operation == "STORE_GLOBAL"}  # such as a counter
    names = {name for code in _all_codes(function.__code__) for name in code.co_names}
    named = {name: function.__globals__.get(name) for name in sorted(names)}
    constants = [(k, v) for k, v in named.items() if isinstance(v, _PLAIN) and repr(k) not in own]
    others = [
        _compiled(other, seen)
        for other in named.values()
        if inspect.isfunction(other)
        and other.__module__ == function.__module__
        and other.__qualname__ not in seen
    ]
    return [steps, [pair for pair in constants if not pair[0].startswith("__")], others]


def _constant(value: Any) -> Any:
    """Return a constant in a form that depends on no hash or address."""
    if isinstance(value, tuple):
        return list(map(_constant, value))
    if isinstance(value, frozenset):
        return sorted(map(repr, value))
    return repr(value) if isinstance(value, _PLAIN) else type(value).__name__
