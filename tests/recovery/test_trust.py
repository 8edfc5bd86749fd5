"""What is called exact or trusted is right, and hopeless data are called so."""

from types import SimpleNamespace

import numpy as np
import pytest

from riemtr.data import BernoulliGaussian, Conditioned, dictionary_error
from riemtr.recovery import recover_dictionary


class Lazy:
    """A solver that stays at its start."""

    def solve(self, problem, start, rng=None):
        return SimpleNamespace(point=start, cost=0.0, converged=False)


def is_right(found, sample):
    return dictionary_error(found.dictionary, sample.dictionary) < 1e-6


@pytest.mark.parametrize("draw", range(8))
def test_whatever_the_solver_does_what_is_trusted_is_right(draw):
    sample = BernoulliGaussian(n=6, p=800, theta=0.2).draw(draw)
    found = recover_dictionary(sample.observations, rng=0, solver=Lazy())
    assert found.trusted == is_right(found, sample)


@pytest.mark.parametrize(
    ("n", "p", "theta", "draw"), [(10, 1000, 0.05, 66), (5, 600, 0.05, 54), (12, 144, 0.1, 3)]
)
def test_rows_that_cancel_on_one_sample_are_solved_again(n, p, theta, draw):
    sample = BernoulliGaussian(n=n, p=p, theta=theta).draw(draw)
    found = recover_dictionary(sample.observations, rng=0)
    assert is_right(found, sample)
    assert all(atom.exact for atom in found.atoms)


def test_few_samples_of_the_model_are_never_trusted_wrongly():
    for draw in range(40):
        sample = BernoulliGaussian(n=12, p=100, theta=0.1).draw(draw)
        found = recover_dictionary(sample.observations, rng=0)
        assert not found.trusted or is_right(found, sample)


@pytest.mark.parametrize(("dtype", "condition"), [(np.float32, 1e4), (np.float64, 1e7)])
def test_zeros_are_seen_through_what_whitening_makes_of_rounding(dtype, condition):
    model = BernoulliGaussian(n=2, p=300, theta=0.4, dictionary=Conditioned(condition))
    for draw in range(5):
        found = recover_dictionary(model.draw(draw).observations.astype(dtype), rng=0)
        assert all(atom.exact for atom in found.atoms)
        assert found.trusted


def test_noise_is_not_trusted_and_keeps_its_certificates():
    found = recover_dictionary(np.random.default_rng(0).standard_normal((8, 2000)), rng=0)
    assert found.certified
    assert not any(atom.trusted for atom in found.atoms)
    assert "no sparser than noise" in found.atoms[0].verdict


def test_too_few_samples_are_called_so():
    sample = BernoulliGaussian(n=12, p=20, theta=0.2).draw(0)
    found = recover_dictionary(sample.observations, rng=0)
    assert not any(atom.trusted for atom in found.atoms)
    assert "too few for 12 dimensions" in found.atoms[0].verdict


def test_a_rank_that_loses_much_is_named_with_what_it_loses():
    sample = BernoulliGaussian(n=12, p=3000, theta=0.2).draw(0)
    found = recover_dictionary(sample.observations, rng=0, rank=5)
    assert not any(atom.trusted for atom in found.atoms)
    assert "leaves a residual of 7" in found.atoms[0].verdict


def test_rows_of_sparse_sources_under_noise_are_trusted_without_exact_zeros():
    sample = BernoulliGaussian(n=6, p=2000, theta=0.2, noise=0.01).draw(0)
    found = recover_dictionary(sample.observations, rng=0)
    assert not any(atom.exact for atom in found.atoms)
    assert found.trusted
    assert dictionary_error(found.dictionary, sample.dictionary) < 0.02


@pytest.mark.parametrize("chunks", [None, (5, 100)])
@pytest.mark.parametrize("theta", [0.3, 0.4])
def test_rows_of_few_values_are_not_trusted(theta, chunks):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        A = np.linalg.qr(rng.standard_normal((5, 5)))[0]
        Y = A @ (rng.random((5, 400)) < theta)
        if chunks is not None:
            Y = pytest.importorskip("dask.array").from_array(Y, chunks=chunks)
        assert not recover_dictionary(Y, rng=0).trusted


@pytest.mark.parametrize("kind", ["log-normal", "t"])
def test_noise_that_is_loud_and_quiet_in_turn_is_not_trusted(kind):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        noise = rng.standard_normal((8, 4000))
        gain = np.exp(0.7 * rng.standard_normal(4000))
        if kind == "t":
            gain = 1.0 / np.sqrt(rng.chisquare(3, 4000))
        assert not recover_dictionary(noise * gain, rng=0).trusted


def test_in_one_dimension_there_is_nothing_to_doubt():
    assert recover_dictionary(np.random.default_rng(0).standard_normal((1, 50)), rng=0).trusted
