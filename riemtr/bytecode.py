"""What a function does, in a form that is the same in every process.

Taken from the bytecode and not from the file, which may have been edited since it was imported.
Comments, layout and docstrings leave it as it is.
"""

from __future__ import annotations

import dis
from types import CodeType
from typing import Any

_SCALARS = (bool, int, float, complex, str, bytes, type(None))


def described_code(code: CodeType) -> list[Any]:
    """Return the instructions with what they load, and the names of the arguments.

    Examples
    --------
    >>> first, second = (lambda x: 2 * x), (lambda x: 3 * x)
    >>> described_code(first.__code__) == described_code(second.__code__)
    False
    """
    # Not the tables they load it from: a docstring has a place in one of them.
    steps = [
        (step.opname, described_constant(step.argval))
        for step in dis.get_instructions(code)
        if step.opname != "EXTENDED_ARG"
    ]
    return [steps, code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]]


def described_constant(value: Any) -> Any:
    """Return a constant in a form whose text does not depend on hashes or addresses."""
    if isinstance(value, CodeType):
        return described_code(value)
    if isinstance(value, tuple):
        return [described_constant(part) for part in value]
    if isinstance(value, frozenset):
        return sorted(repr(described_constant(part)) for part in value)
    return repr(value) if isinstance(value, _SCALARS) else type(value).__name__
