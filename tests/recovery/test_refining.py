"""Refining all rows together: the error under noise, and the standard errors that are claimed."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest

from riemtr.data import BernoulliGaussian, Conditioned, Orthogonal, align
from riemtr.data.blocks import Blocks
from riemtr.data.dask_arrays import partition
from riemtr.problems.surrogates import LogCosh
from riemtr.recovery import precondition, recover_dictionary
from riemtr.recovery.refining import FORMS, Refined, refine
from riemtr.recovery.solving import solve_jointly

DRAWS = 20


def draw(seed, noise=0.1, n=6, p=2400, dictionary=None):
    dictionary = Orthogonal() if dictionary is None else dictionary
    return BernoulliGaussian(n=n, p=p, theta=0.3, noise=noise, dictionary=dictionary).draw(seed)


def errors(dictionary, sample):
    """The relative error of every atom, in the order of the truth, and that order."""
    order = align(dictionary, sample.dictionary).permutation
    found = dictionary[:, order] / np.linalg.norm(dictionary[:, order], axis=0)
    truth = sample.dictionary / np.linalg.norm(sample.dictionary, axis=0)
    signs = np.sign(np.einsum("ij,ij->j", found, truth))
    return np.linalg.norm(found * signs - truth, axis=0), order


def refined_from(sample, form, mu=1e-2):
    """The refined dictionary with its standard errors, and that of the orthogonal start."""
    white = precondition(sample.observations)
    surrogate = LogCosh(mu)
    narrow = Blocks(white.data.astype(np.float32))
    start = solve_jointly(narrow, surrogate, np.random.SeedSequence(0))["points"]
    record = refine(Blocks(white.data), white.data, start, form, surrogate)
    found = Refined(**record)
    atoms = white.inverse @ np.linalg.inv(found.directions.T)
    return atoms, found.standard_errors(white.inverse), white.inverse @ np.linalg.inv(start.T)


def root_mean_square(values):
    return float(np.sqrt(np.mean(np.square(values))))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dictionary", [Orthogonal(), Conditioned(5.0)], ids=["orthogonal", "ill"])
def test_standard_errors_are_those_seen_over_many_draws(form, dictionary):
    """Within a factor of 1.5 for every atom's root mean square, and closer for all together."""
    seen, claimed = [], []
    noise = 0.1 if isinstance(dictionary, Orthogonal) else 0.02
    for seed in range(DRAWS):
        sample = draw(seed, noise=noise, dictionary=dictionary)
        atoms, standard_errors, _ = refined_from(sample, form)
        found, order = errors(atoms, sample)
        seen.append(found)
        claimed.append(standard_errors[order])
    assert np.isfinite(claimed).all()
    ratio = root_mean_square(claimed) / root_mean_square(seen)
    assert 1 / 1.5 < ratio < 1.5


@pytest.mark.parametrize("noise", [0.1, 0.3])
def test_under_noise_refined_rows_are_nearer_than_before_and_than_rounded_ones(noise):
    """Over the draws together. Noise beyond mu blurs what the other two forms look at."""
    seen = {name: [] for name in ("start", "rounded", *FORMS)}
    for seed in range(8):
        sample = draw(seed, noise=noise)
        for form in FORMS:
            atoms, _, start = refined_from(sample, form)
            seen[form].append(errors(atoms, sample)[0])
        seen["start"].append(errors(start, sample)[0])
        rounded = recover_dictionary(sample.observations, rng=0, refine=None)
        seen["rounded"].append(errors(rounded.dictionary, sample)[0])
    size = {name: root_mean_square(each) for name, each in seen.items()}
    assert size["auto"] <= min(size["rounded"], size["start"], size["orthogonal"], size["full"])
    assert size["full"] <= size["start"] or noise > 0.1


def test_more_samples_make_all_errors_smaller():
    few, many = (
        np.mean([refined_from(draw(seed, p=p), "auto")[1].mean() for seed in range(3)])
        for p in (1200, 4800)
    )
    assert many == pytest.approx(few / 2, rel=0.15)


def test_the_form_is_the_likelihood_where_rows_are_independent_and_orthogonal_elsewhere():
    independent = recover_dictionary(draw(0).observations, rng=0)
    assert "likelihood" in independent.refined
    rng = np.random.default_rng(0)
    X = rng.laplace(size=(6, 3000)) * np.exp(rng.standard_normal(3000))
    dependent = recover_dictionary(X, rng=0)
    assert dependent.refined == "orthogonal"
    assert not dependent.trusted


@pytest.mark.parametrize("form", ["orthogonal", "full"])
def test_a_form_that_is_asked_for_is_the_one_used(form):
    sample = draw(0)
    found = recover_dictionary(sample.observations, rng=0, refine=form)
    assert found.refined == form
    assert np.isfinite(found.standard_errors).all()
    white = precondition(sample.observations).data
    rows = found.directions.T @ white
    angles = np.corrcoef(rows) if form == "full" else rows @ rows.T / rows.shape[1]
    outside = np.abs(angles - np.eye(6)).max()
    assert (outside < 1e-5) == (form == "orthogonal")


def test_the_orthogonal_form_ends_at_a_smaller_l1_norm_than_its_start():
    for seed in range(4):
        sample = draw(seed, noise=0.05)
        white = precondition(sample.observations)
        before, after = (
            recover_dictionary(sample.observations, rng=0, refine=refine, rounding=False)
            for refine in (None, "orthogonal")
        )
        sums = [np.abs(each.directions.T @ white.data).sum() for each in (before, after)]
        assert sums[1] <= sums[0] * (1 + 1e-6)


def test_rows_that_are_exactly_sparse_are_not_refined():
    sample = BernoulliGaussian(n=6, p=900, theta=0.2).draw(0)
    for form in (*FORMS, None):
        found = recover_dictionary(sample.observations, rng=0, refine=form)
        assert found.refined == ""
        assert errors(found.dictionary, sample)[0].max() < 1e-12
        np.testing.assert_array_equal(found.standard_errors, np.zeros(6))


@pytest.mark.usefixtures("chunks_as_they_come")
@pytest.mark.parametrize("form", FORMS)
def test_with_dask_it_is_the_refinement_in_memory(form, monkeypatch):
    """In memory it is done in single precision unless data are large, which is noise here.

    Spectra are those of blocks, so that variances differ by what chance makes of them.
    """
    monkeypatch.setattr("riemtr.problems.joint_dictionary._NARROW_ENTRIES", 0)
    data = precondition(draw(0, p=1200).observations).data
    narrow = Blocks(data.astype(np.float32))
    start = solve_jointly(narrow, LogCosh(1e-2), np.random.SeedSequence(0))["points"]
    one = refine(Blocks(data), data, start, form, LogCosh(1e-2))
    parts = partition(da.from_array(data, chunks=(6, 500)))
    other = refine(parts, data, start, form, LogCosh(1e-2))
    np.testing.assert_allclose(other["directions"], one["directions"], atol=1e-6)
    np.testing.assert_allclose(other["variances"], one["variances"], rtol=0.3, atol=1e-12)
    assert other["form"] == one["form"]


def test_single_precision_changes_far_less_than_the_standard_errors(monkeypatch):
    sample = draw(1)
    narrow, claimed, _ = refined_from(sample, "auto")
    monkeypatch.setattr("riemtr.problems.joint_dictionary._NARROW_ENTRIES", 0)
    wide, _, _ = refined_from(sample, "auto")
    atoms = [each / np.linalg.norm(each, axis=0) for each in (narrow, wide)]
    cosines = np.abs(np.einsum("ij,ij->j", *atoms))
    sines = np.sqrt(np.maximum(1 - cosines**2, 0.0))
    assert np.all(sines < 0.05 * claimed)
