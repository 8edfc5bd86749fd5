r"""LP rounding: from a direction near a target to the target itself, with a dual certificate.

The paper's linear program (eqn:LP_rounding)

    min_q |q'Y|_1    s.t.  <r, q> = 1

has the dual max lambda s.t. Y t = lambda r, |t|_inf <= 1: any such t proves that no q does better
than lambda. Writing q = r/|r|^2 + N x, with N a basis of the complement of r, makes it the l1
regression that :mod:`riemtr.recovery.l1_interior_point` solves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import linprog

from riemtr.data.blocks import Blocks, as_data, is_dask_array, samples_of
from riemtr.data.matrices import largest_entry
from riemtr.errors import unknown_name
from riemtr.recovery.l1_columns import Columns
from riemtr.recovery.l1_folding import Folded, minimize_folded
from riemtr.recovery.l1_interior_point import Regression
from riemtr.recovery.l1_program import (
    balanced_length,
    balanced_program,
    relative_gap,
    unit_vector,
)
from riemtr.store import Form, Numbers

_SMALL_ENTRIES = 10**7  # of another type than float64, converted once and not in every product
_SHORTEST, _LONGEST = 1e-290, 1e290  # directions whose reciprocals are numbers of full precision
CERTIFIED_GAP = 1e-9  # the largest relative duality gap that counts as proof


@dataclass(frozen=True, eq=False)
class Rounding:
    """The solution of min \\|q'Y\\|_1 s.t. <r, q> = 1, and the proof that it is one.

    Attributes
    ----------
    direction : ndarray, shape (n,)
        The unit vector q/\\|q\\|.
    solution : ndarray, shape (n,)
        q, with <r, q> = 1.
    objective : float
        \\|q'Y\\|_1.
    duality_gap : float
        (objective - bound) / objective, where bound is proved by ``dual``: what the rounding
        errors in Y t = lambda r, and in the objective, could cost is counted in, so that it grows
        with the condition number of Y. 0 where the objective is zero to rounding.
    dual : ndarray, shape (p,)
        t, with \\|t\\|_inf <= 1 and Y t = lambda r to rounding.
    iterations : int
        Iterations of the method, summed over the problems it solved.
    method : str
        The method's name.
    """

    direction: np.ndarray
    solution: np.ndarray
    objective: float
    duality_gap: float
    dual: np.ndarray
    iterations: int
    method: str

    @staticmethod
    def form_of_record(n: int) -> Form:
        """Return the form of the record of a rounding without its dual, in n dimensions."""
        return {
            "direction": Numbers((n,)),
            "solution": Numbers((n,)),
            "objective": float,
            "duality_gap": float,
            "dual": Numbers((0,)),
            "iterations": int,
            "method": str,
        }

    @property
    def certified(self) -> bool:
        """Whether the relative duality gap is at most 1e-9."""
        return self.duality_gap <= CERTIFIED_GAP


def round_direction(Y: Any, r: np.ndarray, *, method: str = "interior-point") -> Rounding:
    """Solve min_q \\|q'Y\\|_1 s.t. <r, q> = 1 (the paper's eqn:LP_rounding).

    Parameters
    ----------
    Y : array_like or Dask array, shape (n, p)
        The (whitened) data, columns are samples: anything :func:`riemtr.data.check_data` accepts.
        A Dask array stays where it is. An array of float64, or a large one of float32, is read
        where it lies, never copied whole by ``"interior-point"``.
    r : ndarray, shape (n,)
        The direction to round, its largest entry from 1e-290 to 1e290: a solver's
        ``result.point``. The nearer to the optimum, the faster.
    method : {"interior-point", "highs"}
        ``"highs"`` is SciPy's solver, the reference; not for Dask arrays.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.standard_normal((5, 500)) * (rng.random((5, 500)) < 0.2)
    >>> found = round_direction(Y, [1.0, 0.05, -0.05, 0.1, 0.0])
    >>> print(np.round(found.direction, 12) + 0.0, found.certified)
    [1. 0. 0. 0. 0.] True
    """
    if method not in _METHODS:
        raise unknown_name("method", method, _METHODS)
    if method != "interior-point" and is_dask_array(Y):
        raise ValueError(f"method must be 'interior-point' for a Dask array; got {method!r}")
    data = as_data(Y)
    direction, length = _checked_direction(r, data.shape[0])
    return _in_units_of(Rounder(data).round(direction, method), length)


class Rounder:
    """Rounds directions against the same data: what they share is computed once.

    Parameters
    ----------
    data : ndarray or Samples, shape (n, p)
        Y, checked; it must not change meanwhile.
    """

    def __init__(self, data: Any):
        data = samples_of(data).kept()
        largest = data.total(_largest, merge=max)
        if data.array is not None and data.array.size <= _SMALL_ENTRIES:
            data = Blocks(data.array.astype(np.float64, copy=False))
        exponent = min(max(math.frexp(largest)[1], -1000), 1000)  # or the scale is no normal number
        scale = math.ldexp(1.0, -exponent)  # a power of two rounds nothing
        self._whole = Columns(data, scale)

    def round(self, r: np.ndarray, method: str = "interior-point") -> Rounding:
        """Solve the linear program of :func:`round_direction` for one direction."""
        whole = self._whole
        unit, length = _checked_direction(r, whole.rows)
        program = balanced_program(whole.row_lengths, unit)
        origin, basis = program.origin, program.basis
        columns = Columns(whole.matrix, whole.scale, basis, program.rounding, whole)
        offset = whole.dot(origin)
        if columns.rows == 0:  # n = 1: the constraint alone determines q
            solved = Folded(Regression(np.zeros(0), np.sign(offset), True, 0), columns)
        else:
            solved = _METHODS[method](columns, offset)
        x, dual = solved.solution.x, solved.solution.dual
        q = origin + basis @ x
        residual = whole.dot(q)
        objective = float(np.abs(residual).sum())
        if objective <= program.negligible(x, columns.count):
            gap = 0.0  # zero to rounding, and nothing is below zero
        else:
            value, error = float(residual @ dual), columns.combine(dual)
            size, unsure = balanced_length(x), uncertainty(q, whole.row_lengths)
            gap = relative_gap(objective, value, error, size, unsure, solved.kept, columns)
        return Rounding(
            direction=unit_vector(q)[0],
            solution=q / program.stretch / length,
            objective=objective / whole.scale / program.stretch / length,
            duality_gap=gap,
            dual=dual,
            iterations=solved.solution.iterations,
            method=method,
        )


def _largest(block: np.ndarray, first: int) -> float:
    return largest_entry(block)


def uncertainty(q: np.ndarray, row_lengths: np.ndarray) -> float:
    """What rounding may change \\|q'Y\\|_1 by: n roundings per residual, all independent."""
    terms = np.linalg.norm(q * row_lengths)
    return 0.5 * float(np.finfo(float).eps * np.sqrt(len(q)) * terms)


def _in_units_of(found: Rounding, length: float) -> Rounding:
    """Return the rounding of r, from that of r / length."""
    with np.errstate(over="ignore", under="ignore"):
        objective = float(np.float64(found.objective) / length)
    if not math.isfinite(objective) or objective == 0.0 < found.objective:
        raise ValueError(
            f"r must have a length at which the objective, of the size of Y over that of r, is in "
            f"the range of floats; got {length:.1e}: change the units of r, or of Y"
        )
    return replace(found, solution=found.solution / length, objective=objective)


def _highs(columns: Columns, offset: np.ndarray) -> Folded:
    """Solve the dual, which has n - 1 rows, by HiGHS's interior point with its crossover."""
    answer = linprog(
        -offset,
        A_eq=columns.take(np.arange(columns.count)),
        b_eq=np.zeros(columns.rows),
        bounds=(-1.0, 1.0),
        method="highs-ipm",
    )
    if answer.x is None:
        nothing = Regression(np.zeros(columns.rows), np.zeros(columns.count), False, answer.nit)
        return Folded(nothing, columns)
    solution = Regression(answer.eqlin.marginals, np.clip(answer.x, -1.0, 1.0), True, answer.nit)
    return Folded(solution, columns)


_METHODS: dict[str, Callable[[Columns, np.ndarray], Folded]] = {
    "interior-point": minimize_folded,
    "highs": _highs,
}


def _checked_direction(r: np.ndarray, n: int) -> tuple[np.ndarray, float]:
    """Return r as a float64 unit vector and its length."""
    vector = np.asarray(r)
    if vector.dtype.kind not in "fiub":
        raise ValueError(f"r must be real; got dtype {vector.dtype}: convert it to float64")
    if vector.shape != (n,):
        raise ValueError(
            f"r must have one entry per row of Y, shape ({n},); got shape {vector.shape}: "
            "pass a single direction as a 1-D array"
        )
    vector = vector.astype(np.float64)
    largest = float(np.max(np.abs(vector)))
    if not _SHORTEST <= largest <= _LONGEST and 0.0 < largest < np.inf:
        raise ValueError(
            f"r must have its largest entry between {_SHORTEST:.0e} and {_LONGEST:.0e}, or q with "
            f"<r, q> = 1 leaves the range of floats; got {largest:.1e}: pass r / np.abs(r).max()"
        )
    if not np.isfinite(largest) or largest == 0.0:
        raise ValueError(
            f"r must be finite and not zero; got largest entry {largest}: "
            "pass a solver's result.point or any nonzero direction"
        )
    return unit_vector(vector)
