"""L0: manifolds and their tangent spaces; riemtr's own, and everybody's through one adapter."""

from riemtr.manifolds.basis import HouseholderBasis, TangentBasis
from riemtr.manifolds.euclidean import Euclidean
from riemtr.manifolds.fixed_rank import FixedRank
from riemtr.manifolds.grassmann import Grassmann
from riemtr.manifolds.manifold import (
    Manifold,
    TangentSpace,
    exponential,
    retraction,
    safe_norm,
)
from riemtr.manifolds.oblique import Oblique
from riemtr.manifolds.positive_definite import PositiveDefinite
from riemtr.manifolds.product import Product
from riemtr.manifolds.pymanopt import adapt, lacking
from riemtr.manifolds.rotations import Rotations
from riemtr.manifolds.sphere import Sphere
from riemtr.manifolds.stiefel import Stiefel

__all__ = [
    "Euclidean",
    "FixedRank",
    "Grassmann",
    "HouseholderBasis",
    "Manifold",
    "Oblique",
    "PositiveDefinite",
    "Product",
    "Rotations",
    "Sphere",
    "Stiefel",
    "TangentBasis",
    "TangentSpace",
    "adapt",
    "exponential",
    "lacking",
    "retraction",
    "safe_norm",
]
