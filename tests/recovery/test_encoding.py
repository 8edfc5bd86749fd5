"""New samples have the coefficients, and the zeros, that they would have had."""

import numpy as np
import pytest

from riemtr.data import BernoulliGaussian, Conditioned
from riemtr.recovery import recover_dictionary


@pytest.mark.parametrize("condition", [1.0, 1e4, 1e8])
@pytest.mark.parametrize("precondition", [True, False])
def test_samples_left_out_are_encoded_as_if_they_had_been_there(condition, precondition):
    model = BernoulliGaussian(n=6, p=1000, theta=0.2, dictionary=Conditioned(condition))
    if not precondition:
        model = BernoulliGaussian(n=6, p=1000, theta=0.2)
    Y = model.draw(0).observations
    known = recover_dictionary(Y[:, :800], rng=0, precondition=precondition)
    X = known.encoder.encode(Y)
    np.testing.assert_array_equal(X[:, :800] == 0, known.coefficients == 0)
    np.testing.assert_allclose(known.dictionary @ X, Y, atol=1e-8 * np.abs(Y).max())
    assert np.mean(X[:, 800:] == 0) == pytest.approx(0.8, abs=0.05)


def test_samples_of_lower_precision_have_zeros_too():
    Y = BernoulliGaussian(n=6, p=1000, theta=0.2).draw(0).observations
    found = recover_dictionary(Y, rng=0)
    narrow = found.encoder.encode(Y.astype(np.float32))
    np.testing.assert_array_equal(narrow == 0, found.coefficients == 0)
