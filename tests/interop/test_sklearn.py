import importlib
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import riemtr
from riemtr.data import (
    BernoulliGaussian,
    Conditioned,
    align,
    coefficient_error,
    dictionary_error,
)
from riemtr.errors import MissingExtraError
from riemtr.interop.sklearn import CompleteDictionaryLearning


@pytest.fixture(scope="module")
def sample():
    return BernoulliGaussian(n=8, p=1200, theta=0.2, dictionary=Conditioned(10.0)).draw(3)


@pytest.fixture(scope="module")
def X(sample):
    data = np.ascontiguousarray(sample.observations.T)
    data.flags.writeable = False
    return data


@pytest.fixture(scope="module")
def model(X):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return CompleteDictionaryLearning(random_state=0).fit(X)


@parametrize_with_checks(
    [
        CompleteDictionaryLearning(),
        CompleteDictionaryLearning(n_components=1),
        CompleteDictionaryLearning(rounding=False, mu=0.1),
    ]
)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


# What it learns


def test_recovers_the_true_atoms_and_codes(model, sample, X):
    assert dictionary_error(model.components_.T, sample.dictionary) <= 1e-12
    match = align(model.components_.T, sample.dictionary)
    codes = model.transform(X)
    assert coefficient_error(codes.T, sample.coefficients, match) <= 1e-12
    np.testing.assert_array_equal(codes[:, match.permutation] == 0, sample.coefficients.T == 0)


def test_recovers_the_codes_of_new_samples(model, sample):
    codes = np.random.default_rng(5).standard_normal((7, 8))
    codes[:, ::2] = 0.0
    match = align(model.components_.T, sample.dictionary)
    found = model.transform(codes @ sample.dictionary.T)
    assert coefficient_error(found.T, codes.T, match) <= 1e-12


def test_inverse_transform_undoes_transform(model, X):
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-13)


def test_atoms_are_in_normal_form_and_reported(model, X):
    A = model.components_
    np.testing.assert_allclose(np.linalg.norm(A, axis=1), 1.0, rtol=1e-14)
    assert (A[np.arange(8), np.abs(A).argmax(axis=1)] > 0).all()
    lengths = np.linalg.norm(model.transform(X), axis=0)
    assert (np.diff(lengths) <= 0).all()
    np.testing.assert_allclose(A @ model.unmixing_.T, np.eye(8), atol=1e-13)
    assert model.n_components_ == len(model.atoms_) == 8
    assert all(atom.certified and atom.trusted for atom in model.atoms_)
    assert model.recovery_.certified


def test_float32_stays_float32(model, sample, X):
    single = CompleteDictionaryLearning(random_state=0).fit(X.astype(np.float32))
    codes = single.transform(X.astype(np.float32))
    assert single.components_.dtype == single.unmixing_.dtype == codes.dtype == np.float32
    assert single.inverse_transform(codes).dtype == np.float32
    assert dictionary_error(single.components_.T, sample.dictionary) <= 1e-6


def test_integers_are_taken_as_numbers():
    codes = BernoulliGaussian(n=3, p=300, theta=0.3).draw(0).coefficients
    X = np.rint(100 * codes.T).astype(np.int16)
    found = CompleteDictionaryLearning(random_state=0).fit(X)
    assert dictionary_error(found.components_.T, np.eye(3)) <= 1e-12


# Fewer atoms than features


@pytest.mark.parametrize("n_components", [None, 4])
def test_atoms_in_a_subspace_are_recovered(n_components):
    codes = BernoulliGaussian(n=4, p=600, theta=0.2).draw(1).coefficients
    A = np.random.default_rng(2).standard_normal((7, 4))
    X = (A @ codes).T
    found = CompleteDictionaryLearning(n_components, random_state=0).fit(X)
    assert found.components_.shape == (4, 7)
    assert found.n_components_ == 4
    assert dictionary_error(found.components_.T, A) <= 1e-12
    np.testing.assert_allclose(found.inverse_transform(found.transform(X)), X, atol=1e-12)


def test_fewer_atoms_span_the_leading_principal_subspace():
    X = np.random.default_rng(0).laplace(1.0, size=(500, 6)) * np.arange(1.0, 7.0)
    found = CompleteDictionaryLearning(3, random_state=0).fit(X)
    leading = np.linalg.svd(X, full_matrices=False)[2][:3]
    projected = found.inverse_transform(found.transform(X))
    np.testing.assert_allclose(projected, X @ leading.T @ leading, atol=1e-12)
    assert found.get_feature_names_out().tolist() == ["atom0", "atom1", "atom2"]


# Noise, offsets and the other options


def test_noisy_samples_have_standard_errors_that_hold(model, sample, X):
    np.testing.assert_array_equal(model.standard_errors_, np.zeros(8))
    noisy = X + 1e-3 * np.random.default_rng(1).standard_normal(X.shape)
    found = CompleteDictionaryLearning(random_state=0).fit(noisy)
    assert found.recovery_.refined
    assert found.standard_errors_.shape == (8,)
    error = dictionary_error(found.components_.T, sample.dictionary)
    assert 0.2 * error < found.standard_errors_.max() < 0.05


def test_an_offset_is_recovered_along(sample, X):
    shift = np.arange(8.0)
    found = CompleteDictionaryLearning(offset=True, random_state=0).fit(X + shift)
    assert dictionary_error(found.components_.T, sample.dictionary) <= 1e-11
    np.testing.assert_allclose(found.offset_, shift, atol=1e-11)
    codes = found.transform(X + shift)
    np.testing.assert_array_equal(codes == 0, found.recovery_.coefficients.T == 0)
    np.testing.assert_allclose(found.inverse_transform(codes), X + shift, atol=1e-11)
    np.testing.assert_allclose(X @ found.unmixing_.T, codes, atol=1e-10)


def test_fewer_atoms_around_an_offset():
    X = 1e4 * np.random.default_rng(0).laplace(1.0, size=(1200, 8))
    found = CompleteDictionaryLearning(3, offset=True, random_state=0).fit(X)
    assert found.n_components_ == 3
    np.testing.assert_allclose(found.offset_, X.mean(axis=0), rtol=1e-9)
    projected = found.inverse_transform(found.transform(X))
    centred = X - X.mean(axis=0)
    leading = np.linalg.svd(centred, full_matrices=False)[2][:3]
    np.testing.assert_allclose(projected, X.mean(axis=0) + centred @ leading.T @ leading, atol=1e-8)


def test_without_an_offset_it_is_zero(model):
    np.testing.assert_array_equal(model.offset_, np.zeros(8))


@pytest.mark.parametrize(
    "options",
    [
        {"refine": "orthogonal"},
        {"refine": None, "seeds": 1},
        {"surrogate": "huber", "seeds": 2},
        {"order": "rounded"},
    ],
)
def test_options_are_those_of_the_function(sample, X, options):
    found = CompleteDictionaryLearning(random_state=0, **options).fit(X)
    assert dictionary_error(found.components_.T, sample.dictionary) <= 1e-11
    direct = riemtr.recover_dictionary(X.T, rng=found.recovery_.seed, **options)
    np.testing.assert_array_equal(direct.dictionary.T, found.components_)


def test_names_of_codes_are_short_in_a_frame(model, X):
    pandas = pytest.importorskip("pandas")
    codes = clone(model).set_output(transform="pandas").fit(X).transform(X)
    assert isinstance(codes, pandas.DataFrame)
    assert list(codes.columns[:2]) == ["atom0", "atom1"]


# Randomness and threads


def test_same_random_state_same_components_bit_for_bit(model, X):
    for again in (clone(model).fit(X), clone(model).set_params(n_jobs=2).fit(X)):
        np.testing.assert_array_equal(again.components_, model.components_)
        np.testing.assert_array_equal(again.unmixing_, model.unmixing_)
    first, second = (
        clone(model).set_params(random_state=np.random.RandomState(4)).fit(X) for _ in range(2)
    )
    np.testing.assert_array_equal(first.components_, second.components_)
    assert first.recovery_.seed != model.recovery_.seed


# In scikit-learn's company


def test_in_a_pipeline_after_centring(sample, X):
    mean = np.arange(8.0)
    chain = make_pipeline(
        StandardScaler(with_std=False), CompleteDictionaryLearning(random_state=0)
    )
    centred = X - X.mean(axis=0)
    codes = chain.fit_transform(centred + mean)
    np.testing.assert_allclose(codes, clone(chain[-1]).fit_transform(centred), atol=1e-10)
    np.testing.assert_allclose(chain.inverse_transform(codes), centred + mean, atol=1e-12)


def test_grid_search_finds_the_number_of_atoms():
    codes = BernoulliGaussian(n=4, p=400, theta=0.3).draw(2).coefficients
    A = np.array([[4.0, 3.0, 2.0, 1.0]]) * np.linalg.qr(np.vander(np.arange(1.0, 5.0)))[0]
    present = codes[3] != 0  # decided by the weakest atom, and linear in no feature
    chain = make_pipeline(
        CompleteDictionaryLearning(random_state=0),
        FunctionTransformer(np.sign),
        FunctionTransformer(np.abs),
        LogisticRegression(),
    )
    name = "completedictionarylearning__n_components"
    search = GridSearchCV(chain, {name: [2, None]}, cv=3).fit((A @ codes).T, present)
    assert search.best_params_ == {name: None}
    assert search.best_score_ == 1.0
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()  # no fit failed


def test_a_clone_keeps_the_solver_and_a_pickle_the_outcome(X):
    solver = riemtr.ExactTRM(radius=0.2, tolerance=1e-2, curvature_tolerance=1e-2)
    found = CompleteDictionaryLearning(2, solver=solver, random_state=0).fit(X)
    assert "ExactTRM(radius=0.2" in repr(clone(found).solver)
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.transform(X), found.transform(X))
    assert repr(again.recovery_) == repr(found.recovery_)


# Warnings and errors


def test_warns_once_where_the_solver_did_not_converge(X):
    hasty = CompleteDictionaryLearning(
        solver=riemtr.PracticalTRM(max_iterations=1), rounding=False, random_state=0
    )
    with pytest.warns(
        ConvergenceWarning, match=r"not converge for \d of 8 atoms \(out of"
    ) as caught:
        hasty.fit(X)
    assert len(caught) == 1
    assert len(str(caught[0].message)) < 200
    assert "raise max_iterations" not in str(caught[0].message)  # the estimator has no such option
    assert caught[0].filename == __file__
    assert not all(atom.trusted for atom in hasty.atoms_)


def test_doubts_are_attributes_and_no_warnings():
    noise = np.random.default_rng(0).standard_normal((600, 5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = CompleteDictionaryLearning(random_state=0).fit(noise)
    assert {atom.verdict for atom in found.atoms_} == {"doubtful"}
    assert found.recovery_.count("doubtful") == 5


def test_progress_is_shown_only_on_request(X, capsys):
    CompleteDictionaryLearning(2, random_state=0).fit(X)
    assert capsys.readouterr() == ("", "")
    CompleteDictionaryLearning(2, random_state=0, verbose=1).fit(X)
    assert "solve" in capsys.readouterr().err


def test_unfitted(X):
    unfitted = CompleteDictionaryLearning()
    for call in (unfitted.transform, unfitted.inverse_transform):
        with pytest.raises(NotFittedError):
            call(X)
    with pytest.raises(NotFittedError):
        unfitted.get_feature_names_out()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"n_components": 0}, "n_components must be None or an integer of at least 1; got 0"),
        ({"n_components": 2.0}, r"n_components must be None or an integer .* got 2\.0"),
        ({"n_components": True}, "n_components must be None or an integer .* got True"),
        ({"n_components": 9}, "n_components must be at most the rank of X; got 9 .* rank 8"),
        ({"mu": 0.0}, "mu must be a positive finite number"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"solver": "practical"}, "solver must have a method solve"),
        ({"refine": "ortho"}, "refine must be one of"),
        ({"seeds": 0}, "seeds must be"),
        ({"offset": "yes"}, "offset must be 'auto', True or False"),
        ({"surrogate": "l3"}, "surrogate must be one of"),
        ({"order": "random"}, "order must be one of"),
    ],
)
def test_bad_options(options, said, X):
    with pytest.raises(ValueError, match=said):
        CompleteDictionaryLearning(**options).fit(X)


def test_bad_data(model, X):
    few = np.random.default_rng(0).standard_normal((6, 8))
    with pytest.raises(ValueError, match="more samples than components"):
        CompleteDictionaryLearning().fit(few)
    with pytest.raises(ValueError, match="got n_samples=6 and 6 components"):
        CompleteDictionaryLearning(6).fit(few)
    with pytest.raises(ValueError, match="X must not be zero everywhere"):
        CompleteDictionaryLearning().fit(np.zeros((10, 3)))
    with pytest.raises(TypeError, match="dense data is required"):
        CompleteDictionaryLearning().fit(scipy.sparse.csr_array(X))
    with pytest.raises(ValueError, match="each of the 8 components; got shape"):
        model.inverse_transform(X[:, :5])


# The extra


def test_without_scikit_learn_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.delitem(sys.modules, "riemtr.interop.sklearn")
    with pytest.raises(MissingExtraError, match=r"riemtr\[learn\]"):
        importlib.import_module("riemtr.interop.sklearn")


def test_riemtr_does_not_import_scikit_learn():
    code = "import sys, riemtr, riemtr.interop, riemtr.recovery; sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_codes_have_the_zeros_of_the_recovery_whatever_the_units_of_features(dtype):
    sample = BernoulliGaussian(n=6, p=800, theta=0.2).draw(0)
    A = np.logspace(0, 3, 6)[:, None] * np.random.default_rng(0).standard_normal((6, 6))
    X = (A @ sample.coefficients).T.astype(dtype)
    found = CompleteDictionaryLearning(random_state=0).fit(X)
    zeros = found.transform(X) == 0
    np.testing.assert_array_equal(zeros, found.recovery_.coefficients.T == 0)
    assert zeros.mean() == pytest.approx(np.mean(sample.coefficients == 0), abs=1e-3)
    new = (A @ BernoulliGaussian(n=6, p=50, theta=0.2).draw(1).coefficients).T
    assert np.mean(found.transform(new.astype(dtype)) == 0) > 0.7
