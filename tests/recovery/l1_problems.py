"""Data to round against, l1 regressions with their optimum, and the proof of what is claimed."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from riemtr.recovery.rounding import Rounding

KINDS = (
    "gaussian",
    "sparse",
    "integers",
    "repeated columns",
    "columns of all lengths",
    "rows of all lengths",
    "rank-deficient",
    "zero columns",
)


def draw(kind: str, n: int, p: int, rng: np.random.Generator) -> np.ndarray:
    Y = rng.standard_normal((n, p))
    if kind == "sparse":
        Y *= rng.random((n, p)) < 0.25
    elif kind == "integers":
        Y = rng.integers(-2, 3, (n, p)).astype(float)
    elif kind == "repeated columns":
        Y = np.repeat(Y[:, : p // 3 + 1], 3, axis=1)
    elif kind == "columns of all lengths":
        Y *= 10.0 ** rng.uniform(-2, 2, p)
    elif kind == "rows of all lengths":
        Y *= 10.0 ** rng.uniform(-3, 3, (n, 1))
    elif kind == "rank-deficient":
        rank = max(n // 2, 1)
        Y = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, p))
    elif kind == "zero columns":
        Y[:, rng.random(p) < 0.5] = 0.0
    return Y


def sparse_rows(
    n: int, p: int, distance: float, theta: float = 0.2, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Y = A X with A orthogonal and X Bernoulli-Gaussian; its first atom, perturbed and exact."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * (rng.random((n, p)) < theta)
    A = np.linalg.qr(rng.standard_normal((n, n)))[0]
    noise = rng.standard_normal(n)
    r = A[:, 0] + distance * noise / np.linalg.norm(noise)
    return A @ X, r / np.linalg.norm(r), A[:, 0]


def whitened_laplace(n: int, p: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Data with no exact zeros, and a direction near a kink of |q'Y|_1 as a solver leaves it."""
    rng = np.random.default_rng(seed)
    Y = np.linalg.qr(rng.standard_normal((n, n)))[0] @ rng.laplace(size=(n, p)) ** 3
    values, vectors = np.linalg.eigh(Y @ Y.T)
    Y = np.sqrt(p) * (vectors / np.sqrt(values)) @ vectors.T @ Y
    r = rng.standard_normal(n)
    for smoothing in (0.3, 0.1, 0.03):
        for _ in range(100):
            t = np.tanh(r @ Y / smoothing)
            r = Y @ t - np.sum(1 - t**2) / smoothing * r
            r /= np.linalg.norm(r)
    return Y, r


def assert_optimal(found: Rounding, Y: np.ndarray, r: np.ndarray, slack: float = 1e-9) -> None:
    """Recompute everything that is claimed, in extended precision, from solution and dual alone.

    Y t = lambda r + e and |t|_inf <= 1 give |q'Y|_1 >= lambda + <e, q> for every feasible q; the
    optimal q has |q| <= objective / (smallest singular value of Y), as |q'Y|_1 >= |q'Y|_2.
    """
    Y = np.asarray(Y, dtype=np.longdouble)
    Y = Y / np.max(np.abs(Y))
    r = np.asarray(r, dtype=np.longdouble)
    q = found.solution.astype(np.longdouble)
    assert abs(r @ q - 1) <= 1e-12 * np.linalg.norm(r.astype(float)) * np.linalg.norm(
        q.astype(float)
    )
    objective = np.abs(q @ Y).sum()
    t = found.dual.astype(np.longdouble)
    assert np.max(np.abs(t)) <= 1
    bound = (r @ (Y @ t)) / (r @ r)
    smallest = np.linalg.svd(Y.astype(float), compute_uv=False)[-1]
    cost = np.sqrt(np.sum((Y @ t - bound * r) ** 2)) * objective / smallest
    assert objective - bound + cost <= slack * objective
    assert found.certified
    assert found.duality_gap <= 1e-9
    np.testing.assert_allclose(np.linalg.norm(found.direction), 1.0, rtol=1e-12)
    np.testing.assert_allclose(
        found.direction, (q / np.sqrt(q @ q)).astype(float), rtol=1e-12, atol=1e-14
    )


def regression(
    k: int, m: int, seed: int, kind: str = "gaussian"
) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
    """Return C (k x m), b, and the optimum of min |b + C'x|_1 with a dual, by HiGHS."""
    rng = np.random.default_rng(seed)
    C = draw(kind, k, m, rng)
    b = rng.standard_normal(C.shape[1])
    answer = linprog(-b, A_eq=C, b_eq=np.zeros(k), bounds=(-1.0, 1.0), method="highs")
    return C, b, -answer.fun, answer.x
