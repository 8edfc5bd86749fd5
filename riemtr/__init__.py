"""riemtr: certified second-order optimization on manifolds, and complete dictionary recovery.

>>> import riemtr
>>> case = riemtr.problems.build("rayleigh", rng=0, n=10)
>>> riemtr.PracticalTRM().solve(case.problem, rng=0).certificate.verdict
'minimizer'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from riemtr import problems
from riemtr.manifolds import Sphere
from riemtr.problem import Problem, check_gradient, check_hessian, check_retraction
from riemtr.problems import dictionary_problem
from riemtr.recovery import precondition, recover_dictionary, round_direction
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

if TYPE_CHECKING:
    from riemtr import compare, sweep
    from riemtr.interop.sklearn import CompleteDictionaryLearning

__version__ = "0.1.0"

__all__ = [
    "AdaptiveRadius",
    "AlwaysAccept",
    "Certificate",
    "CompleteDictionaryLearning",
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
    "compare",
    "dictionary_problem",
    "observers",
    "precondition",
    "problems",
    "recover_dictionary",
    "round_direction",
    "solve_subproblem",
    "sweep",
]


def __getattr__(name: str) -> Any:
    # The estimator needs the extra `learn`: import it only when it is asked for.
    if name == "CompleteDictionaryLearning":
        from riemtr.interop.sklearn import CompleteDictionaryLearning

        return CompleteDictionaryLearning
    if name in ("compare", "sweep"):  # modules that a solve does not need
        return import_module(f"riemtr.{name}")
    raise AttributeError(f"module 'riemtr' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
