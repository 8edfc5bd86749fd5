"""Quadratic costs with a known spectrum."""

from __future__ import annotations

import numpy as np
import pymanopt.manifolds as pm

from riemtr import Problem, Sphere
from riemtr.manifolds import HouseholderBasis


def quadratic(kind, spectrum, rng, dtype=np.float64, shift=0.0):
    """x'Ax/2 and the eigenvalues of its Hessian at a random point."""
    n = len(spectrum)
    frame = np.linalg.qr(rng.standard_normal((n, n)))[0]
    matrix = (frame * spectrum) @ frame.T
    matrix = (0.5 * (matrix + matrix.T) + shift * np.eye(n)).astype(dtype)
    manifold = Sphere(n) if kind == "sphere" else pm.Euclidean(n)
    point = Sphere(n).random_point(rng).astype(dtype)
    problem = Problem(
        manifold,
        lambda x: 0.5 * x @ matrix @ x,
        euclidean_gradient=lambda x: matrix @ x,
        euclidean_hessian=lambda x, v: matrix @ v,
    )
    exact, q = matrix.astype(float), point.astype(float)
    if kind == "sphere":
        q /= np.linalg.norm(q)
        basis = HouseholderBasis(q).matrix()
        exact = basis.T @ (exact - (q @ exact @ q) * np.eye(n)) @ basis
    return problem.at(point), np.linalg.eigvalsh(exact)
