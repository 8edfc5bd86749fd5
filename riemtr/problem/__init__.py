"""L1: a manifold with a cost, everything known about it at one point, and checks of derivatives."""

from riemtr.problem.books import Clock, Counts
from riemtr.problem.checks import DerivativeCheck, check_gradient, check_hessian, check_retraction
from riemtr.problem.curvature import Curvature, Threshold
from riemtr.problem.evaluation import Evaluation
from riemtr.problem.problem import Problem, as_problem
from riemtr.problem.pullback import DerivativeBounds

__all__ = [
    "Clock",
    "Counts",
    "Curvature",
    "DerivativeBounds",
    "DerivativeCheck",
    "Evaluation",
    "Problem",
    "Threshold",
    "as_problem",
    "check_gradient",
    "check_hessian",
    "check_retraction",
]
