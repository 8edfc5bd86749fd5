import json
from dataclasses import replace

import numpy as np
import pytest

from riemtr.data import BernoulliGaussian, Conditioned
from riemtr.recovery import recover_dictionary
from riemtr.recovery.resultfiles import relative_residual, save_recovery

Y = BernoulliGaussian(n=5, p=400, theta=0.2, dictionary=Conditioned(5.0)).draw(0).observations


@pytest.fixture(scope="module")
def found():
    return recover_dictionary(Y, rng=0)


def test_files_give_back_the_same_arrays(tmp_path, found):
    mean = np.arange(5.0)
    saved = save_recovery(tmp_path / "new" / "folder", found, {"source": "made up"}, mean)
    folder = tmp_path / "new" / "folder"
    assert sorted(folder.iterdir()) == sorted(saved)
    assert np.array_equal(np.load(folder / "A.npy"), found.dictionary)
    assert np.array_equal(np.load(folder / "X.npy"), found.coefficients)
    assert np.array_equal(np.load(folder / "mean.npy"), mean)


def test_the_report_says_what_was_found(tmp_path, found):
    save_recovery(tmp_path, found, {"source": "made up"})
    text = (tmp_path / "report.json").read_text()
    report = json.loads(text, parse_constant=pytest.fail)
    assert report["source"] == "made up"
    assert report["shape"] == [5, 400]
    assert report["rank"] == 5
    assert report["trusted"] is True
    assert report["rows_certified"] == report["rows_exactly_sparse"] == 5
    assert report["objective"] == pytest.approx(np.abs(found.coefficients).sum())
    for row, atom, coefficients in zip(
        report["rows"], found.atoms, found.coefficients, strict=True
    ):
        assert row["zeros"] == np.count_nonzero(coefficients == 0)
        assert row["duality_gap"] == atom.rounding.duality_gap <= 1e-9
        assert row["verdict"] == "exactly sparse, certified"
        assert row["solver"]["iterations"] == atom.result.iterations


def test_results_without_a_mean_leave_none_behind(tmp_path, found):
    save_recovery(tmp_path, found, {}, np.zeros(5))
    save_recovery(tmp_path, found, {})
    assert not (tmp_path / "mean.npy").exists()


def test_what_is_not_finite_is_null(tmp_path, found):
    save_recovery(tmp_path, found, {"a": np.float64("nan"), "b": [np.inf, np.int64(3)]})
    report = json.loads((tmp_path / "report.json").read_text(), parse_constant=pytest.fail)
    assert report["a"] is None
    assert report["b"] == [None, 3]


def test_the_residual_is_that_of_the_whole(found):
    direct = np.linalg.norm(Y + 1 - found.dictionary @ found.coefficients) / np.linalg.norm(Y + 1)
    assert relative_residual(Y + 1, found) == pytest.approx(direct)
    assert relative_residual(Y, found) < 1e-13


@pytest.mark.parametrize(
    ("dtype", "unit"), [(np.float64, 1e-170), (np.float64, 1e160), (np.float32, 1e-25)]
)
def test_the_residual_of_very_small_and_large_data(dtype, unit):
    Y = BernoulliGaussian(n=4, p=300, theta=0.2).draw(0).observations
    Y = (unit * Y).astype(dtype)
    found = recover_dictionary(Y, rng=0)
    assert 0.0 < relative_residual(Y, found) < 100 * np.finfo(dtype).eps
    half = replace(found, dictionary=0.5 * found.dictionary)
    assert relative_residual(Y, half) == pytest.approx(0.5, rel=1e-4)
