r"""The paper's lemma on the distance from the minimizer, with its hypothesis checked.

Lem:TR-grad-opt: if the Riemannian Hessian is at least :math:`m_H` along the geodesic from a
critical point :math:`q_\star` to q, then :math:`|q - q_\star| \le |\operatorname{grad} f(q)|/m_H`.
Neither :math:`q_\star` nor the curvature on the way is known. Both follow from the derivatives at
q: with the smallest curvature :math:`\lambda` there and the Lipschitz constant :math:`L_H` of the
Hessian (lem:rie_hess_lip), the curvature at a distance t from q is at least
:math:`\lambda - L_H t`, and along every geodesic from q the slope is at least
:math:`-|\operatorname{grad} f| + \lambda t - L_H t^2/2`. If
:math:`2 L_H |\operatorname{grad} f| < \lambda^2` that is positive at some distance, so that the
ball of that radius has a minimizer inside, and its distance t satisfies
:math:`\lambda t - L_H t^2/2 \le |\operatorname{grad} f|`. It is the lemma's inequality with

.. math:: m_H = \tfrac12\left(\lambda + \sqrt{\lambda^2 - 2 L_H |\operatorname{grad} f|}\right).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from riemtr.arguments import check_positive
from riemtr.errors import ArgumentError
from riemtr.manifolds import Sphere
from riemtr.problem import Problem
from riemtr.problems.dictionary_learning import DictionaryCost
from riemtr.summary import DOUBTFUL, GOOD, Summarised, Summary
from riemtr.theory.constants import HESSIAN_REACH

# Roundings of the Euclidean gradient, of order eps times its norm, that its norm may be off by.
_ROUNDINGS = 10.0


@dataclass(frozen=True, repr=False)
class DistanceLemma(Summarised):
    """How far a point is from a minimizer, at most.

    Attributes
    ----------
    gradient_norm : float
        Norm of the Riemannian gradient, rounding included.
    curvature : float
        Smallest eigenvalue of the Riemannian Hessian at the point.
    L_H : float
        Lipschitz constant of the Riemannian Hessian.
    """

    gradient_norm: float
    curvature: float
    L_H: float

    @property
    def allowed(self) -> float:
        """Gradient norm below which the slope is positive at some distance of at most 1/2."""
        reach = min(max(self.curvature, 0.0) / self.L_H, HESSIAN_REACH)
        return reach * (self.curvature - 0.5 * self.L_H * reach)

    @property
    def holds(self) -> bool:
        """Whether the hypothesis holds."""
        return self.gradient_norm < self.allowed

    @property
    def m_H(self) -> float:
        """Curvature between the point and the minimizer, on average at least; 0 where unknown."""
        if not self.holds:
            return 0.0
        spread = self.curvature**2 - 2.0 * self.L_H * self.gradient_norm
        return 0.5 * (self.curvature + math.sqrt(max(spread, 0.0)))

    @property
    def distance(self) -> float:
        """The bound on the distance from the nearest minimizer; infinite where nothing is known."""
        return self.gradient_norm / self.m_H if self.holds else math.inf

    def summary(self) -> Summary:
        """Return the bound in words."""
        said = "nothing is known: the Hessian is not positive definite at the point"
        if self.holds:
            said = f"a minimizer lies within {self.distance:.3g}"
        elif self.allowed > 0.0:
            said = f"nothing is known: the gradient norm must be below {self.allowed:.3g}"
        return Summary(
            "Distance from the minimizer (lem:TR-grad-opt)",
            (
                ("bound", said),
                ("gradient norm", f"{self.gradient_norm:.3g}"),
                ("smallest curvature", f"{self.curvature:.4g}"),
                ("m_H", f"{self.m_H:.4g}"),
                ("L_H", f"{self.L_H:.4g} (lem:rie_hess_lip)"),
            ),
            tone=GOOD if self.holds else DOUBTFUL,
            line=said,
        )


def distance_lemma(problem: Problem, point: np.ndarray, L_H: float | None = None) -> DistanceLemma:
    """Bound the distance of a point of the sphere from the nearest minimizer.

    Parameters
    ----------
    problem : Problem
        On a sphere.
    point : ndarray, shape (n,)
        A point with a small gradient.
    L_H : float, optional
        Lipschitz constant of the Riemannian Hessian, for steps up to 1/2; by default that of the
        log-cosh cost on its data, :func:`hessian_lipschitz`.

    Examples
    --------
    >>> import riemtr
    >>> case = riemtr.problems.build("dictionary-learning", rng=0, n=5, p=2000)
    >>> result = riemtr.PracticalTRM(tolerance=1e-10).solve(case.problem, rng=0)
    >>> found = riemtr.theory.distance_lemma(case.problem, result.point)
    >>> found.holds, found.distance < 1e-9
    (True, True)
    >>> riemtr.theory.distance_lemma(case.problem, case.start).holds
    False
    """
    if not isinstance(problem.manifold, Sphere):
        raise ArgumentError("problem", "be on a sphere", problem.manifold)
    if L_H is None:
        L_H = hessian_lipschitz(problem.cost)
    check_positive("L_H", L_H)
    here = problem.at(problem.geometry.check_point(point, name="point"))
    rounding = here.precision * here.conversion_size
    gradient = here.gradient_norm + _ROUNDINGS * rounding
    values = here.eigh[0]
    curvature = float(values[0]) - len(values) * here.precision * float(np.abs(values).max())
    return DistanceLemma(gradient, curvature, L_H)


def hessian_lipschitz(cost: Any) -> float:
    r"""Return the Lipschitz constant of the Riemannian Hessian of the log-cosh cost on its data.

    .. math:: L_H = \frac{5}{2\mu^2} m_3 + \frac9\mu m_2 + 9 m_1, \qquad
        m_k = \frac1p \sum_{j=1}^p |y_j|^k

    It is lem:rie_hess_lip as it is proved, before means of powers are bounded by
    :math:`m_k \le (\sqrt n \|X_0\|_\infty)^k`.
    """
    if not isinstance(cost, DictionaryCost):
        raise ArgumentError(
            "L_H", "be given where the cost is not the log-cosh cost on data in memory", None
        )
    norms = np.linalg.norm(cost.data, axis=0)
    first, second, third = (float(np.mean(norms**k)) for k in (1, 2, 3))
    return 2.5 * third / cost.mu**2 + 9.0 * second / cost.mu + 9.0 * first
