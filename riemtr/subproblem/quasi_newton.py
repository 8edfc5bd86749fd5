r"""A preconditioner for CG out of the Hessian products of an earlier run.

Conjugate directions, scaled to a curvature of 1, are steps whose images under the Hessian are
known, so that the BFGS update of an inverse M with all of them at once needs no more than inner
products. With the directions as rows of D and their images as rows of E,

.. math:: t = M (r - E'Dr), \qquad P r = D'Dr + t - D'Et.

P is symmetric and positive definite whenever M is, whatever the vectors, and so is what it does to
any tangent space, to which its results are projected: it may be used at the next points, where
the directions are only nearly conjugate (Morales and Nocedal, *Automatic preconditioning by limited
memory quasi-Newton updating*, SIAM J. Optim. 10(4), 2000).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from riemtr.manifolds import as_real, from_real
from riemtr.problem import Evaluation

# Fewer pairs say more about where CG met the boundary than about the Hessian.
FEWEST_PAIRS = 4

Pair = tuple[Any, Any]
"""A direction of CG and its image under the Hessian."""


class InverseHessian(NamedTuple):
    """What a run of CG knows of the inverse Hessian.

    Attributes
    ----------
    directions, images : ndarray, one row for each
        Conjugate directions of curvature 1, and their images under the Hessian, flattened.
    scale : float
        Typical inverse curvature, for the other directions.
    """

    directions: np.ndarray
    images: np.ndarray
    scale: float

    def at(self, here: Evaluation) -> Callable[[Any], Any]:
        """Return the preconditioner at a point, on top of the problem's own if it has one."""
        directions, images, scale = self
        own = None if here.problem.preconditioner is None else here.precondition

        def apply(residual: Any) -> Any:
            flat = as_real(residual)
            shares = directions @ flat
            rest = flat - shares @ images
            if own is None:
                rest *= scale
            else:
                rest = as_real(own(here.tangent(from_real(rest, residual))))
            shares -= images @ rest
            return here.tangent(from_real(rest + shares @ directions, residual))

        return apply


def inverse_hessian(here: Evaluation, pairs: Sequence[Pair]) -> InverseHessian | None:
    """Return what the pairs of one run of CG at ``here`` tell.

    None where they are too few, or tangent vectors are not arrays in the Euclidean metric.
    """
    if len(pairs) < FEWEST_PAIRS or not here.problem.has_euclidean_vectors:
        return None
    directions = np.array([as_real(direction) for direction, _ in pairs])
    images = np.array([as_real(image) for _, image in pairs])
    curvatures = np.einsum("ij,ij->i", directions, images)  # overflows without a warning
    useful = (curvatures > 0.0) & np.isfinite(curvatures)
    if np.count_nonzero(useful) < FEWEST_PAIRS:
        return None
    roots = np.sqrt(curvatures[useful, None])
    directions, images = directions[useful] / roots, images[useful] / roots
    typical = float(np.sort(np.einsum("ij,ij->i", images, images))[len(images) // 2])
    if not 1e-100 < typical < 1e100:
        return None
    return InverseHessian(directions, images, 1.0 / typical)
