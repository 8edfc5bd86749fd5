"""Methods to compare with, made of the parts of the one loop: others', and the paper's as printed.

Each is a choice of defaults for the parts of :class:`riemtr.TrustRegion`, and takes its options.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

from riemtr.arguments import generator
from riemtr.problem import Evaluation, Problem
from riemtr.solvers.judging import (
    AcceptanceRule,
    AdaptiveRadius,
    RadiusPolicy,
    RatioTest,
    SlopeRatioTest,
)
from riemtr.solvers.loop import Run, descend
from riemtr.solvers.status import Reason, Status
from riemtr.solvers.stopping import AnyOf, FirstOrderPoint, StoppingCriterion
from riemtr.solvers.trust_region import TrustRegion
from riemtr.subproblem import (
    CurvilinearPath,
    PerturbedGradient,
    RandomizedCG,
    SubproblemSolver,
    TruncatedCG,
)

# Manopt's rules: the radius shrinks to a quarter below a ratio of 1/4, and may double above 3/4.
_MANOPT_RADIUS = AdaptiveRadius(good=0.75, shrink=0.25)
# Manopt's rho': the share of the predicted decrease that a step must bring.
_MANOPT_TEST = RatioTest(threshold=0.1)
# Roundings of the cost below which a decrease is none.
_ROUNDINGS = 10.0


@dataclass(frozen=True, repr=False)
class PaperTRM(TrustRegion):
    """The paper's practical method as printed (section IV.A).

    Plain truncated CG with Manopt's constants, started along negative curvature where the gradient
    is small: no continuation, no Hessian matrices, nothing learnt from the steps before.
    :class:`riemtr.PracticalTRM` is what has become of it.

    Examples
    --------
    >>> import riemtr
    >>> case = riemtr.problems.build("dictionary-learning", rng=0, n=10)
    >>> printed, ours = riemtr.solvers.PaperTRM(), riemtr.PracticalTRM()
    >>> found = [solver.solve(case.problem, case.start) for solver in (printed, ours)]
    >>> [result.certificate.verdict for result in found]
    ['minimizer', 'minimizer']
    >>> found[0].iterations > found[1].iterations
    True
    """

    subproblem: SubproblemSolver = field(
        default_factory=lambda: TruncatedCG(theta=1.0, remembered=0)
    )
    radius: RadiusPolicy = _MANOPT_RADIUS
    acceptance: AcceptanceRule = _MANOPT_TEST


@dataclass(frozen=True, repr=False)
class CurvilinearSearch(TrustRegion):
    """Curvilinear search, which the paper names beside trust regions (Prior Arts and Connections).

    Each step is searched along a curve that begins with negative curvature and bends to Newton's
    step: see :class:`riemtr.subproblem.CurvilinearPath`.

    Examples
    --------
    >>> import riemtr
    >>> case = riemtr.problems.build("rayleigh", rng=0, n=20)
    >>> riemtr.solvers.CurvilinearSearch().solve(case.problem, rng=0).certificate.verdict
    'minimizer'
    """

    subproblem: SubproblemSolver = field(default_factory=CurvilinearPath)


class _Drawing(TrustRegion):
    """A method whose subproblem solver draws, from the ``rng`` of the run."""

    def _fitted(self, problem: Problem, rng: Any) -> TrustRegion:
        # The start comes from the seed itself; a stream of its own keeps other draws apart.
        part = replace(self.subproblem, rng=generator(rng).spawn(1)[0])  # type: ignore[type-var]
        return replace(self, subproblem=part)


@dataclass(frozen=True, repr=False)
class RandomizedTRM(_Drawing):
    """Manopt's randomized trust region: truncated CG from a small random vector.

    It is Manopt's option ``useRand``, with Manopt's constants and its safeguard: see
    :class:`riemtr.subproblem.RandomizedCG`. Manopt stops at any small gradient, as
    ``goal="first-order"`` does; by default the run is told where that is at a saddle, and leaves it
    by its randomness alone.

    Examples
    --------
    >>> import riemtr
    >>> case = riemtr.problems.build("rayleigh", rng=0, n=20)
    >>> saddle = case.truth.details["eigenvectors"][:, 5]
    >>> riemtr.solvers.RandomizedTRM().solve(case.problem, saddle, rng=0).certificate.verdict
    'minimizer'
    """

    subproblem: SubproblemSolver = field(default_factory=RandomizedCG)
    radius: RadiusPolicy = _MANOPT_RADIUS
    acceptance: AcceptanceRule = _MANOPT_TEST


@dataclass(frozen=True, repr=False)
class PerturbedGD(_Drawing):
    """Perturbed gradient descent: no Hessian, and saddles are left by chance.

    Gradient descent to a small gradient, a random perturbation there, gradient descent again: where
    that leads no lower, the point before is the result (Jin, Ge, Netrapalli, Kakade and Jordan,
    ICML 2017; on manifolds: Sun, Flammarion and Fazel, Criscitiello and Boumal, NeurIPS 2019). The
    theory's step size and perturbation need constants of the cost that nobody knows: here the size
    adapts, and "no lower" means by no more than a slope within the tolerance gains over the length
    of the perturbation. The curvature is looked at only if ``result.certificate`` is asked for.

    Examples
    --------
    >>> import riemtr
    >>> case = riemtr.problems.build("rayleigh", rng=0, n=20)
    >>> saddle = case.truth.details["eigenvectors"][:, 5]
    >>> result = riemtr.solvers.PerturbedGD().solve(case.problem, saddle, rng=0)
    >>> abs(result.cost - case.truth.cost) < 1e-9, result.counts.hessian_matrices
    (True, 0)
    """

    subproblem: SubproblemSolver = field(default_factory=PerturbedGradient)
    acceptance: AcceptanceRule = field(default_factory=SlopeRatioTest)
    goal: str = field(default="first-order", init=False)
    max_iterations: int = 100_000

    def _stages(self, run: Run, point: Any, asked: tuple[StoppingCriterion, ...]) -> Reason:
        """Descend, perturb and descend again until that leads no lower."""
        stop = AnyOf((*asked, FirstOrderPoint(run.tolerances), *self._limits))
        reason = descend(run, run.problem, point, stop)
        while reason.status is Status.FIRST_ORDER:
            before: Evaluation = run.best
            vector, length = run.solver.subproblem.perturbed(before)  # type: ignore[attr-defined]
            there = before.moved(vector, self.move)
            if there is None or not math.isfinite(there.cost):
                break
            slope = run.tolerances.gradient_at(before, run.size)
            run.number += 1
            reason = descend(run, run.problem, there.point, stop)
            lower = before.cost - run.best.cost
            if lower <= 0.0:
                run.best = before
            if lower <= max(slope * length, _ROUNDINGS * before.noise):
                break
        return reason
