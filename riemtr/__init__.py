"""riemtr: certified second-order optimization on manifolds, and complete dictionary recovery.

>>> import riemtr
>>> case = riemtr.problems.build("rayleigh", rng=0, n=10)
>>> riemtr.PracticalTRM().solve(case.problem, rng=0).certificate.verdict
'minimizer'
"""

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from riemtr import problems
from riemtr.manifolds import (
    Euclidean,
    FixedRank,
    Grassmann,
    Manifold,
    Oblique,
    PositiveDefinite,
    Product,
    Rotations,
    Sphere,
    Stiefel,
)
from riemtr.problem import Problem, check_gradient, check_hessian, check_retraction
from riemtr.problems import dictionary_problem
from riemtr.recovery import precondition, recover_dictionary, round_direction
from riemtr.solvers import (
    ARC,
    LBFGS,
    AdaptiveRadius,
    AdaptiveWeight,
    AlwaysAccept,
    Certificate,
    Certified,
    ExactTRM,
    FixedRadius,
    PracticalTRM,
    RatioTest,
    Result,
    Status,
    TrustRegion,
    certify,
    load_result,
    multistart,
    observers,
    solve_many,
    solve_semidefinite,
)
from riemtr.subproblem import (
    CubicKrylov,
    ExactSubproblem,
    HybridSubproblem,
    NearExactSubproblem,
    SDPSubproblem,
    SecantSubproblem,
    TruncatedCG,
    solve_subproblem,
)

if TYPE_CHECKING:
    from riemtr import compare, sweep, testing, theory
    from riemtr.interop.sklearn import CompleteDictionaryLearning

__version__ = "0.1.0"

__all__ = [
    "ARC",
    "LBFGS",
    "AdaptiveRadius",
    "AdaptiveWeight",
    "AlwaysAccept",
    "Certificate",
    "Certified",
    "CubicKrylov",
    "Euclidean",
    "ExactSubproblem",
    "ExactTRM",
    "FixedRadius",
    "FixedRank",
    "Grassmann",
    "HybridSubproblem",
    "Manifold",
    "NearExactSubproblem",
    "Oblique",
    "PositiveDefinite",
    "PracticalTRM",
    "Problem",
    "Product",
    "RatioTest",
    "Result",
    "Rotations",
    "SDPSubproblem",
    "SecantSubproblem",
    "Sphere",
    "Status",
    "Stiefel",
    "TruncatedCG",
    "TrustRegion",
    "certify",
    "check_gradient",
    "check_hessian",
    "check_retraction",
    "compare",
    "dictionary_problem",
    "load_result",
    "multistart",
    "observers",
    "precondition",
    "problems",
    "recover_dictionary",
    "round_direction",
    "solve_many",
    "solve_semidefinite",
    "solve_subproblem",
    "sweep",
    "testing",
    "theory",
]
if find_spec("sklearn") is not None:  # `import *` and help() ask for all that is listed
    __all__ += ["CompleteDictionaryLearning"]


def __getattr__(name: str) -> Any:
    # The estimator needs the extra `learn`: import it only when it is asked for.
    if name == "CompleteDictionaryLearning":
        try:
            return import_module("riemtr.interop.sklearn").CompleteDictionaryLearning
        except ImportError as error:
            # Of an AttributeError, `from riemtr import` would say no more than that it failed.
            if sys._getframe(1).f_code.co_name == "_handle_fromlist":
                raise
            raise AttributeError(f"riemtr.{name} is missing: {error}") from error
    if name in ("compare", "sweep", "testing", "theory"):  # modules that a solve does not need
        return import_module(f"riemtr.{name}")
    raise AttributeError(f"module 'riemtr' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
