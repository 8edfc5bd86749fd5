"""Objects of a user's own, by import path."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import sysconfig
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

_NOT_THEIRS = (os.path.dirname(__file__) + os.sep, sysconfig.get_path("stdlib") + os.sep)
_INSTALLED = "-packages" + os.sep  # site-packages, or dist-packages


def imported(path: str, what: str) -> Any:
    """Return the object that a path ``package.module:attribute`` names, be it one of an attribute.

    Whatever goes wrong, in the module itself too, is a ValueError that says what the object was to
    be: "the solver".

    Examples
    --------
    >>> imported("math:pi", "the number") > 3
    True
    >>> imported("math:tau_and_pi", "the number")
    Traceback (most recent call last):
    ...
    ValueError: cannot import the number 'math:tau_and_pi': AttributeError: module 'math' has no
    attribute 'tau_and_pi'; it must be 'package.module:attribute'
    """
    module, _, attribute = path.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (Exception, SystemExit) as error:  # whatever a user's module does when it is imported
        remedy = "; it must be 'package.module:attribute'"
        if isinstance(error, ModuleNotFoundError) and error.name == module.split(".")[0]:
            remedy += ", of a package that is installed or a file in the working folder"
        if module.endswith(".py"):
            corrected = ".".join(Path(module).with_suffix("").parts)
            remedy = f"; write {corrected}:{attribute}, without '.py'"
        said = f"{type(error).__name__}: {error}{place(error) or remedy}"
        raise ValueError(f"cannot import {what} {path!r}: {said}") from error
    return found


def make_callable(module: ModuleType, function: Callable[..., Any]) -> None:
    """Let a module be called for the function of its name, as ``riemtr.compare(...)``."""
    kind = type("CallableModule", (ModuleType,), {"__call__": staticmethod(function)})
    module.__class__ = kind
    module.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]


def place(error: BaseException) -> str:
    """Say where in a user's own code an error arose: the innermost of their lines, if any."""
    for line in reversed(traceback.extract_tb(error.__traceback__)):
        installed = _INSTALLED in line.filename or line.filename.startswith(_NOT_THEIRS)
        if os.path.isabs(line.filename) and not installed:
            return f" ({line.filename}, line {line.lineno})"
    return ""


def look_here() -> None:
    """Let modules in the working folder be imported, as those of a script beside them can be."""
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
