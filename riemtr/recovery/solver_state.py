"""What a solver is made of, in words: a checkpoint belongs to the solver that began it.

A repr need not show everything, and Python's own shows nothing: the values of all attributes do.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import pickle
import types
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from riemtr.bytecode import described_code

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_LISTED = 20  # items of a container described one by one; more are hashed


def solver_state(solver: Any) -> dict[str, str] | None:
    """Return what the solver is, by the names of its attributes, theirs and so on; None for None.

    Functions are described by their code, and objects that show no attributes by their pickle, or
    if there is none by their type alone.

    Examples
    --------
    >>> from fractions import Fraction
    >>> solver_state(Fraction(2, 3))
    {'': 'fractions.Fraction', '_numerator': '2', '_denominator': '3'}
    """
    return None if solver is None else dict(_described(solver, "", ()))


def _described(value: Any, name: str, above: tuple[int, ...]) -> Iterator[tuple[str, str]]:
    """Yield names and descriptions of a value and of what it consists of."""
    if isinstance(value, _PLAIN):
        yield name, repr(value)
    elif isinstance(value, np.ndarray | np.generic):
        array = np.ascontiguousarray(value)
        content = repr(array.tolist()) if array.dtype.hasobject else array.tobytes()
        yield name, f"{array.dtype} {np.shape(value)} {_hash(content)}"
    elif isinstance(value, type | types.ModuleType | types.BuiltinFunctionType | np.ufunc):
        yield name, _name_of(value)
    elif id(value) in above:
        yield name, "part of itself"
    else:
        yield name, _head(value)
        for key, part in _parts(value):
            inner = f"{name}.{key}" if name else key
            yield from _described(part, inner, (*above, id(value)))


def _head(value: Any) -> str:
    """What there is to say of a value beside its parts."""
    if isinstance(value, types.FunctionType):
        return f"{_name_of(value)} {_hash(repr(described_code(value.__code__)))}"
    if isinstance(value, Mapping | list | tuple | set | frozenset) and len(value) > _LISTED:
        items = value.items() if isinstance(value, Mapping) else value
        texts = [repr(list(_described(item, "", ()))) for item in items]
        ordered = texts if isinstance(value, list | tuple) else sorted(texts)
        return f"{_name_of(type(value))} of {len(value)} {_hash(repr(ordered))}"
    if isinstance(value, np.random.Generator):
        return f"{_name_of(type(value))} {_hash(repr(value.bit_generator.state))}"
    if _attributes(value) is None and not isinstance(
        value, Mapping | list | tuple | set | frozenset
    ):
        try:
            return f"{_name_of(type(value))} {_hash(pickle.dumps(value))}"
        except Exception:  # whatever an object of others raises that cannot be pickled
            pass
    return _name_of(type(value))


def _parts(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, types.FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or () if _is_filled(cell)]
        names = ("defaults", "keyword defaults", "closure")
        parts = zip(names, (value.__defaults__, value.__kwdefaults__, cells), strict=True)
        return [(key, part) for key, part in parts if part]
    if isinstance(value, types.MethodType):
        return [("function", value.__func__), ("of", value.__self__)]
    if isinstance(value, functools.partial):
        return [("function", value.func), ("arguments", value.args), ("named", value.keywords)]
    if isinstance(value, Mapping | list | tuple | set | frozenset):
        if len(value) > _LISTED:
            return []
        if isinstance(value, Mapping):
            return [(f"[{key!r}]", part) for key, part in value.items()]
        ordered = value if isinstance(value, list | tuple) else sorted(value, key=repr)
        return [(f"[{number}]", part) for number, part in enumerate(ordered)]
    return list((_attributes(value) or {}).items())


def _attributes(value: Any) -> dict[str, Any] | None:
    """Return what an object was made of, None if it does not show."""
    if isinstance(value, np.random.Generator | types.FunctionType):
        return {}
    if dataclasses.is_dataclass(value):  # and not what it cached since
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    slots = [
        name
        for kind in type(value).__mro__
        for name in _slots(kind)
        if name not in ("__dict__", "__weakref__") and hasattr(value, name)
    ]
    if not slots and not hasattr(value, "__dict__"):
        return None
    return {name: getattr(value, name) for name in slots} | getattr(value, "__dict__", {})


def _slots(kind: type) -> tuple[str, ...]:
    slots = kind.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _is_filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _name_of(value: Any) -> str:
    module = getattr(value, "__module__", None)
    name = getattr(value, "__qualname__", getattr(value, "__name__", repr(type(value))))
    return f"{module}.{name}" if module else name


def _hash(content: str | bytes) -> str:
    data = content.encode() if isinstance(content, str) else content
    return hashlib.sha256(data).hexdigest()[:16]
