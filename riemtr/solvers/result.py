"""What a run found, how it ended and what it cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property, total_ordering
from typing import Any, Generic

import numpy as np

from riemtr.files import drawing_axes
from riemtr.manifolds.manifold import P
from riemtr.problem import Counts, Evaluation
from riemtr.problem.books import is_known
from riemtr.solvers.certificate import MINIMIZER, Certificate, Tolerances, certify_evaluation
from riemtr.solvers.iteration import history_table
from riemtr.solvers.result_files import load_result, save_result
from riemtr.solvers.status import Reason, Status
from riemtr.summary import DOUBTFUL, GOOD, Summarised, Summary, plural

__all__ = ["Certified", "Result", "load_result"]


@total_ordering
class Certified(Enum):
    """How far a result is certified, from the weakest claim to the strongest; only ``NO`` is false.

    A strict minimizer is one by all the rules. At a point with flat directions no curvature is
    negative to tolerance, but terms of higher order, as that of x^5, may still lead down.

    >>> Certified.NO < Certified.TO_SECOND_ORDER < Certified.STRICT, bool(Certified.NO)
    (True, False)
    >>> print(Certified.TO_SECOND_ORDER)
    to second order
    """

    NO = "no"
    TO_SECOND_ORDER = "to second order"
    STRICT = "strict"

    def __bool__(self) -> bool:
        return self is not Certified.NO

    def __lt__(self, other: Any) -> bool:
        if not isinstance(other, Certified):
            return NotImplemented
        order = list(Certified)
        return order.index(self) < order.index(other)

    def __str__(self) -> str:
        return self.value

    def __repr__(self) -> str:
        return f"Certified.{self.name}"


@dataclass(frozen=True, repr=False, eq=False)
class Result(Summarised, Generic[P]):
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
    remark : str
        A sentence on what another method would have saved; mostly empty.

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
    remark: str = field(default="", repr=False)

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
        """Whether the run converged and the certificate confirms a minimizer close by.

        It is false otherwise, and so it is where a gradient norm that the user has asked for was
        reached, but the minimizer is still far away beside the size of the point.

        It tells a strict minimizer from one that has flat directions, of which the second order
        says no more than that no curvature is negative; see :class:`Certified`.
        """
        known = self.certificate if self.converged else None
        if known is None or known.verdict != MINIMIZER:
            return Certified.NO
        if known.nearness is not None and known.nearness.near is not True:
            return Certified.NO
        return Certified.STRICT if self.certificate.strict else Certified.TO_SECOND_ORDER

    @property
    def radius(self) -> float:
        """Trust-region radius at the end, with which a further run can go on."""
        return float(self.history["radius"][-1])

    def save(self, path: Any, about: Any = None, overwrite: bool = False) -> None:
        """Save the result to a ``.npz`` file, without pickles; a file that exists stays.

        Parameters
        ----------
        path : path-like
        about : dict, optional
            What else to keep, such as the problem's name: the member ``about.json`` of the archive.
        overwrite : bool
            Replace a file that exists.

        Notes
        -----

        The point, the history and all numbers are kept, and the certificate if it was asked for;
        the problem is not. :func:`riemtr.load_result` reads it, and ``solver.solve(problem,
        start=loaded)`` goes on from it.
        """
        save_result(self, path, about, overwrite)

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

    def summary(self) -> Summary:
        """Return the result in words; a certificate that nobody asked for is not computed."""
        known = self.certificate if is_known(self, "certificate") else None
        verdict = "not computed yet: ask for result.certificate"
        if known is not None:
            verdict = f"{known.verdict_in_words}; {known.curvature_in_words}"
        away = "" if known is None else known.distance_in_words
        escapes = int(np.count_nonzero(self.history["escaped"]))
        left = f"left {plural(escapes, 'saddle point')} along negative curvature"
        return Summary(
            "Result",
            (
                ("status", str(self.reason)),
                ("certificate", verdict),
                *([] if known is None else [("meaning", known.meaning)]),
                *([("minimizer", away)] if away else []),
                ("cost", f"{self.cost:.12g}"),
                ("gradient norm", f"{self.gradient_norm:.3e}"),
                ("effort", self._effort),
                *([("escapes", left)] if escapes else []),
                *([("remark", self.remark)] if self.remark else []),
                ("point", _shown(self.point)),
                ("solver", str(self.solver)),
            ),
            tone=GOOD if known is not None and self.certified else DOUBTFUL,
            line=f"{self.status.name.lower().replace('_', ' ')}: "
            f"{'no certificate yet' if known is None else known.verdict}, cost {self.cost:.12g}, "
            f"gradient norm {self.gradient_norm:.1e}, {plural(self.iterations, 'iteration')}, "
            f"{self.seconds:.3g} s",
        )

    @property
    def _effort(self) -> str:
        """How long the run took, and what it asked the cost for."""
        by_differences = (
            self.__dict__["evaluation"] is not None  # as it is after pickling
            and is_known(self.evaluation, "hessian_kind")
            and self.evaluation.hessian_kind == "differences"
        )
        how = " (by differences of gradients)" if by_differences else ""
        names = ("costs", "gradients", f"Hessian products{how}", "Hessian matrices")
        counts = zip(names, self.counts.as_dict().values(), strict=True)
        used = ", ".join(f"{count} {name}" for name, count in counts if count)
        return f"{plural(self.iterations, 'iteration')} in {self.seconds:.3g} s: {used}"

    def plot(self, axes: Any = None) -> Any:
        """Draw gradient norm and cost against the iteration; needs the extra ``plot``.

        Steps out of saddle points are marked. Returns the axes.
        """
        return plot_convergence(self.history, axes)


def _shown(point: Any) -> str:
    """Show the first and last entries of a point, or the shapes of its parts."""
    if isinstance(point, np.ndarray) and point.ndim == 1:
        with np.printoptions(precision=3, threshold=8, edgeitems=3, suppress=True):
            return f"{point} ({plural(point.size, 'number')})"
    if isinstance(point, np.ndarray):
        return f"an array of {' x '.join(str(length) for length in point.shape)} numbers"
    if isinstance(point, dict):
        point = point.values()
    return "\n".join(_shown(part) for part in point)


# -- the convergence of a run as a picture --------------------------------------------------------


def plot_convergence(history: dict[str, np.ndarray], axes: Any = None) -> Any:
    """Draw gradient norm and cost gap against the iteration, saddle escapes marked.

    Parameters
    ----------
    history : dict of ndarray
        ``result.history``.
    axes : matplotlib Axes, optional
        Where to draw; new axes if not given.

    Returns
    -------
    matplotlib Axes
    """
    axes = drawing_axes(axes)
    number = history["iteration"]
    last = history["stage"] == history["stage"][-1]
    gap = history["cost"] - history["cost"][last].min()
    gap = np.where(last & (gap > 0), gap, np.nan)
    norms = history["gradient_norm"]
    positive = np.concatenate([norms[norms > 0], gap[np.isfinite(gap)]])
    # What is exactly zero has no place on the axis; it is drawn just below all the rest.
    floor = 0.1 * positive.min() if len(positive) else 1.0
    norms = np.maximum(norms, floor)
    axes.semilogy(number, norms, ".-", color="C0", label="gradient norm")
    axes.semilogy(number, gap, ".-", color="C1", label="cost above the final one")
    escaped = np.flatnonzero(history["escaped"])
    if len(escaped):
        # The row of a step shows the point after it: the saddle is one row earlier.
        axes.semilogy(
            number[escaped - 1],
            norms[escaped - 1],
            "*",
            markersize=14,
            color="C3",
            label="saddle point, left along negative curvature",
        )
    if (history["gradient_norm"] == 0).any():
        axes.axhline(floor, color="0.8", linewidth=1, linestyle=":", zorder=0)
        axes.annotate("exactly 0", (number[-1], floor), ha="right", va="bottom", color="0.5")
    for change in np.flatnonzero(np.diff(history["stage"])):
        axes.axvline(number[change], color="0.8", linewidth=1, zorder=0)
    axes.set(xlabel="iteration", title="Convergence")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return axes
