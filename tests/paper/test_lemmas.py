"""Lemmas that are not about points of the sphere, each at a thousand samples or more."""

from __future__ import annotations

import math

import numpy as np
import pytest

import riemtr
from riemtr.data import BernoulliGaussian, Conditioned, Identity
from riemtr.theory import dictionary_constants

SAMPLES = 1000


def draw(rng, n, p, theta):
    return rng.standard_normal((n, p)) * (rng.random((n, p)) < theta)


def test_surrogate():
    # lem:derivatives_basic_surrogate
    rng, mu = np.random.default_rng(0), 0.3
    z = rng.exponential(1.0, SAMPLES)
    decay, tanh = np.exp(-2.0 * z / mu), np.tanh(z / mu)
    assert ((1.0 - decay) / 2.0 <= tanh).all()
    assert (tanh <= 1.0 - decay + 1e-15).all()
    assert (decay <= 1.0 - tanh**2 + 1e-15).all()
    assert (1.0 - tanh**2 <= 4.0 * decay + 1e-15).all()
    other = z + rng.standard_normal(SAMPLES)
    change = np.abs(np.tanh(other / mu) ** 2 - tanh**2) / mu
    assert (np.abs(np.tanh(other / mu) - tanh) <= np.abs(other - z) / mu).all()
    assert (change <= 2.0 * np.abs(other - z) / mu**2).all()


def test_transport():
    # lem:alg_tsp_op, for the matrix of eq. (alg_tsp_op) and its inverse
    rng = np.random.default_rng(1)
    for _ in range(SAMPLES):
        q = rng.standard_normal(5)
        q /= np.linalg.norm(q)
        step = rng.standard_normal(5)
        step -= (step @ q) * q
        size, tau = 0.5 * rng.random(), rng.random()
        unit = step / np.linalg.norm(step)
        turn = (
            np.eye(5)
            + (math.cos(tau * size) - 1.0) * np.outer(unit, unit)
            - math.sin(tau * size) * np.outer(q, unit)
        )
        assert np.linalg.norm(turn - np.eye(5), 2) <= 1.25 * tau * size
        assert np.linalg.norm(np.linalg.inv(turn) - np.eye(5), 2) <= 1.5 * tau * size


def test_largest_entry():
    # lem:X-infinty-tail-bound
    rng, n, p, theta = np.random.default_rng(2), 3, 60, 0.3
    bound = dictionary_constants(n, theta, 0.01, p).X
    largest = [np.abs(draw(rng, n, p, theta)).max() for _ in range(SAMPLES)]
    assert max(largest) <= bound
    assert min(largest) >= 1.0


def test_second_moments():
    # lem:bg_identity_diff
    rng, n, p, theta = np.random.default_rng(3), 4, 1000, 0.3
    for _ in range(SAMPLES):
        x = draw(rng, n, p, theta)
        error = np.linalg.norm(x @ x.T / (p * theta) - np.eye(n), 2)
        assert error <= 10.0 * math.sqrt(theta * n * math.log(p) / p)


def test_error_of_preconditioning():
    # lem:pert_key_mag
    n, p, theta, kappa = 3, 300, 0.3, 1.5
    bound = dictionary_constants(n, theta, 0.01, p, condition_number=kappa).Xi
    model = BernoulliGaussian(n, p, theta, dictionary=Conditioned(kappa))
    for seed in range(SAMPLES):
        sample = model.draw(seed)
        left, _, right = np.linalg.svd(sample.dictionary)
        white = riemtr.precondition(sample.observations, theta=theta)
        error = np.linalg.norm(white.matrix @ sample.dictionary - left @ right, 2)
        assert error <= bound


def test_rounding():
    # lem:alg_rounding_orth and the sharper threshold of its proof: for every r near the target the
    # program returns it, and far from all targets it need not.
    n, p, theta = 3, 250, 0.2
    rng = np.random.default_rng(4)
    data = BernoulliGaussian(n, p, theta, dictionary=Identity()).draw(0).observations
    assert p >= dictionary_constants(n, theta, 0.01, p).rounding_samples
    for number in range(SAMPLES):
        cosine = 249.0 / 250.0 if number % 2 else 15.0 / math.sqrt(229.0) + 1e-6
        side = rng.standard_normal(n - 1)
        r = np.append(math.sqrt(1.0 - cosine**2) * side / np.linalg.norm(side), cosine)
        found = riemtr.round_direction(data, r).direction
        assert abs(found[-1]) / np.linalg.norm(found) == pytest.approx(1.0, abs=1e-9)


def test_rows_off_a_support_outweigh_those_on_it():
    # lem:rounding-0, for theta up to 1/3
    rng, n, p, theta = np.random.default_rng(5), 4, 5000, 0.3
    matrix = draw(rng, n, p, theta)
    on = np.zeros(p, dtype=bool)
    on[: int(9.0 / 8.0 * theta * p)] = True
    directions = rng.standard_normal((SAMPLES, n))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    sizes = np.abs(directions @ matrix)
    excess = sizes[:, ~on].sum(axis=1) - sizes[:, on].sum(axis=1)
    assert excess.min() >= p / 6.0 * math.sqrt(2.0 / math.pi) * theta


def test_deflation():
    # lem:deflation-bound: the data that deflation leaves are close to orthogonal ones.
    rng, n = np.random.default_rng(6), 5
    for _ in range(SAMPLES):
        found = int(rng.integers(1, n - 1))
        q = np.linalg.qr(rng.standard_normal((n, n)))[0]
        xi = rng.standard_normal((n, n))
        xi *= 0.05 * rng.random() / np.linalg.norm(xi, 2)
        mixing, delta = q + xi, np.linalg.norm(xi, 2)
        targets = np.linalg.inv(mixing.T)[:, :found]
        basis = np.linalg.svd(targets)[0][:, found:]  # of the complement of the targets found
        rest = basis.T @ mixing
        # The nearest orthogonal factor for the columns that are left, and nothing for the others.
        left, _, right = np.linalg.svd(rest[:, found:])
        expected = np.hstack([np.zeros((n - found, found)), left @ right])
        assert np.linalg.norm(rest - expected, 2) <= 16.0 * delta
