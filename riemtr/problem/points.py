"""Points given by the user, checked before anything is computed with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pymanopt.manifolds import FixedRankEmbedded

from riemtr.manifolds import Sphere, random_point
from riemtr.manifolds.membership import complaint

# A unit vector that went through a text file is still one.
_UNIT_TOLERANCE = 1e-4


def check_point(manifold: Any, point: Any, name: str = "start") -> Any:
    """Return the point as floating-point arrays of its own, or say what is wrong with it.

    Integers become float64; float32 stays float32; on complex manifolds real numbers become
    complex.
    """
    layout = getattr(manifold, "point_layout", 1)
    if layout != 1:
        return _several(manifold, layout, point, name)
    if isinstance(manifold, Sphere):
        return _on_sphere(manifold, _finite_floats(point, name), name)
    example = random_point(manifold, np.random.default_rng(0))
    return _on_manifold(manifold, _like(example, point, name, manifold), name)


def _several(manifold: Any, layout: Any, point: Any, name: str) -> Any:
    count = len(layout) if isinstance(layout, Sequence) else layout
    if not isinstance(point, (list, tuple)) or len(point) != count:
        svd = " (u, s, vt), the SVD of a matrix cut to its rank,"
        raise ValueError(
            f"{name} must be a list of {count} parts"
            f"{svd if isinstance(manifold, FixedRankEmbedded) else ''} to lie on {manifold}; got "
            f"{_in_words(point)}"
        )
    factors = getattr(manifold, "manifolds", None)
    if factors is not None:
        pairs = enumerate(zip(factors, point, strict=True))
        return [check_point(factor, part, f"{name}[{index}]") for index, (factor, part) in pairs]
    example = random_point(manifold, np.random.default_rng(0))
    pairs = enumerate(zip(example, point, strict=True))
    parts = [_like(part, given, f"{name}[{i}]", manifold) for i, (part, given) in pairs]
    return _on_manifold(manifold, type(example)(*parts), name)


def _in_words(point: Any) -> str:
    if isinstance(point, np.ndarray):
        return f"an array of shape {point.shape}"
    return f"{len(point)} of them" if hasattr(point, "__len__") else repr(point)


def _finite_floats(point: Any, name: str) -> np.ndarray:
    """Return a copy as an array of float32, float64 or their complex counterparts."""
    array = np.array(point)
    if array.dtype.kind not in "fciub":
        hint = ": pass its point" if hasattr(point, "point") else ""
        got = f"a {type(point).__name__}{hint}" if array.ndim == 0 else f"dtype {array.dtype}"
        raise ValueError(f"{name} must be an array of numbers; got {got}")
    if array.dtype.kind not in "fc" or array.dtype == np.float16:
        array = array.astype(float)
    elif array.dtype.itemsize > np.dtype(complex if array.dtype.kind == "c" else float).itemsize:
        array = array.astype(complex if array.dtype.kind == "c" else float)  # no BLAS beyond
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite; it contains NaN or infinite entries")
    return array


def _like(example: np.ndarray, point: Any, name: str, manifold: Any) -> np.ndarray:
    """Return the point as an array of the shape of the example, complex if that is."""
    array = _finite_floats(point, name)
    if array.shape != example.shape:
        raise ValueError(
            f"{name} must have shape {example.shape} to lie on {manifold}; got {array.shape}"
        )
    if example.dtype.kind == "c":
        return array.astype(np.result_type(array.dtype, np.complex64), copy=False)
    if array.dtype.kind == "c":
        if np.any(array.imag):
            raise ValueError(f"{name} must be real to lie on {manifold}; got dtype {array.dtype}")
        return array.real.copy()
    return array


def _on_manifold(manifold: Any, point: Any, name: str) -> Any:
    wrong = complaint(manifold, point, _UNIT_TOLERANCE)
    if wrong is not None:
        raise ValueError(f"{name} does not lie on {manifold}: {wrong}")
    return point


def _on_sphere(sphere: Sphere, point: np.ndarray, name: str) -> np.ndarray:
    if point.shape != (sphere.n,):
        raise ValueError(
            f"{name} must have shape ({sphere.n},) to lie on {sphere!r}; got {point.shape}"
        )
    if point.dtype.kind == "c":
        raise ValueError(f"{name} must be real to lie on {sphere!r}; got dtype {point.dtype}")
    norm = sphere.norm(point, point)
    if abs(norm - 1.0) > _UNIT_TOLERANCE:
        raise ValueError(
            f"{name} must have norm 1 to lie on {sphere!r}; its norm is {norm:.6g}: divide by it"
        )
    return point / point.dtype.type(norm)
