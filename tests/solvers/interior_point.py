"""Semidefinite programs with identity blocks by Clarabel, for tests and benchmarks."""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse


def by_clarabel(matrix, block):
    """The minimum by an interior-point method, which shares nothing with the staircase."""
    import clarabel

    n = len(matrix)
    columns, rows = np.tril_indices(n)
    weights = np.where(rows == columns, 1.0, math.sqrt(2.0))
    fixed = np.flatnonzero(rows // block == columns // block)
    picked = scipy.sparse.csc_array(
        (1.0 / weights[fixed], (np.arange(len(fixed)), fixed)), shape=(len(fixed), len(rows))
    )
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    solution = clarabel.DefaultSolver(
        scipy.sparse.csc_array((len(rows), len(rows))),
        weights * matrix[rows, columns],
        scipy.sparse.vstack([picked, -scipy.sparse.eye_array(len(rows))], format="csc"),
        np.concatenate([(rows == columns)[fixed].astype(float), np.zeros(len(rows))]),
        [clarabel.ZeroConeT(len(fixed)), clarabel.PSDTriangleConeT(n)],
        settings,
    ).solve()
    return solution.obj_val
