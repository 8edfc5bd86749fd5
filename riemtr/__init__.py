"""riemtr: certified second-order optimization on manifolds, and complete dictionary recovery.

>>> import riemtr
>>> case = riemtr.problems.build("rayleigh", rng=0, n=10)
>>> riemtr.PracticalTRM().solve(case.problem, rng=0).certificate.verdict
'minimizer'
"""

from riemtr import problems
from riemtr.manifolds import Sphere
from riemtr.problem import Problem, check_gradient, check_hessian, check_retraction
from riemtr.problems import dictionary_problem
from riemtr.solvers import (
    AdaptiveRadius,
    AlwaysAccept,
    Certificate,
    ExactTRM,
    FixedRadius,
    PracticalTRM,
    RatioTest,
    Result,
    Status,
    TrustRegion,
    certify,
    observers,
)
from riemtr.subproblem import (
    ExactSubproblem,
    HybridSubproblem,
    NearExactSubproblem,
    SDPSubproblem,
    TruncatedCG,
    solve_subproblem,
)

__version__ = "0.1.0"

__all__ = [
    "AdaptiveRadius",
    "AlwaysAccept",
    "Certificate",
    "ExactSubproblem",
    "ExactTRM",
    "FixedRadius",
    "HybridSubproblem",
    "NearExactSubproblem",
    "PracticalTRM",
    "Problem",
    "RatioTest",
    "Result",
    "SDPSubproblem",
    "Sphere",
    "Status",
    "TruncatedCG",
    "TrustRegion",
    "certify",
    "check_gradient",
    "check_hessian",
    "check_retraction",
    "dictionary_problem",
    "observers",
    "problems",
    "solve_subproblem",
]
