"""Repeated rounding descends, and ends where it is exact or does not move."""

import numpy as np

from riemtr.data import BernoulliGaussian, Identity
from riemtr.recovery.deflation import Deflation
from riemtr.recovery.polishing import round_again
from riemtr.recovery.rounding import round_direction
from riemtr.recovery.rows import Inspector


def test_rounding_again_descends_past_mixtures_to_an_exact_row():
    sample = BernoulliGaussian(n=12, p=2000, theta=0.2).draw(0)
    Y = sample.observations
    inspector = Inspector(Deflation(Y), np.eye(12), np.eye(12))
    far = np.random.default_rng(3).standard_normal(12)
    objectives = []

    def again(number, direction):
        objectives.append(np.abs(direction @ Y).sum())
        return round_direction(Y, direction)

    found = round_again(round_direction(Y, far), again, lambda q: inspector.inspect(q).exact)
    assert np.all(np.diff(objectives) < 0)
    assert np.abs(found.direction @ sample.dictionary).max() > 1 - 1e-12


def test_a_direction_that_no_longer_moves_is_rounded_once_more_and_not_again():
    Y = BernoulliGaussian(n=4, p=500, theta=0.2, dictionary=Identity()).draw(0).observations
    found = round_direction(Y, np.array([1.0, 0.05, 0.0, 0.02]))
    numbers = []

    def again(number, direction):
        numbers.append(number)
        return round_direction(Y, direction)

    same = round_again(found, again, lambda q: False)
    assert numbers == [0]
    np.testing.assert_allclose(same.direction, np.eye(4)[0], atol=1e-12)
