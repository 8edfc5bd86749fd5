"""What a comparison measured: plain records, as Python objects and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from riemtr.files import save_json
from riemtr.store import read_store
from riemtr.summary import Summarised, Summary

FORMAT = "riemtr comparison 1"
COUNTS = ("costs", "gradients", "hessian_products", "hessian_matrices")

RECOVERY = "dictionary-recovery"
"""The label of comparisons of whole recovery methods."""

ENDINGS = {
    "certified": "certified minimizer",
    "narrow": "narrowly missed",
    "deceived": "“converged” at a saddle point",
    "unconfirmed": "“converged”, not confirmed",
    "stuck": "at a saddle point",
    "unfinished": "fell short",
    "timed out": "timed out",
    "failed": "failed",
}
"""The ways a run can end, :attr:`Run.ending`, in the words of tables, page and headline."""


@dataclass(frozen=True)
class Reach:
    """When a run reached a tolerance for good, and what it had asked the cost for by then.

    For good: the gradient norm stayed below from there to the end. A run that starts at a saddle
    point and leaves it has not reached anything there.

    Attributes
    ----------
    tolerance : float
        The gradient norm to reach.
    seconds : float
    counts : dict
        Oracle calls by name, those of :data:`COUNTS`.
    oracles : int or None
        The same in one number: cost, gradient and Hessian calls together, a Hessian matrix
        as one call per dimension of the manifold. None where nothing was counted.
    """

    tolerance: float
    seconds: float
    counts: dict[str, int]
    oracles: int | None = None


@dataclass(frozen=True)
class Run:
    """One solver on one problem from one start.

    Attributes
    ----------
    problem : str
        Label of the problem: its name, with parameters where two instances share it.
    solver : str
        The solver's name in the comparison.
    start : int
        Number of the start; the same number is the same point for every solver.
    kind : str
        "random" or "saddle".
    outcome : str
        "ended", "failed" (it raised an error) or "timed out": an endpoint that came too late is
        on record, but counts for nothing.
    status : str
        How the solver itself says it ended, in a word or a sentence; the error if it failed.
    claimed : bool
        Whether the solver calls itself converged.
    verdict : str or None
        Of the certificate of its endpoint; None where there is no endpoint.
    success : bool or None
        Whether the endpoint is the known solution, None where it is not known.
    distance : float or None
        From the known solution, likewise.
    cost, gradient_norm, min_eigenvalue, error_bound : float or None
        At the endpoint, evaluated by riemtr and not by the solver.
    seconds : float
        Of the solver alone.
    iterations : int or None
    counts : dict
        Oracle calls of the whole run by name.
    reached : tuple of Reach
        Those of the comparison's tolerances that were reached, loosest first.
    trajectory : dict
        Equal-length lists "seconds", "oracles" (cost, gradient and Hessian calls together),
        "cost", "gradient_norm": the run as it went, thinned to at most a few hundred rows.
    details : dict
        Whatever else is worth keeping, as JSON knows it.
    oracles : int or None
        Oracle calls of the whole run in one number, see :class:`Reach`.
    narrow : bool
        Whether the endpoint would be certified if the gradient norm were allowed to be twice the
        tightest tolerance.
    """

    problem: str
    solver: str
    start: int
    kind: str
    outcome: str
    status: str
    claimed: bool
    verdict: str | None = None
    success: bool | None = None
    distance: float | None = None
    cost: float | None = None
    gradient_norm: float | None = None
    min_eigenvalue: float | None = None
    error_bound: float | None = None
    seconds: float = 0.0
    iterations: int | None = None
    counts: dict[str, int] = field(default_factory=dict)
    reached: tuple[Reach, ...] = ()
    trajectory: dict[str, list[float]] = field(default_factory=dict, repr=False)
    details: dict[str, Any] = field(default_factory=dict, repr=False)
    oracles: int | None = None
    narrow: bool = False

    def __str__(self) -> str:
        return f"{self.problem}, {self.solver}"

    @property
    def ending(self) -> str:
        """How it ended, one of :data:`ENDINGS`; the first that applies.

        Examples
        --------
        >>> Run("rayleigh", "sd", 0, "saddle", "ended", "", claimed=True, verdict="saddle").ending
        'deceived'
        """
        if self.outcome in ("timed out", "failed"):
            return self.outcome
        if self.certified:
            return "certified"
        if self._at_a_saddle:
            return "deceived" if self.claimed else "stuck"
        if self.narrow:
            return "narrow"
        return "unconfirmed" if self.claimed else "unfinished"

    @property
    def certified(self) -> bool:
        """Whether it ended at a certified minimizer, and in time."""
        return self.outcome == "ended" and self.verdict == "minimizer"

    @property
    def deceived(self) -> bool:
        """Whether the solver calls itself converged where the certificate shows a way down."""
        return self.claimed and self._at_a_saddle

    @property
    def _at_a_saddle(self) -> bool:
        return self.outcome == "ended" and self.verdict in ("saddle", "maximizer")


@dataclass(frozen=True, repr=False)
class Comparison(Summarised):
    """All runs of a comparison, with what reproduces them.

    Attributes
    ----------
    settings : dict
        What was asked for: "problems" (name and parameters by label), "solvers" (descriptions by
        name), "starts", "seed", "tolerances", "max_seconds" and so on; "command" reproduces it,
        None where no command can.
    environment : dict
        See :func:`riemtr.environment.environment`.
    runs : tuple of Run
    """

    settings: dict[str, Any]
    environment: dict[str, Any]
    runs: tuple[Run, ...] = field(repr=False)

    @property
    def problems(self) -> list[str]:
        """Labels of the problems, in order, those that nothing ran on included."""
        labels = [*self.settings.get("problems", {}), *(run.problem for run in self.runs)]
        return list(dict.fromkeys(labels))

    @property
    def solvers(self) -> list[str]:
        """Names of the solvers, in order."""
        return list(dict.fromkeys(run.solver for run in self.runs))

    def summary(self) -> Summary:
        """Return a table with a line per solver, problem and kind of start, and what it means."""
        from riemtr.compare.summary import comparison_summary

        return comparison_summary(self)

    def save(self, path: str | Path) -> Path:
        """Write everything as JSON; :func:`load` reads it."""
        return save_json(Path(path), {"format": FORMAT, **asdict(self)})


def end(run: Run, tolerance: float | None) -> Reach | None:
    """Return when a run reached a tolerance; its end where there is none to reach."""
    if tolerance is None:
        return Reach(0.0, run.seconds, run.counts, run.oracles)
    return next((reach for reach in run.reached if reach.tolerance == tolerance), None)


def load(path: str | Path) -> Comparison:
    """Read a comparison that was saved, or what a store has of one that was stopped or killed."""
    if Path(path).suffix in (".sqlite", ".jsonl"):  # jsonl: what older versions kept runs in
        return _of_store(Path(path))
    try:
        content = json.loads(Path(path).read_bytes())
    except ValueError as error:  # UnicodeDecodeError included
        raise _not_ours(path, f"it is empty, torn or no JSON ({error})") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise _not_ours(path, f"it does not say that its format is {FORMAT!r}")
    try:
        runs = tuple(map(as_run, content["runs"]))
        return Comparison(dict(content["settings"]), dict(content["environment"]), runs)
    except KeyError as error:
        raise _not_ours(path, f"it has no {error}") from error
    except (TypeError, ValueError) as error:
        raise _not_ours(path, f"its records have another form ({error})") from error


def as_run(record: dict[str, Any]) -> Run:
    """Return the run that a record holds."""
    return Run(**{**record, "reached": tuple(Reach(**reach) for reach in record["reached"])})


def _of_store(path: Path) -> Comparison:
    identity, records, _ = read_store(path)
    if identity.get("of") != "comparison":
        raise _not_ours(path, "it is the store of another kind of run")
    runs = tuple(map(as_run, records.values()))
    tolerances = sorted({reach.tolerance for run in runs for reach in run.reached}, reverse=True)
    return Comparison({"tolerances": tolerances, "interrupted": True}, {}, runs)


def _not_ours(path: str | Path, why: str) -> ValueError:
    return ValueError(
        f"path must be a comparison that riemtr saved, whole; {str(path)!r} is not: {why}; save it "
        "again, or give the path of another"
    )
