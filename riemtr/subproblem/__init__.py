"""L2: the trust-region subproblem, minimise a quadratic model over a ball in the tangent space."""

from riemtr.subproblem.baselines import CurvilinearPath, PerturbedGradient, RandomizedCG
from riemtr.subproblem.cubic import CubicKrylov
from riemtr.subproblem.dense import solve_subproblem
from riemtr.subproblem.hybrid import HybridSubproblem
from riemtr.subproblem.model import Ended, FreshModel, Model, Step, SubproblemSolver
from riemtr.subproblem.secant import SecantSubproblem
from riemtr.subproblem.solution import SubproblemSolution
from riemtr.subproblem.tangent import ExactSubproblem, NearExactSubproblem, SDPSubproblem
from riemtr.subproblem.truncated_cg import TruncatedCG

__all__ = [
    "CubicKrylov",
    "CurvilinearPath",
    "Ended",
    "ExactSubproblem",
    "FreshModel",
    "HybridSubproblem",
    "Model",
    "NearExactSubproblem",
    "PerturbedGradient",
    "RandomizedCG",
    "SDPSubproblem",
    "SecantSubproblem",
    "Step",
    "SubproblemSolution",
    "SubproblemSolver",
    "TruncatedCG",
    "solve_subproblem",
]
