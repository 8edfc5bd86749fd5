"""Two small examples in which one sees why recovery works: there is no bad local minimum.

On the sphere in R^3 the whole cost can be looked at, as in the paper's Figure 1 (labelled
large-sample-sphere). In R^4, data with enough symmetry have an exact maximizer and exact saddle
points on the way to a minimizer, where methods that look only at the gradient end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from riemtr.data import BernoulliGaussian, Identity
from riemtr.problems import dictionary_problem
from riemtr.problems.dictionary_learning import DictionaryCost
from riemtr.solvers import AdaptiveRadius, ExactTRM, Result, TrustRegion
from riemtr.subproblem import TruncatedCG

_SAMPLES = 3000
_THETA = 0.3
_MU = 0.05
_RADIUS = 0.05  # of the trajectory's steps: small enough to see the way, large enough to see steps
# Beside the maximizer (1, 1, 1) / sqrt(3), where the way down starts towards a saddle point.
_START = np.array([0.58, 0.53, 0.62])


@dataclass(frozen=True, eq=False)
class Landscape:
    """The cost over the sphere in R^3, and a solver's way down.

    Attributes
    ----------
    data : ndarray, shape (3, p)
        Y = X, Bernoulli-Gaussian: the dictionary is the identity, the minimizers are the axes.
    mu : float
        Smoothing parameter.
    path : ndarray, shape (steps + 1, 3)
        The points visited.
    path_costs : ndarray, shape (steps + 1,)
        The cost there.
    result : Result
        How the run ended.
    """

    data: np.ndarray
    mu: float
    path: np.ndarray
    path_costs: np.ndarray
    result: Result

    def costs(self, points: np.ndarray) -> np.ndarray:
        """Return the cost at points of the sphere, an array of shape (..., 3)."""
        cost = DictionaryCost(self.data, self.mu)
        flat = points.reshape(-1, 3)
        return np.array([cost.at(q).value for q in flat]).reshape(points.shape[:-1])


def draw_landscape(rng: Any = 0) -> Landscape:
    """Draw samples in R^3 and follow :class:`riemtr.ExactTRM` from near a maximizer.

    Examples
    --------
    >>> scene = draw_landscape(0)
    >>> scene.result.certificate.verdict
    'minimizer'
    >>> bool((np.diff(scene.path_costs) < 1e-9).all())
    True
    """
    model = BernoulliGaussian(n=3, p=_SAMPLES, theta=_THETA, dictionary=Identity())
    data = model.draw(rng).observations
    visited: list[np.ndarray] = []
    result = ExactTRM(radius=_RADIUS).solve(
        dictionary_problem(data, mu=_MU),
        _START / np.linalg.norm(_START),
        observers=[lambda iteration: visited.append(iteration.point)],
    )
    return Landscape(data, _MU, np.array(visited), result.history["cost"], result)


def escape_saddles() -> Result:
    """Start at an exact maximizer of data in R^4, land at an exact saddle point, leave both.

    The data are made symmetric under exchanging coordinates 1 and 2, 3 and 4, and the two pairs,
    and under sign changes. Then (1, 1, 1, 1) / 2 is an exact maximizer, and points such as
    (1, 1, 0, 0) / sqrt(2) are exact saddle points; the minimizers are still the axes.

    Examples
    --------
    >>> result = escape_saddles()
    >>> int(result.history["escaped"].sum()), result.certificate.verdict
    (2, 'minimizer')
    >>> np.abs(result.point).round(6).tolist().count(1.0)
    1
    """
    # A draw whose lowest curvature is along (1, 1, -1, -1): that way leads to the saddle point.
    model = BernoulliGaussian(n=4, p=100, theta=_THETA, dictionary=Identity())
    data = model.draw(0).observations
    for symmetry in _symmetries():
        data = np.hstack([data, symmetry @ data])
    # The practical method as the paper has it (section IV.A), without continuation: truncated CG
    # keeps the symmetry to rounding, and so does land at the saddle point.
    solver = TrustRegion(subproblem=TruncatedCG(), radius=AdaptiveRadius())
    return solver.solve(dictionary_problem(data, mu=0.02), np.full(4, 0.5))


def _symmetries() -> Iterator[np.ndarray]:
    """Yield generators of the group: signed permutations of four coordinates."""
    for order in ((1, 0, 2, 3), (0, 1, 3, 2), (2, 3, 0, 1)):
        yield np.eye(4)[list(order)]
    for signs in ((-1, 1, 1, 1), (1, 1, -1, 1), (-1, -1, 1, 1)):
        yield np.diag(np.array(signs, dtype=float))
