"""What one pass over all samples tells, and how many samples they are worth."""

import numpy as np
import pytest

from riemtr.data.blocks import column_lengths
from riemtr.recovery.census import SampleCounts, census_of, effective_samples


def test_no_loud_sample_dominates_where_samples_point():
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((3, 500))
    Y[:, 400:] = 0.0
    plain = census_of(Y, column_lengths(Y))
    Y[:, :3] *= 1e8
    loud = census_of(Y, column_lengths(Y))
    assert plain.samples == loud.samples == 400
    np.testing.assert_allclose(loud.unit_gram, plain.unit_gram, rtol=1e-12)
    assert np.trace(loud.unit_gram) == pytest.approx(400)


@pytest.mark.parametrize("n", [1, 2, 10, 64])
def test_gaussian_samples_are_worth_their_number_and_loud_ones_outweigh_them(n):
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((n, 20_000))

    def worth(Y):
        return effective_samples(census_of(Y, column_lengths(Y)), float(np.sum(Y**2)))

    assert worth(Y) == pytest.approx(20_000, rel=0.05)
    Y[:, :100] *= 1e4
    assert worth(Y) == pytest.approx(100, rel=0.5)
    assert worth(1e3 * Y) == pytest.approx(worth(Y))


def test_counts_say_what_is_no_sample_of_its_own():
    assert str(SampleCounts(20, 20, 20, 20.0)) == "20 samples"
    copies = SampleCounts(total=20, nonzero=18, different=13, effective=18.0)
    assert copies.worth == 13
    loud = SampleCounts(60, 60, 60, 5.4)
    assert loud.worth == 5
    assert str(loud) == "60 samples (the loudest outweigh the others, as if there were 5)"
