"""L3: the trust-region loop, its parts, and what comes out of a run."""

from riemtr.solvers import observers
from riemtr.solvers.acceptance import AcceptanceRule, AlwaysAccept, RatioTest, Verdict
from riemtr.solvers.certificate import Certificate, certify
from riemtr.solvers.iteration import Iteration
from riemtr.solvers.lbfgs import LBFGS
from riemtr.solvers.presets import ExactTRM, PracticalTRM
from riemtr.solvers.radius import AdaptiveRadius, FixedRadius, RadiusPolicy
from riemtr.solvers.result import Result
from riemtr.solvers.status import Reason, Status
from riemtr.solvers.stopping import (
    CostBelow,
    GradientNorm,
    MaxCosts,
    MaxIterations,
    MaxProducts,
    MaxSeconds,
    SecondOrder,
    StoppingCriterion,
)
from riemtr.solvers.trust_region import TrustRegion, continuation, no_warm_up

__all__ = [
    "LBFGS",
    "AcceptanceRule",
    "AdaptiveRadius",
    "AlwaysAccept",
    "Certificate",
    "CostBelow",
    "ExactTRM",
    "FixedRadius",
    "GradientNorm",
    "Iteration",
    "MaxCosts",
    "MaxIterations",
    "MaxProducts",
    "MaxSeconds",
    "PracticalTRM",
    "RadiusPolicy",
    "RatioTest",
    "Reason",
    "Result",
    "SecondOrder",
    "Status",
    "StoppingCriterion",
    "TrustRegion",
    "Verdict",
    "certify",
    "continuation",
    "no_warm_up",
    "observers",
]
