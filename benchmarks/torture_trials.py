"""What a judge of certificates needs: a trial with known truth, and a verdict on every claim.

A :class:`Trial` is a problem, points to certify and runs to make, with the truth about all of them.
:func:`judge` certifies the points, makes the runs, and counts:

- "false": a claim that does not hold. A run or a certificate calls a point a minimizer, though the
  point is none; or calls it strict, though a direction is flat or falls, or though the Hessian is
  wrong; or states a smallest eigenvalue that is not within its error bound, or a bound of the
  distance that the minimizer exceeds;
- "refused" of "sound": certificates at strict minimizers of sound problems without the verdict
  "minimizer";
- "give-ups" of "runs": runs that are not certified, except runs that stop near the minimizer for
  another reason than time, iterations or convergence, as where rounding ends them. Only runs of
  trials with ``expected`` runs are counted.

Claims of riemtr are read in :func:`claim_of` and :func:`ending_of`, and nowhere else.
"""

from __future__ import annotations

import collections
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import mpmath
import numpy as np
import pymanopt
from pymanopt.manifolds import Euclidean
from pymanopt.optimizers import ConjugateGradient, TrustRegions
from scipy.optimize import minimize

import riemtr

Array = np.ndarray

# Distance, over the size of a factor of the point, from which on a point is far from a minimizer.
FAR = 1e-4
# Decimal digits of the arithmetic in which costs are compared with their minimum.
mpmath.mp.dps = 40
# Roundings of the cost that count as none, over the largest error met beside the point: nobody
# should be called a liar over the last two digits.
ROUNDINGS = 100.0
# Share of the size of a point within which its distance to the minimizer is compared.
ROUNDED = 1e-14
# Points beside a point at which the cost's rounding is measured.
NEIGHBOURS = 6
# Seconds for one run.
MAX_SECONDS = 10.0
# Share of the magnitude of a Hessian within which its eigenvalues are compared.
ROUNDING = 1e-7
# Iterates of a run that are certified, of those far from the minimizer.
ON_THE_WAY = 2
# Iterates of a run that are kept for it, from the start on.
KEPT = 200
# What a peer is given: pymanopt's usual gradient norm, and iterations enough.
PEER_TOLERANCE, PEER_ITERATIONS = 1e-6, 1000
OUT_OF_BUDGET = ("MAX_ITERATIONS", "MAX_SECONDS")


# -- what riemtr claims -------------------------------------------------------------------------


class Claim(NamedTuple):
    """What a certificate or a run claims of a point."""

    minimizer: bool
    strict: bool
    words: str


def verdict_of(certificate: Any) -> str:
    """Return the verdict of a certificate, a string or a member of an enumeration."""
    verdict = certificate.verdict
    return str(getattr(verdict, "value", verdict)).lower()


def claim_of(certificate: Any) -> Claim:
    """Read a certificate."""
    minimizer = verdict_of(certificate) == "minimizer"
    parts = (getattr(certificate, name, "") for name in ("verdict_in_words", "curvature_in_words"))
    return Claim(minimizer, bool(certificate.strict) and minimizer, "; ".join(parts))


class Ending(NamedTuple):
    """What a run came to: its claim, and how it stopped."""

    claim: Claim
    point: Any
    certificate: Any
    converged: bool
    certified: bool
    ran_out: bool


def ending_of(result: Any) -> Ending:
    """Read a result.

    A run claims a solution if it converged, if it is certified, or if its certificate says
    minimizer. Members of ``Certified`` are read by their names, so that their order and their
    values do not matter.
    """
    certificate = result.certificate
    name = getattr(result.certified, "name", str(result.certified)).upper()
    certified = name not in ("NO", "FALSE")
    status, verdict = result.status.name, verdict_of(certificate)
    words = (
        f"{status}, certified {name}, {verdict}, cost {result.cost:.6g}, "
        f"{result.iterations} iterations"
    )
    converged = bool(result.converged)
    solved = converged or certified or verdict == "minimizer"
    claim = Claim(solved, name == "STRICT", words)
    return Ending(claim, result.point, certificate, converged, certified, status in OUT_OF_BUDGET)


# -- truth --------------------------------------------------------------------------------------


def arrays(point: Any) -> list[Any]:
    """Return the arrays of a point."""
    return list(point) if isinstance(point, (list, tuple)) else [point]


def exact(array: Any) -> Array:
    """Return an array of floats as one of numbers with many digits."""
    return np.vectorize(mpmath.mpf, otypes=[object])(np.asarray(array))


def apply(function: str, array: Any) -> Any:
    """Apply an elementary function to floats, or to numbers with many digits."""
    array = np.asarray(array)
    if array.dtype == object:
        return np.vectorize(getattr(mpmath, function), otypes=[object])(array)
    return getattr(np, function)(array)


class Truth:
    """Where the minimizers of a cost are, and how much higher than they the cost is at a point.

    Parameters
    ----------
    cost : callable
        The cost as the solvers get it.
    away : callable
        ``away(point)``, the largest distance to the nearest minimizer in a factor of the point,
        over the size of the factor; infinite where there is no minimizer.
    least : mpmath.mpf
        The infimum of the cost.
    formula : callable, optional
        The cost for numbers with many digits; the cost itself if None.
    noise : float
        An error of the cost that is put in on purpose.
    distance : callable, optional
        The distance of a point to the minimizer in the manifold's metric, or that of their arrays
        where it is shorter; certificates that state a distance are held against it.
    """

    def __init__(
        self,
        cost: Callable[..., Any],
        away: Callable[[Any], float],
        least: Any,
        formula: Callable[..., Any] | None = None,
        noise: float = 0.0,
        distance: Callable[[Any], float] | None = None,
    ):
        self.cost, self.away, self.least, self.noise = cost, away, least, noise
        self.distance = distance
        self.formula = cost if formula is None else formula

    def higher(self, point: Any) -> float:
        """Return by how much the cost is above its infimum, exactly for the point's floats."""
        return float(self.formula(*(exact(a) for a in arrays(point))) - self.least)

    def rounding(self, point: Any) -> float:
        """Return how well costs beside the point can be told apart, measured."""
        rng = np.random.default_rng(0)
        epsilon = np.finfo(float).eps
        centre = self.formula(*(exact(a) for a in arrays(point)))
        worst = 0.0
        for _ in range(NEIGHBOURS):
            beside = [a * (1.0 + epsilon * rng.uniform(-1.0, 1.0, a.shape)) for a in arrays(point)]
            value = self.formula(*(exact(a) for a in beside))
            error = abs(float(value - mpmath.mpf(float(self.cost(*beside)))))
            worst = max(worst, error, abs(float(value - centre)))
        return ROUNDINGS * worst + self.noise

    def exceeds(self, point: Any, certificate: Any) -> bool:
        """Whether the minimizer is farther than a certificate states, by more than rounding."""
        bound = getattr(certificate, "distance_bound", None)
        if self.distance is None or bound is None:
            return False
        size = float(np.sqrt(sum(np.sum(np.abs(a) ** 2) for a in arrays(point))))
        return self.distance(point) > bound * (1.0 + 1e-6) + ROUNDED * size

    def near(self, point: Any) -> bool:
        """Whether the point is close to a minimizer in each factor, or lower by no more than noise.

        A point that is not finite is not near.
        """
        if not all(np.all(np.isfinite(a)) for a in arrays(point)):
            return False
        return self.away(point) <= FAR or self.higher(point) <= self.rounding(point)


@dataclass(frozen=True)
class Spot:
    """A point to certify.

    Attributes
    ----------
    point : point of the manifold
    minimizer : bool or None
        Whether the point is one; None where the trial's truth is to be asked.
    sound : bool
        Whether a strict minimizer, of a problem that is as it should be, is to be certified.
    strict : bool
        Whether the verdict "strict" would hold.
    curvature : float or None
        The smallest eigenvalue of the Hessian, symmetries left out.
    size : float
        The magnitude of the Hessian.
    stated : bool
        Whether a stated eigenvalue is compared with ``curvature`` from both sides.
    """

    point: Any
    minimizer: bool | None
    sound: bool = False
    strict: bool = True
    curvature: float | None = None
    size: float = 1.0
    stated: bool = False


class Peer(NamedTuple):
    """What pymanopt and SciPy need to solve the problem as well: its functions."""

    manifold: Any
    cost: Callable[..., Any]
    gradient: Callable[..., Any]
    hessian: Callable[..., Any]


@dataclass(frozen=True)
class Trial:
    """A problem, what is to be done with it, and the truth about it.

    Attributes
    ----------
    kind : str
        What the trial is, for messages.
    problem : riemtr.Problem
    spots : sequence of Spot
    truth : Truth or None
        For runs, and for spots that ask for it.
    start : point of the manifold or None
        Where runs start; None for no runs.
    solvers : sequence of str
        Which of :data:`SOLVERS` run.
    expected : bool
        Whether runs should find the minimizer, so that give-ups are counted.
    on_the_way : bool
        Whether iterates of the first run that are far from the minimizer are certified, too.
    peer : Peer or None
    max_seconds : float
        Time for each run, and for each certificate.
    """

    kind: str
    problem: riemtr.Problem
    spots: Sequence[Spot] = ()
    truth: Truth | None = None
    start: Any = None
    solvers: Sequence[str] = ()
    expected: bool = False
    on_the_way: bool = False
    peer: Peer | None = None
    max_seconds: float = MAX_SECONDS


SOLVERS: dict[str, Callable[..., Any]] = {
    "PracticalTRM": riemtr.PracticalTRM,
    "ExactTRM": riemtr.ExactTRM,
    "ARC": riemtr.ARC,
    "LBFGS": riemtr.LBFGS,
}


# -- judging ------------------------------------------------------------------------------------


class Tally:
    """Counts of one or more trials, and sentences about all that is wrong."""

    def __init__(self) -> None:
        self.counts: collections.Counter[str] = collections.Counter()
        self.faults: list[str] = []

    def add(self, other: Tally) -> None:
        self.counts.update(other.counts)
        self.faults += other.faults

    def note(self, what: str, kind: str, sentence: str) -> None:
        """Count a fault, in all and by the kind of trial, and keep a sentence about it."""
        self.counts[what] += 1
        self.counts[f"! {what}: {kind}"] += 1
        self.faults.append(f"{what}: {kind}, {sentence}")


def copied(point: Any) -> Any:
    """Return a copy of a point, of plain lists, tuples and arrays."""
    if isinstance(point, tuple):
        return tuple(np.array(a) for a in point)
    return [np.array(a) for a in point] if isinstance(point, list) else np.array(point)


def where(trial: Trial, point: Any) -> str:
    """Say how far from the minimizer a point is."""
    if trial.truth is None:
        return ""
    truth = trial.truth
    away = truth.away(point)
    if math.isnan(away):
        return ""
    higher = truth.higher(point)
    return f" ({away:.1e} of its size away, {higher:.1e} higher)"


def certify(trial: Trial, spot: Spot, tally: Tally) -> None:
    """Certify a point, and count what is wrong with the certificate."""
    tally.counts["certificates"] += 1
    try:
        certificate = riemtr.certify(trial.problem, spot.point, max_seconds=trial.max_seconds)
        claim = claim_of(certificate)
    except (ValueError, ArithmeticError) as error:  # an answer, too
        certificate, claim = None, Claim(False, False, f"{type(error).__name__}: {error}")
    if spot.sound:
        tally.counts["sound"] += 1
        if not claim.minimizer:
            tally.note("refused", trial.kind, claim.words)
    if not claim.minimizer:
        return
    if spot.minimizer is None:
        assert trial.truth is not None
        minimizer = trial.truth.near(spot.point)
    else:
        minimizer = spot.minimizer
    if not minimizer:
        beside = where(trial, spot.point) if spot.minimizer is None else ""
        tally.note("false", trial.kind, f"no minimizer{beside} is called: {claim.words}")
    elif claim.strict and not spot.strict:
        tally.note("false", trial.kind, f"strict, which is not known: {claim.words}")
    elif spot.curvature is not None and not states(certificate, spot):
        tally.note(
            "false", trial.kind, f"smallest eigenvalue {spot.curvature:.6e}, stated: {claim.words}"
        )
    elif trial.truth is not None and trial.truth.exceeds(spot.point, certificate):
        tally.note("false", trial.kind, too_far(trial, spot.point, certificate))


def too_far(trial: Trial, point: Any, certificate: Any) -> str:
    """Say that the minimizer is farther than a certificate states."""
    assert trial.truth is not None
    assert trial.truth.distance is not None
    return (
        f"the minimizer is {trial.truth.distance(point):.6e} away, stated: at most "
        f"{certificate.distance_bound:.6e}, {certificate.distance_bound_is}"
    )


def states(certificate: Any, spot: Spot) -> bool:
    """Whether the smallest eigenvalue is within the bounds that the certificate states."""
    assert spot.curvature is not None
    value, error = float(certificate.min_eigenvalue), float(certificate.error_bound)
    if not math.isfinite(error):
        return True
    allowance = ROUNDING * spot.size
    above = not spot.stated or spot.curvature <= value + allowance
    return value - error <= spot.curvature + allowance and above


def run(trial: Trial, name: str, tally: Tally) -> list[Any]:
    """Solve, count what is wrong with the result, and return iterates."""
    assert trial.truth is not None
    truth, kind = trial.truth, trial.kind
    iterates: list[Any] = []

    def keep(iteration: Any) -> None:
        if len(iterates) < KEPT:
            iterates.append(copied(iteration.point))

    tally.counts["tried"] += 1
    tally.counts[f"{name} tried"] += 1
    tally.counts["runs"] += trial.expected
    tally.counts[f"{name} runs"] += trial.expected
    observers = (keep,) if trial.on_the_way else ()
    try:
        solver = SOLVERS[name](max_seconds=trial.max_seconds)
        result = solver.solve(trial.problem, copied(trial.start), rng=0, observers=observers)
        end = ending_of(result)
    except (ValueError, ArithmeticError) as error:  # an answer, too
        words = f"{name}: {type(error).__name__}: {error}"
        if trial.expected:
            tally.note("give-ups", kind, words)
            tally.counts[f"{name} give-ups"] += 1
        return iterates
    near = truth.near(end.point)
    words = f"{name}: {end.claim.words}{where(trial, end.point)}"
    if end.claim.minimizer and not near:
        tally.note("false", kind, words)
        tally.counts[f"{name} false"] += 1
    elif end.certified and truth.exceeds(end.point, end.certificate):
        tally.note("false", kind, f"{name}: {too_far(trial, end.point, end.certificate)}")
        tally.counts[f"{name} false"] += 1
    elif trial.expected and not end.certified and (not near or end.ran_out or end.converged):
        tally.note("give-ups", kind, words)
        tally.counts[f"{name} give-ups"] += 1
    return iterates


def judge(trial: Trial, with_peers: bool = False) -> Tally:
    """Judge all claims that riemtr makes in a trial."""
    tally = Tally()
    tally.counts["cases"] += 1
    for spot in trial.spots:
        certify(trial, spot, tally)
    iterates: list[Any] = []
    for name in trial.solvers:
        iterates = run(trial, name, tally) or iterates
        if trial.on_the_way and name == trial.solvers[0]:
            assert trial.truth is not None
            rng = np.random.default_rng(len(iterates))
            far = [point for point in iterates if not trial.truth.near(point)]
            for index in rng.permutation(len(far))[:ON_THE_WAY]:
                certify(trial, Spot(far[index], False), tally)
    if with_peers and trial.peer is not None and trial.truth is not None:
        judge_peers(trial, tally)
    return tally


# -- peers --------------------------------------------------------------------------------------


def judge_peers(trial: Trial, tally: Tally) -> None:
    """Count peers that call a point solved that is far, and peers that give up."""
    assert trial.peer is not None
    assert trial.truth is not None
    for name, (point, solved) in peer_ends(trial).items():
        near = point is not None and trial.truth.near(point)
        tally.counts[f"{name} tried"] += 1
        tally.counts[f"{name} runs"] += trial.expected
        tally.counts[f"{name} false"] += solved and not near
        tally.counts[f"{name} give-ups"] += not solved and trial.expected


def peer_ends(trial: Trial) -> dict[str, tuple[Any, bool]]:
    """Return where each peer ends, and whether it claims to have converged."""
    peer = trial.peer
    assert peer is not None
    ends: dict[str, tuple[Any, bool]] = {}

    def function(f: Callable[..., Any]) -> Any:
        # pymanopt refuses functions with defaults by keyword.
        return pymanopt.function.numpy(peer.manifold)(lambda *point: f(*point))

    problem = pymanopt.Problem(
        peer.manifold,
        function(lambda *point: float(peer.cost(*point))),
        euclidean_gradient=function(peer.gradient),
        euclidean_hessian=function(peer.hessian),
    )
    for name, kind in (("pymanopt TR", TrustRegions), ("pymanopt CG", ConjugateGradient)):
        optimizer = kind(
            verbosity=0,
            min_gradient_norm=PEER_TOLERANCE,
            max_iterations=PEER_ITERATIONS,
            max_time=trial.max_seconds,
        )
        try:
            result = optimizer.run(problem, initial_point=copied(trial.start))
            gradient = problem.riemannian_gradient(result.point)
            norm = float(peer.manifold.norm(result.point, gradient))
            ends[name] = result.point, norm < PEER_TOLERANCE
        except (ValueError, ArithmeticError, np.linalg.LinAlgError, AttributeError):
            ends[name] = None, False
    if isinstance(peer.manifold, Euclidean):
        for method in ("trust-constr", "BFGS"):
            ends[f"SciPy {method}"] = by_scipy(trial, method)
    return ends


def by_scipy(trial: Trial, method: str) -> tuple[Any, bool]:
    peer = trial.peer
    assert peer is not None
    shape = np.shape(trial.start)

    def product(x: Array, v: Array) -> Array:
        # SciPy tries vectors of integers first.
        return np.ravel(peer.hessian(x.reshape(shape), v.reshape(shape).astype(float)))

    second = {"hessp": product}
    try:
        found = minimize(
            lambda x: float(peer.cost(x.reshape(shape))),
            np.ravel(trial.start),
            jac=lambda x: np.ravel(peer.gradient(x.reshape(shape))),
            method=method,
            options={"gtol": PEER_TOLERANCE, "maxiter": PEER_ITERATIONS},
            **(second if method == "trust-constr" else {}),
        )
    except (ValueError, ArithmeticError, np.linalg.LinAlgError):
        return None, False
    return found.x.reshape(shape), bool(found.success)
