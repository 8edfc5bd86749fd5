"""Rounding against a Dask array: the optimum of the array in memory, and honest gaps."""

import dask.array as da
import numpy as np
import pytest

import riemtr.recovery.partitioned_rounding as partitioned_rounding
from riemtr.recovery import round_direction

pytestmark = pytest.mark.usefixtures("chunks_as_they_come")


def dense(n=6, p=2000, seed=0):
    return np.random.default_rng(seed).standard_normal((n, p))


def sparse(n=6, p=2000, theta=0.2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)) * (rng.random((n, p)) < theta)


def noisy(n=6, p=2000):
    return sparse(n, p) + 1e-3 * dense(n, p, seed=1)


def near_axis(n, share=0.05):
    return np.eye(n)[1] + share * np.random.default_rng(3).standard_normal(n)


def both(Y, r, width=500):
    return round_direction(da.from_array(Y, chunks=(len(Y), width)), r), round_direction(Y, r)


@pytest.mark.parametrize(
    "Y",
    [
        dense(),
        sparse(),
        noisy(),
        sparse(theta=0.9),
        np.hstack([sparse(p=900)] * 2),
        np.hstack([np.zeros((6, 500)), sparse(p=900), np.zeros((6, 600))]),
        sparse(p=40),
        dense(p=8),
        sparse(n=2, p=30),
        np.round(2 * dense()),
        dense() * np.logspace(0, 6, 6)[:, None],
        1e-3 * sparse(),
    ],
    ids=[
        *("dense", "sparse", "noisy", "hardly sparse", "twice", "zeros", "few", "fewer"),
        *("n=2", "integers", "units", "small"),
    ],
)
@pytest.mark.parametrize("near", [True, False])
def test_it_is_the_optimum_in_memory(Y, near):
    n = len(Y)
    r = near_axis(n) if near else np.random.default_rng(5).standard_normal(n)
    found, expected = both(Y, r)
    assert found.certified
    assert found.objective == pytest.approx(expected.objective, rel=1e-10)
    assert r @ found.solution == pytest.approx(1.0, rel=1e-12)
    assert np.abs(found.solution @ Y).sum() == pytest.approx(found.objective, rel=1e-11)
    assert np.linalg.norm(found.direction) == pytest.approx(1.0, rel=1e-13)
    assert found.dual.size == 0


def test_unique_optima_agree_in_all_digits():
    for Y in (dense(), sparse(), noisy()):
        found, expected = both(Y, near_axis(6))
        np.testing.assert_allclose(found.direction, expected.direction, atol=1e-12)


def test_dimension_one_and_data_whose_optimum_is_zero():
    found, expected = both(np.array([[3.0, 0.0, -1.0]]), np.array([-2.0]), width=2)
    assert found.direction == expected.direction
    assert found.objective == pytest.approx(2.0)
    assert found.duality_gap < 1e-15
    flat = np.vstack([dense(n=3), np.zeros(2000)])
    found, _ = both(flat, np.array([0.1, 0.0, 0.0, 1.0]))
    assert found.objective == pytest.approx(0.0, abs=1e-9)
    assert found.certified


def test_few_visits(visits):
    """A fold finds the optimum and a look proves it; where thousands vanish, a face does both."""
    first = ["_survey", "_take", "_gram"]
    both(dense(p=400), near_axis(6))
    assert visits == [*first, "look", "fold", "look"]
    visits.clear()
    both(sparse(p=4000), near_axis(6))
    assert visits == [*first, "face", "face"]


def test_what_vanishes_together_is_found_without_the_sample(monkeypatch, visits):
    monkeypatch.setattr(partitioned_rounding, "_vanishing_in_sample", lambda *_: None)
    found, expected = both(sparse(p=4000), near_axis(6))
    assert visits[3:] == ["look", "fold", "look", "fold", "face", "face"]
    np.testing.assert_allclose(found.direction, expected.direction, atol=1e-12)


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("Y", [dense(), noisy()], ids=["dense", "noisy"])
def test_bands_too_narrow_are_mended_and_widened(Y, width, monkeypatch, visits):
    monkeypatch.setattr(partitioned_rounding, "_BAND", width)
    found, expected = both(Y, near_axis(6, 0.3))
    assert visits.count("fold") > 1
    assert found.certified
    np.testing.assert_allclose(found.direction, expected.direction, atol=1e-11)


def test_when_no_more_can_be_gathered_the_gap_says_so(monkeypatch, visits):
    """Whatever comes out is feasible, and its bound holds."""
    monkeypatch.setattr(partitioned_rounding, "_BAND", 1)
    monkeypatch.setattr(partitioned_rounding, "_GATHERED", 40)
    monkeypatch.setattr(partitioned_rounding, "REPAIRS", 0)
    Y, r = noisy(), near_axis(6, 0.3)
    found, expected = both(Y, r)
    assert not found.certified
    assert found.objective > expected.objective * (1 + 1e-12)
    assert found.objective * (1 - found.duality_gap) <= expected.objective * (1 + 1e-12)
    assert 0 < found.duality_gap <= 1
    assert r @ found.solution == pytest.approx(1.0, rel=1e-12)
    assert visits.count("fold") == 4  # of 6 and of 8 columns, and each once more by itself


def test_what_is_refused():
    Y = da.from_array(dense(), chunks=(6, 500))
    for r, match in [(np.zeros(6), "not zero"), (np.ones(5), r"shape \(6,\)")]:
        with pytest.raises(ValueError, match=match):
            round_direction(Y, r)
    with pytest.raises(ValueError, match="method must be 'interior-point' for a Dask array"):
        round_direction(Y, np.ones(6), method="highs")
