"""What a run found, how it ended and what it cost."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Any, Generic

import numpy as np

from riemtr.manifolds.manifold import P
from riemtr.problem import Counts, Evaluation
from riemtr.problem.books import is_known
from riemtr.solvers.certificate import (
    MINIMIZER,
    Certificate,
    Tolerances,
    certify_evaluation,
)
from riemtr.solvers.iteration import history_table
from riemtr.solvers.result_files import load_result, save_result
from riemtr.solvers.status import Reason, Status

__all__ = ["Certified", "Result", "load_result"]


class Certified(IntEnum):
    """How far a result is certified; only ``NO`` is false.

    A strict minimizer is one by all the rules. At a point with flat directions no curvature is
    negative to tolerance, but terms of higher order, as that of x^5, may still lead down.
    """

    NO = 0
    STRICT = 1
    TO_SECOND_ORDER = 2

    def __repr__(self) -> str:
        return f"Certified.{self.name}"


@dataclass(frozen=True, repr=False, eq=False)
class Result(Generic[P]):
    """Outcome of a solver.

    Attributes
    ----------
    point : point of the manifold
        The final point, or the best one visited where the run did not converge.
    cost, gradient_norm : float
        At that point.
    iterations : int
        Steps tried.
    seconds : float
        Wall time, without observers and without the certificate.
    reason : Reason
        Why the run stopped, with details.
    counts : Counts
        Oracle calls of the run.
    solver : TrustRegion or another solver
        What ran, with its settings.
    evaluation : Evaluation
        The problem at the point.
    tolerances : Tolerances
        What the certificate is measured with.
    rows : list of tuple
        The history, row by row; see :attr:`history`.
    size : float
        The largest curvature that the last step has met.

    Examples
    --------
    >>> import riemtr
    >>> case = riemtr.problems.build("rayleigh", rng=0, n=20)
    >>> result = riemtr.PracticalTRM().solve(case.problem, rng=0)
    >>> result.status, result.certified, result.certificate.strict
    (Status.CONVERGED, Certified.STRICT, True)
    >>> len(result.history["cost"]) == result.iterations + 1
    True
    """

    point: P
    cost: float
    gradient_norm: float
    iterations: int
    seconds: float
    reason: Reason
    counts: Counts
    solver: Any
    rows: list[tuple[Any, ...]] = field(repr=False)
    evaluation: Evaluation = field(repr=False)
    tolerances: Tolerances = field(repr=False)
    size: float = field(default=0.0, repr=False)

    @cached_property
    def history(self) -> dict[str, np.ndarray]:
        """The run as a table: a dict of arrays with one entry per iteration, the start included."""
        return history_table(self.rows)

    @cached_property
    def certificate(self) -> Certificate:
        """What is known of the point to second order.

        Computed when first asked for, from what the run already knows where that suffices; not
        counted in :attr:`counts`.
        """
        if self.evaluation is None:
            raise ValueError(
                "a loaded result without a certificate has no problem to certify it with; call "
                "riemtr.certify(problem, result.point)"
            )
        return certify_evaluation(self.evaluation, self.tolerances, self.size)

    @property
    def status(self) -> Status:
        """How the run ended; ``str(result.status)`` names the remedy."""
        return self.reason.status

    @property
    def converged(self) -> bool:
        """Whether the run ended at a second-order point, by the derivatives that it was given."""
        return self.reason.converged

    @property
    def certified(self) -> Certified:
        """Whether the run converged and the certificate confirms a minimizer; false if not.

        It tells a strict minimizer from one that has flat directions, of which the second order
        says no more than that no curvature is negative; see :class:`Certified`.
        """
        if not self.converged or self.certificate.verdict != MINIMIZER:
            return Certified.NO
        return Certified.STRICT if self.certificate.strict else Certified.TO_SECOND_ORDER

    @property
    def radius(self) -> float:
        """Trust-region radius at the end, with which a further run can go on."""
        return float(self.history["radius"][-1])

    def save(self, path: Any) -> None:
        """Save the result to a new ``.npz`` file, without pickles.

        The point, the history and all numbers are kept, and the certificate if it was asked for;
        the problem is not. :func:`riemtr.load_result` reads it, and ``solver.solve(problem,
        start=loaded)`` goes on from it.
        """
        save_result(self, path)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle what was found and not what it was found with: costs need not pickle.

        The certificate is computed now, since there is no problem to ask for it later.
        """
        known: dict[str, Any] = {"history": self.history}
        if self.evaluation is not None:
            known["certificate"] = self.certificate
        return {
            **self.__dict__,
            **known,
            "rows": [],
            "solver": str(self.solver),
            "evaluation": None,
        }

    def _summary(self) -> list[tuple[str, str]]:
        counts = self.counts
        known = self.evaluation is not None  # not after pickling
        by_differences = (
            known
            and is_known(self.evaluation, "hessian_kind")
            and self.evaluation.hessian_kind == "differences"
        )
        return [
            ("status", str(self.reason)),
            ("cost", f"{self.cost:.12g}"),
            ("gradient norm", f"{self.gradient_norm:.3e}"),
            ("certificate", self._certificate_in_words),
            ("iterations", f"{self.iterations} in {self.seconds:.4g} s"),
            (
                "evaluations",
                f"{counts.costs} costs, {counts.gradients} gradients, "
                f"{counts.hessian_products} Hessian products"
                f"{' (by differences of gradients)' if by_differences else ''}, "
                f"{counts.hessian_matrices} Hessian matrices",
            ),
            ("solver", str(self.solver)),
        ]

    @property
    def _certificate_in_words(self) -> str:
        if not is_known(self, "certificate"):
            return "not computed yet: ask for result.certificate"
        return f"{self.certificate.verdict_in_words}; {self.certificate.curvature_in_words}"

    def __repr__(self) -> str:
        lines = (f"  {name + ':':<15}{value}" for name, value in self._summary())
        return "\n".join(["Result", *lines])

    def _repr_html_(self) -> str:
        cells = (
            f"<tr><th style='text-align:left'>{name}</th>"
            f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
            for name, value in self._summary()
        )
        return f"<table>{''.join(cells)}</table>"

    def plot(self, axes: Any = None) -> Any:
        """Draw gradient norm and cost against the iteration; needs the extra ``plot``.

        Steps out of saddle points are marked. Returns the axes.
        """
        from riemtr.solvers.convergence_plot import plot_convergence

        return plot_convergence(self.history, axes)
