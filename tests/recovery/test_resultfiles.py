import csv
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


@pytest.fixture(scope="module")
def shifted():
    return recover_dictionary(Y + np.arange(5.0)[:, None], rng=0, offset=True)


def test_files_give_back_the_same_arrays(tmp_path, shifted):
    folder = tmp_path / "new" / "folder"
    saved = save_recovery(folder, shifted, {"source": "made up"})
    assert sorted(folder.iterdir()) == sorted(saved)
    assert np.array_equal(np.load(folder / "A.npy"), shifted.dictionary)
    assert np.array_equal(np.load(folder / "X.npy"), shifted.coefficients)
    assert np.array_equal(np.load(folder / "offset.npy"), shifted.offset)


def test_names_of_features_are_in_the_report_and_a_table(tmp_path, found, shifted):
    names = ["Fz", "Cz", 'a "comma", here', "O1", "O2"]
    save_recovery(tmp_path, shifted, {}, names)
    assert json.loads((tmp_path / "report.json").read_text())["names"] == names
    with open(tmp_path / "dictionary.csv", newline="") as file:
        heading, *lines = csv.reader(file)
    assert heading == ["feature", "atom0", "atom1", "atom2", "atom3", "atom4", "offset"]
    assert [line[0] for line in lines] == names
    values = np.array([line[1:] for line in lines], dtype=float)
    assert np.array_equal(values, np.column_stack([shifted.dictionary, shifted.offset]))
    save_recovery(tmp_path, found, {})
    assert not (tmp_path / "dictionary.csv").exists()
    assert json.loads((tmp_path / "report.json").read_text())["names"] == []


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
        assert row["verdict"] == atom.verdict == "proved"
        assert row["remark"] == "exactly sparse"
        assert row["standard_error"] == 0.0
        assert row["solver"]["iterations"] == atom.result.iterations


def test_rows_that_nothing_proves_have_standard_errors(tmp_path):
    noise = 0.01 * np.random.default_rng(0).standard_normal(Y.shape)
    refined = recover_dictionary(Y + noise, rng=0)
    save_recovery(tmp_path, refined, {})
    report = json.loads((tmp_path / "report.json").read_text(), parse_constant=pytest.fail)
    assert report["refined"] == refined.refined != ""
    counts = [report[f"rows_{each}"] for each in ("proved", "plausible", "doubtful")]
    assert counts[0] == 0
    assert sum(counts) == 5
    assert [row["standard_error"] for row in report["rows"]] == list(refined.standard_errors)
    assert {row["starts"] for row in report["rows"]} == {3}


def test_results_without_an_offset_leave_none_behind(tmp_path, found, shifted):
    save_recovery(tmp_path, shifted, {})
    report = json.loads((tmp_path / "report.json").read_text())
    np.testing.assert_allclose(report["offset"], np.arange(5.0), atol=1e-10)
    save_recovery(tmp_path, found, {})
    assert not (tmp_path / "offset.npy").exists()
    assert json.loads((tmp_path / "report.json").read_text())["offset"] is None


def test_what_is_not_finite_is_null(tmp_path, found):
    save_recovery(tmp_path, found, {"a": np.float64("nan"), "b": [np.inf, np.int64(3)]})
    report = json.loads((tmp_path / "report.json").read_text(), parse_constant=pytest.fail)
    assert report["a"] is None
    assert report["b"] == [None, 3]


def test_the_residual_is_that_of_the_whole(found):
    direct = np.linalg.norm(Y + 1 - found.dictionary @ found.coefficients) / np.linalg.norm(Y + 1)
    assert relative_residual(Y + 1, found) == pytest.approx(direct)
    assert relative_residual(Y, found) < 1e-13


def test_the_residual_knows_the_offset(shifted):
    assert relative_residual(Y + np.arange(5.0)[:, None], shifted) < 1e-13


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


def test_the_residual_of_data_with_an_offset_is_less_the_offset():
    shifted = Y + np.arange(1.0, 6.0)[:, None]
    found = recover_dictionary(shifted, rng=0, offset=True)
    assert relative_residual(shifted, found) < 1e-12
