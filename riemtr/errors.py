"""Exceptions of riemtr: each message names what is wrong and the remedy.

Bad input raises a :class:`ValueError` or one of its subclasses below. Not converging is no
exception: it is data, in ``result.status``.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from difflib import get_close_matches
from types import ModuleType
from typing import Any

# Letters of a value that a message shows: arrays have millions.
_LONGEST = 200


class ArgumentError(ValueError):
    """An argument is not what it must be; a front end can name the parameter in its own way.

    Attributes
    ----------
    parameter : str
        The argument's name in Python.
    requirement : str
        The verb and what follows it: "be an integer of at least 1".
    value : object
        The value that came instead; ``...`` where that does not help.
    remedy : str
        The way out; may be empty.

    Examples
    --------
    >>> str(ArgumentError("rank", "be at most 3", 4, "leave it out"))
    'rank must be at most 3; got 4: leave it out'
    """

    def __init__(self, parameter: str, requirement: str, value: Any = ..., remedy: str = ""):
        super().__init__(parameter, requirement, value, remedy)
        self.parameter, self.requirement = parameter, requirement
        self.value, self.remedy = value, remedy

    def told(self, name: str) -> str:
        """Return the message with another name for the parameter."""
        shown = repr(self.value)
        shown = shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}..."
        got = "" if self.value is ... else f"; got {shown}"
        return f"{name} must {self.requirement}{got}{f': {self.remedy}' if self.remedy else ''}"

    def __str__(self) -> str:
        return self.told(self.parameter)


class FileContentError(ValueError):
    """A file is damaged, or holds something else than it must; nothing was taken from it."""


class NonFiniteCostError(ValueError):
    """The cost or its gradient is NaN or infinite where the solver was told to start."""


class NonFiniteHessianError(ValueError):
    """The Hessian has NaN or infinite entries at a point."""


class OutOfTimeError(RuntimeError):
    """A run's time ended while a Hessian matrix was made of products; no solver lets it out."""


class OtherRunError(ValueError):
    """A checkpoint belongs to a run with other data or settings."""


class DoesNotApply(ValueError):
    """A solver's word that it is not made for a problem; comparisons show it as no failure.

    A solver of your own may raise it too. Python's ``NotImplementedError``, which pymanopt raises
    where a manifold lacks what an optimizer needs, is taken the same way.
    """


class MissingExtraError(ImportError):
    """A feature needs a package that comes with one of riemtr's optional extras."""


def require(module: str, extra: str) -> ModuleType:
    """Import an optional dependency, or say which extra installs it.

    Parameters
    ----------
    module : str
        Dotted name of the module to import.
    extra : str
        The riemtr extra that installs it.

    Examples
    --------
    >>> require("math", extra="none").pi > 3
    True
    >>> require("no_such", extra="plot")
    Traceback (most recent call last):
    ...
    riemtr.errors.MissingExtraError: this feature needs 'no_such'; install it with: pip install ...
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        raise MissingExtraError(
            f"this feature needs {package!r}; install it with: pip install 'riemtr[{extra}]' (in a "
            f"clone of riemtr: pip install '.[{extra}]')"
        ) from error


def unknown_name(
    parameter: str, name: object, valid: Iterable[Any], remedy: str = ""
) -> ArgumentError:
    """Return the error for a name that is not one of the valid ones, which it lists.

    The remedy begins with the valid name that may have been meant, where one is near.

    Examples
    --------
    >>> str(unknown_name("the problem", "raleigh", ["brockett", "rayleigh"]))
    "the problem must be one of 'brockett', 'rayleigh'; got 'raleigh': did you mean 'rayleigh'?"
    """
    valid = sorted(valid)
    texts = [choice for choice in valid if isinstance(choice, str)]
    close = get_close_matches(name, texts, n=1) if isinstance(name, str) else []
    hint = f"did you mean {close[0]!r}?" if close else ""
    requirement = f"be one of {', '.join(map(repr, valid))}"
    return ArgumentError(parameter, requirement, name, " ".join(filter(None, [hint, remedy])))
