"""Points given by the user, checked before anything is computed with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from riemtr.manifolds import Sphere

# A unit vector that went through a text file is still one.
_UNIT_TOLERANCE = 1e-4


def check_point(manifold: Any, point: Any, name: str = "start") -> Any:
    """Return the point as floating-point arrays, or say what is wrong with it.

    Integers become float64; float32 stays float32.
    """
    if getattr(manifold, "point_layout", 1) != 1:
        return point
    array = np.asarray(point)
    if array.dtype.kind not in "fciub":
        raise ValueError(f"{name} must be an array of numbers; got dtype {array.dtype}")
    if array.dtype.kind not in "fc" or array.dtype == np.float16:
        array = array.astype(float)
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite; it contains NaN or infinite entries")
    if isinstance(manifold, Sphere):
        return _on_sphere(manifold, array, name)
    return array


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
