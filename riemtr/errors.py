"""Exceptions of riemtr: each message names what is wrong and the remedy.

Bad input raises a :class:`ValueError` or one of its subclasses below. Not converging is no
exception: it is data, in ``result.status``.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from difflib import get_close_matches
from types import ModuleType


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


def unknown_name(parameter: str, name: object, valid: object) -> ValueError:
    """Return the error for a name that is not one of the valid ones, which it lists."""
    choices = ", ".join(repr(choice) for choice in sorted(valid))  # type: ignore[call-overload]
    return ValueError(f"{parameter} must be one of {choices}; got {name!r}")


def misspelt_name(parameter: str, name: str, valid: Iterable[str]) -> ValueError:
    """Return that error for a name that people type, with the valid one they may have meant.

    Examples
    --------
    >>> str(misspelt_name("the problem", "raleigh", ["brockett", "rayleigh"]))
    "the problem must be one of 'brockett', 'rayleigh'; got 'raleigh' (did you mean 'rayleigh'?)"
    """
    valid = list(valid)
    close = get_close_matches(name, valid, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    return ValueError(f"{unknown_name(parameter, name, valid)}{hint}")
