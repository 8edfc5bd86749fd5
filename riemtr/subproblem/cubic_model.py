r"""The cubic model in a few dimensions, minimised exactly.

For :math:`m(u) = \gamma' u + \tfrac12 \sum_i \lambda_i u_i^2 + \tfrac{\sigma}{3} |u|^3` in the
eigenbasis of its Hessian, a global minimiser is :math:`u_i = -\gamma_i / (\lambda_i + \lambda)`
with :math:`\lambda = \sigma |u|` and all :math:`\lambda_i + \lambda \ge 0` (Cartis, Gould and
Toint, Math. Programming 127, 2011, theorem 3.1).
"""

from __future__ import annotations

import math

import numpy as np

# About ten are needed; the bound only guarantees an end.
_MOST_ROUNDS = 200
_EPS = float(np.finfo(float).eps)


def minimise_cubic(
    curvatures: np.ndarray, linear: np.ndarray, weight: float
) -> tuple[np.ndarray, float]:
    """Return the global minimiser and its multiplier, weight times its length.

    Parameters
    ----------
    curvatures : ndarray, shape (k,)
        Eigenvalues of the Hessian, ascending.
    linear : ndarray, shape (k,)
        The gradient in the eigenbasis.
    weight : float
        Positive, or zero if all curvatures are positive.

    Examples
    --------
    >>> minimiser, multiplier = minimise_cubic(np.array([-1.0, 2.0]), np.array([0.0, 0.0]), 0.5)
    >>> minimiser, multiplier
    (array([2., 0.]), 1.0)
    """
    pole = max(-float(curvatures[0]), 0.0)
    gaps, sizes = curvatures + pole, np.abs(linear)
    if weight == 0.0:
        return -linear / curvatures, 0.0
    # With one component alone t (t + pole + gap) + pole gap = weight |gamma|, for the distance
    # t of the multiplier from the pole: the root of a quadratic without cancellation.
    half, product = 0.5 * (gaps + pole), weight * sizes - pole * gaps
    roots = np.sqrt(np.maximum(half * half + product, 0.0))
    bases = half + roots
    alone = np.divide(product, bases, out=np.zeros_like(gaps), where=bases > 0.0)
    distance = max(float(alone.max()), 0.0)
    present = sizes > 0.0
    found = np.zeros_like(linear)
    if distance == 0.0:
        inside = present & (gaps > 0.0)
        found[inside] = -linear[inside] / gaps[inside]
        missing = (pole / weight) ** 2 - float(found @ found)
        if missing >= 0.0:  # the hard case, or no gradient at all
            found[0] += math.sqrt(missing)
            return found, pole
    gaps, gamma = gaps[present], linear[present]
    for _ in range(_MOST_ROUNDS):
        # 1/|u| - weight/lambda is concave and increasing: from the left Newton's method rises to
        # the root, and the start is left of it, since one component alone is as long as that.
        multiplier, shifted = pole + distance, gaps + distance
        scaled = gamma / shifted
        length = math.sqrt(float(scaled @ scaled))
        excess = length * weight / multiplier - 1.0
        if excess <= 2.0 * _EPS:
            break
        slope = float(scaled @ (scaled / shifted)) / (length * length)
        following = distance + excess / (slope + length * weight / multiplier**2)
        if following <= distance:
            break
        distance = following
    found[present] = -scaled
    return found, multiplier
