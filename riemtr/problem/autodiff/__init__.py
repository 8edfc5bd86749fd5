"""Derivatives of plain callables: by autograd, or by what ``Problem(autodiff=...)`` names.

A backend turns a plain cost into one that shares work (:mod:`riemtr.problem.shared_work`), and
raises :class:`NotDifferentiableError` where it cannot. A further one needs no more than that.
"""

from __future__ import annotations

from typing import Any

from riemtr.errors import unknown_name
from riemtr.problem.autodiff.autograd_cost import AutogradCost
from riemtr.problem.autodiff.jax_cost import JaxCost
from riemtr.problem.autodiff.torch_cost import TorchCost
from riemtr.problem.shared_work import Autodiff

__all__ = ["AutogradCost", "JaxCost", "TorchCost", "backend"]

_BACKENDS: dict[str, Autodiff] = {"autograd": AutogradCost, "jax": JaxCost, "torch": TorchCost}


def backend(autodiff: Any) -> Autodiff:
    """Return the backend of a name, or the one given.

    Examples
    --------
    >>> backend("autograd").__name__
    'AutogradCost'
    """
    if callable(autodiff):
        return autodiff
    if autodiff not in _BACKENDS:
        error = unknown_name("autodiff", autodiff, _BACKENDS)
        raise ValueError(f"{error}; or pass a function, autodiff(cost, layout)")
    return _BACKENDS[autodiff]
