"""Points given by the user, checked before anything is computed with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from riemtr.manifolds import Sphere, random_point

# A unit vector that went through a text file is still one.
_UNIT_TOLERANCE = 1e-4


def check_point(manifold: Any, point: Any, name: str = "start") -> Any:
    """Return the point as floating-point arrays, or say what is wrong with it.

    Integers become float64; float32 stays float32.
    """
    layout = getattr(manifold, "point_layout", 1)
    if layout != 1:
        return _several(manifold, layout, point, name)
    array = _finite_floats(point, name)
    if isinstance(manifold, Sphere):
        return _on_sphere(manifold, array, name)
    return _on_manifold(manifold, array, name)


def _several(manifold: Any, layout: Any, point: Any, name: str) -> Any:
    count = len(layout) if isinstance(layout, Sequence) else layout
    if not isinstance(point, (list, tuple)) or len(point) != count:
        came = f"{len(point)} of them" if hasattr(point, "__len__") else repr(point)
        raise ValueError(f"{name} must be a list of {count} parts to lie on {manifold}; got {came}")
    factors = getattr(manifold, "manifolds", None)
    if factors is None:
        for index, part in enumerate(point):
            _finite_floats(part, f"{name}[{index}]")
        return point
    pairs = enumerate(zip(factors, point, strict=True))
    return [check_point(factor, part, f"{name}[{index}]") for index, (factor, part) in pairs]


def _finite_floats(point: Any, name: str) -> np.ndarray:
    array = np.asarray(point)
    if array.dtype.kind not in "fciub":
        raise ValueError(f"{name} must be an array of numbers; got dtype {array.dtype}")
    if array.dtype.kind not in "fc" or array.dtype == np.float16:
        array = array.astype(float)
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite; it contains NaN or infinite entries")
    return array


def _on_manifold(manifold: Any, point: np.ndarray, name: str) -> np.ndarray:
    expected = random_point(manifold, np.random.default_rng(0)).shape
    if point.shape != expected:
        raise ValueError(
            f"{name} must have shape {expected} to lie on {manifold}; got {point.shape}"
        )
    # Retracting the zero vector leaves a point of the manifold where it is.
    try:
        with np.errstate(all="ignore"):
            back = manifold.retraction(point, manifold.zero_vector(point))
    except (np.linalg.LinAlgError, ValueError):
        back = np.full_like(point, np.nan)
    if not np.allclose(back, point, rtol=_UNIT_TOLERANCE, atol=_UNIT_TOLERANCE):
        raise ValueError(
            f"{name} does not lie on {manifold}; take a point of manifold.random_point(), or "
            "manifold.retraction of one"
        )
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
