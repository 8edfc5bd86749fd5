"""L3: the trust-region loop, its parts, and what comes out of a run."""

from riemtr.solvers import observers
from riemtr.solvers.baselines import CurvilinearSearch, PaperTRM, PerturbedGD, RandomizedTRM
from riemtr.solvers.certificate import Certificate, certify
from riemtr.solvers.distinct import Minimizer
from riemtr.solvers.foreign import ScipyLBFGSB
from riemtr.solvers.iteration import Iteration
from riemtr.solvers.judging import (
    AcceptanceRule,
    AdaptiveRadius,
    AdaptiveWeight,
    AlwaysAccept,
    FixedRadius,
    RadiusPolicy,
    RatioTest,
    SlopeRatioTest,
    Verdict,
)
from riemtr.solvers.many import ManyResults, solve_many
from riemtr.solvers.multistart import Multistart, multistart
from riemtr.solvers.result import Certified, Result, load_result
from riemtr.solvers.semidefinite import SemidefiniteSolution, relaxed_start, solve_semidefinite
from riemtr.solvers.status import Reason, Status
from riemtr.solvers.stopping import (
    CostBelow,
    GradientNorm,
    MaxCosts,
    MaxIterations,
    MaxProducts,
    MaxSeconds,
    SecondOrder,
    Stalled,
    StoppingCriterion,
    Unbounded,
)
from riemtr.solvers.trust_region import (
    ARC,
    LBFGS,
    ExactTRM,
    PracticalTRM,
    TrustRegion,
    continuation,
    no_warm_up,
)

NAMED = {
    "practical": PracticalTRM,
    "exact": ExactTRM,
    "lbfgs": LBFGS,
    "arc": ARC,
    "printed": PaperTRM,
    "randomized": RandomizedTRM,
    "curvilinear": CurvilinearSearch,
    "perturbed-gd": PerturbedGD,
    "l-bfgs-b": ScipyLBFGSB,
}
"""The solvers by the names that commands, comparisons and sweeps have for them."""

__all__ = [
    "ARC",
    "LBFGS",
    "NAMED",
    "AcceptanceRule",
    "AdaptiveRadius",
    "AdaptiveWeight",
    "AlwaysAccept",
    "Certificate",
    "Certified",
    "CostBelow",
    "CurvilinearSearch",
    "ExactTRM",
    "FixedRadius",
    "GradientNorm",
    "Iteration",
    "ManyResults",
    "MaxCosts",
    "MaxIterations",
    "MaxProducts",
    "MaxSeconds",
    "Minimizer",
    "Multistart",
    "PaperTRM",
    "PerturbedGD",
    "PracticalTRM",
    "RadiusPolicy",
    "RandomizedTRM",
    "RatioTest",
    "Reason",
    "Result",
    "ScipyLBFGSB",
    "SecondOrder",
    "SemidefiniteSolution",
    "SlopeRatioTest",
    "Stalled",
    "Status",
    "StoppingCriterion",
    "TrustRegion",
    "Unbounded",
    "Verdict",
    "certify",
    "continuation",
    "load_result",
    "multistart",
    "no_warm_up",
    "observers",
    "relaxed_start",
    "solve_many",
    "solve_semidefinite",
]
