"""On badly conditioned data a certificate is true or is not given: rational arithmetic judges."""

from __future__ import annotations

from fractions import Fraction

import dask.array as da
import numpy as np
import pytest
from scipy.optimize import linprog

from riemtr.recovery.rounding import round_direction
from tests.recovery.exact_optimum import exact_objective, exact_optimum


def nearly_constant(seed: int, spread: float) -> np.ndarray:
    """Samples that differ in the last digits only, one row much shorter than the others."""
    rng = np.random.default_rng(seed)
    return np.array([[1.0], [0.0], [1.0], [-1.0]]) + spread * rng.standard_normal((4, 40))


def turned(seed: int, spread: float) -> tuple[np.ndarray, np.ndarray]:
    """The same without a short row, and any direction."""
    rng = np.random.default_rng(100 + seed)
    turn = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    return turn @ nearly_constant(seed, spread), rng.standard_normal(4)


def test_the_reference_agrees_with_highs() -> None:
    rng = np.random.default_rng(0)
    Y, r = rng.standard_normal((4, 30)), rng.standard_normal(4)
    basis = np.linalg.svd(r[None])[2][1:]
    answer = linprog(
        -(r / (r @ r)) @ Y, A_eq=basis @ Y, b_eq=np.zeros(3), bounds=(-1, 1), method="highs"
    )
    assert float(exact_optimum(Y, r)) == pytest.approx(-answer.fun, rel=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_a_short_row_does_not_hide_what_others_could_do(seed: int) -> None:
    Y, r = nearly_constant(seed, 1e-7), np.eye(4)[0]
    found = round_direction(Y, r)
    optimum = exact_optimum(Y, r)
    assert exact_objective(Y, r, found.solution) <= optimum * Fraction(1 + 1e-9)
    assert found.duality_gap < 5e-9
    longer = round_direction(Y * [[1.0], [2.0**22], [1.0], [1.0]], r)  # the same program
    assert longer.objective == pytest.approx(found.objective, rel=2e-9)


@pytest.mark.parametrize("spread", [1.0, 1e-5, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13])
@pytest.mark.parametrize("seed", range(4))
def test_no_gap_is_claimed_below_the_true_one(spread: float, seed: int) -> None:
    cases = [(nearly_constant(seed, spread), np.eye(4)[0]), turned(seed, spread)]
    for Y, r in cases:
        optimum = exact_optimum(Y, r)  # in rational numbers, which takes its time
        for data in (Y, da.from_array(Y, chunks=(4, 10))):
            found = round_direction(data, r)
            exact = exact_objective(Y, r, found.solution)
            assert float(1 - optimum / exact) <= found.duality_gap + 1e-15
            if spread >= 1e-5:
                assert found.certified


@pytest.mark.parametrize("seed", range(3))
def test_folded_signs_claim_no_more(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for spread in (1e-4, 1e-7, 1e-9, 1e-11):
        Y = np.array([[1.0], [1.0], [-1.0]]) + spread * rng.standard_normal((3, 200))
        r = rng.standard_normal(3)
        optimum = exact_optimum(Y, r)
        for data in (Y, da.from_array(Y, chunks=(3, 50))):
            found = round_direction(data, r)
            true = float(1 - optimum / exact_objective(Y, r, found.solution))
            assert true <= found.duality_gap + 1e-15
            assert found.certified or spread < 1e-4
