"""Independent component analysis finds the rows of whitened data, and says if it does not."""

import sys

import numpy as np
import pytest

from riemtr.compare import recovery_peers as ica
from riemtr.compare.recovery_methods import of_model
from riemtr.errors import MissingExtraError


@pytest.fixture(scope="module")
def white():
    return of_model(n=5, p=2000)[1](np.random.SeedSequence(0))


@pytest.mark.parametrize("method", [ica.picard_o, ica.fast_ica])
class TestBoth:
    def test_rows_are_orthogonal_and_those_of_the_truth(self, method, white):
        data, truth = white[0].data, white[1]
        found = method()(data.copy(), 0)
        assert (found.claimed, found.status) == (True, "converged")
        np.testing.assert_allclose(found.rows @ found.rows.T, np.eye(5), atol=1e-6)
        wanted = np.linalg.inv(white[0].matrix @ truth)
        wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
        assert np.abs(found.rows @ wanted.T).max(axis=0).min() > 0.99

    def test_the_seed_decides(self, method, white):
        first, second = (method()(white[0].data.copy(), 1) for _ in range(2))
        np.testing.assert_array_equal(first.rows, second.rows)

    def test_not_converging_is_said(self, method, white, monkeypatch):
        monkeypatch.setattr(ica, "MAX_ITERATIONS", 1)
        found = method()(white[0].data.copy(), 0)
        assert not found.claimed
        assert "did not converge" in found.status

    def test_without_its_package_the_extra_is_named(self, method, monkeypatch):
        for name in ("picard", "sklearn.decomposition"):
            monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(MissingExtraError, match=r"riemtr\[ica\]"):
            method()
