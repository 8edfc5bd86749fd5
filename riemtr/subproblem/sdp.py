"""The paper's semidefinite lifting of the trust-region subproblem (eqn:SDP_relaxation).

With ``Theta = [s; 1][s; 1]'`` and ``M = [[A, b], [b', 0]]`` (the paper's ``A``, ``b`` are the
Hessian and the gradient), the subproblem becomes

    minimise <M, Theta>  subject to  tr(Theta) <= radius^2 + 1,  Theta_{n+1,n+1} = 1,  Theta >= 0,

convex once the rank of ``Theta`` is free, and still tight. It costs far more than the exact
solver and shares nothing with it: that makes it an independent check.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import scipy.sparse

from riemtr.errors import require
from riemtr.subproblem.solution import SubproblemSolution, solve_normalised

# How Clarabel may end: how near to a solution is told by the residual of the step.
_USABLE = ("Solved", "AlmostSolved", "InsufficientProgress")
_RANK_ONE = 1e-6  # ratio of the second to the first eigenvalue of Theta
# Shares of the way to the boundary of the cone that an iteration of Clarabel may go. One run in two
# hundred stalls at a gap of 1e-9, where the step has four digits. Which run it is depends on the
# last bits, so that the same problem with shorter iterations rarely stalls as well.
_SHARES = (0.99, 0.9, 0.8)
# The KKT residual from which on a run stalled. Where the hard case is near all of them have more.
_STALLED = 1e-6


def solve_lifted(hessian: np.ndarray, gradient: np.ndarray, radius: float) -> SubproblemSolution:
    """Solve the subproblem through its lifting, to the conic solver's accuracy.

    The KKT residual is about 1e-7, up to 1e-4 where the hard case is near.

    Parameters
    ----------
    hessian : ndarray, shape (n, n)
        The paper's ``A``, symmetric, in double precision.
    gradient : ndarray, shape (n,)
        The paper's ``b``.
    radius : float
        The paper's ``Delta``.

    Returns
    -------
    SubproblemSolution
        ``multiplier`` is that of the trace constraint; ``hard_case`` says that ``Theta`` has rank
        above one and the step was combined as below.

    Notes
    -----
    Where the minimiser is unique, ``Theta`` has rank one and the minimiser is its principal
    eigenvector *divided by its last entry*: the leading entries alone come out short.

    In the hard case ``Theta = [[X, x], [x', 1]]`` is a mixture of minimisers, of rank above one.
    Complementary slackness puts the range of ``X - x x'`` into the null space of
    ``A + multiplier I``, while ``x`` solves ``(A + multiplier I) x = -b``. So ``x + tau v`` is
    stationary for each ``v`` in that range, and optimal where ``tau`` brings it to the boundary;
    with a zero multiplier ``x`` itself is optimal. Of these candidates the best is returned.
    """
    solutions = []
    for share in _SHARES:
        core = partial(_solve_order_one, share=share)
        solutions.append(solve_normalised(core, hessian, gradient, radius))
        if solutions[-1].kkt_residual <= _STALLED:
            break
    return min(solutions, key=lambda solution: solution.kkt_residual)


def _solve_order_one(
    hessian: np.ndarray, gradient: np.ndarray, radius: float, share: float
) -> tuple[np.ndarray, float, bool, bool]:
    theta, multiplier = _solve_conic(hessian, gradient, radius, share)
    candidates = _candidates(theta, radius)
    values = [float(s.dot(gradient + 0.5 * hessian.dot(s))) for s, _ in candidates]
    vector, combined = candidates[int(np.argmin(values))]
    size = float(np.abs(hessian).max()) + float(np.abs(gradient).max()) / radius
    if size == 0.0:
        return np.zeros_like(gradient), 0.0, False, False
    on_boundary = multiplier > 1e-6 * size or math.sqrt(vector.dot(vector)) >= radius * (1 - 1e-7)
    return vector, multiplier, on_boundary, combined and on_boundary


def _candidates(theta: np.ndarray, radius: float) -> list[tuple[np.ndarray, bool]]:
    """Return feasible steps extracted from ``Theta``, each with whether it was combined."""
    eigenvalues, eigenvectors = np.linalg.eigh(theta)
    found = []
    principal = eigenvectors[:, -1]
    if abs(principal[-1]) > 1e-3 * radius / math.hypot(1.0, radius):
        found.append((_clip(principal[:-1] / principal[-1], radius), False))
    mean = _clip(theta[:-1, -1] / theta[-1, -1], radius)
    found.append((mean, False))
    if eigenvalues[-2:-1].sum() > _RANK_ONE * eigenvalues[-1]:
        spread = np.linalg.eigh(theta[:-1, :-1] - np.outer(mean, mean))[1][:, -1]
        half = float(mean.dot(spread))
        root = math.sqrt(half * half + max(0.0, radius * radius - float(mean.dot(mean))))
        found += [(_clip(mean + (sign * root - half) * spread, radius), True) for sign in (1, -1)]
    return found


def _clip(vector: np.ndarray, radius: float) -> np.ndarray:
    length = math.sqrt(vector.dot(vector))
    return vector * (radius / length) if length > radius else vector


def _solve_conic(
    hessian: np.ndarray, gradient: np.ndarray, radius: float, share: float
) -> tuple[np.ndarray, float]:
    """Return the optimal ``Theta`` of eqn:SDP_relaxation and the trace constraint's multiplier.

    Clarabel's form: minimise ``q'x`` with ``A x + slack = b``, where ``x`` stacks the columns of
    the upper triangle of ``Theta``, off-diagonal entries times sqrt(2).
    """
    clarabel = require("clarabel", extra="sdp")
    size = gradient.size + 1
    lifted = np.zeros((size, size))
    lifted[:-1, :-1] = hessian
    lifted[:-1, -1] = lifted[-1, :-1] = gradient
    columns, rows = np.tril_indices(size)  # column by column through the upper triangle
    weights = np.where(rows == columns, 1.0, math.sqrt(2.0))
    entries = rows.size
    diagonal = scipy.sparse.csc_array((rows == columns).astype(float)[None, :])
    corner = scipy.sparse.csc_array(([1.0], ([0], [entries - 1])), shape=(1, entries))
    cone = -scipy.sparse.eye_array(entries, format="csc")
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_step_fraction = share
    # The step is only as good as the square root of the gap, so ask for what can be had.
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-13
    solution = clarabel.DefaultSolver(
        scipy.sparse.csc_array((entries, entries)),
        weights * lifted[rows, columns],
        scipy.sparse.vstack([corner, diagonal, cone], format="csc"),
        np.concatenate([[1.0, radius * radius + 1.0], np.zeros(entries)]),
        [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(1), clarabel.PSDTriangleConeT(size)],
        settings,
    ).solve()
    if str(solution.status) not in _USABLE:
        raise np.linalg.LinAlgError(f"Clarabel did not solve the lifted problem: {solution.status}")
    theta = np.zeros((size, size))
    theta[rows, columns] = theta[columns, rows] = np.asarray(solution.x) / weights
    # <M, Theta> is twice the model and |s|^2 has derivative 2s: the factors of two cancel.
    return theta, max(0.0, float(solution.z[1]))
