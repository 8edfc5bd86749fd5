"""L0: manifolds, in pymanopt's vocabulary, and orthonormal bases of their tangent spaces."""

from riemtr.manifolds.basis import (
    ArrayBasis,
    FlatBasis,
    GramSchmidtBasis,
    HouseholderBasis,
    TangentBasis,
    as_real,
    from_real,
    has_euclidean_metric,
    rebuilt,
    tangent_basis,
)
from riemtr.manifolds.membership import has_left
from riemtr.manifolds.orbits import another_representative
from riemtr.manifolds.protocol import (
    Manifold,
    converts_hessians,
    dimension,
    embed,
    exponential,
    has_exponential,
    inner,
    is_bounded,
    retraction,
    riemannian_gradient,
    riemannian_hessian,
    to_tangent,
    transport,
    typical_distance,
)
from riemtr.manifolds.random_points import random_point
from riemtr.manifolds.random_tangents import random_tangent
from riemtr.manifolds.sphere import Sphere

__all__ = [
    "ArrayBasis",
    "FlatBasis",
    "GramSchmidtBasis",
    "HouseholderBasis",
    "Manifold",
    "Sphere",
    "TangentBasis",
    "another_representative",
    "as_real",
    "converts_hessians",
    "dimension",
    "embed",
    "exponential",
    "from_real",
    "has_euclidean_metric",
    "has_exponential",
    "has_left",
    "inner",
    "is_bounded",
    "random_point",
    "random_tangent",
    "rebuilt",
    "retraction",
    "riemannian_gradient",
    "riemannian_hessian",
    "tangent_basis",
    "to_tangent",
    "transport",
    "typical_distance",
]
