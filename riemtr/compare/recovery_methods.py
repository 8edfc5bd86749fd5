"""Methods for dictionary recovery side by side: the same data, clock and independent check.

Every method gets the same whitened data and returns directions q on their sphere; the dictionary
that goes with them, its error and the check of every direction are riemtr's, the same for all, and
off the clock.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from riemtr.arguments import check_positive, integer
from riemtr.blas_threads import blas_threads_for
from riemtr.compare.journal import keep, open_runs, recall, versions
from riemtr.compare.records import RECOVERY, Comparison, Run
from riemtr.compare.recovery_check import EXACT, OPTIMAL, examine
from riemtr.compare.recovery_peers import Estimate, RecoveryMethod, adm, fast_ica, msp, picard_o
from riemtr.data import BernoulliGaussian, Conditioned, load_image, paper_sample_size, patches
from riemtr.environment import environment
from riemtr.errors import ArgumentError, unknown_name
from riemtr.identity import digest
from riemtr.interop.pymanopt import pymanopt_solvers
from riemtr.interrupts import OutOfTime, deadline, interrupts_insisted_on
from riemtr.progress import Progress, Watcher, watching
from riemtr.recovery import Preconditioned, precondition, recover_dictionary
from riemtr.recovery.solving import RowSolver, default_solver
from riemtr.solvers import ExactTRM
from riemtr.store import Store

_MU = 1e-2  # the paper's
_PACKAGES = ("python-picard", "scikit-learn")  # beside those that any result depends on
_TOLERANCE = 1e-2  # gradient norm of a solve: rounding needs the basin, no digits


def _pipeline(solver: RowSolver) -> RecoveryMethod:
    """Return riemtr's pipeline with the given solver for its rows."""

    def recover(data: np.ndarray, seed: int) -> Estimate:
        found = recover_dictionary(data, _MU, seed, solver=solver, precondition=False)
        certified = sum(atom.certified for atom in found.atoms)
        trusted = sum(atom.trusted for atom in found.atoms)
        status = f"{certified} of {len(found.atoms)} rows certified, {trusted} trusted"
        iterations = sum(atom.result.iterations for atom in found.atoms)
        return Estimate(found.directions.T, found.certified, status, iterations)

    return recover


def ours() -> RecoveryMethod:
    """Return riemtr's pipeline: practical trust regions, rounding by linear programming."""
    return _pipeline(default_solver(scale=1.0, mu=_MU))


def ours_exact() -> RecoveryMethod:
    """Return riemtr's pipeline with the paper's exact fixed-radius method for its rows."""
    # A radius above mu steps over what mu resolves, and cycles.
    return _pipeline(ExactTRM(_MU, tolerance=_TOLERANCE, curvature_tolerance=_TOLERANCE))


def ours_pymanopt() -> RecoveryMethod:
    """Return riemtr's pipeline with pymanopt's TrustRegions for its rows."""
    solvers = pymanopt_solvers(tolerance=_TOLERANCE, max_iterations=2000)
    return _pipeline(solvers["pymanopt-tr"])


def l4_fixed_point() -> RecoveryMethod:
    """Return matching, stretching, projection: the l4 fixed point of Zhai et al."""
    return msp


def alternating_directions() -> RecoveryMethod:
    """Return alternating directions over orthogonal matrices, with soft thresholds."""
    return adm


METHODS: dict[str, Callable[[], RecoveryMethod]] = {
    "riemtr": ours,
    "riemtr-exact": ours_exact,
    "pymanopt-tr": ours_pymanopt,
    "picard-o": picard_o,
    "fastica": fast_ica,
    "msp": l4_fixed_point,
    "adm": alternating_directions,
}
"""Factories by name; one that lacks a package raises :class:`riemtr.errors.MissingExtraError`."""


def compare_recovery(
    methods: Sequence[str] | Mapping[str, Callable[[], RecoveryMethod]] = tuple(METHODS),
    *,
    starts: int = 5,
    rng: int = 0,
    max_seconds: float = 60.0,
    store: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: bool | Watcher = False,
    n: int | None = None,
    p: int | None = None,
    theta: float | None = None,
    condition: float | None = None,
    noise: float | None = None,
    image: str | Path | np.ndarray | None = None,
) -> Comparison:
    """Run recovery methods on the same whitened data, and check what each of them found.

    :func:`riemtr.compare.recovery_check.examine` says what verdict, success, distance and
    details of a run mean.

    Parameters
    ----------
    methods : sequence of str, or mapping
        Names in :data:`METHODS`, or factories of your own by name.
    starts : int
        Draws of the data, each with a start of every method.
    rng : int
        Seed: what all randomness is drawn from.
    max_seconds : float
        Time limit of a run; see :func:`riemtr.interrupts.deadline` for how it is kept.
    store, resume, progress : optional
        As those of :func:`~riemtr.compare.compare`.
    n, p, theta, condition, noise : optional
        Of made-up data: dimension (20 if not given), samples (the paper's number), share of
        nonzeros (0.2), condition number of the dictionary (10), standard deviation of the noise
        (0).
    image : str, path or array, optional
        Take the 8 x 8 patches of this image instead, as :func:`riemtr.data.load_image` has it;
        without any of the above, which it settles.

    Returns
    -------
    Comparison
        After Ctrl-C it holds the runs that were finished.

    Examples
    --------
    >>> found = compare_recovery(["riemtr", "msp"], starts=1, n=5, p=1000, theta=0.2)
    >>> [(run.solver, run.certified, run.success) for run in found.runs]
    [('riemtr', True, True), ('msp', False, False)]
    """
    factories = _factories(methods)
    integer("starts", starts, low=1)
    seed = integer("rng", rng, low=0)
    if max_seconds != math.inf:
        check_positive("max_seconds", max_seconds, " or inf")
    given = {"n": n, "p": p, "theta": theta, "condition": condition, "noise": noise}
    chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    described, draw = of_model(**chosen) if image is None else of_image(image, chosen)

    def identity() -> dict[str, Any]:
        made = {name: digest(factory) for name, factory in factories.items()}
        asked: dict[str, Any] = {"starts": starts, "seed": seed, "max_seconds": max_seconds}
        if image is not None:  # a file may have changed, and an array has no name
            white, _ = draw(_state(seed, 0, 0))
            asked["mean size of the image's data"] = f"{np.abs(white.data).mean():.6g}"
        return {"methods": made, "data": described, **asked, "environment": versions(*_PACKAGES)}

    runs: list[Run] = []
    interrupted, begin = False, time.perf_counter()
    with (
        open_runs(store, identity, resume) as kept,
        watching(progress) as watch,
        blas_threads_for(described["n"] * described["p"]),
    ):
        measured_with = environment(*_PACKAGES)
        try:
            for run in _runs(factories, starts, seed, draw, max_seconds, kept):
                runs.append(run)
                keep(kept, run)
                total, seconds = starts * len(factories), time.perf_counter() - begin
                watch(Progress("runs", len(runs), total, seconds, run))
        except KeyboardInterrupt:
            if not runs:
                raise
            interrupted = True
    settings: dict[str, Any] = {
        "command": _command(factories, starts, seed, max_seconds, described, image),
        "problems": {RECOVERY: described},
        "solvers": {name: _description(factory) for name, factory in factories.items()},
        "starts": starts,
        "seed": seed,
        "tolerances": [],
        "max_seconds": max_seconds,
        "exact_below": EXACT,
        "optimal_to": OPTIMAL,
        "interrupted": interrupted,
    }
    return Comparison(settings, measured_with, tuple(runs))


def _runs(
    factories: dict[str, Callable[[], RecoveryMethod]],
    starts: int,
    seed: int,
    draw: Draw,
    max_seconds: float,
    store: Store,
) -> Iterator[Run]:
    for start in range(starts):
        known = {name: recall(store, RECOVERY, name, start) for name in factories}
        if None not in known.values():
            yield from (run for run in known.values() if run is not None)
            continue
        white, truth = draw(_state(seed, start, 0))
        own = int(_state(seed, start, 1).generate_state(1)[0])
        for name, factory in factories.items():
            yield known[name] or _run(name, factory, start, own, white, truth, max_seconds)


def _factories(
    methods: Sequence[str] | Mapping[str, Callable[[], RecoveryMethod]],
) -> dict[str, Callable[[], RecoveryMethod]]:
    if isinstance(methods, str) or not methods:
        raise ArgumentError("methods", "be a list of at least one name", methods)
    if isinstance(methods, Mapping):
        return dict(methods)
    for name in methods:
        if name not in METHODS:
            raise unknown_name("methods", name, METHODS)
        if list(methods).count(name) > 1:
            raise ArgumentError("methods", f"have names of their own; {name!r} comes twice")
    return {name: METHODS[name] for name in methods}


def _command(
    factories: dict[str, Callable[[], RecoveryMethod]],
    starts: int,
    seed: int,
    max_seconds: float,
    data: dict[str, Any],
    image: str | Path | np.ndarray | None,
) -> str | None:
    """Return the call that does it again, in Python; None where it has no names for all."""
    ours = all(METHODS.get(name) is factory for name, factory in factories.items())
    if not ours or isinstance(image, np.ndarray):
        return None
    which = data if image is None else {"image": str(image)}
    options = {"starts": starts, "rng": seed, "max_seconds": max_seconds, **which}
    listed = ", ".join(f"{name}={value!r}" for name, value in options.items())
    return f"riemtr.compare.compare_recovery({list(factories)}, {listed})"


def _description(factory: Callable[[], RecoveryMethod]) -> str:
    first = (factory.__doc__ or "").strip().split("\n")[0]
    return first.removeprefix("Return ").split(";")[0].rstrip(".")


def _state(seed: int, start: int, purpose: int) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed, spawn_key=(start, purpose))


def _run(
    name: str,
    factory: Callable[[], RecoveryMethod],
    start: int,
    seed: int,
    white: Preconditioned,
    truth: np.ndarray | None,
    max_seconds: float,
) -> Run:
    data = white.data.copy()  # no method can spoil the data of the next
    which: dict[str, Any] = {"problem": RECOVERY, "solver": name, "start": start, "kind": "random"}
    begin = time.perf_counter()
    try:
        method = factory()
        begin = time.perf_counter()
        # A solver may end gracefully on Ctrl-C, with rows that are no outcome.
        with interrupts_insisted_on(), deadline(max_seconds):
            estimate = method(data, seed)
        seconds = time.perf_counter() - begin
        found = examine(estimate, white, truth)
    except OutOfTime:
        outcome, said = "timed out", f"stopped after {max_seconds:g} s, without a result"
    except (Exception, SystemExit) as error:  # whatever a method raises is an outcome, not the end
        outcome, said = "failed", f"{type(error).__name__}: {error}"
    else:
        return Run(
            **which,
            outcome="ended" if seconds <= max_seconds else "timed out",
            status=estimate.status,
            claimed=bool(estimate.claimed),
            seconds=seconds,
            iterations=int(estimate.iterations),
            **found,
        )
    spent = time.perf_counter() - begin
    return Run(**which, outcome=outcome, status=said, claimed=False, seconds=spent)


# -- the data of a comparison of recovery methods, whitened: made up, or the patches of an image --

PARAMETERS = ("n", "p", "theta", "condition", "noise", "image")
"""What can be chosen of them."""

Draw = Callable[[np.random.SeedSequence], tuple[Preconditioned, np.ndarray | None]]
"""Returns whitened data, and the true dictionary where it is known."""


def of_model(
    n: int = 20,
    p: int | None = None,
    theta: float = 0.2,
    condition: float = 10.0,
    noise: float = 0.0,
) -> tuple[dict[str, Any], Draw]:
    """Return a description of made-up data, and what draws them with their true dictionary."""
    samples = paper_sample_size(n) if p is None else p
    model = BernoulliGaussian(n, samples, theta, Conditioned(condition), noise)

    def draw(state: np.random.SeedSequence) -> tuple[Preconditioned, np.ndarray | None]:
        sample = model.draw(np.random.default_rng(state))
        return precondition(sample.observations), sample.dictionary

    parameters = {"n": n, "p": samples, "theta": theta, "condition": condition, "noise": noise}
    return parameters, draw


def of_image(
    image: str | Path | np.ndarray, chosen: Mapping[str, Any]
) -> tuple[dict[str, Any], Draw]:
    """Return the same for the patches of an image, whose true dictionary nobody knows."""
    for name, value in chosen.items():
        raise ValueError(
            f"{name} must be left out where image is given, whose patches are the data; got "
            f"{value!r}: leave out one of them"
        )
    pixels = image if isinstance(image, np.ndarray) else load_image(image)
    white = precondition(patches(pixels), rank="auto")
    named = f"array {pixels.shape}" if pixels is image else str(image)
    rank, samples = white.data.shape
    return {"image": named, "n": rank, "p": samples}, lambda _: (white, None)
