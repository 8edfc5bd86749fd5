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


@pytest.mark.parametrize("refine", ["auto", "orthogonal", "full", None])
def test_noise_is_not_trusted_and_keeps_its_certificates(refine):
    noise = np.random.default_rng(0).standard_normal((8, 2000))
    found = recover_dictionary(noise, rng=0, refine=refine)
    assert found.certified == (refine is None)
    assert not any(atom.trusted for atom in found.atoms)
    assert "no sparser than noise" in found.atoms[0].remark


def test_too_few_samples_are_called_so():
    sample = BernoulliGaussian(n=12, p=20, theta=0.2).draw(0)
    found = recover_dictionary(sample.observations, rng=0)
    assert not any(atom.trusted for atom in found.atoms)
    assert "too few for 12 dimensions" in found.atoms[0].remark


def test_a_rank_that_loses_much_is_named_with_what_it_loses():
    sample = BernoulliGaussian(n=12, p=3000, theta=0.2).draw(0)
    found = recover_dictionary(sample.observations, rng=0, rank=5)
    assert not any(atom.trusted for atom in found.atoms)
    assert "leaves a residual of 7" in found.atoms[0].remark


def test_rows_of_sparse_sources_under_noise_are_trusted_without_exact_zeros():
    sample = BernoulliGaussian(n=6, p=2000, theta=0.2, noise=0.01).draw(0)
    found = recover_dictionary(sample.observations, rng=0)
    assert not any(atom.exact for atom in found.atoms)
    assert found.trusted
    assert dictionary_error(found.dictionary, sample.dictionary) < 0.02


@pytest.mark.parametrize("chunks", [None, (5, 100)])
@pytest.mark.parametrize("theta", [0.3, 0.4])
def test_rows_of_few_values_that_are_trusted_are_right(theta, chunks):
    """None is proved, since mixtures of them are exactly sparse as well."""
    for seed in range(2 if chunks else 8):
        rng = np.random.default_rng(seed)
        A = np.linalg.qr(rng.standard_normal((5, 5)))[0]
        Y = A @ (rng.random((5, 400)) < theta)
        if chunks is not None:
            Y = pytest.importorskip("dask.array").from_array(Y, chunks=chunks)
        found = recover_dictionary(Y, rng=0)
        assert found.count("proved") == 0
        assert not found.trusted or dictionary_error(found.dictionary, A) < 1e-9


def wrong_rows(found, A, limit=0.01):
    """Rows of X that are trusted, and whose direction is no row of the inverse of A."""
    rows = found.unmixing @ A
    cosines = np.abs(rows) / np.linalg.norm(rows, axis=1)[:, None]
    sines = np.sqrt(np.maximum(1.0 - cosines.max(axis=1) ** 2, 0.0))
    return [i for i, atom in enumerate(found.atoms) if atom.trusted and sines[i] > limit]


def sources(kind, rng, n, p):
    return {
        "laplace": rng.laplace(size=(n, p)),
        "t3": rng.standard_t(3, (n, p)),
        "sparse": rng.standard_normal((n, p)) * (rng.random((n, p)) < 0.2),
        "noisy": rng.standard_normal((n, p)) * (rng.random((n, p)) < 0.2)
        + 0.1 * rng.standard_normal((n, p)),
    }[kind]


@pytest.mark.parametrize("kind", ["laplace", "t3", "noisy"])
def test_of_sources_that_are_not_exactly_sparse_no_row_is_trusted_and_wrong(kind):
    for seed in range(30):
        rng = np.random.default_rng(seed)
        A = rng.standard_normal((5, 5))
        Y = A @ sources(kind, rng, 5, 600)
        assert wrong_rows(recover_dictionary(Y, rng=0), A) == []


@pytest.mark.parametrize("kind", ["sparse", "noisy", "laplace"])
def test_of_more_sources_than_rows_none_is_trusted_and_wrong(kind):
    """With a third more sources no row of X is to be found; atoms may be near true ones."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        A = rng.standard_normal((5, 7))
        found = recover_dictionary(A @ sources(kind, rng, 7, 700), rng=0)
        cosines = np.abs((A / np.linalg.norm(A, axis=0)).T @ found.dictionary).max(axis=0)
        assert found.count("proved") == 0
        for atom, cosine in zip(found.atoms, cosines, strict=True):
            assert not atom.trusted or 2.0 - 2.0 * cosine < 0.01**2


def test_24_sources_in_20_rows_are_not_trusted():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        A = rng.standard_normal((20, 24))
        found = recover_dictionary(A @ sources("sparse", rng, 24, 2000), rng=0)
        assert not any(atom.trusted for atom in found.atoms)
        assert found.count("proved") == 0


@pytest.mark.parametrize("noise", [0.01, 0.1, 0.4])
@pytest.mark.parametrize("refine", ["auto", "orthogonal", "full"])
def test_under_noise_what_is_trusted_is_right_to_one_percent(noise, refine):
    for seed in range(4):
        model = BernoulliGaussian(n=6, p=2400, theta=0.3, noise=noise)
        sample = model.draw(seed)
        found = recover_dictionary(sample.observations, rng=0, refine=refine)
        if found.trusted:
            assert dictionary_error(found.dictionary, sample.dictionary) < 0.01
        assert noise < 0.4 or not found.trusted


@pytest.mark.parametrize("share", [0.2, 0.4])
def test_corrupted_samples_are_trusted_only_where_the_error_is_small(share):
    """Some entries of Y have spikes, as in the experiments of Zhai et al. (2020)."""
    for seed in range(6):
        sample = BernoulliGaussian(n=6, p=2400, theta=0.3).draw(seed)
        rng = np.random.default_rng(seed)
        Y = sample.observations
        Y = Y + rng.choice([-1.0, 1.0], Y.shape) * (rng.random(Y.shape) < share)
        found = recover_dictionary(Y, rng=0)
        assert not found.trusted or dictionary_error(found.dictionary, sample.dictionary) < 0.01


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


def unequal(rng, n, count, few):
    """Noise, and how often each sample of it comes: a few once, the others six times."""
    return rng.standard_normal((n, count)), np.where(np.arange(count) < few, 1, 6)


COPIES = {
    "unequal": lambda rng: np.repeat(*unequal(rng, 4, 200, 25), axis=1),
    "negated": lambda rng: np.repeat(*unequal(rng, 4, 200, 25), axis=1) * rng.choice([-1, 1], 1075),
    "bootstrap": lambda rng: rng.standard_normal((3, 100))[:, rng.integers(0, 100, 500)],
}


@pytest.mark.parametrize("partitioned", [False, True])
@pytest.mark.parametrize("kind", COPIES)
def test_copies_make_no_row_of_noise_exactly_sparse(kind, partitioned):
    for seed in range(2) if partitioned else range(6):
        Y = COPIES[kind](np.random.default_rng(seed))
        if partitioned:
            Y = pytest.importorskip("dask.array").from_array(Y, chunks=(len(Y), 90))
        found = recover_dictionary(Y, rng=0)
        assert not any(atom.exact for atom in found.atoms)
        assert not found.trusted


@pytest.mark.parametrize("seed", [0, 2, 4, 7])
def test_copies_of_too_few_samples_make_no_wrong_row_exactly_sparse(seed):
    rng = np.random.default_rng(seed)
    X = (rng.random((6, 50)) < 0.7) * rng.standard_normal((6, 50))
    Y = np.repeat(X, np.where(np.arange(50) < 6, 1, 6), axis=1)
    A = rng.standard_normal((6, 6))
    found = recover_dictionary(A @ Y, rng=0)
    cosines = np.abs(found.unmixing @ A) / np.linalg.norm(found.unmixing @ A, axis=1)[:, None]
    right = cosines.max(axis=1) > 1.0 - 1e-12
    assert found.trusted == right.all()
    assert all(right[i] for i, atom in enumerate(found.atoms) if atom.exact)


def test_loud_samples_do_not_make_right_rows_doubtful():
    rng = np.random.default_rng(0)
    X = (rng.random((10, 2000)) < 0.2) * rng.standard_normal((10, 2000))
    X[:, :3] *= 100.0
    A = rng.standard_normal((10, 10))
    found = recover_dictionary(A @ X, rng=0)
    assert dictionary_error(found.dictionary, A / np.linalg.norm(A, axis=0)) < 1e-12
    assert all(atom.exact for atom in found.atoms)
    assert found.trusted


LOUD = {
    "three": lambda rng, p: np.where(np.arange(p) < 3, 100.0, 1.0),
    "one in twenty": lambda rng, p: np.where(rng.random(p) < 0.05, 10.0, 1.0),
    "t": lambda rng, p: 1.0 / np.sqrt(rng.chisquare(3, p)),
    "one": lambda rng, p: np.where(np.arange(p) == 0, 100.0, 1.0),
}


@pytest.mark.parametrize("kind", LOUD)
@pytest.mark.parametrize(("n", "p"), [(3, 60), (10, 400), (5, 2000)])
def test_no_row_of_noise_is_trusted_for_its_loud_samples(n, p, kind):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        noise = rng.standard_normal((n, p)) * LOUD[kind](rng, p)
        assert not any(atom.trusted for atom in recover_dictionary(noise, rng=0).atoms)


def test_heavy_tails_do_not_make_rows_under_noise_doubtful():
    rng = np.random.default_rng(0)
    X = (rng.random((10, 1000)) < 0.2) * rng.standard_t(3, (10, 1000))
    Y = rng.standard_normal((10, 10)) @ X + 0.01 * rng.standard_normal((10, 1000))
    found = recover_dictionary(Y, rng=0)
    assert sum(atom.trusted for atom in found.atoms) >= 9


@pytest.mark.parametrize("seed", range(2))
def test_a_row_with_97_percent_zeros_is_exactly_sparse(seed):
    rng = np.random.default_rng(seed)
    theta = np.array([0.03, 0.2, 0.2, 0.2, 0.2, 0.2])[:, None]
    X = rng.standard_normal((6, 3000)) * (rng.random((6, 3000)) < theta)
    A = rng.standard_normal((6, 6))
    found = recover_dictionary(A @ X, rng=0)
    assert found.count("proved") == 6
    assert dictionary_error(found.dictionary, A / np.linalg.norm(A, axis=0)) < 1e-11


def test_a_few_pixels_that_are_nearly_always_zero_do_not_make_all_rows_be_solved_for_again():
    rng = np.random.default_rng(0)
    Y = rng.laplace(size=(12, 1500))
    Y[:2] *= rng.random((2, 1500)) < 0.01
    found = recover_dictionary(Y, rng=0)
    assert max(atom.attempt for atom in found.atoms) <= 1


def test_a_row_with_more_zeros_than_a_vertex_that_single_ones_hold_is_not_trusted():
    rng = np.random.default_rng(1)
    X = (rng.random((10, 1000)) < 0.7) * rng.exponential(size=(10, 1000))
    Y = rng.standard_normal((10, 10)) @ X
    found = recover_dictionary(Y, rng=0, refine=None, offset=False, order="rows")
    [row] = [atom for atom in found.atoms if atom.zeros > 9]
    assert 0 < row.forced < 9
    assert "holds it in" in row.doubts[0]
    assert not found.trusted
    assert found.mean_share > 0.2


@pytest.mark.parametrize("seed", range(6))
def test_rows_with_one_gain_per_sample_are_proved_only_if_they_are_right(seed):
    """Mixtures of signs times one gain per sample are in proportion on more samples than chance."""
    rng = np.random.default_rng([60, seed])
    X = rng.choice([-1.0, 0.0, 1.0], (6, 60), p=[0.175, 0.65, 0.175]) * rng.standard_normal(60)
    A = rng.standard_normal((6, 6))
    found = recover_dictionary(A @ X, rng=seed)
    mixing = np.abs(found.unmixing @ A)
    purity = mixing.max(axis=1) / np.linalg.norm(mixing, axis=1)
    trusted = [atom.trusted for atom in found.atoms]
    assert np.all(purity[trusted] > 1.0 - 1e-9)
