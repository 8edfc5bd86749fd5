"""What is known of the smallest Hessian eigenvalue, and what follows from it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from riemtr.problem.curvature import Curvature, dense_curvature
from tests.problem.quadratics import quadratic

TOLERANCES = {np.float64: 1e-6, np.float32: 1e-3}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_dense_is_the_eigendecomposition(dtype):
    rng = np.random.default_rng(4)
    here, values = quadratic("sphere", rng.standard_normal(40), rng, dtype)
    here.hessian_matrix()
    products = here.counts.hessian_products
    found = here.curvature(TOLERANCES[dtype])
    assert here.counts.hessian_products == products + 1  # which checks the result
    assert found.min_eigenvalue == pytest.approx(values[0], abs=found.error_bound)
    assert found.max_eigenvalue == pytest.approx(values[-1], abs=found.error_bound)
    assert found.error_bound < 1e3 * here.precision * np.abs(values).max()
    assert here.inner(found.direction, here.hessian(found.direction)) == pytest.approx(
        values[0], abs=found.error_bound
    )
    assert dense_curvature(here).min_eigenvalue == found.min_eigenvalue


@pytest.mark.parametrize(
    ("smallest", "bound", "tolerance", "decided"),
    [
        (1.0, 0.5, 1e-6, True),
        (0.0, 1e-7, 1e-6, True),
        (0.0, 1e-5, 1e-6, False),
        (-1e-7, 1e-5, 1e-6, False),
        (-1e-5, 1e9, 1e-6, True),
        (1.0, math.inf, 1e-6, False),
        (0.0, 0.0, 0.0, True),
    ],
)
def test_decides(smallest, bound, tolerance, decided):
    curvature = Curvature(smallest, 2.0, bound, None)
    assert curvature.lower_bound == smallest - bound
    assert curvature.decides(tolerance) == decided
