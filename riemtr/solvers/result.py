"""What a run found, how it ended and what it cost."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from riemtr.problem import Counts, Evaluation
from riemtr.solvers.certificate import (
    MINIMIZER,
    Certificate,
    Tolerances,
    certify_evaluation,
)
from riemtr.solvers.iteration import history_table
from riemtr.solvers.status import Reason, Status


@dataclass(frozen=True, repr=False, eq=False)
class Result:
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

    Examples
    --------
    >>> import riemtr
    >>> case = riemtr.problems.build("rayleigh", rng=0, n=20)
    >>> result = riemtr.PracticalTRM().solve(case.problem, rng=0)
    >>> result.status, result.certified, result.certificate.strict
    (Status.CONVERGED, True, True)
    >>> len(result.history["cost"]) == result.iterations + 1
    True
    """

    point: Any
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
        return certify_evaluation(self.evaluation, self.tolerances)

    @property
    def status(self) -> Status:
        """How the run ended; ``str(result.status)`` names the remedy."""
        return self.reason.status

    @property
    def converged(self) -> bool:
        """Whether the run ended at a second-order point, by the derivatives that it was given."""
        return self.reason.converged

    @property
    def certified(self) -> bool:
        """Whether it did, and the certificate, which asks the cost itself, confirms it."""
        return self.converged and self.certificate.verdict == MINIMIZER

    def __getstate__(self) -> dict[str, Any]:
        """Pickle what was found and not what it was found with: costs need not pickle."""
        known = {"history": self.history, "certificate": self.certificate}
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
        by_differences = known and self.evaluation.hessian_kind == "differences"
        return [
            ("status", str(self.reason)),
            ("cost", f"{self.cost:.12g}"),
            ("gradient norm", f"{self.gradient_norm:.3e}"),
            (
                "certificate",
                f"{self.certificate.verdict_in_words}; {self.certificate.curvature_in_words}",
            ),
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
